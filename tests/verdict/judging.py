"""Judges a verdict by the injection and by how much slower the load became."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# If the injection's share of the run's time is at least this, the verdict must put it first.
MOST = 0.5
# If the share is at least this, the verdict must name it.
MUCH = 0.25
# The line names a cause after the first one if its share is at least this, and at least this part
# of the first one's share.
NAMED_SHARE = 0.15
NAMED_OF_FIRST = 0.5


@dataclass(frozen=True)
class Judgement:
    """Whether a verdict is right, and by which rule."""

    is_right: bool
    why: str


def named(verdict: dict[str, Any]) -> list[str]:
    """Return the causes that a verdict's line names: the first one, and at most one more."""
    causes = verdict["causes"]
    first = causes[0]["share"]
    return [
        str(cause["cause"])
        for cause in causes
        if cause is causes[0]
        or (cause["share"] >= NAMED_SHARE and cause["share"] >= NAMED_OF_FIRST * first)
    ][:2]


def judge(
    verdict: dict[str, Any],
    wanted: list[frozenset[str]],
    natural: frozenset[str],
    slowdown: float,
    words: tuple[str, ...] = (),
) -> Judgement:
    """Compare a verdict with what was injected.

    `wanted` has, for each injection, the causes that name it. `slowdown` is the time of the load
    divided by the time without the injection. `words` must be in the verdict's line if the
    injection must come first.

    Without an injection, a natural cause must be first. An injection that cost most of the time
    must be first; one that cost much must be named. Of two injections, one must be first and the
    other must have a share, because it is not known how much each of them cost.
    """
    told = named(verdict)
    missing = [word for word in words if word not in verdict["line"]]
    if not wanted:
        return Judgement(told[0] in natural, "a control")
    cost = max(0.0, 1.0 - 1.0 / slowdown)
    if len(wanted) > 1:
        seen = {one["cause"] for one in verdict["causes"] if one["share"] >= NAMED_SHARE}
        is_first = any(told[0] in one for one in wanted)
        is_right = is_first and all(seen & one for one in wanted)
        return Judgement(is_right, "both have to be seen")
    (causes,) = wanted
    if cost >= MOST:
        return Judgement(told[0] in causes and not missing, "it has to come first")
    if cost >= MUCH:
        return Judgement(any(cause in causes for cause in told), "it has to be named")
    return Judgement(told[0] in causes | natural, "it cost little")

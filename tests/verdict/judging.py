"""Whether a verdict is right, given the injection and the factor by which the load took longer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# If the injection's share of the run's time is at least this, the verdict must put it first.
MOST = 0.5
# If the share is at least this, the verdict must name it.
MUCH = 0.25
# The causes that the line names after the first one.
NAMED_SHARE = 0.15
NAMED_OF_FIRST = 0.5


@dataclass(frozen=True)
class Judgement:
    """How a verdict was judged."""

    is_right: bool
    why: str


def named(verdict: dict[str, Any]) -> list[str]:
    """Return the causes that a verdict's line names, beginning with the first."""
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

    `wanted` has the names of each injected cause. A run without an injection is right if a natural
    cause is first. A cause that cost most of the time must be first; one that cost much must be
    named. Of two causes, one must be first and the other visible, because how much each of them
    cost is not known.
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

"""Tests which verdicts count as right in the matrix."""

from __future__ import annotations

from typing import Any

import pytest

from verdict.injections import KINDS, PAIRS, natural
from verdict.judging import judge, named
from verdict.matrix import cases

CPUS = frozenset({"client_cpu", "destination_cpu"})
READ = frozenset({"source_read"})
LOCKS = frozenset({"destination_locks"})


def told(**shares: float) -> dict[str, Any]:
    """Return a verdict with these shares."""
    causes = [{"cause": cause, "share": share} for cause, share in shares.items()]
    return {"causes": causes, "line": "what stream 3 had last"}


@pytest.mark.parametrize(
    ("slowdown", "verdict", "is_right"),
    [
        (4.0, told(source_read=0.7, destination_cpu=0.3), True),
        (4.0, told(destination_cpu=0.5, source_read=0.4), False),
        (1.5, told(destination_cpu=0.5, source_read=0.4), True),
        (1.5, told(destination_cpu=0.8, source_read=0.1), False),
        (1.1, told(destination_cpu=0.8, source_read=0.1), True),
        (1.1, told(undecided=0.8, source_read=0.1), False),
    ],
)
def test_the_more_it_cost_the_earlier_it_has_to_come(
    slowdown: float, verdict: dict[str, Any], is_right: bool
) -> None:
    assert judge(verdict, [READ], CPUS, slowdown).is_right == is_right


def test_a_control_is_limited_by_something_natural() -> None:
    assert judge(told(destination_cpu=0.8), [], CPUS, 1.0).is_right
    assert not judge(told(network_loss=0.8), [], CPUS, 1.0).is_right
    assert not judge(told(undecided=0.8), [], CPUS, 1.0).is_right


def test_two_have_to_be_seen() -> None:
    both = told(source_read=0.5, destination_locks=0.4)
    assert named(both) == ["source_read", "destination_locks"]
    assert judge(both, [LOCKS, READ], CPUS, 5.0).is_right
    one = told(source_read=0.8, destination_locks=0.1)
    assert not judge(one, [LOCKS, READ], CPUS, 5.0).is_right
    behind = told(destination_cpu=0.4, source_read=0.3, destination_locks=0.3)
    assert not judge(behind, [LOCKS, READ], CPUS, 5.0).is_right


def test_words_that_the_line_needs() -> None:
    verdict = told(source_read=0.9)
    assert judge(verdict, [READ], CPUS, 5.0, ("stream 3",)).is_right
    assert not judge(verdict, [READ], CPUS, 5.0, ("stream 4",)).is_right


def test_cases_are_many_and_the_same_for_a_seed() -> None:
    drawn = list(cases(7, 66))
    assert drawn == list(cases(7, 66))
    assert len(drawn) == 66
    assert sum(not case.names for case in drawn) >= 10
    assert {case.names[0] for case in drawn if len(case.names) == 1} == set(KINDS)
    assert {case.names for case in drawn if len(case.names) == 2} == set(PAIRS)
    assert all(natural(case.ground) >= CPUS for case in drawn)

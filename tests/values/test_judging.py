"""Tests of the parts around the reader: rounds, decoding, and reports of faults."""

from __future__ import annotations

import struct
from dataclasses import replace
from fractions import Fraction

import pytest

from values import guesses
from values.binary import decode, numeric
from values.judging import Judgement, judge
from values.loads import Loaded
from values.meanings import Column
from values.reader import Field
from values.rounds import CASES_PER_ROUND, Case, Group, Round, make
from values.samples import Sampled


def small(*texts: str) -> Round:
    column = Column("int4", "int4")
    cases = tuple(Case(at, column, Field(text)) for at, text in enumerate(texts))
    return Round(0, (Group(column, "csv", cases),), (), verifies=False)


def judged(text: str, values: dict[int, int], reasons: dict[int, str]) -> Judgement:
    return judge(small(text), Loaded(dict(values), dict(reasons)))


def test_right_values_are_no_fault() -> None:
    assert not judged("12", {0: 12}, {}).faults
    assert not judged("x", {}, {0: "syntax: no number"}).faults
    # A loader may refuse a text that no program writes.
    assert not judged("012", {}, {0: "form_lost: a zero"}).faults


@pytest.mark.parametrize(
    ("text", "values", "reasons", "what"),
    [
        ("12", {0: 13}, {}, "the database has 13"),
        ("x", {0: 0}, {}, "the database has 0"),
        ("12", {}, {0: "syntax: no number"}, "a plain value is a reject"),
        ("12", {}, {}, "the row is lost"),
        ("x", {0: 0}, {0: "syntax: no number"}, "loaded and a reject"),
    ],
)
def test_faults_are_told(
    text: str, values: dict[int, int], reasons: dict[int, str], what: str
) -> None:
    (fault,) = judged(text, values, reasons).faults
    assert what in fault
    assert "--seed 0 --only 0" in fault


def test_a_refused_load_is_a_fault_unless_it_says_which_setting() -> None:
    refused = Loaded(refused={0: "error: the server is not there"})
    assert judge(small("12"), refused).faults
    refused = Loaded(refused={0: "%Y is one value by this format and another by %y"})
    assert not judge(small("12"), refused).faults
    said = (
        'the format "%D%l" cannot be used: a value that it writes, "07/15/24 4", does not fill it'
    )
    refused = Loaded(refused={0: said})
    assert not judge(small("12"), refused).faults


def test_a_seed_makes_the_same_round() -> None:
    chosen = make(7)
    assert chosen == make(7)
    assert chosen != make(8)
    assert sum(len(group.cases) for group in chosen.groups) == CASES_PER_ROUND
    alone = chosen.only(12)
    assert [case.number for group in alone.groups for case in group.cases] == [12]
    assert guesses.make(7) == guesses.make(7)


def test_numerics_are_decoded() -> None:
    # 12345.6700, then -0.0001, by digits of base 10,000.
    assert numeric(struct.pack(">hhHH3h", 3, 1, 0, 4, 1, 2345, 6700)) == (Fraction("12345.67"), 4)
    assert numeric(struct.pack(">hhHHh", 1, -1, 0x4000, 4, 1)) == (Fraction(-1, 10_000), 4)
    assert numeric(struct.pack(">hhHH", 0, 0, 0, 2)) == (Fraction(0), 2)
    assert numeric(struct.pack(">hhHH", 0, 0, 0xC000, 0)) == "nan"


def test_arrays_are_decoded() -> None:
    element = struct.pack(">ii", 4, 7)
    data = struct.pack(">iiIii", 1, 1, 23, 2, 1) + element + struct.pack(">i", -1)
    column = Column("array", "int4[]", element=Column("int4", "int4"))
    assert decode(data, column) == ((2,), (1,), (7, None))


def test_samples_that_tell_nothing_are_known() -> None:
    dotted = Sampled("thousands", ("1.500", "12.750"), ())
    assert dotted.has_two_readings
    assert not replace(dotted, samples=("1.500", "0.750")).has_two_readings
    assert not replace(dotted, samples=("1.500", "12.75")).has_two_readings
    assert Sampled("codes", ("12345", "12E45"), ()).has_codes
    assert not Sampled("codes", ("1.5e3", "12E45"), ()).has_codes
    early = Sampled("date", ("01/02/2024", "12/11/2024"), (), "%d/%m/%Y")
    assert early.tells_no_order
    assert not replace(early, samples=("01/02/2024", "13/11/2024")).tells_no_order

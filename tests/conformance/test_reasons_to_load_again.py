"""A stopped run whose rows cannot be kept: the reported reason and the fix are true."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from conformance.destinations import Place, in_order
from harness.command import CLEAN, FAILED, Inrush, Outcome
from harness.packages import flow, step

COLUMNS = ["id int not null", "kind text"]
TYPES = ("integer", "text", "text")
ASKED = "one of these has changed since: "


def write_files(inrush: Inrush, titles: dict[str, str]) -> None:
    for part in range(3):
        rows = "".join(
            f"{number},{'ab'[number % 2]}\n" for number in range(part * 10, part * 10 + 10)
        )
        inrush.write(f"rows.{part}.csv", "id,kind\n" + rows)
    write_reference(inrush, titles)


def write_reference(inrush: Inrush, titles: dict[str, str]) -> None:
    rows = "".join(f"{kind},{title}\n" for kind, title in titles.items())
    inrush.write("kinds.csv", "kind,title\n" + rows)


def stopped(place: Place, inrush: Inrush, steps: str) -> Path:
    """Kill a load after its first unit."""
    text = place.package(flow("loaded", "rows.*.csv", columns=COLUMNS) + steps)
    path = inrush.write("package.toml", text)
    died = inrush("run", path, environment={"INRUSH_FAULT": "after_unit_commit"})
    assert died.status == -signal.SIGKILL, died.said
    return path


def reason(outcome: Outcome) -> str:
    """Return the note that says why rows are loaded again."""
    (note,) = [note for note in outcome.report["notes"] if ASKED in note]
    assert isinstance(note, str)
    return note.split(ASKED)[1]


LOOKUP = step(
    lookup={"files": "kinds.csv", "columns": ["kind text", "title text"]},
    on={"kind": "kind"},
    take={"title": "title"},
)


@pytest.mark.clause("D-39")
def test_the_rows_of_a_reference_have_changed(place: Place, inrush: Inrush) -> None:
    write_files(inrush, {"a": "first", "b": "second"})
    path = stopped(place, inrush, LOOKUP)
    titles = {"a": "first", "b": "third"}
    write_reference(inrush, titles)
    outcome = inrush("run", path).expect(CLEAN)
    told = reason(outcome)
    assert "a row of a lookup's reference" in told
    assert "the version of the library that evaluates expressions" in told
    assert "distinct_on" not in told
    rows = [(str(n), "ab"[n % 2], titles["ab"[n % 2]]) for n in range(30)]
    assert place.rows("loaded", TYPES) == in_order(rows)


@pytest.mark.clause("D-39")
def test_a_setting_has_changed(place: Place, inrush: Inrush) -> None:
    """Without steps, the only reason about steps is that the earlier run had some."""
    write_files(inrush, {})
    path = stopped(place, inrush, "")
    path.write_text(
        path.read_text().replace('"kind text"', '{ name = "kind", type = "text", trim = "both" }')
    )
    told = reason(inrush("run", path).expect(CLEAN))
    assert told.endswith("a setting or step of the flow, or a column of the target")


@pytest.mark.clause("D-22")
@pytest.mark.parametrize("distinct", [False, True])
def test_a_file_has_another_size(place: Place, inrush: Inrush, distinct: bool) -> None:
    """The hint says what `--again` keeps, and `--again` keeps it."""
    write_files(inrush, {})
    path = stopped(place, inrush, step(distinct_on=["id"]) if distinct else "")
    for part in range(3):
        name = f"rows.{part}.csv"
        inrush.write(name, (inrush.folder / name).read_text() + f"{part + 100},c\n")
    outcome = inrush("run", path).expect(FAILED, "that the stopped run", "restore the file")
    keeps = "load the changed files again and keep the rest" in outcome.said
    assert keeps == (place.removes_units_alone and not distinct)
    assert ("`distinct_on` compares the rows of all files" in outcome.said) == distinct
    assert ("cannot be removed from its staging table" in outcome.said) == (
        not distinct and not place.removes_units_alone
    )
    outcome = inrush("run", path, "--again").expect(CLEAN)
    notes = "\n".join(outcome.report["notes"])
    assert ASKED not in notes or "its files" in notes, "only files have changed"
    rows = [(str(n), "ab"[n % 2]) for n in range(30)] + [(str(n), "c") for n in (100, 101, 102)]
    assert place.rows("loaded", TYPES[:2]) == in_order(rows)

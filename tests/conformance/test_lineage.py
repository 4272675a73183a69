"""The ledger of every destination records for every run where columns come from."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from conformance.destinations import Place
from conformance.job import TABLE
from harness.command import CLEAN, USAGE, Inrush
from harness.packages import flow, step

COLUMNS: list[Any] = [
    "id integer",
    "price numeric(12,2)",
    "kind text",
    {"name": "place", "type": "text", "source": "file"},
]


def load(inrush: Inrush, place: Place, gross: str, mode: str = "create", **environment: str) -> int:
    """Run a package whose `gross` has this expression; return its exit status."""
    inrush.write("rows.csv", "id,price,kind\n1,2.50,a\n2,4.00,b\n3,0.00,a\n")
    inrush.write("kinds.csv", "kind,title\na,first\nb,second\n")
    steps = (
        step(derive={"net": "price - 1"}, load=False)
        + step(where="price > 0")
        + step(derive={"gross": gross})
        + step(
            lookup={"files": "kinds.csv", "columns": ["kind text", "title text"]},
            on={"kind": "kind"},
            take={"title": "title"},
        )
        + step(distinct_on=["id", "title"])
    )
    text = place.package(flow(TABLE, "rows.csv", columns=COLUMNS, mode=mode) + steps, name="prices")
    package = inrush.write("prices.toml", text)
    return inrush("run", package, environment=environment).status


def told(inrush: Inrush, place: Place, name: str) -> list[dict[str, Any]]:
    """Return the JSON that `inrush lineage` prints about a name."""
    output = inrush("lineage", name, *place.words, "--json").expect(CLEAN).output
    runs: list[dict[str, Any]] = json.loads(output)
    return runs


@pytest.mark.clause("D-44")
def test_each_run_has_its_lineage(place: Place, inrush: Inrush) -> None:
    assert load(inrush, place, "net * 2") == 0
    assert load(inrush, place, "net * 3 + id", mode="replace") == 0
    newest, oldest = told(inrush, place, TABLE)
    assert (newest["package"], newest["state"]) == ("prices", "switched")
    assert [newest["rows_loaded"], oldest["rows_loaded"]] == [2, 2]
    made_of = {column["column"]: column["from"] for column in newest["columns"]}
    assert made_of == {
        "id": ["id"],
        "price": ["price"],
        "kind": ["kind"],
        "place": ["place"],
        "gross": ["id", "price"],
        "title": ["kind"],
    }
    (lineage,) = oldest["lineage"]
    assert lineage["source"] == {"kind": "files", "patterns": ["rows.csv"]}
    assert [each["step"] for each in lineage["steps"]] == [
        *("derive", "where", "derive", "lookup", "distinct_on")
    ]
    assert lineage["steps"][2]["adds"][0]["expression"] == "net * 2"
    assert lineage["steps"][3]["on"] == {"kind": "kind"}
    (column,) = told(inrush, place, f"{TABLE}.GROSS")[1]["columns"]
    assert column["from"] == ["price"]
    shown = inrush("lineage", f"{TABLE}.gross", *place.words).expect(CLEAN).output
    first, second = shown.split("\n\n")[0], shown.split("\n\n")[2]
    assert "step 3, derive: net * 3 + id" in first
    assert "step 1, derive: price - 1" in first
    assert "price of rows.csv" in first
    assert "only rows that pass step 2, where: price > 0" in first
    assert "of rows with equal id, title only the first one (step 5, distinct_on)" in first
    assert "step 3, derive: net * 2" in second
    assert oldest["run"] in shown.split("\n\n")[3]
    of_lookup = inrush("lineage", f"{TABLE}.title", *place.words).expect(CLEAN).output
    assert "step 4, lookup: title of kinds.csv, where kind = kind" in of_lookup
    of_file = inrush("lineage", f"{TABLE}.place", "prices.toml").expect(CLEAN).output
    assert "the name of the row's file in rows.csv" in of_file


@pytest.mark.clause("D-44")
def test_a_resumed_run_has_the_lineage_of_its_last_attempt(place: Place, inrush: Inrush) -> None:
    died = load(inrush, place, "net * 2", INRUSH_FAULT="before_unit_commit")
    assert died == -signal.SIGKILL
    (stopped,) = told(inrush, place, f"{TABLE}.gross")
    assert stopped["state"] == "loading"
    assert stopped["lineage"][0]["steps"][2]["adds"][0]["expression"] == "net * 2"
    assert load(inrush, place, "net * 4") == 0
    runs = told(inrush, place, f"{TABLE}.gross")
    assert [run["run"] for run in runs] == [stopped["run"]]
    assert runs[0]["lineage"][0]["steps"][2]["adds"][0]["expression"] == "net * 4"


def test_names_that_no_run_has_loaded_are_refused(place: Place, inrush: Inrush) -> None:
    assert load(inrush, place, "net * 2") == 0
    asked = inrush("lineage", f"{TABLE}.gros", *place.words)
    asked.expect(USAGE, "no run has loaded a column gros", "did you mean `gross`?")
    inrush("lineage", "nothing", *place.words).expect(
        USAGE, "no run of the ledger has loaded a table or column nothing"
    )
    inrush("lineage", "a..b", *place.words).expect(USAGE, "is not a name of a table or column")

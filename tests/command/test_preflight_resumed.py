"""Preflight of a run that was stopped after its last row predicts the rest of the run."""

from __future__ import annotations

import json
import signal

import pytest

from harness.command import CLEAN, Inrush
from harness.packages import Value, flow, package
from harness.servers import Database

COLUMNS: list[Value] = ["id integer not null", "name text"]


@pytest.mark.parametrize(
    "more", [{}, {"atomic": False}, None], ids=["staged", "straight", "duckdb"]
)
def test_a_run_that_has_loaded_every_row_is_predicted(
    newest_database: Database, inrush: Inrush, more: dict[str, Value] | None
) -> None:
    url = "x.duckdb" if more is None else newest_database.url
    newest_database.execute("CREATE TABLE t (id integer not null, name text)")
    inrush.write("rows.csv", "id,name\n" + "".join(f"{n},name {n}\n" for n in range(10_000)))
    mode: Value = "create" if more is None else "append"
    settings = flow("t", "rows.csv", columns=COLUMNS, mode=mode, **(more or {}))
    path = inrush.write("p.toml", package(url, settings))
    died = inrush("run", path, environment={"INRUSH_FAULT": "before_switch"})
    assert died.status == -signal.SIGKILL, died.said
    report = json.loads(inrush("preflight", path, "--json").expect(CLEAN).output)
    assert report["prediction"]["load_s"] == 0
    assert 0 < report["prediction"]["predicted_s"] < 60
    assert "every row is loaded" in report["prediction"]["because"]
    inrush("preflight", path).expect(CLEAN, "Predicted", "every row is loaded")
    inrush("run", path).expect(CLEAN)
    if more is not None:
        assert newest_database.value("SELECT count(*) FROM t") == 10_000

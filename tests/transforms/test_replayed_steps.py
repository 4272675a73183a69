"""Rejects that are replayed pass the steps of their flow again, and each is counted."""

from __future__ import annotations

import json
from pathlib import Path

from conformance.destinations import DuckDb, in_order
from harness.command import CLEAN, LOADED_WITH_REJECTS, Inrush
from harness.packages import flow, step


def test_rows_that_a_step_filters_are_not_said_to_be_removed(
    inrush: Inrush, tmp_path: Path
) -> None:
    place = DuckDb(tmp_path / "results.duckdb")
    inrush.write("rows.csv", "id,note\n1,a\nx,b\ny,c\n")
    columns = ["id integer", "note text"]
    text = flow("t", "rows.csv", columns=columns, rejects={"rows_max": 9})
    text += step(where="id < 10")
    inrush("run", inrush.write("package.toml", place.package(text))).expect(LOADED_WITH_REJECTS)
    (folder,) = inrush.folder.glob("runs/*")
    (kept,) = folder.glob("rejects/*.rejects")
    kept.write_text(kept.read_text().replace("x,b", "2,b").replace("y,c", "30,c"))
    replayed = inrush("rejects", "replay", folder.name).expect(
        CLEAN, "had rejected 2 rows: 1 loaded now, 1 filtered by steps"
    )
    # The runs of a package include the replays of its rejects.
    listed = inrush("lineage", "t", "package.toml", "--json").expect(CLEAN).output
    runs = [(run["package"], run["rows_loaded"]) for run in json.loads(listed)]
    assert runs == [(f"test rejects of {folder.name}", 1), ("test", 1)]
    assert "by hand" not in replayed.said
    assert place.rows("t", ("integer", "text")) == in_order([("1", "a"), ("2", "b")])

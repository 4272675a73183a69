"""Rejects that are shown, fixed and loaded again (`inrush rejects`)."""

from __future__ import annotations

import json
import signal

import pytest

from harness.command import CLEAN, LOADED_WITH_REJECTS, REJECT_LIMIT, Inrush
from harness.packages import Value, flow, package
from harness.servers import Database
from postgres.refusing import PARTITIONED


def test_show_and_replay(database: Database, inrush: Inrush) -> None:
    database.execute(PARTITIONED.format(name="t"))
    lines = ["k,id,amount,doc", "1,1,5,", "1,2,0,", "2,3,x,", '2,4,1,"{"', "1,1,7,", "3,9,9,"]
    inrush.write("rows.csv", "\n".join(lines) + "\n")
    text = package(
        database.url,
        flow(
            "t",
            "rows.csv",
            partition_by="k",
            bounds=[1, 10],
            mode="append",
            rejects={"rows_max": 9},
        ),
    )
    outcome = inrush("run", inrush.write("package.toml", text)).expect(LOADED_WITH_REJECTS)
    folder = outcome.run_folders()[-1]
    shown = inrush("rejects", "show").expect(
        CLEAN,
        folder.name,
        "4 rows rejected",
        "duplicate_key: 1 row of t",
        "check_violated: 1 row of t",
        "syntax, column amount: 1 row of t",
        "rows.csv:4",
    )
    print(shown.output)
    told = json.loads(inrush("rejects", "show", folder.name, "--json").expect(CLEAN).output)
    assert told["rows"] == 4
    assert {(cause["code"], cause["column"]) for cause in told["causes"]} == {
        ("duplicate_key", None),
        ("check_violated", None),
        ("syntax", "amount"),
        ("syntax", "doc"),
    }

    (rows,) = (folder / "rejects").glob("*.rejects")
    assert rows.read_text().splitlines()[1:] == lines[2:6]
    # One row is corrected, one is still wrong, one is still a duplicate, and one is left out.
    rows.write_text("\n".join([lines[0], "1,2,3,", "2,3,0,", "1,1,7,"]) + "\n")
    replayed = inrush("rejects", "replay", folder.name).expect(
        LOADED_WITH_REJECTS, "4 rows: 1 loaded now, 2 rejected again", "1 removed by hand"
    )
    print(replayed.output)
    notes = " ".join(replayed.report["notes"])
    assert "is partitioned, and the server routes" in notes
    assert "a plain table" not in notes
    report = replayed.report
    assert report["replays"] == folder.name
    assert report["account"]["rows_read"] == 3
    rejects = [(one["line"], one["code"]) for one in replayed.rejects()]
    assert sorted(rejects) == [(3, "check_violated"), (4, "duplicate_key")]
    kept = "SELECT k, id, amount FROM t ORDER BY id"
    assert database.rows(kept) == [(1, 1, 5), (1, 2, 3), (3, 9, 9)]

    # The corrected row is loaded once, even if the files have changed since.
    for _ in range(2):
        once_more = inrush("rejects", "replay", folder.name)
        once_more.expect(LOADED_WITH_REJECTS, "already", "2 rows rejected again")
        rows.write_text("\n".join([lines[0], "1,77,3,"]) + "\n")
    assert database.rows(kept) == [(1, 1, 5), (1, 2, 3), (3, 9, 9)]
    # Rows that were rejected again are corrected in the replay's folder.
    again = replayed.run_folders()[-1]
    for rows in (again / "rejects").glob("*.rejects"):
        rows.write_text(rows.read_text().replace("2,3,0,", "2,3,4,").replace("1,1,7,", "1,7,7,"))
    inrush("rejects", "replay", again).expect(CLEAN, "2 rows: 2 loaded now")
    assert database.rows(kept) == [(1, 1, 5), (1, 2, 3), (2, 3, 4), (1, 7, 7), (3, 9, 9)]


def test_replay_with_nothing_to_do(newest_database: Database, inrush: Inrush) -> None:
    inrush("rejects", "show").expect(2, "no run folder")
    inrush("rejects", "replay", "nonesuch").expect(2, "nonesuch")
    newest_database.execute("CREATE TABLE t (n int)")
    inrush.write("rows.csv", "n\n1\nx\n")
    words = ("load", "rows.csv", "--to", newest_database.url, "--table", "t")
    outcome = inrush(*words).expect(REJECT_LIMIT)
    # The run switched no row in, so the table lacks more rows than the run's rejects.
    inrush("rejects", "replay", outcome.run_folders()[-1].name).expect(
        2, "has not been switched in", "run the same command again"
    )
    inrush.write("rows.csv", "n\n1\n")
    done = inrush(*words).expect(CLEAN)
    inrush("rejects", "replay", done.run_folders()[-1].name).expect(CLEAN, "rejected nothing")


@pytest.mark.parametrize("point", ["in_copy", "before_switch_commit", "after_switch_commit"])
def test_a_killed_replay_goes_on(newest_database: Database, inrush: Inrush, point: str) -> None:
    newest_database.execute("CREATE TABLE t (n int)")
    inrush.write("rows.csv", "n\n1\nx\n")
    words = ("load", "rows.csv", "--to", newest_database.url, "--table", "t", "--max-rejects", "1")
    outcome = inrush(*words).expect(LOADED_WITH_REJECTS)
    folder = outcome.run_folders()[-1]
    (rows,) = (folder / "rejects").glob("*.rejects")
    rows.write_text("n\n2\n")
    died = inrush("rejects", "replay", folder.name, environment={"INRUSH_FAULT": point})
    assert died.status == -signal.SIGKILL, died.said
    inrush("rejects", "replay", folder.name).expect(CLEAN)
    assert newest_database.rows("SELECT n FROM t ORDER BY n") == [(1,), (2,)]


REPLACED = {
    "plain": ("CREATE TABLE t (n int)", {}),
    "by_rows": ("CREATE TABLE t (n int)", {"replace": {"by": "rows"}}),
    "partitions": ("CREATE TABLE t (n int NOT NULL) PARTITION BY RANGE (n)", {}),
}


@pytest.mark.parametrize("setup", REPLACED.values(), ids=list(REPLACED))
def test_rejects_of_a_run_that_was_replaced_are_not_replayed(
    newest_database: Database, inrush: Inrush, setup: tuple[str, dict[str, Value]]
) -> None:
    """Other rows have replaced the run's rows; a replay would add the run's rejects to them."""
    database = newest_database
    create, more = setup
    database.execute(create)
    inrush.write("one.csv", "n\n1\nx\n2\n")
    inrush.write("two.csv", "n\n10\ny\n20\n")
    folders = []
    for name in ("one", "two"):
        settings = flow("t", f"{name}.csv", mode="replace", rejects={"rows_max": 5}, **more)
        inrush.write("package.toml", package(database.url, settings))
        outcome = inrush("run", "package.toml").expect(LOADED_WITH_REJECTS)
        folders.append(outcome.run_folders()[-1])
    for folder, value in zip(folders, (3, 15), strict=True):
        (rows,) = (folder / "rejects").glob("*.rejects")
        rows.write_text(f"n\n{value}\n")
    inrush("rejects", "replay", folders[0].name).expect(
        2, folders[0].name, f"run {folders[1].name} replaced them", "--mode append"
    )
    assert database.rows("SELECT n FROM t ORDER BY n") == [(10,), (20,)]
    inrush("rejects", "replay", folders[1].name).expect(CLEAN, "1 loaded now")
    assert database.rows("SELECT n FROM t ORDER BY n") == [(10,), (15,), (20,)]


def test_rejects_of_a_target_that_was_made_anew_are_not_replayed(
    newest_database: Database, inrush: Inrush
) -> None:
    database = newest_database
    database.execute("CREATE TABLE t (n int)")
    inrush.write("rows.csv", "n\n1\nx\n")
    words = ("load", "rows.csv", "--to", database.url, "--table", "t", "--max-rejects", "1")
    folder = inrush(*words).expect(LOADED_WITH_REJECTS).run_folders()[-1]
    (rows,) = (folder / "rejects").glob("*.rejects")
    rows.write_text("n\n2\n")
    database.execute("DROP TABLE t")
    inrush("rejects", "replay", folder.name).expect(2, "dropped or created again")
    database.execute("CREATE TABLE t (n int)")
    inrush("rejects", "replay", folder.name).expect(2, "dropped or created again")
    assert database.value("SELECT count(*) FROM t") == 0

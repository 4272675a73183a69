"""Each row that a plain target refuses at the switch becomes a reject with its line."""

from __future__ import annotations

import random
import signal
from pathlib import Path

import pytest

from harness.command import LOADED_WITH_REJECTS, REJECT_LIMIT, Inrush, Outcome
from harness.contents import state
from harness.packages import Value, flow, package
from harness.serial import SerialJob
from harness.servers import Database
from postgres.refusing import PLAIN, PLAIN_CODES

PLAIN_FILES = 3
PLAIN_ROWS = 300


class PlainJob(SerialJob):
    """Files for a plain target that has a row, and the result of a careful serial load."""

    tables = (("loaded", "expected", "id"),)

    def __init__(self, database: Database, inrush: Inrush, *, deferred: bool = False) -> None:
        super().__init__(database, inrush)
        database.execute(
            "CREATE TABLE parents (id int PRIMARY KEY);"
            "INSERT INTO parents SELECT generate_series(1, 50)"
        )
        parent = "REFERENCES parents"
        later = " DEFERRABLE INITIALLY DEFERRED" if deferred else ""
        database.execute(PLAIN.format(name="loaded", parent=parent + later))
        database.execute(PLAIN.format(name="expected", parent=parent))
        chance = random.Random(3)  # noqa: S311
        files = {
            f"rows.{number}.csv": [
                self.row(number * PLAIN_ROWS + row, chance) for row in range(PLAIN_ROWS)
            ]
            for number in range(PLAIN_FILES)
        }
        statement = "INSERT INTO expected VALUES (%s::int, %s::int, %s::int4range, %s)"
        self.insert("id,parent,span,note", statement, files)
        assert {one.code for one in self.expected} == PLAIN_CODES

    def row(self, number: int, chance: random.Random) -> list[str]:
        key = number + 100
        fields = [str(key), "1", f"[{key * 3},{key * 3 + 1})", "a note"]
        match chance.randrange(40):
            case 0:
                fields[0] = "10"
            case 1:
                fields[0] = str(chance.randrange(100, 100 + PLAIN_FILES * PLAIN_ROWS))
            case 2:
                fields[1] = "51"
            case 3:
                fields[2] = "[5,6)"
            case 4:
                fields[3] = "no"
            case 5:
                fields[0] = "x"
            case 6:
                fields[3] = "set"
        return fields

    def package(self, rows_max: int = 10_000, **run: Value) -> Path:
        text = package(
            self.database.url,
            flow("loaded", "rows.*.csv", mode="append", rejects={"rows_max": rows_max}),
            name="test",
            **run,
        )
        return self.inrush.write("package.toml", text)

    def assert_done(self, outcome: Outcome) -> None:
        super().assert_done(outcome)
        for one in outcome.rejects():
            text = (self.inrush.folder / Path(one["file"]).name).read_bytes()
            assert text[: one["byte_offset"]].count(b"\n") == one["line"] - 1


@pytest.mark.parametrize("deferred", [False, True])
@pytest.mark.parametrize("streams", [1, 3])
def test_rows_that_a_plain_target_refuses(
    database: Database, inrush: Inrush, streams: int, deferred: bool
) -> None:
    job = PlainJob(database, inrush, deferred=deferred)
    outcome = inrush("run", job.package(streams=streams)).expect(LOADED_WITH_REJECTS)
    print(inrush("rejects", "show").output)
    assert outcome.report["units"][0]["shared"] == (streams > 1)
    job.assert_done(outcome)
    # A second load of the same rows finds all of them in the target.
    again = inrush("run", "package.toml", "--again").expect(LOADED_WITH_REJECTS)
    assert again.report["account"]["rows_loaded"] == 0
    job.assert_same_contents()


@pytest.mark.parametrize(
    "point", ["in_switch", "before_switch_commit", "switch_commit_sent", "after_switch_commit"]
)
def test_killed_in_a_careful_switch(newest_database: Database, inrush: Inrush, point: str) -> None:
    job = PlainJob(newest_database, inrush)
    path = job.package(streams=2)
    died = inrush("run", path, environment={"INRUSH_FAULT": point})
    assert died.status == -signal.SIGKILL, died.said
    outcome = inrush("run", path)
    if "already loaded" not in outcome.said:
        job.assert_done(outcome.expect(LOADED_WITH_REJECTS))
    assert len(outcome.rejects()) == len(job.expected)
    job.assert_same_contents()


def test_the_limit_holds_at_the_switch(newest_database: Database, inrush: Inrush) -> None:
    job = PlainJob(newest_database, inrush)
    before = state(newest_database)
    outcome = inrush("run", job.package(rows_max=30, streams=2))
    outcome.expect(REJECT_LIMIT, "30", "rows.0.csv")
    print(outcome.said)
    assert state(newest_database) == before
    outcome = inrush("run", job.package(streams=2)).expect(LOADED_WITH_REJECTS)
    job.assert_done(outcome)


def a_refused_row(database: Database, inrush: Inrush, file: str = "rows.csv", **more: Value) -> str:
    """Write a file of 100 rows: a CHECK refuses two, and the target already has one."""
    rows = "".join(f"{-n if n in (5, 6) else n},note {n}\n" for n in range(1, 101))
    inrush.write("rows.csv", "id,note\n" + rows)
    settings = flow("t", file, mode="append", rejects={"rows_max": 10}, **more)
    inrush.write("package.toml", package(database.url, settings))
    return "SELECT id, note FROM t ORDER BY id"


@pytest.mark.parametrize("cause", ["before_switch", "post_sql"])
@pytest.mark.parametrize("change", ["path", "runs", "nothing"])
def test_the_right_row_is_rejected_after_a_stop(
    database: Database, inrush: Inrush, change: str, cause: str
) -> None:
    """Rows that were refused before the stop are found again, whatever units are kept."""
    database.execute(
        "CREATE TABLE t (id int PRIMARY KEY CHECK (id > 0), note text);"
        "INSERT INTO t VALUES (50, 'already')"
    )
    if cause == "post_sql":
        a_refused_row(database, inrush, post_sql="SELECT 1 / 0")
        inrush("run", "package.toml").expect(1, "division by zero")
        first = inrush("run", "package.toml").expect(1)
    else:
        a_refused_row(database, inrush)
        first = inrush("run", "package.toml", environment={"INRUSH_FAULT": cause})
        assert first.status == -signal.SIGKILL, first.said
    file = str(inrush.folder / "rows.csv") if change == "path" else "rows.csv"
    query = a_refused_row(database, inrush, file)
    if change == "runs":
        for path in inrush.folder.glob("runs/*/rejects/*"):
            path.unlink()
    outcome = inrush("run", "package.toml").expect(LOADED_WITH_REJECTS)
    rejects = {one["line"]: one["code"] for one in outcome.rejects()}
    assert rejects == {6: "check_violated", 7: "check_violated", 51: "duplicate_key"}
    if change == "runs":
        (note,) = (note for note in outcome.report["notes"] if "2 rows that run" in note)
        assert 'unit 1 of "public"."t" is loaded again, so that its rejects are written' in note
    expected = [(n, "already" if n == 50 else f"note {n}") for n in range(1, 101)]
    assert database.rows(query) == [row for row in expected if row[0] not in (5, 6)]


def test_a_refused_row_is_held_against_the_files(newest_database: Database, inrush: Inrush) -> None:
    """If staging is no longer in file order, the line of a refused row cannot be found there."""
    database = newest_database
    database.execute(
        "CREATE TABLE t (id int PRIMARY KEY, note text); INSERT INTO t VALUES (50, 'already')"
    )
    rows = "".join(f"{n},note {n}\n" for n in range(1, 101))
    inrush.write("rows.csv", "id,note\n" + rows)
    settings = flow("t", "rows.csv", mode="append", rejects={"rows_max": 10})
    inrush.write("package.toml", package(database.url, settings))
    inrush("run", "package.toml", environment={"INRUSH_FAULT": "before_switch"})
    table = database.value("SELECT staging_table FROM inrush.unit")
    database.execute(f"UPDATE inrush_staging.{table} SET note = note WHERE id < 20")
    before = state(database)
    inrush("run", "package.toml").expect(5, "refused 1 row", "inrush cleanup")
    assert state(database) == before


def test_refused_rows_behind_trailers(newest_database: Database, inrush: Inrush) -> None:
    """A trailer is not a row, so it is not counted when a line of the file is looked up."""
    database = newest_database
    database.execute(
        "CREATE TABLE t (id int PRIMARY KEY, note text); INSERT INTO t VALUES (15, 'already')"
    )
    for file in range(2):
        lines = "".join(f"{n},note\n" for n in range(file * 10, file * 10 + 10))
        inrush.write(f"rows.{file}.csv", lines + "999,10\n")
    settings = flow(
        "t", "rows.*.csv", mode="append", rejects={"rows_max": 10},
        format={"header": False}, columns=["id", "note"],
        trailer={"starts_with": "999,", "rows_field": 2},
    )  # fmt: skip
    inrush.write("package.toml", package(database.url, settings, streams=1))
    outcome = inrush("run", "package.toml").expect(LOADED_WITH_REJECTS)
    (reject,) = outcome.rejects()
    assert (Path(reject["file"]).name, reject["line"]) == ("rows.1.csv", 6)

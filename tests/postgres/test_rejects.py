"""Rows that the server refuses: each becomes a reject, the rest goes in, as a serial load does it.

The serial load is one INSERT after the other in the order of the files, here in this file.
"""

from __future__ import annotations

import json
import random
import signal
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from harness import pauses
from harness.checkout import DOCS
from harness.command import CLEAN, LOADED_WITH_REJECTS, REJECT_LIMIT, Inrush, Outcome
from harness.contents import differing_rows, state
from harness.packages import Value, flow, package
from harness.serial import SerialJob
from harness.servers import Database

HELPERS = """
CREATE FUNCTION refuses(n int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF n = 13 THEN RAISE EXCEPTION 'we do not like %', n USING HINT = 'take 14'; END IF;
    RETURN true;
END $$;
CREATE DOMAIN even AS int CHECK (VALUE % 2 = 0);
CREATE DOMAIN present AS int NOT NULL;
"""


@dataclass(frozen=True)
class Cause:
    """A row that the server refuses, the fifth line of a file, and how that is told."""

    name: str
    columns: str
    good: str
    bad: str
    code: str
    said: tuple[str, ...]
    column: str | None = None
    value: str | None = None
    constraints: str = ""
    before: str = ""


CAUSES = [
    Cause("check", "amount int CHECK (amount > 0)", "5", "-5",
          "check_violated", ('"t_amount_check"', "CHECK ((amount > 0))", "fix the row")),
    Cause("check_of_two_columns", "a int, b int, CONSTRAINT order_ab CHECK (a < b)", "1,2", "2,1",
          "check_violated", ('"order_ab"', "(a < b)")),
    Cause("domain", "n even", "2", "3",
          "check_violated", ("domain even", "even_check"), "n", "3"),
    Cause("domain_not_null", "n present", "2", "",
          "null_not_allowed", ("means NULL", "is not nullable"), "n"),
    Cause("unique", "n int", "{n}", "1",
          "duplicate_key", ("(k, n)=(7, 1)", "UNIQUE (k, n)", "the first row is loaded"),
          constraints="UNIQUE (k, n)"),
    Cause("unique_index", "n text", "x{n}", "X1",
          "duplicate_key", ("(7, x1) already exists", "UNIQUE (k, lower(n))"),
          before="CREATE UNIQUE INDEX ON t (k, lower(n))"),
    Cause("deferrable_unique", "n int", "{n}", "1",
          "duplicate_key", ("(k, n)=(7, 1)",),
          constraints="UNIQUE (k, n) DEFERRABLE INITIALLY DEFERRED"),
    Cause("bad_json", "doc jsonb", "{{}}", "{{",
          "syntax", ("not JSON",), "doc", "{"),
    Cause("json_with_nul", "doc jsonb", "1", '"""\\u0000"""',
          "value_refused", ("\\u0000", "bytea"), "doc"),
    Cause("type_sent_as_text", "address inet", "10.0.0.1", "10.0.0.256",
          "value_refused", ("inet", "10.0.0.256"), "address", "10.0.0.256"),
    Cause("generated_column", "n int, m int GENERATED ALWAYS AS (100 / n) STORED", "5", "0",
          "value_refused", ("division by zero",)),
    Cause("function_that_raises", "n int CHECK (refuses(n))", "5", "13",
          "raised", ("we do not like 13", "take 14")),
    Cause("too_large_for_an_index", "n text", "x", "{long}",
          "too_large", ("index",), before="CREATE INDEX ON t (n)"),
]  # fmt: skip


def incompressible(length: int) -> str:
    """Return text that no compression makes short."""
    return "".join(random.Random(1).choices("0123456789abcdefghijklmnopqrstuvwxyz", k=length))  # noqa: S311


def names(columns: str) -> list[str]:
    """Return the columns that a file has."""
    parts = [part for part in columns.split(", ") if "GENERATED" not in part]
    return [part.split()[0] for part in parts if not part.startswith("CONSTRAINT")]


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.name)
def test_each_cause_is_told(database: Database, inrush: Inrush, cause: Cause) -> None:
    constraints = f", {cause.constraints}" if cause.constraints else ""
    database.execute(
        HELPERS
        + f"CREATE TABLE t (k int NOT NULL, {cause.columns}{constraints}) PARTITION BY RANGE (k);"
        + cause.before
    )
    good = [f"7,{cause.good.format(n=n)}" for n in range(1, 7)]
    long = incompressible(12_000)
    bad = f"7,{cause.bad.format(long=long)}"
    header = ",".join(["k", *names(cause.columns)])
    lines = [header, *good[:3], bad, *good[3:]]
    inrush.write("rows.csv", "\n".join(lines) + "\n")
    text = package(database.url, flow("t", "rows.csv", mode="append", rejects={"rows_max": 1}))
    outcome = inrush("run", inrush.write("package.toml", text))
    outcome.expect(LOADED_WITH_REJECTS)
    assert database.value("SELECT count(*) FROM t") == 6
    (reject,) = outcome.rejects()
    print(reject["reason"])
    assert (reject["code"], reject["line"], reject["column"]) == (cause.code, 5, cause.column)
    assert reject["byte_offset"] == len("\n".join(lines[:4])) + 1
    if cause.value is not None:
        assert reject["value"] == cause.value
    for part in cause.said:
        assert part in reject["reason"]
    assert "inrush" not in reject["reason"]
    (rows,) = (outcome.run_folders()[-1] / "rejects").glob("*.rejects")
    assert rows.read_text().splitlines()[1:] == [bad]
    assert outcome.report["account"]["rows_read"] == 7


TABLE = """
CREATE TABLE {name} (
    k int NOT NULL,
    id int NOT NULL,
    amount int CHECK (amount <> 0),
    doc jsonb,
    UNIQUE (k, id)
) PARTITION BY RANGE (k)
"""
FILES = 4
ROWS = 400


class Job(SerialJob):
    """Files with rows of all kinds, and what a careful serial load makes of them."""

    def __init__(
        self, database: Database, inrush: Inrush, *, seed: int = 1, partitions: int = 1
    ) -> None:
        super().__init__(database, inrush)
        self.partitions = partitions
        database.execute(TABLE.format(name="loaded"))
        database.execute(TABLE.format(name="expected"))
        database.execute("CREATE TABLE expected_all PARTITION OF expected DEFAULT")
        chance = random.Random(seed)  # noqa: S311
        files = {
            f"rows.{number}.csv": [self.row(number, chance) for _ in range(ROWS)]
            for number in range(FILES)
        }
        statement = "INSERT INTO expected VALUES (%s::int, %s::int, %s::int, %s::jsonb)"
        self.insert("k,id,amount,doc", statement, files)

    def row(self, number: int, chance: random.Random) -> list[str]:
        # Keys come again in the same file and in others.
        fields = [
            str(number % self.partitions),
            str(chance.randrange(FILES * ROWS * 4)),
            chance.choice(["1", "2", "-3"]),
            '{"a": 1}',
        ]
        match chance.randrange(60):
            case 0:
                fields[2] = "0"
            case 1:
                fields[3] = "{broken"
            case 2:
                fields[1] = "x"
            case 3:
                fields[2] = "99999999999"
            case 4:
                fields[3] = "line\nbreak"
        return fields

    def package(self, **run: Any) -> Path:
        settings: dict[str, Value] = {
            "partition_by": "k",
            "bounds": list(range(self.partitions + 1)),
        }
        settings |= {"mode": "append", "rejects": {"rows_max": 1_000_000}}
        text = package(self.database.url, flow("loaded", "rows.*.csv", **settings), **run)
        return self.inrush.write("package.toml", text)

    def assert_done(self, outcome: Outcome) -> None:
        super().assert_done(outcome)
        kept = (outcome.run_folders()[-1] / "rejects").glob("*.rejects")
        assert sum(path.read_text().count("\n") for path in kept) >= len(self.expected)


def test_private_units_as_a_serial_load(database: Database, inrush: Inrush) -> None:
    job = Job(database, inrush, partitions=4)
    outcome = inrush("run", job.package(streams=2)).expect(LOADED_WITH_REJECTS)
    assert not any(unit["shared"] for unit in outcome.report["units"])
    job.assert_done(outcome)


@pytest.mark.parametrize("streams", [2, 3, 7])
@pytest.mark.parametrize("batch_rows", [64, 1024])
def test_shared_units_as_a_serial_load(
    database: Database, inrush: Inrush, streams: int, batch_rows: int
) -> None:
    job = Job(database, inrush, seed=streams * batch_rows)
    path = job.package(streams=streams, batch_rows=batch_rows, chunk_bytes=65_536)
    outcome = inrush("run", path).expect(LOADED_WITH_REJECTS)
    assert [unit["shared"] for unit in outcome.report["units"]] == [True]
    assert [unit["careful"] for unit in outcome.report["units"]] == [True]
    job.assert_done(outcome)


def told(inrush: Inrush, event: str) -> bool:
    """Return whether the log of the run has an event."""
    (log,) = inrush.folder.glob("runs/*/log.jsonl")
    return f'"event":"{event}"' in log.read_text()


def test_a_refusal_while_another_stream_is_in_the_middle_of_a_block(
    newest_database: Database, inrush: Inrush
) -> None:
    """Its COPY ends between two messages, so that its session can go on."""
    database = newest_database
    database.execute(pauses.HELD_DOMAIN)
    for table in ("loaded", "expected"):
        database.execute(
            f"CREATE TABLE {table} (id int, gate held, amount int CHECK (amount > 0), t text)"
        )
    # The second range of four stands still in the server, with far more to send than a socket
    # takes; one of the last rows of the first range brings the refusal.
    count, row_bytes = 4_000, 10_000
    refused, held = 900, 1_100
    rows = [
        f"{n},{-1 if n >= held else 1},{0 if n == refused else n + 1},{'x' * row_bytes}\n"
        for n in range(count)
    ]
    good = "".join(row for n, row in enumerate(rows) if n != refused)
    plain = inrush.write("good", good)
    database.psql(f"\\copy expected FROM '{plain}' (FORMAT csv)")
    inrush.write("rows.csv", "".join(rows))
    settings: dict[str, Value] = {
        "mode": "append",
        "format": {"header": False},
        "rejects": {"rows_max": 1},
    }
    text = package(database.url, flow("loaded", "rows.csv", **settings), streams=2)
    path = inrush.write("package.toml", text)
    with ExitStack() as stack:
        gate = stack.enter_context(ExitStack())
        gate.enter_context(pauses.closed_gate(database))
        running = stack.enter_context(inrush.start("run", path))
        pauses.wait_until_held(database)
        while not told(inrush, "unit_refused"):
            assert running.process.poll() is None
        gate.close()
        outcome = running.wait()
    outcome.expect(LOADED_WITH_REJECTS)
    assert [unit["shared"] for unit in outcome.report["units"]] == [True]
    assert [reject["line"] for reject in outcome.rejects()] == [refused + 1]
    assert differing_rows(database, "loaded", "expected") == 0


@pytest.mark.parametrize(
    "point",
    ["in_careful_copy", "in_careful_copy:9", "before_unit_commit", "unit_commit_sent",
     "after_unit_commit", "before_switch_commit"],
)  # fmt: skip
@pytest.mark.parametrize("partitions", [1, 4])
def test_killed_in_careful_mode(
    newest_database: Database, inrush: Inrush, point: str, partitions: int
) -> None:
    job = Job(newest_database, inrush, partitions=partitions)
    path = job.package(streams=2, batch_rows=64)
    died = inrush("run", path, environment={"INRUSH_FAULT": point})
    assert died.status == -signal.SIGKILL, died.said
    assert newest_database.value("SELECT count(*) FROM loaded") == 0
    outcome = inrush("run", path).expect(LOADED_WITH_REJECTS)
    job.assert_done(outcome)


def test_the_limit_holds_for_what_the_server_refuses(
    newest_database: Database, inrush: Inrush
) -> None:
    newest_database.execute(TABLE.format(name="t"))
    before = state(newest_database)
    rows = [f"1,{n},{n % 5}," for n in range(1, 30)]
    inrush.write("rows.csv", "\n".join(["k,id,amount,doc", *rows]) + "\n")
    for rows_max, place in ((0, "rows.csv:6"), (4, "rows.csv:26")):
        text = package(
            newest_database.url,
            flow("t", "rows.csv", mode="append", rejects={"rows_max": rows_max}),
        )
        outcome = inrush("run", inrush.write("package.toml", text))
        outcome.expect(REJECT_LIMIT, place, '"t_amount_check"', "CHECK ((amount <> 0))")
        print(outcome.said)
        assert state(newest_database) == before
    inrush.write("rows.csv", "k,id,amount,doc\n" + "\n".join(r for r in rows if ",0," not in r))
    inrush("run", "package.toml").expect(CLEAN)


def test_what_is_no_rows_fault_stops_the_load(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(
        "CREATE FUNCTION lost(n int) RETURNS bool LANGUAGE plpgsql AS "
        "$$ BEGIN RETURN gone(n); END $$;"
        "CREATE TABLE t (k int NOT NULL, n int CHECK (lost(n))) PARTITION BY RANGE (k)"
    )
    inrush.write("rows.csv", "k,n\n1,1\n")
    text = package(
        newest_database.url, flow("t", "rows.csv", mode="append", rejects={"rows_max": 5})
    )
    inrush("run", inrush.write("package.toml", text)).expect(1, "gone(integer) does not exist")


def test_events_tell_of_a_careful_load(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(TABLE.format(name="t"))
    inrush.write("rows.csv", "k,id,amount,doc\n1,1,0,\n1,2,1,\n")
    text = package(
        newest_database.url, flow("t", "rows.csv", mode="append", rejects={"rows_max": 5})
    )
    outcome = inrush("run", inrush.write("package.toml", text), "--json")
    events = [json.loads(line) for line in outcome.output.splitlines()]
    told = [event["event"] for event in events]
    assert told.count("unit_refused") == 1
    assert told.count("rejected") == 1


def test_show_and_replay(database: Database, inrush: Inrush) -> None:
    database.execute(TABLE.format(name="t"))
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
    # One is fixed, one is fixed badly, one is a duplicate still, one is given up.
    rows.write_text("\n".join([lines[0], "1,2,3,", "2,3,0,", "1,1,7,"]) + "\n")
    replayed = inrush("rejects", "replay", folder.name).expect(
        LOADED_WITH_REJECTS, "4 rows: 1 loaded now, 2 rejected again", "1 taken out"
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

    # It loads once, whatever was changed since.
    for _ in range(2):
        once_more = inrush("rejects", "replay", folder.name)
        once_more.expect(LOADED_WITH_REJECTS, "already", "2 rows rejected again")
        rows.write_text("\n".join([lines[0], "1,77,3,"]) + "\n")
    assert database.rows(kept) == [(1, 1, 5), (1, 2, 3), (3, 9, 9)]
    # What was rejected again is fixed where it stands.
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
    # Nothing was switched in: its rejects are not all that is missing.
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


def test_a_share_of_rows_may_be_rejected(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute("CREATE TABLE t (n int, m int)")
    before = state(newest_database)
    rows = [f"{n},1" if n % 10 else "x,1" for n in range(1, 1001)]
    inrush.write("rows.csv", "n,m\n" + "\n".join(rows) + "\n")

    def run(share: float | int) -> Any:
        text = package(newest_database.url, flow("t", "rows.csv")) + (
            f"rejects = {{ share_max = {share} }}\n"
        )
        return inrush("run", inrush.write("package.toml", text))

    # It stops as soon as it is certain.
    run(0.001).expect(REJECT_LIMIT, "of at most", "rows.csv:", "0.1 % accepted")
    assert state(newest_database) == before
    run(0.099).expect(REJECT_LIMIT, "100 of 1000 rows were rejected", "9.9 % accepted")
    assert state(newest_database) == before
    run(0.1).expect(LOADED_WITH_REJECTS)
    assert newest_database.value("SELECT count(*) FROM t") == 900


PLAIN = """
CREATE TABLE {name} (
    id int PRIMARY KEY,
    parent int {parent},
    span int4range,
    note text,
    EXCLUDE USING gist (span WITH &&)
);
CREATE FUNCTION {name}_check() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.note = 'no' THEN RAISE EXCEPTION 'note says no'; END IF;
    IF NEW.note = 'set' THEN NEW.note := 'changed'; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER guard BEFORE INSERT ON {name} FOR EACH ROW EXECUTE FUNCTION {name}_check();
INSERT INTO {name} VALUES (10, 1, '[5,6)', 'old');
"""
PLAIN_FILES = 3
PLAIN_ROWS = 300
# Of the rows that are refused.
PLAIN_CODES = {"duplicate_key", "exclusion_violated", "foreign_key_missing", "raised", "syntax"}


class PlainJob(SerialJob):
    """Files for a plain target that has a row, and what a careful serial load makes of them."""

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
    # A second load of the same rows finds all of them there.
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
    """Write a file of 100 rows of which a CHECK refuses two and the target has one already."""
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
    """Which rows were refused before is known however the file is named and whatever is kept."""
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
        assert "2 rows that run" in outcome.said
        assert "loaded again" in outcome.said
    expected = [(n, "already" if n == 50 else f"note {n}") for n in range(1, 101)]
    assert database.rows(query) == [row for row in expected if row[0] not in (5, 6)]


def test_a_refused_row_is_held_against_the_files(newest_database: Database, inrush: Inrush) -> None:
    """Rows of staging that do not stand in file order any more are not blamed by their place."""
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
    """A trailer is no row, so it is not counted on the way back to the file."""
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


def test_rejects_of_rows_that_went_straight_in_are_told_of(
    newest_database: Database, inrush: Inrush
) -> None:
    database = newest_database
    database.execute("CREATE TABLE t (id int, note text)")
    for file in range(3):
        inrush.write(f"rows.{file}.csv", "id,note\n1,a\nx,b\n2,c\n")
    settings = flow("t", "rows.*.csv", mode="append", atomic=False, rejects={"rows_max": 10})
    inrush.write("package.toml", package(database.url, settings, streams=1))
    inrush("run", "package.toml", environment={"INRUSH_FAULT": "after_unit_commit:1"})
    for path in inrush.folder.glob("runs/*/rejects/*"):
        path.unlink()
    outcome = inrush("run", "package.toml").expect(LOADED_WITH_REJECTS, "1 row that run")
    assert outcome.report["account"]["rows_rejected"] == 3
    assert any("1 row that run" in note for note in outcome.report["notes"])
    assert database.value("SELECT count(*) FROM t") == 6


REPLACED = {
    "plain": ("CREATE TABLE t (n int)", {}),
    "by_rows": ("CREATE TABLE t (n int)", {"replace": {"by": "rows"}}),
    "partitions": ("CREATE TABLE t (n int NOT NULL) PARTITION BY RANGE (n)", {}),
}


@pytest.mark.parametrize("setup", REPLACED.values(), ids=list(REPLACED))
def test_rejects_of_a_run_that_was_replaced_are_not_replayed(
    newest_database: Database, inrush: Inrush, setup: tuple[str, dict[str, Value]]
) -> None:
    """Its rows gave way to others, and its rejects would come among those."""
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
    database.execute("DROP TABLE t; CREATE TABLE t (n int)")
    inrush("rejects", "replay", folder.name).expect(2, "dropped or created again")
    assert database.value("SELECT count(*) FROM t") == 0


@dataclass(frozen=True)
class Form:
    """A row that is found at fault before it is sent, behind a good one, and how that is told."""

    code: str
    columns: tuple[Any, ...]
    rows: bytes
    said: tuple[str, ...]
    format: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    loaded: int = 1


TSV = {"preset": "tsv"}
CSV = {"preset": "csv", "header": False}
TWO = ("id int", "note text")
LOCAL = {"name": "at", "type": "timestamptz", "zone": "Europe/Vienna"}
LOSSLESS = {"name": "id", "type": "int", "lossless": True}
KEYED = {"partition_by": "id", "bounds": [0, 10]}
FORMS = [
    Form("field_count", TWO, b"1,a\n2\n", ("1 field", "2 were expected"), CSV),
    Form("stray_quote", TWO, b'1,a\n2,a"b\n', ("inside an unquoted field",), CSV),
    Form("text_after_quote", TWO, b'1,a\n2,"a"b\n', ("follows a closing quote",), CSV),
    Form("unclosed_quote", TWO, b'1,a\n2,"a\n', ("ends inside the quoted field",), CSV),
    Form("dangling_escape", TWO, b"1\ta\n2\ta\\", ("right after an escape",), TSV),
    Form("trailing_delimiter_missing", TWO, b"1|a|\n2|a\n", ("does not end with '|'",),
         {"preset": "tbl"}),
    Form("bare_carriage_return", TWO, b"1,a\n2,a\rb\n", ("carriage return", '"cr"'), CSV),
    Form("end_marker", TWO, b"1\ta\n\\.\n3\tc\n", ("end-of-data marker",), TSV,
         loaded=2),
    Form("record_length", TWO, b"1 aa\n2 \n", ("shorter than 4 bytes",),
         {"fixed": [[1, 2], [3, 2]]}),
    Form("invalid_utf8", TWO, b"1,a\n2,\xff\n", ("not valid UTF-8", "windows-1252"), CSV),
    Form("nul_byte", TWO, b"1,a\n2,a\0b\n", ("NUL",), CSV),
    Form("null_not_allowed", ("id int not null", "note text"), b"1,a\n,a\n",
         ("means NULL", "is not nullable"), CSV),
    Form("syntax", TWO, b"1,a\nx,a\n", ("not a whole number",), CSV),
    Form("out_of_range", TWO, b"1,a\n99999999999,a\n", ("2147483647",), CSV),
    Form("fraction_lost", ("n numeric(4,1)",), b"1.5\n1.25\n", ("round",), CSV),
    Form("form_lost", (LOSSLESS,), b"1\n007\n", ("begins with a zero", "lossless = false"), CSV),
    Form("too_long", ("note varchar(2)",), b"ab\nabc\n",
         ("3 characters, and varchar(2) holds 2",), CSV),
    Form("unknown_label", ("m mood",), b"good\nso-so\n", ("good",), CSV),
    Form("ambiguous_local_time", (LOCAL,), b"2024-06-01 00:00:00\n2024-10-27 02:30:00\n",
         ("Europe/Vienna",), CSV),
    Form("zone_missing", ("at timestamptz",), b"2024-06-01 00:00:00Z\n2024-06-01 00:00:00\n",
         ("zone",), CSV),
    Form("outside_partition", ("id int not null",), b"1\n50\n", ("partition",), CSV, KEYED),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.code)
def test_each_form_is_told(newest_database: Database, inrush: Inrush, form: Form) -> None:
    newest_database.execute("CREATE TYPE mood AS ENUM ('good', 'bad')")
    inrush.write("rows.dat", form.rows)
    settings: dict[str, Any] = {
        "format": form.format,
        "columns": list(form.columns),
        "rejects": {"rows_max": 1},
        **form.more,
    }
    text = package(newest_database.url, flow("t", "rows.dat", **settings))
    outcome = inrush("run", inrush.write("package.toml", text)).expect(LOADED_WITH_REJECTS)
    (reject,) = outcome.rejects()
    print(reject["reason"])
    assert (reject["code"], reject["line"]) == (form.code, 2)
    for part in form.said:
        assert part in reject["reason"]
    assert newest_database.value("SELECT count(*) FROM t") == form.loaded


def test_every_code_has_its_row_here() -> None:
    schema = json.loads((DOCS / "report.schema.json").read_text())
    codes = {code["const"] for code in schema["$defs"]["RejectCode"]["oneOf"]}
    shown = {cause.code for cause in CAUSES} | {form.code for form in FORMS} | PLAIN_CODES
    assert codes == shown

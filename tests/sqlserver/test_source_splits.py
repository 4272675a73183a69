"""Tables of SQL Server that several sessions read: the splits, and the moment that they show."""

from __future__ import annotations

import re
import signal
import threading
from pathlib import Path

import pytest

from harness.command import CLEAN, FAILED, INTERRUPTED, USAGE, Inrush, Outcome
from harness.duckdb_files import opened
from sqlserver.double import Double
from sqlserver.double.server import Client

ROWS = 3_000
TABLE = "CREATE TABLE t (id int NOT NULL, day date NOT NULL, note nvarchar(20) NULL)"
PARTITIONED = (
    "CREATE PARTITION FUNCTION months (date) AS RANGE LEFT FOR VALUES ('2024-01-31', "
    "'2024-02-29', '2024-03-31')",
    "CREATE PARTITION SCHEME by_month AS PARTITION months ALL TO ([PRIMARY])",
    f"{TABLE} ON by_month(day)",
)
# The statements that make the table, the words of the command, and what the plan says.
SPLITS: dict[str, tuple[list[str], list[str], list[str]]] = {
    "a_number": ([TABLE], ["--split-by", "id"], ['"id", by its values', "up to 16 sessions"]),
    "a_date": ([TABLE], ["--split-by", "day"], ['6 ranges of "day"', "up to 6 sessions"]),
    "the_clustered_index": (
        [TABLE, "CREATE CLUSTERED INDEX i ON t (id)"],
        [],
        ['"id", by its values', "up to 16 sessions"],
    ),
    "its_partitions": (
        list(PARTITIONED),
        ["--source-connections", "3"],
        ["its 4 partitions", "up to 2 sessions"],
    ),
    "a_heap": ([TABLE], [], ["by one stream", "as it was when it was opened"]),
    "two_connections": (
        [TABLE],
        ["--split-by", "id", "--source-connections", "2"],
        ['"id", by its values', "as it was when it was opened"],
    ),
}


def days() -> list[str]:
    """Return a day of each month."""
    return [f"2024-{month:02}-15" for month in (1, 2, 3, 4, 5)]


def expected() -> list[tuple[int, str, str]]:
    """Return the rows of the table."""
    return [(number, days()[number % 5], f"n{number}") for number in range(ROWS)]


def made(double: Double, *statements: str) -> None:
    """Make the table with its rows, in a database that keeps versions."""
    double.database.allows_snapshots = True
    double.database.pages_of_a_row = 64
    session = double.session()
    for statement in statements:
        session.execute(statement)
    session.insert("t", [list(row) for row in expected()])
    session.close()


def copied(inrush: Inrush, double: Double, *words: str) -> Outcome:
    """Copy the table into a file of DuckDB, in small splits."""
    target = str(inrush.folder / "x.duckdb")
    return inrush("copy", "--from", double.url, "--table", "t", "--to", target, *words)


def found(inrush: Inrush) -> list[tuple[object, ...]]:
    """Return the rows of the file."""
    path: Path = inrush.folder / "x.duckdb"
    with opened(path, read_only=True) as file:
        return file.execute("SELECT id, day::text, note FROM t ORDER BY id").fetchall()


@pytest.mark.parametrize("kind", SPLITS)
def test_any_split_gives_all_rows_once(inrush: Inrush, double: Double, kind: str) -> None:
    statements, words, said = SPLITS[kind]
    made(double, *statements)
    copied(inrush, double, *words).expect(CLEAN, *said)
    assert found(inrush) == expected()
    reads = [sql for sql in double.batches if "inrush_place" in sql]
    assert len(reads) >= 3 or kind == "a_heap", reads


@pytest.mark.parametrize("more", [[], ["--where", "id >= 100"]])
def test_the_ranges_of_a_large_table_are_found_in_a_sample(
    inrush: Inrush, double: Double, more: list[str]
) -> None:
    """The catalog says 600,000 rows, so 50,000 are sampled: 250 of the 3,000 in the double."""
    made(double, TABLE)
    double.database.counted_rows_of_a_row = 200
    said = ['3 ranges of "id", by a sample of its pages', "up to 3 sessions"]
    copied(inrush, double, "--split-by", "id", *more).expect(CLEAN, *said)
    assert found(inrush) == expected()[100 if more else 0 :]
    [sampled] = [sql for sql in double.batches if "TABLESAMPLE" in sql]
    assert "TABLESAMPLE SYSTEM (8.333333 PERCENT) REPEATABLE (1)" in sampled
    reads = [sql for sql in double.batches if "inrush_place" in sql and " WHERE " in sql]
    # The second and third range begin with keys of the sample: every twelfth row.
    borders = {int(number) for sql in reads for number in re.findall(r'"id" >= (\d+)', sql)}
    assert borders and not {border % 12 for border in borders} - {0}, reads


def test_babelfish_counts_the_rows_of_a_table(inrush: Inrush, double: Double) -> None:
    """Babelfish's catalog only estimates the rows, and does not have their size."""
    made(double, TABLE)
    double.database.properties |= {"PRODUCTVERSION": "12.0.2000.8", "BABELFISH": 1}
    copied(inrush, double, "--split-by", "id").expect(CLEAN, '501 ranges of "id", by its values')
    assert found(inrush) == expected()


def test_a_table_that_is_written_to_is_read_at_one_moment(
    inrush: Inrush, double: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows move, come and go during the read; the copy shows the moment of its start."""
    made(double, TABLE)
    original = Client._batch
    writer = double.session()
    moved = threading.Lock()

    def written(client: Client, sql: str) -> None:
        if sql.startswith("SELECT") and "inrush_place" in sql:
            with moved:
                writer.execute("UPDATE t SET id = 10000 - id WHERE id < 100 OR id > 9900")
                writer.execute("DELETE FROM t WHERE id = 1500")
                writer.execute("INSERT INTO t VALUES (5000, '2024-01-01', NULL)")
        original(client, sql)

    monkeypatch.setattr(Client, "_batch", written)
    copied(inrush, double, "--split-by", "id").expect(CLEAN, "as it was when it was opened")
    assert len([sql for sql in double.batches if "inrush_place" in sql]) >= 3
    assert writer.rows("SELECT COUNT_BIG(*) FROM t WHERE id = 5000") != [[0]]
    writer.close()
    assert found(inrush) == expected()


def test_a_table_that_is_being_written_to_is_read_by_one_session(
    inrush: Inrush, double: Double
) -> None:
    """The shared lock is not granted: the plan says so, and the rows are those committed."""
    made(double, TABLE)
    writer = double.session()
    writer.execute("BEGIN TRANSACTION; INSERT INTO t VALUES (-1, '2024-01-01', NULL)")
    copied(inrush, double, "--split-by", "id").expect(CLEAN, "by one session", "writes to it now")
    assert found(inrush) == expected()
    writer.execute("ROLLBACK")
    writer.close()


def test_without_snapshots_the_plan_tells_what_may_happen(inrush: Inrush, double: Double) -> None:
    made(double, TABLE, "CREATE CLUSTERED INDEX i ON t (id)")
    double.database.allows_snapshots = False
    copied(inrush, double).expect(CLEAN, "by one stream", "ALLOW_SNAPSHOT_ISOLATION ON")
    assert found(inrush) == expected()
    (inrush.folder / "x.duckdb").unlink()
    said = ["at its own moment", "may be read twice or not at all", "ALLOW_SNAPSHOT_ISOLATION ON"]
    copied(inrush, double, "--split-by", "id").expect(CLEAN, *said)
    assert found(inrush) == expected()


def test_a_query_and_a_view_are_split_by_a_key(inrush: Inrush, double: Double) -> None:
    made(double, TABLE, "CREATE VIEW v AS SELECT id, day, note FROM t")
    target = str(inrush.folder / "x.duckdb")
    words = ["copy", "--from", double.url, "--to", target, "--into", "t", "--split-by", "id"]
    for what in (["--query", "SELECT id, day, note FROM t"], ["--table", "v"]):
        inrush(*words, *what).expect(CLEAN, "at its own moment")
        assert found(inrush) == expected()
        (inrush.folder / "x.duckdb").unlink()


REFUSED = {
    "unknown": (["--split-by", "nope"], FAILED, 'no column "nope"'),
    "text": (["--split-by", "note"], USAGE, "which `split_by` cannot divide into ranges"),
    "null": (["--split-by", "k"], FAILED, "NULL in at least one row"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_keys_that_cannot_split(inrush: Inrush, double: Double, case: str) -> None:
    words, status, said = REFUSED[case]
    session = double.session()
    session.execute("CREATE TABLE t (id int NOT NULL, note nvarchar(20) NULL, k int NULL)")
    session.execute("INSERT INTO t VALUES (1, N'a', 1), (2, N'b', NULL)")
    session.close()
    copied(inrush, double, *words).expect(status, said)
    assert not (inrush.folder / "x.duckdb").exists() or not inrush.folder.joinpath("x").exists()


def test_rows_without_a_key_are_read_with_the_first_range(inrush: Inrush, double: Double) -> None:
    made(double, TABLE.replace("day date NOT NULL", "day date NULL"))
    session = double.session()
    session.execute("INSERT INTO t VALUES (-1, NULL, NULL)")
    session.close()
    copied(inrush, double, "--split-by", "day", "--split-nulls").expect(CLEAN)
    assert found(inrush) == [(-1, None, None), *expected()]


def test_a_query_with_a_limit_is_not_split(inrush: Inrush, double: Double) -> None:
    made(double, TABLE)
    words = ["copy", "--from", double.url, "--to", str(inrush.folder / "x.duckdb"), "--into", "t"]
    query = "SELECT TOP (3) id FROM t"
    inrush(*words, "--query", query, "--split-by", "id").expect(FAILED, "the word TOP")


def test_a_server_that_stalls_is_waited_for_until_the_run_is_stopped(
    inrush: Inrush, double: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No row comes any more: a stop ends the run, and the same command then loads all rows."""
    made(double, TABLE)
    original = Client._batch
    stalled, over = threading.Event(), threading.Event()

    def stalls(client: Client, sql: str) -> None:
        if "inrush_place" in sql and not over.is_set():
            stalled.set()
            over.wait(120)
        original(client, sql)

    monkeypatch.setattr(Client, "_batch", stalls)
    target = str(inrush.folder / "x.duckdb")
    words = ["copy", "--from", double.url, "--table", "t", "--to", target, "--split-by", "id"]
    with inrush.start(*words) as running:
        assert stalled.wait(60)
        running.send(signal.SIGINT)
        # The server has 10 s to answer ATTENTION.
        assert running.wait().status == INTERRUPTED
    over.set()
    inrush(*words).expect(CLEAN)
    assert found(inrush) == expected()

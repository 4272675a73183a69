"""Ranges of a key that a resumed copy keeps, because their count and sum are unchanged."""

from __future__ import annotations

import itertools
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from harness.command import CLEAN, FAILED, USAGE, Inrush
from harness.duckdb_files import opened
from harness.ranged_table import ROWS_OF_A_RANGE, TABLE, add_rows, filled, keys_since, now
from harness.servers import Database, Server

_numbers = itertools.count(1)

RANGES = 5
ROWS = RANGES * ROWS_OF_A_RANGE


@pytest.fixture
def target(server: Server) -> Iterator[Database]:
    """Return an empty database beside the one that is read."""
    database = server.create_database(f"proven_{next(_numbers)}")
    yield database
    server.done_with(database)


@pytest.fixture
def newest_target(newest_server: Server) -> Iterator[Database]:
    """Return an empty database on the newest server, beside the one that is read."""
    database = newest_server.create_database(f"proven_{next(_numbers)}")
    yield database
    newest_server.done_with(database)


@pytest.fixture
def source(database: Database) -> Database:
    """Return a filled database on each version."""
    return filled(database, RANGES)


@pytest.fixture
def newest_source(newest_database: Database) -> Database:
    """Return a filled database on the newest server."""
    return filled(newest_database, RANGES)


def package(
    source: Database, target: str, *, streams: int = 2, words: str = "", flow: str = ""
) -> str:
    """Return a package that copies the table in ranges."""
    return f"""
name = "copy"
[connections]
crm = {{ url = "{source.url}" }}
dw = {{ url = "{target}" }}
[run]
streams = {streams}
[[flow]]
connection = "dw"
table = "orders"
source = {{ connection = "crm", table = "orders", split_by = "id", unchanged_by = "sums"{words} }}
{flow}
"""


def killed(inrush: Inrush, fault: str) -> None:
    """Run the package until it kills itself at a step."""
    outcome = inrush("run", "copy.toml", environment={"INRUSH_FAULT": fault})
    assert outcome.status == -signal.SIGKILL, outcome.said


def rows(database: Database) -> list[tuple[object, ...]]:
    """Return all rows, in the order of their keys, each shortened by a hash."""
    return database.rows("SELECT id, v, md5(pad) FROM orders ORDER BY id, v")


def test_a_range_that_has_changed_is_loaded_again_alone(
    source: Database, target: Database, inrush: Inrush
) -> None:
    """A row of the first range changes, and rows are added to the last; other ranges are kept."""
    inrush.write("copy.toml", package(source, target.url))
    plan = inrush("check", "copy.toml").expect(
        CLEAN, 'cut into 5 ranges of "id"', "counts and hashes"
    )
    assert "needs --again" not in plan.output
    # All five ranges are staged, but the unit is not finished.
    killed(inrush, "after_unit_commit:5")
    before = now(target)
    source.execute("UPDATE orders SET v = v + 1 WHERE id = 17")
    add_rows(source, ROWS + 1, ROWS + 10)
    # The statistics would give other ranges now.
    source.execute("ANALYZE orders")
    told = inrush("check", "copy.toml").expect(CLEAN, "2 ranges of the stopped run changed since")
    assert "orders (id below" in told.output
    outcome = inrush("run", "copy.toml").expect(CLEAN, "are loaded again: public.orders (id below")
    assert rows(target) == rows(source)
    assert outcome.report["account"]["rows_loaded"] == ROWS + 10
    smallest, largest, count = keys_since(target, before)
    assert (smallest, largest) == (1, ROWS + 10)
    # Two of five ranges were loaded again.
    assert 0.35 * ROWS < count < 0.45 * ROWS
    assert inrush("run", "copy.toml").expect(CLEAN).report["account"]["rows_loaded"] == ROWS + 10


def test_rows_of_a_range_that_is_loaded_again_are_rejected_once(
    newest_source: Database, newest_target: Database, inrush: Inrush
) -> None:
    """If a range with rejects changes, its old rejects are removed with its old rows."""
    newest_target.execute("CREATE TABLE orders (id bigint, v smallint, pad text)")
    words = 'mode = "append"\nrejects = { rows_max = 1000 }'
    inrush.write("copy.toml", package(newest_source, newest_target.url, flow=words))
    newest_source.execute("UPDATE orders SET v = 40000 + id WHERE id IN (5, 20000)")
    killed(inrush, "after_unit_commit:5")
    newest_source.execute("UPDATE orders SET v = 40000 + id WHERE id = 6")
    killed(inrush, "after_unit_commit:1")
    newest_source.execute("UPDATE orders SET v = 1 WHERE id = 5")
    # 3: rows were rejected.
    outcome = inrush("run", "copy.toml").expect(3)
    account = outcome.report["account"]
    assert (account["rows_loaded"], account["rows_rejected"]) == (ROWS - 2, 2), outcome.said
    assert sorted(reject["value"] for reject in outcome.rejects()) == ["40006", "60000"]
    stays = "SELECT id, v, md5(pad) FROM orders WHERE v < 40000 ORDER BY id, v"
    assert rows(newest_target) == newest_source.rows(stays)


def test_a_finished_table_is_loaded_again_as_a_whole(
    newest_source: Database, newest_target: Database, inrush: Inrush
) -> None:
    """Its staging table already has its primary key. Without a change everything is kept."""
    inrush.write("copy.toml", package(newest_source, newest_target.url))
    killed(inrush, "before_switch")
    before = now(newest_target)
    newest_source.execute("CREATE TABLE unrelated (); INSERT INTO unrelated DEFAULT VALUES")
    killed(inrush, "before_switch")
    newest_source.execute("UPDATE orders SET v = v + 1 WHERE id = 17")
    inrush("run", "copy.toml").expect(
        CLEAN, "1 range of the stopped run changed since, and is loaded again"
    )
    assert rows(newest_target) == rows(newest_source)
    assert keys_since(newest_target, before) == (1, ROWS, ROWS)


def test_a_loaded_table_is_not_loaded_twice(
    newest_source: Database, newest_target: Database, inrush: Inrush
) -> None:
    """The same command compares the loaded ranges, whatever the statistics say."""
    newest_target.execute(TABLE.replace(" PRIMARY KEY", ""))
    inrush.write("copy.toml", package(newest_source, newest_target.url, flow='mode = "append"'))
    inrush("run", "copy.toml").expect(CLEAN)
    expected = rows(newest_source)
    newest_source.execute("DELETE FROM orders WHERE id <= 10000; ANALYZE orders")
    add_rows(newest_source, 1, 10_000)
    inrush("run", "copy.toml").expect(CLEAN, "already")
    assert rows(newest_target) == expected
    add_rows(newest_source, ROWS + 1, ROWS + 10)
    newest_source.execute("ANALYZE orders")
    inrush("run", "copy.toml").expect(FAILED, "has other rows now")
    assert rows(newest_target) == expected
    # When rows are replaced, they get new ranges.
    inrush.write("copy.toml", package(newest_source, newest_target.url, flow='mode = "replace"'))
    inrush("run", "copy.toml").expect(CLEAN, "by the server's statistics")
    assert rows(newest_target) == rows(newest_source)


FILES = ["orders.duckdb", "parquet:lake"]


def rows_in(folder: Path, url: str) -> list[tuple[object, ...]]:
    """Return all rows of a file destination, as `rows` does."""
    columns = "SELECT id, v, md5(pad) FROM"
    if url.startswith("parquet:"):
        found = duckdb.sql(f"{columns} '{folder}/lake/orders/*.parquet' ORDER BY id, v")
        return found.fetchall() if found else []
    with opened(folder / url, read_only=True) as connection:
        return connection.sql(f"{columns} orders ORDER BY id, v").fetchall()


@pytest.mark.parametrize("url", FILES)
def test_files_keep_ranges_too(
    newest_source: Database, inrush: Inrush, url: str, tmp_path: Path
) -> None:
    """Each range is its own unit. From a staging table of DuckDB, all units are removed or none."""
    inrush.write("copy.toml", package(newest_source, url, streams=1))
    # The last range is not loaded yet, so rows may be added to it.
    killed(inrush, "after_unit_commit:4")
    add_rows(newest_source, ROWS + 1, ROWS + 10)
    newest_source.execute("ANALYZE orders")
    plan = inrush("check", "copy.toml").expect(CLEAN)
    assert "of the stopped run" not in plan.output
    killed(inrush, "after_unit_commit:1")
    newest_source.execute("DELETE FROM orders WHERE id = 17")
    add_rows(newest_source, ROWS + 11, ROWS + 20)
    words = ["2 ranges of the stopped run changed since"]
    if url.endswith("duckdb"):
        words.append("so 3 units of the stopped run that had not changed must be loaded again")
    outcome = inrush("run", "copy.toml").expect(CLEAN)
    notes = "\n".join(outcome.report["notes"])
    assert all(word in notes for word in words), notes
    kept = [unit["kept"] for unit in outcome.report["units"]]
    alone = not url.endswith("duckdb")
    assert kept == [False, alone, alone, alone, False]
    assert rows_in(tmp_path, url) == rows(newest_source)
    assert outcome.report["account"]["rows_loaded"] == ROWS + 19


def change(source: Database, numbers: random.Random) -> None:
    """Change rows at random: add some at the end, change some, move one, or remove one."""
    last = int(str(source.value("SELECT max(id) FROM orders")))
    key = numbers.randint(1, last)
    match numbers.randrange(5):
        case 0:
            add_rows(source, last + 1, last + numbers.randint(1, 500))
        case 1:
            source.execute(f"UPDATE orders SET v = v + 1 WHERE id BETWEEN {key} AND {key + 3}")
        case 2:
            # The row moves to another range.
            source.execute(f"UPDATE orders SET id = {last + 1} WHERE id = {key}")
        case 3:
            source.execute(f"DELETE FROM orders WHERE id = {key}; ANALYZE orders")
        case _:
            source.execute("CREATE TABLE IF NOT EXISTS other (); INSERT INTO other DEFAULT VALUES")


@pytest.mark.parametrize("url", ["postgresql", *FILES])
def test_the_result_is_the_table_whatever_is_killed_and_changed(
    newest_source: Database,
    newest_target: Database,
    inrush: Inrush,
    url: str,
    tmp_path: Path,
) -> None:
    """The command is killed at random steps, and rows change in between."""
    seed = random.randrange(1 << 32)  # noqa: S311
    print("seed", seed)
    numbers = random.Random(seed)  # noqa: S311
    place = newest_target.url if url == "postgresql" else url
    inrush.write("copy.toml", package(newest_source, place))
    for _ in range(4):
        step = numbers.choice(
            ["in_copy", "before_unit_commit", "unit_commit_sent", "after_unit_commit"]
        )
        fault = f"{step}:{numbers.randint(1, 5)}"
        outcome = inrush("run", "copy.toml", environment={"INRUSH_FAULT": fault})
        if outcome.status == CLEAN:
            break
        assert outcome.status == -signal.SIGKILL, outcome.said
        change(newest_source, numbers)
    else:
        inrush("run", "copy.toml").expect(CLEAN)
    loaded = rows(newest_target) if url == "postgresql" else rows_in(tmp_path, url)
    assert loaded == rows(newest_source)


REFUSED = {
    "no ranges": ("", "", "`unchanged_by` is about the ranges of `split_by`"),
    "stable": (', split_by = "id", stable = true', "", "`stable` says that no row changes"),
    "direct": (', split_by = "id"', "atomic = false", "cannot be removed from there"),
}


@pytest.mark.parametrize(("words", "flow", "says"), REFUSED.values(), ids=REFUSED)
def test_settings_that_contradict_each_other_are_refused(
    inrush: Inrush, words: str, flow: str, says: str
) -> None:
    """The message names the setting and what to do."""
    text = f"""
name = "copy"
[connections]
crm = {{ url = "postgresql://nowhere/crm" }}
dw = {{ url = "postgresql://nowhere/dw" }}
[[flow]]
connection = "dw"
table = "orders"
mode = "append"
source = {{ connection = "crm", table = "orders", unchanged_by = "sums"{words} }}
{flow}
"""
    inrush.write("copy.toml", text)
    inrush("check", "copy.toml").expect(USAGE, says)


def test_other_databases_have_no_such_proof(inrush: Inrush, tmp_path: Path) -> None:
    """A source in DuckDB is refused."""
    with opened(tmp_path / "crm.duckdb") as connection:
        connection.execute("CREATE TABLE orders AS SELECT 1 AS id")
    words = ["copy", "--from", "crm.duckdb", "--table", "orders", "--to", "parquet:lake"]
    outcome = inrush(*words, "--split-by", "id", "--unchanged-by-sums")
    outcome.expect(USAGE, "`unchanged_by` (--unchanged-by-sums) needs a source in PostgreSQL")

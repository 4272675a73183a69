"""`distinct_on` keeps the first row of each key for any number of streams, source and stop.

`tests/conformance/test_steps.py` checks the rows of every destination.
"""

from __future__ import annotations

import gzip
import os
import random
import signal
from typing import Any

import pytest

from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, USAGE, Inrush
from harness.packages import flow, package, settings, step
from harness.servers import Database

COLUMNS = ["id int", "k int", "word text"]


def text_of(rows: list[tuple[int, int, str]]) -> str:
    return "id,k,word\n" + "".join(f"{number},{key},{word}\n" for number, key, word in rows)


def random_rows(count: int, keys: int) -> list[tuple[int, int, str]]:
    """Return rows whose keys are in no order."""
    seed = int(os.environ.get("INRUSH_SEED", "13"))
    print(f"seed {seed}")
    rng = random.Random(seed)  # noqa: S311
    return [(number, rng.randrange(keys), f"w{rng.randrange(3)}") for number in range(count)]


def first_ids(rows: list[tuple[int, int, str]]) -> list[int]:
    """Return the id of the first row of each pair of key and word, in plain Python."""
    seen: dict[tuple[int, str], int] = {}
    for number, key, word in rows:
        seen.setdefault((key, word), number)
    return sorted(seen.values())


def ids(database: Database, table: str = "loaded") -> list[int]:
    return [number for (number,) in database.rows(f"SELECT id FROM {table} ORDER BY id")]


@pytest.mark.parametrize("form", ["plain", "quoted", "compressed", "utf-16"])
def test_any_number_of_streams_keeps_the_same_rows(
    inrush: Inrush, newest_database: Database, form: str
) -> None:
    """Large files are cut even if records have several lines; streams share compressed files."""
    rows = random_rows(300_000, 20_000)
    text = text_of(rows)
    if form == "quoted":
        text = text.replace("w1", '"w\n1"')
    name = "rows.csv.gz" if form == "compressed" else "rows.csv"
    said: dict[str, Any] = {"encoding": "utf-16le"} if form == "utf-16" else {}
    encoded = text.encode(said.get("encoding", "utf-8"))
    inrush.write(name, gzip.compress(encoded, 1) if form == "compressed" else encoded)
    steps = step(where="id % 7 <> 0") + step(distinct_on=["k", "word"])
    expected = first_ids([row for row in rows if row[0] % 7])
    for streams in (1, 4):
        one = flow(f"loaded_{streams}", name, columns=COLUMNS, format=said) + steps
        said_of_run: dict[str, Any] = {"streams": streams, "name": f"by {streams}"}
        path = inrush.write("package.toml", package(newest_database.url, one, **said_of_run))
        outcome = inrush("run", path).expect(CLEAN)
        assert ids(newest_database, f"loaded_{streams}") == expected
        account = outcome.report["account"]
        assert account["rows_filtered"] == len(rows) - len(expected)


def test_an_earlier_step_and_a_second_key_decide_what_is_compared(
    inrush: Inrush, newest_database: Database
) -> None:
    rows = random_rows(20_000, 3_000)
    for part in range(4):
        inrush.write(f"rows.{part}.csv", text_of(rows[part * 5_000 : (part + 1) * 5_000]))
    steps = (
        step(derive={"rest": "k % 1000"}, load=False)
        + step(distinct_on=["rest", "word"])
        + step(check="id % 10 <> 1", name="not after one")
        + step(distinct_on=["rest"])
    )
    one = flow("loaded", "rows.*.csv", columns=COLUMNS, rejects={"rows_max": 5_000}) + steps
    path = inrush.write("package.toml", package(newest_database.url, one, streams=3))
    outcome = inrush("run", path).expect(LOADED_WITH_REJECTS)
    kept = set(first_ids([(number, key % 1000, word) for number, key, word in rows]))
    left = [row for row in rows if row[0] in kept and row[0] % 10 != 1]
    expected = first_ids([(number, key % 1000, "") for number, key, _ in left])
    assert ids(newest_database) == expected
    rejected = sorted(number for number in kept if number % 10 == 1)
    account = outcome.report["account"]
    assert account["rows_rejected"] == len(rejected)
    assert account["rows_filtered"] == len(rows) - len(expected) - len(rejected)
    (table,) = outcome.report["tables"]
    assert table["steps"][3]["rows_in"] == len(left)


def test_rows_that_the_target_refuses_stay_the_first(
    inrush: Inrush, newest_database: Database
) -> None:
    """A careful load passes the rows of a unit through the step a second time."""
    newest_database.execute(
        "CREATE TABLE loaded (id int PRIMARY KEY, k int, word text CHECK (word <> 'bad'))"
    )
    rows = [(n, n % 200, "bad" if n in (17, 150) else "good") for n in range(1_000)]
    inrush.write("rows.csv", text_of(rows))
    one = flow("loaded", "rows.csv", mode="append", rejects={"rows_max": 10})
    path = inrush.write(
        "package.toml", package(newest_database.url, one + step(distinct_on=["k"]), batch_rows=64)
    )
    outcome = inrush("run", path).expect(LOADED_WITH_REJECTS)
    assert [reject["line"] for reject in outcome.rejects()] == [19, 152]
    assert ids(newest_database) == [n for n in range(200) if n not in (17, 150)]


def test_units_that_were_loaded_beside_other_files_are_not_kept(
    inrush: Inrush, newest_database: Database
) -> None:
    """The second file is loaded first; it loses the row whose key the first file now has."""
    inrush.write("a.csv", text_of([(1, 7, "x")]))
    inrush.write("b.csv", text_of([(n, n % 50, "y") for n in range(2, 1_000)]))
    one = flow("loaded", ["a.csv", "b.csv"], columns=COLUMNS, partition_by="id")
    one += step(distinct_on=["k"])
    path = inrush.write("package.toml", package(newest_database.url, one, streams=1))
    died = inrush("run", path, environment={"INRUSH_FAULT": "after_unit_commit"})
    assert died.status == -signal.SIGKILL, died.said
    inrush.write("a.csv", text_of([(1, 8, "x")]))
    report = inrush("run", path, "--again").expect(CLEAN).report
    assert not any(unit["kept"] for unit in report["units"])
    # The rows 2 to 51 of the second file were the first of their keys, but the first file now has
    # the key 8.
    expected = sorted({1, *range(2, 52)} - {8})
    assert ids(newest_database) == expected


def test_units_beside_unchanged_files_are_kept(inrush: Inrush, newest_database: Database) -> None:
    rows = random_rows(2_000, 100)
    for part in range(4):
        inrush.write(f"rows.{part}.csv", text_of(rows[part * 500 : (part + 1) * 500]))
    one = flow("loaded", "rows.*.csv", columns=COLUMNS, partition_by="id")
    one += step(distinct_on=["k", "word"])
    path = inrush.write("package.toml", package(newest_database.url, one, streams=1))
    died = inrush("run", path, environment={"INRUSH_FAULT": "after_unit_commit:2"})
    assert died.status == -signal.SIGKILL, died.said
    report = inrush("run", path).expect(CLEAN).report
    assert sum(unit["kept"] for unit in report["units"]) == 2
    assert ids(newest_database) == first_ids(rows)


def source_flow(table: str, source: dict[str, Any], **more: Any) -> str:
    """Return a flow whose rows come from a table or a query."""
    said = {"table": table, "connection": "target", "source": source, **more}
    return "\n[[flow]]\n" + settings(said)


def test_rows_of_a_table_are_in_the_order_of_its_pages(
    inrush: Inrush, newest_database: Database
) -> None:
    newest_database.execute(
        "CREATE TABLE orders (id int, k int, word text) PARTITION BY RANGE (id);"
        "CREATE TABLE orders_a PARTITION OF orders FOR VALUES FROM (0) TO (20000);"
        "CREATE TABLE orders_b PARTITION OF orders FOR VALUES FROM (20000) TO (60000);"
        "INSERT INTO orders SELECT n, hashint4(n) % 900, repeat('w', n % 3) "
        "FROM generate_series(0, 59999) n;"
        # An UPDATE moves some rows to the end of their table.
        "UPDATE orders SET word = word WHERE id % 11 = 0"
    )
    one = source_flow("loaded", {"connection": "target", "table": "orders"})
    one += step(distinct_on=["k", "word"])
    for kill in (True, False):
        environment = {"INRUSH_FAULT": "in_copy:3"} if kill else {}
        path = inrush.write("package.toml", package(newest_database.url, one, streams=3))
        outcome = inrush("run", path, environment=environment)
        assert outcome.status == (-signal.SIGKILL if kill else CLEAN), outcome.said
    wanted = newest_database.rows(
        "SELECT id FROM (SELECT DISTINCT ON (k, word) id FROM orders "
        "ORDER BY k, word, tableoid::regclass::text, ctid) first ORDER BY id"
    )
    assert ids(newest_database) == [number for (number,) in wanted]


REFUSED_SOURCES: dict[str, dict[str, Any]] = {
    "query": {"query": "SELECT * FROM orders"},
    "split_by": {"table": "orders", "split_by": "id"},
}


@pytest.mark.parametrize("kind", REFUSED_SOURCES)
def test_rows_without_places_of_their_own_are_refused(
    inrush: Inrush, newest_database: Database, kind: str
) -> None:
    newest_database.execute(
        "CREATE TABLE orders (id int, k int);"
        "INSERT INTO orders SELECT n, n FROM generate_series(1, 9) n"
    )
    one = source_flow("loaded", {"connection": "target", **REFUSED_SOURCES[kind]})
    text = package(newest_database.url, one + step(distinct_on=["k"]))
    outcome = inrush("check", inrush.write("package.toml", text))
    outcome.expect(
        USAGE,
        "step 1, `distinct_on`",
        "in another order each time",
        "read a table, without `query` and `split_by`",
        "row_number() OVER (PARTITION BY k",
    )


def test_a_pipe_is_refused(inrush: Inrush, newest_database: Database) -> None:
    one = flow("loaded", "-", columns=COLUMNS) + step(distinct_on=["k"])
    path = inrush.write("package.toml", package(newest_database.url, one))
    reading, writing = os.pipe()
    os.write(writing, text_of([(1, 2, "x")]).encode())
    os.close(writing)
    with inrush.start("run", path, stdin=reading) as running:
        running.wait().expect(USAGE, "can be read only once")
    os.close(reading)


def test_too_many_keys_end_the_load_before_its_first_row(
    inrush: Inrush, newest_database: Database
) -> None:
    inrush.write("rows.csv", text_of(random_rows(5_000, 4_000)))
    steps = step(distinct_on=["k"], memory_bytes_max=100_000)
    path = inrush.write(
        "package.toml",
        package(newest_database.url, flow("loaded", "rows.csv", columns=COLUMNS) + steps),
    )
    checked = inrush("check", path).expect(CLEAN).output
    assert "step 1: distinct_on k  [k INTEGER]" in checked
    outcome = inrush("run", path)
    outcome.expect(
        FAILED, "`distinct_on`: ", "need more than 100.0 kB of memory", "memory_bytes_max"
    )
    assert newest_database.value("SELECT to_regclass('loaded')") is None
    path.write_text(path.read_text().replace("100000", "1000000"))
    inrush("run", path).expect(CLEAN)


BAD_KEYS = {
    '["kk"]': ("there is no column `kk`", "the columns here are `k` and `x`"),
    '["k", "x"]': ("`x` has the type DOUBLE", "CAST(x AS"),
}


@pytest.mark.parametrize("names", BAD_KEYS)
def test_a_key_that_cannot_be_used_is_shown_at_its_place(
    inrush: Inrush, newest_database: Database, names: str
) -> None:
    inrush.write("rows.csv", "k,x\n1,2.5\n")
    one = flow("loaded", "rows.csv", columns=["k int", "x double precision"])
    text = package(newest_database.url, one + f"\n[[flow.step]]\ndistinct_on = {names}\n")
    outcome = inrush("check", inrush.write("package.toml", text))
    line = text.splitlines().index(f"distinct_on = {names}") + 1
    outcome.expect(USAGE, f"package.toml:{line}:", *BAD_KEYS[names])


def test_peek_and_preflight_pass_the_step(inrush: Inrush, newest_database: Database) -> None:
    inrush.write("rows.csv", text_of([(1, 5, "x"), (2, 5, "x"), (3, 5, "y"), (4, 5, "x")]))
    one = flow("loaded", "rows.csv", columns=COLUMNS) + step(distinct_on=["k", "word"])
    path = inrush.write("package.toml", package(newest_database.url, one))
    shown = inrush("peek", path).expect(CLEAN).output
    assert "4 in, 2 filtered" in shown
    inrush("preflight", path).expect(CLEAN)
    inrush("run", path).expect(CLEAN)
    assert ids(newest_database) == [1, 3]


def test_corrected_rejects_are_compared_with_each_other(
    inrush: Inrush, newest_database: Database
) -> None:
    inrush.write("rows.csv", "id,k\nx1,5\n2,5\nx3,6\n4,5\nx5,6\n")
    one = flow("loaded", "rows.csv", columns=["id int", "k int"], rejects={"rows_max": 5})
    path = inrush.write("package.toml", package(newest_database.url, one + step(distinct_on=["k"])))
    inrush("run", path).expect(LOADED_WITH_REJECTS)
    assert ids(newest_database) == [2]
    (folder,) = inrush.folder.glob("runs/*")
    (kept,) = folder.glob("rejects/*.rejects")
    kept.write_text(kept.read_text().replace("x", ""))
    inrush("rejects", "replay", folder.name).expect(CLEAN)
    assert ids(newest_database) == [1, 2, 3]

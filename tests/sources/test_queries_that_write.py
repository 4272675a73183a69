"""Queries that write through ADBC drivers are refused with a message, and nothing is changed."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from harness.command import CLEAN, USAGE, Inrush
from harness.servers import Database
from sources.flight_sql import FlightSql

WRITES = """
    CREATE TABLE t (id int);
    INSERT INTO t VALUES (1);
    CREATE SEQUENCE s;
    CREATE FUNCTION adds() RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (2) RETURNING id'
"""
STATE = "SELECT (SELECT string_agg(id::text, ' ') FROM t), (SELECT is_called FROM s)"


def package(connection: str, target: str, query: str, words: str = "") -> str:
    """Return a package that copies the rows of a query into files."""
    return f"""
name = "copy"
[connections]
lake = {connection}
dw = {{ url = "{target}" }}
[run]
streams = 2
[[flow]]
source = {{ connection = "lake", query = "{query}"{words} }}
connection = "dw"
table = "copied"
"""


BY_ADBC = [
    ("SELECT adds() AS id", ["read-only", "changes nothing"]),
    # The numbers that a rolled-back transaction took from a sequence stay taken.
    ("SELECT nextval('s') AS id", ["read-only", "changes nothing"]),
    ("WITH w AS (DELETE FROM t RETURNING id) SELECT id FROM w", ["data-modifying", "SELECT"]),
    ("DELETE FROM t RETURNING id", ["syntax error", "one SELECT"]),
]


@pytest.mark.parametrize(("query", "parts"), BY_ADBC, ids=[query for query, _ in BY_ADBC])
@pytest.mark.parametrize("words", ["", ', split_by = "id", max_connections = 2'])
def test_postgresql_by_adbc(
    database: Database, inrush: Inrush, tmp_path: Path, query: str, parts: list[str], words: str
) -> None:
    """The statement of the SQL standard makes the transaction read-only."""
    database.execute(WRITES)
    before = database.rows(STATE)
    lake = f'{{ url = "adbc:postgresql", options = {{ uri = "{database.url}" }} }}'
    inrush.write("copy.toml", package(lake, f"parquet:{tmp_path}/out", query, words))
    planned = inrush("check", "copy.toml")
    assert "has no transactions that only read" not in planned.said
    outcome = inrush("run", "copy.toml")
    outcome.expect(USAGE, "the query", *parts)
    assert "inrush_rows" not in outcome.said
    assert database.rows(STATE) == before


@pytest.mark.parametrize("query", ["DELETE FROM t RETURNING id", "DELETE FROM t"])
def test_sqlite(inrush: Inrush, tmp_path: Path, query: str) -> None:
    """The file is open for reading only, and SQLite has no functions that write."""
    path = tmp_path / "lake.sqlite"
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE t (id INTEGER)")
        file.execute("INSERT INTO t VALUES (1)")
    lake = f'{{ url = "adbc:sqlite", options = {{ uri = "{path}" }} }}'
    inrush.write("copy.toml", package(lake, f"parquet:{tmp_path}/out", query))
    inrush("run", "copy.toml").expect(USAGE, "the query", "one SELECT")
    with sqlite3.connect(path) as file:
        assert file.execute("SELECT id FROM t").fetchall() == [(1,)]


@pytest.mark.parametrize("words", ["", ", stable = true"], ids=["partitions", "one stream"])
def test_the_plan_says_where_a_driver_cannot_refuse_it(
    inrush: Inrush, tmp_path: Path, words: str
) -> None:
    """The driver of Flight SQL has no such option, and this server has no transactions."""
    with FlightSql("SELECT range AS id FROM range(100)", (50,)) as lake:
        url = f'{{ url = "adbc:flightsql", options = {{ uri = "grpc://127.0.0.1:{lake.port}" }} }}'
        inrush.write(
            "copy.toml", package(url, f"parquet:{tmp_path}/out", "SELECT id FROM t", words)
        )
        plan = inrush("check", "copy.toml").expect(CLEAN, "a user who can only read")
        # Partitions are parts of one result.
        assert ("does not know whether a transaction" in plan.said) == bool(words)

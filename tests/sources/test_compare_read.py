"""`inrush verify --compare` if a side is not PostgreSQL: the engine reads and hashes both sides."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from harness.command import CLEAN, USAGE, VERIFICATION, Inrush
from harness.duckdb_files import opened
from harness.servers import Database

COMPARE = ("verify", "--compare", "copy.toml")
COUNT = 30_000

# The same table with rows of many types, for PostgreSQL, DuckDB and SQLite.
COLUMNS = {
    "postgresql": "id int PRIMARY KEY, v text, n numeric(12,2), big bigint, f double precision,"
    " ok boolean, d date, seen timestamptz, s smallint",
    "duckdb": "id INTEGER NOT NULL, v VARCHAR, n DECIMAL(12,2), big BIGINT, f DOUBLE, ok BOOLEAN,"
    " d DATE, seen TIMESTAMPTZ, s SMALLINT",
}
VALUES = (
    "CASE WHEN n % 7 > 0 THEN 'row ' || n END, n * 1.25, n::bigint * 1000000007, n / 3.0::float8,"
    " n % 2 = 0, date '2024-01-31' + (n % 500)::int,"
    " timestamptz '2024-03-01 12:00:00.25+00' + n * interval '1 second', n % 9"
)
FROM = f"(SELECT g::int AS n FROM generate_series(1, {COUNT}) AS s (g)) AS numbers"


class Side:
    """A side of a comparison: its connection, and statements that change its rows."""

    def __init__(self, kind: str, database: Database, path: Path) -> None:
        """Choose where the side is."""
        self.kind = kind
        self.database = database
        self.path = path

    @property
    def url(self) -> str:
        """The URL of the connection."""
        return self.database.url if self.kind == "postgresql" else f"duckdb:{self.path}"

    def table(self, role: str) -> str:
        """Return the table's name: source and target may be in the same database."""
        return f"public.{role}" if self.kind == "postgresql" else role

    def execute(self, *statements: str) -> None:
        """Run statements."""
        if self.kind == "postgresql":
            self.database.execute(";".join(statements))
            return
        with opened(self.path) as file:
            for statement in statements:
                file.execute(statement)


def written(sides: tuple[Side, Side], inrush: Inrush, more: str = "") -> None:
    """Write the package."""
    source, target = sides
    inrush.write(
        "copy.toml",
        f"""
name = "copy"
[connections]
crm = {{ url = "{source.url}" }}
dw = {{ url = "{target.url}" }}
[[flow]]
source = {{ connection = "crm", table = "{source.table("orders")}" }}
connection = "dw"
table = "{target.table("copied")}"
{more or 'mode = "create"'}
""",
    )


@pytest.mark.parametrize(
    ("source", "target"), [("postgresql", "duckdb"), ("duckdb", "postgresql"), ("duckdb", "duckdb")]
)
def test_rows_that_differ_are_named(
    newest_database: Database, inrush: Inrush, tmp_path: Path, source: str, target: str
) -> None:
    """A missing, an additional and a changed row are found; before, all rows are equal."""
    here = Side(source, newest_database, tmp_path / "here.duckdb")
    there = Side(target, newest_database, tmp_path / "there.duckdb")
    here.execute(
        f"CREATE TABLE orders ({COLUMNS[source]})",
        f"INSERT INTO orders SELECT n, {VALUES} FROM {FROM}",
    )
    written((here, there), inrush, 'mode = "upsert"\nkey = "id"')
    if target == "postgresql":
        there.execute(f"CREATE TABLE copied ({COLUMNS[target]})")
    else:
        there.execute(f"CREATE TABLE copied ({COLUMNS[target]}, PRIMARY KEY (id))")
    inrush("run", "copy.toml").expect(CLEAN)
    inrush(*COMPARE).expect(CLEAN, "30,000 rows", "are equal")
    there.execute(
        "DELETE FROM copied WHERE id = 7",
        "INSERT INTO copied (id, v) VALUES (-1, 'new')",
        "UPDATE copied SET n = n + 0.01 WHERE id = 5",
        "UPDATE copied SET seen = NULL WHERE id = 6",
        "ALTER TABLE copied ADD COLUMN more integer",
    )
    told = inrush(*COMPARE).expect(VERIFICATION, "not compared", "more").output
    assert "1 only in the source, 1 only in the target, 2 with other values" in told, told
    for part in ("(7) is only in ", "(-1) is only in ", "(5) has other", "(6) has other"):
        assert part in told, told
    assert "of 3 splits; the key is (id)" in told, told
    there.execute("UPDATE copied SET v = 'all' WHERE id > 20")
    told = inrush(*COMPARE).expect(VERIFICATION, "of 3 splits", "at least ").output
    assert 28 <= told.count("has other values") <= 30, told
    assert told.count("were not compared one by one") == 3, told


def test_rows_without_a_key_are_counted(
    newest_database: Database, inrush: Inrush, tmp_path: Path
) -> None:
    """A row that occurs twice differs from a single one; conditions and texts are respected."""
    here = Side("postgresql", newest_database, tmp_path / "here.duckdb")
    there = Side("duckdb", newest_database, tmp_path / "there.duckdb")
    here.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'happy')",
        "CREATE TABLE orders (id int, m mood, c char(5), j jsonb, tags int[], w numeric(3,5))",
        "INSERT INTO orders SELECT n, 'sad', 'ab', '{\"a\":1}', ARRAY[n], 0.00123"
        " FROM generate_series(1, 200) AS n",
    )
    written((here, there), inrush)
    text = (inrush.folder / "copy.toml").read_text()
    columns = '"id", "m", "c", "j", "tags::text", "w"'
    text = text.replace(
        'table = "public.orders" }',
        f"table = \"public.orders\", columns = [{columns}], where = 'id < 100' }}",
    )
    inrush.write("copy.toml", text)
    told = inrush("check", "copy.toml").expect(CLEAN).output
    assert "delimiter" not in told, told
    for part in ("mood -> VARCHAR", "c character(5) -> VARCHAR", "tags integer[] -> VARCHAR"):
        assert part in told, told
    assert "w numeric(3,5) -> DECIMAL(5,5)" in told, told
    assert "id integer ->" not in told, told
    inrush("run", "copy.toml").expect(CLEAN)
    inrush(*COMPARE).expect(CLEAN, "99 rows", "are equal")
    there.execute("INSERT INTO copied SELECT * FROM copied WHERE id = 3")
    told = inrush(*COMPARE).expect(VERIFICATION, "all rows: 99 rows", "1 of 1 split").output
    assert "has 1 row in the source and 2 in the target" in told, told


def test_only_loaded_rows_are_compared(
    newest_database: Database, inrush: Inrush, tmp_path: Path
) -> None:
    """Rows above the mark of an incremental load do not count as missing."""
    here = Side("postgresql", newest_database, tmp_path / "here.duckdb")
    there = Side("duckdb", newest_database, tmp_path / "there.duckdb")
    here.execute(
        "CREATE TABLE orders (id int, seen timestamptz NOT NULL)",
        "INSERT INTO orders SELECT n, now() - interval '1 h' FROM generate_series(1, 9) AS n",
    )
    there.execute("CREATE TABLE copied (id INTEGER, seen TIMESTAMPTZ)")
    written((here, there), inrush, 'mode = "append"')
    text = (inrush.folder / "copy.toml").read_text()
    since = 'table = "public.orders", since = { column = "seen" } }'
    inrush.write("copy.toml", text.replace('table = "public.orders" }', since))
    inrush("run", "copy.toml").expect(CLEAN)
    here.execute("INSERT INTO orders VALUES (0, now())")
    inrush(*COMPARE).expect(CLEAN, "9 rows", "the mark) are equal")


@pytest.mark.parametrize("into", ["duckdb", "postgresql"])
def test_only_loaded_rows_of_a_file_are_compared(
    newest_database: Database, inrush: Inrush, tmp_path: Path, into: str
) -> None:
    """The mark of a flow from DuckDB is found by the path of the file."""
    here = Side("duckdb", newest_database, tmp_path / "here.duckdb")
    there = Side(into, newest_database, tmp_path / "there.duckdb")
    here.execute(
        "CREATE TABLE orders (id INTEGER, seen TIMESTAMPTZ NOT NULL)",
        "INSERT INTO orders SELECT n, now() - INTERVAL 1 HOUR FROM range(1, 10) AS r (n)",
    )
    there.execute("CREATE TABLE copied (id int, seen timestamptz)")
    written((here, there), inrush, 'mode = "append"')
    text = (inrush.folder / "copy.toml").read_text()
    since = 'table = "orders", since = { column = "seen" } }'
    assert 'table = "orders" }' in text, text
    inrush.write("copy.toml", text.replace('table = "orders" }', since))
    inrush(*COMPARE).expect(USAGE, "no run has loaded any of its rows")
    inrush("run", "copy.toml").expect(CLEAN)
    here.execute("INSERT INTO orders VALUES (0, now())")
    inrush(*COMPARE).expect(CLEAN, "9 rows", "the mark) are equal")
    here.execute("DELETE FROM orders WHERE id = 3")
    inrush(*COMPARE).expect(VERIFICATION, "(3,", "is only in")


def test_only_loaded_rows_of_sqlite_are_compared(
    newest_database: Database, inrush: Inrush, tmp_path: Path
) -> None:
    """SQLite's times are texts. If the target is SQLite too, they are compared as texts."""
    path, copy = tmp_path / "crm.sqlite", tmp_path / "copy.sqlite"
    make = "CREATE TABLE {} (id INTEGER, seen TEXT NOT NULL)"
    with closing(sqlite3.connect(path)) as file, closing(sqlite3.connect(copy)) as other:
        file.execute(make.format("orders"))
        rows = [(n, f"2026-01-02 03:04:{n:02}+00:00") for n in range(1, 10)]
        file.executemany("INSERT INTO orders VALUES (?, ?)", rows)
        file.commit()
        other.execute(make.format("copied"))
        other.commit()
    newest_database.execute("CREATE TABLE copied (id int, seen timestamptz)")
    for target in [
        f'url = "adbc:sqlite", options = {{ uri = "{copy}" }}',
        f'url = "{newest_database.url}"',
    ]:
        inrush.write(
            "copy.toml",
            f"""
name = "copy"
[connections]
crm = {{ url = "adbc:sqlite", options = {{ uri = "{path}" }} }}
dw = {{ {target} }}
[[flow]]
source = {{ connection = "crm", table = "orders", since = {{ column = "seen" }} }}
connection = "dw"
table = "copied"
mode = "append"
""",
        )
        inrush("run", "copy.toml").expect(CLEAN)
        # The row with the greatest value waits for a later run.
        inrush(*COMPARE).expect(CLEAN, "8 rows", "the mark) are equal")


def test_sqlite_is_compared(newest_database: Database, inrush: Inrush, tmp_path: Path) -> None:
    """Values of SQLite are read as the target's types; a row that does not fit is reported."""
    path = tmp_path / "crm.sqlite"
    rows = [(n, n / 4, f"2024-02-{n % 28 + 1:02}", f"x{n}") for n in range(1, 301)]
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE orders (id INTEGER, price DECIMAL(9,2), day DATE, odd MONEY)")
        file.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
        file.commit()
    there = Side("postgresql", newest_database, tmp_path)
    there.execute("CREATE TABLE copied (id bigint, price numeric(9,2), day date, odd text)")
    inrush.write(
        "copy.toml",
        f"""
name = "copy"
[connections]
crm = {{ url = "adbc:sqlite", options = {{ uri = "{path}" }} }}
dw = {{ url = "{there.url}" }}
[[flow]]
source = {{ connection = "crm", table = "orders" }}
connection = "dw"
table = "copied"
mode = "append"
""",
    )
    note = "declares the type MONEY, which SQLite does not know"
    told = inrush("check", "copy.toml").expect(CLEAN, note, "  1 table").output
    assert "delimiter" not in told and "odd MONEY -> text" in told, told
    inrush("run", "copy.toml").expect(CLEAN)
    inrush(*COMPARE).expect(CLEAN, "300 rows", "are equal")
    with closing(sqlite3.connect(path)) as file:
        file.execute("UPDATE orders SET day = 'someday' WHERE id = 4")
        file.commit()
    told = inrush(*COMPARE).expect(VERIFICATION, "someday").output
    assert "1 row of the source with a value that does not fit its column" in told, told


def test_other_places_are_refused(inrush: Inrush) -> None:
    """A folder of Parquet files has no tables that can be read back for a comparison."""
    with opened(inrush.folder / "here.duckdb") as file:
        file.execute("CREATE TABLE orders AS SELECT 1 AS id")
    inrush.write(
        "copy.toml",
        """
name = "copy"
[connections]
crm = { url = "duckdb:here.duckdb" }
dw = { url = "parquet:lake" }
[[flow]]
source = { connection = "crm", table = "orders" }
connection = "dw"
table = "orders"
mode = "create"
""",
    )
    inrush(*COMPARE).expect(USAGE, "`dw` cannot be compared", "Parquet")

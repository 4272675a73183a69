"""`inrush verify --compare`: the rows of a source and of its target, by hashes of their servers."""

from __future__ import annotations

from harness.command import CLEAN, USAGE, VERIFICATION, Inrush
from harness.servers import Database

PACKAGE = """
name = "copy"
[connections]
crm = {{ url = "{url}" }}
dw = {{ url = "{url}" }}
[[flow]]
connection = "dw"
source = {{ connection = "crm", table = "orders"{words} }}
table = "dw.orders"
mode = "append"
"""

TABLE = "CREATE TABLE {} (id int, v text, at timestamptz NOT NULL DEFAULT now() - interval '1 h')"


def copied(database: Database, inrush: Inrush, words: str = "", key: str = "") -> None:
    """Load 30,000 rows into another schema."""
    database.execute(
        f"{TABLE.format('orders')}; CREATE SCHEMA dw; {TABLE.format('dw.orders')};"
        f"INSERT INTO orders SELECT n, 'row ' || n FROM generate_series(1, 30000) AS n; {key}"
    )
    inrush.write("copy.toml", PACKAGE.format(url=database.url, words=words))
    inrush("run", "copy.toml").expect(CLEAN)


def test_rows_that_differ_are_named(database: Database, inrush: Inrush) -> None:
    """One that is gone, one too many, one with another value; equal rows before and after."""
    copied(database, inrush, key="ALTER TABLE orders ADD PRIMARY KEY (id)")
    compare = ("verify", "--compare", "copy.toml")
    inrush(*compare).expect(CLEAN, "30,000 rows", "are equal")
    database.execute(
        "DELETE FROM dw.orders WHERE id = 7; INSERT INTO dw.orders VALUES (-1, 'new');"
        "UPDATE dw.orders SET v = v || ' ' WHERE id IN (5, 6); ALTER TABLE dw.orders ADD more int"
    )
    told = inrush(*compare).expect(VERIFICATION, "not compared", "more").output
    assert "1 only in the source, 1 only in the target, 2 with other values" in told, told
    for part in (
        "(7) is only in public.orders",
        "(-1) is only in dw.orders",
        "(5) has other values",
    ):
        assert part in told, told
    database.execute("UPDATE orders SET v = 'all' WHERE id > 20")
    told = inrush(*compare).expect(VERIFICATION, "29,982 with other values").output
    assert told.count("has other values") == 10, told


def test_rows_without_a_key_are_counted(database: Database, inrush: Inrush) -> None:
    """A row that is there twice is not equal to one."""
    copied(database, inrush, words=', where = "id < 100"')
    inrush("verify", "--compare", "copy.toml").expect(CLEAN, "99 rows", "are equal")
    database.execute("INSERT INTO dw.orders SELECT * FROM dw.orders WHERE id = 3")
    told = inrush("verify", "--compare", "copy.toml").expect(VERIFICATION).output
    assert "has 1 rows in the source and 2 in the target" in told, told


def test_only_loaded_rows_are_compared(database: Database, inrush: Inrush) -> None:
    """What is above the mark of an incremental load is not missing."""
    copied(database, inrush, words=', since = { column = "at" }')
    database.execute("INSERT INTO orders VALUES (0, 'later', now())")
    inrush("verify", "--compare", "copy.toml").expect(CLEAN, "the mark) are equal")


def test_what_cannot_be_compared_is_refused(database: Database, inrush: Inrush) -> None:
    """Files, and other destinations, are no servers that hash."""
    text = PACKAGE.format(url=database.url, words="")
    inrush.write(
        "lake.toml", text.replace(f'dw = {{ url = "{database.url}"', 'dw = { url = "parquet:x"')
    )
    inrush("verify", "--compare", "lake.toml").expect(USAGE, "is not PostgreSQL")
    inrush("verify", "--compare", "--split", "x.csv").expect(USAGE)
    inrush("verify", "x.csv").expect(USAGE, "--split")

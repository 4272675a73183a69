"""`inrush verify --compare` compares source and target by hashes that their servers compute."""

from __future__ import annotations

import re

import pytest

from harness.command import CLEAN, FAILED, USAGE, VERIFICATION, Inrush
from harness.duckdb_files import opened
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
    """A missing, an additional and a changed row are found; before and after, all are equal."""
    copied(database, inrush, key="ALTER TABLE orders ADD PRIMARY KEY (id)")
    compare = ("verify", "--compare", "copy.toml")
    inrush(*compare).expect(CLEAN, "30,000 rows", "are equal")
    database.execute(
        "DELETE FROM dw.orders WHERE id = 7; INSERT INTO dw.orders VALUES (-1, 'new');"
        "UPDATE dw.orders SET v = v || ' ' WHERE id IN (5, 6); ALTER TABLE dw.orders ADD more int"
    )
    told = inrush(*compare).expect(VERIFICATION, "not compared", "more").output
    assert "1 only in the source, 1 only in the target, 2 with other values" in told, told
    assert re.search(r"differences are in 1 of [2-9] splits; the key is \(id\)", told), told
    assert '  "id" below ' in told, told
    for part in (
        "(7) is only in public.orders",
        "(-1) is only in dw.orders",
        "(5) has other values",
    ):
        assert part in told, told
    database.execute("UPDATE orders SET v = 'all' WHERE id > 20")
    told = inrush(*compare).expect(VERIFICATION, "29,982 with other values").output
    splits = re.search(r"differences are in ([2-9]) of \1 splits", told)
    assert splits is not None, told
    assert told.count("has other values") == 10 * int(splits[1]), told


def ends(words: str) -> str:
    """Return a statement that makes the table `parts`; these words say how it is partitioned."""
    return f"CREATE TABLE parts (id int, region text, v int, PRIMARY KEY (id, region)) {words}"


def test_partitions_that_differ_are_named(database: Database, inrush: Inrush) -> None:
    """The rows and sums of both sides are compared by range, whatever partitions the target has."""
    database.execute(
        ends("PARTITION BY RANGE (id);")
        + "CREATE TABLE low PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (100)"
        " PARTITION BY LIST (region);"
        "CREATE TABLE low_n PARTITION OF low FOR VALUES IN ('north', 'it''s');"
        "CREATE TABLE low_rest PARTITION OF low DEFAULT;"
        "CREATE TABLE high PARTITION OF parts FOR VALUES FROM (100) TO (MAXVALUE);"
        "INSERT INTO parts SELECT n, (ARRAY['north', 'it''s', 'south'])[n % 3 + 1], n"
        " FROM generate_series(1, 300) AS n; CREATE SCHEMA dw"
    )
    text = PACKAGE.format(url=database.url, words="")
    text = text.replace('"orders"', '"parts"').replace("dw.orders", "dw.parts")
    inrush.write("copy.toml", text.replace('mode = "append"', 'mode = "create"'))
    inrush("run", "copy.toml").expect(CLEAN)
    compare = ("verify", "--compare", "copy.toml")
    inrush(*compare).expect(CLEAN, "300 rows", "are equal")
    database.execute(
        "DELETE FROM dw.parts WHERE id = 2; UPDATE dw.parts SET v = 0 WHERE id = 299;"
        "INSERT INTO dw.parts VALUES (98, 'west', 0)"
    )
    told = inrush(*compare).expect(VERIFICATION, "differences are in 2 of 3 splits").output
    lines = told.splitlines()
    start = next(at for at, line in enumerate(lines) if "partition low_rest" in line)
    # 33 rows of region south are below 100; one of them is gone, and a row of another region is
    # new.
    assert lines[start].count("33 rows") == 2, told
    assert {line.strip().split(" is only")[0] for line in lines[start + 1 : start + 3]} == {
        "(2,south)",
        "(98,west)",
    }, told
    high = next(line for line in lines if "partition high" in line)
    sums = [word for word in high.replace(",", "").split() if word.lstrip("-").isdigit()]
    assert sums[0] == sums[2] == "201" and sums[1] != sums[3], high
    assert "(299,south) has other values" in told or "(299,north) has other values" in told, told


def test_texts_are_cut_by_their_bytes(database: Database, inrush: Inrush) -> None:
    """Ranges of a text key are the same on both sides; a key without an order is one range."""
    database.execute(
        "CREATE TABLE orders (code text PRIMARY KEY, at timestamptz);"
        "INSERT INTO orders SELECT chr(65 + n % 58) || n, now() FROM generate_series(1, 30000) n;"
        "ANALYZE orders; CREATE SCHEMA dw"
    )
    text = PACKAGE.format(url=database.url, words="").replace('"append"', '"create"')
    inrush.write("copy.toml", text)
    inrush("run", "copy.toml").expect(CLEAN)
    inrush("verify", "--compare", "copy.toml").expect(CLEAN, "30,000 rows", "are equal")
    database.execute(
        'DELETE FROM dw.orders WHERE code = (SELECT max(code COLLATE "C") FROM orders)'
    )
    told = inrush("verify", "--compare", "copy.toml").expect(VERIFICATION).output
    assert "of 3 splits" in told and '"code" ' in told, told
    database.execute(
        "DROP TABLE orders, dw.orders; CREATE TABLE orders (b bool, j jsonb);"
        "INSERT INTO orders SELECT true, '{}' FROM generate_series(1, 9)"
    )
    inrush("run", "copy.toml", "--again").expect(CLEAN)
    database.execute("DELETE FROM dw.orders WHERE ctid = '(0,1)'")
    told = inrush("verify", "--compare", "copy.toml").expect(VERIFICATION).output
    assert "all rows: 9 rows" in told and "1 of 1 split" in told, told


def test_rows_without_a_key_are_counted(database: Database, inrush: Inrush) -> None:
    """A row that occurs twice differs from a single one."""
    copied(database, inrush, words=', where = "id < 100"')
    inrush("verify", "--compare", "copy.toml").expect(CLEAN, "99 rows", "are equal")
    database.execute("INSERT INTO dw.orders SELECT * FROM dw.orders WHERE id = 3")
    told = inrush("verify", "--compare", "copy.toml").expect(VERIFICATION).output
    assert "has 1 row in the source and 2 in the target" in told, told


def test_only_loaded_rows_are_compared(database: Database, inrush: Inrush) -> None:
    """Rows above the mark of an incremental load do not count as missing."""
    copied(database, inrush, words=', since = { column = "at" }')
    database.execute("INSERT INTO orders VALUES (0, 'later', now())")
    inrush("verify", "--compare", "copy.toml").expect(CLEAN, "the mark) are equal")
    database.execute("UPDATE orders SET at = now() WHERE id = 3")
    inrush("verify", "--compare", "copy.toml").expect(
        VERIFICATION,
        "differ: 0 only in the source, 1 only in the target, 0 with other values",
        "rows that were changed in the source since the mark are only in the target: run the load",
    )


def test_steps_that_only_add_columns_are_no_hindrance(database: Database, inrush: Inrush) -> None:
    copied(database, inrush)
    text = (inrush.folder / "copy.toml").read_text()
    steps = "[[flow.step]]\nderive = { more = 'id * 2' }\n"
    steps += "[[flow.step]]\ncheck = 'more > 3'\nelse = 'warn'\n"
    inrush.write("copy.toml", text + steps)
    inrush("verify", "--compare", "copy.toml").expect(CLEAN, "are equal")


def test_what_cannot_be_compared_is_refused(database: Database, inrush: Inrush) -> None:
    """Files and other destinations have no server that can hash rows."""
    text = PACKAGE.format(url=database.url, words="")
    inrush.write(
        "lake.toml", text.replace(f'dw = {{ url = "{database.url}"', 'dw = { url = "parquet:x"')
    )
    inrush("verify", "--compare", "lake.toml").expect(USAGE, "is not PostgreSQL")
    for words in ("where = 'id > 3'", "check = 'id > 3'"):
        inrush.write("steps.toml", f"{text}[[flow.step]]\n{words}\n")
        refused = inrush("verify", "--compare", "steps.toml")
        refused.expect(USAGE, "its steps filter or reject rows")
    inrush("verify", "--compare", "--split", "x.csv").expect(USAGE)
    inrush("verify", "x.csv").expect(USAGE, "--split FILES", "--compare PACKAGE")


@pytest.mark.parametrize("other", ["postgresql", "duckdb"])
def test_the_side_that_lacks_its_table_is_named(
    database: Database, inrush: Inrush, other: str
) -> None:
    """The message is the same, whether the servers compare or both sides are read."""
    copied(database, inrush)
    text = PACKAGE.format(url=database.url, words="")
    if other == "duckdb":
        dw = f'dw = {{ url = "{database.url}"'
        text = text.replace(dw, 'dw = { url = "duckdb:t.duckdb"').replace("dw.orders", "orders")
        inrush.write("copy.toml", text.replace('"append"', '"create"'))
        inrush("run", "copy.toml").expect(CLEAN)
    compare = ("verify", "--compare", "copy.toml")
    database.execute("ALTER TABLE orders RENAME TO away")
    inrush(*compare).expect(FAILED, "its source cannot be read", "no table or view of this name")
    database.execute("ALTER TABLE away RENAME TO orders")
    if other == "duckdb":
        with opened(inrush.folder / "t.duckdb") as connection:
            connection.execute("DROP TABLE orders")
    else:
        database.execute("DROP TABLE dw.orders")
    inrush(*compare).expect(FAILED, "its target cannot be read", "orders")


def test_hidden_rows_and_other_encodings_are_no_equal_rows(
    newest_database: Database, inrush: Inrush
) -> None:
    """A target whose policy hides rows is refused, and so is a source with another encoding."""
    copied(newest_database, inrush)
    newest_database.execute(
        "DROP ROLE IF EXISTS viewer; CREATE ROLE viewer LOGIN; INSERT INTO dw.orders VALUES (-1);"
        "ALTER TABLE dw.orders ENABLE ROW LEVEL SECURITY;"
        "CREATE POLICY p ON dw.orders USING (id > 0);"
        "GRANT USAGE ON SCHEMA dw TO viewer; GRANT SELECT ON orders, dw.orders TO viewer"
    )
    text = PACKAGE.format(url=newest_database.url, words="")
    user = f"{newest_database.server.user}@"
    inrush.write("hidden.toml", text.replace(user, "viewer@"))
    compare = ("verify", "--compare")
    inrush(*compare, "hidden.toml").expect(FAILED, "row-level security", "BYPASSRLS")
    newest_database.execute("DROP OWNED BY viewer; DROP ROLE viewer")
    server = newest_database.server
    latin = f"{newest_database.name}_latin1"
    newest_database.execute(
        f"CREATE DATABASE {latin} TEMPLATE template0 ENCODING LATIN1 LOCALE 'C'"
    )
    with server.connect(latin) as connection:
        connection.execute(f"{TABLE.format('orders')}".encode())
    other = text.replace(newest_database.url, server.url(latin), 1)
    inrush.write("latin.toml", other)
    inrush(*compare, "latin.toml").expect(USAGE, "LATIN1", "UTF8", "differently")
    newest_database.execute(f"DROP DATABASE {latin}")
    unbalanced = PACKAGE.format(url=newest_database.url, words=", where = 'id < 1) OR (id > 5'")
    inrush.write("where.toml", unbalanced)
    inrush(*compare, "where.toml").expect(USAGE, "`where`", "syntax error")


def test_current_versions_are_compared(newest_database: Database, inrush: Inrush) -> None:
    """Ended versions (`scd`) are not compared, because the source no longer has these rows."""
    newest_database.execute(
        "CREATE TABLE customer (id int PRIMARY KEY, city text, phone text);"
        "INSERT INTO customer SELECT n, 'Graz', n::text FROM generate_series(1, 200) n;"
        "CREATE SCHEMA dw; CREATE TABLE dw.customer (id int NOT NULL, city text, phone text,"
        " valid_from timestamptz NOT NULL, valid_to timestamptz);"
        "CREATE UNIQUE INDEX ON dw.customer (id) WHERE valid_to IS NULL"
    )
    text = PACKAGE.format(url=newest_database.url, words="").replace("orders", "customer")
    settings = 'mode = "upsert"\nkey = "id"\nscd = { track = "city" }'
    inrush.write("copy.toml", text.replace('mode = "append"', settings))
    inrush("run", "copy.toml").expect(CLEAN)
    newest_database.execute(
        "UPDATE customer SET city = 'Linz' WHERE id <= 50;"
        "UPDATE customer SET phone = 'none' WHERE id BETWEEN 51 AND 60"
    )
    compare = ("verify", "--compare", "copy.toml")
    inrush(*compare).expect(VERIFICATION, "60 with other values")
    inrush("run", "copy.toml").expect(CLEAN)
    assert newest_database.value("SELECT count(*) FROM dw.customer") == 250
    inrush(*compare).expect(CLEAN, "200 rows", "are equal")
    newest_database.execute("UPDATE dw.customer SET city = 'x' WHERE valid_to IS NOT NULL")
    inrush(*compare).expect(CLEAN, "200 rows", "are equal")
    newest_database.execute(
        "UPDATE dw.customer SET phone = 'x' WHERE id = 3 AND valid_to IS NULL;"
        "DELETE FROM dw.customer WHERE id = 9 AND valid_to IS NULL"
    )
    told = inrush(*compare).expect(VERIFICATION).output
    assert "(3) has other values" in told, told
    assert "(9) is only in public.customer" in told, told

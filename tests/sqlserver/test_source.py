"""Tables and queries of SQL Server as a source, on the double: values, faults, refusals."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from harness.command import CLEAN, FAILED, USAGE, Inrush
from harness.duckdb_files import opened
from harness.servers import Database
from sqlserver.double import Double
from sqlserver.double.server import Client

# The name of a column, its type, its type in PostgreSQL, and the values to load.
TYPES = [
    ("b", "bit", "boolean", ["true", "false"]),
    ("i1", "tinyint", "smallint", ["0", "255"]),
    ("i2", "smallint", "smallint", ["-32768"]),
    ("i4", "int", "integer", ["-2147483648"]),
    ("i8", "bigint", "bigint", ["9223372036854775807"]),
    ("r", "real", "real", ["3.4028235e+38", "-0.25"]),
    ("f", "float", "double precision", ["1.7976931348623157e+308"]),
    ("n9", "decimal(9,2)", "numeric(9,2)", ["-9999999.99", "0.00"]),
    ("n38", "numeric(38,10)", "numeric(38,10)", ["-1234567890123456789012345678.0123456789"]),
    ("d", "date", "date", ["0001-01-01", "9999-12-31"]),
    ("t", "time(6)", "time without time zone", ["23:59:59.999999"]),
    ("m", "datetime2(3)", "timestamp without time zone", ["2024-02-29 12:34:56.789"]),
    ("o", "datetimeoffset(6)", "timestamp with time zone", ["2024-02-29 12:00:00.000001+00"]),
    ("dt", "datetime", "timestamp without time zone", ["1753-01-01 00:00:00.003"]),
    ("sd", "smalldatetime", "timestamp without time zone", ["2079-06-06 23:59:00"]),
    ("c", "char(3)", "text", ["äb "]),
    ("v", "varchar(20)", "text", ["Straße"]),
    ("nc", "nchar(2)", "text", ["漢 "]),
    ("nv", "nvarchar(20)", "text", ["😀 ü"]),
    ("nm", "nvarchar(max)", "text", ["long " * 20_000]),
    ("y", "varbinary(8)", "bytea", ["\\x00ff"]),
    ("ym", "varbinary(max)", "bytea", ["\\x0102"]),
    ("u", "uniqueidentifier", "uuid", ["12345678-90ab-cdef-1234-567890abcdef"]),
]


def rows_of_types() -> list[tuple[int, str, str]]:
    """Return a row for each value: its number, its column and its text. The rest is NULL."""
    pairs = [(name, value) for name, _, _, values in TYPES for value in values]
    return [(number, name, value) for number, (name, value) in enumerate(pairs)]


def filled(inrush: Inrush, double: Double) -> None:
    """Load a row for each value into the table `ends` of the double."""
    names = [name for name, _, _, _ in TYPES]
    lines = ["|".join(["id", *names])]
    for number, name, value in rows_of_types():
        lines.append("|".join([str(number), *(value if name == one else "" for one in names)]))
    inrush.write("ends.csv", "\n".join(lines) + "\n")
    columns = ", ".join(["id int NOT NULL", *(f"{name} {kind}" for name, kind, _, _ in TYPES)])
    session = double.session()
    session.execute(f"CREATE TABLE ends ({columns})")
    session.close()
    words = ["load", "ends.csv", "--to", double.url, "--table", "ends", "--mode", "append"]
    inrush(*words, "--format", "csv,delimiter=|").expect(CLEAN)


def test_every_type_is_equal_in_postgresql(
    inrush: Inrush, double: Double, database: Database
) -> None:
    """A new target has the types of the source, and every value."""
    filled(inrush, double)
    words = ["copy", "--from", double.url, "--table", "ends", "--to", database.url]
    outcome = inrush(*words).expect(CLEAN)
    assert (
        "ends: these columns of the new table get another type, because the source's has no "
        "counterpart: i1 smallint instead of tinyint, c text instead of char(3), "
        "v text instead of varchar(20), nc text instead of nchar(2), "
        "nv text instead of nvarchar(20), y bytea instead of varbinary(8); to choose"
    ) in outcome.said
    kinds = database.rows(
        "SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute "
        "WHERE attrelid = 'ends'::regclass AND attnum > 0 ORDER BY attnum"
    )
    expected = [(name, kind, False) for name, _, kind, _ in TYPES]
    assert kinds == [("id", "integer", True), *expected]
    described = ", ".join(f"{name} {kind}" for name, _, kind, _ in TYPES)
    database.execute(f"CREATE TABLE expected (id int NOT NULL, {described})")
    for number, name, value in rows_of_types():
        database.execute(f"INSERT INTO expected (id, {name}) VALUES ({number}, '{value}')")
    read = "SELECT t::text FROM {} AS t ORDER BY id"
    found, wanted = (database.rows(read.format(table)) for table in ("ends", "expected"))
    assert found == wanted


MANY = 30_000


def many(inrush: Inrush, double: Double) -> list[tuple[int, str]]:
    """Load rows of many packets into the table `many` of the double, and return them."""
    rows = [(number, f"note {number} äö") for number in range(MANY)]
    inrush.write("many.csv", "id,note\n" + "".join(f"{a},{b}\n" for a, b in rows))
    columns = "id integer not null, note nvarchar(40)"
    words = ["load", "many.csv", "--to", double.url, "--table", "many", "--columns", columns]
    inrush(*words).expect(CLEAN)
    return rows


def in_duckdb(path: Path, query: str) -> list[tuple[object, ...]]:
    """Return the rows of a query of a file of DuckDB."""
    with opened(path, read_only=True) as file:
        return file.execute(query).fetchall()


def test_rows_of_many_packets_are_in_duckdb(inrush: Inrush, double: Double) -> None:
    """A table, a condition and a query are copied; the plan says which moment is read."""
    rows = many(inrush, double)
    target = inrush.folder / "x.duckdb"
    words = ["copy", "--from", double.url, "--to", str(target)]
    inrush(*words, "--table", "many").expect(CLEAN, "isolation level READ COMMITTED")
    assert in_duckdb(target, "SELECT id, note FROM many ORDER BY id") == rows
    inrush(*words, "--table", "many", "--where", "id >= 29990", "--into", "part").expect(CLEAN)
    assert in_duckdb(target, "SELECT id, note FROM part ORDER BY id") == rows[29_990:]
    query = "SELECT note, id FROM many WHERE id < 3;"
    inrush(*words, "--query", query, "--columns", "id::text", "--into", "texts").expect(CLEAN)
    assert in_duckdb(target, "SELECT * FROM texts ORDER BY id") == [("0",), ("1",), ("2",)]


REFUSED = {
    "a second statement": (
        ["--query", "SELECT id FROM many; DELETE FROM many"],
        USAGE,
        "one SELECT",
    ),
    "a statement that writes": (["--query", "DELETE FROM many"], USAGE, "one SELECT"),
    "an unknown table": (["--table", "absent"], FAILED, "name a table or view that exists"),
    "an unknown column": (["--table", "many", "--columns", "absent"], USAGE, "no column"),
    "an unknown column in a condition": (
        ["--table", "many", "--where", "absent = 1"],
        USAGE,
        "207",
    ),
    "a condition that closes our parenthesis": (
        ["--table", "many", "--where", "id < 10) OR (id > 20"],
        USAGE,
        "`where` has unbalanced parentheses",
    ),
    "a query that closes our parenthesis": (
        [
            "--query",
            "SELECT id FROM many) AS x; DELETE FROM many; SELECT 1 AS a FROM (SELECT 1 AS a",
        ],
        USAGE,
        "one SELECT",
    ),
    "a condition with a statement behind it": (
        [
            "--table",
            "many",
            "--where",
            "1 = 0)) AS x; DELETE FROM many; SELECT * FROM (SELECT 1 AS id WHERE (1 = 1",
        ],
        USAGE,
        "`where` has unbalanced parentheses",
    ),
    "a query whose comment swallows what we write": (
        ["--query", "SELECT id FROM many /*"],
        USAGE,
        "the query has unbalanced parentheses, quotes, brackets or comments",
    ),
    "changed rows": (["--table", "many", "--since", "id"], USAGE, "since"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_refused(inrush: Inrush, double: Double, case: str) -> None:
    """The load ends with one message that has the fix, and the table is unchanged."""
    words, status, said = REFUSED[case]
    session = double.session()
    session.execute("CREATE TABLE many (id int NOT NULL)")
    session.execute("INSERT INTO many (id) VALUES (1)")
    into = ["--into", "t"] if "--query" in words else []
    target = str(inrush.folder / "x.duckdb")
    inrush("copy", "--from", double.url, "--to", target, *words, *into).expect(status, said)
    assert session.rows("SELECT id FROM many") == [[1]]
    session.close()
    double.unknown.clear()


def test_a_wrong_password_is_one_message(inrush: Inrush, double: Double) -> None:
    """The message is the server's, and does not contain the password."""
    double.passwords["tester"] = "right"
    words = ["copy", "--from", double.url, "--table", "t", "--to", str(inrush.folder / "x.duckdb")]
    outcome = inrush(
        *words, "--from-option", "password=${env:SECRET}", environment={"SECRET": "wr0ng"}
    )
    outcome.expect(FAILED, "refuses the login", "18456")
    assert "wr0ng" not in outcome.said


FAULTS = {
    # The bytes that come in place of the second packet of rows, and the message.
    "a reset": (b"", "was lost"),
    "garbage": (b"\x04\x00\x10\x00" + b"\x00" * 4092, "cannot be read"),
    "no packet": (b"HTTP/1.1 400 Bad Request\r\n\r\n" * 200, "cannot be read"),
}


def end_of_packet(data: bytes, least: int) -> int:
    """Return the end of the packet that contains the byte at `least`."""
    end = 0
    while end <= least:
        end += int.from_bytes(data[end + 2 : end + 4], "big")
    return end


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_amid_the_rows_loses_nothing(
    inrush: Inrush, double: Double, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The load fails with one message; the same command then loads all rows."""
    rows = many(inrush, double)
    instead, said = FAULTS[fault]
    write = Client._write
    armed = [True]

    def broken(client: Client, data: bytes) -> None:
        if armed[0] and len(data) > 300_000:
            armed[0] = False
            write(client, data[: 100_000 if fault == "a reset" else end_of_packet(data, 98_301)])
            write(client, instead)
            # The client has the whole packet before it learns that the connection ends.
            client._socket.shutdown(socket.SHUT_WR)
            return
        write(client, data)

    monkeypatch.setattr(Client, "_write", broken)
    target = inrush.folder / "x.duckdb"
    words = ["copy", "--from", double.url, "--table", "many", "--to", str(target)]
    outcome = inrush(*words)
    assert not armed[0]
    outcome.expect(FAILED, said)
    assert re.search(r"reading many", outcome.said)
    inrush(*words).expect(CLEAN)
    assert in_duckdb(target, "SELECT id, note FROM many ORDER BY id") == rows

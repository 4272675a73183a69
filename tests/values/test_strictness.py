"""No silent change: a value that does not fit its column is a reject, unless declared otherwise.

PostgreSQL itself accepts several of these and changes them: it rounds numbers and times, cuts
blanks off a varchar and accepts NaN as a number.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.command import CLEAN, LOADED_WITH_REJECTS, Inrush
from harness.packages import Value, flow, package
from harness.servers import Database


@dataclass(frozen=True)
class Case:
    """A value that does not fit, the reason, and the nearest value that fits."""

    column_type: str
    bad: str
    code: str
    good: str


NINES = "9" * 400

CASES = [
    # Overflow.
    Case("int2", "32768", "out_of_range", "32767"),
    Case("int2", "-32769", "out_of_range", "-32768"),
    Case("int4", "2147483648", "out_of_range", "2147483647"),
    Case("int4", "-2147483649", "out_of_range", "-2147483648"),
    Case("int8", "9223372036854775808", "out_of_range", "9223372036854775807"),
    Case("int8", "-9223372036854775809", "out_of_range", "-9223372036854775808"),
    Case("int4", NINES, "out_of_range", "0"),
    Case("numeric(5,2)", "1000", "out_of_range", "999.99"),
    Case("numeric(5,2)", "-1000.00", "out_of_range", "-999.99"),
    Case("numeric(3,5)", "0.01", "out_of_range", "0.00999"),
    Case("float4", "1e39", "out_of_range", "3.4028235e38"),
    Case("float8", "1e309", "out_of_range", "1.7976931348623157e308"),
    # Numbers that would become zero.
    Case("float4", "1e-60", "out_of_range", "1e-45"),
    Case("float8", "1e-400", "out_of_range", "5e-324"),
    # Rounding, and lost fractions.
    Case("int4", "1.5", "syntax", "1"),
    Case("int8", "1e-1", "syntax", "1"),
    Case("numeric(5,2)", "1.005", "fraction_lost", "1.00"),
    Case("numeric(5,-2)", "150", "fraction_lost", "100"),
    Case("time(0)", "12:00:00.5", "fraction_lost", "12:00:00"),
    Case("time", "12:00:00.1234567", "fraction_lost", "12:00:00.123456"),
    Case("timestamp(3)", "2024-01-01 00:00:00.0001", "fraction_lost", "2024-01-01 00:00:00.001"),
    Case("timestamp", "2024-01-01 00:00:00.0000001", "fraction_lost", "2024-01-01 00:00:00"),
    Case("interval(0)", "00:00:00.5", "fraction_lost", "00:00:01"),
    # Truncation; lengths are in characters, not bytes.
    Case("varchar(3)", "abcd", "too_long", "abc"),
    Case("varchar(3)", "äöü€", "too_long", "äöü"),
    Case("varchar(3)", "abc ", "too_long", "ab "),
    Case("char(3)", "abcd", "too_long", "abc"),
    Case("char(1)", "\U0001f600x", "too_long", "\U0001f600"),
    # Texts that are not dates, or dates that PostgreSQL does not have.
    Case("date", "2024-02-30", "out_of_range", "2024-02-29"),
    Case("date", "2023-02-29", "out_of_range", "2023-02-28"),
    Case("date", "2024-13-01", "out_of_range", "2024-12-01"),
    Case("date", "0000-01-01", "out_of_range", "0001-01-01"),
    Case("date", "5874898-01-01", "out_of_range", "5874897-12-31"),
    Case("timestamp", "294277-01-01 00:00:00", "out_of_range", "294246-12-31 23:59:59"),
    Case("timestamp", "2024-01-01 25:00:00", "out_of_range", "2024-01-01 23:00:00"),
    Case("time", "24:00:01", "out_of_range", "24:00:00"),
    # Texts that are not values of their type.
    Case("numeric(5,2)", "NaN", "out_of_range", "1"),
    Case("int4", "NaN", "syntax", "1"),
    Case("int4", "1 000", "syntax", "1000"),
    Case("int4", "0x10", "syntax", "16"),
    Case("numeric", "1,5", "syntax", "1.5"),
    Case("float8", "1,5", "syntax", "1.5"),
    Case("bool", "2", "syntax", "1"),
    Case("date", "31/12/2024", "syntax", "2024-12-31"),
    Case("uuid", "a0eebc99-9c0b-4ef8-bb6d", "syntax", "a0eebc999c0b4ef8bb6d6bb9bd380a11"),
    Case("bytea", "\\\\xABC", "syntax", "\\\\xAB"),
    Case("timestamptz", "2024-01-01 00:00:00", "zone_missing", "2024-01-01 00:00:00Z"),
    # Texts that a database cannot hold.
    Case("text", "a\0b", "nul_byte", "ab"),
    Case("varchar(9)", "\0", "nul_byte", ""),
    Case("text not null", "\\N", "null_not_allowed", "NULL"),
]  # fmt: skip


def test_what_does_not_fit_is_a_reject(database: Database, inrush: Inrush) -> None:
    flows = []
    for number, case in enumerate(CASES):
        inrush.write(f"case{number}.tsv", f"{case.bad}\n{case.good}\n")
        table = f"case{number}"
        database.execute(f"CREATE TABLE {table} (value {case.column_type})")
        flows.append(flow(table, f"{table}.tsv", rejects={"rows_max": 1}))
    file = inrush.write("package.toml", package(database.url, *flows))
    outcome = inrush("run", file).expect(LOADED_WITH_REJECTS)
    codes: dict[str, list[str]] = {}
    for reject in outcome.rejects():
        assert reject["line"] == 1, reject
        codes.setdefault(reject["file"].rsplit("/", 1)[-1], []).append(reject["code"])
    found = {
        (case.column_type, case.bad[:40]): codes.get(f"case{number}.tsv")
        for number, case in enumerate(CASES)
    }
    assert found == {(case.column_type, case.bad[:40]): [case.code] for case in CASES}
    for number, case in enumerate(CASES):
        database.execute(f"CREATE TABLE good{number} (value {case.column_type})")
        database.psql(f"\\copy good{number} FROM '{inrush.write('good', case.good + chr(10))}'")
        values = database.rows(f"SELECT value::text FROM case{number}")
        assert values == database.rows(f"SELECT value::text FROM good{number}"), case


# Settings of a column: its type, the field, the setting, and the value.
DECLARED: list[tuple[str, str, dict[str, Value], str | None]] = [
    ("numeric(5,2)", "1.005", {"round": "half_up"}, "1.01"),
    ("numeric(5,2)", "1.005", {"round": "half_even"}, "1.00"),
    ("numeric(5,2)", "1.009", {"round": "down"}, "1.00"),
    ("int4", "2.5", {"round": "half_up"}, "3"),
    ("timestamp(0)", "2024-01-01 00:00:00.5", {"round": "half_up"}, "2024-01-01 00:00:01"),
    ("varchar(3)", "äöü€", {"on_truncate": "truncate"}, "äöü"),
    ("char(3)", "abcd", {"on_truncate": "truncate"}, "abc"),
    ("float8", "NaN", {"nan": "null"}, None),
    ("int4", "1 000", {"group_separator": " "}, "1000"),
    ("numeric(5,2)", "1,5", {"decimal_separator": ","}, "1.50"),
    ("date", "31/12/2024", {"format": "%d/%m/%Y"}, "2024-12-31"),
    ("timestamptz", "2024-01-01 00:00:00", {"zone": "UTC"}, "2024-01-01 00:00:00+00"),
]


def test_what_a_column_declares_is_done(database: Database, inrush: Inrush) -> None:
    flows = []
    for number, (column_type, field, policy, _) in enumerate(DECLARED):
        inrush.write(f"case{number}.tsv", f"{field}\n")
        column = {"name": "value", "type": column_type, **policy}
        flows.append(flow(f"case{number}", f"case{number}.tsv", columns=[column]))
    file = inrush.write("package.toml", package(database.url, *flows, verify="rows"))
    inrush("run", file).expect(CLEAN)
    with database.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for number, (_, _, _, value) in enumerate(DECLARED):
            query = f"SELECT value::text FROM case{number}".encode()
            assert connection.execute(query).fetchall() == [(value,)], DECLARED[number]

r"""Every column type: its extremes and NULLs read back as psql's `\copy` of the same text gives."""

from __future__ import annotations

import pytest

from harness.command import CLEAN, REJECT_LIMIT, Inrush
from harness.contents import assert_same_rows
from harness.packages import Value, flow, package
from harness.servers import Database
from values.families import FAMILIES, NULL, Family, families_of, lines


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_read_back_as_psql_loads_it(database: Database, inrush: Inrush, family: Family) -> None:
    if family not in families_of(database):
        pytest.skip("for other versions of PostgreSQL")
    columns = ", ".join(f"c{n} {type_name}" for n, type_name in enumerate(family.columns, 1))
    database.execute(
        f"{family.before}\n"
        f"CREATE TABLE expected (id int NOT NULL, {columns});"
        "CREATE TABLE loaded (LIKE expected)"
    )
    file = inrush.write("rows.tsv", lines(family))
    database.psql(f"\\copy expected FROM '{file}'")
    inrush("load", file, "--to", database.url, "--table", "loaded").expect(CLEAN)
    assert_same_rows(database, "loaded", "expected", "id", binary=family.binary)
    assert database.value("SELECT count(*) FROM loaded") == len(family.rows)


@pytest.mark.parametrize("form", ["binary", "text"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Vienna", "America/Los_Angeles"])
def test_ends_of_timestamptz_in_a_declared_zone(
    database: Database, inrush: Inrush, zone: str, form: str
) -> None:
    """The limit applies in UTC: clocks ahead of it show the year after the last one."""
    ends = {
        "UTC": ("4714-11-24 00:00:00 BC", "294276-12-31 23:59:59.999999"),
        "Europe/Vienna": ("4714-11-24 01:05:21 BC", "294277-01-01 00:59:59.999999"),
        "America/Los_Angeles": ("4714-11-23 16:07:02 BC", "294276-12-31 15:59:59.999999"),
    }
    values = [*ends[zone], "294247-01-10 12:00:54.775808", "294250-07-01 00:00:00"]
    # If one type has no encoder, the whole table is sent in COPY's text form.
    address = ", address inet" if form == "text" else ""
    database.execute(
        f"CREATE TABLE expected (id int, at timestamptz{address});"
        "CREATE TABLE loaded (LIKE expected)"
    )
    null = f"\t{NULL}" if form == "text" else ""
    rows = [f"{number}\t{value}{null}\n" for number, value in enumerate(values)]
    file = inrush.write("rows.tsv", "".join(rows))
    database.psql(f"SET TimeZone = '{zone}'", f"\\copy expected FROM '{file}'")
    columns: list[Value] = [{"name": "id"}, {"name": "at", "zone": zone}]
    columns += [{"name": "address"}] if form == "text" else []
    text = package(database.url, flow("loaded", "rows.tsv", columns=columns, verify="rows"))
    inrush("run", inrush.write("package.toml", text)).expect(CLEAN)
    assert_same_rows(database, "loaded", "expected", "id")


def refuse(database: Database, inrush: Inrush, value: str, said: str) -> None:
    """Fail unless the only row, which has this value, is a reject."""
    words = ("load", inrush.folder / "rows.tsv", "--to", database.url, "--table", "loaded")
    inrush(*words).expect(REJECT_LIMIT, "rows.tsv:1", "c1", value, said)
    assert database.rows("TABLE loaded") == []


@pytest.mark.parametrize(
    ("type_name", "value", "said"),
    [
        ("numeric(15,2)", "NaN", "NaN"),
        # PostgreSQL 17 and later use the stored form of these values for infinity.
        (
            "interval",
            "2147483647 mons 2147483647 days 2562047788:00:54.775807",
            "write infinity",
        ),
        (
            "interval",
            "-2147483648 mons -2147483648 days -2562047788 hours -54.775808 secs",
            "write infinity",
        ),
    ],
)
def test_values_that_are_not_carried_are_rejects(
    newest_database: Database, inrush: Inrush, type_name: str, value: str, said: str
) -> None:
    """Inrush refuses these values with a reason, although psql loads them."""
    newest_database.execute(f"CREATE TABLE loaded (c1 {type_name})")
    file = inrush.write("rows.tsv", f"{value}\n")
    newest_database.psql(f"\\copy loaded FROM '{file}'", "TRUNCATE loaded")
    refuse(newest_database, inrush, value, said)


LAST = "294276-12-31 23:59:59.999999"
FIRST = "4714-11-24 00:00:00 BC"


@pytest.mark.parametrize(
    ("type_name", "value", "said", "versions"),
    [
        ("timestamp", "294277-01-01 00:00:00", LAST, range(99)),
        ("timestamp", "294276-12-31 24:00:00", LAST, range(99)),
        ("timestamp", "5874897-12-31 00:00:00", LAST, range(99)),
        ("timestamp", "4714-11-23 23:59:59.999999 BC", FIRST, range(99)),
        ("timestamp", "6000000-01-01 00:00:00 BC", FIRST, range(99)),
        ("timestamptz", "294276-12-31 23:59:59.999999-00:00:01", LAST, range(99)),
        ("timestamptz", "294277-01-01 01:00:00+01", LAST, range(99)),
        ("timestamptz", "4714-11-24 00:59:59.999999+01 BC", FIRST, range(99)),
        ("interval", "infinity", "from version 17 on", range(17)),
        ("interval", "-infinity", "from version 17 on", range(17)),
    ],
)
def test_values_past_the_ends_are_rejects(
    database: Database, inrush: Inrush, type_name: str, value: str, said: str, versions: range
) -> None:
    """Like psql, Inrush refuses these values."""
    if database.server.version not in versions:
        pytest.skip("for other versions of PostgreSQL")
    database.execute(f"CREATE TABLE loaded (c1 {type_name})")
    file = inrush.write("rows.tsv", f"{value}\n")
    with pytest.raises(RuntimeError, match=r"out of range|invalid input syntax"):
        database.psql(f"\\copy loaded FROM '{file}'")
    refuse(database, inrush, value, said)


def test_every_type_is_tested_with_null() -> None:
    for family in FAMILIES:
        nulls = {n for row in family.rows for n, value in enumerate(row) if value == NULL}
        assert nulls == set(range(len(family.columns))), family.name

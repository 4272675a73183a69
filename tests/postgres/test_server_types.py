r"""Types that only PostgreSQL has, and whose values it truncates or rounds silently.

Values that fit are read back as psql's `\copy` of the same text gives them. Values that the server
would change are rejects with code and line. If only the server reads a type, plan and run say so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.command import CLEAN, LOADED_WITH_REJECTS, USAGE, VERIFICATION, Inrush
from harness.contents import assert_same_rows
from harness.packages import flow, package
from harness.servers import Database

NULL = "\\N"


@dataclass(frozen=True)
class Kind:
    """A type with values that fit it, and with rejects: their code and a part of their reason."""

    type_name: str
    fits: tuple[str, ...]
    rejects: tuple[tuple[str, str, str], ...]
    version_min: int = 0
    before: str = ""


KINDS = [
    Kind(
        "interval year",
        ("2", "2 years", "24 mons", "-3", "1-0", "P2Y"),
        (
            ("1 day", "fraction_lost", "interval year keeps no months"),
            ("18 mons", "fraction_lost", "interval year"),
            ("1.5", "fraction_lost", "interval year"),
            ("1-6", "fraction_lost", "interval year"),
        ),
    ),
    Kind(
        "interval year to month",
        ("1-2", "-1-2", "7", "1 year 2 mons", "P1Y2M", "1.5 years", "3 years 0 days 00:00:00"),
        (
            ("1 day", "fraction_lost", "interval year to month keeps no days"),
            ("1 mon 00:00:01", "fraction_lost", "correct the value"),
            ("1-12", "out_of_range", "0 to 11"),
        ),
    ),
    Kind(
        "interval month",
        ("5", "1 year", "1 mon"),
        (("40 days", "fraction_lost", "interval month"),),
    ),
    Kind(
        "interval day",
        ("1", "-2", "1 mon 1 day", "3 00:00:00", "1 week"),
        (
            ("1 day 01:00", "fraction_lost", "interval day keeps no times"),
            ("1.5", "fraction_lost", "interval day"),
            ("25:00", "fraction_lost", "interval day"),
        ),
    ),
    Kind(
        "interval hour",
        ("36", "1 day 5", "01:00", "1 05:00:00"),
        (
            ("90 minutes", "fraction_lost", "interval hour keeps no minutes"),
            ("1.5", "fraction_lost", "interval hour"),
        ),
    ),
    Kind(
        "interval day to hour",
        ("36", "1 5:00", "1 day 2 hours"),
        (("1 day 00:30", "fraction_lost", "interval day to hour"),),
    ),
    Kind(
        "interval minute",
        ("90", "01:30", "2 days"),
        (("90 seconds", "fraction_lost", "interval minute keeps no seconds"),),
    ),
    Kind(
        "interval day to minute",
        ("90", "1 01:30"),
        (("00:00:30", "fraction_lost", "interval day to minute"),),
    ),
    Kind(
        "interval hour to minute",
        ("01:30", "5"),
        (("00:00:30", "fraction_lost", "interval hour to minute"),),
    ),
    Kind(
        "interval second(2)",
        ("90", "90.25", "1 day 00:00:00.25"),
        (("1.125", "fraction_lost", "3 digits"),),
    ),
    Kind(
        "interval day to second(0)",
        ("1 02:03:04", "90"),
        (("1 02:03:04.5", "fraction_lost", "1 digit"),),
    ),
    Kind("interval hour to second", ("01:02:03.5", "01:30"), ()),
    Kind("interval minute to second", ("01:30", "01:30.5", "5", "01:02:03"), ()),
    Kind(
        "interval month",
        ("infinity", "-infinity"),
        (),
        version_min=17,
    ),
    Kind(
        "name",
        ("n", "", "a" * 63, "é" * 31),
        (
            ("a" * 64, "too_long", "64 bytes"),
            ("é" * 32, "too_long", "64 bytes"),
        ),
    ),
    Kind(
        "money",
        (
            "1234.56",
            "-12.34",
            "$1,234.56",
            "-$1,234.56",
            "(12.34)",
            "1.5000",
            "92233720368547758.07",
            "-92233720368547758.08",
            "$1,234",
        ),
        (
            ("1.239", "fraction_lost", "money keeps 2 digits"),
            ("0.001", "fraction_lost", "money keeps 2 digits"),
            ("92233720368547758.08", "out_of_range", "64 bits"),
            ("1,234", "syntax", "comma may be a decimal comma"),
            ("1.234,56", "syntax", "not a sum of money"),
            ("12,34", "syntax", "not a sum of money"),
            ("5 €", "syntax", "no other currency"),
        ),
    ),
    Kind(
        "timetz",
        ("12:00:00+02", "24:00:00+00", "12:00-05:30", "00:00:00.000001Z", "01:02:03+15:59:59"),
        (
            ("12:00:00", "zone_missing", "no offset"),
            ("12:00:00.0000001+00", "fraction_lost", "7 digits"),
            ("23:59:60+00", "out_of_range", "60th second"),
            ("12:00:00+16", "out_of_range", "16 hours"),
            ("12:00:00 EST", "syntax", "abbreviations"),
        ),
    ),
    Kind(
        "timetz(0)",
        ("12:00:00+02", "12:00:00.000-08"),
        (("12:00:00.5+02", "fraction_lost", "keeps 0"),),
    ),
    Kind(
        '"char"',
        ("a", "", "\\\\", "%"),
        (
            ("ä", "too_long", "2 bytes"),
            ("ab", "too_long", "2 bytes"),
        ),
    ),
    Kind(
        '"char"',
        ("\\\\303", "\\\\101", "\\\\000"),
        (("\\\\777", "out_of_range", "377"),),
        version_min=16,
    ),
    Kind(
        "numeric(5,2)[]",
        ("{}", "{1.25,NULL,NaN}", "{{1},{999.99}}", "[0:1]={1,2}", "{ 1.50 , 2e1 }"),
        (
            ("{1.239}", "fraction_lost", 'element [1], "1.239"'),
            ("{{1,2},{3,4.001}}", "fraction_lost", "element [2][2]"),
            ("[0:1]={1,1000}", "out_of_range", "element [1]"),
            ("1.25", "syntax", "not an array"),
            ("{1,}", "syntax", "follows a comma"),
            ("{{1},{2,3}}", "syntax", "sub-arrays"),
        ),
    ),
    Kind(
        "timestamp(0)[]",
        ('{"2024-01-01 00:00:00",infinity}',),
        (('{"2024-01-01 00:00:00.5"}', "fraction_lost", "element [1]"),),
    ),
    Kind(
        "timestamptz[]",
        ('{"2024-01-01 00:00:00+02",NULL}',),
        (('{"2024-01-01 00:00:00"}', "zone_missing", "element [1]"),),
    ),
    Kind(
        "varchar(3)[]",
        ('{abc,"",NULL,äöü}',),
        (("{abc,abcd}", "too_long", "element [2]"), ('{"abc  "}', "too_long", "element [1]")),
    ),
    Kind("char(3)[]", ('{a,"ab ","abc  "}',), (("{abcd}", "too_long", "element [1]"),)),
    Kind("int[]", ("{1, -2 ,+3}", "{{1},{2}}"), (("{2147483648}", "out_of_range", "element [1]"),)),
    Kind("text[]", ('{"a\\\\"b","c,d","{}","\\\\\\\\",NULL}',), (("{a", "syntax", "not closed"),)),
    Kind("date[]", ("{2024-02-29,infinity}",), (("{2024-02-30}", "out_of_range", "element [1]"),)),
    Kind("time(3)[]", ("{00:00:00.123}",), (("{00:00:00.1234}", "fraction_lost", "element [1]"),)),
    Kind("timetz[]", ("{12:00:00+01}",), (("{12:00:00}", "zone_missing", "element [1]"),)),
    Kind(
        "interval day[]",
        ('{1,"2 days"}',),
        (('{"1 day 01:00"}', "fraction_lost", "element [1]"),),
    ),
    Kind("interval(0)[]", ("{00:00:01}",), (("{00:00:01.5}", "fraction_lost", "element [1]"),)),
    Kind("uuid[]", ("{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}",), (("{a0ee}", "syntax", "element"),)),
    Kind("bool[]", ("{t,f,NULL}",), (("{2}", "syntax", "element [1]"),)),
    Kind("json[]", ('{"{\\\\"a\\\\": 1}"}',), (('{"{"}', "syntax", "element [1]"),)),
    Kind(
        "jsonb",
        ('{"b": {"a": 1}, "a": [{"a": 1}, {"a": 1}]}', '{"a": "a", "A": "a"}'),
        (
            ('{"a": 1, "a": 2}', "form_lost", 'the key "a" occurs twice'),
            ('{"a": 1, "\\\\u0061": 1}', "form_lost", 'the key "a" occurs twice'),
            ('[{"x": {"b": 1, "c": 2, "b": 1}}]', "form_lost", 'the key "b" occurs twice'),
        ),
    ),
    Kind(
        "jsonb[]",
        ('{"[1, 2]",NULL}',),
        (
            ('{"["}', "syntax", "element [1]"),
            ('{1,"{\\\\"a\\\\": 1, \\\\"a\\\\": 2}"}', "form_lost", "occurs twice"),
        ),
    ),
    Kind("bytea[]", ('{"\\\\\\\\x00ff"}',), (('{"\\\\\\\\x0"}', "syntax", "element [1]"),)),
    Kind("float8[]", ("{1.5,NaN,-0}",), (("{1e400}", "out_of_range", "element [1]"),)),
    Kind("name[]", ("{a}",), (("{" + "a" * 64 + "}", "too_long", "element [1]"),)),
    Kind("money[]", ("{1.25,NULL}",), (("{1.239}", "fraction_lost", "element [1]"),)),
    Kind('"char"[]', ("{a,b}",), (("{ä}", "too_long", "element [1]"),)),
    Kind(
        "price[]",
        ("{1.25,NULL}",),
        (("{1.239}", "fraction_lost", "element [1]"),),
        before="CREATE DOMAIN price AS numeric(5,2);",
    ),
    Kind(
        "prices",
        ("{1.25,NULL}",),
        (("{1.239}", "fraction_lost", "element [1]"),),
        before="CREATE DOMAIN prices AS numeric(5,2)[];",
    ),
    Kind(
        "span",
        ("1-2",),
        (("1 day", "fraction_lost", "interval year to month"),),
        before="CREATE DOMAIN span AS interval year to month;",
    ),
    Kind(
        "mood[]",
        ("{sad,NULL}",),
        (("{glad}", "unknown_label", "element [1]"),),
        before="CREATE TYPE mood AS ENUM ('sad', 'happy');",
    ),
]


def ids(kind: Kind) -> str:
    """Return a unique name of this kind."""
    return f"{KINDS.index(kind)}_{kind.type_name}"


@pytest.mark.parametrize("kind", KINDS, ids=ids)
def test_values_are_exact_or_rejects(database: Database, inrush: Inrush, kind: Kind) -> None:
    if database.server.version < kind.version_min:
        pytest.skip("for newer versions of PostgreSQL")
    fits = [*kind.fits, NULL]
    statements, copies, flows = [kind.before], ["SET lc_monetary = 'C'"], []
    # If one type has no encoder, the whole table is sent in COPY's text form.
    for form, level, column, more in (
        ("alone", "rows", "", ""),
        ("as_text", "sums", ", address inet", f"\t{NULL}"),
    ):
        statements.append(
            f"CREATE TABLE expected_{form} (id int, c1 {kind.type_name}{column});"
            f"CREATE TABLE {form} (LIKE expected_{form});"
        )
        good = "".join(f"{number}\t{value}{more}\n" for number, value in enumerate(fits))
        bad = "".join(f"0\t{value}{more}\n" for value, _, _ in kind.rejects)
        file = inrush.write(f"good_{form}.tsv", good)
        copies.append(f"\\copy expected_{form} FROM '{file}'")
        inrush.write(f"{form}.tsv", good + bad)
        rejects = {"rows_max": len(kind.rejects)} if kind.rejects else {}
        flows.append(flow(form, f"{form}.tsv", verify=level, rejects=rejects))
    database.execute("\n".join(statements))
    database.psql(*copies)
    outcome = inrush("run", inrush.write("package.toml", package(database.url, *flows)))
    outcome.expect(LOADED_WITH_REJECTS if kind.rejects else CLEAN)
    all_found = outcome.rejects()
    for form in ("alone", "as_text"):
        assert_same_rows(database, form, f"expected_{form}", "id")
        found = [reject for reject in all_found if Path(reject["file"]).name == f"{form}.tsv"]
        told = [(reject["line"], reject["code"]) for reject in found]
        assert told == [
            (len(fits) + number, code) for number, (_, code, _) in enumerate(kind.rejects, 1)
        ]
        for reject, (value, _, said) in zip(found, kind.rejects, strict=True):
            assert reject["column"] == "c1"
            assert reject["value"] == value
            assert said in reject["reason"], reject["reason"]


def test_one_byte_type_of_a_new_table(newest_database: Database, inrush: Inrush) -> None:
    inrush.write("rows.csv", "a,x\nb,y\n")
    inrush(
        *("load", "rows.csv", "--to", newest_database.url, "--table", "loaded"),
        *("--columns", 'id text, "kind" "char"', "--format", "csv,no_header"),
    ).expect(CLEAN)
    found = newest_database.rows(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = 'loaded'::regclass AND attname = 'kind'"
    )
    assert found == [('"char"',)]
    assert newest_database.rows("SELECT kind::text FROM loaded ORDER BY 1") == [("x",), ("y",)]


@pytest.mark.parametrize("zone", ["+02:00", "UTC", "Etc/GMT+5"])
def test_timetz_in_a_declared_zone(newest_database: Database, inrush: Inrush, zone: str) -> None:
    newest_database.execute("CREATE TABLE loaded (at timetz)")
    inrush.write("rows.tsv", "12:00:00\n12:00:00-01\n")
    columns = [{"name": "at", "zone": zone}]
    text = package(newest_database.url, flow("loaded", "rows.tsv", columns=columns, verify="rows"))
    inrush("run", inrush.write("package.toml", text)).expect(CLEAN)
    offset = {"+02:00": "+02", "UTC": "+00", "Etc/GMT+5": "-05"}[zone]
    expected = sorted([(f"12:00:00{offset}",), ("12:00:00-01",)])
    assert sorted(newest_database.rows("SELECT at::text FROM loaded")) == expected


def test_timetz_in_a_zone_whose_offset_changes(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute("CREATE TABLE loaded (at timetz)")
    inrush.write("rows.tsv", "12:00:00\n")
    columns = [{"name": "at", "zone": "Europe/Vienna"}]
    text = package(newest_database.url, flow("loaded", "rows.tsv", columns=columns))
    inrush("run", inrush.write("package.toml", text)).expect(USAGE, "changes with the date")


@pytest.mark.parametrize("zone", ["+02:00", "-05:30"])
def test_offset_as_the_zone_of_timestamptz(
    newest_database: Database, inrush: Inrush, zone: str
) -> None:
    newest_database.execute("CREATE TABLE loaded (at timestamptz)")
    inrush.write("rows.tsv", "2024-07-01 12:00:00\n")
    columns = [{"name": "at", "zone": zone}]
    text = package(newest_database.url, flow("loaded", "rows.tsv", columns=columns))
    inrush("run", inrush.write("package.toml", text)).expect(CLEAN)
    same = f"SELECT at = timestamptz '2024-07-01 12:00:00{zone}' FROM loaded"
    assert newest_database.value(same) is True


# The server may store other values for these, without a message.
CHANGED = [
    ("point", "(0.1000000000000000055511151231257827,2)"),
    ("box", "(1,1),(2,2)"),
    ("path", "((0,0),(1,1))"),
    ("polygon", "((0,0),(1,1))"),
    ("circle", "<(0,0),1>"),
    ("lseg", "[(0,0),(1,1)]"),
    ("line", "{1,2,3}"),
    ("tsvector", "b a b"),
    ("tsquery", "b & a"),
    # Not every server is built with this type.
    ("xml", NULL),
    ("cidr", "192.168"),
    ("macaddr8", "08:00:2b:01:02:03"),
    ("int4range", "[1,5]"),
    ("numrange", "[1,5]"),
    ("tstzrange", "[2024-01-01,2024-01-02]"),
    ("int4multirange", "{[1,2],[3,4]}"),
    ("jsonpath", "$.a"),
    ("oid", "-1"),
    ("regtype", "int4"),
    ("int2vector", "1 2"),
    ("pair", "(1.239,abc)"),
    ("pair[]", '{"(1.239,abc)"}'),
    ("box[]", "{(1,1),(2,2)}"),
    ("spans", "[1,5]"),
]

# The server stores exactly the value of the text, or refuses it.
KEPT = [
    ("inet", "192.168.0.1/24", "::ffff:1.2.3.4"),
    ("macaddr", "08:00:2b:01:02:03", "08-00-2b-01-02-04"),
    ("bit(3)", "101", "000"),
    ("varbit(3)", "1", "101"),
    ("pg_lsn", "16/B374D848", "0/0"),
    ("refcursor", "a", " b "),
    ("inet[]", "{10.0.0.1}", "{NULL,::1}"),
    ("bit(3)[]", "{101}", "{000}"),
]


@pytest.mark.parametrize(("type_name", "value"), CHANGED)
def test_types_that_the_server_may_change_are_told_and_can_be_refused(
    newest_database: Database, inrush: Inrush, type_name: str, value: str
) -> None:
    newest_database.execute(
        "CREATE TYPE pair AS (number numeric(5,2), word varchar(3));"
        "CREATE DOMAIN spans AS int4range;"
        f"CREATE TABLE loaded (c1 {type_name})"
    )
    inrush.write("rows.tsv", f"{value}\n")
    words = ("rows.tsv", "--to", newest_database.url, "--table", "loaded")
    shown = newest_database.value(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = 'loaded'::regclass AND attname = 'c1'"
    )
    schema = "public." if type_name in ("pair", "pair[]", "spans") else ""
    said = f"the server may silently round, cut or rewrite values of `c1` ({schema}{shown})"
    refused = inrush("load", *words, "--unchecked-types", "refuse").expect(USAGE, said)
    assert "post_sql" in refused.said
    assert newest_database.rows("TABLE loaded") == []
    text = package(newest_database.url, flow("loaded", "rows.tsv"), unchecked_types="refuse")
    inrush("run", inrush.write("package.toml", text)).expect(USAGE, said)
    text = package(newest_database.url, flow("loaded", "rows.tsv", verify="rows"))
    path = inrush.write("package.toml", text)
    checked = inrush("check", path).expect(
        CLEAN, said, "only the NULLs of these columns are verified"
    )
    assert "refuses such columns" in checked.said
    outcome = inrush("run", path).expect(CLEAN)
    assert any(said in note for note in outcome.report["notes"]), json.dumps(outcome.report)
    assert newest_database.value("SELECT count(*) FROM loaded") == 1


@pytest.mark.parametrize(("type_name", "one", "other"), KEPT)
def test_types_that_the_server_keeps_are_not_warned_of(
    database: Database, inrush: Inrush, type_name: str, one: str, other: str
) -> None:
    database.execute(
        f"CREATE TABLE expected (id int, c1 {type_name}); CREATE TABLE loaded (LIKE expected)"
    )
    file = inrush.write("rows.tsv", f"1\t{one}\n2\t{other}\n3\t{NULL}\n")
    database.psql(f"\\copy expected FROM '{file}'")
    words = ("load", file, "--to", database.url, "--table", "loaded")
    outcome = inrush(*words, "--unchecked-types", "refuse").expect(CLEAN)
    assert "may silently round" not in outcome.said
    assert_same_rows(database, "loaded", "expected", "id")


@pytest.mark.parametrize(
    ("type_name", "value"),
    [
        ("bit(3)", "10"),
        ("bit(3)", "1010"),
        ("varbit(3)", "1010"),
        ("inet", "300.1.1.1"),
        ("macaddr", "08:00:2b:01:02"),
    ],
)
def test_what_the_server_refuses_is_a_reject(
    database: Database, inrush: Inrush, type_name: str, value: str
) -> None:
    """The server refuses these values itself, so Inrush need not check the types."""
    database.execute(f"CREATE TABLE loaded (c1 {type_name})")
    inrush.write("rows.tsv", f"{value}\n")
    words = ("load", "rows.tsv", "--to", database.url, "--table", "loaded", "--max-rejects", "1")
    outcome = inrush(*words).expect(LOADED_WITH_REJECTS)
    assert [reject["line"] for reject in outcome.rejects()] == [1]


def test_every_type_of_the_server_is_known(database: Database, inrush: Inrush) -> None:
    """Each base type of the catalog is checked, stored unchanged by the server, or in the plan."""
    checked = {
        *(
            "bool bytea char name int8 int2 int4 text json jsonb float4 float8 bpchar varchar date"
        ).split(),
        *("time timestamp timestamptz interval timetz numeric uuid money").split(),
    }
    kept = {"inet", "macaddr", "bit", "varbit", "pg_lsn", "refcursor"}
    names = [
        name
        for (name,) in database.rows(
            "SELECT typname::text FROM pg_type WHERE typtype IN ('b', 'r', 'm') "
            "AND typnamespace = 'pg_catalog'::regnamespace AND typelem = 0 "
            "OR typname IN ('int2vector', 'oidvector', 'point', 'box', 'lseg', 'line', 'name') "
            "ORDER BY 1"
        )
    ]
    quoted = ", ".join(f'"{name}_" pg_catalog."{name}"' for name in names)
    database.execute(f"CREATE TABLE loaded ({quoted})")
    inrush.write("rows.tsv", "\t".join([NULL] * len(names)) + "\n")
    text = package(database.url, flow("loaded", "rows.tsv"))
    outcome = inrush("check", inrush.write("package.toml", text)).expect(CLEAN)
    told = {name for name in names if f"`{name}_` (" in outcome.said}
    assert set(names) - told == checked | kept


@pytest.mark.parametrize("level", ["sums", "rows"])
@pytest.mark.parametrize(
    "change",
    [
        "span = span + interval '1 mon'",
        "word = 'names'",
        "price = price + 0.01::money",
        "clock = timetz '12:00:01+02'",
        "clock = timetz '12:00:00+03'",
        "kind = ''",
    ],
)
def test_verification_sees_another_value(
    newest_database: Database, inrush: Inrush, change: str, level: str
) -> None:
    """A shared unit's table is committed before it is verified, so others can change a row."""
    columns = ["id int", "note text", "span interval year to month", "word name", "price money"]
    columns += ["clock timetz", 'kind "char"']
    # Three ranges of 8 MiB, of few rows that are long.
    more = f"{'x' * 3_900}|1-2|name|$1.50|12:00:00+02|a|"
    inrush.write("rows.tbl", "".join(f"{n}|{more}\n" for n in range(4_400)))
    text = package(newest_database.url, flow("loaded", "rows.tbl", columns=columns, verify=level))
    file = inrush.write("package.toml", text)
    with inrush.stopped_by("stop:after_unit_commit:2", "run", file) as running:
        staging = newest_database.value("SELECT staging_table FROM inrush.unit")
        newest_database.execute(
            f"UPDATE inrush_staging.{staging} SET {change} "
            f"WHERE ctid = (SELECT min(ctid) FROM inrush_staging.{staging})"
        )
        outcome = running.resume().wait()
    column = change.split()[0]
    outcome.expect(VERIFICATION, f"column `{column}`", "in the database")

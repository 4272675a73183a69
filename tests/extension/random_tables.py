"""Random tables and rows from a seed: every type that COPY BINARY reads, widths, NULLs, storage."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

# Types with literals of each; `{n}` is replaced by a number of the row.
VALUES: dict[str, tuple[str, ...]] = {
    "bool": ("true", "false"),
    '"char"': ("a", "\\200", ""),
    "int2": ("0", "-32768", "32767"),
    "int4": ("0", "-2147483648", "2147483647", "{n}"),
    "int8": ("0", "-9223372036854775808", "9223372036854775807", "{n}"),
    "oid": ("0", "4294967295"),
    "float4": ("0", "-0", "NaN", "-Infinity", "1.5e-40", "3.4e38"),
    "float8": ("0", "-0", "NaN", "Infinity", "4.9e-324", "-1.7e308"),
    "money": ("0", "-92233720368547758.08", "12.34"),
    "date": ("2000-01-01", "4713-11-24 BC", "5874897-12-31", "infinity", "-infinity"),
    "time": ("00:00", "24:00", "12:34:56.789012"),
    "time(3)": ("00:00", "23:59:59.999", "12:34:56.789"),
    "timetz": ("00:00+00", "12:34:56.789012-15:59"),
    "timestamp": ("2000-01-01", "infinity", "-infinity", "294276-12-31 23:59:59.999999"),
    "timestamp(0)": ("2000-01-01", "infinity", "1999-12-31 23:59:59"),
    "timestamptz": ("2000-01-01+00", "4713-11-24 BC", "infinity"),
    "timestamptz(2)": ("2000-01-01+00", "2024-02-29 12:00:00.25+00"),
    "interval": ("0", "1 year 2 mons -3 days 04:05:06.789", "-178000000 years"),
    "interval day to second(3)": ("1 day 00:00:01.5", "-3 days"),
    "uuid": ("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-4fff-bfff-ffffffffffff"),
    "numeric": (
        "0",
        "0.000",
        "-1",
        "1e100",
        "1e-100",
        "NaN",
        "Infinity",
        "-Infinity",
        "12345.6789",
        "99999999999999999999999999999999.999",
        "0.00000000000000000001",
        "10000",
        "-0.0001",
        "1000000000000000000000000000000000000000000000000000000000000000000000000000.5",
    ),
    "numeric(15,2)": ("0", "9999999999999.99", "-0.01", "100", "NaN", "{n}.25"),
    "numeric(38,0)": ("0", "99999999999999999999999999999999999999", "-{n}", "10000"),
    "numeric(5,5)": ("0", "0.99999", "-0.00001"),
    "numeric(100,80)": ("1", "0.12345678901234567890123456789012345678901234567890123456789"),
    "text": ("", "a", "grün", "日本語", "🦀", "{medium}", "{large}", "{huge}"),
    "varchar": ("", "abc", "{medium}", "{large}"),
    "varchar(9)": ("", "abc", "123456789", "grünlich", "🦀🦀🦀"),
    "char(9)": ("", "abc", "123456789", "grünlich", "🦀🦀🦀"),
    "char(1)": ("", "N", "é"),
    "char(200)": ("", "abc", "grün", "{medium}"),
    "bpchar": ("", "abc  ", "{medium}"),
    "name": ("", "abc", "{medium}"),
    "bytea": ("", "\\x00ff", "\\x0102030405", "{large}", "{huge}"),
    "bit(5)": ("10101", "00000"),
    "varbit": ("", "1", "101010101"),
    "json": ('{"a": [1, null, "x"]}', '"{medium}"', "1"),
    "jsonb": ('{"a": [1, null, "x"]}', '"{medium}"', "1", '"{large}"'),
    "xid": ("0", "4294967295"),
    "tid": ("(0,1)",),
    "inet": ("127.0.0.1", "::1/64", "10.0.0.0/8"),
    "cidr": ("10.0.0.0/8", "::/0"),
    "macaddr": ("08:00:2b:01:02:03",),
    "macaddr8": ("08:00:2b:01:02:03:04:05",),
    "point": ("(1,2)",),
    "line": ("{{1,2,3}}",),
    "lseg": ("[(1,2),(3,4)]",),
    "box": ("(3,4),(1,2)",),
    "path": ("((1,2),(3,4))", "[(1,2)]"),
    "polygon": ("((1,2),(3,4),(5,6))",),
    "circle": ("<(1,2),3>",),
    "tsvector": ("", "a:1 b:2A"),
    "tsquery": ("a & b",),
    "pg_lsn": ("0/0", "FF/FF"),
    "regclass": ("pg_class",),
    "regproc": ("pg_backend_pid",),
    "regprocedure": ("pg_backend_pid()",),
    "regoper": ("||/",),
    "regoperator": ("||/(NONE,double precision)",),
    "regtype": ("integer",),
    "regrole": ("pg_monitor",),
    "regnamespace": ("pg_catalog",),
    "regconfig": ("english",),
    "regdictionary": ("simple",),
    "regcollation": ('"C"',),
    "refcursor": ("", "abc", "{medium}"),
    "cid": ("0", "4294967295"),
    "xid8": ("0", "18446744073709551615"),
    "pg_snapshot": ("10:20:10,14",),
    "txid_snapshot": ("10:20:10,14",),
    "int2vector": ("7", "1 -2 3"),
    "oidvector": ("7", "1 2 3"),
    "jsonpath": ("$.a[*]", '$."{medium}"'),
    "int4[]": ("{{}}", "{{1,NULL,3}}", "{{{{1,2}},{{3,4}}}}"),
    "text[]": ("{{}}", '{{a,NULL,"{medium}"}}'),
    "numeric(6,2)[]": ("{{1.25,NULL}}",),
    "int4range": ("empty", "[1,5)", "(,)"),
    "int8range": ("[1,5)",),
    "numrange": ("[1.5,2.5]",),
    "daterange": ("empty", "[2000-01-01,)"),
    "tsrange": ("[2000-01-01,infinity)",),
    "tstzrange": ("[2000-01-01,)",),
    "int4multirange": ("{{}}", "{{[1,5),[7,9)}}"),
    "int8multirange": ("{{[1,5)}}",),
    "nummultirange": ("{{[1.5,2.5]}}",),
    "datemultirange": ("{{[2000-01-01,)}}",),
    "tsmultirange": ("{{[2000-01-01,)}}",),
    "tstzmultirange": ("{{}}", "{{[2000-01-01,)}}"),
    "random_enum": ("one", "two"),
    "random_composite": ("(1,abc)", "(,)"),
    "random_domain": ("abc", "{medium}"),
    "random_strict_domain": ("1", "{n}"),
}

# Types whose receive functions refuse every value, and xml, which not every build has.
UNTRIED = {
    "pg_brin_bloom_summary",
    "pg_brin_minmax_multi_summary",
    "pg_dependencies",
    "pg_mcv_list",
    "pg_ndistinct",
    "pg_node_tree",
    "xml",
}

# The statements that the types of VALUES need.
PRELUDE = """
CREATE TYPE random_enum AS ENUM ('one', 'two');
CREATE TYPE random_composite AS (a int, b text);
CREATE DOMAIN random_domain AS varchar(300) CHECK (value <> 'bad');
CREATE DOMAIN random_strict_domain AS int CHECK (value IS NULL OR value >= 0);
"""

SMALL = ("bool", '"char"', "int2", "int4", "char(1)", "date")
STORAGES = ("plain", "main", "external", "extended")
# Types whose values may exceed a page if they must not be compressed or moved out.
PACKED = ("text", "varchar", "varchar(9)", "char(9)", "numeric", "numeric(15,2)", "bytea")


@dataclass(frozen=True)
class RandomTable:
    """A table, and a query that makes its rows."""

    definition: str
    more: tuple[str, ...]
    columns: tuple[str, ...]
    rows: str


def random_table(seed: int, version: int) -> RandomTable:
    """Return the table of a seed."""
    chance = random.Random(seed)  # noqa: S311
    wide = chance.random() < 0.1
    count = chance.choice((100, 500, 1600)) if wide else chance.randint(1, 24)
    names = list(VALUES)
    if wide:
        types = [chance.choice(SMALL) for _ in range(count)]
    else:
        types = [chance.choice(names) for _ in range(count)]
    columns = [f"c{index}" for index in range(count)]
    row_count = chance.choice((0, 1, 2, 17, 17)) if wide else chance.choice((1, 5, 40, 40, 1500))
    null_chance = chance.choice((0.0, 0.0, 0.1, 0.9, 1.0))

    more: list[str] = []
    for name, type_name in zip(columns, types, strict=True):
        if type_name in PACKED and chance.random() < 0.2:
            storage = chance.choice(STORAGES)
            if not (storage == "plain" and type_name in ("text", "varchar", "bytea")):
                more.append(f"ALTER TABLE {{}} ALTER {name} SET STORAGE {storage}")
    dropped = [name for name in columns if chance.random() < chance.choice((0.0, 0.0, 0.2))]
    if len(dropped) == count:
        dropped.pop()
    more += [f"ALTER TABLE {{}} DROP {name}" for name in dropped]
    kept = [(name, kind) for name, kind in zip(columns, types, strict=True) if name not in dropped]
    loaded = [column for column in kept if chance.random() < 0.95] or kept[:1]

    large = row_count <= 40
    expressions = []
    for _, type_name in loaded:
        literals = [
            _literal(value, chance, large=large)
            for value in VALUES[type_name]
            if large or "{large}" not in value
            if large or "{huge}" not in value
            if version >= 14 or "Infinity" not in value
        ]
        chosen = " ".join(f"WHEN {i} THEN {text}" for i, text in enumerate(literals))
        pick = f"(hashint4(n * 7919 + {chance.randint(0, 10**6)}) & 65535)"
        expression = f"(CASE {pick} % {len(literals)} {chosen} END)::{type_name}"
        if null_chance:
            expression = (
                f"CASE WHEN (hashint4(n + {chance.randint(0, 10**6)}) & 1023)"
                f" < {int(null_chance * 1024)} THEN NULL ELSE {expression} END"
            )
        expressions.append(expression)
    return RandomTable(
        definition="("
        + ", ".join(f"{name} {kind}" for name, kind in zip(columns, types, strict=True))
        + ")",
        more=tuple(more),
        columns=tuple(name for name, _ in loaded),
        rows=f"SELECT {', '.join(expressions)} FROM generate_series(1, {row_count}) n",
    )


def in_other_order(table: RandomTable, chance: random.Random) -> RandomTable:
    """Return the same table and rows, but with columns that come in another order."""
    shuffled = chance.sample(table.columns, len(table.columns))
    names = ", ".join(table.columns)
    rows = f"SELECT {', '.join(shuffled)} FROM ({table.rows}) AS made ({names})"
    return replace(table, columns=tuple(shuffled), rows=rows)


def _literal(value: str, chance: random.Random, *, large: bool) -> str:
    """Return an SQL expression for a value of a type of VALUES."""
    medium = chance.choice((3, 60, 122, 123, 124, 125, 126, 127, 128, 129, 130, 200))
    if "{large}" in value or "{huge}" in value:
        length = chance.choice((1900, 2030, 2040, 8000) if "{large}" in value else (9000, 70000))
        # The text compresses well, or hardly at all.
        text = (
            f"repeat('ab', {length // 2})"
            if chance.random() < 0.5 and large
            else f"(SELECT string_agg(md5(i::text), '') FROM generate_series(1, {length // 32}) i)"
        )
        if value.startswith('"'):
            return f"to_json({text}::text)::text"
        return text
    if value == "{n}" or "{n}" in value:
        return "'" + value.replace("{n}", "' || n % 9999 || '") + "'"
    text = value.replace("{medium}", "x" * medium).replace("{{", "{").replace("}}", "}")
    return "'" + text.replace("'", "''") + "'"

"""Random tables of a source: columns, rows and partitions, in SQL of PostgreSQL and DuckDB."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

from conformance.canonical import Row, canonical
from conformance.destinations import quoted


@dataclass(frozen=True)
class Kind:
    """A type of columns, and values of it."""

    sql: str
    # Its name in `conformance.canonical`.
    form: str
    # The SQL expression of a value; `{n}` stands for a number, a bigint.
    value: str
    # True if every destination has the type; other types are copied only from PostgreSQL to
    # PostgreSQL.
    is_common: bool = True
    # True if the expression is valid in DuckDB too.
    in_duckdb: bool = True


ID = Kind("bigint", "bigint", "{n}")
KINDS = [
    Kind("boolean", "boolean", "{n} % 3 = 0"),
    Kind("integer", "integer", "({n} % 2000000000 - 1000000000)::integer"),
    Kind("bigint", "bigint", "{n} * 461168601842 - 9000000000000000"),
    Kind("float8", "double precision", "1.0::float8 / ({n} + 1)"),
    Kind("numeric(15,2)", "numeric", "({n} * 137 / 100.0)::numeric(15,2)"),
    Kind("text", "text", "'note “' || {n} || chr(10) || '”\\'"),
    Kind("date", "date", "date '2024-02-29' + ({n} % 99999)::integer"),
    Kind("timestamp", "timestamp", "timestamp '1999-12-31' + interval '1001 milliseconds' * {n}"),
    Kind("uuid", "uuid", "md5({n}::text)::uuid"),
    Kind("bytea", "bytea", "decode(md5({n}::text), 'hex')", in_duckdb=False),
    Kind("json", "json", "json_build_object('n', {n})", in_duckdb=False),
    Kind(
        "timestamptz",
        "timestamptz",
        "timestamptz '1999-12-31 00:00+00' + interval '1 second' * {n}",
        in_duckdb=False,
    ),
    Kind("bigint[]", "text", "ARRAY[{n}, NULL, -{n}]", is_common=False, in_duckdb=False),
    Kind("int8range", "text", "int8range({n}, {n} + 9)", is_common=False, in_duckdb=False),
    Kind("inet", "text", "'10.0.0.0/8'::inet + {n}", is_common=False, in_duckdb=False),
    Kind("varbit", "text", "{n}::bit(40)::varbit", is_common=False, in_duckdb=False),
    Kind("timetz", "text", "('12:00:00+0' || {n} % 9)::timetz", is_common=False, in_duckdb=False),
]
# One of this many values is NULL.
NULLS = 11
# The column with the time of a row's last change.
STAMP = "updated_at"
NAMES = ["orders", "Order Lines", "größe", "select"]


@dataclass(frozen=True)
class SourceTable:
    """A table that is read."""

    name: str
    # The types of its columns, apart from the key and the version.
    kinds: tuple[Kind, ...]
    row_count: int
    # The number of letters that make its rows wide.
    pad: int = 0
    # The number of its partitions; 0 if it has none. `by` is the kind of partitioning.
    partitions: int = 0
    by: str = "range"
    has_key: bool = False
    # True if the table has a column with the time of a row's last change.
    has_stamp: bool = False

    @property
    def columns(self) -> dict[str, Kind]:
        """All columns: the key, the number of a row's changes, and the rest."""
        columns = {"id": ID, "v": ID}
        columns |= {f"c{number}": kind for number, kind in enumerate(self.kinds)}
        if self.pad:
            columns["pad"] = Kind("text", "text", f"repeat(md5({{n}}::text), {self.pad // 32})")
        if self.has_stamp:
            stamp = KINDS[[kind.sql for kind in KINDS].index("timestamptz")]
            columns[STAMP] = stamp
        return columns

    @property
    def forms(self) -> list[str]:
        """The types of its columns by their names in `conformance.canonical`."""
        return [kind.form for kind in self.columns.values()]

    def definition(self, names: Iterable[str]) -> str:
        """Return some of its columns, as CREATE TABLE names them."""
        required = ("id", "v", STAMP)
        return ", ".join(
            f"{name} {kind.sql}{' NOT NULL' if name in required else ''}"
            for name, kind in self.columns.items()
            if name in names
        )

    def value(self, column: str, number: str) -> str:
        """Return the expression of a column's value for a number, in SQL."""
        made = self.columns[column].value.format(n=f"({number})")
        place = [*self.columns].index(column)
        if column in ("pad", "id"):
            return made
        return f"CASE WHEN ({number} + {place}) % {NULLS} > 0 THEN {made} END"

    def filling(self, numbers: str) -> str:
        """Return a statement that inserts a row for each number `n` of a query."""
        values = {column: self.value(column, "n") for column in self.columns}
        values["v"] = "0"
        if self.has_stamp:
            values[STAMP] = "clock_timestamp()"
        shown = ", ".join(values.values())
        return f"INSERT INTO {quoted(self.name)} SELECT {shown} FROM ({numbers}) AS numbers (n)"

    def changing(self, ids: str) -> str:
        """Return a statement that changes a column or two of the rows with these ids."""
        changed = {"v": "v + 1"}
        if self.kinds:
            changed["c0"] = self.value("c0", "id + 31 * (v + 1)")
        if self.has_stamp:
            changed[STAMP] = "clock_timestamp()"
        sets = ", ".join(f"{name} = {value}" for name, value in changed.items())
        return f"UPDATE {quoted(self.name)} SET {sets} WHERE id IN ({ids})"

    def made_in_postgresql(self) -> str:
        """Return statements that make and fill it."""
        name, columns = quoted(self.name), self.definition(self.columns)
        if self.has_key:
            columns += ", PRIMARY KEY (id)"
        if not self.partitions:
            made = f"CREATE TABLE {name} ({columns});"
        else:
            made = f"CREATE TABLE {name} ({columns}) PARTITION BY {self.by} (id);"
        for part in range(self.partitions):
            bounds = f"WITH (MODULUS {self.partitions}, REMAINDER {part})"
            if self.by == "range":
                ends = [self.row_count * at // self.partitions for at in (part, part + 1)]
                last = part == self.partitions - 1
                bounds = f"FROM ({ends[0]}) TO ({'MAXVALUE' if last else ends[1]})"
            of = quoted(self.partition_names[part])
            made += f"CREATE TABLE {of} PARTITION OF {name} FOR VALUES {bounds};"
        made += f"CREATE INDEX ON {name} (v, id) WHERE v >= 0;"
        made += f"CREATE VIEW {quoted(self.view)} AS SELECT * FROM {name};"
        return made + self.filling(f"SELECT generate_series(0::bigint, {self.row_count - 1})")

    @property
    def partition_names(self) -> list[str]:
        """The names of its partitions."""
        return [f"{self.name}_{part}" for part in range(self.partitions)]

    def made_in_duckdb(self) -> list[str]:
        """Return statements that make and fill it."""
        name = quoted(self.name)
        return [
            f"CREATE TABLE {name} ({self.definition(self.columns)})",
            f"CREATE VIEW {quoted(self.view)} AS SELECT * FROM {name}",
            self.filling(f"SELECT range FROM range({self.row_count})"),
        ]

    @property
    def view(self) -> str:
        """The name of a view of it."""
        return f"{self.name} seen"

    def row(self, texts: Iterable[str | None]) -> Row:
        """Return a row whose values are the server's own texts."""
        return tuple(canonical(*pair) for pair in zip(self.forms, texts, strict=True))


def random_table(
    numbers: random.Random, name: str, *, own_types: bool, in_duckdb: bool, has_stamp: bool
) -> SourceTable:
    """Return a table; `own_types`: it may have types that only PostgreSQL has."""
    kinds = [
        kind
        for kind in KINDS
        if (kind.is_common or own_types) and (kind.in_duckdb or not in_duckdb)
    ]
    chosen = tuple(numbers.choice(kinds) for _ in range(numbers.randint(0, 7)))
    # A table of more than 16 MiB is cut into several splits.
    size = numbers.choice(["empty", "small", "small", "long", "long", "large"])
    row_count, pad = {
        "empty": (0, 0),
        "small": (numbers.randint(1, 900), numbers.choice([0, 64])),
        "long": (numbers.randint(5_000, 20_000), 0),
        "large": (numbers.randint(9_000, 14_000), 1_920),
    }[size]
    partitions = 0 if in_duckdb else numbers.choice([0, 0, 2, 3])
    by = numbers.choice(["range", "hash"]) if row_count >= partitions else "hash"
    has_key = has_stamp or (not in_duckdb and numbers.random() < 0.5)
    return SourceTable(name, chosen, row_count, pad, partitions, by, has_key, has_stamp)

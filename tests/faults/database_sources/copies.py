"""Random copies of a source: the flows of a package, and the rows that each of them copies."""

from __future__ import annotations

import random
from dataclasses import dataclass

from conformance.canonical import Row
from conformance.destinations import DuckDb, Place, PostgreSql, quoted
from faults.database_sources.history import View
from faults.database_sources.tables import NAMES, STAMP, SourceTable, random_table
from harness.packages import Value, settings

# A condition leaves out one of this many keys.
LEFT_OUT = 5


@dataclass(frozen=True)
class CopiedFlow:
    """A flow whose rows come from a table."""

    table: SourceTable
    target: str
    # A table, a view, or a query.
    form: str
    # The names of the columns that are read.
    columns: tuple[str, ...]
    # Rows whose key divided by LEFT_OUT has this remainder are left out.
    left_out: int | None
    split_by: bool
    # The mode: create, or append, replace or upsert into a target that has rows.
    mode: str
    is_stable: bool = False
    is_incremental: bool = False
    # Whether its new target gets the indexes and partitions of the table.
    is_like_source: bool = False
    # True if a resumed copy loads only the changed ranges again (`unchanged_by = "sums"`).
    is_proven: bool = False

    @property
    def view(self) -> View:
        """Return the part of a row that the copy has."""
        places = [at for at, name in enumerate(self.table.columns) if name in self.columns]

        def shown(key: int, row: Row) -> Row | None:
            if self.left_out is not None and key % LEFT_OUT == self.left_out:
                return None
            return tuple(row[place] for place in places)

        return shown

    @property
    def forms(self) -> list[str]:
        """The types of its columns, as `conformance.canonical` names them."""
        return [kind.form for name, kind in self.table.columns.items() if name in self.columns]

    @property
    def has_target(self) -> bool:
        """Whether its target exists before the load."""
        return self.mode != "create"

    @property
    def target_tables(self) -> set[str]:
        """The tables of its target: the table, and the partitions that it gets from its source."""
        parts = self.table.partition_names if self.is_like_source else []
        return {self.target, *parts}

    @property
    def made_target(self) -> str:
        """Statements that make its target, with two rows whose keys the source does not have."""
        columns = self.table.definition(self.columns)
        if self.mode == "upsert":
            columns += ", PRIMARY KEY (id)"
        named, values = "id, v", ["-1, 0", "-2, 0"]
        if STAMP in self.columns:
            named += f", {STAMP}"
            values = [f"{row}, timestamptz '2001-01-01 00:00+00'" for row in values]
        rows = ", ".join(f"({row})" for row in values)
        name = quoted(self.target)
        return f"CREATE TABLE {name} ({columns}); INSERT INTO {name} ({named}) VALUES {rows}"

    def words(self) -> str:
        """Return the flow as a package has it."""
        source: dict[str, Value] = {"connection": "source"}
        condition = f"id % {LEFT_OUT} <> {self.left_out}"
        shown = ", ".join(map(quoted, self.columns))
        if self.form == "query":
            query = f"SELECT {shown} FROM {quoted(self.table.name)}"
            source["query"] = query if self.left_out is None else f"{query} WHERE {condition}"
        else:
            name = self.table.name if self.form == "table" else self.table.view
            source["table"] = quoted(name)
            if self.left_out is not None:
                source["where"] = condition
            if len(self.columns) < len(self.table.columns):
                source["columns"] = list(self.columns)
        if self.split_by:
            source["split_by"] = "id"
        if self.is_stable:
            source["stable"] = True
        if self.is_proven:
            source["unchanged_by"] = "sums"
        if self.is_like_source:
            source |= {"indexes": True, "partitions": True}
        flow: dict[str, Value] = {"connection": "target", "table": quoted(self.target)}
        if self.is_incremental:
            source["since"] = {"column": STAMP}
        if self.mode != "create":
            flow["mode"] = self.mode
        if self.mode == "upsert":
            flow["key"] = "id"
        return "\n[[flow]]\n" + settings({**flow, "source": source})

    def __str__(self) -> str:
        """Describe it."""
        table = self.table
        words = [self.mode, self.form, f"{table.row_count} rows"]
        words += [f"{table.partitions} {table.by} partitions"] * bool(table.partitions)
        words += ["wide"] * bool(table.pad) + ["split_by"] * self.split_by
        words += ["where"] * (self.left_out is not None)
        words += ["proven"] * self.is_proven
        words += ["stable"] * self.is_stable + ["since"] * self.is_incremental
        words += ["like its source"] * self.is_like_source
        return " ".join(words)


@dataclass(frozen=True)
class Copy:
    """A package that copies tables."""

    # postgresql or duckdb.
    source: str
    place: type[Place]
    flows: tuple[CopiedFlow, ...]
    streams: int
    # True if transactions change the source all the time.
    has_writers: bool

    @property
    def is_incremental(self) -> bool:
        """Whether each run loads what is new."""
        return any(flow.is_incremental for flow in self.flows)

    @property
    def tables(self) -> list[SourceTable]:
        """The tables of its flows, each once."""
        return list({flow.table.name: flow.table for flow in self.flows}.values())

    @property
    def updates(self) -> bool:
        """Whether writers may change rows: a changed row is appended once more."""
        return not (self.is_incremental and any(flow.mode == "append" for flow in self.flows))

    def package(self, source: dict[str, Value], place: Place) -> str:
        """Return the package, for these connections."""
        target: dict[str, Value] = {"url": place.url}
        if place.options:
            target["options"] = place.options
        run: dict[str, Value] = {"streams": self.streams, "batch_rows": 300, "chunk_bytes": 65_536}
        return (
            settings({"name": "copy"})
            + "\n[connections]\n"
            + settings({"source": source, "target": target})
            + "\n[run]\n"
            + settings(run)
            + "".join(flow.words() for flow in self.flows)
        )

    def __str__(self) -> str:
        """Describe it."""
        flows = "; ".join(map(str, self.flows))
        writers = ", beside writers" if self.has_writers else ""
        return f"{flows} -> {self.place.title}, {self.streams} streams{writers}"


def random_copy(numbers: random.Random, place: type[Place], source: str) -> Copy:
    """Return a copy into a kind of destination."""
    in_duckdb = source == "duckdb"
    has_sql = issubclass(place, (PostgreSql, DuckDb))
    is_incremental = has_sql and not in_duckdb and numbers.random() < 0.2
    has_writers = not in_duckdb and (is_incremental or numbers.random() < 0.4)
    names = numbers.sample(NAMES, numbers.choice([1, 1, 1, 2]))
    flows = tuple(
        _random_flow(
            numbers,
            random_table(
                numbers,
                name,
                own_types=issubclass(place, PostgreSql),
                in_duckdb=in_duckdb,
                has_stamp=is_incremental,
            ),
            place,
            in_duckdb=in_duckdb,
            is_incremental=is_incremental,
            has_writers=has_writers,
        )
        for name in names
    )
    return Copy(source, place, flows, numbers.choice([1, 2, 2, 3]), has_writers)


def _random_flow(
    numbers: random.Random,
    table: SourceTable,
    place: type[Place],
    *,
    in_duckdb: bool,
    is_incremental: bool,
    has_writers: bool,
) -> CopiedFlow:
    form = numbers.choice(["table", "table", "table", "view", "query"])
    columns = [
        name for name in table.columns if name in ("id", "v", STAMP) or numbers.random() < 0.85
    ]
    left_out = numbers.randrange(LEFT_OUT) if numbers.random() < 0.3 else None
    split_by = numbers.random() < 0.3
    mode = "create"
    if is_incremental:
        mode = "upsert" if issubclass(place, PostgreSql) and numbers.random() < 0.5 else "append"
    elif issubclass(place, (PostgreSql, DuckDb)) and numbers.random() < 0.4:
        # An empty table would append nothing, which looks as if nothing was loaded.
        mode = numbers.choice(["append", "replace"] if table.row_count > 100 else ["replace"])
    is_stable = not (has_writers or is_incremental) and numbers.random() < 0.2
    is_copied = issubclass(place, PostgreSql) and not in_duckdb
    has_structure = is_copied and form == "table" and mode == "create"
    is_like_source = has_structure and numbers.random() < 0.5
    may_be_proven = split_by and not (in_duckdb or is_stable or is_incremental)
    is_proven = may_be_proven and numbers.random() < 0.5
    return CopiedFlow(
        table,
        numbers.choice([table.name, f"copy of {table.name}"]),
        form,
        tuple(columns),
        left_out,
        split_by,
        mode,
        is_stable,
        is_incremental,
        is_like_source,
        is_proven,
    )

"""A workload of the suite: tables, their files, and the state of the target before the load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Column:
    """A column of a target."""

    name: str
    type: str
    nullable: bool

    @staticmethod
    def of(definition: str) -> Column:
        """Read a definition such as `id bigint not null`."""
        name, kind = definition.split(" ", 1)
        bare = kind.removesuffix(" not null")
        return Column(name, bare, bare == kind)

    @property
    def definition(self) -> str:
        """The column as CREATE TABLE has it."""
        return f"{self.name} {self.type}" + ("" if self.nullable else " not null")


@dataclass(frozen=True)
class Form:
    """How text files are written: delimited, with or without quotes and a header.

    An empty field is NULL, one in quotes is not.
    """

    delimiter: str
    quote: str = ""
    header: bool = False


TEXT = Form("|")
CSV = Form(",", '"', header=True)


@dataclass(frozen=True)
class Table:
    """A table that a job loads."""

    name: str
    columns: tuple[Column, ...]
    # The files that Inrush reads, and the same rows as the peers get them.
    files: tuple[Path, ...]
    files_of_peers: tuple[Path, ...]
    # Each file holds a range of this column; without it the table is plain.
    partition_by: str | None = None

    @property
    def definitions(self) -> str:
        """All columns as CREATE TABLE has them."""
        return ", ".join(column.definition for column in self.columns)

    def parts(self) -> list[tuple[str, Path]]:
        """Return a table for each file, as peers fill them that make their own."""
        return [(f"{self.name}_{part}", file) for part, file in enumerate(self.files_of_peers, 1)]


@dataclass(frozen=True)
class Job:
    """A workload whose files are there."""

    workload: str
    tables: tuple[Table, ...]
    # How Inrush's files are written, as a package says it, and how those of the peers are.
    inrush_format: str
    form: Form = TEXT
    # Parquet instead of text, for all sides.
    parquet: bool = False
    # Statements that make the targets, which is not measured. Without them each side makes its own,
    # in the transactions that fill them where it can.
    before: tuple[str, ...] = ()
    # The same for all sides but Inrush, which makes such a target itself, measured.
    before_others: tuple[str, ...] = ()
    # Settings of Inrush's flows, a line each.
    settings: tuple[str, ...] = ()
    # Inrush's rows wait in staging tables for the switch.
    staging: bool = True
    # All rows must be seen at once.
    at_once: bool = False
    # Sides collect statistics, too.
    analyze: bool = False
    # Rows that no side may load.
    bad_rows: int = 0

    @property
    def makes_tables(self) -> bool:
        """Whether each side makes its own tables."""
        return not (self.before or self.before_others)

    @property
    def text_bytes(self) -> int:
        """The bytes that Inrush reads."""
        return sum(file.stat().st_size for table in self.tables for file in table.files)

    def shares(self, streams: int) -> list[list[tuple[Table, int]]]:
        """Return which files, by table and index, each stream of a peer loads, one after another.

        The largest first, each to the stream that has the fewest bytes so far.
        """
        files = [
            (file.stat().st_size, table, index)
            for table in self.tables
            for index, file in enumerate(table.files_of_peers)
        ]
        shares: list[list[tuple[Table, int]]] = [[] for _ in range(streams)]
        sizes = [0] * streams
        for size, table, index in sorted(files, key=lambda one: (-one[0], one[1].name, one[2])):
            least = sizes.index(min(sizes))
            shares[least].append((table, index))
            sizes[least] += size
        return [share for share in shares if share]


@dataclass(frozen=True)
class Workload:
    """A recipe for a job."""

    name: str
    title: str
    # Makes the files at a scale, in parts, below a folder, or finds them there.
    make: Callable[[float, int, Path], Job]


def columns(definitions: Sequence[str]) -> tuple[Column, ...]:
    """Read the definitions of columns."""
    return tuple(Column.of(definition) for definition in definitions)

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
        """The column as in CREATE TABLE."""
        return f"{self.name} {self.type}" + ("" if self.nullable else " not null")


@dataclass(frozen=True)
class Form:
    """The form of text files: delimited, with or without quotes and a header.

    An empty field is NULL, except if it is in quotes.
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
    # The files for Inrush, and the files with the same rows for the peers.
    files: tuple[Path, ...]
    files_of_peers: tuple[Path, ...]
    # Each file has a range of this column; without it the table is plain.
    partition_by: str | None = None

    @property
    def definitions(self) -> str:
        """All columns as in CREATE TABLE."""
        return ", ".join(column.definition for column in self.columns)

    def parts(self) -> list[tuple[str, Path]]:
        """Return a table for each file, for peers that make their own tables."""
        return [(f"{self.name}_{part}", file) for part, file in enumerate(self.files_of_peers, 1)]


@dataclass(frozen=True)
class Job:
    """A workload whose files exist."""

    workload: str
    tables: tuple[Table, ...]
    # The format of Inrush's files, as in a package, and the form of the peers' files.
    inrush_format: str
    form: Form = TEXT
    # Parquet instead of text, for all sides.
    parquet: bool = False
    # Statements that make the targets; they are not measured. Without them each side makes its own
    # targets, if possible in the transactions that fill them.
    before: tuple[str, ...] = ()
    # Like `before`, but for all sides except Inrush: the measured load of Inrush makes this target
    # itself.
    before_others: tuple[str, ...] = ()
    # Settings of Inrush's flows, a line each.
    settings: tuple[str, ...] = ()
    # True if Inrush keeps rows in staging tables until the switch.
    staging: bool = True
    # True if all rows must become visible at once.
    at_once: bool = False
    # True if sides also collect statistics.
    analyze: bool = False
    # The number of rows that no side may load.
    bad_rows: int = 0

    @property
    def makes_tables(self) -> bool:
        """Return whether each side makes its own tables."""
        return not (self.before or self.before_others)

    @property
    def text_bytes(self) -> int:
        """The bytes that Inrush reads."""
        return sum(file.stat().st_size for table in self.tables for file in table.files)

    def shares(self, streams: int) -> list[list[tuple[Table, int]]]:
        """Return the files, by table and index, that each stream of a peer loads, in order.

        The largest file comes first; each goes to the stream that has the fewest bytes so far.
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
    # Makes the files below a folder, at a scale and in parts, unless they exist.
    make: Callable[[float, int, Path], Job]


def columns(definitions: Sequence[str]) -> tuple[Column, ...]:
    """Read the definitions of columns."""
    return tuple(Column.of(definition) for definition in definitions)

"""Tables, rows and transactions of the double.

A transaction keeps the locks that it took and a list of steps that undo it. Rows of bulk loads are
kept as their bytes, and are decoded when somebody reads them.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .columnstore import RowGroup
from .locks import Locks
from .nodes import PRIMARY, Index, Node
from .partitions import PartitionFunction, PartitionScheme
from .query_parser import Select
from .types import Column, rows, walker

# Larger chunks of rows are compressed, because tests load some hundred megabytes.
_COMPRESSED_BYTES = 1 << 20


class Transaction:
    """A transaction of a session."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.undo: list[Callable[[], None]] = []
        self.rows: list[Row] = []
        self.chunks: list[Chunk] = []
        self.tables: set[Table] = set()
        # For SNAPSHOT: the committed rows of each table when the transaction first read a table.
        self.snapshot: dict[Table, tuple[list[list[Any]], list[Chunk]]] | None = None


@dataclass(eq=False)
class Row:
    """A row, with the transaction that changed it."""

    values: list[Any]
    owner: Transaction | None = None
    deleted: bool = False
    # Transactions that keep what they have read (REPEATABLEREAD).
    shares: set[Transaction] = field(default_factory=set)
    # Writers that wait for these transactions. Locks are granted in the order of the requests, so
    # the next reader of the row waits behind the writers.
    claims: list[Transaction] = field(default_factory=list)
    # The values that were committed last; None if there are none.
    committed: list[Any] | None = None


class Chunk:
    """Rows of a bulk load."""

    def __init__(self, data: bytes, count: int, owner: Transaction | None) -> None:
        self.is_compressed = len(data) > _COMPRESSED_BYTES
        self.data = zlib.compress(data, 1) if self.is_compressed else data
        self.bytes = len(data)
        self.count = count
        self.owner = owner
        # The rows, once a statement has changed one of them.
        self.decoded: list[Row] = []

    def rows(self, columns: list[Column]) -> list[list[Any]]:
        """Return the decoded rows."""
        data = zlib.decompress(self.data) if self.is_compressed else self.data
        return rows(data, columns)


@dataclass
class Check:
    """A CHECK constraint. SWITCH relies on it only if it is trusted."""

    name: str
    condition: Node
    is_trusted: bool = True
    # The condition as the catalog has it.
    text: str = ""
    not_for_replication: bool = False


@dataclass(eq=False)
class Table:
    """A table."""

    object_id: int
    schema: str
    name: str
    columns: list[Column]
    indexes: list[Index] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    # The last value of its identity column; None if it gave none since it was made or truncated.
    identity: int | None = None
    # Its filegroup or partition scheme, and the column that decides about partitions.
    space: str = PRIMARY
    partition_column: str | None = None
    # The filegroup of its large values, if it has such columns and no partitions.
    large_value_space: str | None = None
    # Other traits in the catalog: `change_tracking`, `fulltext_index`, `out_of_row`, `text_in_row`,
    # `is_published`, `is_merge_published`, `is_replicated`, `is_tracked_by_cdc`.
    traits: set[str] = field(default_factory=set)
    # DATA_COMPRESSION by partition; 0 for all of them.
    compression: dict[int, str] = field(default_factory=dict)
    # The number of its rows when its statistics were last updated.
    rows_analyzed: int | None = None
    # The rowgroups, if its rows are in a columnstore.
    rowgroups: list[RowGroup] = field(default_factory=list)

    def place(self, name: str) -> int | None:
        """Return the index of a column."""
        wanted = name.lower()
        places = (at for at, column in enumerate(self.columns) if column.name.lower() == wanted)
        return next(places, None)

    @property
    def leading_key(self) -> int | None:
        """Return the place of the first column of the clustered index."""
        keys = [index for index in self.indexes if index.clustered and index.columns]
        return self.place(keys[0].columns[0]) if keys else None

    @property
    def row_count(self) -> int:
        """Return the number of its rows, committed or not."""
        rows = sum(1 for row in self.rows if not row.deleted)
        return rows + sum(chunk.count for chunk in self.chunks)

    @property
    def bytes(self) -> int:
        """Return the approximate number of bytes of its rows."""
        return sum(chunk.bytes for chunk in self.chunks) + 100 * len(self.rows)

    def walker(self) -> Callable[[Any, int, int], tuple[int, int]]:
        """Return the function that walks over rows of a bulk load."""
        return walker(self.columns, self.name)


@dataclass
class File:
    """A file of a database, with its sizes in pages. A log file has no filegroup."""

    name: str
    filegroup: str | None
    size: int = 1_000
    used: int = 100
    max_size: int = -1
    growth: int = 100


@dataclass(eq=False)
class View:
    """A view."""

    object_id: int
    schema: str
    name: str
    query: Select


@dataclass
class ForeignKey:
    """A foreign key between tables of dbo, as the catalog has it. The double does not check it."""

    name: str
    table: str
    referenced: str
    # 1 is CASCADE.
    on_delete: int = 0


class Database:
    """A database: schemas with their tables and views, and locks."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.locks = Locks()
        self.schemas: dict[str, str] = {"dbo": "dbo"}
        self.objects: dict[tuple[str, str], Table | View] = {}
        self.reads_snapshots = False
        self.allows_snapshots = False
        # The catalog reports at least this many pages for each row, because tables of tests are
        # small.
        self.pages_of_a_row = 0
        # The catalog counts each row this many times, because tests have few rows.
        self.counted_rows_of_a_row = 1
        # The rows of a full rowgroup, and the fewest rows of a batch that are compressed.
        self.rowgroup_rows_max = 1_048_576
        self.compressed_rows_min = 102_400
        # Why the last rowgroup of a build is not full; None: no more rows (RESIDUAL_ROW_GROUP).
        self.trims_builds_for: str | None = None
        # Whether the login may see rowgroups.
        self.shows_rowgroups = True
        # Properties of the server; others are NULL.
        self.properties: dict[str, Any] = {"PRODUCTVERSION": "16.0.1000.6", "ENGINEEDITION": 3}
        self.filegroups = [PRIMARY]
        self.files = [File("test", PRIMARY), File("test_log", None)]
        self.recovery_model = "SIMPLE"
        # The replica's ID in its availability group.
        self.replica_id: str | None = None
        # Instant file initialization; whether the login may see the server's state.
        self.grows_files_at_once = True
        self.shows_server_state = True
        # The objects that the login may not ALTER.
        self.not_altered: set[int] = set()
        # The sessions by number, and the wait type of all requests that do not wait for a lock.
        self.sessions: dict[int, Any] = {}
        self.wait_type: str | None = None
        # Milliseconds that each session has waited, by wait type.
        self.session_waits: dict[str, int] = {}
        # Indexed views, with the table that each reads.
        self.indexed_views: dict[str, str] = {}
        self.foreign_keys: list[ForeignKey] = []
        self.functions: dict[str, PartitionFunction] = {}
        self.schemes: dict[str, PartitionScheme] = {}
        self._ids = itertools.count(100)
        self._descriptors = itertools.count(1)

    def numbered_views(self) -> list[tuple[int, str]]:
        """Return the indexed views with numbers that no table has."""
        return [(-number, name) for number, name in enumerate(self.indexed_views, start=1)]

    def next_id(self) -> int:
        """Return a new number of an object."""
        return next(self._ids)

    def versions(self) -> dict[Table, tuple[list[list[Any]], list[Chunk]]]:
        """Return the rows of all tables as they were committed last."""
        tables = [one for one in self.objects.values() if isinstance(one, Table)]
        return {
            table: (
                [row.committed for row in table.rows if row.committed is not None],
                [chunk for chunk in table.chunks if chunk.owner is None],
            )
            for table in tables
        }

    def begin(self) -> Transaction:
        """Return a new transaction."""
        return Transaction(next(self._descriptors))

    def commit(self, transaction: Transaction) -> None:
        """Make the changes of a transaction final."""
        self._end(transaction)

    def roll_back(self, transaction: Transaction, mark: int = 0) -> None:
        """Undo a transaction, or its steps after the mark."""
        while len(transaction.undo) > mark:
            transaction.undo.pop()()
        if not mark:
            self._end(transaction)

    def _end(self, transaction: Transaction) -> None:
        for row in transaction.rows:
            if row.owner is transaction:
                row.owner = None
                row.committed = None if row.deleted else row.values
            row.shares.discard(transaction)
        for chunk in transaction.chunks:
            chunk.owner = None
        for table in transaction.tables:
            table.rows = [row for row in table.rows if row.owner or not row.deleted]
        self.locks.release(transaction)

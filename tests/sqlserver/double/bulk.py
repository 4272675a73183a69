"""INSERT BULK: the message of rows, as it comes in packets ([MS-TDS] 2.2.6.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .columnstore import columnstore
from .errors import NotInDoubleError, SqlError
from .storage import Chunk, Table, Transaction
from .types import check_description

if TYPE_CHECKING:
    from .session import Session

_DONE = 0xFD
_DONE_BYTES = (9, 13)
# Rows are parsed once this many bytes have come.
_BLOCK_BYTES = 1 << 20


class BulkLoad:
    """A bulk load into a table. Its rows belong to the transaction of INSERT BULK."""

    def __init__(
        self, session: Session, table: Table, listed: list[tuple[str, Any]], hints: set[str]
    ) -> None:
        self.transaction: Transaction = session.transaction
        self.mark = len(self.transaction.undo)
        self._session = session
        self._table = table
        self._hints = hints
        self._check_list(listed)
        self._walk = table.walker()
        self._input = bytearray()
        self._is_described = False
        self._count = 0
        # The rows of a batch into a columnstore.
        self._batch: list[list[Any]] = []
        self.error: SqlError | None = None
        self.rows_max: int | None = None

    def _check_list(self, listed: list[tuple[str, Any]]) -> None:
        """Check that every column of the table is loaded, in order, with its type (error 4816)."""
        columns = self._table.columns
        if any(column.computed is not None for column in columns):
            raise NotInDoubleError("INSERT BULK into a table with a computed column")
        if len(listed) != len(columns):
            raise SqlError(213)
        for number, ((name, kind), column) in enumerate(zip(listed, columns, strict=True), start=1):
            if name.lower() != column.name.lower():
                raise SqlError(207, name)
            if kind != column.kind:
                raise SqlError(4816, number)

    def feed(self, payload: bytes) -> None:
        """Take in the payload of a packet."""
        self._input += payload
        if len(self._input) >= _BLOCK_BYTES or self.rows_max is not None:
            self._take_rows()

    def _take_rows(self) -> None:
        at = 0
        if not self._is_described:
            at = check_description(bytes(self._input), self._table.columns)
            self._is_described = True
        end, count = self._walk(self._input, at, len(self._input))
        if count:
            data = bytes(self._input[at:end])
            chunk = Chunk(data, count, self.transaction)
            if columnstore(self._table):
                self._batch += chunk.rows(self._table.columns)
            if self._table.checks or any(index.unique for index in self._table.indexes):
                rows = chunk.rows(self._table.columns)
                if "CHECK_CONSTRAINTS" not in self._hints:
                    # Constraints are not checked, so they prove nothing afterwards.
                    for check in self._table.checks:
                        check.is_trusted = False
                # "Any CHECK and FOREIGN KEY constraints are ignored" without the hint
                # (https://learn.microsoft.com/sql/t-sql/statements/bulk-insert-transact-sql).
                checks = "CHECK_CONSTRAINTS" in self._hints
                self._session.check_rows(self._table, rows, checks=checks)
            self._session.add_chunk(self._table, chunk)
            self._count += count
            if self.rows_max is not None and self._count > self.rows_max:
                raise SqlError(1105, self._table.name)
        del self._input[:end]

    def finish(self) -> int:
        """End the load and return the number of rows; DONE must follow them (error 4804)."""
        if self.error is not None:
            raise self.error
        self._take_rows()
        rest = bytes(self._input)
        if not rest or rest[0] != _DONE or len(rest) not in _DONE_BYTES:
            # NBCROW is not allowed here.
            raise SqlError(4804)
        self._session.add_rowgroups(self._table, self._batch)
        return self._count

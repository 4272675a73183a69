"""The rows of a source's tables at each moment, and the moments that a copy may show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from conformance.canonical import Row

# The rows of a table by their ids.
Rows = dict[int, Row]
# The values of a row that a copy shows, or None if it leaves the row out.
View = Callable[[int, Row], "Row | None"]


@dataclass(frozen=True)
class Change:
    """A row after a transaction; None if the transaction deleted it."""

    table: str
    key: int
    row: Row | None


@dataclass(frozen=True)
class History:
    """The initial rows, and the changes of each transaction, in the order of the commits."""

    before: Mapping[str, Rows]
    transactions: Sequence[Sequence[Change]]

    def now(self) -> dict[str, Rows]:
        """Return all tables after the last transaction."""
        tables = {table: dict(rows) for table, rows in self.before.items()}
        for changes in self.transactions:
            for change in changes:
                if change.row is None:
                    tables[change.table].pop(change.key, None)
                else:
                    tables[change.table][change.key] = change.row
        return tables

    def moments_of(self, table: str, view: View, copied: Rows) -> set[int]:
        """Return the numbers of transactions after which the table equalled the copy."""
        shown = {key: view(key, row) for key, row in self.before[table].items()}
        differing = {
            key for key in shown.keys() | copied.keys() if shown.get(key) != copied.get(key)
        }
        found = set() if differing else {0}
        for number, changes in enumerate(self.transactions, 1):
            for change in changes:
                if change.table != table:
                    continue
                row = None if change.row is None else view(change.key, change.row)
                if row == copied.get(change.key):
                    differing.discard(change.key)
                else:
                    differing.add(change.key)
            if not differing:
                found.add(number)
        return found

    def rows_ever(self, table: str, view: View) -> set[tuple[int, Row | None]]:
        """Return every row that a table has ever had, as a copy shows it."""
        first = {(key, view(key, row)) for key, row in self.before[table].items()}
        return first | {
            (change.key, view(change.key, change.row))
            for changes in self.transactions
            for change in changes
            if change.table == table and change.row is not None
        }

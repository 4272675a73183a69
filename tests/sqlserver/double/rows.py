"""Rows that statements of a session add, change and remove."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from .base import Result
from .columnstore import columnstore, inserted
from .conversions import stored
from .errors import SqlError
from .expressions import Scope
from .lexer import Name
from .nodes import Index, Node
from .partitions import partition_of, scheme_of
from .queries import Queries
from .query_parser import Select, Source
from .storage import Chunk, Row, Table
from .types import Column


def _partner(own: Source | None, others: list[Source]) -> Source:
    """Return the source with which the rows of a table are joined."""
    assert own is not None
    assert len(others) == 1
    # `ON` may name either of the two first.
    return replace(others[0], percent=None, on=own.on or others[0].on)


class Rows(Queries):
    """A session that changes rows."""

    def add(self, table: Table, values: list[Any]) -> None:
        """Add a row."""
        row = Row(values, self.transaction)
        table.rows.append(row)
        self.transaction.rows.append(row)
        self.transaction.tables.add(table)
        self.transaction.undo.append(partial(setattr, row, "deleted", True))

    def add_chunk(self, table: Table, chunk: Chunk) -> None:
        """Add rows of a bulk load."""
        table.chunks.append(chunk)
        self.transaction.chunks.append(chunk)

        def undo() -> None:
            if chunk in table.chunks:
                table.chunks.remove(chunk)
            for row in chunk.decoded:
                row.deleted = True

        self.transaction.undo.append(undo)

    def counted_by_partition(self, table: Table, rows: list[list[Any]]) -> Counter[int]:
        """Return the number of rows in each partition."""
        scheme = scheme_of(self.database, table)
        if scheme is None:
            return Counter({1: len(rows)}) if rows else Counter()
        return Counter(partition_of(scheme, table, values) for values in rows)

    def add_rowgroups(self, table: Table, rows: list[list[Any]]) -> None:
        """Add the rowgroups of one statement, or of one batch of a bulk load."""
        if not columnstore(table):
            return
        before = table.rowgroups
        counted = self.counted_by_partition(table, rows)
        table.rowgroups = [*before, *inserted(self.database, counted)]
        self.transaction.undo.append(partial(setattr, table, "rowgroups", before))

    def check_rows(self, table: Table, new: list[list[Any]], *, checks: bool = True) -> None:
        """Check new rows against CHECKs and unique indexes (errors 547, 2601 and 2627)."""
        if checks:
            self._check_conditions(table, new)
        for index in table.indexes:
            if index.unique:
                self._check_unique(table, index, self._values(table), new)

    def _check_conditions(self, table: Table, new: list[list[Any]]) -> None:
        for check in table.checks:
            for values in new:
                scope = Scope()
                scope.sources = [(table.name, table.columns, values)]
                if self._evaluator.value(check.condition, scope) is False:
                    raise SqlError(547, check.name)

    def _values(self, table: Table) -> list[list[Any]]:
        """Return all rows of a table."""
        rows = [row.values for row in table.rows if not row.deleted]
        for chunk in table.chunks:
            rows += chunk.rows(table.columns)
        return rows

    def _check_unique(
        self, table: Table, index: Index, old: list[list[Any]], new: list[list[Any]]
    ) -> None:
        places = [table.place(name) for name in index.columns]
        assert None not in places

        def key(values: list[Any]) -> tuple[Any, ...]:
            parts = [values[place] for place in places if place is not None]
            folds = [part.rstrip().casefold() if isinstance(part, str) else part for part in parts]
            return tuple(
                part if table.columns[place].kind.collation == "Latin1_General_BIN2" else fold
                for part, fold, place in zip(parts, folds, places, strict=True)
                if place is not None
            )

        def is_in(values: list[Any]) -> bool:
            if index.where is None:
                return True
            scope = Scope()
            scope.sources = [(table.name, table.columns, values)]
            return bool(self._evaluator.value(index.where, scope))

        there = {key(values) for values in old if is_in(values)}
        for values in filter(is_in, new):
            if key(values) in there:
                number = 2627 if index.is_constraint else 2601
                raise SqlError(number, f"{table.schema}.{table.name}", index.name)
            there.add(key(values))

    def _do_insert(
        self,
        name: Name,
        hints: set[str],
        names: list[str] | None,
        rows: list[list[Node]],
        query: Select | None,
    ) -> Result:
        table = self.table(name, "X" if "TABLOCK" in hints else "IX")
        if query is not None and self._move(table, names, query):
            return Result(count=self._moved)
        if query is not None:
            given = self._query(query)[1]
        else:
            given = [[self._evaluator.value(node, Scope()) for node in row] for row in rows]
        wanted = (
            [one.name for one in table.columns if not one.identity and one.computed is None]
            if names is None
            else names
        )
        places = []
        for column in wanted:
            place = table.place(column)
            if place is None:
                raise SqlError(207, column)
            if table.columns[place].computed is not None:
                raise SqlError(271, column)
            if table.columns[place].identity and self._identity_insert is not table:
                raise SqlError(544, table.name)
            places.append(place)
        is_given = any(table.columns[place].identity for place in places)
        if self._identity_insert is table and not is_given:
            raise SqlError(545, table.name)
        new = [self._new_row(table, places, values) for values in given]
        self.check_rows(table, new)
        for values in new:
            self.add(table, values)
        self.add_rowgroups(table, new)
        return Result(count=len(new))

    def _new_row(self, table: Table, places: list[int], given: list[Any]) -> list[Any]:
        if len(places) != len(given):
            raise SqlError(213)
        values: list[Any] = [None] * len(table.columns)
        for place, column in enumerate(table.columns):
            if column.identity and place not in places:
                # A value that was given once is not given again, even if its row is undone.
                last = table.identity
                table.identity = column.seed if last is None else last + column.increment
                values[place] = table.identity
            elif column.default is not None and place not in places:
                values[place] = self._evaluator.value(column.default, Scope())
        for place, value in zip(places, given, strict=True):
            values[place] = value
            if table.columns[place].identity:
                self._note_identity(table, table.columns[place], int(value))
        row = [
            stored(value, column, table.name) if column.computed is None else None
            for value, column in zip(values, table.columns, strict=True)
        ]
        return self._with_computed(table, row)

    def _with_computed(self, table: Table, values: list[Any]) -> list[Any]:
        """Return a row with the values that the server computes."""
        if all(column.computed is None for column in table.columns):
            return values
        scope = Scope()
        scope.sources = [(table.name, table.columns, values)]
        return [
            value
            if column.computed is None
            else stored(
                self._evaluator.value(column.computed.expression, scope), column, table.name
            )
            for value, column in zip(values, table.columns, strict=True)
        ]

    @staticmethod
    def _note_identity(table: Table, column: Column, value: int) -> None:
        """Continue from a larger value that was inserted.

        https://learn.microsoft.com/sql/t-sql/statements/set-identity-insert-transact-sql
        """
        forward = 1 if column.increment > 0 else -1
        if table.identity is None or (value - table.identity) * forward > 0:
            table.identity = value

    def _move(self, table: Table, names: list[str] | None, query: Select) -> bool:
        """Move chunks as they are, if the rows would be the same bytes."""
        if table.checks or columnstore(table) or any(index.unique for index in table.indexes):
            return False
        if len(query.sources) != 1 or query.where is not None or query.top is not None:
            return False
        source = self.find(query.sources[0].name)
        if not isinstance(source, Table) or source.rows:
            return False
        wanted = [item[0][2] for item in query.items if item[0][0] == "column"]
        if [column.name for column in source.columns] != wanted or names != wanted:
            return False
        same = [(column.name, column.kind, column.nullable) for column in source.columns]
        if same != [(column.name, column.kind, column.nullable) for column in table.columns]:
            return False
        self.lock(("table", source.object_id), "IS")
        self._await_rows(source, set())
        self._moved = 0
        for chunk in source.chunks:
            copy = Chunk(b"", chunk.count, self.transaction)
            copy.data, copy.bytes = chunk.data, chunk.bytes
            copy.is_compressed = chunk.is_compressed
            self.add_chunk(table, copy)
            self._moved += chunk.count
        return True

    def _decoded(self, table: Table) -> None:
        """Turn chunks into rows, so that single rows can be changed."""
        for chunk in list(table.chunks):
            self._await(chunk)
            table.chunks.remove(chunk)
            rows = [Row(values, chunk.owner) for values in chunk.rows(table.columns)]
            if chunk.owner is None:
                for row in rows:
                    row.committed = row.values
            chunk.decoded = rows
            if chunk.owner is not None:
                chunk.owner.rows += rows
                chunk.owner.tables.add(table)
            table.rows += rows

    def _changed(self, table: Table, where: Node | None) -> list[Row]:
        self._decoded(table)
        found = []
        for row in self._visible(table, set(), where):
            scope = Scope()
            scope.sources = [(table.name, table.columns, row.values)]
            if where is None or self._evaluator.value(where, scope):
                found.append(row)
        self._hold(found, table)
        return found

    def _hold(self, found: list[Row], table: Table) -> None:
        """Lock rows for the transaction, once no other transaction holds them."""
        own = self.transaction
        for row in found:
            blockers = lambda row=row: row.shares - {own}  # noqa: E731
            row.claims.append(own)
            try:
                with self._waiting("X", blockers):
                    self.database.locks.wait(blockers, own, self.lock_timeout, self._look)
            finally:
                row.claims.remove(own)
            row.owner = own
            own.rows.append(row)
        own.tables.add(table)

    def _do_update(
        self,
        name: Name,
        hints: set[str],
        changes: list[tuple[str, Node]],
        sources: list[Source],
        where: Node | None,
    ) -> Result:
        own = next((one for one in sources if one.alias == name.name), None)
        name, alias = (own.name, own.alias) if own is not None else (name, name.name)
        table = self.table(name, "X" if "TABLOCK" in hints else "IX")
        others = [self._made(one) for one in sources if one is not own]
        self._lock_sources(others)
        self._decoded(table)
        partner = _partner(own, others) if others else None
        found: list[tuple[Row, Scope]] = []
        for row in self._visible(table, set(), where if own is None else None):
            scope = Scope()
            scope.sources = [(alias, table.columns, row.values)]
            if partner is not None:
                # The server takes any of the rows that are joined with a row.
                scope = next(self._partners(partner, scope, where), Scope())
            if scope.sources and (where is None or self._evaluator.value(where, scope)):
                found.append((row, scope))
        self._hold([row for row, _ in found], table)
        new_rows = [self._changed_values(table, row, scope, changes) for row, scope in found]
        for (row, _), new in zip(found, new_rows, strict=True):
            self.transaction.undo.append(partial(setattr, row, "values", row.values))
            row.values = new
        self.check_changed(table, new_rows)
        return Result(count=len(found))

    def _made(self, source: Source) -> Source:
        """Return a source whose query was run."""
        if source.query is None:
            return source
        return replace(source, made=self._query(source.query))

    def _partners(self, partner: Source, scope: Scope, where: Node | None) -> Iterator[Scope]:
        """Return the row of a table with each of the rows that it is joined with."""
        for found in self._joined([partner], scope, None):
            if where is None or self._evaluator.value(where, found):
                yield found

    def _changed_values(
        self, table: Table, row: Row, scope: Scope, changes: list[tuple[str, Node]]
    ) -> list[Any]:
        new = list(row.values)
        for column, node in changes:
            place = table.place(column)
            if place is None:
                raise SqlError(207, column)
            if table.columns[place].computed is not None:
                raise SqlError(271, column)
            if table.columns[place].identity:
                raise SqlError(8102, column)
            value = self._evaluator.value(node, scope)
            new[place] = stored(value, table.columns[place], table.name)
        return self._with_computed(table, new)

    def check_changed(self, table: Table, new: list[list[Any]]) -> None:
        """Check rows that were changed in place against CHECKs and unique indexes."""
        self._check_conditions(table, new)
        for index in table.indexes:
            if index.unique and new:
                self._check_unique(table, index, [], self._values(table))

    def _do_delete(self, name: Name, hints: set[str], where: Node | None) -> Result:
        table = self.table(name, "X" if "TABLOCK" in hints else "IX")
        found = self._changed(table, where)
        for row in found:
            row.deleted = True
            self.transaction.undo.append(partial(setattr, row, "deleted", False))
        return Result(count=len(found))

"""SWITCH and TRUNCATE of partitions: which rows move, and which rules forbid it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial
from typing import Any

from .definitions import Definitions
from .errors import NotInDoubleError, SqlError
from .lexer import Name
from .nodes import Index
from .partitions import filegroup, large_value_space, partition_of, scheme_of
from .storage import Row, Table
from .types import Column


class Switching(Definitions):
    """A session that moves rows from table to table."""

    def _do_switch(
        self, source_name: Name, source_part: int | None, target_name: Name, target_part: int | None
    ) -> None:
        """ALTER TABLE ... SWITCH."""
        source = self.table(source_name, "Sch-M")
        target = self.table(target_name, "Sch-M")
        for key in self.database.foreign_keys:
            if key.referenced == source.name:
                raise SqlError(4967, source.name, key.name)
            if key.table == target.name:
                raise SqlError(4968, target.name, key.name, source.name)
        self._check_numbers(source, source_part)
        self._check_numbers(target, target_part)
        self._check_columns(source, target)
        self._check_indexes(source, target)
        self._check_places(source, source_part, target, target_part)
        self._check_checks(source, target)
        _check_traits(source, target)
        if source_part is None and target_part is None:
            if any(not row.deleted for row in target.rows) or target.chunks:
                raise SqlError(4905, target.name)
            self._swap(source, target)
            self.transaction.undo.append(lambda: self._swap(source, target))
            return
        moved = self._of_partition(source, source_part)
        if self._of_partition(target, target_part):
            raise SqlError(4904, target_part, target.name)
        self._move_rows(moved, source, target)
        self._move_rowgroups(source, source_part, target, target_part)

    def _check_numbers(self, table: Table, number: int | None) -> None:
        scheme = scheme_of(self.database, table)
        if scheme is not None and number is None:
            raise SqlError(4911, table.name)
        if number is not None and not 1 <= number <= (scheme.function.fanout if scheme else 0):
            raise SqlError(4950, number, table.name)

    @staticmethod
    def _check_columns(source: Table, target: Table) -> None:
        if len(source.columns) != len(target.columns):
            raise SqlError(4943, source.name, len(source.columns), target.name, len(target.columns))
        for number, (one, other) in enumerate(zip(source.columns, target.columns, strict=True), 1):
            if one.name.lower() != other.name.lower():
                raise SqlError(4942, one.name, number, source.name, other.name, target.name)
            if one.kind != other.kind:
                raise SqlError(4944, one.name, source.name, target.name)
            _check_computed(one, source, other, target)
            if one.nullable != other.nullable:
                raise SqlError(4985, one.name, source.name, target.name)

    def _check_indexes(self, source: Table, target: Table) -> None:
        for one in source.indexes:
            if one.clustered and not any(index.clustered for index in target.indexes):
                raise SqlError(4913, source.name, one.name, target.name)
        for index in target.indexes:
            if index.space.lower() != target.space.lower():
                raise SqlError(7733, "ALTER TABLE SWITCH", target.name, index.name)
            if not any(_alike(index, own) for own in source.indexes):
                raise SqlError(4947, source.name, index.name, target.name)
        if source.compression != target.compression and not source.indexes:
            raise SqlError(11406)

    def _check_places(
        self, source: Table, source_part: int | None, target: Table, target_part: int | None
    ) -> None:
        one = filegroup(self.database, source, source_part)
        other = filegroup(self.database, target, target_part)
        if one.lower() != other.lower():
            if source_part is None and target_part is None:
                raise SqlError(4940, source.name, one, target.name, other)
            raise SqlError(4938, source_part, source.name, one, target_part, target.name, other)
        from_scheme, to_scheme = (scheme_of(self.database, table) for table in (source, target))
        if to_scheme is None or target_part is None:
            return
        if from_scheme is None or source_part is None:
            raise NotInDoubleError("SWITCH of a table without partitions into a partition")
        if (source.partition_column or "").lower() != (target.partition_column or "").lower():
            raise SqlError(4953, source.name, target.name)
        if not to_scheme.function.contains(target_part, from_scheme.function, source_part):
            raise SqlError(4973, source_part, source.name, target_part, target.name)

    @staticmethod
    def _check_checks(source: Table, target: Table) -> None:
        for check in target.checks:
            same = [own for own in source.checks if own.condition == check.condition]
            if not same:
                raise SqlError(4970, target.name, check.name, source.name)
            if not any(own.is_trusted for own in same):
                raise SqlError(4960, same[0].name, source.name, check.name, target.name)
            if same[0].not_for_replication != check.not_for_replication:
                raise SqlError(4975, same[0].name, source.name, check.name, target.name)

    @staticmethod
    def _swap(source: Table, target: Table) -> None:
        source.rows, target.rows = target.rows, source.rows
        source.rowgroups, target.rowgroups = target.rowgroups, source.rowgroups
        source.chunks, target.chunks = target.chunks, source.chunks

    def _of_partition(self, table: Table, number: int | None) -> list[Row]:
        self._decoded(table)
        scheme = scheme_of(self.database, table)
        there = [row for row in table.rows if not row.deleted]
        if scheme is None or number is None:
            return there
        return [row for row in there if partition_of(scheme, table, row.values) == number]

    def _move_rows(self, moved: list[Row], source: Table, target: Table) -> None:
        own = set(map(id, moved))
        before, after = source.rows, target.rows
        source.rows = [row for row in before if id(row) not in own]
        target.rows = [*after, *moved]

        def undo() -> None:
            source.rows, target.rows = before, after

        self.transaction.undo.append(undo)

    def _move_rowgroups(
        self, source: Table, source_part: int | None, target: Table, target_part: int | None
    ) -> None:
        before, after = source.rowgroups, target.rowgroups
        moved = [group for group in before if source_part in (None, group.partition)]
        source.rowgroups = [group for group in before if group not in moved]
        target.rowgroups = [*after, *(replace(one, partition=target_part or 1) for one in moved)]

        def undo() -> None:
            source.rowgroups, target.rowgroups = before, after

        self.transaction.undo.append(undo)

    def _do_truncate(self, name: Name, ranges: list[tuple[int, int]] | None) -> None:
        table = self.table(name, "Sch-M")
        if any(key.referenced == table.name for key in self.database.foreign_keys):
            raise SqlError(4712, table.name)
        for trait in ("is_published", "is_merge_published", "is_replicated", "is_tracked_by_cdc"):
            if trait in table.traits:
                raise SqlError(4711, table.name)
        if "temporal" in table.traits:
            raise SqlError(13545, table.name)
        if ranges is not None:
            self._truncate_partitions(table, ranges)
            return
        rows, chunks, rowgroups = table.rows, table.chunks, table.rowgroups
        table.rows, table.chunks, table.rowgroups = [], [], []
        # "If the table contains an identity column, the counter for that column is reset to the
        # seed value defined for the column."
        # (https://learn.microsoft.com/sql/t-sql/statements/truncate-table-transact-sql)
        identity, table.identity = table.identity, None

        def undo() -> None:
            table.rows, table.chunks, table.rowgroups = rows, chunks, rowgroups
            table.identity = identity

        self.transaction.undo.append(undo)

    def _truncate_partitions(self, table: Table, ranges: list[tuple[int, int]]) -> None:
        scheme = scheme_of(self.database, table)
        if scheme is None:
            raise SqlError(7729, "truncate table", table.name)
        for index in table.indexes:
            if index.space.lower() != table.space.lower():
                raise SqlError(3756, index.name, table.name, scheme.function.name)
        numbers: list[Any] = [range(low, high + 1) for low, high in ranges]
        rowgroups = table.rowgroups
        self.transaction.undo.append(partial(setattr, table, "rowgroups", rowgroups))
        for number in itertools.chain.from_iterable(numbers):
            table.rowgroups = [one for one in table.rowgroups if one.partition != number]
            if not 1 <= number <= scheme.function.fanout:
                raise SqlError(7722, number, table.name, scheme.function.fanout)
            for row in self._of_partition(table, number):
                row.deleted = True
                row.owner = self.transaction
                self.transaction.rows.append(row)
                self.transaction.tables.add(table)
                self.transaction.undo.append(partial(setattr, row, "deleted", False))


# Traits that both tables or columns must have, or neither.
_SAME_OF_TABLES = {"text_in_row": 4954, "out_of_row": 4993}
_SAME_OF_COLUMNS = {
    "filestream": 4951,
    "ansi_unpadded": 4952,
    "rowguidcol": 4958,
    "xml_collection": 4987,
}
# Traits that neither table may have.
_OF_NO_TABLE = {"change_tracking": 4900, "fulltext_index": 4918, "is_merge_published": 4941}


def _check_computed(one: Column, source: Table, other: Column, target: Table) -> None:
    """Refuse computed columns that differ."""
    if one.computed is None and other.computed is None:
        return
    if one.computed is None:
        raise SqlError(4965, other.name, target.name, source.name)
    if other.computed is None:
        raise SqlError(4965, one.name, source.name, target.name)
    if one.computed.expression != other.computed.expression:
        texts = one.computed.text, other.computed.text
        raise SqlError(4966, one.name, texts[0], source.name, target.name, texts[1])
    if one.computed.is_persisted != other.computed.is_persisted:
        raise SqlError(4946, one.name, source.name, target.name)


def _check_traits(source: Table, target: Table) -> None:
    """Refuse traits of the tables and columns that forbid a SWITCH."""
    for table in (source, target):
        for trait, number in _OF_NO_TABLE.items():
            if trait in table.traits:
                raise SqlError(number, table.name)
        for column in table.columns:
            if "rule" in column.traits:
                raise SqlError(4964, table.name, column.name)
    if "temporal" in target.traits:
        raise SqlError(13577, source.name)
    for trait, number in _SAME_OF_TABLES.items():
        if (trait in source.traits) != (trait in target.traits):
            raise SqlError(number, source.name, target.name)
    for one, other in zip(source.columns, target.columns, strict=True):
        for trait, number in _SAME_OF_COLUMNS.items():
            if (trait in one.traits) != (trait in other.traits):
                raise SqlError(number, one.name, source.name, target.name)
    spaces = [large_value_space(table) or "" for table in (source, target)]
    if spaces[0].lower() != spaces[1].lower():
        raise SqlError(4959, source.name, spaces[0], target.name, spaces[1])


def _alike(one: Index, other: Index) -> bool:
    """Return whether two indexes are identical, apart from their names and constraints."""
    shape = ("columns", "descending", "included", "where", "unique", "clustered", "columnstore")
    return all(getattr(one, name) == getattr(other, name) for name in shape)

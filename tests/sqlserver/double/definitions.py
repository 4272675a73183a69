"""Definitions of a session: schemas, tables, views, indexes, constraints, partitions, sp_rename."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .base import Result
from .columnstore import built
from .computed import find_types
from .editions import refuse_collation
from .errors import NotInDoubleError, SqlError
from .expressions import Scope
from .lexer import Name
from .nodes import Index, Node
from .parser import Parser
from .partitions import (
    PartitionFunction,
    PartitionScheme,
    key_of,
    large_value_space,
    partition_of,
)
from .query_parser import Select
from .rows import Rows
from .storage import Check, Table, View
from .types import Column, SqlType


class Definitions(Rows):
    """A session that changes definitions."""

    def _do_create_schema(self, schema: str) -> None:
        if schema.lower() in self.database.schemas:
            raise SqlError(2759, schema)
        self.database.schemas[schema.lower()] = schema

        def undo() -> None:
            del self.database.schemas[schema.lower()]

        self.transaction.undo.append(undo)

    def _new_name(self, name: Name) -> str:
        schema = (name.schema or "dbo").lower()
        if schema not in self.database.schemas:
            raise SqlError(208, schema)
        if self.find(name) is not None:
            raise SqlError(2714, name.name)
        return self.database.schemas[schema]

    def _do_create_table(
        self,
        name: Name,
        columns: list[Column],
        constraints: list[Node],
        place: tuple[str, str | None],
        large: str | None,
        compression: dict[int, str],
    ) -> None:
        schema = self._new_name(name)
        for column in columns:
            refuse_collation(self.database, column.kind.collation or "")
        find_types(name.name, columns)
        table = Table(self.database.next_id(), schema, name.name, columns)
        table.space, table.partition_column = self._place(table, place)
        table.compression = compression
        if large is not None:
            self._put_large_values(table, large)
        self.lock(("table", table.object_id), "Sch-M")
        for constraint in constraints:
            self._constrain(table, constraint, checked=True)
        self._change_name(name, table)

    def _put_large_values(self, table: Table, space: str) -> None:
        """Put the large values of a table into a filegroup (errors 1709, 1921)."""
        if large_value_space(table) is None:
            raise SqlError(1709)
        if table.partition_column is not None:
            raise NotInDoubleError("TEXTIMAGE_ON of a table with partitions")
        table.large_value_space = self._place(table, (space, None))[0]

    def _place(self, table: Table, place: tuple[str, str | None]) -> tuple[str, str | None]:
        """Return a filegroup, or a scheme with its column (errors 1921, 7726)."""
        space, column = place
        scheme = self.database.schemes.get(space.lower())
        if column is None:
            if space.lower() not in (one.lower() for one in self.database.filegroups):
                raise SqlError(1921, "filegroup", space)
            return space, None
        if scheme is None:
            raise SqlError(1921, "partition scheme", space)
        found = table.place(column)
        if found is None:
            raise SqlError(207, column)
        if table.columns[found].kind != scheme.function.kind:
            raise SqlError(7726, column, scheme.function.name)
        return scheme.name, table.columns[found].name

    def _constrain(self, table: Table, constraint: Node, *, checked: bool) -> None:
        kind, name, what = constraint[:3]
        if kind == "check":
            table.checks.append(Check(name, what, checked, constraint[3]))
            return
        _, _, keys, clustered, place = constraint
        columns = [column for column, _ in keys]
        if kind == "primary":
            for column in columns:
                at = table.place(column)
                assert at is not None
                table.columns[at].nullable = False
        index = Index(name, columns, True, clustered, True, kind == "primary")
        index.descending = [is_descending for _, is_descending in keys]
        self._add_index(table, index, place)

    def _add_index(self, table: Table, index: Index, place: tuple[str, str | None] | None) -> None:
        """Add an index in the requested place, or in that of its table (error 1908)."""
        index.space = table.space if place is None else self._place(table, place)[0]
        partitioned = index.space.lower() in self.database.schemes
        column = place[1] if place is not None else table.partition_column
        keys = [name.lower() for name in index.columns]
        if index.unique and partitioned and column is not None and column.lower() not in keys:
            raise SqlError(1908, column, index.name)
        if index.clustered:
            table.space = index.space
            table.partition_column = column if partitioned else None
        table.indexes.append(index)

    def _do_select(self, query: Select) -> Result:
        """Answer a query; SELECT ... INTO makes a table with its columns, without indexes."""
        if query.into is None:
            return super()._do_select(query)
        schema = self._new_name(query.into)
        described = self._described(query)
        if described is None:
            raise NotInDoubleError("SELECT INTO of expressions")
        columns = [replace(column, default=None, computed=None) for column in described]
        table = Table(self.database.next_id(), schema, query.into.name, columns)
        self.lock(("table", table.object_id), "Sch-M")
        found = self.query_rows(query)
        for values in found:
            self.add(table, list(values))
        self._change_name(query.into, table)
        return Result(count=len(found))

    def _do_create_view(self, name: Name, query: Select) -> None:
        schema = self._new_name(name)
        self._change_name(name, View(self.database.next_id(), schema, name.name, query))

    def _do_update_statistics(self, name: Name) -> None:
        table = self.table(name, "Sch-S")
        table.rows_analyzed = table.row_count

    def _do_create_index(self, name: Name, made: Index, place: tuple[str, str | None]) -> None:
        table = self.table(name, "Sch-M")
        self._decoded(table)
        before = (list(table.indexes), table.space, table.partition_column, table.rowgroups)
        if any(one.name.lower() == made.name.lower() for one in table.indexes):
            raise SqlError(1913, made.name, table.name)
        self._add_index(table, made, place)

        def undo() -> None:
            table.indexes, table.space, table.partition_column, table.rowgroups = before

        try:
            self._build(table, made)
            self._check_new_key(table, made)
        except SqlError:
            undo()
            raise
        self.transaction.undo.append(undo)

    def _build(self, table: Table, made: Index) -> None:
        """Build a columnstore (error 35343)."""
        if made.columnstore and made.clustered:
            version = str(self.database.properties["PRODUCTVERSION"])
            for column in table.columns:
                is_new = column.kind.length == -1 and int(version.split(".")[0]) < 14
                if is_new or column.kind.name == "xml":
                    raise SqlError(35343, column.name)
            counted = self.counted_by_partition(table, [row.values for row in table.rows])
            table.rowgroups = built(self.database, counted)

    def _check_new_key(self, table: Table, made: Index) -> None:
        """Check the rows of a table against a new unique index (error 1505)."""
        if not made.unique:
            return
        old = [row.values for row in table.rows if not row.deleted]
        rows, table.rows = table.rows, []
        try:
            self._check_unique(table, made, [], old)
        except SqlError as error:
            raise SqlError(1505, f"{table.schema}.{table.name}", made.name) from error
        finally:
            table.rows = rows

    def _do_create_partition_function(
        self, name: str, kind: SqlType, is_right: bool, values: list[Node]
    ) -> None:
        if name.lower() in self.database.functions:
            raise SqlError(2714, name)
        found = [key_of(kind, self._evaluator.value(value, Scope())) for value in values]
        for number, value in enumerate(found):
            if value in found[:number]:
                raise SqlError(7721, found.index(value) + 1)
        made = PartitionFunction(name, kind, is_right, tuple(sorted(found)))
        self._define(self.database.functions, name, made)

    def _do_create_partition_scheme(
        self, name: str, function: str, is_all: bool, filegroups: list[str]
    ) -> None:
        found = self.database.functions.get(function.lower())
        if found is None:
            raise SqlError(208, function)
        if name.lower() in self.database.schemes:
            raise SqlError(2714, name)
        known = {one.lower() for one in self.database.filegroups}
        for filegroup in filegroups:
            if filegroup.lower() not in known:
                raise SqlError(208, filegroup)
        dealt = filegroups * found.fanout if is_all else filegroups
        if len(dealt) < found.fanout:
            raise SqlError(7707, function, name)
        scheme = PartitionScheme(name, found, tuple(dealt[: found.fanout]))
        self._define(self.database.schemes, name, scheme)

    def _do_next_used(self, name: str, filegroup: str) -> None:
        scheme = self.database.schemes.get(name.lower())
        if scheme is None:
            raise SqlError(208, name)
        if filegroup.lower() not in {one.lower() for one in self.database.filegroups}:
            raise SqlError(208, filegroup)
        self._define(self.database.schemes, name, replace(scheme, next_used=filegroup))

    def _do_split_range(self, name: str, value: Node) -> None:
        """Add a bound, with a Sch-M lock on all tables that have the function.

        "Always keep empty partitions at both ends of the partition range": the server would move
        the rows of the split partition one by one; here that is refused.
        """
        database = self.database
        function = database.functions.get(name.lower())
        if function is None:
            raise SqlError(208, name)
        key = key_of(function.kind, self._evaluator.value(value, Scope()))
        if key in function.bounds:
            raise SqlError(7721, function.bounds.index(key) + 1)
        bounds = tuple(sorted((*function.bounds, key)))
        at = bounds.index(key)
        made = replace(function, bounds=bounds, changes=function.changes + 1)
        schemes = [one for one in database.schemes.values() if one.function.name == function.name]
        spaces = {one.name.lower(): one for one in schemes}
        for table in [one for one in database.objects.values() if isinstance(one, Table)]:
            scheme = spaces.get(table.space.lower()) if table.partition_column else None
            if scheme is None:
                continue
            self.lock(("table", table.object_id), "Sch-M")
            rows = [row.values for row in table.rows if not row.deleted]
            rows += [values for chunk in table.chunks for values in chunk.rows(table.columns)]
            if any(partition_of(scheme, table, values) == at + 1 for values in rows):
                raise NotInDoubleError("SPLIT RANGE of a partition with rows")
        for scheme in schemes:
            if scheme.next_used is None:
                raise SqlError(7707, function.name, scheme.name)
            # The new partition is next to the new bound: on its right with RANGE RIGHT.
            place = at + 1 if function.is_right else at
            filegroups = list(scheme.filegroups)
            filegroups.insert(place, scheme.next_used)
            changed = replace(scheme, function=made, filegroups=tuple(filegroups), next_used=None)
            self._define(database.schemes, scheme.name, changed)
        self._define(database.functions, name, made)

    def _define(self, known: dict[str, Any], name: str, made: Any) -> None:
        old = known.get(name.lower())
        known[name.lower()] = made

        def undo() -> None:
            known.pop(name.lower(), None)
            if old is not None:
                known[name.lower()] = old

        self.transaction.undo.append(undo)

    def _do_drop_partition(self, kind: str, name: str) -> None:
        known: dict[str, Any] = (
            self.database.schemes if kind == "SCHEME" else self.database.functions
        )
        found = known.get(name.lower())
        if found is None:
            raise SqlError(3701, name)
        if kind == "SCHEME":
            tables = [one for one in self.database.objects.values() if isinstance(one, Table)]
            spaces = {one.space.lower() for one in tables}
            spaces |= {index.space.lower() for one in tables for index in one.indexes}
            if name.lower() in spaces:
                raise SqlError(7717, name)
        elif any(scheme.function is found for scheme in self.database.schemes.values()):
            raise SqlError(7706, name)
        del known[name.lower()]
        self.transaction.undo.append(lambda: known.__setitem__(name.lower(), found))

    def _do_drop_index(self, name: Name, index: str) -> None:
        table = self.table(name, "Sch-M")
        [found] = [one for one in table.indexes if one.name.lower() == index.lower()]
        if found.is_constraint:
            raise SqlError(3723, index)
        self._remove_index(table, found)

    def _remove_index(self, table: Table, index: Index) -> None:
        """Remove an index; without a clustered one, the rows stay in their place as a heap."""
        before = (table.indexes, table.rowgroups)
        table.indexes = [one for one in table.indexes if one is not index]
        if index.clustered:
            table.rowgroups = []

        def undo() -> None:
            table.indexes, table.rowgroups = before

        self.transaction.undo.append(undo)

    def _do_drop_constraint(self, name: Name, constraint: str) -> None:
        table = self.table(name, "Sch-M")
        for index in table.indexes:
            if index.is_constraint and index.name.lower() == constraint.lower():
                self._remove_index(table, index)
                return
        kept = [check for check in table.checks if check.name.lower() != constraint.lower()]
        if kept == table.checks:
            raise SqlError(3728, constraint)
        old, table.checks = table.checks, kept
        self.transaction.undo.append(lambda: setattr(table, "checks", old))

    def _do_drop(self, kind: str, name: Name, if_exists: bool) -> None:
        found = self.find(name)
        if not isinstance(found, Table if kind == "TABLE" else View):
            if if_exists and found is None:
                return
            raise SqlError(3701, name.name)
        if any(key.referenced == found.name for key in self.database.foreign_keys):
            raise SqlError(3726, found.name)
        self.lock(("table", found.object_id), "Sch-M")
        self._change_name(name, None)

    def _do_add_constraint(self, name: Name, constraint: Node, checked: bool) -> None:
        table = self.table(name, "Sch-M")
        self._decoded(table)
        checks, indexes = list(table.checks), list(table.indexes)
        place = (table.space, table.partition_column)
        self._constrain(table, constraint, checked=checked)

        def undo() -> None:
            table.checks, table.indexes = checks, indexes
            table.space, table.partition_column = place

        old = [row.values for row in table.rows if not row.deleted]
        rows, table.rows = table.rows, []
        try:
            if checked:
                self.check_rows(table, old)
        except SqlError:
            undo()
            raise
        finally:
            table.rows = rows
        self.transaction.undo.append(undo)

    def _rename(self, old: str, new: str) -> Result:
        parts = [token.text for token in Parser(old)._tokens if token.text != "."]
        name = Name(parts[0], parts[1]) if len(parts) > 1 else Name(None, parts[0])
        found = self.find(name)
        if not isinstance(found, Table):
            raise SqlError(15225, old)
        target = Name(found.schema, new)
        if self.find(target) is not None:
            raise SqlError(15335, new)
        self.lock(("table", found.object_id), "Sch-M")
        self._change_name(name, None)
        self._change_name(target, found)
        before, found.name = found.name, new
        self.transaction.undo.append(lambda: setattr(found, "name", before))
        return Result(status=0)

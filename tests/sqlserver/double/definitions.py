"""Definitions of a session: schemas, tables, views, indexes, constraints, SWITCH and sp_rename."""

from __future__ import annotations

import itertools

from .base import Result
from .errors import SqlError
from .parser import Name, Node, Parser, Select
from .rows import Rows
from .storage import Check, Index, Table, View
from .types import Column


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

    def _do_create_table(self, name: Name, columns: list[Column], constraints: list[Node]) -> None:
        schema = self._new_name(name)
        table = Table(self.database.next_id(), schema, name.name, columns)
        self.lock(("table", table.object_id), "Sch-M")
        for constraint in constraints:
            self._constrain(table, constraint, checked=True)
        self._change_name(name, table)

    def _constrain(self, table: Table, constraint: Node, *, checked: bool) -> None:
        kind, name, what = constraint[:3]
        if kind == "check":
            table.checks.append(Check(name, what, checked))
            return
        clustered = constraint[3]
        if kind == "primary":
            for column in what:
                place = table.place(column)
                assert place is not None
                table.columns[place].nullable = False
        table.indexes.append(Index(name, what, True, clustered, True))

    def _do_create_view(self, name: Name, query: Select) -> None:
        schema = self._new_name(name)
        self._change_name(name, View(self.database.next_id(), schema, name.name, query))

    def _do_create_index(
        self, name: Name, index: str, columns: list[str], unique: bool, clustered: bool
    ) -> None:
        table = self.table(name, "Sch-M")
        self._decoded(table)
        made = Index(index, columns, unique, clustered)
        if unique:
            old = [row.values for row in table.rows if not row.deleted]
            rows, table.rows = table.rows, []
            try:
                self._check_unique(table, made, old)
            finally:
                table.rows = rows
        table.indexes.append(made)
        self.transaction.undo.append(lambda: table.indexes.remove(made))

    def _do_drop_index(self, name: Name, index: str) -> None:
        table = self.table(name, "Sch-M")
        kept = [one for one in table.indexes if one.name.lower() != index.lower()]
        old, table.indexes = table.indexes, kept
        self.transaction.undo.append(lambda: setattr(table, "indexes", old))

    def _do_drop(self, kind: str, name: Name, if_exists: bool) -> None:
        found = self.find(name)
        if not isinstance(found, Table if kind == "TABLE" else View):
            if if_exists and found is None:
                return
            raise SqlError(3701, name.name)
        self.lock(("table", found.object_id), "Sch-M")
        self._change_name(name, None)

    def _do_add_constraint(self, name: Name, constraint: Node, checked: bool) -> None:
        table = self.table(name, "Sch-M")
        self._decoded(table)
        checks, indexes = list(table.checks), list(table.indexes)
        self._constrain(table, constraint, checked=checked)
        old = [row.values for row in table.rows if not row.deleted]
        rows, table.rows = table.rows, []
        try:
            if checked:
                self.check_rows(table, old)
        except SqlError:
            table.checks, table.indexes = checks, indexes
            raise
        finally:
            table.rows = rows

        def undo() -> None:
            table.checks, table.indexes = checks, indexes

        self.transaction.undo.append(undo)

    def _do_switch(self, source_name: Name, target_name: Name) -> None:
        """ALTER TABLE ... SWITCH of whole tables (errors 4904, 4943, 4947 and 4982)."""
        source = self.table(source_name, "Sch-M")
        target = self.table(target_name, "Sch-M")
        if target.rows or target.chunks:
            raise SqlError(4904, target.name)
        pairs = itertools.zip_longest(source.columns, target.columns)
        for one, other in pairs:
            alike = one and other and (one.name, one.kind, one.nullable) == (
                other.name, other.kind, other.nullable,
            )  # fmt: skip
            if not alike:
                raise SqlError(4943, (one or other).name, source.name, target.name)
        shapes = [(index.columns, index.unique, index.clustered) for index in source.indexes]
        for index in target.indexes:
            if (index.columns, index.unique, index.clustered) not in shapes:
                raise SqlError(4947, index.name, source.name, target.name)
        trusted = [check.condition for check in source.checks if check.is_trusted]
        if any(check.condition not in trusted for check in target.checks):
            raise SqlError(4982, source.name, target.name)
        self._swap(source, target)
        self.transaction.undo.append(lambda: self._swap(source, target))

    @staticmethod
    def _swap(source: Table, target: Table) -> None:
        source.rows, target.rows = target.rows, source.rows
        source.chunks, target.chunks = target.chunks, source.chunks

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

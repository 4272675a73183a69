"""Queries of a session: which rows a statement sees, and for which rows it waits."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from .base import Result, SessionBase
from .catalog import catalog_view
from .catalog_view import View as CatalogView
from .compiled import OfRow, compiled
from .editions import view_id
from .errors import NotInDoubleError, SqlError
from .expressions import Evaluator, Scope, aggregates
from .functions import now
from .lexer import Name
from .nodes import Node
from .parser import Parser
from .query_parser import Select, Source
from .semi_join import JoinIndex, Keys, conditions, equality
from .storage import Chunk, Database, Row, Table, Transaction, View
from .types import TEXT, Column

_SQL_SERVER_2022 = 16


def _mode(hints: set[str]) -> str:
    """Return the lock of a table that a query reads."""
    return "X" if "TABLOCKX" in hints else "S" if "TABLOCK" in hints else "IS"


def _names(query: Select, scope: Scope) -> list[str]:
    """Return the names of a query's result columns; a star names the columns of all sources."""
    own = [column.name for _, columns, _ in scope.sources for column in columns]
    named = [own if node[0] == "star" else [alias] for node, alias in query.items]
    return list(itertools.chain.from_iterable(named))


def _values(items: list[OfRow | None], scope: Scope) -> list[Any]:
    """Return the values of a query's items for a row; None is a star."""
    row: list[Any] = []
    for item in items:
        if item is not None:
            row.append(item(scope))
            continue
        for _, _, values in scope.sources:
            row += values
    return row


class Queries(SessionBase):
    """A session that reads."""

    def __init__(self, database: Database, look: Callable[[], None] = lambda: None) -> None:
        super().__init__(database, look)
        self._evaluator = Evaluator(self)
        # The keys of the running statement's subqueries; None for a subquery without a key.
        self.keys: dict[int, Keys | None] = {}
        # The rows of its joined sources by their keys; None for a source that no key joins.
        self.joins: dict[int, tuple[Source, JoinIndex | None]] = {}

    def query_rows(self, query: Select, outer: Scope | None = None) -> list[list[Any]]:
        """Return the rows of a query, or of a subquery for one row around it."""
        return self._query(query, outer)[1]

    def _do_select(self, query: Select) -> Result:
        names, found = self._query(query)
        return Result(names=names, rows=found, columns=self._described(query), count=len(found))

    def _described(self, query: Select) -> list[Column] | None:
        """Return the columns of a query of one table; None if it computes anything but texts."""
        if len(query.sources) != 1 or query.group:
            return None
        source = query.sources[0]
        known: list[Column] | None = None
        if source.query is not None:
            known = self._described(source.query)
        elif (source.name.schema or "").lower() != "sys":
            found = self.find(source.name)
            if isinstance(found, View):
                known = self._described(found.query)
            elif found is not None:
                known = found.columns
        if known is None:
            return None
        columns: list[Column] = []
        for node, alias in query.items:
            named = [one for one in known if one.name.lower() == alias.lower()]
            own = [one for one in known if node[0] == "column" and one.name == node[2]]
            if node[0] == "star":
                columns += known
            elif node[0] == "column" and node[2].lower() == alias.lower() and named:
                columns.append(named[0])
            elif own:
                columns.append(Column(alias, own[0].kind, own[0].nullable))
            elif node[0] == "cast" and node[2].name == "nvarchar":
                columns.append(Column(alias, node[2]))
            else:
                return None
        return columns

    def _query(
        self, query: Select, outer: Scope | None = None
    ) -> tuple[list[str], list[list[Any]]]:
        top = None
        if query.top is not None:
            top = self._evaluator.value(query.top, Scope())
        is_count = [item[0] for item in query.items] == [("call", "COUNT_BIG", [("star",)])]
        if is_count and query.where is None and len(query.sources) == 1:
            counted = self._count(query.sources[0])
            if counted is not None:
                return [""], [[counted]]
        self._lock_sources(query.sources)
        scopes = self._scopes(query, outer)
        if query.group:
            return self._grouped(query, scopes)
        if any(aggregates(item[0]) for item in query.items):
            group = list(scopes)
            empty = group[0] if group else Scope(outer)
            row = [self._evaluator.value(item[0], empty, group) for item in query.items]
            return [alias for _, alias in query.items], [row]
        if any(node[0] in ("over", "row_number") for node, _ in query.items):
            whole = list(scopes)
            self._evaluator.look_through_windows([node for node, _ in query.items], whole)
            scopes = iter(whole)
        if top is not None and not query.order:
            scopes = itertools.islice(scopes, top)
        if query.order:
            # A number in ORDER BY is the position of a result column.
            order = [
                (query.items[node[1] - 1][0] if node[0] == "literal" else node, is_descending)
                for node, is_descending in query.order
            ]
            scopes = iter(self._ordered(list(scopes), order)[:top])
        rows = list(scopes)
        if not rows:
            return [alias for node, alias in query.items if node[0] != "star"], []
        # What gives the values of each item; None for a star.
        items = [
            None if node[0] == "star" else compiled(self._evaluator, node, rows[0])
            for node, _ in query.items
        ]
        found = [_values(items, row) for row in rows]
        if query.distinct:
            found = [list(row) for row in dict.fromkeys(map(tuple, found))]
        return _names(query, rows[0]), found

    def _grouped(self, query: Select, scopes: Iterator[Scope]) -> tuple[list[str], list[list[Any]]]:
        """Return a row for each group of rows with the same values."""
        groups: dict[tuple[Any, ...], list[Scope]] = {}
        for scope in scopes:
            groups.setdefault(self._evaluator.key(query.group, scope), []).append(scope)
        value, having = self._evaluator.value, query.having
        kept = [group for group in groups.values() if not having or value(having, group[0], group)]
        firsts = self._ordered([group[0] for group in kept], query.order)
        if query.top is not None:
            firsts = firsts[: value(query.top, Scope())]
        by_first = {id(group[0]): group for group in kept}
        rows = [
            [value(item[0], first, by_first[id(first)]) for item in query.items] for first in firsts
        ]
        return [alias for _, alias in query.items], rows

    def has_row(self, query: Select, outer: Scope) -> bool | None:
        """Return whether a subquery has a row, if a key decides this; otherwise None."""
        if id(query) not in self.keys:
            self.keys[id(query)] = self._keys_of(query)
        found = self.keys[id(query)]
        if found is None:
            return None
        key = self._evaluator.key([one.outer for one in found.equalities], outer)
        missing = (
            value is None and not one.with_null
            for value, one in zip(key, found.equalities, strict=True)
        )
        if any(missing):
            return False
        for sources in found.rows.get(key, []):
            scope = Scope(outer)
            scope.sources = sources
            if found.rest is None or self._evaluator.value(found.rest, scope):
                return True
        return False

    def _keys_of(self, query: Select) -> Keys | None:
        is_plain = len(query.sources) == 1 and query.sources[0].query is None
        if not is_plain or query.sources[0].name.schema == "sys":
            return None
        equalities = []
        rest: Node | None = None
        for condition in conditions(query.where):
            one = equality(condition, query.sources[0].alias)
            if one is not None:
                equalities.append(one)
            else:
                rest = condition if rest is None else ("and", rest, condition)
        if not equalities:
            return None
        self._lock_sources(query.sources)
        found = Keys(equalities, {}, rest)
        inner = [one.inner for one in equalities]
        for scope in self._scopes(Select(None, [], query.sources, None, []), None):
            key = self._evaluator.key(inner, scope)
            found.rows.setdefault(key, []).append(scope.sources)
        return found

    def partition_number(self, function: str, value: Any) -> int:
        """Return $PARTITION of a value (error 208)."""
        found = self.database.functions.get(function.lower())
        if found is None:
            raise SqlError(208, function)
        return found.number(value)

    def _count(self, source: Source) -> int | None:
        found = self.find(source.name) if (source.name.schema or "").lower() != "sys" else None
        if not isinstance(found, Table):
            return None
        if self.is_snapshot:
            return sum(1 for _ in self._of_snapshot(found))
        table = self.table(source.name, _mode(source.hints))
        self._await_rows(table, source.hints)
        rows = sum(1 for row in table.rows if not row.deleted)
        return rows + sum(chunk.count for chunk in table.chunks)

    def _await_rows(self, table: Table, hints: set[str]) -> None:
        """Wait for the rows of other transactions."""
        if "NOLOCK" in hints:
            return
        parts: list[Row | Chunk] = [*table.chunks, *table.rows]
        for part in parts:
            self._await(part)

    def _await(self, part: Row | Chunk) -> None:
        blockers = lambda: self._ahead(part)  # noqa: E731
        with self._waiting("S", blockers):
            self.database.locks.wait(blockers, self.transaction, self.lock_timeout, self._look)

    def _ahead(self, part: Row | Chunk) -> set[Transaction]:
        """Return the transactions that a reader has to wait for."""
        own = self.transaction
        claims = part.claims if isinstance(part, Row) and own not in part.shares else []
        return {one for one in (part.owner, *claims) if one not in (None, own)}

    def _lock_sources(self, sources: list[Source]) -> None:
        """Take the locks of a query when it begins, even if it reads no row."""
        for source in sources:
            is_system = (source.name.schema or "").lower() == "sys"
            if source.query is not None:
                continue
            if not is_system and isinstance(self.find(source.name), Table):
                mode = _mode(source.hints)
                is_unlocked = self.is_snapshot or "NOLOCK" in source.hints
                self.table(source.name, "Sch-S" if is_unlocked else mode)
            if "READPAST" in source.hints and "READCOMMITTEDLOCK" not in source.hints:
                # The server refuses this hint with READ_COMMITTED_SNAPSHOT on; the double always
                # does.
                raise SqlError(650)

    def _scopes(self, query: Select, outer: Scope | None) -> Iterator[Scope]:
        if not query.sources:
            if query.where is None or self._evaluator.value(query.where, Scope(outer)):
                yield Scope(outer)
            return
        rows = self._joined(query.sources, Scope(outer), query.where)
        if query.where is None:
            yield from rows
            return
        is_wanted: OfRow | None = None
        for scope in rows:
            if is_wanted is None:
                is_wanted = compiled(self._evaluator, query.where, scope)
            if is_wanted(scope):
                yield scope

    def _joined(self, sources: list[Source], before: Scope, where: Node | None) -> Iterator[Scope]:
        source, rest = sources[0], sources[1:]
        # All joined views of the catalog describe the requested object.
        is_system = (source.name.schema or "").lower() == "sys"
        known = where if is_system or len(sources) == 1 else None
        index = None if is_system else self._index_of(source, before)
        if index is not None:
            columns, found = index.columns, iter(self._of_index(index, before))
        else:
            columns, found = self._source_rows(source, known)
        has_partner = False
        for values in itertools.chain(found, [None]):
            if values is None and (has_partner or not source.is_outer):
                continue
            scope = Scope(before.outer)
            own = values or [None] * len(columns)
            scope.sources = [*before.sources, (source.alias, columns, own)]
            if values is not None and source.on is not None:
                if not self._evaluator.value(source.on, scope):
                    continue
                has_partner = True
            if rest:
                yield from self._joined(rest, scope, where)
            else:
                yield scope

    def _index_of(self, source: Source, before: Scope) -> JoinIndex | None:
        """Return the rows of a joined source by their keys, if it is joined by a key."""
        if source.on is None or not before.sources:
            return None
        if id(source) not in self.joins:
            found = (equality(one, source.alias) for one in conditions(source.on))
            equalities = [one for one in found if one is not None]
            # The source is kept, so that no other source gets its id.
            self.joins[id(source)] = (source, None)
            if equalities:
                columns, rows = self._source_rows(source, None)
                index = JoinIndex(columns, equalities, {})
                inner = [one.inner for one in equalities]
                for values in rows:
                    scope = Scope()
                    scope.sources = [(source.alias, columns, values)]
                    key = self._evaluator.key(inner, scope)
                    index.rows.setdefault(key, []).append(values)
                self.joins[id(source)] = (source, index)
        return self.joins[id(source)][1]

    def _of_index(self, index: JoinIndex, before: Scope) -> list[list[Any]]:
        key = self._evaluator.key([one.outer for one in index.equalities], before)
        return index.rows.get(key, [])

    def _source_rows(
        self, source: Source, where: Node | None
    ) -> tuple[list[Column], Iterator[list[Any]]]:
        if source.query is not None:
            names, found_rows = source.made or self._query(source.query)
            return [Column(name, TEXT) for name in names], iter(found_rows)
        if (source.name.schema or "").lower() == "sys":
            sought = self._sought_object(where)
            view: CatalogView = catalog_view(self, source.name.name, sought)
            return view.columns, iter(view.rows)
        found = self.find(source.name)
        if isinstance(found, View):
            names, found_rows = self._query(found.query)
            return [Column(name, TEXT) for name in names], iter(found_rows)
        mode = "Sch-S" if self.is_snapshot or "NOLOCK" in source.hints else "IS"
        table = self.table(source.name, mode)
        rows = self._rows(table, source.hints, where)
        if source.percent is not None:
            # Each page has one row.
            rows = itertools.islice(rows, 0, None, max(1, round(100 / source.percent)))
        return table.columns, rows

    def _rows(self, table: Table, hints: set[str], where: Node | None) -> Iterator[list[Any]]:
        if self.is_snapshot:
            yield from self._of_snapshot(table)
            return
        for row in self._visible(table, hints, where):
            yield row.values
        for chunk in list(table.chunks):
            if "NOLOCK" not in hints:
                self._await(chunk)
            if chunk in table.chunks:
                yield from chunk.rows(table.columns)

    def _of_snapshot(self, table: Table) -> Iterator[list[Any]]:
        """Return the rows of a table at the moment of the transaction (errors 3952 and 3961)."""
        own = self.transaction
        if own.snapshot is None:
            if not self.database.allows_snapshots:
                raise SqlError(3952, self.database.name)
            own.snapshot = self.database.versions()
        if table not in own.snapshot:
            raise SqlError(3961, self.database.name)
        rows, chunks = own.snapshot[table]
        yield from rows
        for chunk in chunks:
            yield from chunk.rows(table.columns)

    def _visible(self, table: Table, hints: set[str], where: Node | None) -> Iterator[Row]:
        """Return the rows that a statement sees, after waiting unless a hint forbids it."""
        place, wanted = self._sought(table, where)
        own = self.transaction
        for row in list(table.rows):
            if place is not None and row.values[place] != wanted:
                continue
            if "NOLOCK" not in hints and self._ahead(row):
                if "READPAST" in hints:
                    continue
                self._await(row)
            if row.deleted:
                continue
            if hints & {"REPEATABLEREAD", "HOLDLOCK", "SERIALIZABLE"}:
                row.shares.add(own)
                own.rows.append(row)
            yield row

    def _sought(self, table: Table, where: Node | None) -> tuple[int | None, Any]:
        """Return the key that a condition asks for; only the key's rows are read."""
        if where is None:
            return None, None
        if where[0] == "and":
            place, wanted = self._sought(table, where[1])
            return (place, wanted) if place is not None else self._sought(table, where[2])
        if where[:2] == ("compare", "=") and where[2][0] == "column" and where[3][0] == "literal":
            place = table.place(where[2][2])
            if place is not None and place == table.leading_key:
                return place, where[3][1]
        return None, None

    def _sought_object(self, where: Node | None) -> int | None:
        """Return the object that a condition on the catalog asks for."""
        if where is None:
            return None
        if where[0] == "and":
            found = self._sought_object(where[1])
            return self._sought_object(where[2]) if found is None else found
        is_equal = where[:2] == ("compare", "=") and where[2][0] == "column"
        if not is_equal or where[2][2].lower() != "object_id":
            return None
        # No object has the number 0.
        return int(self._evaluator.value(where[3], Scope()) or 0)

    def _ordered(self, scopes: list[Scope], order: list[tuple[Node, bool]]) -> list[Scope]:
        for node, descending in reversed(order):
            if not scopes:
                break
            binary = self._evaluator.is_binary(scopes[0], node)
            of_row = compiled(self._evaluator, node, scopes[0])

            def key(scope: Scope, of_row: OfRow = of_row, binary: bool = binary) -> Any:
                value = of_row(scope)
                if isinstance(value, str) and not binary:
                    value = value.casefold()
                return (value is not None, value)

            scopes.sort(key=key, reverse=descending)
        return scopes

    def _has_right(self, name: str | None, kind: str | None, right: str) -> int | None:
        """Return HAS_PERMS_BY_NAME; NULL for a right that the version does not have."""
        if kind == "OBJECT":
            assert name is not None
            assert right == "ALTER", right
            found = self.function("OBJECT_ID", [name])
            return None if found is None else int(found not in self.database.not_altered)
        major = int(str(self.database.properties["PRODUCTVERSION"]).split(".")[0])
        if right == "VIEW SERVER PERFORMANCE STATE" and major < _SQL_SERVER_2022:
            return None
        assert right.endswith(" STATE"), right
        return int(self.database.shows_server_state)

    def _is_granted(self, principal: str, resource: str, mode: str, owner: str) -> int:
        """Return APPLOCK_TEST: 1 if the session would get the lock at once, without taking it."""
        if (principal, mode, owner) != ("public", "Exclusive", "Session"):
            raise NotInDoubleError(f"APPLOCK_TEST {principal} {mode} {owner}")
        return int(not self.database.locks.blockers(self, ("application", resource), "X"))

    def _used_pages(self, name: str, file_property: str) -> int | None:
        if file_property != "SpaceUsed":
            raise NotInDoubleError(f"FILEPROPERTY {file_property}")
        return next((one.used for one in self.database.files if one.name == name), None)

    def function(self, name: str, values: list[Any]) -> Any:
        """Return the value of a function of the system."""
        if name == "OBJECT_ID":
            parts = [token.text for token in Parser(values[0])._tokens if token.text != "."]
            if parts[0].lower() == "sys":
                return view_id(self.database, parts[1])
            found = self.find(Name(parts[0], parts[1]) if len(parts) > 1 else Name(None, parts[0]))
            return None if found is None else found.object_id
        simple: dict[str, Callable[[], Any]] = {
            "SCHEMA_NAME": lambda: "dbo",
            "SYSUTCDATETIME": now,
            "APPLOCK_TEST": lambda: self._is_granted(*values),
            "DB_NAME": lambda: self.database.name,
            "TYPE_NAME": lambda: values[0],
            "HAS_PERMS_BY_NAME": lambda: self._has_right(*values),
            "FILEPROPERTY": lambda: self._used_pages(*values),
            "SERVERPROPERTY": lambda: self.database.properties.get(values[0].upper()),
        }
        if name not in simple:
            raise NotInDoubleError(f"function {name}")
        return simple[name]()

"""A session of the double: the statements of its batches, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from . import editions
from .base import Result
from .bulk import BulkLoad
from .columnstore import columnstore
from .errors import NotInDoubleError, SqlError
from .expressions import Scope
from .lexer import Name
from .nodes import Node
from .parser import Parser
from .storage import Database, Table, Transaction
from .switching import Switching


class Session(Switching):
    """A session with a database. `look` raises if its client wants it to end."""

    def __init__(self, database: Database, look: Callable[[], None] = lambda: None) -> None:
        super().__init__(database, look)
        self.bulk: BulkLoad | None = None

    def close(self) -> None:
        """End the session: its transaction is undone, and its locks are released."""
        with self.database.locks.changed:
            self.bulk = None
            if self._transaction is not None:
                self.database.roll_back(self._transaction)
                self._transaction = None
            self.database.locks.release(self)
            self.database.sessions.pop(self.number, None)

    def run(self, sql: str) -> Iterator[Result]:
        """Run a batch: the results of its statements, until one fails."""
        parser = Parser(sql, quoted_identifiers=self.quoted_identifiers)
        for statement in parser.statements():
            result = self._run(statement)
            if result is not None:
                yield result

    def rows(self, sql: str) -> list[list[Any]]:
        """Return the rows of the last query of a batch, for tests."""
        return [result.rows for result in self.run(sql) if result.names is not None][-1]

    def execute(self, sql: str) -> None:
        """Run a batch, for tests."""
        for _ in self.run(sql):
            pass

    def insert(self, table: str, rows: list[list[Any]]) -> None:
        """Insert rows, for tests."""
        values = [[("literal", value) for value in row] for row in rows]
        self._run(("insert", Name(None, table), set(), None, values, None))

    def _run(self, statement: Node) -> Result | None:
        with self.database.locks.changed:
            if statement[0] in ("begin", "commit", "rollback"):
                return self._control(statement[0])
            own = self._transaction or self.database.begin()
            mark = len(own.undo)
            self._of_statement = own
            self.keys.clear()
            self.joins.clear()
            try:
                result = self._dispatch(statement)
            except BaseException:
                self._fail(own, mark)
                raise
            finally:
                self._of_statement = None
            if own is not self._transaction and not (result and result.awaits_rows):
                self.database.commit(own)
            return result

    def _fail(self, own: Transaction, mark: int) -> None:
        """Undo the statement; with XACT_ABORT the whole transaction."""
        if own is not self._transaction:
            self.database.roll_back(own)
        elif self._xact_abort:
            self.database.roll_back(own)
            self._transaction = None
        else:
            self.database.roll_back(own, mark)

    def _control(self, kind: str) -> Result:
        if kind == "begin":
            if self._transaction is not None:
                raise NotInDoubleError("a transaction within another one")
            self._transaction = self.database.begin()
            return Result(transaction=self._transaction.descriptor)
        if self._transaction is None:
            raise SqlError(3902 if kind == "commit" else 3903)
        ended, self._transaction = self._transaction, None
        if kind == "commit":
            self.database.commit(ended)
        else:
            self.database.roll_back(ended)
        return Result(transaction=0, rolled_back=kind == "rollback")

    def _dispatch(self, statement: Node) -> Result | None:
        editions.refuse_statement(self.database, statement)
        method = getattr(self, f"_do_{statement[0]}", None)
        if method is None:
            raise NotInDoubleError(statement[0])
        result: Result | None = method(*statement[1:])
        return result

    # Settings.

    def _do_nothing(self) -> None:
        pass

    def _do_set(self, setting: str, value: str) -> None:
        if setting == "LOCK_TIMEOUT":
            self.lock_timeout = None if value == "-" else int(value) / 1000
        elif setting == "XACT_ABORT":
            self._xact_abort = value == "ON"
        elif setting == "QUOTED_IDENTIFIER":
            self.quoted_identifiers = value == "ON"

    def _do_isolation(self, is_snapshot: bool) -> None:
        self.is_snapshot = is_snapshot

    def _do_identity_insert(self, name: Name, is_on: bool) -> None:
        table = self.table(name, "Sch-S")
        other = self._identity_insert
        if is_on and other is not None and other is not table:
            raise SqlError(8107, other.name, table.name)
        self._identity_insert = table if is_on else None

    def _do_if(self, condition: Node, statement: Node) -> Result | None:
        if not self._evaluator.value(condition, Scope()):
            return None
        if statement[0] in ("commit", "rollback"):
            own = self._of_statement
            if self._transaction is None:
                raise SqlError(3903)
            self._transaction = None
            assert own is not None
            (self.database.commit if statement[0] == "commit" else self.database.roll_back)(own)
            return Result(transaction=0, rolled_back=statement[0] == "rollback")
        return self._dispatch(statement)

    # Bulk loads.

    def _do_insert_bulk(self, name: Name, listed: list[tuple[str, Any]], hints: set[str]) -> Result:
        found = self.find(name)
        if not isinstance(found, Table):
            raise SqlError(208, name.name)
        editions.refuse_bulk_load(self.database, found.partition_column)
        # Loads into a heap without indexes share BU; with an index the lock is Sch-M, so that a
        # second load waits. Into a columnstore, "TABLOCK takes an X lock on the table", so loads in
        # parallel wait, too.
        mode = "IX"
        if "TABLOCK" in hints:
            mode = "X" if columnstore(found) else "Sch-M" if found.indexes else "BU"
        table = self.table(name, mode)
        self.bulk = BulkLoad(self, table, listed, hints)
        return Result(awaits_rows=True)

    def feed(self, payload: bytes) -> None:
        """Take in the payload of a packet of the bulk load; after an error it is ignored."""
        bulk = self.bulk
        assert bulk is not None
        if bulk.error is not None:
            return
        with self.database.locks.changed:
            self._of_statement = bulk.transaction
            try:
                bulk.feed(payload)
            except SqlError as error:
                bulk.error = error
            finally:
                self._of_statement = None

    def end_bulk(self) -> Result:
        """End the bulk load after its last packet."""
        with self.database.locks.changed:
            bulk, self.bulk = self.bulk, None
            assert bulk is not None
            own = bulk.transaction
            self._of_statement = own
            try:
                count = bulk.finish()
            except SqlError:
                self._fail(own, bulk.mark)
                raise
            finally:
                self._of_statement = None
            if own is not self._transaction:
                self.database.commit(own)
            return Result(count=count)

    # Procedures.

    def _do_execute(self, procedure: str, arguments: dict[str, Any]) -> Result:
        if procedure == "sp_rename":
            return self._rename(arguments["0"], arguments["1"])
        if procedure == "sp_getapplock":
            return self._application_lock(arguments)
        raise NotInDoubleError(f"EXEC {procedure}")

    def _application_lock(self, arguments: dict[str, Any]) -> Result:
        """sp_getapplock: the lock dies with its session, or with its transaction."""
        owner: Any = self if arguments["lockowner"].lower() == "session" else self._transaction
        if owner is None:
            return Result(status=-999)
        timeout = int(arguments["locktimeout"]) / 1000
        resource = ("application", arguments["resource"])
        mode = {"exclusive": "X", "shared": "S"}[arguments["lockmode"].lower()]
        try:
            self.database.locks.take(owner, resource, mode, timeout, self._look)
        except SqlError as error:
            if error.number != 1222:
                raise
            return Result(status=-1)
        return Result(status=0)

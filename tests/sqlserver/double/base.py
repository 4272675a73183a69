"""The state that a session's statements share: transaction, locks, names of objects."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .errors import SqlError
from .lexer import Name
from .storage import Database, Table, Transaction, View
from .types import Column

_numbers = itertools.count(51)


@dataclass
class Result:
    """The result of a statement."""

    # The names and rows of a query; also its columns, if their types are described exactly.
    names: list[str] | None = None
    rows: list[list[Any]] = field(default_factory=list)
    columns: list[Column] | None = None
    count: int | None = None
    status: int | None = None
    # The number of the transaction that the statement began; 0 if it ended one, None otherwise.
    transaction: int | None = None
    rolled_back: bool = False
    # True if INSERT BULK was run, so that a message of rows follows.
    awaits_rows: bool = False


class Answering(enum.Enum):
    """The session's activity while it answers a batch."""

    WORKS = enum.auto()
    SENDS = enum.auto()


class SessionBase:
    """The state of a session. `look` raises if its client wants it to end."""

    def __init__(self, database: Database, look: Callable[[], None] = lambda: None) -> None:
        self.database = database
        self.number = next(_numbers)
        # The NUMA node that its connection prefers.
        self.node = 0
        # The number of its client's process.
        self.process_id = 0
        database.sessions[self.number] = self
        # The wait type and the owner of a lock that it waits for, while it waits.
        self.wait: tuple[str, Callable[[], set[Any]]] | None = None
        # Its activity while it answers a batch: it works on the batch, or sends rows.
        self.answering: Answering | None = None
        self._look = look
        self._transaction: Transaction | None = None
        # The transaction of a statement without BEGIN TRANSACTION.
        self._of_statement: Transaction | None = None
        self.lock_timeout: float | None = None
        self._xact_abort = False
        self._identity_insert: Table | None = None
        # True if the isolation level is SNAPSHOT.
        self.is_snapshot = False
        # Drivers switch QUOTED_IDENTIFIER on in their login, but sqlcmd leaves it off
        # (https://learn.microsoft.com/sql/t-sql/statements/set-quoted-identifier-transact-sql).
        self.quoted_identifiers = True

    @property
    def transaction_count(self) -> int:
        """Return @@TRANCOUNT."""
        return int(self._transaction is not None)

    @property
    def transaction(self) -> Transaction:
        """Return the transaction of the statement that runs."""
        assert self._of_statement is not None
        return self._of_statement

    def lock(self, resource: Any, mode: str, owner: Any = None) -> None:
        """Take a lock until the transaction ends."""
        locks = self.database.locks
        owner = owner or self.transaction
        with self._waiting(mode, lambda: locks.blockers(owner, resource, mode)):
            locks.take(owner, resource, mode, self.lock_timeout, self._look)

    @contextmanager
    def _waiting(self, mode: str, blockers: Callable[[], set[Any]]) -> Iterator[None]:
        """Show other sessions what this session waits for, if it has to wait."""
        self.wait = ("LCK_M_" + mode.upper().replace("-", "_"), blockers)
        try:
            yield
        finally:
            self.wait = None

    def _pass(self, resource: Any, mode: str) -> None:
        """Wait until a lock would be granted, and do not keep it."""
        locks = self.database.locks
        own = self.transaction
        blockers = lambda: locks.blockers(own, resource, mode)  # noqa: E731
        with self._waiting(mode, blockers):
            locks.wait(blockers, own, self.lock_timeout, self._look)

    def _key(self, name: Name) -> tuple[str, str]:
        schema = (name.schema or "dbo").lower()
        return schema, name.name.lower()

    def find(self, name: Name) -> Table | View | None:
        """Return the object with a name, once no other session is changing it."""
        key = self._key(name)
        self._pass(("name", *key), "Sch-S")
        return self.database.objects.get(key)

    def table(self, name: Name, mode: str) -> Table:
        """Return a table, locked (error 208)."""
        found = self.find(name)
        if not isinstance(found, Table):
            raise SqlError(208, name.name)
        if mode == "Sch-S":
            # The lock would be held for one statement, and no statement interrupts another.
            self._pass(("table", found.object_id), mode)
        else:
            self.lock(("table", found.object_id), mode)
        return found

    def _change_name(self, name: Name, new: Table | View | None) -> None:
        key = self._key(name)
        self.lock(("name", *key), "Sch-M")
        objects = self.database.objects
        old = objects.pop(key, None)
        if new is not None:
            objects[key] = new

        def undo() -> None:
            objects.pop(key, None)
            if old is not None:
                objects[key] = old

        self.transaction.undo.append(undo)

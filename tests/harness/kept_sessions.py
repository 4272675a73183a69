"""Sessions that tests use one after another: a new one costs the server more than most queries."""

from __future__ import annotations

import select
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

Session = psycopg.Connection[tuple[Any, ...]]


class KeptSessions:
    """The sessions of one server: at most one is kept for each database.

    If a second one is needed at the same time, it is closed after its use.
    """

    def __init__(self) -> None:
        """Begin without sessions."""
        self._kept: dict[str, Session] = {}
        # Sessions of an earlier generation are not kept after their use.
        self._generation = 0

    @contextmanager
    def lend(self, url: str) -> Iterator[Session]:
        """Lend a session with autocommit; nothing of an earlier use is left in it."""
        generation = self._generation
        # Another thread that comes at this moment finds none.
        session = self._kept.pop(url, None)
        if session is not None and not _is_quiet(session):
            session.close()
            session = None
        if session is None:
            session = psycopg.connect(url, autocommit=True)
            # A prepared statement would not see that its tables were changed.
            session.prepare_threshold = None
        try:
            yield session
        except BaseException:
            session.close()
            raise
        _clear(session)
        is_wanted = not session.closed and generation == self._generation
        if not is_wanted or self._kept.setdefault(url, session) is not session:
            session.close()

    def close(self, url: str) -> None:
        """Close the session that is kept for a database."""
        session = self._kept.pop(url, None)
        if session is not None:
            session.close()

    def close_all(self) -> None:
        """Close all that are kept; those in use are closed after their use."""
        self._generation += 1
        for url in list(self._kept):
            self.close(url)


def _is_quiet(session: Session) -> bool:
    """Return false if the server has said anything since the last use, such as that it ended."""
    if session.closed:
        return False
    said = select.poll()
    said.register(session, select.POLLIN)
    return not said.poll(0)


def _clear(session: Session) -> None:
    """Undo what a use has left, also an open transaction. If that fails, close the session."""
    try:
        if session.info.transaction_status != TransactionStatus.IDLE:
            session.rollback()
        session.execute("DISCARD ALL")
    except psycopg.OperationalError:
        session.close()

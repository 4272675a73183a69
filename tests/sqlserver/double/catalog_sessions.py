"""The catalog of the double: its sessions, and what their requests wait for.

The columns are those of sys.dm_exec_requests and sys.dm_exec_sessions
(https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/). Only
sessions with a request have a row in sys.dm_exec_requests. Without VIEW SERVER STATE a login sees
only its own session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base import Answering
from .catalog_view import View, view
from .errors import SqlError

if TYPE_CHECKING:
    from .base import SessionBase


def _sessions(asking: SessionBase) -> list[Any]:
    database = asking.database
    shown = list(database.sessions.values()) if database.shows_server_state else [asking]
    return sorted(shown, key=lambda one: int(one.number))


def _holder(asking: SessionBase, owners: set[Any]) -> int:
    """Return the number of a session that owns one of these locks; 0 if there is none."""
    for session in asking.database.sessions.values():
        if session in owners or session._transaction in owners:
            return int(session.number)
    return 0


def requests(asking: SessionBase) -> View:
    """Return sys.dm_exec_requests."""
    rows = []
    for session in _sessions(asking):
        if session.wait is not None:
            wait_type, blockers = session.wait
            rows.append([session.number, "suspended", wait_type, _holder(asking, blockers())])
        elif session is asking:
            rows.append([session.number, "running", None, 0])
        elif session.answering is Answering.SENDS:
            # "Occurs on network writes when the task is blocked waiting for the client application
            # to acknowledge it has processed all the data sent to it."
            rows.append([session.number, "suspended", "ASYNC_NETWORK_IO", 0])
        elif session.bulk is not None or session.answering is Answering.WORKS:
            wait_type = asking.database.wait_type
            status = "running" if wait_type is None else "suspended"
            rows.append([session.number, status, wait_type, 0])
    return view("session_id status wait_type blocking_session_id", rows)


def connections(asking: SessionBase) -> View:
    """Return sys.dm_exec_connections, which needs VIEW SERVER STATE."""
    if not asking.database.shows_server_state:
        raise SqlError(300, "VIEW SERVER STATE", "server", "master")
    rows = [[one.number, one.node] for one in _sessions(asking)]
    return view("session_id node_affinity", rows)


def session_waits(asking: SessionBase) -> View:
    """Return sys.dm_exec_session_wait_stats; it has only the rows of the session that asks."""
    waits = asking.database.session_waits.items()
    rows = [[asking.number, wait_type, milliseconds] for wait_type, milliseconds in waits]
    return view("session_id wait_type wait_time_ms", rows)


def sessions(asking: SessionBase) -> View:
    """Return sys.dm_exec_sessions."""
    rows = [
        [one.number, "tester", "a test", "sleeping", one.process_id] for one in _sessions(asking)
    ]
    return view("session_id login_name program_name status host_process_id", rows)

"""A real SQL Server that a person names by `INRUSH_TEST_SQLSERVER`, read with python-tds.

The variable has the URL of a server, as `--to` takes it, with one host and a login that may create
databases; `SQLCMDPASSWORD` has its password. The tests' requirements lack python-tds:
CONTRIBUTING.md has the command that installs it.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

VARIABLE = "INRUSH_TEST_SQLSERVER"
PASSWORD = "SQLCMDPASSWORD"  # noqa: S105
LOCK_TIMEOUT = 1222


def is_named() -> bool:
    """Whether a server is named."""
    return bool(os.environ.get(VARIABLE))


class RealSession:
    """A session with a real server; each statement commits."""

    def __init__(self, database: str | None = None) -> None:
        try:
            import pytds  # type: ignore[import-not-found]
        except ImportError:
            message = (
                f"{VARIABLE} needs python-tds: CONTRIBUTING.md has the command that installs it"
            )
            raise RuntimeError(message) from None
        self.error: type[Exception] = pytds.tds_base.Error
        url = urlsplit(os.environ[VARIABLE])
        options = dict(parse_qsl(url.query))
        settings: dict[str, Any] = {}
        if options.get("encrypt") != "off":
            settings["cafile"] = options.get("certificate_authority")
            settings["validate_host"] = options.get("trust_server_certificate") != "yes"
        self._connection = pytds.connect(
            url.hostname,
            database or url.path.lstrip("/"),
            url.username,
            os.environ.get(PASSWORD, ""),
            port=url.port or 1433,
            autocommit=True,
            **settings,
        )

    def rows(self, sql: str) -> list[list[Any]]:
        """Return the rows of a query."""
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            return [list(row) for row in cursor.fetchall()]

    def execute(self, sql: str) -> None:
        """Run statements."""
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            while cursor.nextset():
                pass

    def close(self) -> None:
        """End the session."""
        self._connection.close()


class RealDatabase:
    """A new database, until it is dropped."""

    def __init__(self, number: int) -> None:
        self.name = f"inrush_test_{os.getpid()}_{number}"
        self._is_there = True
        self._on_server(f"CREATE DATABASE {self.name}")

    @property
    def url(self) -> str:
        """The URL of the database; without a password."""
        url = urlsplit(os.environ[VARIABLE])
        return urlunsplit(url._replace(path=f"/{self.name}"))

    def session(self) -> RealSession:
        """Return a session with it."""
        return RealSession(self.name)

    def drop(self) -> None:
        """Remove it, whoever is connected, unless it was removed already."""
        if not self._is_there:
            return
        self._is_there = False
        ends_sessions = f"ALTER DATABASE {self.name} SET SINGLE_USER WITH ROLLBACK IMMEDIATE"
        # Not every server that speaks T-SQL has this statement.
        with contextlib.suppress(Exception):
            self._on_server(ends_sessions)
        self._on_server(f"DROP DATABASE {self.name}")

    @staticmethod
    def _on_server(statement: str) -> None:
        session = RealSession()
        try:
            session.execute(statement)
        finally:
            session.close()

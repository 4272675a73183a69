"""Fixtures: the double, and loads into it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness import certificates
from harness.command import Inrush
from sqlserver.double import Database, Double, Session
from sqlserver.loads import Loads
from sqlserver.statements import OpenSession


@pytest.fixture
def double() -> Iterator[Double]:
    """Return a double with the filegroups `old` and `new`."""
    with Double() as made:
        made.database.filegroups += ["old", "new"]
        yield made
        assert made.unknown == []


@pytest.fixture
def loads(inrush: Inrush, double: Double) -> Loads:
    """Return an object that loads into the double."""
    return Loads(inrush, double)


@pytest.fixture
def empty_database() -> Database:
    """Return an empty database."""
    return Database("test")


@pytest.fixture
def open_session(empty_database: Database) -> Iterator[OpenSession]:
    """Return a function that opens sessions which wait for nothing."""
    opened: list[Session] = []

    def make() -> Session:
        session = Session(empty_database)
        session.lock_timeout = 0
        opened.append(session)
        return session

    yield make
    for session in opened:
        session.close()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> certificates.Authority:
    """Return an authority with a server's certificate: server.crt and server.key."""
    made = certificates.authority(tmp_path_factory.mktemp("certificates"), "root")
    made.sign("server", "/CN=localhost", "subjectAltName = DNS:localhost\n")
    certificates.authority(made.folder, "other")
    return made

"""The fixtures of the conformance suite: each destination, empty, for each test."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.destinations import (
    PLACES,
    AdbcDuckDb,
    AdbcPostgreSql,
    AdbcSqlite,
    DuckDb,
    Parquet,
    Place,
    PostgreSql,
    PostgreSql15,
    PostgreSql18,
    RealSqlServer,
    SqlServerDouble,
)
from conformance.job import Job
from conformance.measured import Measure, Measured, Measuring
from conformance.values import Type
from conftest import SharedServer
from harness.command import Inrush
from harness.servers import Database, Server
from sqlserver.double import Double
from sqlserver.real_server import RealDatabase

# Makes an empty destination of a kind; its files are in the folder.
MakePlace = Callable[[type[Place], Path], Place]
# Makes a job for the test's destination.
MakeJob = Callable[..., Job]


@pytest.fixture(scope="session")
def old_server(shared_server: SharedServer) -> Server:
    """Return a running server of an old version."""
    return shared_server(15)


@pytest.fixture(scope="session")
def make_place(request: pytest.FixtureRequest) -> MakePlace:
    """Return a function that makes empty destinations; servers are started when they are needed."""
    numbers = itertools.count(1)

    def database(server: str) -> Database:
        running: Server = request.getfixturevalue(server)
        return running.create_database(f"conformance_{next(numbers)}")

    def make(kind: type[Place], folder: Path) -> Place:
        if kind is PostgreSql18:
            made = database("newest_server")
            return PostgreSql18(made, made.url)
        if kind is PostgreSql15:
            made = database("old_server")
            return PostgreSql15(made, made.url)
        if kind is AdbcPostgreSql:
            return AdbcPostgreSql(database("newest_server"))
        if kind is DuckDb:
            return DuckDb(folder / "results.duckdb")
        if kind is AdbcDuckDb:
            return AdbcDuckDb(folder / "results.duckdb")
        if kind is AdbcSqlite:
            return AdbcSqlite(folder / "results.sqlite")
        if kind is SqlServerDouble:
            double = Double()
            request.addfinalizer(lambda: double.__exit__())
            return SqlServerDouble(double.__enter__())
        if kind is RealSqlServer:
            real = RealDatabase(next(numbers))
            request.addfinalizer(real.drop)
            return RealSqlServer(real)
        assert kind is Parquet
        return Parquet(folder / "lake")

    return make


@pytest.fixture(params=PLACES, ids=lambda kind: kind.name)
def place(request: pytest.FixtureRequest, make_place: MakePlace, tmp_path: Path) -> Iterator[Place]:
    """Return each destination, empty."""
    made = make_place(request.param, tmp_path)
    yield made
    if isinstance(made, PostgreSql):
        made.database.server.done_with(made.database)
    if isinstance(made, RealSqlServer):
        made.database.drop()
    if isinstance(made, SqlServerDouble):
        made.double.__exit__()
        assert made.double.unknown == []


@pytest.fixture
def make_job(place: Place, inrush: Inrush) -> MakeJob:
    """Return a function that makes a job for each destination."""

    def make(**settings: object) -> Job:
        return Job(place, inrush, **settings)  # type: ignore[arg-type]

    return make


@pytest.fixture
def job(make_job: MakeJob) -> Job:
    """Return a load of several files into a new table of each destination."""
    return make_job()


@pytest.fixture(scope="session")
def measure(make_place: MakePlace, tmp_path_factory: pytest.TempPathFactory) -> Measure:
    """Return a function that loads a type's values into a destination, once for the session."""
    measuring: dict[str, Measuring] = {}

    def what_becomes_of(kind: type[Place], type_: Type) -> Measured:
        if kind.name not in measuring:
            folder = tmp_path_factory.mktemp(kind.name)
            measuring[kind.name] = Measuring(make_place(kind, folder), Inrush(folder))
        return measuring[kind.name].of(type_)

    return what_becomes_of

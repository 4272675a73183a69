"""The fixtures of all tests: servers for the session, a database and a folder for each test."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from harness import extension, servers
from harness.command import Inrush
from harness.proxy import Proxy
from harness.servers import Database, Server

StartServer = Callable[..., Server]
FindPrograms = Callable[[int], Path]
SharedServer = Callable[[int], Server]

_database_numbers = itertools.count(1)
_file_numbers = itertools.count(1)
_FILES = pytest.StashKey[Path]()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Put the files of tests beside the servers.

    The files of a failed test stay until the next session.
    """
    is_worker = hasattr(config, "workerinput")
    if not is_worker and config.option.basetemp is None and not config.option.collectonly:
        lock = ExitStack()
        folder = lock.enter_context(servers.locked_folder())
        config.option.basetemp = folder / "files"
        config.stash[_FILES] = folder
        config.add_cleanup(lock.close)


def pytest_report_header(config: pytest.Config) -> str:
    """Say when the tests begin, and where their files are: tests take longer on a disk."""
    return f"begun: {datetime.now():%H:%M:%S}, files of tests: {config.option.basetemp}"


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Remove the files of tests if none has failed."""
    folder = session.config.stash.get(_FILES, None)
    if folder is not None and exitstatus == pytest.ExitCode.OK:
        shutil.rmtree(folder)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Use no bytes in the names of tests.

    Bytes contain times, but all processes must use the same names.
    """
    return "bytes" if isinstance(val, bytes) else None


@pytest.fixture(scope="session", autouse=True)
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the records of data folders out of the home of the user who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def session_folder() -> Iterator[Path]:
    """Return a folder for files that all test modules share; see `servers_folder`."""
    with servers.session_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def servers_folder(session_folder: Path) -> Iterator[Path]:
    """Return a folder that the servers' user can enter; its path is short enough for a socket.

    The folder is removed after the tests of a module, because the servers of all modules together
    would take gigabytes of memory.
    """
    folder = session_folder / f"{next(_file_numbers)}"
    folder.mkdir(mode=0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def find_programs(session_folder: Path) -> FindPrograms:
    """Return a function that finds a version's programs; without them a test is skipped."""
    found: dict[int, Path | None] = {}

    def find(version: int) -> Path:
        if version not in found:
            found[version] = servers.reachable_programs(version, session_folder)
        programs = found[version]
        if programs is None:
            reason = f"PostgreSQL {version} is not installed"
            if os.environ.get("CI") == "true":
                pytest.fail(reason)
            pytest.skip(reason)
        return programs

    return find


@contextmanager
def _starting(folder: Path, find_programs: FindPrograms) -> Iterator[StartServer]:
    started: list[Server] = []

    def start(
        version: int = 18,
        settings: dict[str, str] | None = None,
        password: str | None = None,
    ) -> Server:
        programs = find_programs(version)
        place = folder / f"{version}-{len(started)}"
        server = Server(version, programs, place, settings or dict(servers.FAST))
        server.initialise(password=password)
        server.start()
        if password is None:
            extension.install_everywhere(server, folder)
        started.append(server)
        return server

    yield start
    for server in started:
        if server.running:
            server.stop("immediate")


@pytest.fixture(scope="module")
def start_server(servers_folder: Path, find_programs: FindPrograms) -> Iterator[StartServer]:
    """Return a function that makes and starts a server, which runs until its file of tests ends."""
    with _starting(servers_folder, find_programs) as start:
        yield start


@pytest.fixture(scope="session")
def start_shared_server(session_folder: Path, find_programs: FindPrograms) -> Iterator[StartServer]:
    """Return a function that makes and starts a server for the tests of all files."""
    with _starting(session_folder, find_programs) as start:
        yield start


@pytest.fixture(scope="session")
def shared_server(start_shared_server: StartServer) -> SharedServer:
    """Return a function that returns a version's running server, shared by all tests."""
    running: dict[int, Server] = {}

    def shared(version: int) -> Server:
        # A fixture with parameters is set up again whenever the next test has another parameter.
        if version not in running:
            running[version] = start_shared_server(version)
        return running[version]

    return shared


@pytest.fixture(scope="session", params=servers.VERSIONS, ids=lambda version: f"pg{version}")
def server(request: pytest.FixtureRequest, shared_server: SharedServer) -> Server:
    """Return a running server of each version, shared by all tests."""
    return shared_server(request.param)


@pytest.fixture(scope="session")
def newest_server(shared_server: SharedServer) -> Server:
    """Return a running server of the newest version, for tests that need no other."""
    return shared_server(servers.VERSIONS[0])


@pytest.fixture(scope="module", params=servers.VERSIONS, ids=lambda version: f"pg{version}")
def tcp_server(request: pytest.FixtureRequest, start_server: StartServer) -> Server:
    """Return a server on TCP, for each version."""
    server = start_server(request.param)
    server.move_to_tcp()
    return server


@pytest.fixture
def proxy(tcp_server: Server) -> Iterator[Proxy]:
    """Return a proxy before the server on TCP."""
    with Proxy(tcp_server.port) as one:
        yield one


def _database(server: Server) -> Iterator[Database]:
    database = server.create_database(f"test_{next(_database_numbers)}")
    yield database
    server.done_with(database)


@pytest.fixture
def database(server: Server) -> Iterator[Database]:
    """Return an empty database on a server of each version."""
    yield from _database(server)


@pytest.fixture
def newest_database(newest_server: Server) -> Iterator[Database]:
    """Return an empty database on a server of the newest version."""
    yield from _database(newest_server)


@pytest.fixture
def inrush(tmp_path: Path) -> Inrush:
    """Return the command, run in a folder of this test."""
    return Inrush(tmp_path)

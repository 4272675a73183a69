"""On a silent network no user waits forever, and the run finds out if a commit succeeded."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from conftest import StartServer
from faults.loads import LOADS
from faults.stalled_load import StalledLoad, outcomes
from harness.command import CLEAN, FAILED, INTERRUPTED, Inrush
from harness.packages import package
from harness.proxy import Proxy, Trouble
from harness.servers import Database, Server

PRIVATE = next(load for load in LOADS if load.name == "private")


@pytest.fixture(scope="module")
def tcp_server(start_server: StartServer) -> Server:
    """Return a server on TCP."""
    server = start_server(18)
    server.move_to_tcp()
    return server


def prepare(inrush: Inrush, proxy: Proxy, database: Database) -> None:
    for name, content in PRIVATE.files().items():
        inrush.write(name, content)
    url = f"postgresql://{database.server.user}@127.0.0.1:{proxy.port}/{database.name}"
    inrush.write("package.toml", package(url, *PRIVATE.flows))


def rows(database: Database) -> int:
    if database.value("SELECT to_regclass('loaded') IS NULL"):
        return 0
    return int(database.value("SELECT count(*) FROM loaded"))


@contextmanager
def stalled_at(server: Server, folder: Path, commit: int, passes: bool) -> Iterator[StalledLoad]:
    """Start a load, and enter the block when its network stalls at this COMMIT."""
    database = server.create_database(f"stall_{commit}_{passes}".lower())
    inrush = Inrush(folder / database.name)
    inrush.folder.mkdir()
    with Proxy(server.port) as proxy:
        prepare(inrush, proxy, database)
        trouble = Trouble("stall", at_commit=commit, commit_passes=passes)
        proxy.begin(trouble)
        with inrush.start("run", "package.toml") as running:
            assert trouble.struck.wait(60), trouble
            yield StalledLoad(database, inrush, proxy, running)


def test_one_signal_ends_a_load_whose_network_stalls(tcp_server: Server, tmp_path: Path) -> None:
    """The network stalls at each kind of COMMIT, before or after the server gets it.

    A load waits up to 15 seconds for its server, so the loads of all cases wait at the same time.
    """
    with ExitStack() as stack:
        # The commits of a load of four units: the ledger's, the units', the switch's.
        loads = [
            stack.enter_context(stalled_at(tcp_server, tmp_path, commit, passes))
            for commit in (1, 2, 4, 5)
            for passes in (False, True)
        ]
        for load in loads:
            load.running.send(signal.SIGINT)
        for load, outcome in outcomes(loads, 45):
            assert outcome.status in (INTERRUPTED, FAILED), f"{load.proxy.trouble}: {outcome.said}"
        for load in loads:
            load.run_again()
            assert rows(load.database) == sum(map(len, PRIVATE.full().values())), load.database


def test_a_commit_whose_answer_is_lost_is_settled(
    tcp_server: Server, proxy: Proxy, inrush: Inrush
) -> None:
    """The switch is committed but its reply is lost; the run finds out and succeeds."""
    database = tcp_server.create_database("settled")
    prepare(inrush, proxy, database)
    proxy.begin(None)
    inrush("check", "package.toml").expect(CLEAN)
    # The switch's COMMIT is the last one, as a load of the same form shows.
    other = tcp_server.create_database("counted")
    text = (inrush.folder / "package.toml").read_text()
    proxy.begin(None)
    counted = inrush.write("counted.toml", text.replace("/settled", "/counted"))
    inrush("run", counted).expect(CLEAN)
    _, commits = proxy.counted()
    assert rows(other) > 0
    trouble = Trouble("cut", at_commit=commits, commit_passes=True)
    proxy.begin(trouble)
    inrush("run", "package.toml").expect(CLEAN)
    assert trouble.struck.is_set()
    assert rows(database) == sum(map(len, PRIVATE.full().values()))
    inrush("run", "package.toml").expect(CLEAN, "already loaded")


def test_a_switch_that_the_server_never_hears_the_end_of_is_settled(
    tcp_server: Server, proxy: Proxy, inrush: Inrush
) -> None:
    """The connection is lost before COMMIT, while its backend waits and still holds the run."""
    database = tcp_server.create_database("unheard")
    prepare(inrush, proxy, database)
    counted = inrush.write(
        "counted.toml", (inrush.folder / "package.toml").read_text().replace("/unheard", "/heard")
    )
    tcp_server.create_database("heard")
    proxy.begin(None)
    inrush("run", counted).expect(CLEAN)
    _, commits = proxy.counted()
    trouble = Trouble("server_gone", at_commit=commits, hits_all=False)
    proxy.begin(trouble)
    inrush("run", "package.toml").expect(FAILED, "error:")
    assert trouble.struck.is_set()
    assert rows(database) == 0
    proxy.begin(None)
    inrush("run", "package.toml").expect(CLEAN)
    assert rows(database) == sum(map(len, PRIVATE.full().values()))

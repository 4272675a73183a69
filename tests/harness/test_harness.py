"""The harness itself: its servers run, and its comparisons detect every difference."""

from __future__ import annotations

import contextlib
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from harness import servers
from harness.checkout import ROOT
from harness.command import Inrush
from harness.contents import assert_same_rows, differing_rows
from harness.processes import processes_in
from harness.proxy import Proxy
from harness.servers import Database


def test_a_server_of_each_version_runs(database: Database) -> None:
    version = int(database.value("SHOW server_version_num"))
    assert version // 10_000 == database.server.version


HELD = """
import subprocess, sys
from harness import servers
with servers.session_folder() as folder:
    server = subprocess.Popen(["sleep", "600"], cwd=folder)
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_a_killed_session_of_tests_leaves_nothing_for_long() -> None:
    session = subprocess.Popen(
        [sys.executable, "-c", HELD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT / "tests",
    )
    with session:
        assert session.stdout is not None
        folder = Path(session.stdout.readline().decode().strip())
        servers.remove_if_left(folder)
        assert len(processes_in(folder)) == 1
        assert folder.is_dir()
        session.kill()
    servers.remove_if_left(folder)
    assert processes_in(folder) == []
    assert not folder.exists()


@pytest.mark.parametrize(
    "other",
    [
        "SELECT 1 AS id, 1.0::numeric AS value",
        "SELECT 1 AS id, NULL::numeric AS value",
        "SELECT 1 AS id, 1.00::numeric AS value UNION ALL SELECT 1, 1.00",
        "SELECT 1 AS id, 1.00::numeric AS value LIMIT 0",
    ],
)
def test_comparisons_see_a_difference(newest_database: Database, other: str) -> None:
    newest_database.execute("CREATE TABLE one AS SELECT 1 AS id, 1.00::numeric AS value")
    newest_database.execute(f"CREATE TABLE other AS {other}")
    assert_same_rows(newest_database, "one", "one", "id")
    with pytest.raises(AssertionError):
        assert_same_rows(newest_database, "one", "other", "id")


def test_differing_rows_counts_duplicates(newest_database: Database) -> None:
    newest_database.execute(
        "CREATE TABLE one AS SELECT 1 AS id; CREATE TABLE two AS SELECT 1 AS id UNION ALL SELECT 1"
    )
    assert differing_rows(newest_database, "one", "one") == 0
    assert differing_rows(newest_database, "one", "two") == 1


def test_psql_copies_a_file(database: Database, tmp_path: object) -> None:
    database.execute("CREATE TABLE copied (id int, value text)")
    path = f"{tmp_path}/rows"
    with open(path, "w") as file:  # noqa: PTH123
        file.write("1\tone\n2\t\\N\n")
    database.psql(f"\\copy copied FROM '{path}'")
    assert database.rows("SELECT * FROM copied ORDER BY id") == [(1, "one"), (2, None)]


@pytest.mark.parametrize("resetting", ["server", "client"])
def test_the_proxy_passes_a_reset_on(resetting: str) -> None:
    """The proxy resets one end while no data is on the way, and the other end notices it."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Proxy(listener.getsockname()[1]) as proxy,
    ):
        client = socket.create_connection(("127.0.0.1", proxy.port), timeout=30)
        server, _ = listener.accept()
        server.settimeout(30)
        client.sendall(b"hello")
        assert server.recv(5) == b"hello"
        one, other = (server, client) if resetting == "server" else (client, server)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.close()
        with contextlib.suppress(ConnectionResetError):
            assert other.recv(1) == b""
        other.close()


def test_a_command_that_ends_was_never_stopped(inrush: Inrush) -> None:
    with (
        pytest.raises(AssertionError, match="was never stopped"),
        inrush.stopped_by("stop:before_switch", "--version"),
    ):
        pytest.fail("the block was entered")


@pytest.mark.parametrize(
    "script",
    [
        "benchmarks/suite.py",
        "tests/faults/torture.py",
        "tests/values/torture.py",
        "tests/verdict/matrix.py",
    ],
)
def test_a_script_finds_the_harness(script: str, inrush: Inrush) -> None:
    """The script runs from any folder, by the path that `make build` has written into .venv."""
    command: list[str | Path] = [sys.executable, ROOT / script, "--help"]
    done = subprocess.run(command, cwd=inrush.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}\nHas `make build` been run?"

"""Each way to slow a load down has its effect, and leaves nothing behind.

Times have lower limits here but no upper ones, because any machine may take longer.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import monotonic

import pytest

from harness import pauses, polling
from harness.servers import Database
from verdict import cpu, disk, network, pipe, server_side
from verdict.system import allowed

ROWS_BYTES = 256 << 10
# <linux/tcp.h>: where `tcpi_rtt` and `tcpi_total_retrans` stand in TCP_INFO.
ROUND_TRIP_AT = 68
SENT_AGAIN_AT = 100


@pytest.fixture
def slow_disk(tmp_path: Path) -> Iterator[disk.SlowDisk]:
    with allowed():
        made = disk.SlowDisk(tmp_path, "slow", 64 << 20)
    with made:
        yield made


@pytest.fixture(params=["veth", "tun"])
def way(request: pytest.FixtureRequest) -> Iterator[network.Network]:
    with allowed():
        made = network.Network(request.param)
    with made:
        yield made


def test_a_disk_reads_at_a_rate(slow_disk: disk.SlowDisk) -> None:
    rows = os.urandom(2 << 20)
    path = slow_disk.folder / "rows"
    path.write_bytes(rows)
    slow_disk.forget()
    began = monotonic()
    with slow_disk.limited(reads=4e6):
        assert path.read_bytes() == rows
    assert monotonic() - began > 0.3


def test_a_disk_writes_at_a_rate(slow_disk: disk.SlowDisk) -> None:
    path = slow_disk.folder / "rows"
    began = monotonic()
    with slow_disk.limited(writes=4e6), path.open("wb") as file:
        file.write(os.urandom(2 << 20))
        os.fsync(file.fileno())
    assert monotonic() - began > 0.3
    limit = disk.GROUP / "blkio.throttle.write_bps_device"
    assert "4000000" not in limit.read_text()


def test_a_disk_is_gone_in_the_end(tmp_path: Path) -> None:
    with allowed():
        made = disk.SlowDisk(tmp_path, "slow", 64 << 20)
    with made:
        assert str(made.folder) in Path("/proc/mounts").read_text()
    assert str(made.folder) not in Path("/proc/mounts").read_text()
    assert not (tmp_path / "slow.img").exists()


def test_a_quota_of_cpu() -> None:
    burn = "from time import *\nwhile process_time() < 0.3: pass\nprint(monotonic())"
    began = monotonic()
    with allowed(), cpu.quota(0.25) as words:
        done = subprocess.run(
            [*words, sys.executable, "-c", burn], capture_output=True, text=True, check=True
        )
    assert float(done.stdout) - began > 0.8


def test_neighbours_are_on_one_core() -> None:
    core = min(os.sched_getaffinity(0))
    with allowed(), cpu.neighbours(2, core) as processes:
        assert len(set(processes)) == 2
        for process in processes:
            # A program that first moves to the core starts it.
            polling.until(partial(_is_on, process, core))
    assert not any(Path(f"/proc/{process}").exists() for process in processes)


@contextmanager
def sent_over(way: network.Network, payload: bytes) -> Iterator[socket.socket]:
    """Send bytes from the loader's side, and yield the socket once all of them have arrived."""
    got = bytearray()
    with socket.create_server((way.server_address, 0)) as listener:
        address = listener.getsockname()
        sockets: list[socket.socket] = []

        def connect() -> None:
            # A thread may be in a different namespace.
            namespace = os.open(f"/run/netns/{way.namespace}", os.O_RDONLY)
            _enter(namespace)
            sockets.append(socket.create_connection(address))

        connecting = threading.Thread(target=connect)
        connecting.start()
        accepted, _ = listener.accept()
        connecting.join()
        (client,) = sockets
        with accepted, client:
            sending = threading.Thread(target=client.sendall, args=(payload,))
            sending.start()
            while len(got) < len(payload):
                got += accepted.recv(1 << 16)
            sending.join()
            assert bytes(got) == payload
            yield client


def _enter(namespace: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    try:
        # CLONE_NEWNET
        if library.setns(namespace, 0x40000000) != 0:
            raise OSError(ctypes.get_errno(), "setns")
    finally:
        os.close(namespace)


def _tcp(client: socket.socket, offset: int) -> int:
    information = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
    (value,) = struct.unpack_from("I", information, offset)
    return int(value)


def test_bytes_come_through(way: network.Network) -> None:
    with sent_over(way, os.urandom(ROWS_BYTES)):
        pass


def test_a_link_has_a_rate(way: network.Network) -> None:
    began = monotonic()
    with allowed(), way.rate(1e6), sent_over(way, os.urandom(2 * ROWS_BYTES)):
        assert monotonic() - began > 0.3


def test_packets_are_lost(way: network.Network) -> None:
    with allowed(), way.loss(0.2), sent_over(way, os.urandom(ROWS_BYTES)) as client:
        assert _tcp(client, SENT_AGAIN_AT) > 0


def test_packets_are_kept(way: network.Network) -> None:
    with allowed(), way.delay(0.03), sent_over(way, os.urandom(ROWS_BYTES)) as client:
        assert _tcp(client, ROUND_TRIP_AT) >= 60_000


def test_a_pipe_is_fed(tmp_path: Path) -> None:
    sources = [tmp_path / "first", tmp_path / "second"]
    for source in sources:
        source.write_bytes(os.urandom(ROWS_BYTES))
    whole = b"".join(source.read_bytes() for source in sources)
    path = tmp_path / "rows"
    began = monotonic()
    with pipe.fed(path, sources, 1e6):
        assert path.read_bytes() == whole
    assert monotonic() - began > 0.4
    assert not path.exists()


def _is_on(process: int, core: int) -> bool:
    return os.sched_getaffinity(process) == {core}


def test_a_pipe_that_nobody_reads(tmp_path: Path) -> None:
    source = tmp_path / "first"
    source.write_bytes(os.urandom(ROWS_BYTES))
    with pipe.fed(tmp_path / "rows", [source], None):
        pass
    assert not (tmp_path / "rows").exists()


def test_backends_are_stopped_in_turns(newest_database: Database) -> None:
    newest_database.execute("CREATE TABLE loaded (id int)")
    with (
        newest_database.connect() as connection,
        connection.cursor() as cursor,
        cursor.copy("COPY loaded FROM STDIN") as copy,
    ):
        process = connection.info.backend_pid
        with allowed(), server_side.paused(newest_database, 0.5):
            polling.until(lambda: _state(process) == "T")
            polling.until(lambda: _state(process) != "T")
        assert _state(process) != "T"
        copy.write("1\n")
    assert newest_database.value("SELECT count(*) FROM loaded") == 1


def _state(process: int) -> str:
    return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0]


def test_a_lock_is_held_in_turns(newest_database: Database) -> None:
    newest_database.execute("CREATE TABLE loaded (id int)")
    held = (
        "SELECT {} EXISTS (SELECT FROM pg_locks WHERE relation = 'loaded'::regclass "
        "AND mode = 'ShareLock' AND granted)"
    )
    with server_side.locked(newest_database, "loaded", 0.5):
        for _ in range(2):
            pauses.wait_until(newest_database, held.format(""))
            pauses.wait_until(newest_database, held.format("NOT"))
    assert newest_database.value(held.format("NOT"))

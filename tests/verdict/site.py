"""Sets up slow servers, disks and networks for loads, and the files to load."""

from __future__ import annotations

import itertools
import json
import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import servers
from harness.command import CLEAN, Inrush
from harness.packages import Value, flow, package
from harness.servers import Database, Server
from verdict.cpu import kept_off, pinned
from verdict.disk import SlowDisk
from verdict.network import Network
from verdict.pipe import fed
from verdict.system import CannotError, run

FILES = 8
# A verdict needs a load of at least a second, also on a machine that loads 100 MB in that time.
FILE_BYTES = 16 << 20
TABLE = "loaded"
COLUMNS = "id bigint not null, day date not null, price numeric(12,2), note text"
# The core that a pinned loader runs on.
CORE = 0
# A load that is slowed down a lot still ends within this time.
SECONDS_MAX = 240
DURABLE = servers.DURABLE | {"wal_level": "replica", "max_wal_senders": "5"}


@dataclass(frozen=True)
class Ground:
    """The facts that a run and its control have in common."""

    # `fast`, or `durable` with its WAL on a separate disk.
    server: str = "fast"
    # `socket`, `loopback`, `veth` or `tun`.
    way: str = "socket"
    # `files`, `disk` for a separate disk, `split` for one file there, or `pipe`.
    source: str = "files"
    streams: int = 2
    # Delay of each packet in each direction; only `tun` can delay packets.
    delay_s: float = 0.0
    # The loader has one core, and the server has the others.
    is_pinned: bool = False
    # Rows go directly into the target, so the load needs its locks.
    is_straight: bool = False

    def __str__(self) -> str:
        """Return the facts in words."""
        words = [self.server, self.way, self.source, f"{self.streams} streams"]
        words += [f"{self.delay_s * 1e3:.0f} ms"] * (self.delay_s > 0)
        words += ["pinned"] * self.is_pinned + ["straight"] * self.is_straight
        return ", ".join(words)


@dataclass(frozen=True)
class Measured:
    """A run that has ended."""

    report: dict[str, Any]

    @property
    def measurements(self) -> dict[str, Any]:
        """Its measurements."""
        measured: dict[str, Any] = self.report["measurements"]
        return measured

    @property
    def load_s(self) -> float:
        """How long its streams ran."""
        return float(self.measurements["load_s"])

    @property
    def text_rate(self) -> float:
        """Bytes of text in a second."""
        streams = self.measurements["streams"]
        return sum(float(sum(stream["text_bytes"])) for stream in streams) / self.load_s

    @property
    def rows(self) -> int:
        """Rows that it read."""
        return int(self.report["account"]["rows_read"])

    @property
    def loader_cores(self) -> float:
        """Cores that the loader used."""
        return float(sum(self.measurements["machine"]["loader_cpu_us"])) / 1e6 / self.load_s

    @property
    def wal_rate(self) -> float:
        """Bytes of WAL in a second."""
        server = self.measurements.get("server", {})
        return float(server.get("wal_bytes", 0)) / self.load_s


class Site:
    """Everything that runs need; each part is made when it is first needed."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self._folder = folder
        self._programs = programs
        self._stack = ExitStack()
        self._servers: dict[str, Server] = {}
        self._disks: dict[str, SlowDisk | CannotError] = {}
        self._networks: dict[str, Network | CannotError] = {}
        self._numbers = itertools.count(1)
        self.files = self._make_files(folder / "files")

    @staticmethod
    def _make_files(folder: Path) -> list[Path]:
        folder.mkdir()
        files = []
        for part in range(FILES):
            rows = "".join(
                f"{part * 100_000 + number}|2024-{number % 12 + 1:02}-{number % 28 + 1:02}|"
                f"{number * 37 % 1_000_000 / 100:.2f}|the note of row number {number} in {part}|\n"
                for number in range(20_000)
            ).encode()
            path = folder / f"rows.tbl.{part}"
            path.write_bytes(rows * (FILE_BYTES // len(rows) + 1))
            files.append(path)
        return files

    def disk(self, name: str, size_bytes: int = 2 << 30) -> SlowDisk:
        """Return a separate disk."""
        if name not in self._disks:
            try:
                disk = SlowDisk(self._folder, f"disk-{name}", size_bytes)
                self._disks[name] = self._stack.enter_context(disk)
            except CannotError as error:
                self._disks[name] = error
        found = self._disks[name]
        if isinstance(found, CannotError):
            raise found
        return found

    def network(self, kind: str) -> Network:
        """Return a separate network, on which the servers listen."""
        if kind not in self._networks:
            try:
                network = self._stack.enter_context(Network(kind))
                self._networks[kind] = network
                for server in self._servers.values():
                    self._listen(server)
                    server.restart("fast")
            except CannotError as error:
                self._networks[kind] = error
        found = self._networks[kind]
        if isinstance(found, CannotError):
            raise found
        return found

    def _listen(self, server: Server) -> None:
        known = [known for known in self._networks.values() if isinstance(known, Network)]
        addresses = ["127.0.0.1", *(network.server_address for network in known)]
        server.configure(server.settings, addresses=",".join(addresses))
        access = server.data / "pg_hba.conf"
        ours = "".join(f"host all all {one}/24 trust\n" for one in addresses[1:])
        kept = [line for line in access.read_text().splitlines() if "10.231." not in line]
        access.write_text("\n".join(kept) + "\n" + ours)

    def server(self, name: str) -> Server:
        """Return a running server."""
        if name not in self._servers:
            settings = servers.FAST if name == "fast" else DURABLE
            port = 45_000 + len(self._servers)
            server = Server(18, self._programs, self._folder / name, dict(settings), port=port)
            server.initialise()
            if name == "durable":
                self._move_wal(server)
            self._listen(server)
            server.start()
            self._stack.callback(server.stop, "immediate")
            self._servers[name] = server
        return self._servers[name]

    def _move_wal(self, server: Server) -> None:
        wal = server.data / "pg_wal"
        elsewhere = self.disk("wal").folder / "pg_wal"
        run("cp", "--archive", wal, elsewhere)
        shutil.rmtree(wal)
        wal.symlink_to(elsewhere)

    def source(self, ground: Ground, folder: Path) -> list[Path]:
        """Return the files of a ground; those on a separate disk are not in the page cache."""
        if ground.source in ("files", "pipe"):
            return self.files
        disk = self.disk("source")
        wanted = self.files if ground.source == "disk" else self.files[:1]
        for path in wanted:
            if not (disk.folder / path.name).exists():
                shutil.copy(path, disk.folder)
        disk.forget()
        linked = []
        for path in self.files:
            place = folder / path.name
            place.symlink_to(disk.folder / path.name if path in wanted else path)
            linked.append(place)
        return linked

    def open_database(self, ground: Ground) -> Database:
        """Return an empty database."""
        database = self.server(ground.server).create_database(f"run_{next(self._numbers)}")
        if ground.is_straight:
            database.execute(f"CREATE TABLE {TABLE} ({COLUMNS})")
        return database

    def load(
        self,
        ground: Ground,
        database: Database,
        before: list[str],
        fed_rate: float | None = None,
        steps: str = "",
    ) -> Measured:
        """Run a load to its end; the words in `before` start its command."""
        folder = self._folder / database.name
        folder.mkdir()
        before = list(before)
        server = database.server
        address = {"socket": None, "loopback": "127.0.0.1"}
        if ground.way in address:
            host = address[ground.way]
        else:
            network = self.network(ground.way)
            host, before = network.server_address, [*before, *network.inside]
        url = database.url
        if host is not None:
            url = f"postgresql://{server.user}@{host}:{server.port}/{database.name}"
        if ground.is_pinned:
            before = [*before, *pinned(CORE)]
        how: dict[str, Value] = {"columns": COLUMNS.split(", ")}
        if ground.is_straight:
            how = {"mode": "append", "atomic": False}
        inrush = Inrush(folder)
        with ExitStack() as stack:
            if ground.is_pinned:
                stack.enter_context(kept_off(CORE, server.first_process))
            if ground.delay_s > 0:
                stack.enter_context(self.network(ground.way).delay(ground.delay_s))
            files = self.source(ground, folder)
            names: list[str] = [str(path) for path in files]
            if ground.source == "pipe":
                pipe = folder / "rows.tbl"
                stack.enter_context(fed(pipe, files, fed_rate))
                names = [str(pipe)]
            text = package(url, flow(TABLE, names, **how) + steps, streams=ground.streams)
            running = stack.enter_context(
                inrush.start("run", inrush.write("package.toml", text), before=before)
            )
            outcome = running.wait(SECONDS_MAX)
            report = outcome.expect(CLEAN).report
        shutil.rmtree(folder)
        return Measured(report)

    def drop(self, database: Database) -> None:
        """Drop a database."""
        database.server.drop(database)

    def close(self) -> None:
        """Stop and remove everything."""
        self._stack.close()


def keep(measured: Measured, path: Path) -> None:
    """Keep a run's report, so that it can be judged again."""
    path.write_text(json.dumps(measured.report))

"""One load into files of a destination, for faults."""

from __future__ import annotations

import json
import random
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.dataset as pads

from conformance.destinations import AdbcDuckDb, AdbcSqlite, DuckDb, Parquet, Place
from faults import site
from faults.file_destinations.loads import FileLoad, Tables
from faults.loads import COLUMN_LIST, COLUMNS, Row, text_of
from faults.scene import check_ended
from harness.command import CLEAN, FAILED, Inrush, Outcome, Running
from harness.serial import assert_account, places

PACKAGE = "package.toml"
# The folder of the destination's files, on a separate disk if this user may mount one.
DISK = "disk"
DISK_BYTES = 1 << 30

# The rows of each target; None if there is no table.
Seen = dict[str, "list[Row] | None"]


def made_place(kind: type[Place], folder: Path) -> Place:
    """Return an empty destination whose files are on the disk of this folder."""
    disk = folder / DISK
    if kind is Parquet:
        lake = Parquet(disk / "lake")
        lake.url = f"parquet:{DISK}/lake"
        return lake
    if kind is DuckDb:
        return DuckDb(disk / "results.duckdb", f"{DISK}/results.duckdb")
    if kind is AdbcDuckDb:
        duckdb = AdbcDuckDb(disk / "results.duckdb")
        duckdb.options["path"] = f"{DISK}/results.duckdb"
        return duckdb
    assert kind is AdbcSqlite
    sqlite = AdbcSqlite(disk / "results.sqlite")
    sqlite.options["uri"] = f"{DISK}/results.sqlite"
    return sqlite


def is_refused_as_changed(outcome: Outcome) -> bool:
    """Whether a command refused a changed file; then the stopped run must be abandoned."""
    return outcome.status == FAILED and "changed since" in outcome.said


@dataclass
class FileScene:
    """A load under faults."""

    place: Place
    load: FileLoad
    inrush: Inrush
    numbers: random.Random
    # The seconds of the undisturbed load, and the bytes that it leaves.
    seconds: float = 0
    used_bytes: int = 0
    # True if the files are on a separate disk.
    has_disk: bool = False
    # Rows that a fault inserts into a target, and that its watchers may see.
    strange_rows: list[list[Row]] = field(default_factory=list)
    # The folder of runs, if a fault gave it a separate disk.
    runs_disk: Path | None = None
    before: Tables = field(default_factory=dict)
    full: Tables = field(default_factory=dict)

    @property
    def disk(self) -> Path:
        """The folder of the destination's files."""
        return self.inrush.folder / DISK

    def prepare(self) -> None:
        """Make files, targets and package."""
        self.place.options = {**self.place.options, **self.load.options}
        self.has_disk = site.mount(self.disk, DISK_BYTES)
        for name, content in self.load.files().items():
            self.inrush.write(name, content)
        self.before = dict(self.load.before())
        self.full = dict(self.load.full())
        self.make_before()
        # Small batches, so that each file has several.
        text = self.place.package(*self.load.flows, batch_rows=300)
        self.inrush.write(PACKAGE, text)

    def make_before(self) -> None:
        """Make the targets that exist before."""
        for table, rows in self.before.items():
            if self.place.speaks_sql:
                columns = COLUMNS + self.load.constraints
                values = ", ".join(f"({key}, {k}, '{note}')" for key, k, note in rows)
                self.place.execute(f"CREATE TABLE {table} ({columns})")
                self.place.execute(f"INSERT INTO {table} VALUES {values}")
            else:
                self.fill(table, rows)

    def fill(self, table: str, rows: list[Row]) -> None:
        """Make a table by a separate load."""
        self.inrush.write("before.tbl", text_of(rows))
        words = ["--table", table, "--columns", ", ".join(COLUMN_LIST), "--again"]
        if self.load.has_partitions:
            words += ["--partition-by", "k"]
        to = [*self.place.words, "--runs-folder", "runs-before", "--quiet"]
        self.inrush("load", "before.tbl", *to, *words).expect(CLEAN)

    def start(self, **options: dict[str, str] | list[str]) -> Running:
        """Start the command, which is the same each time."""
        return self.inrush.start("run", PACKAGE, **options)  # type: ignore[arg-type]

    def command(self, **options: dict[str, str] | list[str]) -> Outcome:
        """Run it to its end."""
        with self.start(**options) as running:
            return running.wait(120)

    def end(self, running: Running, seconds: float = 90) -> Outcome:
        """Wait for the end of a disturbed command; fail if no fault explains it."""
        outcome = running.wait(seconds)
        check_ended(outcome, self.load.status)
        return outcome

    def expect_end(self, outcome: Outcome) -> None:
        """Fail unless it succeeded, or was refused because a fault changed one of its files."""
        if not is_refused_as_changed(outcome):
            outcome.expect(self.load.status)

    def rows(self, table: str) -> list[Row] | None:
        """Return the rows of a table as a reader sees them; None if there is no table."""
        if table not in self.place.tables():
            return None
        names = list(self.place.column_types(table))
        key, k, note = (names.index(name) for name in ("id", "k", "note"))
        return sorted(
            (int(row[key]), int(row[k]), str(row[note])) for row in self.place.values(table)
        )

    def now(self) -> Seen:
        """Return the current rows of all targets."""
        return {table: self.rows(table) for table in self.load.targets}

    def before_or_none(self, table: str) -> list[Row] | None:
        """Return the rows that a table had before the load."""
        rows = self.before.get(table)
        return None if rows is None else sorted(rows)

    @property
    def publishes_each(self) -> bool:
        """Whether the targets are published one after the other (D-14)."""
        return not self.place.keeps("D-14") and len(self.load.targets) > 1

    @property
    def is_loaded(self) -> bool:
        """Whether all targets have all rows; they must have all or none."""
        now = self.now()
        loaded = {table: rows == self.full[table] for table, rows in now.items()}
        for table, rows in now.items():
            allowed = (self.full[table], self.before_or_none(table))
            assert rows in allowed, f"{table} is neither as before nor loaded: {_short(rows)}"
        if not self.publishes_each:
            assert len(set(loaded.values())) == 1, f"some targets are loaded: {loaded}"
        return all(loaded.values())

    def finish(self) -> Outcome:
        """Run the same command again: it must succeed at the first try."""
        outcome = self.command()
        if is_refused_as_changed(outcome):
            self.inrush("cleanup", *self.place.words).expect(CLEAN)
            outcome = self.command()
        return outcome.expect(self.load.status)

    def check_status(self, stopped: set[int]) -> None:
        """Fail unless the number of runs in `inrush status` is one of these, and no run is held."""
        outcome = self.inrush("status", *self.place.words, "--json").expect(CLEAN)
        told = json.loads(outcome.output)
        assert len(told) in stopped, f"not {stopped}: {outcome.said}"
        assert not any(run["held"] for run in told), outcome.said

    def clean_up(self) -> None:
        """Remove the leftovers of a stopped run, and fail unless exactly these are gone."""
        before = self.now()
        self.inrush("cleanup", *self.place.words).expect(CLEAN)
        after = self.now()
        # A run that has published one of its tables is completed instead.
        assert after == before or (self.publishes_each and after == self.full), "a target changed"
        self.check_nothing_staged()

    def check_nothing_staged(self) -> None:
        """Fail if a table is not a target, or a file is not the destination's."""
        assert self.place.tables() <= {*self.load.targets}, self.place.tables()
        beside = {path.name for path in self.disk.iterdir()}
        # A run that was killed after its switch leaves its lock file until the next load, but
        # nobody holds it.
        own = {"lake", "results.duckdb", "results.sqlite", "results.sqlite.inrush-lock"}
        assert beside <= own, beside

    def check_loaded(self, outcome: Outcome) -> None:
        """Fail unless the targets have exactly the right rows, and nothing is left behind."""
        now = self.now()
        for table, rows in self.full.items():
            assert now[table] == rows, f"{table}: {_short(now[table])}, not {_short(rows)}"
        self.check_nothing_staged()
        for draft in self.inrush.folder.rglob("*.draft"):
            assert not draft.with_suffix("").exists(), f"{draft} was left behind"
        rejects = sorted(self.load.rejects())
        assert places(outcome) == rejects, "other rejects than those of a load row by row"
        if "already loaded" not in outcome.said:
            assert_account(outcome, self.load.rows_read, len(rejects))
        self.check_status({0})
        self.command().expect(self.load.status, "already loaded")
        assert self.now() == now, "the same command after success changed a target"

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Read the Parquet tables all the time; fail if one was ever seen half loaded.

        DuckDB and SQLite exclude readers, or are excluded by them, while they write.
        """
        if not isinstance(self.place, Parquet) or self.load.has_partitions:
            yield
            return
        folder, stop = self.place.folder, threading.Event()
        seen: list[tuple[str, list[Row]]] = []

        def watch() -> None:
            while not stop.wait(0.02):
                for table in self.load.targets:
                    rows = _listed(folder / table)
                    if rows is not None and (table, rows) not in seen:
                        seen.append((table, rows))

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
        for table, rows in seen:
            allowed = [self.full[table], self.before_or_none(table), *self.strange_rows]
            assert rows in allowed, f"{table} was seen half loaded: {_short(rows)}"


def _listed(folder: Path) -> list[Row] | None:
    """Return the rows of a table without partitions; None if it cannot be read."""
    try:
        if not any(folder.glob("*.parquet")):
            return None
        table = pads.dataset(folder, format="parquet").to_table(columns=["id", "k", "note"])
    except FileNotFoundError:
        # The table was listed just before another generation of its files replaced the listed
        # files.
        return None
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _short(rows: list[Row] | None) -> str:
    return "no table" if rows is None else f"{len(rows)} rows, {rows[:3]}..."


@contextmanager
def opened(kind: type[Place], load: FileLoad, folder: Path, seed: int) -> Iterator[FileScene]:
    """Open a scene in a separate folder, which is removed at the end."""
    folder.mkdir()
    numbers = random.Random(f"inrush strikes {seed}")  # noqa: S311
    scene = FileScene(made_place(kind, folder), load, Inrush(folder), numbers)
    try:
        scene.prepare()
        yield scene
    finally:
        if scene.runs_disk is not None:
            site.unmount(scene.runs_disk)
        if scene.has_disk:
            site.unmount(scene.disk)
        shutil.rmtree(folder)

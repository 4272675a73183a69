"""Scenarios from seeds: the source, the copy, its target, and the faults."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import monotonic

from conformance.destinations import (
    AdbcSqlite,
    DuckDb,
    Parquet,
    Place,
    PostgreSql,
    PostgreSql15,
    PostgreSql18,
)
from faults.database_sources.copies import Copy, random_copy
from faults.database_sources.disturbances import KINDS, CopyDisturbance
from faults.database_sources.origins import FileOrigin, Origin, ServerOrigin
from faults.database_sources.scene import CopyScene
from faults.database_sources.writers import Writers
from faults.disturbances import Result
from faults.file_destinations.scene import DISK, made_place
from faults.site import Site, Stand
from harness.command import Inrush
from harness.proxy import Proxy
from harness.servers import Database

_numbers = count(1)
# How often each is drawn, relative to the others.
DESTINATIONS: dict[type[Place], int] = {
    PostgreSql18: 4,
    PostgreSql15: 2,
    DuckDb: 3,
    Parquet: 3,
    AdbcSqlite: 1,
}
TARGETS: dict[type[Place], list[str]] = {
    PostgreSql18: ["pg18", "pg18-replica"],
    PostgreSql15: ["pg15"],
}
SOURCES = {"pg18": 4, "pg15": 3, "duckdb": 1}


@dataclass(frozen=True)
class CopyScenario:
    """The scenario of a seed."""

    seed: int
    copy: Copy
    # The servers of source and target, or where the files are.
    source: str
    target: str
    disturbances: list[CopyDisturbance]

    @property
    def names(self) -> list[str]:
        """The names of its faults."""
        return [disturbance.name for disturbance in self.disturbances]

    def __str__(self) -> str:
        """Name it."""
        faults = ", ".join(self.names)
        return f"seed {self.seed}: from {self.source}: {self.copy} ({self.target}): {faults}"


def scenario(seed: int) -> CopyScenario:
    """Return the scenario of a seed. Consecutive seeds begin with each kind of fault in turn."""
    numbers = random.Random(f"inrush database faults {seed}")  # noqa: S311
    kinds = list(KINDS.values())
    first = kinds[seed % len(kinds)]
    while True:
        source = numbers.choices([*SOURCES], [*SOURCES.values()])[0]
        place = numbers.choices([*DESTINATIONS], [*DESTINATIONS.values()])[0]
        copy = random_copy(numbers, place, "duckdb" if source == "duckdb" else "postgresql")
        if first.fits(copy):
            break
    others = [kind for kind in kinds if kind.fits(copy)]
    more = numbers.choices([0, 1, 2], [6, 3, 1])[0]
    target = numbers.choice(TARGETS.get(place, ["files"]))
    return CopyScenario(seed, copy, source, target, [first, *numbers.choices(others, k=more)])


@contextmanager
def new_database(stand: Stand, name: str) -> Iterator[Database]:
    """Make an empty database, which is dropped at the end."""
    database = stand.server.create_database(name)
    try:
        yield database
    finally:
        stand.await_server()
        stand.server.drop(database)


@contextmanager
def opened(chosen: CopyScenario, site: Site, folder: Path) -> Iterator[CopyScene]:
    """Open a scene with new databases and a new folder, which are removed at the end."""
    number = next(_numbers)
    own = folder / f"copy-{number}"
    (own / DISK).mkdir(parents=True)
    copy, numbers = chosen.copy, random.Random(f"inrush database strikes {chosen.seed}")  # noqa: S311
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, own)
        origin: Origin
        if copy.source == "duckdb":
            origin = FileOrigin(own / "source.duckdb", copy.tables)
        else:
            stand = site.stand(chosen.source)
            database = stack.enter_context(new_database(stand, f"source_{number}"))
            proxy = stack.enter_context(Proxy(stand.server.port))
            origin = ServerOrigin(
                stand,
                database,
                proxy,
                copy.tables,
                updates=copy.updates,
                deletes=not copy.is_incremental,
            )
        place: Place
        if issubclass(copy.place, PostgreSql):
            stand = site.stand(chosen.target)
            database = stack.enter_context(new_database(stand, f"copy_{number}"))
            place = copy.place(database, database.url)
        else:
            place = made_place(copy.place, own)
        scene = CopyScene(copy, origin, place, Inrush(own), numbers)
        scene.prepare()
        yield scene


def play(chosen: CopyScenario, site: Site, folder: Path) -> Result:
    """Play a scenario; an assertion fails if a promise is broken."""
    started = monotonic()
    result = Result(chosen.names)
    with opened(chosen, site, folder) as scene, ExitStack() as stack:
        writers = None
        if chosen.copy.has_writers:
            journal = scene.server.journal
            writers = stack.enter_context(Writers(journal, f"inrush writers {chosen.seed}"))
        with scene.watched():
            for disturbance in chosen.disturbances:
                result.struck.append(disturbance.strike(scene))
                scene.rest()
                _between(scene)
                if scene.is_loaded and not chosen.copy.is_incremental:
                    break
            scene.finish()
        if writers is not None:
            writers.stop()
        scene.check_end()
    result.seconds = monotonic() - started
    return result


def _between(scene: CopyScene) -> None:
    """List the leftovers of a stopped run, remove them, or do neither."""
    if scene.numbers.random() < 0.3:
        scene.check_status()
    if scene.numbers.random() < 0.2:
        scene.clean_up()

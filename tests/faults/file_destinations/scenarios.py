"""Scenarios from seeds: the destination, the load, and the faults."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import monotonic

from conformance.destinations import AdbcDuckDb, AdbcSqlite, DuckDb, Parquet, Place
from faults import site
from faults.disturbances import Result
from faults.file_destinations.disturbances import KINDS, FileDisturbance
from faults.file_destinations.loads import FILE_LOADS, FILE_STEPS_LOAD, FileLoad
from faults.file_destinations.scene import FileScene, opened
from faults.steps_loads import STEPS_EVERY

_numbers = count(1)
# How often each is drawn, relative to the others.
DESTINATIONS: dict[type[Place], int] = {DuckDb: 4, Parquet: 4, AdbcSqlite: 2, AdbcDuckDb: 1}


@dataclass(frozen=True)
class FileScenario:
    """The scenario of a seed."""

    seed: int
    load: FileLoad
    place: type[Place]
    disturbances: list[FileDisturbance]

    @property
    def names(self) -> list[str]:
        """The names of its faults."""
        return [disturbance.name for disturbance in self.disturbances]

    def __str__(self) -> str:
        """Name it."""
        faults = ", ".join(self.names)
        return f"seed {self.seed}: {self.load.name} into {self.place.title}: {faults}"


def scenario(seed: int) -> FileScenario:
    """Return the scenario of a seed. Consecutive seeds begin with each kind of fault in turn."""
    numbers = random.Random(f"inrush file faults {seed}")  # noqa: S311
    kinds = list(KINDS.values())
    first = kinds[seed % len(kinds)]
    pairs = [
        (place, load)
        for place in DESTINATIONS
        for load in FILE_LOADS
        if load.fits(place) and first.fits(place, load)
    ]
    weights = [DESTINATIONS[place] for place, _ in pairs]
    place, load = numbers.choices(pairs, weights)[0]
    others = [kind for kind in kinds if kind.fits(place, load)]
    more = numbers.choices([0, 1, 2], [6, 3, 1])[0]
    disturbances = [first, *numbers.choices(others, k=more)]
    # This is drawn from a separate generator, so that the rest of a scenario stays the same.
    draws = random.Random(f"inrush file steps {seed}")  # noqa: S311
    if draws.randrange(STEPS_EVERY) == 0 and all(
        one.fits(place, FILE_STEPS_LOAD) for one in disturbances
    ):
        load = FILE_STEPS_LOAD
    return FileScenario(seed, load, place, disturbances)


class FileReferences:
    """Undisturbed loads, each once: the expected result, the time and the bytes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._found: dict[tuple[str, str], tuple[float, int]] = {}

    def of(self, place: type[Place], load: FileLoad) -> tuple[float, int]:
        """Load it undisturbed, compare the result with its files, and return seconds and bytes."""
        key = (place.name, load.name)
        if key not in self._found:
            with opened(place, load, self._folder / f"files-{next(_numbers)}", 0) as scene:
                with scene.watched():
                    started = monotonic()
                    outcome = scene.command()
                    seconds = monotonic() - started
                outcome.expect(load.status)
                scene.check_loaded(outcome)
                self._found[key] = seconds, used_bytes(scene)
        return self._found[key]


def used_bytes(scene: FileScene) -> int:
    """Return the bytes of the destination's files."""
    if scene.has_disk:
        return site.used_bytes(scene.disk)
    return sum(path.stat().st_size for path in scene.disk.rglob("*") if path.is_file())


def play(chosen: FileScenario, references: FileReferences, folder: Path) -> Result:
    """Play a scenario; an assertion fails if a promise is broken."""
    started = monotonic()
    result = Result(chosen.names)
    seconds, used = references.of(chosen.place, chosen.load)
    own = folder / f"files-{next(_numbers)}"
    with opened(chosen.place, chosen.load, own, chosen.seed) as scene:
        scene.seconds, scene.used_bytes = seconds, used
        with scene.watched():
            for disturbance in chosen.disturbances:
                result.struck.append(disturbance.strike(scene))
                is_loaded = scene.is_loaded
                _between(scene, is_loaded=is_loaded)
                if is_loaded:
                    break
            outcome = scene.finish()
        scene.check_loaded(outcome)
        _drop_and_load(scene)
    result.seconds = monotonic() - started
    return result


def _between(scene: FileScene, *, is_loaded: bool) -> None:
    """List the leftovers of a stopped run, remove them, or do neither."""
    if scene.numbers.random() < 0.4:
        scene.check_status({0} if is_loaded else {0, 1})
    if scene.numbers.random() < 0.25:
        scene.clean_up()


def _drop_and_load(scene: FileScene) -> None:
    """Drop the targets: the same command loads them again (D-27)."""
    if scene.before or scene.numbers.random() > 0.2:
        return
    for table in scene.load.targets:
        scene.place.drop(table)
    outcome = scene.finish()
    assert "already loaded" not in outcome.said, outcome.said
    scene.check_loaded(outcome)

"""Scenarios from seeds: the load, the server, and the faults."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import monotonic

from faults import site
from faults.disturbances import KINDS, Disturbance, Result
from faults.loads import LOADS, Load
from faults.scene import Reference, Scene
from faults.site import STANDS, Site, Stand
from faults.steps_loads import STEPS_EVERY, STEPS_LOADS
from harness import extension
from harness.command import Inrush
from harness.proxy import Proxy

_numbers = count(1)
SERVER_COPIES = ("plain", "auto", "pages")


@dataclass(frozen=True)
class Scenario:
    """The scenario of a seed."""

    seed: int
    load: Load
    stand: str
    disturbances: list[Disturbance]
    # How the server stores rows: by COPY, or by the server extension if it can.
    server_copy: str

    @property
    def names(self) -> list[str]:
        """The names of its faults."""
        return [disturbance.name for disturbance in self.disturbances]

    def __str__(self) -> str:
        """Name it."""
        faults = ", ".join(self.names)
        return (
            f"seed {self.seed}: {self.load.name} on {self.stand}, "
            f"server_copy {self.server_copy}: {faults}"
        )


def scenario(seed: int) -> Scenario:
    """Return the scenario of a seed. Consecutive seeds begin with each kind of fault in turn."""
    numbers = random.Random(f"inrush faults {seed}")  # noqa: S311
    kinds = list(KINDS.values())
    first = kinds[seed % len(kinds)]
    load = numbers.choice([load for load in LOADS if first.fits(load)])
    others = [kind for kind in kinds if kind.fits(load)]
    more = numbers.choices([0, 1, 2], [7, 2, 1])[0]
    disturbances = [first, *numbers.choices(others, k=more)]
    stand = numbers.choice(list(STANDS))
    # Drawn from separate generators, so that the rest of a scenario is the same as before these
    # choices existed.
    draws = random.Random(f"inrush steps {seed}")  # noqa: S311
    stepped = draws.choice(STEPS_LOADS)
    if draws.randrange(STEPS_EVERY) == 0 and all(one.fits(stepped) for one in disturbances):
        load = stepped
    server_copy = random.Random(f"inrush server copy {seed}").choice(SERVER_COPIES)  # noqa: S311
    return Scenario(seed, load, stand, disturbances, server_copy)


class References:
    """The results of undisturbed loads, each found out once for each stand."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._found: dict[tuple[str, str], Reference] = {}

    def of(self, stand: Stand, load: Load) -> Reference:
        """Load it undisturbed, compare the result with its files, and measure the time."""
        key = (stand.name, load.name)
        if key not in self._found:
            self._found[key] = self._find(stand, load)
        return self._found[key]

    def _find(self, stand: Stand, load: Load) -> Reference:
        with ExitStack() as stack:
            proxy = stack.enter_context(Proxy(stand.server.port))
            scene = stack.enter_context(opened(stand, load, self._folder, 0, proxy))
            scene.full = {target: scene.digest(rows) for target, rows in scene.full_rows.items()}
            with scene.watched():
                started = monotonic()
                outcome = scene.command()
                seconds = monotonic() - started
                outcome.expect(load.status)
            sent_bytes, commits = proxy.counted()
            scene.check_loaded()
            return Reference(dict(scene.full), seconds, sent_bytes, commits)


@contextmanager
def opened(
    stand: Stand,
    load: Load,
    folder: Path,
    seed: int,
    proxy: Proxy | None,
    server_copy: str = "plain",
) -> Iterator[Scene]:
    """Open a scene with a new database and folder, which are removed at the end.

    The database has the server extension if the scenario may use it and the headers are installed.
    """
    number = next(_numbers)
    own = folder / f"scene-{number}"
    own.mkdir()
    database = stand.server.create_database(f"faults_{number}")
    numbers = random.Random(f"inrush strikes {seed}")  # noqa: S311
    if server_copy != "plain" and extension.pg_config(stand.server.version) is not None:
        built = extension.built(stand.server.version, stand.server.folder.parent)
        extension.run_script(database, built)
    scene = Scene(stand, database, load, Inrush(own), numbers, proxy, server_copy)
    try:
        scene.prepare()
        yield scene
    finally:
        for mounted in scene.mounts:
            site.unmount(mounted)
        shutil.rmtree(own)
        stand.await_server()
        stand.server.drop(database)


def play(chosen: Scenario, place: Site, references: References, folder: Path) -> Result:
    """Play a scenario; an assertion fails if a promise is broken."""
    started = monotonic()
    result = Result(chosen.names)
    stand = place.stand(chosen.stand)
    reference = references.of(stand, chosen.load)
    with ExitStack() as stack:
        needs_proxy = any(kind.needs_proxy for kind in chosen.disturbances)
        proxy = stack.enter_context(Proxy(stand.server.port)) if needs_proxy else None
        seed, server_copy = chosen.seed, chosen.server_copy
        scene = stack.enter_context(opened(stand, chosen.load, folder, seed, proxy, server_copy))
        scene.reference = reference
        scene.full = dict(reference.full)
        try:
            _play(scene, chosen, result)
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"{error}\n{scene.activity()}") from error
    result.seconds = monotonic() - started
    return result


def _play(scene: Scene, chosen: Scenario, result: Result) -> None:
    with scene.watched():
        for disturbance in chosen.disturbances:
            result.struck.append(disturbance.strike(scene))
            scene.stand.await_server()
            if scene.proxy is not None:
                scene.proxy.begin(None)
            is_loaded = scene.is_loaded
            _between(scene)
            if is_loaded:
                break
        scene.finish()
    scene.check_loaded()


def _between(scene: Scene) -> None:
    """List the leftovers of a stopped run, remove them, or do neither."""
    if scene.numbers.random() < 0.4:
        scene.check_status()
    if scene.numbers.random() < 0.25:
        scene.clean_up()

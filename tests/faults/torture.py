"""Disturbs loads in hundreds of ways, and reports how many were tried and hit: `make torture`."""

from __future__ import annotations

import argparse
import itertools
import random
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

from faults import scenarios
from faults.database_sources import scenarios as database_scenarios
from faults.disturbances import Result
from faults.file_destinations import scenarios as file_scenarios
from faults.site import Site
from faults.steps_loads import STEPS_LOADS
from harness import servers


def programs(folder: Path, version: int) -> Path:
    """Return the folder of a version's programs."""
    found = servers.reachable_programs(version, folder)
    if found is None:
        raise SystemExit(f"PostgreSQL {version} is not installed")
    return found


# Of this many consecutive scenarios, the last one reads a database; the others read files.
DATABASES_EVERY = 4
# The number of scenarios, of ten in a row, that disturb loads into files.
FILES_OF_TEN = 4
SOURCES = ["all", "databases", "files"]
DESTINATIONS = ["all", "postgresql", "files"]

Play = Callable[[], Result]


class Stage:
    """What scenarios are played on: servers, and folders of files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.site = Site(folder, lambda version: programs(folder, version))
        self._references = scenarios.References(folder)
        self._file_references = file_scenarios.FileReferences(folder)

    def draw(self, seed: int, source: str, destination: str) -> tuple[str, Play]:
        """Return the scenario of a seed, and the function that plays it."""
        if source == "databases" or (
            source == destination == "all" and seed % DATABASES_EVERY == DATABASES_EVERY - 1
        ):
            copied = database_scenarios.scenario(seed)
            return str(copied), lambda: database_scenarios.play(copied, self.site, self._folder)
        if destination == "files" or (destination == "all" and seed % 10 < FILES_OF_TEN):
            files = file_scenarios.scenario(seed)
            references = self._file_references
            return str(files), lambda: file_scenarios.play(files, references, self._folder)
        chosen = scenarios.scenario(seed)
        return str(chosen), lambda: scenarios.play(
            chosen, self.site, self._references, self._folder
        )


def seeds(first: int, *, steps: bool) -> Iterator[int]:
    """Return the seeds from the first one on; with `steps`, only those whose rows pass steps."""
    every = itertools.count(first)
    if not steps:
        return every
    return filter(lambda seed: scenarios.scenario(seed).load in STEPS_LOADS, every)


def main() -> int:
    """Play scenarios and print the result of each."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    arguments.add_argument("--count", type=int, default=400)
    arguments.add_argument(
        "--source",
        choices=SOURCES,
        default="all",
        help="files; databases: tables of PostgreSQL and DuckDB; all: drawn by the seed",
    )
    arguments.add_argument(
        "--destination",
        choices=DESTINATIONS,
        default="all",
        help="of loads from files: postgresql; files: those of DuckDB, Parquet and SQLite; all: "
        "drawn by the seed",
    )
    arguments.add_argument(
        "--steps",
        action="store_true",
        help="only seeds whose rows pass steps, from files into postgresql",
    )
    wish = arguments.parse_args()
    if wish.steps:
        wish.source, wish.destination = "files", "postgresql"
    folder = Path(tempfile.mkdtemp(prefix="inrush-torture-"))
    folder.chmod(0o755)
    stage = Stage(folder)
    print(f"{wish.count} seeds from {wish.seed} on", flush=True)
    tried: Counter[str] = Counter()
    hit: Counter[str] = Counter()
    broken: list[int] = []
    started = monotonic()
    try:
        for seed in itertools.islice(seeds(wish.seed, steps=wish.steps), wish.count):
            title, play = stage.draw(seed, wish.source, wish.destination)
            print(title, end="", flush=True)
            try:
                result = play()
            except Exception:
                # The next scenarios are played nevertheless.
                broken.append(seed)
                print(f"\nBROKEN\n{traceback.format_exc()}", flush=True)
                continue
            for name, struck in zip(result.names, result.struck, strict=False):
                tried[name] += 1
                hit[name] += struck.hit
            words = "; ".join(
                f"{struck.what}{'' if struck.hit else ' (not hit)'}" for struck in result.struck
            )
            print(f" -> {words} [{result.seconds:.1f} s]", flush=True)
    finally:
        stage.site.close()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"\n{'fault':<24}{'tried':>7}{'hit':>7}")
    for name in sorted(tried):
        print(f"{name:<24}{tried[name]:>7}{hit[name]:>7}")
    print(f"{'all':<24}{sum(tried.values()):>7}{sum(hit.values()):>7}")
    print(f"{wish.count} scenarios in {monotonic() - started:.0f} s, {len(broken)} broken")
    again = "" if wish.source == "all" else f" SOURCE={wish.source}"
    again += "" if wish.destination == "all" else f" DESTINATION={wish.destination}"
    for seed in broken:
        print(f"again: make torture-faults SEED={seed} COUNT=1{again}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

"""Loads thousands of values and compares each with an independent reader: `make torture`."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic

from harness import servers
from harness.command import Inrush
from harness.servers import Server
from values import duckdb_loads, guesses, loads, locales
from values.judging import Judgement, judge
from values.rounds import CASES_PER_ROUND, make

# The number of cases for each guessed file, and the number of rounds for each round in DuckDB.
CASES_PER_GUESS = 200
ROUNDS_PER_DUCKDB = 10


@dataclass
class Place:
    """The servers and folders that the rounds use."""

    folder: Path
    versions: list[int]
    running: dict[int, Server] = field(default_factory=dict)

    def server(self, seed: int) -> Server:
        """Return the server for a seed."""
        version = self.versions[seed % len(self.versions)]
        if version not in self.running:
            self.running[version] = start(self.folder, version)
        return self.running[version]

    def inrush(self, name: str) -> Inrush:
        """Return the command in a new folder."""
        folder = self.folder / name
        folder.mkdir()
        return Inrush(folder)


def start(folder: Path, version: int) -> Server:
    """Start a server of a version that knows locales, where any can be made."""
    programs = servers.reachable_programs(version, folder)
    if programs is None:
        raise SystemExit(f"PostgreSQL {version} is not installed")
    server = Server(version, programs, folder / f"pg{version}")
    server.initialise()
    places = folder / "locales"
    if places.exists() or locales.make(places):
        with locales.known(places):
            server.start()
    else:
        print("no locales can be made here: lc_monetary stays as it is", flush=True)
        server.start()
    return server


def play_round(seed: int, place: Place, only: int | None = None) -> Judgement:
    """Run a round, or one case of it, in a new database."""
    chosen = make(seed) if only is None else make(seed).only(only)
    server = place.server(seed)
    database = server.create_database(f"values_{seed}")
    inrush = place.inrush(f"round-{seed}")
    try:
        return judge(chosen, loads.load(chosen, database, inrush))
    finally:
        server.done_with(database)
        shutil.rmtree(inrush.folder, ignore_errors=True)


def play_guess(seed: int, place: Place) -> Judgement:
    """Run a guess in a new database."""
    server = place.server(seed)
    database = server.create_database(f"guess_{seed}")
    inrush = place.inrush(f"guess-{seed}")
    try:
        return guesses.play(seed, database, inrush)
    finally:
        server.done_with(database)
        shutil.rmtree(inrush.folder, ignore_errors=True)


def play_duckdb(seed: int, place: Place, only: int | None = None) -> Judgement:
    """Run the part of a round that DuckDB has types for."""
    chosen = duckdb_loads.shared(make(seed) if only is None else make(seed).only(only))
    inrush = place.inrush(f"duckdb-{seed}")
    try:
        return judge(chosen, duckdb_loads.load(chosen, inrush), again="--duckdb ")
    finally:
        shutil.rmtree(inrush.folder, ignore_errors=True)


def main() -> int:
    """Run rounds and print their results."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    arguments.add_argument("--count", type=int, default=20_000, help="cases (20,000)")
    arguments.add_argument("--only", type=int, help="play this case of the seed alone")
    arguments.add_argument("--version", type=int, help="the server's; else each in turn")
    arguments.add_argument("--guess", action="store_true", help="guess the file of the seed alone")
    arguments.add_argument("--duckdb", action="store_true", help="into DuckDB, nothing else")
    arguments.add_argument("--refused", action="store_true", help="print refusals of values, too")
    wish = arguments.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="inrush-values-"))
    folder.chmod(0o755)
    place = Place(folder, [wish.version] if wish.version else list(servers.VERSIONS))
    rounds = max(1, -(-wish.count // CASES_PER_ROUND))
    work: list[tuple[str, Callable[[], Judgement]]] = []
    if wish.guess:
        work.append((f"guess {wish.seed}", partial(play_guess, wish.seed, place)))
    elif wish.only is not None:
        play = play_duckdb if wish.duckdb else play_round
        work.append((f"round {wish.seed}", partial(play, wish.seed, place, wish.only)))
    else:
        seeds = range(wish.seed, wish.seed + rounds)
        if not wish.duckdb:
            work += [(f"round {seed}", partial(play_round, seed, place)) for seed in seeds]
            files = range(wish.seed, wish.seed + wish.count // CASES_PER_GUESS)
            work += [(f"guess {seed}", partial(play_guess, seed, place)) for seed in files]
            seeds = range(wish.seed, wish.seed + rounds, ROUNDS_PER_DUCKDB)
        work += [(f"DuckDB {seed}", partial(play_duckdb, seed, place)) for seed in seeds]
    found = Judgement()
    started = monotonic()
    print(f"seeds {wish.seed} to {wish.seed + rounds - 1}", flush=True)
    try:
        for name, player in work:
            result = player()
            for fault in result.faults:
                print(f"{name}: {fault}", flush=True)
            found.add(result)
    finally:
        for server in place.running.values():
            server.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)
    tell(found, wish.refused)
    print(f"{len(found.faults)} faults in {monotonic() - started:.0f} s")
    return 1 if found.faults else 0


def tell(found: Judgement, refusals: bool) -> None:
    """Print the number of checked cases, and the first case with each kind of fault."""
    for refusal in found.refusals if refusals else ():
        print(f"refused: {refusal}")
    for name, count in sorted(found.counts.items()):
        print(f"{name:<34}{count:>8}")
    for kind, place in sorted(found.firsts.items(), key=lambda one: one[1]):
        print(f"first fault of {kind:<44} after {place} cases")


if __name__ == "__main__":
    sys.exit(main())

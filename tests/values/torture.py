"""Loads thousands of values and holds each against an independent reader: `make torture`."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from pathlib import Path
from time import monotonic

sys.path.insert(0, str(Path(__file__).parent.parent))

import servers
from command import Inrush
from servers import Server
from values import guesses, locales
from values.judging import Judgement, judge
from values.loads import load
from values.rounds import CASES_PER_ROUND, Round, make


def start(folder: Path, version: int) -> Server:
    """Start a server of a version."""
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


def play(chosen: Round, server: Server, folder: Path) -> Judgement:
    """Play a round in a database of its own."""
    database = server.create_database(f"values_{chosen.seed}")
    inrush = Inrush(folder / f"round-{chosen.seed}")
    inrush.folder.mkdir()
    try:
        return judge(chosen, load(chosen, database, inrush))
    finally:
        server.done_with(database)
        shutil.rmtree(inrush.folder, ignore_errors=True)


def guess(seed: int, server: Server, folder: Path) -> Judgement:
    """Play a guess in a database of its own."""
    database = server.create_database(f"guess_{seed}")
    inrush = Inrush(folder / f"guess-{seed}")
    inrush.folder.mkdir()
    try:
        return guesses.play(seed, database, inrush)
    finally:
        server.done_with(database)
        shutil.rmtree(inrush.folder, ignore_errors=True)


def main() -> int:
    """Play rounds and print what came of them."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    arguments.add_argument("--count", type=int, default=20_000, help="cases")
    arguments.add_argument("--only", type=int, help="play this case of the seed alone")
    arguments.add_argument("--version", type=int, help="the server's; else each in turn")
    arguments.add_argument("--guess", action="store_true", help="play guesses; --count files")
    arguments.add_argument("--refusals", action="store_true", help="print what plans refuse")
    wish = arguments.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="inrush-values-"))
    folder.chmod(0o755)
    rounds = max(1, -(-wish.count // CASES_PER_ROUND)) if wish.only is None else 1
    versions = [wish.version] if wish.version else list(servers.VERSIONS)
    if wish.guess:
        rounds = wish.count
    running: dict[int, Server] = {}
    found = Judgement()
    started = monotonic()
    print(f"seeds {wish.seed} to {wish.seed + rounds - 1}", flush=True)
    try:
        for seed in range(wish.seed, wish.seed + rounds):
            version = versions[seed % len(versions)]
            if version not in running:
                running[version] = start(folder, version)
            if wish.guess:
                result = guess(seed, running[version], folder)
            else:
                chosen = make(seed) if wish.only is None else make(seed).only(wish.only)
                result = play(chosen, running[version], folder)
            for fault in result.faults:
                print(f"PostgreSQL {version}: {fault}", flush=True)
            found.add(result)
    finally:
        for server in running.values():
            server.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)
    for refusal in found.refusals if wish.refusals else ():
        print(f"refused: {refusal}")
    for name, count in sorted(found.counts.items()):
        print(f"{name:<30}{count:>8}")
    for kind, place in sorted(found.firsts.items(), key=lambda one: one[1]):
        print(f"first fault of {kind:<26} after {place} cases")
    print(f"{len(found.faults)} faults in {monotonic() - started:.0f} s")
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())

"""Slows loads down in many ways, and says how often the verdict was right: `make verdicts`."""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from harness import servers
from verdict.injections import KINDS, PAIRS, Scene, injected, natural
from verdict.judging import judge, named
from verdict.site import Ground, Measured, Site, keep
from verdict.system import CannotError

# The factor by which a load should take longer, as far as an injection can aim at it.
FACTORS = (2.5, 5.0)
# The shares of controls and of pairs among all cases.
CONTROLS = 0.2
PAIRED = 0.12


@dataclass(frozen=True)
class Case:
    """A run with or without an injection."""

    seed: int
    names: tuple[str, ...]
    ground: Ground
    factor: float

    def __str__(self) -> str:
        """Describe it in words."""
        return f"{self.seed}  {' + '.join(self.names) or 'control':<28}"


def cases(seed: int, count: int) -> Iterator[Case]:
    """Draw cases: each kind equally often, in random order."""
    numbers = random.Random(seed)  # noqa: S311
    grounds = sorted({kind.ground for kind in KINDS.values()} | set(PAIRS.values()), key=str)
    grounds += [Ground(way="loopback"), Ground(streams=1), Ground(streams=4)]
    controls = round(count * CONTROLS)
    paired = round(count * PAIRED)
    drawn: list[tuple[tuple[str, ...], Ground]] = []
    drawn += [((), grounds[index % len(grounds)]) for index in range(controls)]
    pairs = list(PAIRS.items())
    drawn += [pairs[index % len(pairs)] for index in range(paired)]
    kinds = list(KINDS.values())
    rest = count - len(drawn)
    for index in range(rest):
        kind = kinds[index % len(kinds)]
        drawn.append(((kind.name,), kind.ground))
    numbers.shuffle(drawn)
    for index, (names, ground) in enumerate(drawn):
        yield Case(seed + index, names, ground, numbers.uniform(*FACTORS))


class Controls:
    """Runs without an injection, by their ground."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._known: dict[Ground, Measured] = {}

    def of(self, ground: Ground) -> Measured:
        """Return the control of a ground."""
        if ground not in self._known:
            self._known[ground] = self.run(ground)
        return self._known[ground]

    def run(self, ground: Ground) -> Measured:
        """Run a load without an injection."""
        database = self._site.open_database(ground)
        try:
            return self._site.load(ground, database, [])
        finally:
            self._site.drop(database)


def play(case: Case, site: Site, controls: Controls) -> tuple[Measured, Measured, list[str]]:
    """Run a case; return its run, the run of its control, and the injection in words."""
    control = controls.of(case.ground)
    if not case.names:
        return controls.run(case.ground), control, [str(case.ground)]
    database = site.open_database(case.ground)
    scene = Scene(site, case.ground, control, database, case.factor)
    try:
        with injected(scene, case.names):
            measured = site.load(case.ground, database, scene.before, scene.fed_rate, scene.steps)
    finally:
        site.drop(database)
    return measured, control, scene.words


def verdict_of(measured: Measured, judge_program: Path | None, folder: Path) -> dict[str, Any]:
    """Return a run's verdict, from its report or from a program that reads reports."""
    if judge_program is None:
        told: dict[str, Any] = measured.report["verdict"]
        return told
    path = folder / "report.json"
    keep(measured, path)
    done = subprocess.run([judge_program, path], capture_output=True, text=True, check=True)
    asked: dict[str, Any] = json.loads(done.stdout)
    return asked


def shares(verdict: dict[str, Any]) -> str:
    """Return a verdict's largest causes."""
    causes = verdict["causes"][:3]
    words = [f"{cause['cause']} {cause['share']:.0%}" for cause in causes]
    return ", ".join(words) + ("" if verdict["is_decided"] else " (undecided)")


def programs(folder: Path) -> Path:
    """Return the folder of the newest version's programs."""
    found = servers.reachable_programs(18, folder)
    if found is None:
        raise SystemExit("PostgreSQL 18 is not installed")
    return found


def main() -> int:
    """Run cases and print the result of each, and the matrix."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    arguments.add_argument("--count", type=int, default=66)
    arguments.add_argument("--only", help="cases whose name holds this")
    arguments.add_argument("--keep", type=Path, help="a folder for the reports")
    arguments.add_argument(
        "--judge", type=Path, help="a program that is asked instead of the report"
    )
    wish = arguments.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="inrush-verdict-"))
    folder.chmod(0o755)
    if wish.keep is not None:
        wish.keep.mkdir(parents=True, exist_ok=True)
    chosen = [
        case
        for case in cases(wish.seed, wish.count)
        if wish.only is None or wish.only in (" + ".join(case.names) or "control")
    ]
    print(f"seed {wish.seed}, {len(chosen)} runs, {os.cpu_count()} cores", flush=True)
    # If this program is ended, it leaves no server, disk or namespace behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    site = Site(folder, programs(folder))
    controls = Controls(site)
    matrix: Counter[tuple[str, str]] = Counter()
    right: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    left_out: dict[str, str] = {}
    broken = 0
    started = monotonic()
    try:
        for case in chosen:
            kind = " + ".join(case.names) or "control"
            print(case, end="", flush=True)
            try:
                measured, control, words = play(case, site, controls)
                verdict = verdict_of(measured, wish.judge, folder)
            except CannotError as error:
                left_out[kind] = str(error)
                print(f" left out: {error}", flush=True)
                continue
            except Exception:
                broken += 1
                print(f" BROKEN\n{traceback.format_exc()}", flush=True)
                continue
            slowdown = measured.load_s / control.load_s
            wanted = [KINDS[name].causes for name in case.names]
            line = KINDS[case.names[0]].line if len(case.names) == 1 else ()
            found = judge(verdict, wanted, natural(case.ground), slowdown, line)
            tried[kind] += 1
            right[kind] += found.is_right
            matrix[kind, named(verdict)[0]] += 1
            print(
                f"{'right' if found.is_right else 'WRONG':<6} {measured.load_s:5.1f} s, "
                f"{slowdown:4.1f} x  {shares(verdict)}  [{'; '.join(words)}; {found.why}]",
                flush=True,
            )
            if not found.is_right:
                print(f"        {verdict['line']}", flush=True)
            if wish.keep is not None:
                about = {"kind": kind, "slowdown": slowdown, "seed": case.seed}
                measured.report["injected"] = about
                keep(measured, wish.keep / f"{case.seed}-{kind.replace(' ', '')}.json")
    finally:
        site.close()
        shutil.rmtree(folder, ignore_errors=True)
    causes = sorted({cause for _, cause in matrix})
    heads = [cause.replace("destination", "dest").replace("network", "net") for cause in causes]
    print(f"\n{'injected':<30}" + "".join(f"{head:>14}" for head in heads) + "  right")
    for kind in sorted(tried):
        counts = "".join(f"{matrix[kind, cause] or '':>14}" for cause in causes)
        print(f"{kind:<30}{counts}  {right[kind]} of {tried[kind]}")
    for kind, why in left_out.items():
        print(f"left out: {kind}: {why}")
    total, all_right = sum(tried.values()), sum(right.values())
    share = all_right / total if total else 0.0
    print(
        f"{all_right} of {total} right ({share:.1%}) in {monotonic() - started:.0f} s, "
        f"{broken} broken"
    )
    return 0 if share >= 0.95 and not broken else 1


if __name__ == "__main__":
    sys.exit(main())

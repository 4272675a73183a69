"""Breaks loads in hundreds of ways, and says how many were tried and hit: `make torture`."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from time import monotonic

from faults.scenarios import References, play, scenarios
from faults.site import Site
from harness import servers


def programs(folder: Path, version: int) -> Path:
    """Return the folder of a version's programs."""
    found = servers.reachable_programs(version, folder)
    if found is None:
        raise SystemExit(f"PostgreSQL {version} is not installed")
    return found


def main() -> int:
    """Play scenarios and print what came of each."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    arguments.add_argument("--count", type=int, default=300)
    wish = arguments.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="inrush-torture-"))
    folder.chmod(0o755)
    place = Site(folder, lambda version: programs(folder, version))
    references = References(folder)
    print(f"seeds {wish.seed} to {wish.seed + wish.count - 1}", flush=True)
    tried: Counter[str] = Counter()
    hit: Counter[str] = Counter()
    broken: list[int] = []
    started = monotonic()
    try:
        for chosen in scenarios(wish.seed, wish.count):
            print(chosen, end="", flush=True)
            try:
                result = play(chosen, place, references, folder)
            except Exception:
                # The next scenarios are played all the same.
                broken.append(chosen.seed)
                print(f"\nBROKEN\n{traceback.format_exc()}", flush=True)
                continue
            for disturbance, struck in zip(chosen.disturbances, result.struck, strict=False):
                tried[disturbance.name] += 1
                hit[disturbance.name] += struck.hit
            words = "; ".join(
                f"{struck.what}{'' if struck.hit else ' (not hit)'}" for struck in result.struck
            )
            print(f" -> {words} [{result.seconds:.1f} s]", flush=True)
    finally:
        place.close()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"\n{'fault':<24}{'tried':>7}{'hit':>7}")
    for name in sorted(tried):
        print(f"{name:<24}{tried[name]:>7}{hit[name]:>7}")
    print(f"{'all':<24}{sum(tried.values()):>7}{sum(hit.values()):>7}")
    print(f"{wish.count} scenarios in {monotonic() - started:.0f} s, {len(broken)} broken")
    for seed in broken:
        print(f"again: make torture-faults SEED={seed} COUNT=1")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

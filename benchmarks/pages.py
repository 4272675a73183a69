"""Removes the pages of older results; with `--check`, only names them.

Each result is a JSON file, `DAY-KIND-MACHINE.json`, which is kept. Its page (`.md`) and its plots
(`DAY-KIND-MACHINE-PLOT.svg`) are kept only while it is the newest result of its kind on its
machine.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"
RESULT = re.compile(r"\d{4}-\d\d-\d\d-(?P<kind_and_machine>.+)\.json")


def results_by_kind(folder: Path) -> dict[str, list[Path]]:
    """Return the JSON files of each kind on each machine, the oldest first."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("*.json")):
        if match := RESULT.fullmatch(path.name):
            found.setdefault(match["kind_and_machine"], []).append(path)
    return found


def wanted(result: Path) -> set[Path]:
    """Return the page and the plots that the newest result of a kind must have."""
    facts = json.loads(result.read_text())
    plots = {
        result.with_name(f"{result.stem}-{plot['name']}.svg") for plot in facts.get("plots", [])
    }
    return {result.with_suffix(".md"), *plots}


def present(result: Path) -> set[Path]:
    """Return the existing page and plots of a result."""
    plots = set(result.parent.glob(f"{result.stem}-*.svg"))
    page = result.with_suffix(".md")
    return plots | {page} if page.exists() else plots


def surplus(folder: Path) -> list[Path]:
    """Return the pages and plots of older results, and plots that no page shows."""
    found: set[Path] = set()
    for *older, newest in results_by_kind(folder).values():
        found |= present(newest) - wanted(newest)
        found = found.union(*map(present, older))
    return sorted(found)


def prune(folder: Path) -> None:
    """Remove the pages and plots that older results have."""
    for path in surplus(folder):
        path.unlink()
        print(f"removed, since a newer result has its page: {path}")


def faults(folder: Path) -> Iterator[str]:
    """Yield a sentence for each file that breaks the rule."""
    results = results_by_kind(folder)
    for path in surplus(folder):
        yield f"{path.name}: its result is not the newest of its kind on its machine; remove it"
    for *_, newest in results.values():
        for path in sorted(wanted(newest) - present(newest)):
            yield f"{path.name} is missing: its result is the newest of its kind on its machine"
    known = {path for each in results.values() for one in each for path in {one, *present(one)}}
    for path in sorted(set(folder.iterdir()) - known):
        yield f"{path.name} belongs to no result: no DAY-KIND-MACHINE.json has its name"


def main() -> None:
    """Remove the pages of older results, or name what breaks the rule."""
    if "--check" not in sys.argv[1:]:
        prune(RESULTS)
    found = list(faults(RESULTS))
    sys.exit("\n".join(found) if found else 0)


if __name__ == "__main__":
    main()

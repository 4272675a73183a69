"""Puts the newest results of the suite into the README; `--check` says whether they are there.

Only results at scale 1 on a server with a socket and `wal_level = minimal` are taken: those of the
short name.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results"
BEGINS = "<!-- the suite's table, by benchmarks/readme.py: begins -->"
ENDS = "<!-- the suite's table: ends -->"
# The machine's name follows at once: results of another scale or server have more words.
NAME = re.compile(r"\d{4}-\d\d-\d\d-suite-(?!scale-|replica-|tls-)[a-z0-9-]+\.md")


def newest(folder: Path) -> Path | None:
    """Return the page of the newest results, or None where there are none yet."""
    found = sorted(path for path in folder.glob("*-suite-*.md") if NAME.fullmatch(path.name))
    return found[-1] if found else None


def between(text: str, begins: str, ends: str) -> str:
    """Return what stands between two marks, each of which stands there once."""
    (_, rest) = text.split(begins)
    (found, _) = rest.split(ends)
    return found


def section(folder: Path) -> str:
    """Return what the README must have between its marks."""
    page = newest(folder)
    if page is None:
        return "\n"
    table = between(page.read_text(), results.TABLE_BEGINS, results.TABLE_ENDS).strip()
    return f"\n{table}\n\nAll of it: [{page.stem}](benchmarks/results/{page.name}).\n"


def updated(readme: str, folder: Path) -> str:
    """Return the README with the newest results."""
    old = between(readme, BEGINS, ENDS)
    return readme.replace(f"{BEGINS}{old}{ENDS}", f"{BEGINS}{section(folder)}{ENDS}")


def main() -> None:
    """Write the README, or check it."""
    before = README.read_text()
    after = updated(before, RESULTS)
    if "--check" in sys.argv[1:]:
        sys.exit(
            0 if before == after else "README.md is not of the newest results: make bench-readme"
        )
    README.write_text(after)


if __name__ == "__main__":
    main()

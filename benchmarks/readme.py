"""Puts the newest results of the suite into the README; with `--check`, only looks for them.

Only complete results of the usual set-up are used: all rounds of each workload and each side in the
README, with two streams at scale 1, on the newest server over a socket with `wal_level = minimal`.
A partial result (`suite.py --workloads narrow`) has the same name as a complete one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import findings
import ground
import results
import suite
from harness import servers
from harness.checkout import ROOT

README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results"
BEGINS = "<!-- the suite's table, by benchmarks/readme.py: begins -->"
ENDS = "<!-- the suite's table: ends -->"
# The required workloads and sides. Other workloads of the suite are variants of these; slow sides
# are shown only if they were measured.
WORKLOADS = (
    "lineitem",
    "tpch",
    "quoted",
    "wide",
    "narrow",
    "rejects",
    "routed",
    "plain-atomic",
    "plain-straight",
)
SIDES = (findings.OURS, "psql", "duckdb", "adbc", findings.LIMIT)


def is_usual(facts: findings.Facts) -> bool:
    """Return whether a result has the suite's default set-up."""
    return (
        facts["benchmark"] == results.BENCHMARK
        # The short name means the usual scale and server.
        and results.name_of(facts) == results.BENCHMARK
        and facts["parts"] == suite.PARTS
        and facts["machine"]["postgresql"].startswith(f"PostgreSQL {servers.VERSIONS[0]}.")
        and {streams for _, streams in findings.cases(facts)} == {suite.STREAMS}
    )


def is_accounted_for(facts: findings.Facts, workload: str, side: str) -> bool:
    """Return whether a side has all rounds of a workload, or the result explains why it has not."""
    case = (workload, suite.STREAMS)
    runs = findings.runs_of(facts, case, side)
    if len(runs) >= ground.ROUNDS or findings.stopped(facts, case, side):
        return True
    limit_s = facts.get("limit_s")
    if limit_s is not None and any(run["wall_s"] > limit_s for run in runs):
        return True
    return any(
        (one["workload"], one["side"]) == (workload, side) and not one["why"].startswith("failed")
        for one in facts["not_run"]
    )


def is_whole(facts: findings.Facts) -> bool:
    """Return whether a result has everything that the README shows."""
    return all(is_accounted_for(facts, workload, side) for workload in WORKLOADS for side in SIDES)


def newest(folder: Path) -> Path | None:
    """Return the newest complete results, or None if there are none yet."""
    # Their names begin with the day.
    for path in sorted(folder.glob("*-suite-*.json"), reverse=True):
        facts = json.loads(path.read_text())
        if is_usual(facts) and is_whole(facts):
            return path
    return None


def between(text: str, begins: str, ends: str) -> str:
    """Return the text between two marks, each of which occurs once."""
    (_, rest) = text.split(begins)
    (found, _) = rest.split(ends)
    return found


def section(folder: Path) -> str:
    """Return the text that the README must have between its marks."""
    path = newest(folder)
    if path is None:
        return "\n"
    table = results.table(json.loads(path.read_text()))
    # A newer partial result has the same name; then the page is the newer result's (`pages.py`).
    page = path.with_suffix(".md")
    link = page if page.exists() else path
    return f"\n{table}\n\nAll of it: [{path.stem}](benchmarks/results/{link.name}).\n"


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
            0
            if before == after
            else "README.md is not of the newest results: run benchmarks/readme.py"
        )
    README.write_text(after)


if __name__ == "__main__":
    main()

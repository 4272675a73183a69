"""Draws the results of the suite as SVG: `plots.py RESULT.json`, with a Python that has matplotlib.

One picture shows the ratio of each side's time to Inrush's, for all workloads. A workload that was
run with several numbers of streams has a picture of its own, which shows its time by streams.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot

import findings

# The same results give the same bytes; text stays text.
mpl.rcParams["svg.hashsalt"] = "inrush"
mpl.rcParams["svg.fonttype"] = "none"
mpl.rcParams["font.size"] = 9


def save(figure: Any, path: Path) -> None:
    """Write a picture without its creation date."""
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


Bar = tuple[tuple[str, int], str, list[float]]


def bars_of(facts: findings.Facts) -> list[Bar]:
    """Return a bar for each workload and each side other than Inrush."""
    return [
        (case, side, found)
        for case in findings.cases(facts)
        for side in findings.sides(facts)
        if side != findings.OURS and (found := findings.ratios(facts, case, side))
    ]


def draw_ratios(facts: findings.Facts, bars: list[Bar], path: Path) -> None:
    """Draw bars, with the smallest and largest round as whiskers."""
    sides = findings.sides(facts)
    figure, axes = pyplot.subplots(figsize=(8, 0.8 + 0.2 * len(bars)))
    colours = dict(zip(sides, pyplot.get_cmap("tab10").colors, strict=False))
    ticks, labels, at, before = [], [], 0.0, None
    for case, side, found in bars:
        at += 0.6 if before not in (None, case) else 0.0
        before = case
        middle = statistics.median(found)
        axes.barh(
            at,
            # Bars start at the line of Inrush's own time.
            middle - 1,
            left=1,
            xerr=[[middle - min(found)], [max(found) - middle]],
            color=colours[side],
            error_kw={"elinewidth": 0.8},
        )
        ticks.append(at)
        labels.append(f"{case[0]}, {case[1]} streams: {side}")
        at += 1.0
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    shown = [0.1, 0.2, 0.5, 1, 1.5, 2, 3, 5, 10, 20, 50, 100]
    axes.set_xticks(shown, [f"{one:g}" for one in shown])
    axes.minorticks_off()
    least = min(min(found) for _, _, found in bars)
    most = max(max(found) for _, _, found in bars)
    axes.set_xlim(min(0.5, least * 0.9), max(2.0, most * 1.1))
    axes.set_yticks(ticks, labels)
    axes.invert_yaxis()
    axes.set_xlabel(
        "wall time as a multiple of Inrush's: bars to the right took longer, to the left less"
    )
    save(figure, path)


def draw_streams(facts: findings.Facts, workload: str, path: Path) -> None:
    """Draw the time of each side by the number of streams."""
    figure, axes = pyplot.subplots(figsize=(6, 4))
    swept = [case for case in findings.cases(facts) if case[0] == workload]
    for side in findings.sides(facts):
        found = [
            (case[1], findings.runs_of(facts, case, side))
            for case in swept
            if not findings.stopped(facts, case, side)
        ]
        points = [(streams, findings.median(runs, "wall_s")) for streams, runs in found if runs]
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", label=side)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks([case[1] for case in swept], [str(case[1]) for case in swept])
    axes.set_xlabel("streams")
    axes.set_ylabel("wall s")
    axes.set_title(workload)
    axes.legend()
    save(figure, path)


def main() -> None:
    """Draw all pictures and name them in the result."""
    path = Path(sys.argv[1])
    facts = json.loads(path.read_text())
    plots = []
    if bars := bars_of(facts):
        draw_ratios(facts, bars, path.with_name(f"{path.stem}-ratios.svg"))
        plots.append({"name": "ratios", "title": "wall time as a multiple of Inrush's"})
    swept = findings.cases(facts)
    for workload in facts["workloads"]:
        if sum(case[0] == workload for case in swept) > 1:
            draw_streams(facts, workload, path.with_name(f"{path.stem}-{workload}.svg"))
            plots.append({"name": workload, "title": f"{workload}: wall time by streams"})
    path.write_text(json.dumps({**facts, "plots": plots}, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""The results of the suite: a JSON file with every measurement, and the page made from it.

The page is made only from the JSON, so that it can be made again, and rounds can be added to a file
later (`suite.py --join`): a suite of an hour can be run in pieces of minutes.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import ground
import targets
import workloads
from findings import LIMIT, OURS, Facts, Run, cases, median, ratios, runs_of, sides, stopped, stops
from peers import ALL

BENCHMARK = "suite"
TABLE_BEGINS = "<!-- the table begins -->"
TABLE_ENDS = "<!-- the table ends -->"
# The settings that two pieces must have in common to be one result.
COMMON = ("scale", "parts", "wal_level", "over")
COMMON_OF_MACHINE = ("processor", "cores", "engine", "commit_changed", "postgresql", "settings")


class DifferentError(Exception):
    """Raised if rounds are added to a result with other settings."""


def join(old: Facts, new: Facts) -> Facts:
    """Return a result with the rounds of two results; the new rounds are numbered after the old."""
    pairs = [(key, old[key], new[key]) for key in COMMON]
    pairs += [(key, old["machine"].get(key), new["machine"].get(key)) for key in COMMON_OF_MACHINE]
    for name, told in new["workloads"].items():
        if name in old["workloads"]:
            pairs.append((f"rows of {name}", old["workloads"][name]["rows"], told["rows"]))
    for name, told in new["peers"].items():
        if name in old["peers"]:
            pairs.append((f"version of {name}", old["peers"][name]["version"], told["version"]))
    for key, before, now in pairs:
        if before != now:
            raise DifferentError(f"{key} was {before!r} and is {now!r}")
    last: dict[tuple[str, int], int] = {}
    for run in old["runs"] + stops(old):
        place = (run["workload"], run["streams"])
        last[place] = max(last.get(place, 0), run["round"])

    def counted(runs: Sequence[Run]) -> list[Run]:
        return [
            {**run, "round": run["round"] + last.get((run["workload"], run["streams"]), 0)}
            for run in runs
        ]

    not_run = {tuple(one) for one in map(_items, old["not_run"] + new["not_run"])}
    return {
        **old,
        "peers": _in_order({**old["peers"], **new["peers"]}, [peer.name for peer in ALL]),
        "workloads": _in_order({**old["workloads"], **new["workloads"]}, list(workloads.ALL)),
        "runs": old["runs"] + counted(new["runs"]),
        "stopped": stops(old) + counted(stops(new)),
        "not_run": [dict(one) for one in sorted(not_run)],
    }


def name_of(facts: Facts) -> str:
    """Return the name of a result, without its day and machine."""
    # The usual case, which the README shows, has the short name.
    name = BENCHMARK
    if facts["scale"] != 1:
        name += f"-scale-{facts['scale']:g}"
    if facts["wal_level"] != "minimal":
        name += f"-{facts['wal_level']}"
    if facts["over"] != "socket":
        name += f"-{facts['over']}"
    return name


def place(folder: Path, facts: Facts) -> Path:
    """Return the path in a folder of the JSON file for a result of today."""
    return folder / f"{ground.results_name(name_of(facts), facts['machine'])}.json"


def write(path: Path, facts: Facts) -> None:
    """Write a result, and its page beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(facts, indent=1) + "\n")
    write_page(path)


def write_page(path: Path) -> None:
    """Write the page of a JSON file beside it."""
    path.with_suffix(".md").write_text(page(json.loads(path.read_text()), path.stem))


def table(facts: Facts) -> str:
    """Return the short table, which the README shows: seconds, and their ratios to Inrush's."""
    about = facts["machine"]
    shown = [side for side in sides(facts) if side != LIMIT]
    shown += [LIMIT] if LIMIT in sides(facts) else []
    lines = [
        f"| workload | streams | MB | {' | '.join(shown)} |",
        f"|---|---|---|{'---|' * len(shown)}",
    ]
    for case in cases(facts):
        megabytes = facts["workloads"][case[0]]["bytes"] / 1e6
        cells = [_short(facts, case, side) for side in shown]
        lines.append(f"| {case[0]} | {case[1]} | {megabytes:.0f} | {' | '.join(cells)} |")
    rounds = sorted({len(runs_of(facts, case, OURS)) for case in cases(facts)}) or [0]
    counts = "-".join(str(one) for one in dict.fromkeys((rounds[0], rounds[-1])))
    changed = " with changes" if about["commit_changed"] else ""
    where = "TCP with TLS" if facts["over"] == "tls" else "a Unix socket"
    lines += [
        "",
        "Times are in seconds. In bold is the time divided by Inrush's, as the median over the "
        "rounds that have both. A dash means that a tool cannot do it or was not run. "
        f"{facts['date']}, commit "
        f"{about['commit']}{changed}, {about['processor']}, {about['cores']} cores, "
        f"{about['memory_gib']} GiB; {str(about['postgresql']).split(' on ')[0]} on the same "
        f"machine over {where}, durable, `wal_level = {facts['wal_level']}`; scale "
        f"{facts['scale']:g}, {counts} rounds of Inrush, all sides in turn; {noise_line(facts)}",
    ]
    if stops(facts):
        lines[-1] += (
            " A side that was stopped was past its limit of time, and no ratio is made of it."
        )
    return "\n".join(lines)


def noise_line(facts: Facts) -> str:
    """Return how noisy the machine was, in a sentence."""
    if not facts["runs"]:
        return "noise: not known, for nothing ended."
    hashes = [run["reference_hash_s"] for run in facts["runs"]]
    writes = [run["reference_write_s"] for run in facts["runs"]]
    wall = sum(run["wall_s"] for run in facts["runs"]) * facts["machine"]["cores"]
    others = sum(run["others_cpu_s"] for run in facts["runs"]) / wall
    stolen = sum(run["stolen_cpu_s"] for run in facts["runs"]) / wall
    return (
        f"noise: a fixed hash took {ground.spread(hashes)} s and a fixed synced write "
        f"{ground.spread(writes)} s before each measure, other programs than the two sides "
        f"used {others:.0%} of the processors, and the host took {stolen:.0%}."
    )


def page(facts: Facts, stem: str) -> str:
    """Return the page to read."""
    lines = [
        f"# The benchmark suite, scale {facts['scale']:g}",
        "",
        ground.machine_lines(facts),
        TABLE_BEGINS,
        table(facts),
        TABLE_ENDS,
        "",
    ]
    if facts.get("plots"):
        lines += [f"![{plot['title']}]({stem}-{plot['name']}.svg)" for plot in facts["plots"]]
        lines.append("")
    for case in cases(facts):
        lines += _section(facts, case)
    lines += ["## What was not run, and why", ""]
    lines += ["| workload | side | why |", "|---|---|---|"]
    lines += [f"| {one['workload']} | {one['side']} | {one['why']} |" for one in facts["not_run"]]
    lines += [
        f"| {one['workload']}, {one['streams']} streams | {one['side']} | in round {one['round']} "
        f"it was {_stopped(one)}, past its limit of time |"
        for one in stops(facts)
    ]
    lines += ["", "## The sides", "", "| side | version | how it was set |", "|---|---|---|"]
    lines += [
        f"| {name} | {told['version'] or 'absent'} | {told['about']} |"
        for name, told in facts["peers"].items()
    ]
    lines += ["", "To repeat: `make bench`.", ""]
    return "\n".join(lines)


def _section(facts: Facts, case: tuple[str, int]) -> Iterator[str]:
    name, streams = case
    told = facts["workloads"][name]
    rows = sum(one["count"] for one in told["rows"].values())
    bad = f", {told['bad_rows']:,} bad ones beside them" if told["bad_rows"] else ""
    yield f"## {name}, {streams} streams"
    yield ""
    title = f"{told['title'][0].upper()}{told['title'][1:]}"
    yield f"{title}: {rows:,} rows{bad}, {told['bytes'] / 1e6:.1f} MB."
    ended = " that ended it" if any(stopped(facts, case, side) for side in sides(facts)) else ""
    yield (
        f"After the first round the contents of all sides{ended} were equal, by a hash of all "
        "values of all rows; later rounds, which are the same commands, are not hashed."
    )
    yield ""
    yield (
        "| side | rounds | wall s | MB/s | wall / inrush | client CPU s | server CPU s | client "
        "MiB | fixed hash s | fixed write s | others' CPU s |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for side in sides(facts):
        if runs_of(facts, case, side) or stopped(facts, case, side):
            yield f"| {' | '.join(_row(facts, case, side))} |"
    yield ""
    yield from targets.lines(facts, case)
    yield from _noted(runs_of(facts, case, OURS))


def _row(facts: Facts, case: tuple[str, int], side: str) -> list[str]:
    """Return the cells of a side."""
    runs = runs_of(facts, case, side)
    stop = stopped(facts, case, side)
    if stop is not None:
        return [side, f"{len(runs)}, then {_stopped(stop)}", *"-" * 9]
    found = ratios(facts, case, side)
    return [
        side,
        str(len(runs)),
        _spread(runs, "wall_s"),
        f"{facts['workloads'][case[0]]['bytes'] / 1e6 / median(runs, 'wall_s'):.0f}",
        ground.spread(found) if found else "-",
        _spread(runs, "client_cpu_s"),
        _spread(runs, "server_cpu_s"),
        ground.spread([run["client_resident_kib_max"] / 1024 for run in runs], 0),
        _spread(runs, "reference_hash_s"),
        _spread(runs, "reference_write_s"),
        _spread(runs, "others_cpu_s"),
    ]


def _noted(runs: Sequence[Run]) -> Iterator[str]:
    """Write Inrush's notes about its own runs."""
    noted = [run for run in runs if "verdict" in run]
    if not noted:
        return
    shares = [
        run["metering_cpu_s"] / (run["client_cpu_s"] + run["server_cpu_s"]) * 100 for run in noted
    ]
    yield (
        f"Inrush's meters took {ground.spread(shares)} % of the processor seconds of Inrush and "
        "the server. The verdicts of its reports, round by round:"
    )
    yield ""
    yield from (f"- {run['verdict']}" for run in noted)
    yield ""


def _spread(runs: Sequence[Run], key: str) -> str:
    return ground.spread([run[key] for run in runs])


def _stopped(run: Run) -> str:
    return f"stopped after {run['after_s']:.1f} s"


def _short(facts: Facts, case: tuple[str, int], side: str) -> str:
    stop = stopped(facts, case, side)
    if stop is not None:
        return _stopped(stop)
    runs = runs_of(facts, case, side)
    if not runs:
        return "-"
    wall = f"{median(runs, 'wall_s'):.2f}"
    found = ratios(facts, case, side)
    if side == OURS or not found:
        return wall
    return f"{wall}, **{statistics.median(found):.2f}**"


def _in_order(told: dict[str, Any], known: Sequence[str]) -> dict[str, Any]:
    """Sort into the suite's order; names that it does not know come last."""
    names = sorted(told, key=lambda name: known.index(name) if name in known else len(known))
    return {name: told[name] for name in names}


def _items(one: dict[str, str]) -> list[tuple[str, str]]:
    return sorted(one.items())

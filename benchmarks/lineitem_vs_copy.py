r"""Lineitem in parts: Inrush against as many parallel `psql \copy`, in turn in the same run.

Both sides load the same rows into the same server, durably, with FREEZE into tables made in
the same transaction. psql reads files stripped of dbgen's trailing delimiter beforehand, which
is not counted, and leaves plain tables; Inrush reads dbgen's own files and leaves a partitioned
table with its ledger. The contents are compared with a server-side COPY of the stripped files.

A third side shows how much of that is the server's own: as many sessions that COPY the same rows
from files which the server has written in binary form, which no client has to read, convert or
send; they count, add the CHECK and attach as Inrush does. No client can be faster by COPY.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import ground
from ground import Measure
from servers import Database, Server

numbers = itertools.count(1)


def fresh(server: Server) -> Database:
    """Return an empty database."""
    return server.create_database(f"round_{next(numbers)}")


def inrush_package(
    database: Database, files: Sequence[Path], folder: Path, *, streams: int, analyze: bool
) -> Path:
    """Write the package of Inrush's side."""
    lines = [
        'name = "lineitem"',
        "[connections.target]",
        f"url = {json.dumps(database.url)}",
        "[run]",
        f"streams = {streams}",
        f"analyze = {json.dumps(analyze)}",
        "[[flow]]",
        'table = "lineitem"',
        f"files = {json.dumps([str(file) for file in files])}",
        'format = { preset = "tbl" }',
        f"columns = {json.dumps(list(ground.LINEITEM))}",
        'partition_by = "l_orderkey"',
    ]
    path = folder / f"{database.name}.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def psql_commands(
    database: Database, stripped: Sequence[Path], *, streams: int, analyze: bool
) -> list[list[str | Path]]:
    """Return a psql for each stream; each loads its share of the parts, one after another."""
    columns = ", ".join(ground.LINEITEM)
    commands = []
    for stream in range(streams):
        command: list[str | Path] = [database.server.programs / "psql", "--no-psqlrc", "--quiet"]
        command += ["--set=ON_ERROR_STOP=1", "--dbname", database.url]
        for part, file in list(enumerate(stripped, 1))[stream::streams]:
            steps = [
                "BEGIN",
                f"CREATE TABLE lineitem_{part} ({columns})",
                f"\\copy lineitem_{part} FROM '{file}' (DELIMITER '|', FREEZE)",
                "COMMIT",
            ]
            if analyze:
                steps.append(f"ANALYZE lineitem_{part}")
            for step in steps:
                command += ["--command", step]
        commands.append(command)
    return commands


def server_alone_commands(
    database: Database, prepared: Sequence[Path], ranges: Sequence[tuple[int, int]], *, streams: int
) -> list[list[str | Path]]:
    """Return a psql for each stream that lets the server read prepared binary files."""
    columns = ", ".join(ground.LINEITEM)
    commands = []
    for stream in range(streams):
        command: list[str | Path] = [database.server.programs / "psql", "--no-psqlrc", "--quiet"]
        command += ["--set=ON_ERROR_STOP=1", "--output=/dev/null", "--dbname", database.url]
        for part, file in list(enumerate(prepared, 1))[stream::streams]:
            least, most = ranges[part - 1]
            steps = [
                "BEGIN",
                f"CREATE TABLE lineitem_{part} ({columns}, "
                f"CHECK (l_orderkey >= {least} AND l_orderkey <= {most}))",
                f"COPY lineitem_{part} FROM '{file}' (FORMAT binary, FREEZE)",
                f"SELECT count(*) FROM lineitem_{part}",
                "COMMIT",
                f"ALTER TABLE lineitem ATTACH PARTITION lineitem_{part} "
                f"FOR VALUES FROM ({least}) TO ({most + 1})",
            ]
            for step in steps:
                command += ["--command", step]
        commands.append(command)
    return commands


def prepare(
    server: Server, stripped: Sequence[Path], folder: Path
) -> tuple[list[Path], list[tuple[int, int]]]:
    """Let the server write each file's rows in binary form; also return their key's ends."""
    database = fresh(server)
    prepared: list[Path] = []
    ranges: list[tuple[int, int]] = []
    folder.mkdir()
    folder.chmod(0o777)
    for file in stripped:
        path = folder / f"{file.stem}.binary"
        database.execute(f"CREATE TABLE part ({', '.join(ground.LINEITEM)})")
        database.execute(f"COPY part FROM '{file}' (DELIMITER '|')")
        database.execute(f"COPY part TO '{path}' (FORMAT binary)")
        ((least, most),) = database.rows("SELECT min(l_orderkey), max(l_orderkey) FROM part")
        ranges.append((least, most))
        database.execute("DROP TABLE part")
        prepared.append(path)
    drop(database)
    return prepared, ranges


def expected_digest(server: Server, stripped: Sequence[Path]) -> str:
    """Return the digest of what the server's own COPY makes of the files."""
    database = fresh(server)
    database.execute(f"CREATE TABLE lineitem ({', '.join(ground.LINEITEM)})")
    for file in stripped:
        database.execute(f"COPY lineitem FROM '{file}' (DELIMITER '|')")
    found = ground.digest(database, "lineitem")
    drop(database)
    return found


def drop(database: Database) -> None:
    """Remove a database."""
    with database.server.connect() as connection:
        connection.execute(f"DROP DATABASE {database.name}".encode())


def main() -> None:
    """Run it."""
    parser = ground.arguments((__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", default="1", help="TPC-H's scale factor")
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--streams", type=int, default=2)
    options = parser.parse_args()
    with ground.ground(options) as (server, folder):
        run(options, server, folder)


def run(options: argparse.Namespace, server: Server, folder: Path) -> None:
    """Measure all sides in turn and write what was found."""
    about = ground.machine(server)
    files = ground.generate(folder, options.scale, options.parts)
    stripped = ground.strip(files)
    text_bytes = sum(file.stat().st_size for file in files)
    expected = expected_digest(server, stripped)
    streams = options.streams
    prepared, ranges = prepare(server, stripped, folder / "prepared")
    sides: dict[str, list[Measure]] = {}
    for number in range(options.rounds):
        for analyze in (False, True):
            suffix = " + ANALYZE" if analyze else ""
            database = fresh(server)
            package = inrush_package(database, files, folder, streams=streams, analyze=analyze)
            found = ground.measure(server, [[ground.INRUSH, "run", package]], folder)
            sides.setdefault(f"inrush{suffix}", []).append(found)
            if number == 0:
                same = ground.digest(database, "lineitem") == expected
                assert same, "Inrush's contents differ from COPY's"
            drop(database)

            database = fresh(server)
            commands = psql_commands(database, stripped, streams=streams, analyze=analyze)
            found = ground.measure(server, commands, folder)
            sides.setdefault(f"psql{suffix}", []).append(found)
            if number == 0:
                tables = " UNION ALL ".join(
                    f"TABLE lineitem_{part}" for part in range(1, options.parts + 1)
                )
                same = ground.digest(database, f"({tables}) AS lineitem") == expected
                assert same, "psql's contents differ from COPY's"
            drop(database)
        database = fresh(server)
        columns = ", ".join(ground.LINEITEM)
        database.execute(f"CREATE TABLE lineitem ({columns}) PARTITION BY RANGE (l_orderkey)")
        commands = server_alone_commands(database, prepared, ranges, streams=streams)
        found = ground.measure(server, commands, folder)
        sides.setdefault("server alone", []).append(found)
        if number == 0:
            same = ground.digest(database, "lineitem") == expected
            assert same, "the prepared files' contents differ from COPY's"
        drop(database)
        walls = ", ".join(f"{side} {found[-1].wall_s:.2f} s" for side, found in sides.items())
        print(f"round {number + 1}: {walls}", flush=True)

    ratios = {
        suffix: [
            psql.wall_s / inrush.wall_s
            for psql, inrush in zip(sides[f"psql{suffix}"], sides[f"inrush{suffix}"], strict=True)
        ]
        for suffix in ("", " + ANALYZE")
    }
    over_server = [
        inrush.wall_s / alone.wall_s
        for inrush, alone in zip(sides["inrush"], sides["server alone"], strict=True)
    ]
    facts = {
        "benchmark": "lineitem_vs_copy",
        "scale": options.scale,
        "parts": options.parts,
        "streams": streams,
        "text_bytes": text_bytes,
        "contents": f"sha256 of all rows in binary form, equal on both sides: {expected}",
        "psql_over_inrush_wall_median": {
            f"without{suffix}" if not suffix else suffix.strip(" +"): statistics.median(values)
            for suffix, values in ratios.items()
        },
        "inrush_over_server_alone_wall_median": statistics.median(over_server),
        "machine": about,
        "rounds": {side: [asdict(one) for one in found] for side, found in sides.items()},
    }
    ground.write_results(
        options.results, "lineitem-vs-copy", facts, page(facts, sides, ratios, over_server)
    )


def page(
    facts: dict[str, object],
    sides: dict[str, list[Measure]],
    ratios: dict[str, list[float]],
    over_server: list[float],
) -> str:
    """Return the page to read."""
    size = int(str(facts["text_bytes"]))
    rounds = len(next(iter(sides.values())))
    lines = [
        f"# TPC-H scale {facts['scale']}, lineitem in {facts['parts']} parts, "
        f"{facts['streams']} streams",
        "",
        ground.machine_lines(facts),
        f"{size / 1e6:.0f} MB of text; {rounds} rounds, all sides in turn; medians (least-most).",
        "The contents of both sides equal those of a server-side COPY, by digest of all rows.",
        "",
        "| side | wall s | MB/s | client CPU s | server CPU s | client resident MiB |",
        "|---|---|---|---|---|---|",
    ]
    for side, found in sides.items():
        speed = size / 1e6 / statistics.median(one.wall_s for one in found)
        lines.append(
            f"| {side} | {ground.spread([one.wall_s for one in found])} | {speed:.0f} "
            f"| {ground.cells(found)}"
        )
    lines.append("")
    lines += [
        f"psql / inrush, wall, round by round{', both with ANALYZE' if suffix else ''}: "
        f"**{ground.spread(values)}**"
        for suffix, values in ratios.items()
    ]
    lines += [
        "",
        "inrush / server alone (the server reads prepared binary files, no client at all), wall: "
        f"**{ground.spread(over_server)}**",
    ]
    lines += ["", "Again: `make bench`, or `.venv/bin/python benchmarks/lineitem_vs_copy.py`.", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    main()

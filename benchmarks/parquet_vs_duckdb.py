"""Lineitem from Parquet files: Inrush against DuckDB's postgres extension, in turn in one run.

Both sides read the same Parquet files and load them into the same server, durably. DuckDB runs as
many processes as Inrush has streams, each inserting its share of the files into tables that are
there already; Inrush leaves a partitioned table with its ledger. The contents are compared.

DuckDB and its extension come from PyPI: `pip install duckdb==1.5.5
duckdb-extension-postgres-scanner==1.5.5`, in any Python that `--duckdb` names.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import ground
from ground import Measure
from lineitem_vs_copy import drop, fresh, inrush_package
from servers import Database, Server

LOAD = """
import pathlib, sys
import duckdb, duckdb_extension_postgres_scanner as wheel
url, threads, *pairs = sys.argv[1:]
[extension] = pathlib.Path(wheel.__file__).parent.glob("extensions/*/*.duckdb_extension")
session = duckdb.connect(config={"threads": int(threads), "allow_unsigned_extensions": "true"})
session.execute(f"LOAD '{extension}'")
session.execute(f"ATTACH '{url}' AS target (TYPE postgres)")
for pair in pairs:
    table, file = pair.split("=", 1)
    session.execute(f"INSERT INTO target.public.{table} SELECT * FROM read_parquet('{file}')")
"""


def generate(folder: Path, scale: str, parts: int) -> list[Path]:
    """Write lineitem at a scale as Parquet, in parts, and return its files."""
    target = folder / "parquet"
    command: list[str | Path] = [ground.GENERATOR, "parquet", "-s", scale, "-T", "lineitem"]
    command += ["--parts", str(parts), "-o", target]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return sorted((target / "lineitem").iterdir())


def duckdb_commands(
    python: Path, database: Database, files: Sequence[Path], streams: int
) -> list[list[str | Path]]:
    """Return a DuckDB for each stream; each loads its share of the files, one after another."""
    commands: list[list[str | Path]] = []
    for stream in range(streams):
        shares = list(enumerate(files, 1))[stream::streams]
        pairs = [f"lineitem_{part}={file}" for part, file in shares]
        commands.append([python, "-c", LOAD, database.url, "1", *pairs])
    return commands


def measure_duckdb(
    server: Server, folder: Path, python: Path, files: Sequence[Path], streams: int
) -> tuple[Measure, Database]:
    """Measure DuckDB; its tables are made before, which is not measured."""
    database = fresh(server)
    for part in range(1, len(files) + 1):
        database.execute(f"CREATE TABLE lineitem_{part} ({', '.join(ground.LINEITEM)})")
    commands = duckdb_commands(python, database, files, streams)
    return ground.measure(server, commands, folder), database


def measure_inrush(
    server: Server, folder: Path, files: Sequence[Path], streams: int
) -> tuple[Measure, Database]:
    """Measure Inrush."""
    database = fresh(server)
    package = inrush_package(database, files, folder, streams=streams, analyze=False)
    text = package.read_text().replace('format = { preset = "tbl" }\n', "")
    package.write_text(text)
    return ground.measure(server, [[ground.INRUSH, "run", package]], folder), database


def main() -> None:
    """Run it."""
    parser = ground.arguments((__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", default="1", help="TPC-H's scale factor")
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--streams", type=int, default=2)
    parser.add_argument(
        "--duckdb", type=Path, default=Path(sys.executable), help="a Python with it"
    )
    options = parser.parse_args()
    found: dict[str, list[Measure]] = {"inrush": [], "duckdb": []}
    with ground.ground(options) as (server, folder):
        about = ground.machine(server)
        files = generate(folder, options.scale, options.parts)
        size = sum(file.stat().st_size for file in files)
        for number in range(options.rounds):
            mine, loaded = measure_inrush(server, folder, files, options.streams)
            theirs, others = measure_duckdb(server, folder, options.duckdb, files, options.streams)
            if number == 0:
                union = " UNION ALL ".join(
                    f"TABLE lineitem_{part}" for part in range(1, len(files) + 1)
                )
                expected = ground.digest(others, f"({union}) AS parts")
                assert ground.digest(loaded, "lineitem") == expected, "the contents differ"
            found["inrush"].append(mine)
            found["duckdb"].append(theirs)
            print(
                f"round {number + 1}: {mine.wall_s:.2f} s, duckdb {theirs.wall_s:.2f} s", flush=True
            )
            drop(loaded)
            drop(others)
    pairs = zip(found["duckdb"], found["inrush"], strict=True)
    ratios = [theirs.wall_s / mine.wall_s for theirs, mine in pairs]
    facts = {
        "benchmark": "parquet_vs_duckdb",
        "scale": options.scale,
        "parts": options.parts,
        "streams": options.streams,
        "parquet_bytes": size,
        "contents": f"sha256 of all rows in binary form, equal for both: {expected}",
        "duckdb_over_inrush_median": statistics.median(ratios),
        "machine": about,
        "rounds": {name: [asdict(one) for one in measures] for name, measures in found.items()},
    }
    lines = [
        f"# TPC-H scale {options.scale}, lineitem in {options.parts} Parquet files",
        "",
        ground.machine_lines(facts),
        f"{size / 1e6:.0f} MB of Parquet, {options.streams} streams, or processes of DuckDB; "
        f"{len(ratios)} rounds, both in turn; medians (least-most). The contents are equal.",
        "",
        "| side | wall s | client CPU s | server CPU s | client resident MiB |",
        "|---|---|---|---|---|",
    ]
    for name, one in found.items():
        walls = ground.spread([each.wall_s for each in one])
        lines.append(f"| {name} | {walls} | {ground.cells(one)}")
    lines += [
        "",
        f"duckdb / inrush, wall, round by round: **{ground.spread(ratios)}**",
        "",
        "Again: `.venv/bin/python benchmarks/parquet_vs_duckdb.py --duckdb PYTHON`, where PYTHON "
        "has duckdb and duckdb-extension-postgres-scanner.",
        "",
    ]
    name = "parquet-vs-duckdb"
    ground.write_results(options.results, name, facts, "\n".join(lines))


if __name__ == "__main__":
    main()

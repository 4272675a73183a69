"""Compares Inrush with DuckDB: lineitem into a DuckDB file and into Parquet files, in turn.

Both read the same `.tbl` files. DuckDB has its best settings (`preserve_insertion_order = false`,
declared columns, no quotes). It also loads the same rows from Arrow tables in memory, without the
cost of reading and converting. Times are those of whole processes, from the start to a closed and
checkpointed file; the Arrow tables are made before the clock starts. The contents are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import ground
from ground import Measure
from harness.checkout import MEASURED

# The program of DuckDB's side. Its arguments: the task, the file or folder to make, the number of
# threads, the columns and the source files.
DUCKDB = """
import json, sys, time
import duckdb
what, target, threads, columns, *files = sys.argv[1:]
columns = json.loads(columns)
words = ", ".join(f"'{name}': '{kind}'" for name, kind in columns)
def scan(files):
    return (f"SELECT * EXCLUDE (nothing) FROM read_csv({files!r}, delim = '|', header = false, "
            f"columns = {{{words}, 'nothing': 'varchar'}}, auto_detect = false, "
            "quote = '', escape = '')")
made = ", ".join(f"{name} {kind}" for name, kind in columns)
if what == "arrow":
    with duckdb.connect(config={"threads": int(threads)}) as first:
        rows = first.execute(scan(files)).to_arrow_table()
begun = time.perf_counter()
with duckdb.connect(target if what != "parquet" else ":memory:",
                    config={"threads": int(threads)}) as session:
    session.execute("SET preserve_insertion_order = false")
    session.execute("SET enable_progress_bar = false")
    if what == "parquet":
        session.execute(f"COPY ({scan(files)}) TO '{target}' (FORMAT parquet, CODEC zstd)")
    else:
        session.execute(f"CREATE TABLE lineitem ({made})")
        source = "SELECT * FROM rows" if what == "arrow" else scan(files)
        session.execute(f"INSERT INTO lineitem {source}")
        session.execute("CHECKPOINT")
print(time.perf_counter() - begun)
"""

CONTENTS = """
import sys
import duckdb
what, place = sys.argv[1:]
with duckdb.connect() as session:
    if what == "duckdb":
        session.execute(f"ATTACH '{place}' AS loaded (READ_ONLY)")
        table = "loaded.lineitem"
    else:
        table = f"read_parquet('{place}')"
    # A sum of hashes of whole rows: neither side promises an order of rows.
    print(session.execute(f"SELECT count(*), sum(hash(t)::hugeint) FROM {table} t").fetchall())
"""


def columns() -> list[list[str]]:
    """Return the names of lineitem's columns with their types."""
    return [column.replace(" not null", "").split(" ", 1) for column in ground.LINEITEM]


def measured(command: Sequence[str | Path], folder: Path) -> tuple[Measure, str]:
    """Run a command alone and measure it; also return its output."""
    os.sync()
    with tempfile.NamedTemporaryFile(mode="r") as result:
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-I", "-S", MEASURED, result.name, *map(str, command)],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        wall_s = time.perf_counter() - start
        if done.returncode:
            sys.exit(f"{command} failed:\n{done.stdout}{done.stderr}")
        cpu_s, resident_kib = result.read().split()
    return Measure(wall_s, float(cpu_s), 0.0, int(resident_kib)), done.stdout


def size(place: Path) -> int:
    """Return the bytes of a file, or of all Parquet files in a folder."""
    if place.is_file():
        return place.stat().st_size
    return sum(file.stat().st_size for file in place.rglob("*.parquet"))


def contents(what: str, place: str) -> str:
    """Return a digest of all rows."""
    command = [sys.executable, "-c", CONTENTS, what, place]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


class Side:
    """One way to load, measured once in each round."""

    def __init__(self, name: str, what: str, files: Sequence[Path], threads: int) -> None:
        self.name, self.what, self.files, self.threads = name, what, files, threads
        self.measures: list[Measure] = []
        self.bytes = 0
        self.contents = ""

    def run(self, folder: Path, first: bool) -> Measure:
        """Load into a new file or folder, measure the load, and remove the result."""
        work = Path(tempfile.mkdtemp(dir=folder))
        measure = self.inrush(work) if self.what.startswith("inrush") else self.duckdb(work)
        if first:
            what = "parquet" if "parquet" in self.what else "duckdb"
            place = work / ("lineitem/*.parquet" if self.what == "inrush-parquet" else "target")
            self.contents = contents(what, str(place))
        shutil.rmtree(work)
        self.measures.append(measure)
        return measure

    def inrush(self, work: Path) -> Measure:
        """Measure Inrush."""
        target = f"parquet:{work}" if "parquet" in self.what else f"duckdb:{work}/target"
        command: list[str | Path] = [*ground.INRUSH, "load", *self.files, "--to", target]
        listed = ", ".join(f"{name} {kind}" for name, kind in columns())
        command += ["--table", "lineitem", "--columns", listed, "--streams", str(self.threads)]
        measure, _ = measured([*command, "--quiet", "--runs-folder", work / "runs"], work)
        self.bytes = size(work / "lineitem" if "parquet" in self.what else work / "target")
        return measure

    def duckdb(self, work: Path) -> Measure:
        """Measure DuckDB."""
        arguments: list[str | Path] = [self.what, work / "target", str(self.threads)]
        arguments.append(json.dumps(columns()))
        command: list[str | Path] = [sys.executable, "-c", DUCKDB, *arguments, *self.files]
        measure, said = measured(command, work)
        self.bytes = (work / "target").stat().st_size
        if self.what == "arrow":
            return Measure(float(said.split()[-1]), 0.0, 0.0, measure.client_resident_kib_max)
        return measure


def main() -> None:
    """Run the benchmark."""
    parser = ground.arguments((__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", default="1", help="TPC-H's scale factor")
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--streams", type=int, default=2, help="streams, and threads of DuckDB")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="inrush-bench-", dir=options.folder))
    try:
        run(options, folder)
    finally:
        shutil.rmtree(folder)


def run(options: argparse.Namespace, folder: Path) -> None:
    """Measure all sides in turn, and write the results."""
    about = ground.machine(None)
    files = ground.generate(folder, options.scale, options.parts)
    names = {
        "inrush": "inrush, DuckDB file",
        "csv": "duckdb, read_csv into its file",
        "arrow": "duckdb, Arrow in memory into its file",
        "inrush-parquet": "inrush, Parquet",
        "parquet": "duckdb, read_csv into Parquet",
    }
    sides = [Side(name, what, files, options.streams) for what, name in names.items()]
    for number in range(options.rounds):
        walls = [f"{side.name} {side.run(folder, number == 0).wall_s:.2f}" for side in sides]
        print(f"round {number + 1}: {'; '.join(walls)}", flush=True)
    digests = {side.name: side.contents for side in sides}
    assert len(set(digests.values())) == 1, f"the contents differ: {digests}"
    mine, csv, arrow, my_parquet, parquet = sides

    def ratios(theirs: Side, own: Side) -> list[float]:
        pairs = zip(theirs.measures, own.measures, strict=True)
        return [one.wall_s / other.wall_s for one, other in pairs]

    facts = {
        "benchmark": "files_vs_duckdb",
        "scale": options.scale,
        "parts": options.parts,
        "streams": options.streams,
        "contents": sides[0].contents,
        "read_csv_over_inrush": ratios(csv, mine),
        "inrush_over_arrow": ratios(mine, arrow),
        "parquet_over_inrush": ratios(parquet, my_parquet),
        "parquet_bytes_over_duckdb": my_parquet.bytes / parquet.bytes,
        "machine": about,
        "rounds": {side.name: [asdict(one) for one in side.measures] for side in sides},
        "bytes": {side.name: side.bytes for side in sides},
    }
    text = sum(file.stat().st_size for file in files)
    lines = [
        f"# TPC-H scale {options.scale}, lineitem in {options.parts} files, into files",
        "",
        ground.machine_lines(facts),
        f"{text / 1e6:.0f} MB of text, {options.streams} streams or threads; {options.rounds} "
        "rounds, all sides in turn; medians (least-most). The contents are equal.",
        "",
        "| side | wall s | CPU s | resident MiB | MB written |",
        "|---|---|---|---|---|",
    ]
    for side in sides:
        wall = ground.spread([one.wall_s for one in side.measures])
        cpu = ground.spread([one.client_cpu_s for one in side.measures])
        resident = ground.spread([one.client_resident_kib_max / 1024 for one in side.measures], 0)
        cpu = "not measured alone" if side is arrow else cpu
        lines.append(f"| {side.name} | {wall} | {cpu} | {resident} | {side.bytes / 1e6:.1f} |")
    lines += [
        "",
        f"read_csv / inrush, DuckDB file: **{ground.spread(ratios(csv, mine))}**  ",
        f"inrush / Arrow in memory, DuckDB file: **{ground.spread(ratios(mine, arrow))}**  ",
        f"read_csv / inrush, Parquet: **{ground.spread(ratios(parquet, my_parquet))}**, with "
        f"{my_parquet.bytes / parquet.bytes:.3f} times the bytes",
        "",
        "To repeat: `.venv/bin/python benchmarks/files_vs_duckdb.py`.",
        "",
    ]
    ground.write_results(options.results, "files-vs-duckdb", facts, "\n".join(lines))


if __name__ == "__main__":
    main()

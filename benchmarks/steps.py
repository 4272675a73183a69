"""Measures what the steps of a flow cost, and compares them with peers that do the same.

    make build && .venv/bin/python benchmarks/steps.py --rounds 5

lineitem goes from four files into a new table of PostgreSQL, by COPY and with two streams: without
steps, with two derived columns and a check, with a lookup in the 200,000 keys of `part`, and with
all of these. Peers do all of these too, each in its best way. All sides run in turn; the side that
goes first changes from round to round. In the first round the rows of all sides that do the same
are compared, by a digest of all values.

The time in steps is measured by the run's own meter. Rows per second and core are the rows divided
by the time of all streams in the steps: for the side `lookup`, the speed of a lookup alone.

Sides that are not installed are left out, and the result says why. DuckDB is taken from
`.venv-bench` (`make bench` makes it). dlt is not a side, because it transforms by SQL in the target
after the load, as the side with psql does.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import ground
from ground import Measure
from harness.checkout import ROOT
from harness.servers import Database
from peers.peer import CLIENTS
from peers.python import missing_of

TABLE = "lineitem"
PARTS = 4

REVENUE = "(l_extendedprice * (1 - l_discount))::DECIMAL(18,4)"
MONTH = "date_trunc('month', l_shipdate)::DATE"
CHECK = "l_receiptdate > l_shipdate"
# The columns that steps add, as PostgreSQL declares them.
DERIVED = ("revenue numeric(18,4)", "ship_month date")
TAKEN = ("brand text",)

DERIVE_AND_CHECK = f"""
[[flow.step]]
derive = {{ revenue = {json.dumps(REVENUE)}, ship_month = {json.dumps(MONTH)} }}
[[flow.step]]
check = {json.dumps(CHECK)}
"""
LOOKUP = """
[[flow.step]]
lookup = {{ files = {reference}, format = {{ delimiter = "|", header = false }}, \
columns = ["p_partkey bigint", "p_brand text"] }}
on = {{ l_partkey = "p_partkey" }}
take = {{ brand = "p_brand" }}
"""


@dataclass(frozen=True)
class Inputs:
    """The files of a comparison."""

    # dbgen's files, with a delimiter at the end of each line.
    files: Sequence[Path]
    # The same files without that delimiter, for COPY's text form.
    stripped: Sequence[Path]
    # The keys and brands of `part`, one line each.
    reference: Path


class Side:
    """A way to load the table."""

    name: str
    about: str
    # Sides with the same work must have the same rows.
    work: str

    def __init__(self, folder: Path, inputs: Inputs, streams: int, python: Path) -> None:
        self.folder = folder
        self.inputs = inputs
        self.streams = streams
        # The Python that has the other tools.
        self.python = python

    def missing(self) -> str | None:
        """Return why this side cannot run here, or None if it can."""
        return None

    def commands(self, database: Database) -> list[Sequence[str | Path]]:
        """Return the commands, all of which run at the same time."""
        raise NotImplementedError

    def relation(self) -> str:
        """Return the table that has the rows afterwards, as a FROM clause names it."""
        return TABLE

    def shares(self) -> list[Sequence[Path]]:
        """Return the files of each stream."""
        return [self.inputs.stripped[number :: self.streams] for number in range(self.streams)]


class Inrush(Side):
    """Inrush without steps."""

    name = work = "plain"
    about = "Inrush without steps: one atomic load into a new table, by COPY"

    def steps(self) -> str:
        """Return the steps of the flow."""
        return ""

    def commands(self, database: Database) -> list[Sequence[str | Path]]:
        """Return the command."""
        path = self.folder / f"{database.name}.toml"
        files = [str(file) for file in self.inputs.files]
        path.write_text(
            f'name = "steps"\n[connections]\ntarget = {{ url = {json.dumps(database.url)} }}\n'
            f'[run]\nstreams = {self.streams}\nanalyze = false\nserver_copy = "plain"\n'
            f'[[flow]]\nfiles = {json.dumps(files)}\ntable = "{TABLE}"\n'
            f'format = {{ preset = "tbl" }}\ncolumns = {json.dumps(list(ground.LINEITEM))}\n'
            f"{self.steps()}"
        )
        return [[*ground.INRUSH, "run", path]]

    def seconds_in_steps(self) -> float:
        """Return the seconds that all streams spent in steps, by the report of the last run."""
        reports = (self.folder / "runs").glob("*/report.json")
        newest = max(reports, key=lambda path: path.stat().st_mtime_ns)
        streams = json.loads(newest.read_text())["streams"]
        return sum(float(stream["meter"].get("transform_ns", 0)) for stream in streams) / 1e9


class Derive(Inrush):
    """Inrush with expressions."""

    name = work = "derive and check"
    about = "Inrush with two derived columns and a check"

    def steps(self) -> str:
        """Return the steps of the flow."""
        return DERIVE_AND_CHECK


class Lookup(Inrush):
    """Inrush with a lookup."""

    name = work = "lookup"
    about = "Inrush with a lookup in 200,000 keys at scale 1"

    def steps(self) -> str:
        """Return the steps of the flow."""
        return LOOKUP.format(reference=json.dumps(str(self.inputs.reference)))


class All(Lookup):
    """Inrush with expressions, a check and a lookup."""

    name = work = "all"
    about = "Inrush with the derived columns, the check and the lookup"

    def steps(self) -> str:
        """Return the steps of the flow."""
        return DERIVE_AND_CHECK + super().steps()


class ManyTables(Side):
    """A side that makes a table for each stream, in the transaction that fills it."""

    work = "all"

    def relation(self) -> str:
        """Return the union of the tables of all streams."""
        parts = (f"SELECT * FROM {TABLE}_{number}" for number in range(self.streams))
        return f"({' UNION ALL '.join(parts)}) AS loaded"


def definitions() -> str:
    """Return the columns of a table with all that steps add."""
    return ", ".join((*ground.LINEITEM, *DERIVED, *TAKEN))


def names() -> list[str]:
    """Return the names of lineitem's columns."""
    return [column.split(" ", 1)[0] for column in ground.LINEITEM]


class Psql(ManyTables):
    """COPY into a staging table, then one statement."""

    name = "psql"
    about = (
        "a psql for each stream: COPY into an unlogged staging table and a table of the parts, "
        "both made in the transaction and with FREEZE, then one INSERT ... SELECT with the "
        "expressions, the check and the join, into a table that is made in it too"
    )

    def commands(self, database: Database) -> list[Sequence[str | Path]]:
        """Return a psql command for each stream."""
        psql = [str(database.server.programs / "psql"), "--no-psqlrc", "--quiet"]
        psql += ["--set=ON_ERROR_STOP=1", "--dbname", database.url]
        commands: list[Sequence[str | Path]] = []
        for number, files in enumerate(self.shares()):
            staging, table, part = f"staging_{number}", f"{TABLE}_{number}", f"part_{number}"
            steps = [
                "BEGIN",
                f"CREATE UNLOGGED TABLE {staging} ({', '.join(ground.LINEITEM)})",
                f"CREATE UNLOGGED TABLE {part} (p_partkey bigint, p_brand text)",
                f"CREATE TABLE {table} ({definitions()})",
                f"\\copy {part} FROM '{self.inputs.reference}' (DELIMITER '|', FREEZE)",
                *(f"\\copy {staging} FROM '{file}' (DELIMITER '|', FREEZE)" for file in files),
                f"INSERT INTO {table} SELECT {', '.join(names())}, {REVENUE}, {MONTH}, p_brand "
                f"FROM {staging} JOIN {part} ON l_partkey = p_partkey WHERE {CHECK}",
                f"DROP TABLE {staging}, {part}",
                "COMMIT",
            ]
            command = list(psql)
            for one in steps:
                command += ["--command", one]
            commands.append(command)
        return commands


class DuckDb(ManyTables):
    """DuckDB reads, computes, and writes through its extension for PostgreSQL."""

    name = "DuckDB"
    about = (
        "a process for each stream, because its extension writes a transaction over one "
        "connection: `CREATE TABLE ... AS SELECT` from read_csv with the columns declared, joined "
        "with the parts, order not kept"
    )

    def missing(self) -> str | None:
        """Look for its packages."""
        return missing_of(self.python, ("duckdb", "duckdb-extension-postgres-scanner"))

    def commands(self, database: Database) -> list[Sequence[str | Path]]:
        """Return a Python command for each stream."""
        columns = {
            name: declared.split(" ", 1)[1].removesuffix(" not null")
            for name, declared in zip(names(), ground.LINEITEM, strict=True)
        }
        reading = "delim = '|', header = false, quote = '', escape = '', auto_detect = false"
        commands: list[Sequence[str | Path]] = []
        for number, files in enumerate(self.shares()):
            paths = [str(file) for file in files]
            table = f"target.{TABLE}_{number}"
            statements = (
                "SET threads = 1",
                "SET preserve_insertion_order = false",
                f"ATTACH '{database.url}' AS target (TYPE postgres)",
                "BEGIN",
                f"CALL postgres_execute('target', $$CREATE TABLE {TABLE}_{number} "
                f"({definitions()})$$)",
                f"INSERT INTO {table} SELECT {', '.join(names())}, {REVENUE}, {MONTH}, p_brand "
                f"FROM read_csv({paths!r}, columns = {columns!r}, {reading}) "
                f"JOIN read_csv('{self.inputs.reference}', "
                f"columns = {{'p_partkey': 'bigint', 'p_brand': 'text'}}, {reading}) "
                f"ON l_partkey = p_partkey WHERE {CHECK}",
                "COMMIT",
            )
            commands.append([self.python, CLIENTS / "duckdb_statements.py", *statements])
        return commands


SIDES: tuple[type[Side], ...] = (Inrush, Derive, Lookup, All, Psql, DuckDb)
PLAIN, ALL = Inrush.name, All.name


def inputs_of(folder: Path, scale: str) -> Inputs:
    """Make the files."""
    files = ground.generate(folder, scale, PARTS)
    made = folder / "parts"
    command: list[str | Path] = [ground.GENERATOR, "tbl", "-s", scale, "-T", "part", "-o", made]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (parts,) = made.rglob("part.tbl*")
    reference = folder / "reference.txt"
    with parts.open() as lines, reference.open("w") as output:
        for line in lines:
            fields = line.split("|")
            output.write(f"{fields[0]}|{fields[3]}\n")
    return Inputs(files, ground.strip(files), reference)


def ratios(mine: Sequence[float], base: Sequence[float]) -> list[float]:
    """Return ratios, round by round."""
    return [own / other for own, other in zip(mine, base, strict=True)]


def page(
    facts: dict[str, object],
    found: dict[str, list[Measure]],
    in_steps: dict[str, list[float]],
    left_out: list[str],
) -> str:
    """Return the result as a page."""
    abouts = {side.name: side.about for side in SIDES}
    plain, everything = found[PLAIN], found[ALL]
    rows = int(str(facts["rows"]))
    lines = [
        f"# Steps of a flow: TPC-H scale {facts['scale']}, lineitem, into PostgreSQL",
        "",
        ground.machine_lines(facts),
        f"{rows:,} rows, {facts['streams']} streams; {len(plain)} rounds, all sides in turn; "
        "medians (least-most). The sides that do the same have the same rows, by digest of all "
        "values.",
        "",
        "| side | wall s | wall / plain | wall / all | client CPU s | client CPU / plain "
        "| server CPU s | s in steps | M rows/s and core in steps |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, measures in found.items():
        walls = [one.wall_s for one in measures]
        cpus = [one.client_cpu_s for one in measures]
        seconds = in_steps.get(name, [])
        has_steps = bool(seconds) and min(seconds) > 0
        speed = ground.spread([rows / one / 1e6 for one in seconds]) if has_steps else "-"
        cells = (
            name,
            ground.spread(walls),
            ground.spread(ratios(walls, [one.wall_s for one in plain])),
            ground.spread(ratios(walls, [one.wall_s for one in everything])),
            ground.spread(cpus),
            ground.spread(ratios(cpus, [one.client_cpu_s for one in plain])),
            ground.spread([one.server_cpu_s for one in measures]),
            ground.spread(seconds) if has_steps else "-",
            speed,
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *(f"- {name}: {abouts[name]}" for name in found)]
    lines += [f"- left out: {one}" for one in left_out]
    lines += ["", "To repeat: `.venv/bin/python benchmarks/steps.py`.", ""]
    return "\n".join(lines)


def main() -> None:
    """Run the benchmark."""
    parser = ground.arguments((__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", default="1", help="TPC-H's scale factor")
    parser.add_argument("--streams", type=int, default=2)
    parser.add_argument(
        "--peers-python",
        type=ground.whole_path,
        default=ROOT / ".venv-bench" / "bin" / "python",
        help="the Python of the peers",
    )
    parser.add_argument("--sides", help="only these, separated by commas, and `plain` and `all`")
    options: argparse.Namespace = parser.parse_args()
    wanted = None if options.sides is None else {PLAIN, ALL, *options.sides.split(",")}
    with ground.ground(options) as (server, folder):
        about = ground.machine(server)
        inputs = inputs_of(folder, options.scale)
        sides: list[Side] = []
        left_out: list[str] = []
        for kind in SIDES:
            side = kind(folder, inputs, options.streams, options.peers_python)
            why = side.missing()
            if wanted is not None and side.name not in wanted:
                continue
            if why is None:
                sides.append(side)
            else:
                left_out.append(f"{side.name}: {why}")
                print(f"left out: {left_out[-1]}", flush=True)
        found: dict[str, list[Measure]] = {side.name: [] for side in sides}
        in_steps: dict[str, list[float]] = {
            side.name: [] for side in sides if isinstance(side, Inrush)
        }
        digests: dict[str, str] = {}
        rows = 0
        for number in range(options.rounds):
            first = number % len(sides)
            for side in (*sides[first:], *sides[:first]):
                database = ground.fresh(server)
                found[side.name].append(
                    ground.measure(server, side.commands(database), side.folder)
                )
                if isinstance(side, Inrush):
                    in_steps[side.name].append(side.seconds_in_steps())
                if number == 0:
                    own = ground.digest(database, side.relation())
                    if digests.setdefault(side.work, own) != own:
                        sys.exit(f"{side.name}: other rows than the side before with the same work")
                    rows = int(database.value(f"SELECT count(*) FROM {side.relation()}"))
                ground.drop(database)
                print(
                    f"round {number + 1}, {side.name}: {found[side.name][-1].wall_s:.2f} s",
                    flush=True,
                )
    plain = [one.wall_s for one in found[PLAIN]]
    facts: dict[str, object] = {
        "benchmark": "steps",
        "scale": options.scale,
        "streams": options.streams,
        "rows": rows,
        "contents": {f"sha256 of all rows, {work}": digest for work, digest in digests.items()},
        "left_out": left_out,
        "wall_over_plain_median": {
            name: statistics.median(ratios([one.wall_s for one in measures], plain))
            for name, measures in found.items()
        },
        "seconds_in_steps": in_steps,
        "machine": about,
        "rounds": {name: [asdict(one) for one in measures] for name, measures in found.items()},
    }
    text = page(facts, found, in_steps, left_out)
    ground.write_results(options.results, "steps", facts, text)


if __name__ == "__main__":
    main()

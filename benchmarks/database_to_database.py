"""Compares ways to copy lineitem from one server of PostgreSQL to another.

    make build && .venv/bin/python benchmarks/database_to_database.py --rounds 5

The source has lineitem as a plain table without indexes; the target is another server on the same
machine with the same settings. All sides copy the same table, in turn; the side that goes first
changes from round to round. In the first round the rows of each side are compared with the source's
by a digest of all values. Ratios are to Inrush, round by round: above 1 a side takes longer.

Sides that are not installed are left out, and the result says why: `pg_dump` must be of the
server's version, and DuckDB's extension `postgres` must be in its folder already, because nothing
is downloaded.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import ground
from ground import Measure
from harness.servers import Database, Server

TABLE = "lineitem"


@dataclass(frozen=True)
class Ends:
    """The databases of a round."""

    source: Database
    target: Database


class Side:
    """A way to copy the table."""

    name: str
    about: str

    def __init__(self, folder: Path, streams: int) -> None:
        self.folder = folder
        self.streams = streams

    def missing(self, source: Database) -> str | None:  # noqa: ARG002
        """Return why it cannot run here, or None if it can."""
        return None

    def commands(self, ends: Ends) -> list[Sequence[str | Path]]:
        """Return the commands, all of which run at the same time."""
        raise NotImplementedError

    def relation(self) -> str:
        """Return what has the rows afterwards, for FROM."""
        return TABLE


class Inrush(Side):
    """Inrush, by a package with a source."""

    name = "Inrush"
    about = "one atomic load into a new table, all rows read at one snapshot and counted"

    def commands(self, ends: Ends) -> list[Sequence[str | Path]]:
        """Return the command."""
        path = self.folder / f"{ends.target.name}.toml"
        path.write_text(
            f'name = "copy"\n[connections]\n'
            f"crm = {{ url = {json.dumps(ends.source.url)} }}\n"
            f"target = {{ url = {json.dumps(ends.target.url)} }}\n"
            f"[run]\nstreams = {self.streams}\nanalyze = false\n"
            f'[[flow]]\nsource = {{ connection = "crm", table = "{TABLE}" }}\ntable = "{TABLE}"\n'
        )
        return [[*ground.INRUSH, "run", path]]


class Pipes(Side):
    """Pairs of psql, one for each stream, each with a range of pages."""

    name = "psql pipes"
    about = (
        "`COPY (SELECT ...) TO STDOUT (FORMAT binary) | COPY ... FROM STDIN` for each stream, a "
        "range of pages each, into a table of its own that is made in the same transaction, with "
        "FREEZE; each pipe has a snapshot of its own"
    )

    def commands(self, ends: Ends) -> list[Sequence[str | Path]]:
        """Return a shell with a pipe for each stream."""
        pages = int(ends.source.value(f"SELECT pg_relation_size('{TABLE}') / 8192"))
        step = -(-pages // self.streams)
        psql = [str(ends.source.server.programs / "psql"), "--no-psqlrc", "--quiet"]
        psql += ["--set=ON_ERROR_STOP=1"]
        commands: list[Sequence[str | Path]] = []
        for number in range(self.streams):
            until = "" if number == self.streams - 1 else f"AND ctid < '({(number + 1) * step},0)'"
            where = f"ctid >= '({number * step},0)' {until}"
            out = f"COPY (SELECT * FROM {TABLE} WHERE {where}) TO STDOUT (FORMAT binary)"
            table = f"{TABLE}_{number}"
            steps = [
                "BEGIN",
                f"CREATE TABLE {table} ({', '.join(ground.LINEITEM)})",
                f"COPY {table} FROM STDIN (FORMAT binary, FREEZE)",
                "COMMIT",
            ]
            reads = [*psql, "--dbname", ends.source.url, "--command", out]
            writes = [*psql, "--dbname", ends.target.url]
            for one in steps:
                writes += ["--command", one]
            pipe = f"set -o pipefail; {shlex.join(reads)} | {shlex.join(writes)}"
            commands.append(["/bin/bash", "-c", pipe])
        return commands

    def relation(self) -> str:
        """Return all of its tables."""
        parts = (f"SELECT * FROM {TABLE}_{number}" for number in range(self.streams))
        return f"({' UNION ALL '.join(parts)}) AS copied"


class Dump(Side):
    """A dump into a folder, and its restore."""

    name = "pg_dump, pg_restore"
    about = "`pg_dump --format=directory --jobs`, uncompressed, then `pg_restore --jobs`"

    def missing(self, source: Database) -> str | None:
        """Look for the program of the server's version."""
        program = source.server.programs / "pg_dump"
        if program.exists():
            return None
        return f"there is no pg_dump of version {source.server.version}"

    def commands(self, ends: Ends) -> list[Sequence[str | Path]]:
        """Return a shell that does one after the other, because restoring needs the whole dump."""
        programs, folder = ends.source.server.programs, self.folder / ends.target.name
        jobs = f"--jobs={self.streams}"
        dump = [str(programs / "pg_dump"), "--format=directory", "--compress=0", jobs]
        dump += [f"--table={TABLE}", f"--file={folder}", ends.source.url]
        restore = [str(programs / "pg_restore"), jobs, "--no-owner", f"--dbname={ends.target.url}"]
        restore.append(str(folder))
        return [["/bin/bash", "-c", f"{shlex.join(dump)} && {shlex.join(restore)}"]]


class DuckDb(Side):
    """DuckDB's extension for PostgreSQL, which reads and writes."""

    name = "DuckDB"
    about = "`CREATE TABLE target.lineitem AS FROM source.lineitem` with the extension `postgres`"

    def missing(self, source: Database) -> str | None:  # noqa: ARG002
        """Load the extension."""
        off = "SET autoinstall_known_extensions = false; SET autoload_known_extensions = false"
        code = f"import duckdb; duckdb.sql('{off}; LOAD postgres')"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        return None if done.returncode == 0 else "its extension `postgres` is not installed"

    def commands(self, ends: Ends) -> list[Sequence[str | Path]]:
        """Return a Python that runs it."""
        statements = (
            f"SET threads = {self.streams}",
            f"ATTACH '{ends.source.url}' AS source (TYPE postgres, READ_ONLY)",
            f"ATTACH '{ends.target.url}' AS target (TYPE postgres)",
            f"CREATE TABLE target.{TABLE} AS FROM source.{TABLE}",
        )
        code = f"import duckdb\nfor sql in {statements!r}:\n    duckdb.sql(sql)"
        return [[sys.executable, "-c", code]]


SIDES: tuple[type[Side], ...] = (Inrush, Pipes, Dump, DuckDb)


def measure(source: Server, target: Server, side: Side, ends: Ends) -> Measure:
    """Measure a side; the processor time of both servers counts as the server's."""
    before = ground.server_cpu_s(source)
    found = ground.measure(target, side.commands(ends), side.folder)
    ground.wait_for_sessions(source)
    of_source = ground.server_cpu_s(source) - before
    told = asdict(found) | {
        "server_cpu_s": found.server_cpu_s + of_source,
        "others_cpu_s": max(0.0, found.others_cpu_s - of_source),
    }
    return Measure(**told)


def fill(source: Server, folder: Path, options: argparse.Namespace) -> Database:
    """Make the table to copy."""
    files = ground.strip(ground.generate(folder, options.scale, parts=1))
    database = ground.fresh(source)
    with database.connect(autocommit=False) as connection:
        connection.execute(f"CREATE TABLE {TABLE} ({', '.join(ground.LINEITEM)})".encode())
        for file in files:
            connection.execute(f"COPY {TABLE} FROM '{file}' (DELIMITER '|', FREEZE)".encode())
            file.unlink()
    # Hint bits are set and statistics made, and every side finds the same table.
    database.execute(f"VACUUM (FREEZE, ANALYZE) {TABLE}")
    return database


def page(facts: dict[str, object], found: dict[str, list[Measure]], left_out: list[str]) -> str:
    """Return the result as a page."""
    abouts = {side.name: side.about for side in SIDES}
    base = found[Inrush.name]
    lines = [
        f"# TPC-H scale {facts['scale']}, lineitem: from PostgreSQL to PostgreSQL",
        "",
        ground.machine_lines(facts),
        f"Two servers on this machine, {facts['streams']} streams; {len(base)} rounds, all sides "
        "in turn; medians (least-most). Server CPU is that of both servers. The rows of all sides "
        "equal the source's, by digest of all values.",
        "",
        "| side | wall s | wall / Inrush | client CPU s | server CPU s | client resident MiB |",
        "|---|---|---|---|---|---|",
    ]
    for name, one in found.items():
        ratios = [mine.wall_s / own.wall_s for mine, own in zip(one, base, strict=True)]
        walls = ground.spread([each.wall_s for each in one])
        lines.append(f"| {name} | {walls} | {ground.spread(ratios)} | {ground.cells(one)}")
    lines += ["", *(f"- {name}: {abouts[name]}" for name in found)]
    lines += [f"- left out: {one}" for one in left_out]
    lines += ["", "Again: `.venv/bin/python benchmarks/database_to_database.py`.", ""]
    return "\n".join(lines)


def main() -> None:
    """Run it."""
    parser = ground.arguments((__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", default="1", help="TPC-H's scale factor")
    parser.add_argument("--streams", type=int, default=2)
    options = parser.parse_args()
    with ground.ground(options) as (target, folder), ground.second(target, folder) as source:
        about = ground.machine(target)
        database = fill(source, folder, options)
        must_be = ground.digest(database, TABLE)
        sides: list[Side] = []
        left_out: list[str] = []
        for kind in SIDES:
            side = kind(folder, options.streams)
            why = side.missing(database)
            if why is None:
                sides.append(side)
            else:
                left_out.append(f"{side.name}: {why}")
                print(f"left out: {left_out[-1]}", flush=True)
        found: dict[str, list[Measure]] = {side.name: [] for side in sides}
        for number in range(options.rounds):
            first = number % len(sides)
            for side in (*sides[first:], *sides[:first]):
                ends = Ends(database, ground.fresh(target))
                found[side.name].append(measure(source, target, side, ends))
                if number == 0 and ground.digest(ends.target, side.relation()) != must_be:
                    sys.exit(f"{side.name}: the rows differ from the source's")
                ground.drop(ends.target)
                print(
                    f"round {number + 1}, {side.name}: {found[side.name][-1].wall_s:.2f} s",
                    flush=True,
                )
    base = found[Inrush.name]
    facts: dict[str, object] = {
        "benchmark": "database_to_database",
        "scale": options.scale,
        "streams": options.streams,
        "contents": f"sha256 of all rows in binary form, equal for all: {must_be}",
        "left_out": left_out,
        "wall_over_inrush_median": {
            name: statistics.median(
                mine.wall_s / own.wall_s for mine, own in zip(one, base, strict=True)
            )
            for name, one in found.items()
        },
        "machine": about,
        "rounds": {name: [asdict(one) for one in measures] for name, measures in found.items()},
    }
    text = page(facts, found, left_out)
    ground.write_results(options.results, "database-to-database", facts, text)


if __name__ == "__main__":
    main()

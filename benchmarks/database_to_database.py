"""Compares ways to copy lineitem from PostgreSQL to another server, a DuckDB file or Parquet files.

    make build && .venv/bin/python benchmarks/database_to_database.py --rounds 5
    .venv/bin/python benchmarks/database_to_database.py --rounds 5 --to duckdb

The source has lineitem as a plain table without indexes; a target server is a second server on the
same machine with the same settings. All sides copy the same table, in turn; the side that goes
first changes from round to round. In the first round the rows of each side are compared with the
source's by a digest of all values. Ratios are to Inrush, round by round: above 1 means that the
side takes longer.

Sides that are not installed are left out, and the result says why: `pg_dump` must be of the
server's version; DuckDB, dlt and sling are taken from `.venv-bench` (`make bench` makes it).
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb

import ground
from ground import Measure
from harness.checkout import ROOT
from harness.servers import Database, Server
from peers.peer import CLIENTS
from peers.python import missing_of

TABLE = "lineitem"


@dataclass(frozen=True)
class Ends:
    """The source and the target of a round."""

    source: Database
    # A database of the other server, or the path of a DuckDB file or of a folder of Parquet files.
    target: Database | Path

    @property
    def name(self) -> str:
        """A name that no other round has."""
        return self.target.name

    @property
    def url(self) -> str:
        """The target as Inrush names it."""
        if isinstance(self.target, Database):
            return self.target.url
        kind = "duckdb" if self.target.suffix == ".duckdb" else "parquet"
        return f"{kind}:{self.target}"

    @property
    def server(self) -> Database:
        """The target, which is a database of a server."""
        assert isinstance(self.target, Database)
        return self.target


class Side:
    """A way to copy the table."""

    name: str
    about: str
    # The kinds of targets that it can copy to.
    targets: tuple[str, ...] = ("postgres",)

    def __init__(self, folder: Path, streams: int, python: Path) -> None:
        self.folder = folder
        self.streams = streams
        # The Python that has the other tools.
        self.python = python

    def missing(self, source: Database) -> str | None:  # noqa: ARG002
        """Return why this side cannot run here, or None if it can."""
        return None

    def commands(self, ends: Ends) -> list[Sequence[str | Path]]:
        """Return the commands, all of which run at the same time."""
        raise NotImplementedError

    def relation(self) -> str:
        """Return the table that has the rows afterwards, as a FROM clause names it."""
        return TABLE


class Inrush(Side):
    """Inrush, by a package with a source."""

    name = "Inrush"
    about = "one atomic load into a new table, all rows read at one snapshot and counted"
    targets = ("postgres", "duckdb", "parquet")

    def commands(self, ends: Ends) -> list[Sequence[str | Path]]:
        """Return the command."""
        path = self.folder / f"{ends.name}.toml"
        path.write_text(
            f'name = "copy"\n[connections]\n'
            f"crm = {{ url = {json.dumps(ends.source.url)} }}\n"
            f"target = {{ url = {json.dumps(ends.url)} }}\n"
            f"[run]\nstreams = {self.streams}\nanalyze = false\n"
            f'[[flow]]\nsource = {{ connection = "crm", table = "{TABLE}" }}\ntable = "{TABLE}"\n'
        )
        return [[*ground.INRUSH, "run", path]]


class Pipes(Side):
    """Two psql sessions for each stream, joined by a pipe; all streams copy into one table."""

    name = "psql pipes"
    about = (
        "`COPY (SELECT ...) TO STDOUT (FORMAT binary) | COPY ... FROM STDIN` for each stream: each "
        "pipe copies a range of pages into one table that exists already, with a snapshot and a "
        "transaction of its own"
    )

    def commands(self, ends: Ends) -> list[Sequence[str | Path]]:
        """Return a shell command that makes the table, and then runs a pipe for each stream."""
        made = shlex.join([*self._psql(ends.server), "--command", self._table(TABLE)])
        pipes = (self._pipe(ends, number, [self._copy(TABLE)]) for number in range(self.streams))
        started = "".join(f"({pipe}) & pipes+=($!); " for pipe in pipes)
        return [
            [
                "/bin/bash",
                "-ec",
                f'{made}; {started} for one in "${{pipes[@]}}"; do wait $one; done',
            ]
        ]

    def _psql(self, database: Database) -> list[str]:
        program = str(database.server.programs / "psql")
        return [
            program,
            "--no-psqlrc",
            "--quiet",
            "--set=ON_ERROR_STOP=1",
            "--dbname",
            database.url,
        ]

    def _table(self, name: str) -> str:
        return f"CREATE TABLE {name} ({', '.join(ground.LINEITEM)})"

    def _copy(self, table: str, options: str = "FORMAT binary") -> str:
        return f"COPY {table} FROM STDIN ({options})"

    def _pipe(self, ends: Ends, number: int, steps: Sequence[str]) -> str:
        """Return a pipe that feeds a range of pages to these statements."""
        pages = int(ends.source.value(f"SELECT pg_relation_size('{TABLE}') / 8192"))
        step = -(-pages // self.streams)
        until = "" if number == self.streams - 1 else f"AND ctid < '({(number + 1) * step},0)'"
        where = f"ctid >= '({number * step},0)' {until}"
        out = f"COPY (SELECT * FROM {TABLE} WHERE {where}) TO STDOUT (FORMAT binary)"
        reads = [*self._psql(ends.source), "--command", out]
        writes = self._psql(ends.server)
        for one in steps:
            writes += ["--command", one]
        return f"set -o pipefail; {shlex.join(reads)} | {shlex.join(writes)}"


class FrozenPipes(Pipes):
    """The same pipes, but each fills its own table, by COPY with FREEZE and without WAL."""

    name = "psql pipes, many tables"
    about = (
        "the same pipes, but each into a table of its own, made in the same transaction, with "
        "FREEZE: no single table has the rows afterwards"
    )

    def commands(self, ends: Ends) -> list[Sequence[str | Path]]:
        """Return a shell command that runs a pipe for each stream."""
        commands: list[Sequence[str | Path]] = []
        for number in range(self.streams):
            table = f"{TABLE}_{number}"
            copy = self._copy(table, "FORMAT binary, FREEZE")
            steps = ["BEGIN", self._table(table), copy, "COMMIT"]
            commands.append(["/bin/bash", "-c", self._pipe(ends, number, steps)])
        return commands

    def relation(self) -> str:
        """Return the union of the tables that the pipes have filled."""
        parts = (f"SELECT * FROM {TABLE}_{number}" for number in range(self.streams))
        return f"({' UNION ALL '.join(parts)}) AS copied"


class Dump(Side):
    """A dump into a folder, and its restore."""

    name = "pg_dump, pg_restore"
    about = "`pg_dump --format=directory --jobs`, uncompressed, then `pg_restore --jobs`"

    def missing(self, source: Database) -> str | None:
        """Look for a pg_dump of the server's version."""
        program = source.server.programs / "pg_dump"
        if program.exists():
            return None
        return f"there is no pg_dump of version {source.server.version}"

    def commands(self, ends: Ends) -> list[Sequence[str | Path]]:
        """Return a shell command that dumps and then restores: a restore needs the whole dump."""
        programs, folder = ends.source.server.programs, self.folder / ends.name
        jobs = f"--jobs={self.streams}"
        dump = [str(programs / "pg_dump"), "--format=directory", "--compress=0", jobs]
        dump += [f"--table={TABLE}", f"--file={folder}", ends.source.url]
        restore = [str(programs / "pg_restore"), jobs, "--no-owner", f"--dbname={ends.server.url}"]
        restore.append(str(folder))
        return [["/bin/bash", "-c", f"{shlex.join(dump)} && {shlex.join(restore)}"]]


class OfPeers(Side):
    """A script of `benchmarks/clients`, run by the Python that has the other tools."""

    script: str
    needs: tuple[str, ...]

    def missing(self, source: Database) -> str | None:  # noqa: ARG002
        """Look for its packages."""
        return missing_of(self.python, self.needs)

    def commands(self, ends: Ends) -> list[Sequence[str | Path]]:
        """Return one command."""
        target = ends.target.url if isinstance(ends.target, Database) else str(ends.target)
        script = CLIENTS / self.script
        words = [ends.source.url, target, TABLE, str(self.streams)]
        return [[self.python, script, *words, self.folder / f"{self.script}-{ends.name}"]]


class DuckDb(OfPeers):
    """DuckDB's extension for PostgreSQL, which reads the source and writes the target."""

    name = "DuckDB"
    about = (
        "`CREATE TABLE ... AS FROM source.lineitem`, or `COPY ... TO` with a file for each thread, "
        "by its extension `postgres`, without keeping the order of rows"
    )
    targets = ("postgres", "duckdb", "parquet")
    script = "duckdb_copy.py"
    needs = ("duckdb", "duckdb-extension-postgres-scanner")


class Dlt(OfPeers):
    """A dlt pipeline that reads Arrow batches."""

    name = "dlt"
    about = 'a pipeline from `sql_table(backend="pyarrow")`, files of CSV between, COPY'
    script = "dlt_copy.py"
    needs = ("dlt", "SQLAlchemy")


class Sling(Side):
    """sling, whose wheel has its binary."""

    name = "sling"
    about = "`sling run --mode full-refresh`, which loads by COPY"

    def missing(self, source: Database) -> str | None:  # noqa: ARG002
        """Look for its program."""
        return None if self._program() else "sling-linux-amd64 is not installed"

    def _program(self) -> Path | None:
        environment = self.python.parent.parent
        found = environment.glob("lib/*/site-packages/sling_linux_amd64/bin/sling-linux-amd64")
        return next(found, None)

    def commands(self, ends: Ends) -> list[Sequence[str | Path]]:
        """Return one command."""
        settings = {
            "SLING_HOME_DIR": str(self.folder / "sling"),
            "SLING_DISABLE_TELEMETRY": "true",
            "SLING_THREADS": str(self.streams),
            "CRM": f"{ends.source.url}&sslmode=disable",
            "DW": f"{ends.server.url}&sslmode=disable",
        }
        words = ["--src-conn", "CRM", "--src-stream", f"public.{TABLE}", "--tgt-conn", "DW"]
        words += ["--tgt-object", f"public.{TABLE}", "--mode", "full-refresh"]
        told = [f"{name}={value}" for name, value in settings.items()]
        program = self._program()
        assert program is not None
        return [["/usr/bin/env", *told, program, "run", *words]]


def digest(ends: Ends, relation: str) -> str:
    """Return a digest of all values of a side's rows.

    Sides may choose other types, so values are compared as texts of the source's types, without
    the blanks that fill `char(n)`.
    """
    if isinstance(ends.target, Database):
        names = [column.split()[0] for column in ground.LINEITEM]
        kinds = [column.split()[1] for column in ground.LINEITEM]
        values = (
            f"rtrim({name}::text)" if "char" in kind else f"{name}::{kind}::text"
            for name, kind in zip(names, kinds, strict=True)
        )
        return digest_of_rows(ends.target, f"SELECT {', '.join(values)} FROM {relation}")
    place = ends.target
    files = f"'{place}/**/*.parquet'"
    rows = TABLE if place.suffix == ".duckdb" else f"read_parquet({files})"
    with duckdb.connect(str(place) if place.suffix == ".duckdb" else ":memory:") as session:
        texts = ", ".join(f"rtrim({column.split()[0]}::VARCHAR)" for column in ground.LINEITEM)
        sql = f"SELECT count(*), bit_xor(hash({texts})), sum(hash({texts})) FROM {rows}"
        return str(session.execute(sql).fetchall())


def digest_of_rows(database: Database, query: str) -> str:
    """Return a digest of the rows of a query, whatever their order."""
    sql = f"SELECT count(*), sum(hashtextextended(t::text, 0)::numeric) FROM ({query}) AS t"
    return str(database.rows(sql))


SIDES: tuple[type[Side], ...] = (Inrush, Pipes, FrozenPipes, Dump, DuckDb, Dlt, Sling)


def measure(source: Server, target: Server, side: Side, ends: Ends) -> Measure:
    """Measure a side; the processor time of both servers counts as the server's."""
    # Nothing of the sessions that made the rows may count.
    ground.wait_for_sessions(source)
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
    # This sets hint bits and makes statistics, so that every side finds the same table.
    database.execute(f"VACUUM (FREEZE, ANALYZE) {TABLE}")
    return database


def fresh(
    options: argparse.Namespace, target: Server, folder: Path, number: int
) -> Database | Path:
    """Return an empty target."""
    if options.to == "postgres":
        return ground.fresh(target)
    return folder / (f"copy_{number}.duckdb" if options.to == "duckdb" else f"copy_{number}")


def remove(target: Database | Path) -> None:
    """Remove a target."""
    if isinstance(target, Database):
        ground.drop(target)
    elif target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink()


WORDS = {
    "postgres": ("PostgreSQL", "Two servers on this machine"),
    "duckdb": ("a DuckDB file", "The source is a server on this machine"),
    "parquet": ("Parquet files", "The source is a server on this machine"),
}


def page(facts: dict[str, object], found: dict[str, list[Measure]], left_out: list[str]) -> str:
    """Return the result as a page."""
    abouts = {side.name: side.about for side in SIDES}
    base = found[Inrush.name]
    name, where = WORDS[str(facts["to"])]
    lines = [
        f"# TPC-H scale {facts['scale']}, lineitem: from PostgreSQL to {name}",
        "",
        ground.machine_lines(facts),
        f"{where}, {facts['streams']} streams; {len(base)} rounds, all sides in turn; medians "
        "(least-most). Server CPU is that of all servers. The rows of all sides are equal, by "
        "digest of all values.",
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
    lines += [
        "",
        f"To repeat: `.venv/bin/python benchmarks/database_to_database.py --to {facts['to']}`.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Run the benchmark."""
    parser = ground.arguments((__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", default="1", help="TPC-H's scale factor")
    parser.add_argument("--streams", type=int, default=2)
    parser.add_argument("--to", choices=[*WORDS], default="postgres", help="the target")
    parser.add_argument(
        "--peers-python",
        type=ground.whole_path,
        default=ROOT / ".venv-bench" / "bin" / "python",
        help="the Python that has the other tools",
    )
    parser.add_argument("--sides", help="the sides to compare with Inrush, separated by semicolons")
    options = parser.parse_args()
    wanted = None if options.sides is None else {Inrush.name, *options.sides.split(";")}
    with ground.ground(options) as (target, folder), ground.second(target, folder) as source:
        about = ground.machine(target)
        database = fill(source, folder, options)
        must_be = digest(Ends(database, database), TABLE) if options.to == "postgres" else None
        sides: list[Side] = []
        left_out: list[str] = []
        for kind in SIDES:
            if options.to not in kind.targets or (wanted and kind.name not in wanted):
                continue
            side = kind(folder, options.streams, options.peers_python)
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
                ends = Ends(database, fresh(options, target, folder, number))
                found[side.name].append(measure(source, target, side, ends))
                if number == 0:
                    # Other kinds of targets have other digests, so the first side's digest is the
                    # expected one.
                    its = digest(ends, side.relation())
                    must_be = must_be or its
                    if its != must_be:
                        sys.exit(f"{side.name}: the rows differ")
                remove(ends.target)
                print(
                    f"round {number + 1}, {side.name}: {found[side.name][-1].wall_s:.2f} s",
                    flush=True,
                )
    base = found[Inrush.name]
    facts: dict[str, object] = {
        "benchmark": "database_to_database",
        "to": options.to,
        "scale": options.scale,
        "streams": options.streams,
        "contents": f"a digest of all rows, equal for all: {must_be}",
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
    ground.write_results(options.results, f"database-to-{options.to}", facts, text)


if __name__ == "__main__":
    main()

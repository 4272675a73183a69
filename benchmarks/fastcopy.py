"""Compares the server's processor time by COPY BINARY and by the extension, in turn.

    make extension PG_CONFIG=... && .venv/bin/python benchmarks/fastcopy.py --rounds 7

Each way loads the same bytes into a new table, with FREEZE, in one transaction with CREATE TABLE,
from one client. The backend's own processor time (user and system) is compared, as the kernel
counts it; wall time depends on the client, too. The benchmark starts its own server, with
`wal_level` minimal.
"""

from __future__ import annotations

import argparse
import platform
import re
import statistics
import tempfile
import time
from pathlib import Path

from harness import extension, servers
from harness.servers import Database, Server

# For each table: its columns, the query of its rows, and the order of the query's columns if it
# differs from the table's.
TABLES = {
    "lineitem": (
        "(l_orderkey bigint NOT NULL, l_partkey bigint NOT NULL, l_suppkey bigint NOT NULL,"
        " l_linenumber int NOT NULL, l_quantity numeric(15,2) NOT NULL,"
        " l_extendedprice numeric(15,2) NOT NULL, l_discount numeric(15,2) NOT NULL,"
        " l_tax numeric(15,2) NOT NULL, l_returnflag char(1) NOT NULL,"
        " l_linestatus char(1) NOT NULL, l_shipdate date NOT NULL, l_commitdate date NOT NULL,"
        " l_receiptdate date NOT NULL, l_shipinstruct char(25) NOT NULL,"
        " l_shipmode char(10) NOT NULL, l_comment varchar(44) NOT NULL)",
        "SELECT (n / 4)::bigint, (hashint4(n) & 131071)::bigint, (hashint4(n + 1) & 8191)::bigint,"
        " n % 7 + 1, ((hashint4(n + 2) & 63) + 1)::numeric(15,2),"
        " ((hashint4(n + 3) & 8388607)::numeric / 100)::numeric(15,2),"
        " ((hashint4(n + 4) & 7)::numeric / 100)::numeric(15,2),"
        " ((hashint4(n + 5) & 7)::numeric / 100)::numeric(15,2), 'N'::char(1), 'O'::char(1),"
        " date '1992-01-01' + (hashint4(n + 6) & 2047),"
        " date '1992-01-01' + (hashint4(n + 7) & 2047),"
        " date '1992-01-01' + (hashint4(n + 8) & 2047), 'DELIVER IN PERSON'::char(25),"
        " 'TRUCK'::char(10),"
        " substr('carefully regular packages are slyly across the furiously', 1,"
        " 10 + (hashint4(n + 9) & 31))::varchar(44) FROM generate_series(1, {rows}) n",
        "",
    ),
    "narrow": (
        "(a int, b int, c bigint)",
        "SELECT n, hashint4(n), hashint8(n)::bigint FROM generate_series(1, {rows}) n",
        "",
    ),
    "text": (
        "(a int, b text, c text)",
        "SELECT n, 'grün ' || md5(n::text), repeat('wide row ', 1 + n % 20)"
        " FROM generate_series(1, {rows}) n",
        "",
    ),
    "long text": (
        "(a bigint, b varchar(10), c varchar(120), d text)",
        "SELECT n::bigint, 'waiting',"
        " left(repeat('parcel arrived open and the invoice ', 4), 40 + n % 60),"
        " repeat('another sum than the order naïve délai please call back before noon, ',"
        " 1 + n % 6) FROM generate_series(1, {rows}) n",
        "",
    ),
}
# The same rows, into a table whose columns are in another order.
_DEFINITION, _QUERY, _ = TABLES["lineitem"]
_COLUMNS = re.findall(r"l_\w+", _DEFINITION)
_LAST_FIRST = re.findall(r"l_\w+ [^,(]+(?:\([^)]*\))?[^,]*", _DEFINITION[1:-1])[::-1]
TABLES["other order"] = (f"({', '.join(_LAST_FIRST)})", _QUERY, f"({', '.join(_COLUMNS)})")


def processor_seconds(pid: int) -> float:
    """Return the time that a process was on a processor, user and system."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def load(database: Database, definition: str, copy_of: str, blocks: list[bytes]) -> list[float]:
    """Load a new table, and return the backend's processor seconds and the wall seconds."""
    with database.connect(autocommit=False) as connection:
        connection.execute("SELECT inrush_fastcopy.open()")
        connection.execute(f"CREATE TABLE t {definition}".encode())
        pid = connection.info.backend_pid
        used, began = processor_seconds(pid), time.perf_counter()
        with connection.cursor().copy(f"{copy_of}, FREEZE)".encode()) as copy:
            for block in blocks:
                copy.write(block)
        took = [processor_seconds(pid) - used, time.perf_counter() - began]
        connection.rollback()
    return took


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", type=int, default=18, choices=extension.EXTENSION_VERSIONS)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rows", type=int, default=400_000)
    arguments = parser.parse_args()
    ways = {"COPY BINARY": "FORMAT binary", "tuples": "FORMAT inrush, WAY tuples"}
    if arguments.version >= 18:
        ways["pages"] = "FORMAT inrush, WAY pages"
        ways["executor"] = "FORMAT inrush, WAY executor"
    with tempfile.TemporaryDirectory(prefix="inrush-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        programs = servers.reachable_programs(arguments.version, folder)
        assert programs is not None, f"PostgreSQL {arguments.version} is not installed"
        built = extension.built(arguments.version, folder)
        settings = servers.FAST | {"max_wal_size": "4GB"}
        settings |= extension.settings(arguments.version, built)
        server = Server(arguments.version, programs, folder / "server", settings)
        server.initialise()
        server.start()
        try:
            database = server.create_database("bench")
            extension.install(database, built)
            print(f"PostgreSQL {arguments.version}, {platform.processor() or platform.machine()}")
            for table, (definition, query, columns) in TABLES.items():
                measure(
                    database,
                    table,
                    (definition, query.format(rows=arguments.rows), columns),
                    ways,
                    arguments,
                )
        finally:
            server.stop("immediate")


def measure(
    database: Database,
    table: str,
    made: tuple[str, str, str],
    ways: dict[str, str],
    arguments: argparse.Namespace,
) -> None:
    """Measure one table by all ways, in turn."""
    definition, query, columns = made
    with (
        database.connect() as connection,
        connection.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT binary)".encode()) as copy,
    ):
        stream = b"".join(bytes(block) for block in copy)
    blocks = [stream[place : place + 65536] for place in range(0, len(stream), 65536)]
    took: dict[str, list[list[float]]] = {way: [] for way in ways}
    for _ in range(arguments.rounds):
        for way, options in ways.items():
            took[way].append(
                load(database, definition, f"COPY t {columns} FROM STDIN ({options}", blocks)
            )
    print(
        f"{table}: {arguments.rows} rows, {len(stream) / 1e6:.1f} MB, medians of {arguments.rounds}"
    )
    base = statistics.median(one[0] for one in took["COPY BINARY"])
    for way, rounds in took.items():
        processor, wall = (statistics.median(column) for column in zip(*rounds, strict=True))
        print(
            f"  {way:12} processor {processor:.3f} s ({processor / base:.2f}), wall {wall:.3f} s,"
            f" {processor / arguments.rows * 1e6:.3f} us a row"
        )


if __name__ == "__main__":
    main()

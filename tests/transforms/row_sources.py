"""The kinds of sources, each with the same rows: files of each form, tables and queries."""

from __future__ import annotations

import csv
import fcntl
import gzip
import io
import os
import re
import sqlite3
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from harness import packages
from harness.command import Inrush, Outcome
from harness.duckdb_files import opened
from harness.packages import Value
from harness.servers import Database
from sources.flight_sql import FlightSql
from sqlserver.double import Double
from transforms.all_steps import NAMES, Record

# The name of the connection of a source that is a database.
CONNECTION = "origin"

# Makes an empty database of PostgreSQL.
MakeDatabase = Callable[[], Database]
# Reasons of refusals that several sources have.
IN_ANOTHER_ORDER = "in another order each time"
READ_ONCE = "can be read only once"
# The plan accepts such a source if the package says `stable = true`.
MAY_CHANGE = "its rows may change in between"


class RowSource(ABC):
    """A source with known rows, and how a package names it."""

    name: ClassVar[str]
    # The reasons why the plan refuses `distinct_on` and several outputs; None if it accepts them.
    no_distinct: ClassVar[str | None] = None
    no_outputs: ClassVar[str | None] = None
    # True if the package says that nobody writes to the database.
    stable = False

    def __init__(self, inrush: Inrush, make_database: MakeDatabase, stack: ExitStack) -> None:
        self.inrush = inrush
        self.make_database = make_database
        # Ends the server of a source after the test.
        self.stack = stack

    @abstractmethod
    def fill(self, given: Sequence[Record]) -> None:
        """Create the source with these rows, in this order; the id of a row is its number."""

    @abstractmethod
    def settings(self) -> dict[str, Value]:
        """Return the settings of the flow that name it."""

    def connection(self) -> str:
        """Return its connection in the package."""
        return ""

    @abstractmethod
    def id_at(self, reject: dict[str, Any]) -> int:
        """Return the id of the row at the place of a reject."""

    def call(self, command: str, package: Path) -> Outcome:
        """Run a command with a package that reads it."""
        return self.inrush(command, package)


class Files(RowSource):
    """Files with the same number of rows in each, except the last."""

    pattern: ClassVar[str]
    format: ClassVar[dict[str, Value]] = {}
    # The line of a file's first row.
    first_line: ClassVar[int] = 1
    files = 3

    def fill(self, given: Sequence[Record]) -> None:
        self.rows_of_a_file = -(-len(given) // self.files)
        for part in range(self.files):
            first = part * self.rows_of_a_file
            self.write(part, given[first : first + self.rows_of_a_file])

    def settings(self) -> dict[str, Value]:
        said: dict[str, Value] = {"files": self.pattern}
        return said | ({"format": self.format} if self.format else {})

    def id_at(self, reject: dict[str, Any]) -> int:
        part = re.search(r"rows\.(\d+)\.\w+$", reject["file"].removesuffix(".gz"))
        assert part, reject
        return int(part[1]) * self.rows_of_a_file + int(reject["line"]) - self.first_line

    @abstractmethod
    def write(self, part: int, given: Sequence[Record]) -> None:
        """Write a file."""


class Csv(Files):
    """Files of comma-separated values."""

    name = "csv"
    pattern = "rows.*.csv"
    first_line = 2

    @staticmethod
    def text(given: Sequence[Record]) -> str:
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        writer.writerows([NAMES, *(record.values() for record in given)])
        return written.getvalue()

    def write(self, part: int, given: Sequence[Record]) -> None:
        self.inrush.write(f"rows.{part}.csv", self.text(given))


class Pipe(Csv):
    """Standard input."""

    name = "pipe"
    pattern = "-"
    files = 1
    no_distinct = READ_ONCE
    no_outputs = READ_ONCE

    def id_at(self, reject: dict[str, Any]) -> int:
        return int(reject["line"]) - self.first_line

    def call(self, command: str, package: Path) -> Outcome:
        reading, writing = os.pipe()
        # The pipe holds all rows before anyone reads them.
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 1 << 20)
        text = (self.inrush.folder / "rows.0.csv").read_bytes()
        assert os.write(writing, text) == len(text)
        os.close(writing)
        try:
            with self.inrush.start(command, package, stdin=reading) as running:
                return running.wait()
        finally:
            os.close(reading)


class GzipCsv(Csv):
    """Files of comma-separated values, compressed by gzip."""

    name = "csv_gzip"
    pattern = "rows.*.csv.gz"

    def write(self, part: int, given: Sequence[Record]) -> None:
        self.inrush.write(f"rows.{part}.csv.gz", gzip.compress(self.text(given).encode()))


class ZipCsv(Csv):
    """Files of comma-separated values in one zip archive."""

    name = "csv_zip"
    pattern = "rows.zip"

    def write(self, part: int, given: Sequence[Record]) -> None:
        with zipfile.ZipFile(self.inrush.folder / "rows.zip", "a") as archive:
            archive.writestr(f"rows.{part}.csv", self.text(given))


class Utf16Csv(Csv):
    """Files of comma-separated values in UTF-16."""

    name = "csv_utf16"
    format: ClassVar[dict[str, Value]] = {"encoding": "utf-16", "preset": "csv"}

    def write(self, part: int, given: Sequence[Record]) -> None:
        self.inrush.write(f"rows.{part}.csv", self.text(given).encode("utf-16"))


class Tsv(Files):
    """Files in the text form of COPY."""

    name = "tsv"
    pattern = "rows.*.tsv"

    def write(self, part: int, given: Sequence[Record]) -> None:
        lines = ["\t".join(text or r"\N" for text in record.texts()) + "\n" for record in given]
        self.inrush.write(f"rows.{part}.tsv", "".join(lines))


class Tbl(Files):
    """Files like those of dbgen."""

    name = "tbl"
    pattern = "rows.*.tbl"

    def write(self, part: int, given: Sequence[Record]) -> None:
        lines = ["|".join(text or "" for text in record.texts()) + "|\n" for record in given]
        self.inrush.write(f"rows.{part}.tbl", "".join(lines))


# The widths of the columns in files of fixed width.
WIDTHS = (6, 8, 16, 8, 8, 10)


class FixedWidth(Files):
    """Files whose fields have positions."""

    name = "fixed_width"
    pattern = "rows.*.txt"
    format: ClassVar[dict[str, Value]] = {
        "fixed": [[sum(WIDTHS[:at]) + 1, width] for at, width in enumerate(WIDTHS)],
        "fixed_unit": "characters",
        "header": False,
    }

    def write(self, part: int, given: Sequence[Record]) -> None:
        lines = []
        for record in given:
            pairs = zip(record.texts(), WIDTHS, strict=True)
            lines.append("".join(f"{text or '':{width}}" for text, width in pairs) + "\n")
        self.inrush.write(f"rows.{part}.txt", "".join(lines))


def arrow_table(given: Sequence[Record]) -> Any:
    """Return the rows with types of Arrow."""
    price = pa.decimal128(12, 2)
    types = [pa.int32(), pa.string(), pa.string(), price, price, pa.date32()]
    columns = list(zip(*(record.values() for record in given), strict=True))
    arrays = [pa.array(*pair) for pair in zip(columns, types, strict=True)]
    return pa.Table.from_arrays(arrays, names=list(NAMES))


class Parquet(Files):
    """Files with row groups of 100 rows."""

    name = "parquet"
    pattern = "rows.*.parquet"

    def write(self, part: int, given: Sequence[Record]) -> None:
        path = self.inrush.folder / f"rows.{part}.parquet"
        pq.write_table(arrow_table(given), path, row_group_size=100)


class ArrowIpc(Files):
    """Files with batches of 100 rows."""

    name = "arrow_ipc"
    pattern = "rows.*.arrow"

    def write(self, part: int, given: Sequence[Record]) -> None:
        path = self.inrush.folder / f"rows.{part}.arrow"
        pyarrow.feather.write_feather(arrow_table(given), path, chunksize=100)


TABLE = (
    "CREATE TABLE rows (id integer NOT NULL, code varchar(10), note varchar(8000), "
    "one numeric(12,2), two numeric(12,2), day date)"
)


class DatabaseRows(RowSource):
    """Rows of a database."""

    source: ClassVar[dict[str, Value]] = {"table": "rows"}
    # The connection of the source.
    words: dict[str, Value]

    def settings(self) -> dict[str, Value]:
        stable: dict[str, Value] = {"stable": True} if self.stable else {}
        return {"source": {"connection": CONNECTION, **self.source, **stable}}

    def connection(self) -> str:
        return f"\n[connections.{CONNECTION}]\n" + packages.settings(self.words)

    def id_at(self, reject: dict[str, Any]) -> int:
        # Rows are numbered in the order in which the database sends them.
        assert "in the order in which" in reject["key"], reject
        return int(reject["line"]) - 1


class PostgreSqlTable(DatabaseRows):
    """A table of PostgreSQL, read in ranges of its pages."""

    name = "postgresql_table"

    def fill(self, given: Sequence[Record]) -> None:
        self.database = self.make_database()
        self.database.execute(TABLE)
        # Long texts stay in their rows as they are, so that the table has pages for them.
        self.database.execute("ALTER TABLE rows ALTER note SET STORAGE PLAIN")
        with (
            self.database.connect() as connection,
            connection.cursor().copy(b"COPY rows FROM STDIN") as copy,
        ):
            for record in given:
                copy.write_row(record.values())
        self.words = {"url": self.database.url}
        self.places = dict(self.database.rows("SELECT 'ctid ' || ctid, id FROM rows"))

    def id_at(self, reject: dict[str, Any]) -> int:
        return int(self.places[reject["key"]])


class PostgreSqlQuery(PostgreSqlTable):
    """A query of PostgreSQL, read in ranges of a column."""

    name = "postgresql_query"
    source: ClassVar[dict[str, Value]] = {"query": "SELECT * FROM rows", "split_by": "id"}
    no_distinct = IN_ANOTHER_ORDER

    def id_at(self, reject: dict[str, Any]) -> int:
        return int(reject["key"].removeprefix("id = "))


class PostgreSqlByAdbc(PostgreSqlTable):
    """A table of PostgreSQL, read by the ADBC driver."""

    name = "postgresql_by_adbc"
    no_distinct = IN_ANOTHER_ORDER
    no_outputs = MAY_CHANGE
    id_at = DatabaseRows.id_at

    def fill(self, given: Sequence[Record]) -> None:
        super().fill(given)
        self.words = {"url": "adbc:postgresql", "options": {"uri": self.database.url}}


class DuckDbTable(DatabaseRows):
    """A table of DuckDB, read in ranges of its row numbers."""

    name = "duckdb_table"

    def fill(self, given: Sequence[Record]) -> None:
        self.words = {"url": "duckdb:origin.duckdb"}
        with opened(self.inrush.folder / "origin.duckdb") as file:
            file.execute(TABLE)
            file.register("given", arrow_table(given))
            file.execute("INSERT INTO rows SELECT * FROM given")
            rows = file.execute("SELECT 'rowid ' || rowid, id FROM rows").fetchall()
        self.places = dict(rows)

    def id_at(self, reject: dict[str, Any]) -> int:
        return int(self.places[reject["key"]])


class SqliteTable(DatabaseRows):
    """A table of SQLite."""

    name = "sqlite_table"
    no_distinct = IN_ANOTHER_ORDER
    no_outputs = MAY_CHANGE

    def fill(self, given: Sequence[Record]) -> None:
        self.words = {"url": "adbc:sqlite", "options": {"uri": "origin.sqlite"}}
        with closing(sqlite3.connect(self.inrush.folder / "origin.sqlite")) as file:
            # SQLite has neither decimals nor dates.
            file.execute("CREATE TABLE rows (id integer NOT NULL, code, note, one, two, day)")
            rows = [(record.id, *record.texts()[1:]) for record in given]
            file.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)", rows)
            file.commit()


class SqlServerTable(DatabaseRows):
    """A table of the double of SQL Server."""

    name = "sql_server_table"
    no_distinct = IN_ANOTHER_ORDER
    no_outputs = MAY_CHANGE

    def fill(self, given: Sequence[Record]) -> None:
        double = self.stack.enter_context(Double())
        self.words = {"url": double.url}
        session = double.session()
        session.execute(TABLE.replace("varchar", "nvarchar").replace("8000", "40"))
        for record in given:
            texts = ["NULL" if text is None else f"N'{text}'" for text in record.texts()[1:]]
            session.execute(f"INSERT INTO rows VALUES ({record.id}, {', '.join(texts)})")
        session.close()


class FlightSqlTable(DatabaseRows):
    """A table of a database that Inrush reads only through its ADBC driver."""

    name = "flight_sql_table"
    source: ClassVar[dict[str, Value]] = {"table": "t"}
    no_distinct = IN_ANOTHER_ORDER
    no_outputs = MAY_CHANGE

    def fill(self, given: Sequence[Record]) -> None:
        path = self.inrush.folder / "given.parquet"
        pq.write_table(arrow_table(given), path)
        server = FlightSql(f"SELECT * FROM '{path}'", (150, 150, 600))
        self.stack.enter_context(server)
        uri = f"grpc://127.0.0.1:{server.port}"
        self.words = {"url": "adbc:flightsql", "options": {"uri": uri}}


SOURCES: list[type[RowSource]] = [
    Csv,
    GzipCsv,
    ZipCsv,
    Utf16Csv,
    Pipe,
    Tsv,
    Tbl,
    FixedWidth,
    Parquet,
    ArrowIpc,
    PostgreSqlTable,
    PostgreSqlQuery,
    PostgreSqlByAdbc,
    DuckDbTable,
    SqliteTable,
    SqlServerTable,
    FlightSqlTable,
]

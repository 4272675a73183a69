"""The destinations that the suite tests against docs/specs/destination.md, from a user's view.

A `Place` is an empty destination. It has the settings that a user writes to load into it, and it
reads the loaded rows without Inrush. If a destination fulfils a clause in another way, its class
says so in `exceptions`; the page lists them, and the tests check the exception instead of the
clause. Nothing is skipped silently.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.dataset as pads

from conformance.canonical import Row, canonical
from harness import pauses
from harness.command import Inrush
from harness.duckdb_files import opened
from harness.packages import Value, package
from harness.servers import Database
from sqlserver import real_server
from sqlserver.double import Double, Session, SqlError, Table


class KeptOutError(Exception):
    """A reader cannot open the destination now."""


def quoted(name: str) -> str:
    """Return a name as SQL writes it."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def in_order(rows: Sequence[Row]) -> list[Row]:
    """Return rows in an order that depends only on their values."""
    return sorted(rows, key=lambda row: [(value is not None, value or "") for value in row])


def miscount_in_files(records: Iterable[Path], old: str, new: str) -> None:
    """Replace a text in the details of records; each file has one record."""
    # The detail is JSON inside a string of JSON.
    old, new = (json.dumps(text)[1:-1] for text in (old, new))
    found = 0
    # Another stream may have committed its unit at the same moment.
    for file in records:
        text = file.read_text()
        assert text.count(old) == 1, text
        file.write_text(text.replace(old, new))
        found += 1
    assert found


class Place(ABC):
    """An empty destination, and its own reader."""

    # Its name in the names of tests.
    name: ClassVar[str]
    # Its name in the tables of the documentation.
    title: ClassVar[str]
    # Its exceptions: the clause, and the promise that replaces it.
    exceptions: ClassVar[dict[str, str]] = {}
    # Whether it runs statements.
    speaks_sql: ClassVar[bool] = True
    # A column of a table whose values the database computes, after a comma.
    computed_column: ClassVar[str] = ", twice integer GENERATED ALWAYS AS (id * 2)"
    unit_table: ClassVar[str] = "inrush.unit"
    # The type of a text column in the key of a reference to which members are added.
    key_text: ClassVar[str] = "varchar(5)"
    # A number of added members that is large for this destination.
    many_members: ClassVar[int] = 15_000
    # Whether its tables can have partitions.
    partitions: ClassVar[bool] = False
    # Whether it can remove the rows of one load unit from staging and keep those of other units.
    removes_units_alone: ClassVar[bool] = False
    # The partitions with rows after a load with the bounds 0, 5 and 10, in the destination's words.
    # Empty if its partitions have no bounds.
    bounds: ClassVar[tuple[str, ...]] = ()
    # Whether an index may be limited to some rows (`WHERE`).
    partial_indexes: ClassVar[bool] = True
    # A load of four times as many rows may use at most this many times the memory, because
    # allocators keep and release memory.
    memory_growth_max: ClassVar[float] = 1.25
    # The setting for the destination's own memory.
    memory_options: ClassVar[dict[str, str]] = {}
    # The memory that the destination uses in the process, with these options, in addition to the
    # plan's figure.
    own_memory_kib: ClassVar[int] = 0

    def __init__(self, url: str, options: dict[str, str] | None = None) -> None:
        self.url = url
        self.options = options or {}

    @property
    def words(self) -> list[str]:
        """The arguments of a command that name this destination."""
        options = [f"--option={name}={value}" for name, value in self.options.items()]
        return ["--to", self.url, *options]

    def package(self, *flows: str, name: str = "test", **run: Any) -> str:
        """Return a package that loads into it."""
        connection: dict[str, Value] = {"url": self.url}
        if self.options:
            connection["options"] = self.options
        return package(connection, *flows, name=name, **run)

    def killed_at(self, point: str, inrush: Inrush, *words: str | Path) -> None:
        """Run a command until it dies by SIGKILL at a fault point, and wait for its sessions."""
        died = inrush(*words, environment={"INRUSH_FAULT": point})
        assert died.status == -signal.SIGKILL, f"{point} was not reached: {died.said}"
        self.wait_for_no_session()

    def wait_for_no_session(self) -> None:  # noqa: B027
        """Wait until the server has ended the sessions of a process that is gone, if it has any.

        Until then the sessions hold their locks, which keep a reader out.
        """

    def keeps(self, clause: str) -> bool:
        """Whether the destination fulfils a clause as written, without an exception."""
        return clause not in self.exceptions

    def in_unique_key(self, text: str | None) -> str | None:
        """Return a text in the form that a unique key compares; None conflicts with nothing."""
        return text

    @abstractmethod
    def tables(self) -> set[str]:
        """Return the names of all tables that a reader finds: with staging, but not the ledger."""

    @abstractmethod
    def column_types(self, table: str) -> dict[str, str]:
        """Return the columns of a table with their types, in the destination's own terms."""

    @abstractmethod
    def values(self, table: str) -> Iterator[tuple[Any, ...]]:
        """Return all rows of a table, as values that lose no precision."""

    @abstractmethod
    def drop(self, table: str) -> None:
        """Remove a table."""

    def execute(self, statement: str) -> None:
        """Run a statement."""
        raise NotImplementedError(f"{self.name} knows no statements: {statement}")

    def make_numbered(self, table: str, number: str, columns: str) -> None:
        """Make a table that numbers its rows in one column, and has others."""
        self.execute(
            f"CREATE TABLE {table} ({number} int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, "
            f"{columns})"
        )

    def make_no_table(self, name: str) -> None:
        """Put something that is not a table in place of a table with this name.

        It has the columns of a job's table, if it can have columns.
        """
        columns = "1 AS id, 'x' AS note, 1.5 AS price, 2 AS at"
        self.execute(f"CREATE VIEW {quoted(name)} AS SELECT {columns}")

    def remove_no_table(self, name: str) -> None:
        """Remove the object of `make_no_table`, and fail if it has changed."""
        self.execute(f"DROP VIEW {quoted(name)}")

    def miscount(self, old: str, new: str) -> None:
        """Replace a text in the detail of each unit's record in the ledger."""
        self.execute(f"UPDATE {self.unit_table} SET detail = replace(detail, '{old}', '{new}')")

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        raise NotImplementedError(f"{self.name} knows no queries: {statement}")

    def view(self, name: str) -> list[tuple[Any, ...]]:
        """Return the rows of a view."""
        return self.query(f"SELECT * FROM {quoted(name)}")

    def rows_analyzed(self, table: str) -> int | None:
        """Return the rows that a table has by its statistics; None without statistics."""
        raise NotImplementedError(f"{self.name} knows no statistics: {table}")

    def partitions_of(self, table: str) -> list[str]:
        """Return a table's partitions, each with its bounds or value in the destination's form."""
        raise NotImplementedError(f"{self.name} knows no partitions: {table}")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read all in the block by one connection, if a connection is dear."""
        yield

    @property
    def stored_in(self) -> Path | None:
        """The file or folder that has all its contents; None if a server keeps them."""
        return None

    def rows(self, table: str, types: Sequence[str]) -> list[Row] | None:
        """Return all rows of a table with columns of these types; None if it does not exist."""
        with self.reading():
            if table not in self.tables():
                return None
            columns = self.column_types(table)
            assert len(columns) == len(types), columns
            found = [
                tuple(canonical(*pair) for pair in zip(types, row, strict=True))
                for row in self.values(table)
            ]
        return in_order(found)


class PostgreSql(Place):
    """A database of a server, through its own protocol."""

    name = "postgresql"
    partitions = True
    removes_units_alone = True
    bounds: ClassVar[tuple[str, ...]] = (
        "FOR VALUES FROM (0) TO (5)",
        "FOR VALUES FROM (5) TO (10)",
    )
    exceptions: ClassVar[dict[str, str]] = {
        "D-13": "`replace` of a table takes its lock in the switch, which changes only metadata: "
        "readers that begin meanwhile wait until it is done",
    }

    def __init__(self, database: Database, url: str, options: dict[str, str] | None = None) -> None:
        super().__init__(url, options)
        self.database = database
        self._reader: psycopg.Connection[tuple[Any, ...]] | None = None

    @contextmanager
    def reading(self) -> Iterator[None]:
        if self._reader is not None:
            yield
            return
        settings = "SET lock_timeout = '1ms'; SET TimeZone = 'UTC'; SET DateStyle = 'ISO'"
        forms = "SET IntervalStyle = 'postgres'; SET extra_float_digits = 1"
        with self.database.lend() as connection:
            connection.execute(f"{settings}; {forms}".encode())
            self._reader = connection
            try:
                yield
            finally:
                self._reader = None

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        if self._reader is None:
            return self.database.rows(query)
        return self._reader.execute(query.encode()).fetchall()

    def wait_for_no_session(self) -> None:
        pauses.wait_until(self.database, pauses.sessions_of_inrush(self.database))

    def tables(self) -> set[str]:
        return {
            name
            for (name,) in self._rows(
                "SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace "
                "WHERE relkind IN ('r', 'p') AND nspname !~ '^(pg_|information_schema|inrush$)'"
            )
        }

    def column_types(self, table: str) -> dict[str, str]:
        found = self._rows(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
            f"WHERE attrelid = '{quoted(table).replace(chr(39), chr(39) * 2)}'::regclass "
            "AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        )
        return dict(found)

    def values(self, table: str) -> Iterator[tuple[Any, ...]]:
        with self.reading():
            columns = ", ".join(f"{quoted(column)}::text" for column in self.column_types(table))
            try:
                yield from self._rows(f"SELECT {columns} FROM {quoted(table)}")
            except psycopg.errors.LockNotAvailable as error:
                raise KeptOutError(str(error)) from error

    def drop(self, table: str) -> None:
        self.database.execute(f"DROP TABLE {quoted(table)}")

    def execute(self, statement: str) -> None:
        self.database.execute(statement)

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        return self.database.rows(statement)

    def partitions_of(self, table: str) -> list[str]:
        found = self.database.rows(
            "SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE oid IN (SELECT inhrelid "
            f"FROM pg_inherits WHERE inhparent = '{quoted(table)}'::regclass) ORDER BY 1"
        )
        return [bounds for (bounds,) in found]

    def rows_analyzed(self, table: str) -> int | None:
        query = f"SELECT reltuples::bigint FROM pg_class WHERE oid = '{quoted(table)}'::regclass"
        rows: int = self.database.value(query)
        return (
            rows
            if self.database.rows(f"SELECT FROM pg_stats WHERE tablename = '{table}'")
            else None
        )

    def schema_of(self, table: str) -> str:
        """Return the schema of the only table with this name."""
        query = "SELECT relnamespace::regnamespace::text FROM pg_class WHERE relname"
        schema: str = self.database.value(f"{query} = '{table}'")
        return schema


class PostgreSql18(PostgreSql):
    """The newest version."""

    name = "postgresql_18"
    title = "PostgreSQL 18"


class PostgreSql15(PostgreSql):
    """An old version."""

    name = "postgresql_15"
    title = "PostgreSQL 15"


class AdbcPostgreSql(PostgreSql):
    """A database of a server, through the ADBC driver."""

    name = "adbc_postgresql"
    title = "PostgreSQL by ADBC"
    exceptions: ClassVar[dict[str, str]] = {}
    # The driver's library.
    own_memory_kib = 16 << 10
    partitions = False
    removes_units_alone = False
    bounds = ()
    unit_table = "inrush.adbc_unit"

    def __init__(self, database: Database) -> None:
        # The driver gives its sessions no name.
        uri = f"{database.url}&application_name=inrush"
        super().__init__(database, "adbc:adbc_driver_postgresql", {"uri": uri})


class DuckDb(Place):
    """A file of DuckDB."""

    name = "duckdb"
    title = "DuckDB"
    partial_indexes = False
    # DuckDB keeps blocks of its file in memory, up to its limit. With this limit, four times as
    # many rows used 12 % more memory.
    memory_options: ClassVar[dict[str, str]] = {"memory_limit": "64MB"}
    own_memory_kib = 64_000_000 >> 10
    exceptions: ClassVar[dict[str, str]] = {
        "D-13": "while a process writes a file, DuckDB lets no other one open it: readers wait "
        "outside, and see the old or the new contents once they are let in",
        "D-29": "the file has one process at a time: a run of another package is refused and names "
        "the process that has the file",
    }

    def __init__(self, file: Path, url: str = "", options: dict[str, str] | None = None) -> None:
        super().__init__(url or file.name, options or {})
        self.file = file
        self._reader: duckdb.DuckDBPyConnection | None = None

    @property
    def stored_in(self) -> Path:
        return self.file

    @contextmanager
    def reading(self) -> Iterator[None]:
        if not self.file.exists():
            yield
            return
        with self.connect() as connection:
            self._reader = connection
            try:
                yield
            finally:
                self._reader = None

    @contextmanager
    def connect(self, *, read_only: bool = True) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file like a reader that must not change it."""
        if self._reader is not None and read_only:
            yield self._reader
            return
        with ExitStack() as stack:
            try:
                connection = stack.enter_context(opened(self.file, read_only=read_only))
            except duckdb.IOException as error:
                if "lock" in str(error):
                    raise KeptOutError(str(error)) from error
                raise
            connection.execute("SET TimeZone = 'UTC'")
            yield connection

    def tables(self) -> set[str]:
        if not self.file.exists():
            return set()
        with self.connect() as connection:
            return {
                name
                for (name,) in connection.execute(
                    "SELECT table_name FROM duckdb_tables() "
                    "WHERE database_name = current_database() AND schema_name <> 'inrush'"
                ).fetchall()
            }

    def column_types(self, table: str) -> dict[str, str]:
        with self.connect() as connection:
            found = connection.execute(
                "SELECT column_name, data_type FROM duckdb_columns() "
                "WHERE database_name = current_database() AND table_name = ? "
                "ORDER BY column_index",
                [table],
            ).fetchall()
        return dict(found)

    def values(self, table: str) -> Iterator[tuple[Any, ...]]:
        # Python's dates end in the year 9999, and the text of a float is not always exact.
        columns = ", ".join(
            quoted(column) if kind in ("FLOAT", "DOUBLE", "BLOB") else f"{quoted(column)}::VARCHAR"
            for column, kind in self.column_types(table).items()
        )
        with self.connect() as connection:
            yield from connection.execute(f"SELECT {columns} FROM {quoted(table)}").fetchall()

    def drop(self, table: str) -> None:
        self.execute(f"DROP TABLE {quoted(table)}")

    def execute(self, statement: str) -> None:
        with self.connect(read_only=False) as connection:
            connection.execute(statement)

    def make_numbered(self, table: str, number: str, columns: str) -> None:
        self.execute(f"CREATE SEQUENCE of_{table}")
        default = f"integer PRIMARY KEY DEFAULT nextval('of_{table}')"
        self.execute(f"CREATE TABLE {table} ({number} {default}, {columns})")

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            return connection.execute(statement).fetchall()


class AdbcDuckDb(DuckDb):
    """A file of DuckDB, through the ADBC driver in its library."""

    name = "adbc_duckdb"
    title = "DuckDB by ADBC"

    def __init__(self, file: Path) -> None:
        super().__init__(file, "adbc:duckdb", {"path": file.name})


class AdbcSqlite(Place):
    """A file of SQLite, through the ADBC driver."""

    name = "adbc_sqlite"
    title = "SQLite by ADBC"
    # The driver's library and SQLite's pages.
    own_memory_kib = 16 << 10
    unit_table = "inrush_unit"
    exceptions: ClassVar[dict[str, str]] = {
        "D-29": "one run at a time loads into a file: a run of another package is refused and "
        "names the process that loads",
    }

    def __init__(self, file: Path) -> None:
        super().__init__("adbc:adbc_driver_sqlite", {"uri": file.name})
        self.file = file

    @property
    def stored_in(self) -> Path:
        return self.file

    @contextmanager
    def connect(self) -> Iterator[sqlite3.Connection]:
        """Open the file without waiting for its writer."""
        connection = sqlite3.connect(self.file, timeout=0, isolation_level=None)
        try:
            yield connection
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise KeptOutError(str(error)) from error
            raise
        finally:
            connection.close()

    def tables(self) -> set[str]:
        if not self.file.exists():
            return set()
        with self.connect() as connection:
            found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            names = {name for (name,) in found}
            # Staging is included, but neither the ledger nor rows that were kept beside it.
            ours = ("sqlite_", "inrush_run", "inrush_unit", "inrush_change", "inrush_lineage")
            kept = ("inrush_kept_", "inrush_undone_")
            return {name for name in names if not name.startswith(ours + kept)}

    def column_types(self, table: str) -> dict[str, str]:
        with self.connect() as connection:
            found = connection.execute("SELECT name, type FROM pragma_table_info(?)", [table])
            return dict(found)

    def values(self, table: str) -> Iterator[tuple[Any, ...]]:
        with self.connect() as connection:
            yield from connection.execute(f"SELECT * FROM {quoted(table)}").fetchall()

    def drop(self, table: str) -> None:
        self.execute(f"DROP TABLE {quoted(table)}")

    def execute(self, statement: str) -> None:
        with self.connect() as connection:
            connection.execute(statement)

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            return connection.execute(statement).fetchall()

    def make_numbered(self, table: str, number: str, columns: str) -> None:
        self.execute(
            f"CREATE TABLE {table} ({number} integer PRIMARY KEY AUTOINCREMENT, {columns})"
        )

    def rows_analyzed(self, table: str) -> int | None:
        if not self.query("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_stat1'"):
            return None
        found = self.query(f"SELECT stat FROM sqlite_stat1 WHERE tbl = '{table}'")
        # The first number of each index is the number of rows.
        return int(found[0][0].split()[0]) if found else None


class Parquet(Place):
    """A folder of Parquet files, read as pyarrow reads a folder."""

    name = "parquet"
    title = "Parquet"
    speaks_sql = False
    partitions = True
    removes_units_alone = True
    exceptions: ClassVar[dict[str, str]] = {
        "D-14": "each table's folder is exchanged by itself, one after the other: a reader may see "
        "the rows of one table before those of the next, and the same command completes a run that "
        "was killed between them",
    }

    def __init__(self, folder: Path) -> None:
        super().__init__(f"parquet:{folder.name}")
        self.folder = folder

    @property
    def stored_in(self) -> Path:
        return self.folder

    def tables(self) -> set[str]:
        if not self.folder.exists():
            return set()
        # Replaced generations are kept for readers that still list them; staging is removed.
        staging = self.folder / "_inrush" / "staging"
        left = {str(path) for path in staging.rglob("*") if path.is_file()}
        return left | {
            unquote(path.name)
            for path in self.folder.iterdir()
            if path.name != "_inrush" and any(path.rglob("*.parquet"))
        }

    def dataset(self, table: str) -> Any:
        """Open a table's folder, which has the table's name."""
        return pads.dataset(self.path(table), format="parquet", partitioning="hive")

    def path(self, table: str) -> Path:
        """Return a table's folder; %XX in its name escapes unsuitable characters."""
        (found,) = (path for path in self.folder.iterdir() if unquote(path.name) == table)
        return found

    def column_types(self, table: str) -> dict[str, str]:
        return {field.name: str(field.type) for field in self.dataset(table).schema}

    def values(self, table: str) -> Iterator[tuple[Any, ...]]:
        columns = [self.plain(column) for column in self.dataset(table).to_table().columns]
        yield from zip(*columns, strict=True)

    @staticmethod
    def plain(column: Any) -> list[Any]:
        """Return a column's values; days and microseconds as numbers."""
        if pa.types.is_date32(column.type):
            column = column.cast(pa.int32())
        elif pa.types.is_time64(column.type) or pa.types.is_timestamp(column.type):
            assert column.type.unit == "us", column.type
            column = column.cast(pa.int64())
        values: list[Any] = column.to_pylist()
        return values

    def drop(self, table: str) -> None:
        shutil.rmtree(self.path(table))

    def make_no_table(self, name: str) -> None:
        self.folder.mkdir()
        (self.folder / name).write_text("no folder")

    def remove_no_table(self, name: str) -> None:
        assert (self.folder / name).read_text() == "no folder"
        (self.folder / name).unlink()

    def miscount(self, old: str, new: str) -> None:
        miscount_in_files(self.folder.glob("_inrush/staging/**/*.json"), old, new)

    def partitions_of(self, table: str) -> list[str]:
        return sorted(path.name for path in self.path(table).iterdir() if path.is_dir())


class SqlServer(Place):
    """The common part of the double and a real SQL Server."""

    title = "SQL Server (double)"
    exceptions: ClassVar[dict[str, str]] = {
        "D-13": "the switch locks its targets until it is committed: readers that begin meanwhile "
        "wait, unless the rows are appended and the database has READ_COMMITTED_SNAPSHOT on",
    }
    partitions = True
    bounds = ("from 0 to 5", "from 5 to 10")
    # SQL of the tests, and the T-SQL that replaces it.
    _WORDS: ClassVar[dict[str, str]] = {
        "text": "nvarchar(400)",
        "timestamptz": "datetimeoffset(6)",
        "timestamp": "datetime2(6)",
        "boolean": "bit",
        "false": "0",
    }

    computed_column = ", twice AS (id * 2)"
    key_text = "nvarchar(5) COLLATE Latin1_General_BIN2"

    def in_unique_key(self, text: str | None) -> str | None:
        # NULL is a value like any other, and the collation ignores case.
        return "NULL" if text is None else text.casefold()

    def make_numbered(self, table: str, number: str, columns: str) -> None:
        self.execute(f"CREATE TABLE {table} ({number} int IDENTITY(1, 1) PRIMARY KEY, {columns})")

    @abstractmethod
    def _rows(self, query: str) -> list[list[Any]]:
        """Return the rows of a query; raise `KeptOutError` if a lock is not granted in time."""

    def tables(self) -> set[str]:
        # The tables of a schema are listed while another one is locked.
        query = "SELECT name FROM sys.tables WHERE schema_id <> N'inrush'"
        return {name for (name,) in self._rows(query)}

    def column_types(self, table: str) -> dict[str, str]:
        table_id = f"OBJECT_ID(N'{quoted(table).replace(chr(39), chr(39) * 2)}')"
        found = self._rows(
            "SELECT name, TYPE_NAME(system_type_id), max_length, precision, scale FROM sys.columns "
            f"WHERE object_id = {table_id} ORDER BY column_id"
        )
        return {name: self._written(*kind) for name, *kind in found}

    @staticmethod
    def _written(kind: str, length: int, digits: int, scale: int) -> str:
        if kind in ("char", "varchar", "binary", "varbinary", "nchar", "nvarchar"):
            unit = 2 if kind.startswith("n") else 1
            return f"{kind}(max)" if length == -1 else f"{kind}({length // unit})"
        if kind in ("decimal", "numeric"):
            return f"{kind}({digits},{scale})"
        if kind in ("time", "datetime2", "datetimeoffset"):
            return f"{kind}({scale})"
        return kind

    def values(self, table: str) -> Iterator[tuple[Any, ...]]:
        yield from self.query(f"SELECT * FROM {quoted(table)}")

    def drop(self, table: str) -> None:
        self.execute(f"DROP TABLE {quoted(table)}")

    def partitions_of(self, table: str) -> list[str]:
        found = self._rows(
            "SELECT f.name, c.name FROM sys.indexes i JOIN sys.partition_schemes s ON "
            "s.data_space_id = i.data_space_id JOIN sys.partition_functions f ON f.function_id = "
            "s.function_id JOIN sys.index_columns k ON k.index_id = i.index_id JOIN sys.columns c "
            f"ON c.column_id = k.column_id WHERE i.object_id = OBJECT_ID(N'{table}') AND "
            "k.partition_ordinal = 1"
        )
        ((name, column),) = found
        number = f"$PARTITION.{quoted(name)}({quoted(column)})"
        counts = self._rows(f"SELECT {number}, COUNT_BIG(*) FROM {table} GROUP BY {number}")
        bounds = (None, *self._bounds_of(name), None)
        return sorted(f"from {bounds[one - 1]} to {bounds[one]}" for one, _ in counts)

    @abstractmethod
    def _bounds_of(self, function: str) -> Sequence[Any]:
        """Return the bounds of a partition function, in order."""

    @abstractmethod
    def _session(self) -> Session | real_server.RealSession:
        """Return a session that does not use Inrush."""

    def execute(self, statement: str) -> None:
        session = self._session()
        try:
            for word, own in self._WORDS.items():
                statement = re.sub(rf"\b{word}\b", own, statement)
            session.execute(statement)
        finally:
            session.close()

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        return [
            # The offset of a moment follows a blank in T-SQL.
            tuple(
                value.removesuffix(" +00:00") if isinstance(value, str) else value for value in row
            )
            for row in self._rows(statement)
        ]


class SqlServerDouble(SqlServer):
    """The double of SQL Server, which is read without a connection. It is not a SQL Server.

    `sqlserver.double` says which rules it enforces.
    """

    name = "sql_server_double"
    # The double has no index, and finds a key by reading all rows. The number is more than a page
    # of members.
    many_members = 2_200

    def __init__(self, double: Double) -> None:
        super().__init__(double.url)
        self.double = double

    def wait_for_no_session(self) -> None:
        self.double.wait_for_no_client()

    def _bounds_of(self, function: str) -> Sequence[Any]:
        return self.double.database.functions[function.lower()].bounds

    def _session(self) -> Session:
        session = self.double.session()
        # The server itself waits without a limit, until it notices that the client is gone.
        session.lock_timeout = 60
        return session

    def rows_analyzed(self, table: str) -> int | None:
        found = self.double.database.objects["dbo", table]
        assert isinstance(found, Table)
        return found.rows_analyzed

    def _rows(self, query: str) -> list[list[Any]]:
        session = self._session()
        # A server notices within this time that a client is gone.
        session.lock_timeout = 2
        try:
            return session.rows(query)
        except SqlError as error:
            if error.number == real_server.LOCK_TIMEOUT:
                raise KeptOutError(str(error)) from error
            raise
        finally:
            session.close()


class RealSqlServer(SqlServer):
    """A database of the server that `INRUSH_TEST_SQLSERVER` names, in place of the double.

    Its column in the matrix of types must equal the column of the double.
    """

    name = "sql_server"

    def __init__(self, database: real_server.RealDatabase) -> None:
        super().__init__(database.url, {"password": "${env:" + real_server.PASSWORD + "}"})
        self.database = database

    def _bounds_of(self, function: str) -> Sequence[Any]:
        found = self._rows(
            "SELECT v.value FROM sys.partition_range_values v JOIN sys.partition_functions f ON "
            f"f.function_id = v.function_id WHERE f.name = N'{function}' ORDER BY v.boundary_id"
        )
        return [value for (value,) in found]

    def _session(self) -> real_server.RealSession:
        return self.database.session()

    def rows_analyzed(self, table: str) -> int | None:
        found = self._rows(
            "SELECT p.rows FROM sys.stats s CROSS APPLY sys.dm_db_stats_properties(s.object_id, "
            f"s.stats_id) p WHERE s.object_id = OBJECT_ID(N'{table}')"
        )
        return found[0][0] if found else None

    def _rows(self, query: str) -> list[list[Any]]:
        session = self.database.session()
        try:
            session.execute("SET LOCK_TIMEOUT 2000")
            return session.rows(query)
        except session.error as error:
            if getattr(error, "number", None) == real_server.LOCK_TIMEOUT:
                raise KeptOutError(str(error)) from error
            raise
        finally:
            session.close()


# All destinations, in the order of the matrix of types.
PLACES: tuple[type[Place], ...] = (
    PostgreSql18,
    PostgreSql15,
    DuckDb,
    AdbcDuckDb,
    AdbcSqlite,
    AdbcPostgreSql,
    Parquet,
    RealSqlServer if real_server.is_named() else SqlServerDouble,
)

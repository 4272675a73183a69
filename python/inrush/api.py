"""The functions that run a package, or load rows, from Python."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from inrush import _inrush
from inrush.report import Report
from inrush.wheel import own_package, site_packages


class ArrowStream(Protocol):
    """Rows, by Arrow's PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a capsule with a stream of Arrow batches."""


class InrushError(Exception):
    """A run that failed. The targets are unchanged unless the message says otherwise.

    The message names the problem, the place, the likely cause and the fix.
    """

    exit_status: int
    """The exit status that the command would have: 1 failed, 2 package error, 4 reject limit
    reached, 5 verification mismatch."""
    report: Report | None
    """The report until the failure; None if no run began."""

    def __init__(self, message: str, exit_status: int, report: Report | None) -> None:
        super().__init__(message)
        self.exit_status = exit_status
        self.report = report


def run(
    package: str | os.PathLike[str],
    *,
    parameters: Mapping[str, object] | None = None,
    connections: Mapping[str, str] | None = None,
    streams: int | None = None,
    again: bool = False,
    from_: str | datetime | None = None,
    runs_folder: str | os.PathLike[str] = "runs",
    trust: bool = False,
) -> Report:
    """Run the load that a package describes, and return its report.

    Other Python threads keep running. Ctrl-C stops the run cleanly and raises `KeyboardInterrupt`;
    the same call resumes the run.

    Args:
        package: The path of the package. Relative paths in it start at its folder.
        parameters: Values that replace the package's parameters, like `--set`.
        connections: URLs that replace the package's connections, like `--connection`.
        streams: The number of streams. Default: the package's setting, or the number of cores.
        again: Load the files again even if a run has loaded them.
        from_: The value at which incremental flows begin, instead of at their marks, like
            `--from`: "2026-01-31 12:00:00+00", or a time with a time zone.
        runs_folder: The folder for the folders of runs.
        trust: Let the package run code that it brings, with all rights of this process:
            drivers that it names by a path or an option, and data folders of embedded servers
            that Inrush did not make here.

    Raises:
        InrushError: The run failed.
        ValueError: `from_` is a time without a zone.

    """
    return _report(
        _inrush.run(
            Path(package),
            [(name, str(value)) for name, value in (parameters or {}).items()],
            list((connections or {}).items()),
            streams,
            again,
            _moment(from_),
            Path(runs_folder),
            trust,
            site_packages(),
            own_package(),
        )
    )


def load(
    rows: ArrowStream,
    *,
    to: str,
    table: str,
    mode: Literal["create", "append", "replace"] = "create",
    columns: str | None = None,
    partition_by: str | None = None,
    bounds: str | None = None,
    routing: bool = False,
    max_rejects: int = 0,
    verify: Literal["count", "sums", "rows"] = "count",
    options: Mapping[str, str] | None = None,
    streams: int | None = None,
    runs_folder: str | os.PathLike[str] = "runs",
) -> Report:
    """Load rows that this program has in memory or generates, and return the report.

    All streams read the rows as they come, without a copy. Rows can be read only once, so a load
    that stops cannot be resumed: none of its rows are in the table, and you can call `load` again
    with the rows. Rejects name the number of the row. Other Python threads keep running. Ctrl-C
    stops the load cleanly and raises `KeyboardInterrupt`.

    Args:
        rows: Anything with `__arrow_c_stream__`: a table or reader of pyarrow, a data frame of
            polars or pandas, a relation of DuckDB.
        to: The destination, as `--to` of `inrush load` takes it: postgresql://USER@HOST/DATABASE,
            FILE.duckdb, parquet:FOLDER, adbc:DRIVER, mssql://USER@HOST/DATABASE, `embedded` or
            embedded:FOLDER.
        table: TABLE or SCHEMA.TABLE. If it does not exist, it gets the columns of the rows.
        mode: How rows are added to the table.
        columns: The columns of the table, as in "id bigint not null, name text"; "x skip" leaves
            out x. Default: those of the rows.
        partition_by: The column by whose ranges the table is partitioned.
        bounds: The bounds of the partitions, as "every 1 month".
        routing: Load each row into the partition of its key.
        max_rejects: The largest number of rows that may be rejected.
        verify: The values that are compared before the rows are switched in.
        options: Options of the destination, like `--option`.
        streams: The number of streams. Default: the number of cores.
        runs_folder: The folder for the folders of runs.

    Raises:
        TypeError: The rows have no `__arrow_c_stream__`.
        ValueError: The stream of `rows` does not consist of rows, for example if it is a single
            column.
        InrushError: The load failed.

    """
    settings = {
        "to": to,
        "table": table,
        "mode": mode,
        "columns": columns,
        "partition-by": partition_by,
        "bounds": bounds,
        "max-rejects": max_rejects,
        "verify": verify,
        "streams": streams,
        "runs-folder": os.fspath(runs_folder),
    }
    words = [f"--{name}={value}" for name, value in settings.items() if value is not None]
    words += [f"--option={name}={value}" for name, value in (options or {}).items()]
    if routing:
        words.append("--routing")
    return _report(_inrush.load(rows, words, site_packages(), own_package()))


def _moment(value: str | datetime | None) -> str | None:
    """Return a time as the command takes it."""
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        msg = f"from_ is {value!r}, a time without a zone: give it one (tzinfo), or write a text"
        raise ValueError(msg)
    return value.isoformat(sep=" ")


def _report(told: str) -> Report:
    """Return the report in an answer of the engine, or raise its error."""
    answer = json.loads(told)
    report = None
    if answer["report"] is not None:
        path = answer["report_path"]
        report = Report.from_details(answer["report"], Path(path) if path else None)
    if answer["error"] is not None or report is None:
        raise InrushError(str(answer["error"]), answer["exit_status"], report)
    return report

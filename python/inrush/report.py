"""The report of a run, as Python objects.

Only the keys that this version knows become attributes; all keys, also those of a newer version,
are in `Report.details`. A key that the report's schema does not require may be absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Outcome = Literal["loaded", "already_loaded", "failed", "interrupted"]


@dataclass(frozen=True)
class Account:
    """Rows and bytes. Always: read + added = loaded + rejected + skipped + filtered."""

    rows_read: int
    """Rows of the input, including skipped lines."""
    rows_loaded: int
    """Rows that the destination has."""
    rows_rejected: int
    """Rows that could not be loaded; they are in the run's folder."""
    rows_skipped: int
    """Blank lines, comments and COPY's end-of-data marker."""
    bytes_read: int
    """Bytes of text, after decompression."""
    rows_filtered: int = 0
    """Rows that a condition of the flow left out."""
    rows_added: int = 0
    """Rows that the flow made in addition to those read: one row that becomes three adds two."""


@dataclass(frozen=True)
class Partition:
    """A partition that the run attached."""

    name: str
    lower: str | None
    """Its first key as an SQL expression; None if it has no lower bound."""
    upper: str | None
    """The exclusive upper bound of its keys as an SQL expression; None if it has no upper bound."""


@dataclass(frozen=True)
class Table:
    """A flow and its target."""

    flow: str
    target: str
    """The target's name in SQL."""
    account: Account
    """The account of its files."""
    partitions: tuple[Partition, ...]
    """The partitions that this run attached."""


@dataclass(frozen=True)
class Reject:
    """A row that could not be loaded."""

    file: str
    line: int
    """Counted from 1."""
    byte_offset: int
    """The number of bytes before it in the uncompressed file; for rows without bytes, the number of
    rows before it."""
    column: str | None
    """The column with the error; None if it is not in one column."""
    value: str | None
    """The text of the field with the error, shortened; None if it is not in one field."""
    code: str
    """A stable name of the cause."""
    reason: str
    """The cause, for people."""
    encoding: str | None = None
    """The encoding of the file, and of its rejects in the run's folder; None for UTF-8."""
    key: str | None = None
    """The key of the row in a source that has neither lines nor bytes; None for files."""


@dataclass(frozen=True)
class Report:
    """The report of a run."""

    run: str
    """The run's name, which is also the name of its folder."""
    outcome: Outcome
    exit_status: int
    """The exit status that the command would have: 0, or 3 if rows were rejected; for a run that
    raised `InrushError`, the status of that error."""
    resumed: bool
    """Whether it resumed an earlier run that had stopped."""
    seconds: float
    """The time from start to end, including planning."""
    account: Account
    """The account of all flows, including resumed attempts."""
    tables: tuple[Table, ...]
    rejects: tuple[Reject, ...]
    """The first rejected rows; all of them are in the run's folder."""
    notes: tuple[str, ...]
    """Notes for the user, each a sentence or two."""
    path: Path | None
    """The path of `report.json`; None if there was nothing to do."""
    details: Mapping[str, Any]
    """The whole content of `report.json`: per stream, unit and table, the server and the
    machine."""

    @classmethod
    def from_details(cls, details: Mapping[str, Any], path: Path | None) -> Report:
        """Return the report in `report.json`."""
        return cls(
            run=details["run"],
            outcome=details["outcome"],
            exit_status=details["exit_status"],
            resumed=details["resumed"],
            seconds=details["phases"]["total_s"],
            account=_account(details["account"]),
            tables=tuple(_table(table) for table in details["tables"]),
            rejects=tuple(_reject(reject) for reject in details["rejects"]),
            notes=tuple(details["notes"]),
            path=path,
            details=details,
        )


def _account(details: Mapping[str, Any]) -> Account:
    return Account(
        rows_read=details["rows_read"],
        rows_loaded=details["rows_loaded"],
        rows_rejected=details["rows_rejected"],
        rows_skipped=details["rows_skipped"],
        bytes_read=details["bytes_read"],
        rows_filtered=details.get("rows_filtered", 0),
        rows_added=details.get("rows_added", 0),
    )


def _table(details: Mapping[str, Any]) -> Table:
    return Table(
        flow=details["flow"],
        target=details["target"],
        account=_account(details["account"]),
        partitions=tuple(_partition(partition) for partition in details["partitions"]),
    )


def _partition(details: Mapping[str, Any]) -> Partition:
    return Partition(name=details["name"], lower=details.get("lower"), upper=details.get("upper"))


def _reject(details: Mapping[str, Any]) -> Reject:
    return Reject(
        file=details["file"],
        line=details["line"],
        byte_offset=details["byte_offset"],
        column=details.get("column"),
        value=details.get("value"),
        code=details["code"],
        reason=details["reason"],
        encoding=details.get("encoding"),
        key=details.get("key"),
    )

"""What happened in a run, as Python sees it.

A report is read by the keys that this version knows: those that a newer version adds are passed
over, and are in `Report.details`. A key that the report's schema does not require may be absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Outcome = Literal["loaded", "already_loaded", "failed", "interrupted"]


@dataclass(frozen=True)
class Account:
    """Rows and bytes: read + added = loaded + rejected + skipped + filtered, always."""

    rows_read: int
    """Rows of the input, skipped lines included."""
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
    """Its first key as an SQL expression; None where it has no lower end."""
    upper: str | None
    """One past its last key as an SQL expression; None where it has no upper end."""


@dataclass(frozen=True)
class Table:
    """A flow and its target."""

    flow: str
    target: str
    """As SQL names it."""
    account: Account
    """The rows of its files."""
    partitions: tuple[Partition, ...]
    """Those that this run attached."""


@dataclass(frozen=True)
class Reject:
    """A row that could not be loaded."""

    file: str
    line: int
    """Counted from 1."""
    byte_offset: int
    """Bytes before it in the uncompressed file; of rows without bytes the rows before it."""
    column: str | None
    """The column at fault; None where no single one is."""
    value: str | None
    """The field at fault, shortened; None where no single one is."""
    code: str
    """A stable name of the cause."""
    reason: str
    """The cause, for people."""
    encoding: str | None = None
    """The encoding of the file, and of its rejects in the run's folder; None for UTF-8."""
    key: str | None = None
    """Finds the row in a source that has neither lines nor bytes; None for files."""


@dataclass(frozen=True)
class Report:
    """What happened in a run."""

    run: str
    """The run's name, which is also that of its folder."""
    outcome: Outcome
    exit_status: int
    """What the command would have ended with: 0, or 3 where rows were rejected; of a run that
    raised `InrushError`, the status of that."""
    resumed: bool
    """Whether it resumed an earlier run that had stopped."""
    seconds: float
    """From start to end, planning included."""
    account: Account
    """All rows of all flows, those of resumed attempts included."""
    tables: tuple[Table, ...]
    rejects: tuple[Reject, ...]
    """The first ones; all of them are in the run's folder."""
    notes: tuple[str, ...]
    """What a user should know, each a sentence or two."""
    path: Path | None
    """Where `report.json` is; None where nothing was to be done."""
    details: Mapping[str, Any]
    """The whole of `report.json`: per stream, unit and table, the server and the machine."""

    @classmethod
    def from_details(cls, details: Mapping[str, Any], path: Path | None) -> Report:
        """Return the report that `report.json` holds."""
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

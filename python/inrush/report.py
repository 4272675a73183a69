"""What happened in a run, as Python sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Outcome = Literal["loaded", "already_loaded", "failed", "interrupted"]


@dataclass(frozen=True)
class Account:
    """Rows and bytes: read = loaded + rejected + skipped, always."""

    rows_read: int
    """Rows of the input, blank lines included."""
    rows_loaded: int
    """Rows that the destination has."""
    rows_rejected: int
    """Rows that could not be loaded; they are kept in the run's folder."""
    rows_skipped: int
    """Blank lines."""
    bytes_read: int
    """Bytes of text, after decompression."""


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
    partitions: tuple[Partition, ...]


@dataclass(frozen=True)
class Reject:
    """A row that could not be loaded."""

    file: str
    line: int
    """Counted from 1."""
    byte_offset: int
    """Bytes before it in the uncompressed file."""
    column: str | None
    """The column at fault, where it is one."""
    value: str | None
    """The field at fault, shortened."""
    code: str
    """A stable name of the cause."""
    reason: str
    """The cause, for people."""


@dataclass(frozen=True)
class Report:
    """What happened in a run."""

    run: str
    """The run's name, which is also that of its folder."""
    outcome: Outcome
    exit_status: int
    """What the command would have ended with: 0, or 3 where rows were rejected."""
    resumed: bool
    """Whether it went on where an earlier run stopped."""
    seconds: float
    account: Account
    """All rows of all flows."""
    tables: tuple[Table, ...]
    rejects: tuple[Reject, ...]
    """The first ones; all of them are in the run's folder."""
    notes: tuple[str, ...]
    """What is good to know."""
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
            account=Account(**details["account"]),
            tables=tuple(_table(table) for table in details["tables"]),
            rejects=tuple(Reject(**reject) for reject in details["rejects"]),
            notes=tuple(details["notes"]),
            path=path,
            details=details,
        )


def _table(details: Mapping[str, Any]) -> Table:
    return Table(
        flow=details["flow"],
        target=details["target"],
        account=Account(**details["account"]),
        partitions=tuple(Partition(**partition) for partition in details["partitions"]),
    )

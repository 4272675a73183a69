"""Inrush loads very large sets of flat files into partitioned databases.

A package, a TOML file, says what is loaded where. `run` does what `inrush run` does:

    import inrush

    report = inrush.run("package.toml", parameters={"day": "2024-02-29"})
    print(report.account.rows_loaded, report.seconds)

The same call after a stop goes on where the stopped run was; after success it loads nothing
and says so (`report.outcome == "already_loaded"`).
"""

from __future__ import annotations

from inrush.api import InrushError, run
from inrush.report import Account, Partition, Reject, Report, Table

__all__ = ["Account", "InrushError", "Partition", "Reject", "Report", "Table", "run"]

"""Inrush loads very large sets of flat files into partitioned databases.

A package, a TOML file, describes the files and their tables. `run` does what `inrush run` does:

    import inrush

    report = inrush.run("package.toml", parameters={"day": "2024-02-29"})
    print(report.account.rows_loaded, report.seconds)

`load` loads rows that a program has in memory: a pyarrow table, a polars or pandas data frame, or a
DuckDB relation.

    inrush.load(frame, to="postgresql://etl@dw/shop", table="sales", mode="append")

If a run stops, the same call of `run` resumes it. After success, the same call loads nothing
(`report.outcome == "already_loaded"`).
"""

from __future__ import annotations

import importlib

# Not imported from `typing`, because that would also slow down the command.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from inrush.api import ArrowStream, InrushError, load, run
    from inrush.report import Account, Partition, Reject, Report, Table

__all__ = [
    "Account",
    "ArrowStream",
    "InrushError",
    "Partition",
    "Reject",
    "Report",
    "Table",
    "load",
    "run",
]

if not TYPE_CHECKING:  # With `__getattr__`, a type checker would accept any name of the package.

    def __getattr__(name: str) -> object:
        """Import the API for Python programs on first use, because the command does not need it."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = (
            "inrush.api"
            if name in ("ArrowStream", "InrushError", "load", "run")
            else "inrush.report"
        )
        found: object = getattr(importlib.import_module(home), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

"""Running a package from Python."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from inrush import _inrush
from inrush.report import Report
from inrush.wheel import own_package, site_packages


class InrushError(Exception):
    """A run that failed. The targets are unchanged, unless the text says otherwise.

    Its text has the problem, the place, the likely cause and the fix.
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
    runs_folder: str | os.PathLike[str] = "runs",
    trust: bool = False,
) -> Report:
    """Run the load that a package describes, and return its report.

    Other threads run meanwhile. Ctrl-C stops the run cleanly and raises `KeyboardInterrupt`;
    the same call resumes the run.

    Args:
        package: The path of the package. Relative paths in it start at its folder.
        parameters: Values in place of the package's parameters, as `--set` gives them.
        connections: URLs in place of the package's connections, as `--connection` gives them.
        streams: The number of streams. Default: the package's setting, or the number of cores.
        again: Load the files again even if a run has loaded them.
        runs_folder: The folder for the folders of runs.
        trust: Let the package run code that it brings, with all rights of this process:
            drivers that it names by a path or an option, and data folders of embedded servers
            that Inrush did not make here.

    Raises:
        InrushError: The run did not end well.

    """
    answer = json.loads(
        _inrush.run(
            Path(package),
            [(name, str(value)) for name, value in (parameters or {}).items()],
            list((connections or {}).items()),
            streams,
            again,
            Path(runs_folder),
            trust,
            site_packages(),
            own_package(),
        )
    )
    report = None
    if answer["report"] is not None:
        path = answer["report_path"]
        report = Report.from_details(answer["report"], Path(path) if path else None)
    if answer["error"] is not None or report is None:
        raise InrushError(str(answer["error"]), answer["exit_status"], report)
    return report

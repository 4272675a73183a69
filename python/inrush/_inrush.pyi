"""The engine, built from Rust."""

from pathlib import Path

from inrush.api import ArrowStream

def main(arguments: list[str], site_packages: str | None, own_package: str | None) -> int:
    """Run the command with these arguments and return its exit status."""

def run(
    package: Path,
    parameters: list[tuple[str, str]],
    connections: list[tuple[str, str]],
    streams: int | None,
    again: bool,
    from_: str | None,
    runs_folder: Path,
    trust: bool,
    site_packages: str | None,
    own_package: str | None,
) -> str:
    """Run a package and return `{exit_status, error, report, report_path}` as JSON."""

def load(
    rows: ArrowStream,
    words: list[str],
    site_packages: str | None,
    own_package: str | None,
) -> str:
    """Load the rows, with the arguments of `inrush load`; return what `run` returns."""

"""The engine, built from Rust."""

def main(arguments: list[str], site_packages: str) -> int:
    """Run the command with these arguments and return its exit status."""

def run(
    package_path: str,
    parameters: dict[str, str],
    connections: dict[str, str],
    streams: int | None,
    again: bool,
    runs_folder: str,
    site_packages: str,
) -> str:
    """Run a package and return `{exit_status, error, report, report_path}` as JSON."""

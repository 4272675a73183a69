"""Lists the objects of a PostgreSQL database by `pg_dump`, and runs scripts in it by `psql`."""

from __future__ import annotations

import subprocess
from pathlib import Path

from harness.servers import Database


def dumped(database: Database) -> list[str]:
    """Return the lines of `pg_dump --schema-only`, without comments and names that are random."""
    command = [str(database.server.programs / "pg_dump"), "--schema-only", "--dbname", database.url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    left_out = ("--", "\\restrict", "\\unrestrict")
    return [line for line in done.stdout.splitlines() if line and not line.startswith(left_out)]


def run_script(database: Database, script: Path) -> None:
    """Run a script in `psql`, which must not print a warning."""
    command = [str(database.server.programs / "psql"), "--no-psqlrc", "--quiet"]
    command += ["--set=ON_ERROR_STOP=1", "--dbname", database.url, "--file", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr

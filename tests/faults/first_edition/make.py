"""Makes the fixtures again: `python tests/faults/first_edition/make.py COMMAND`.

COMMAND is the `inrush` of a checkout of commit e68f33c, after `make build` in it. Debian's
PostgreSQL 15 is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from faults.first_edition.left import FOLDER, LEFT, PACKAGE, Left
from harness import servers
from harness.command import CLEAN, LOADED_WITH_REJECTS
from harness.servers import Database, Server

URLS = {"duckdb": "warehouse.duckdb", "parquet": "parquet:lake"}


def leave(command: Path, left: Left, folder: Path, url: str) -> None:
    """Run the package until it dies at its fault point."""
    folder.mkdir()
    left.write(folder, url)
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "INR"))}
    if left.fault is not None:
        own["INRUSH_FAULT"] = left.fault
    done = subprocess.run(
        [command, "run", PACKAGE, "--quiet"],
        cwd=folder,
        env=own,
        capture_output=True,
        text=True,
        check=False,
    )
    ended = LOADED_WITH_REJECTS if left.rejected_rows else CLEAN
    wanted = ended if left.fault is None else -signal.SIGKILL
    if done.returncode != wanted:
        raise SystemExit(f"{left.name}: {done.returncode}\n{done.stdout}{done.stderr}")


def keep(left: Left, folder: Path) -> None:
    """Archive the folder without the input files."""
    inputs = {PACKAGE, *left.files()}

    def own(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        # The page is made again from the report.
        is_left_out = member.name in inputs or member.name.endswith(".html")
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        return None if is_left_out else member

    with tarfile.open(left.archive, "w:xz", preset=9) as archive:
        for path in sorted(folder.iterdir()):
            archive.add(path, path.name, filter=own)


def dump(database: Database, left: Left) -> None:
    """Write the database as SQL text."""
    program = database.server.programs / "pg_dump"
    words = ["--no-owner", "--file", str(left.dump), "--dbname", database.url]
    subprocess.run([program, *words], check=True)
    # These lines prevent a foreign dump from running commands, but older versions of psql reject
    # them.
    text = left.dump.read_text()
    left.dump.write_text(re.sub(r"(?m)^\\(un)?restrict .*\n", "", text))


def main() -> None:
    """Make all of them."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("command", type=Path, help="the inrush of commit e68f33c")
    command: Path = arguments.parse_args().command.absolute()
    with tempfile.TemporaryDirectory(prefix="inrush-first-") as temporary:
        place = Path(temporary)
        place.chmod(0o755)
        os.environ["XDG_STATE_HOME"] = str(place / "state")
        programs = servers.reachable_programs(15, place)
        if programs is None:
            raise SystemExit("PostgreSQL 15 is not installed")
        server = Server(15, programs, place / "15")
        server.initialise()
        server.start()
        made: dict[str, dict[str, str]] = {}
        try:
            for left in LEFT:
                folder = place / left.name
                url = URLS.get(left.destination, "")
                if left.destination == "postgresql":
                    database = server.create_database(left.name)
                    url = database.url
                    if left.setup:
                        database.execute(left.setup)
                leave(command, left, folder, url)
                keep(left, folder)
                if left.destination == "postgresql":
                    dump(database, left)
                made[left.name] = {"folder": str(folder), "url": url}
        finally:
            server.stop("immediate")
    text = json.dumps(made, indent=2) + "\n"
    (FOLDER / "made.json").write_text(text)


if __name__ == "__main__":
    main()

"""The server extension `inrush_fastcopy`, built for the servers of the tests."""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import subprocess
from pathlib import Path

from harness import servers
from harness.servers import Database, Server

ROOT = Path(__file__).parents[2]
# The versions that it is tested with; the wheel has the headers of 18 and 16, Debian has those of
# 15.
EXTENSION_VERSIONS = (18, 16, 15)
# A database may have it from its template: see `install_everywhere`.
WITHOUT_IT = "DROP SCHEMA IF EXISTS inrush_fastcopy CASCADE"


def pg_config(version: int) -> Path | None:
    """Return a version's `pg_config`, if its headers are there.

    `PG_CONFIG_15` in the environment names another program.
    """
    programs = servers.programs(version)
    if programs is None:
        return None
    config = Path(os.environ.get(f"PG_CONFIG_{version}", programs / "pg_config"))
    asked = subprocess.run(
        [config, "--includedir-server"], capture_output=True, text=True, check=True
    )
    return config if (Path(asked.stdout.strip()) / "postgres.h").exists() else None


def build(version: int) -> Path:
    """Build it like a user, and return its folder."""
    config = pg_config(version)
    assert config is not None, f"no headers of PostgreSQL {version}"
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    target.mkdir(exist_ok=True)
    with (target / "extension.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            ["make", "--quiet", "extension", f"PG_CONFIG={config}"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return target / "extension" / str(version)


@functools.cache
def built(version: int, folder: Path) -> Path:
    """Build it, and return a copy in a folder that the servers' user can enter."""
    copy = folder / f"extension-{version}"
    shutil.copytree(build(version), copy, ignore=lambda *_: {"build"})
    return copy


def install(database: Database, folder: Path) -> None:
    """Create the extension in a database, from the folder that it was built into.

    Before PostgreSQL 18 an extension must be in the server's own folder, which is not ours, so its
    script is run by hand.
    """
    if database.server.version >= 18:
        database.execute(f"{WITHOUT_IT}; CREATE EXTENSION inrush_fastcopy")
        return
    run_script(database, folder)


def run_script(database: Database, folder: Path) -> None:
    """Create the extension's functions by its script, which needs no server setting."""
    (script,) = (folder / "extension").glob("inrush_fastcopy--*.sql")
    text = script.read_text().split("\\quit\n", 1)[1]
    text = text.replace("MODULE_PATHNAME", str(folder / "lib" / "inrush_fastcopy.so"))
    made = text.replace("@extschema@", "inrush_fastcopy")
    database.execute(f"{WITHOUT_IT}; CREATE SCHEMA inrush_fastcopy; {made}")


def grant(database: Database, role: str) -> None:
    """Allow a role to load by the extension, as in docs/fast-copy.md."""
    database.execute(
        f"GRANT USAGE ON SCHEMA inrush_fastcopy TO {role};"
        f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA inrush_fastcopy TO {role}"
    )


def install_everywhere(server: Server, folder: Path) -> None:
    """Create the extension in every new database of a server, if INRUSH_TEST_EXTENSION=1 is set.

    Then all loads of a test run use it if their tables allow it.
    """
    if os.environ.get("INRUSH_TEST_EXTENSION") != "1" or pg_config(server.version) is None:
        return
    template = Database(server, "template1")
    run_script(template, built(server.version, folder))
    grant(template, "PUBLIC")


def settings(server_version: int, folder: Path) -> dict[str, str]:
    """Return the settings with which a server finds the extension."""
    if server_version < 18:
        return {}
    return {
        "extension_control_path": f"$system:{folder}",
        "dynamic_library_path": f"$libdir:{folder / 'lib'}",
    }


def main() -> None:
    """Build it for each version with headers, so that no test waits for a compiler."""
    for version in EXTENSION_VERSIONS:
        if pg_config(version) is not None:
            build(version)


if __name__ == "__main__":
    main()

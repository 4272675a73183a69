"""A pooler in front of a server: pgbouncer."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness import polling, servers
from harness.servers import Server


@contextmanager
def pooler(server: Server, folder: Path, mode: str) -> Iterator[str]:
    """Run a pgbouncer in front of a server, and yield the folder of its socket."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        if os.environ.get("CI") == "true":
            pytest.fail("pgbouncer is not installed")
        pytest.skip("pgbouncer is not installed")
    folder.mkdir(mode=0o755)
    servers.own_by_server(folder)
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\n* = host={server.folder} port={server.port} user={server.user}\n"
        f"[pgbouncer]\nunix_socket_dir = {folder}\nlisten_addr =\nlisten_port = 6432\n"
        f"auth_type = any\npool_mode = {mode}\nlogfile = {folder}/log\n"
        f"pidfile = {folder}/pid\nignore_startup_parameters = extra_float_digits\n"
    )
    servers.own_by_server(settings)
    servers.run_as_server([program, "--daemon", settings])
    # The command ends before its daemon has written this file, and before it listens.
    written = folder / "pid"
    polling.until(lambda: written.exists() and written.read_text().endswith("\n"))
    number = int(written.read_text())
    try:
        polling.until((folder / ".s.PGSQL.6432").exists)
        yield str(folder)
    finally:
        os.kill(number, 15)

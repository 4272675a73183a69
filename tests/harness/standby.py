"""A standby that follows a server of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import servers
from harness.ports import free_port
from harness.servers import Server


@contextmanager
def follow(
    primary: Server, folder: Path, *, addresses: str = "", slot: str | None = None
) -> Iterator[Server]:
    """Make a standby of a server in a folder, and run it until the block ends."""
    port = free_port()
    standby = Server(primary.version, primary.programs, folder, primary.settings, port=port)
    standby.prepare_folder()
    servers.run_as_server(
        [
            primary.programs / "pg_basebackup",
            f"--pgdata={standby.data}",
            f"--host={primary.folder}",
            f"--port={primary.port}",
            f"--username={primary.user}",
            "--checkpoint=fast",
            "--no-sync",
        ]
    )
    source = f"host={primary.folder} port={primary.port} user={primary.user}"
    settings = dict(primary.settings) | {"primary_conninfo": source}
    if slot is not None:
        settings["primary_slot_name"] = slot
    standby.configure(settings, addresses=addresses)
    signal_file = standby.data / "standby.signal"
    signal_file.touch()
    servers.own_by_server(signal_file)
    standby.start()
    try:
        yield standby
    finally:
        standby.stop("immediate")

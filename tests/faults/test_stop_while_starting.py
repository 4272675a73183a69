"""A signal while an embedded server is created: the command stops, and leaves nothing."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.command import INTERRUPTED, Inrush
from harness.packages import flow, package
from harness.processes import wait_for_no_process

# These scripts replace PostgreSQL's programs; `initdb` never ends.
POSTGRES = "#!/bin/sh\necho 'postgres (PostgreSQL) 18.0'\n"
INITDB = """#!/bin/sh
case "$1" in --version) echo 'initdb (PostgreSQL) 18.0'; exit;; esac
echo begun > {fifo}
exec sleep 600
"""


@pytest.fixture
def inrush(servers_folder: Path) -> Iterator[Inrush]:
    folder = servers_folder / "starting"
    folder.mkdir(mode=0o755)
    yield Inrush(folder)
    shutil.rmtree(folder)


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("command", ["run", "load"])
def test_a_signal_while_the_server_is_made(
    inrush: Inrush, command: str, which: signal.Signals
) -> None:
    fifo = inrush.folder / "fifo"
    os.mkfifo(fifo)
    fifo.chmod(0o666)
    for name, text in (("postgres", POSTGRES), ("initdb", INITDB.format(fifo=fifo))):
        inrush.write(f"bin/{name}", text).chmod(0o755)
    inrush.write("rows.csv", "id\n1\n")
    settings = flow("t", "rows.csv", columns=["id int"])
    inrush.write("p.toml", package({"url": "embedded:data"}, settings))
    words = {
        "run": ("run", "p.toml"),
        "load": ("load", "rows.csv", "--to", "embedded:data", "--table", "t"),
    }[command]
    environment = {"INRUSH_POSTGRES_BIN": str(inrush.folder / "bin")}
    with inrush.start(*words, environment=environment) as running:
        # The script opens the pipe once its folder exists.
        assert fifo.read_text() == "begun\n"
        running.send(which)
        running.wait().expect(INTERRUPTED)
    wait_for_no_process(inrush.folder)
    assert not any((inrush.folder / "data").iterdir())

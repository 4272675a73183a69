"""Records again how foreign clients send the table of `table.py`: `make capture-tds`.

It installs each client in a folder outside this checkout (`--folder`), lets it load the table into
the recording server, and writes the message into `captures/`. The captures are committed, so tests
need none of the clients.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.checkout import ROOT
from sqlserver.recording_server import Recording, RecordingServer
from sqlserver.table import COLUMNS, TABLE, as_json, rows, text_of

HERE = Path(__file__).parent
CAPTURES = HERE / "captures"
CLIENTS = HERE / "clients"
Command = list[str | Path]


@dataclass(frozen=True)
class Client:
    """A client: its version, how a folder gets it, and the command that loads the table."""

    name: str
    version: str
    install: Callable[[Path], None]
    command: Callable[[Path, int], Command]


def _run(*command: str | Path, cwd: Path | None = None) -> None:
    subprocess.run(
        command, cwd=cwd, check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    )


def _pip(requirement: str) -> Callable[[Path], None]:
    def install(folder: Path) -> None:
        _run(sys.executable, "-m", "venv", folder / "venv")
        _run(folder / "venv/bin/pip", "install", "--quiet", requirement)

    return install


def _python(script: str) -> Callable[[Path, int], Command]:
    return lambda folder, port: [folder / "venv/bin/python", CLIENTS / script, str(port)]


def _npm(folder: Path) -> None:
    shutil.copy(CLIENTS / "package.json", folder)
    shutil.copy(CLIENTS / "tedious.js", folder)
    _run(
        "npm",
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
        cwd=folder,
    )


def _go(folder: Path) -> None:
    for file in (CLIENTS / "gomssqldb").iterdir():
        shutil.copy(file, folder)
    _run("go", "mod", "tidy", cwd=folder)
    _run("go", "build", "-o", "load", ".", cwd=folder)


def _maven(folder: Path) -> None:
    artifact = "com.microsoft.sqlserver:mssql-jdbc:13.4.0.jre11"
    _run(
        "mvn", "--quiet", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"
    )
    lines = [TABLE]
    for index, column in enumerate(COLUMNS):
        texts = [text_of(row[index]) for row in rows()]
        lines.append(
            "\t".join(
                [column.name, column.sql, *("\\N" if text is None else text for text in texts)]
            )
        )
    (folder / "table.tsv").write_text("\n".join(lines) + "\n")


def _java(folder: Path, port: int) -> Command:
    jar = next(folder.glob("mssql-jdbc-*.jar"))
    return ["java", "-cp", jar, CLIENTS / "EveryType.java", str(port), folder / "table.tsv"]


CLIENTS_OF = [
    Client("python-tds", "1.17.1", _pip("python-tds==1.17.1"), _python("python_tds.py")),
    Client("mssql-python", "1.16.0", _pip("mssql-python==1.16.0"), _python("microsoft_python.py")),
    Client(
        "tedious",
        "19.2.2",
        _npm,
        lambda folder, port: ["node", folder / "tedious.js", str(port), CAPTURES / "table.json"],
    ),
    Client(
        "go-mssqldb",
        "1.11.2",
        _go,
        lambda folder, port: [folder / "load", str(port), CAPTURES / "table.json"],
    ),
    Client("mssql-jdbc", "13.4.0", _maven, _java),
]


def record(client: Client, folder: Path) -> Recording:
    """Let a client load the table, and return its message."""
    if not folder.exists():
        folder.mkdir(parents=True)
        try:
            client.install(folder)
        except BaseException:
            shutil.rmtree(folder)
            raise
    with RecordingServer() as server:
        try:
            _run(*client.command(folder, server.port))
        except subprocess.CalledProcessError:
            print(*server.statements, sep="\n", file=sys.stderr)
            raise
        (recording,) = server.recordings
        return recording


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--folder", type=Path, default=ROOT / ".capture-tds", help="where clients are installed"
    )
    parser.add_argument("--only", help="the name of one client")
    options = parser.parse_args()
    CAPTURES.mkdir(exist_ok=True)
    (CAPTURES / "table.json").write_text(as_json())
    for client in CLIENTS_OF:
        if options.only not in (None, client.name):
            continue
        recording = record(client, options.folder / client.name)
        facts = {
            "client": client.name,
            "version": client.version,
            "statement": recording.statement,
            "packet_bytes": recording.packet_bytes,
            "payload": recording.payload.hex(),
        }
        (CAPTURES / f"{client.name}.json").write_text(
            json.dumps(facts, indent=1, ensure_ascii=False) + "\n"
        )
        print(f"{client.name} {client.version}: {len(recording.payload)} bytes")


if __name__ == "__main__":
    main()

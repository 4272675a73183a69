"""Records again how foreign clients send the table of `table.py`: `make capture-tds`.

It installs each client in a folder outside this checkout (`--folder`), lets it load the table into
the recording server, and writes the message into `captures/`. Some clients then read our own stream
back, as the rows of a SELECT; their results are in `captures/replay/`. All results are committed,
so tests need none of the clients.
"""

from __future__ import annotations

import argparse
import hashlib
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
REPLAY = CAPTURES / "replay"
Command = list[str | Path]
_ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}


@dataclass(frozen=True)
class Client:
    """A client: its version, how it is installed, and the commands that load and read the table."""

    name: str
    version: str
    install: Callable[[Path], None]
    command: Callable[[Path, int], Command]
    read: Callable[[Path, int], Command] | None = None


def _run(*command: str | Path, cwd: Path | None = None) -> None:
    subprocess.run(command, cwd=cwd, check=True, env=_ENVIRONMENT)


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


def _debian(package: str, version: str) -> Callable[[Path], None]:
    """Return a function that installs a Debian package unless it is there."""

    def install(_: Path) -> None:
        asked = ["dpkg-query", "--show", "--showformat=${Version}", package]
        found = subprocess.run(asked, check=False, capture_output=True, text=True).stdout
        if found != version:
            _run("apt-get", "install", "--yes", "--quiet", f"{package}={version}")

    return install


CLIENTS_OF = [
    Client(
        "python-tds",
        "1.17.1",
        _pip("python-tds==1.17.1"),
        _python("python_tds.py"),
        _python("read_python_tds.py"),
    ),
    Client(
        "mssql-python",
        "1.16.0",
        _pip("mssql-python==1.16.0"),
        _python("microsoft_python.py"),
        _python("read_microsoft_python.py"),
    ),
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
    Client(
        "freetds",
        "1.3.17+ds-2",
        _debian("freetds-bin", "1.3.17+ds-2"),
        lambda _, port: [sys.executable, CLIENTS / "freebcp.py", str(port)],
        lambda _, port: [sys.executable, CLIENTS / "freebcp.py", str(port), "read"],
    ),
]


def install(client: Client, folder: Path) -> None:
    """Install a client unless its folder exists."""
    if folder.exists():
        return
    folder.mkdir(parents=True)
    try:
        client.install(folder)
    except BaseException:
        shutil.rmtree(folder)
        raise


def record(client: Client, folder: Path) -> Recording:
    """Let a client load the table, and return its message."""
    with RecordingServer() as server:
        try:
            _run(*client.command(folder, server.port))
        except subprocess.CalledProcessError:
            print(*server.statements, sep="\n", file=sys.stderr)
            raise
        (recording,) = server.recordings
        return recording


def stream() -> bytes:
    """Return our own stream; `crates/tds/tests/bulk/replay.rs` compares it with the encoder's."""
    return bytes.fromhex((REPLAY / "stream.hex").read_text())


def digest() -> str:
    """Return a text that differs if the stream does."""
    return hashlib.sha256(stream()).hexdigest()


def replay(read: Callable[[Path, int], Command], folder: Path) -> list[list[str | None]]:
    """Let a client read our stream as the rows of the table, and return them as texts."""
    with RecordingServer(rows=stream()) as server:
        command = read(folder, server.port)
        said = subprocess.run(command, check=True, env=_ENVIRONMENT, stdout=subprocess.PIPE).stdout
    found: list[list[str | None]] = json.loads(said)
    return found


def write(file: Path, facts: dict[str, object]) -> None:
    """Write a capture."""
    file.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--folder", type=Path, default=ROOT / ".capture-tds", help="where clients are installed"
    )
    parser.add_argument("--only", help="the name of one client")
    options = parser.parse_args()
    (CAPTURES / "table.json").write_text(as_json())
    for client in CLIENTS_OF:
        if options.only not in (None, client.name):
            continue
        folder = options.folder / client.name
        install(client, folder)
        named: dict[str, object] = {"client": client.name, "version": client.version}
        recording = record(client, folder)
        sent: dict[str, object] = {
            "statement": recording.statement,
            "packet_bytes": recording.packet_bytes,
            "payload": recording.payload.hex(),
        }
        write(CAPTURES / f"{client.name}.json", named | sent)
        print(f"{client.name} {client.version}: {len(recording.payload)} bytes")
        if client.read is not None:
            read: dict[str, object] = {
                "stream_sha256": digest(),
                "rows": replay(client.read, folder),
            }
            write(REPLAY / f"{client.name}.json", named | read)


if __name__ == "__main__":
    main()

"""Compares clients of SQL Server that load lineitem: rows per second of a client's core.

Inrush and foreign clients load the same file, in turn, by one session each. Packets have 32,767
bytes, or the most that TLS allows. The server is a sink and not a SQL Server, so its time does not
count: the figure is the rows of the file divided by the processor time of the client's whole
process. FreeTDS, mssql-python and go-mssqldb are installed in the folder `--clients`, in the same
way as by `make capture-tds`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import ground
from files_vs_duckdb import columns, measured
from ground import Measure
from harness import certificates
from harness.checkout import ROOT
from sqlserver.capture import CLIENTS_OF
from sqlserver.capture import install as install_client
from sqlserver.double.server import ENCRYPTION_REQUIRED, NO_ENCRYPTION
from tds_sink import Sink

# Encryption: of nothing, or of the whole connection.
WAYS = ("plain", "TLS")
HERE = Path(__file__).parent / "clients" / "tds"
Command = list[str | Path]


@dataclass
class Side:
    """A client: its version, and its command for a port, TLS and a file."""

    name: str
    version: str
    command: Callable[[int, bool, Path], Command]
    is_foreign: bool = True
    measures: dict[str, list[Measure]] = field(default_factory=dict)


def listed() -> str:
    """Return the columns with their types as JSON."""
    return json.dumps(columns())


def inrush(port: int, tls: bool, file: Path) -> Command:
    """Return the command of Inrush."""
    how = "encrypt=mandatory&trust_server_certificate=yes" if tls else "encrypt=off"
    target = f"mssql://sa@127.0.0.1:{port}/test?{how}"
    declared = ", ".join(ground.LINEITEM)
    words: Command = [*ground.INRUSH, "load", file, "--to", target, "--table", "lineitem"]
    words += ["--columns", declared, "--streams", "1", "--quiet"]
    return [*words, "--runs-folder", file.parent / "runs"]


def freebcp(folder: Path) -> Callable[[int, bool, Path], Command]:
    """Return the command of FreeTDS, which commits once."""

    def command(port: int, tls: bool, file: Path) -> Command:
        settings = folder / f"freetds-{port}.conf"
        encryption = "require" if tls else "off"
        lines = ["[sink]", "host = 127.0.0.1", f"port = {port}", "tds version = 7.4"]
        settings.write_text("\n".join([*lines, f"encryption = {encryption}", ""]))
        words: Command = [
            "/usr/bin/env",
            f"FREETDSCONF={settings}",
            "freebcp",
            "lineitem",
            "in",
            file,
        ]
        words += ["-S", "sink", "-U", "sa", "-P", "password", "-D", "test", "-c", "-t", "|"]
        return [*words, "-r", "|\n", "-A", "32767", "-b", "100000000", "-h", "TABLOCK"]

    return command


def foreign(folder: Path) -> list[Side]:
    """Install the foreign clients, and return them."""
    version = {client.name: client.version for client in CLIENTS_OF}
    for client in CLIENTS_OF:
        if client.name in ("freetds", "mssql-python"):
            install_client(client, folder / client.name)
    python = folder / "mssql-python/venv/bin/python"
    pip: Command = [python, "-m", "pip", "install", "--quiet", "pyarrow==26.0.1"]
    subprocess.run(pip, check=True)
    program = folder / "gomssqldb"
    if not (program / "load").exists():
        shutil.copytree(HERE / "gomssqldb", program, dirs_exist_ok=True)
        for words in (["mod", "tidy"], ["build", "-o", "load", "."]):
            subprocess.run(["go", *words], cwd=program, check=True)

    def arrow(port: int, tls: bool, file: Path) -> Command:
        script = HERE / "mssql_python_arrow.py"
        return [python, script, str(port), "tls" if tls else "plain", listed(), file]

    def go(port: int, tls: bool, file: Path) -> Command:
        return [program / "load", str(port), "tls" if tls else "plain", listed(), file]

    return [
        Side("freebcp", version["freetds"], freebcp(folder)),
        Side("mssql-python, bulkcopy_arrow", version["mssql-python"], arrow),
        Side("go-mssqldb, CopyIn", version["go-mssqldb"], go),
    ]


def run_one(side: Side, tls: bool, pair: tuple[Path, Path], file: Path, rows: int) -> Measure:
    """Let a side load the file into a new sink, and check that all rows came."""
    encryption = ENCRYPTION_REQUIRED if tls else NO_ENCRYPTION
    sink = Sink(certificate=pair, encryption=encryption, is_foreign=side.is_foreign)
    with sink:
        work = Path(tempfile.mkdtemp(dir=file.parent))
        shutil.rmtree(file.parent / "runs", ignore_errors=True)
        measure, _ = measured(side.command(sink.port, tls, file), work)
        shutil.rmtree(work)
        if sum(sink.rows) != rows:
            sys.exit(f"{side.name}: {sum(sink.rows)} rows came, not {rows}")
        if sink.unknown:
            sys.exit(f"{side.name}: the double does not know {sink.unknown}")
    return measure


def main() -> None:
    """Run the benchmark."""
    parser = ground.arguments((__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", default="1", help="TPC-H's scale factor")
    parser.add_argument("--clients", type=Path, default=ROOT / ".capture-tds")
    parser.add_argument("--only", help="sides whose name has this text")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="inrush-bench-", dir=options.folder) as name:
        folder = Path(name)
        about = ground.machine(None)
        (file,) = ground.generate(folder, options.scale, 1)
        with file.open("rb") as lines:
            rows = sum(1 for _ in lines)
        certificates.authority(folder, "root").sign(
            "server", "/CN=localhost", "subjectAltName = DNS:localhost\n"
        )
        pair = (folder / "server.crt", folder / "server.key")
        sides = [Side("inrush", "this commit", inrush, is_foreign=False)]
        sides += foreign(options.clients.absolute())
        sides = [side for side in sides if (options.only or "") in side.name]
        for number in range(options.rounds):
            for side in sides:
                for way in WAYS:
                    measure = run_one(side, way == "TLS", pair, file, rows)
                    side.measures.setdefault(way, []).append(measure)
                    speed = rows / measure.client_cpu_s
                    said = f"{side.name}, {way}: {speed:,.0f} rows/s of a core"
                    print(f"round {number + 1}: {said}, wall {measure.wall_s:.2f} s", flush=True)
        write(options, about, sides, rows, file.stat().st_size)


def write(
    options: argparse.Namespace, about: dict[str, Any], sides: list[Side], rows: int, size: int
) -> None:
    """Write the results."""

    def speeds(side: Side, way: str) -> list[float]:
        return [rows / one.client_cpu_s for one in side.measures[way]]

    facts = {
        "benchmark": "tds_clients",
        "scale": options.scale,
        "rows": rows,
        "machine": about,
        "versions": {side.name: side.version for side in sides},
        "rounds": {
            side.name: {
                way: [asdict(one) for one in measures] for way, measures in side.measures.items()
            }
            for side in sides
        },
    }
    lines = [
        f"# Clients of SQL Server, lineitem at scale {options.scale} into a sink",
        "",
        ground.machine_lines(facts),
        f"{rows:,} rows, {size / 1e6:.0f} MB of text, one file by one session; "
        f"{options.rounds} rounds, all sides in turn; medians (least-most). The sink discards rows "
        "and is no SQL Server: the figure is rows by the processor time of the client's process.",
        "",
        "| client | version | plain, thousand rows/s of a core | TLS | resident MiB |",
        "|---|---|---|---|---|",
    ]
    for side in sides:
        plain, tls = (
            ground.spread([speed / 1000 for speed in speeds(side, way)], 0) for way in WAYS
        )
        measures = side.measures["plain"]
        resident = ground.spread([one.client_resident_kib_max / 1024 for one in measures], 0)
        lines.append(f"| {side.name} | {side.version} | {plain} | {tls} | {resident} |")
    mine, *others = sides
    for way in WAYS:
        # The best foreign client of each round.
        best = [max(each) for each in zip(*(speeds(one, way) for one in others), strict=True)]
        ratios = [own / other for own, other in zip(speeds(mine, way), best, strict=False)]
        if ratios:
            lines += ["", f"inrush / the best other, {way}: **{ground.spread(ratios)}**  "]
    lines += ["", "To repeat: `.venv/bin/python benchmarks/tds_clients.py`.", ""]
    ground.write_results(options.results, "tds-clients", facts, "\n".join(lines))


if __name__ == "__main__":
    main()

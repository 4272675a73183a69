"""Each `sslmode` means the same as in libpq, on a server that refuses connections without TLS."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import StartServer
from harness import servers
from harness.command import CLEAN, FAILED, Inrush
from harness.contents import state
from harness.servers import Server

# The wheel's PostgreSQL is built without TLS.
VERSION = 15


def openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an authority, a server's key signed by it, and another authority."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("root", "other"):
        openssl(
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
            "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.crt",
        )  # fmt: skip
    openssl(
        "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost",
        "-keyout", folder / "server.key", "-out", folder / "server.csr",
    )  # fmt: skip
    (folder / "extensions").write_text("subjectAltName = DNS:localhost\n")
    openssl(
        "x509", "-req", "-days", "2", "-in", folder / "server.csr", "-CA", folder / "root.crt",
        "-CAkey", folder / "root.key", "-CAcreateserial", "-extfile", folder / "extensions",
        "-out", folder / "server.crt",
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def tls_server(start_server: StartServer, certificates: Path) -> Server:
    """Return a server on TCP that takes TLS only."""
    server = start_server(VERSION)
    server.stop()
    for name in ("server.key", "server.crt"):
        copy = server.data / name
        shutil.copy(certificates / name, copy)
        servers.own_by_server(copy)
        copy.chmod(0o600)
    rules = "local all all trust\nhostssl all all all trust\nhostnossl all all all reject\n"
    (server.data / "pg_hba.conf").write_text(rules)
    server.move_to_tcp({**servers.FAST, "ssl": "on"})
    return server


@pytest.mark.parametrize(
    ("host", "sslmode", "root", "status"),
    [
        ("localhost", "disable", None, FAILED),
        ("localhost", "prefer", None, CLEAN),
        ("localhost", "require", None, CLEAN),
        ("localhost", "verify-ca", "root.crt", CLEAN),
        ("localhost", "verify-full", "root.crt", CLEAN),
        ("127.0.0.1", "verify-ca", "root.crt", CLEAN),
        ("127.0.0.1", "verify-full", "root.crt", FAILED),
        ("localhost", "verify-full", "other.crt", FAILED),
        ("localhost", "verify-ca", "other.crt", FAILED),
        # A root file turns `require` into `verify-ca`, as libpq does.
        ("localhost", "require", "other.crt", FAILED),
        ("localhost", "verify-full", None, FAILED),
    ],
)
def test_sslmode(
    tls_server: Server,
    certificates: Path,
    inrush: Inrush,
    host: str,
    sslmode: str,
    root: str | None,
    status: int,
) -> None:
    name = f"tls_{host}_{sslmode}_{root}".replace(".", "_").replace("-", "_").lower()
    database = tls_server.create_database(name)
    database.execute("CREATE TABLE people (id int, name text)")
    inrush.write("rows.csv", "id,name\n1,Ann\n")
    url = f"postgresql://{tls_server.user}@{host}:{tls_server.port}/{name}?sslmode={sslmode}"
    if root is not None:
        url += f"&sslrootcert={certificates / root}"
    before = state(database)
    outcome = inrush("load", "rows.csv", "--to", url, "--table", "people")
    outcome.expect(status)
    if status == CLEAN:
        assert database.rows("TABLE people") == [(1, "Ann")]
    else:
        assert state(database) == before


@pytest.mark.parametrize("pipeline", ["1", "20"])
def test_many_clients_go_on_with_the_session_of_the_login(
    tls_server: Server, inrush: Inrush, pipeline: str
) -> None:
    """The driver is not used after the login; answers of any length come through TLS, each once."""
    url = f"postgresql://{tls_server.user}@localhost:{tls_server.port}/postgres?sslmode=require"
    inrush.write("long.sql", "SELECT repeat('x', (random() * 60000)::int)")
    words = ("--clients", "3", "--calls", "300", "--pipeline", pipeline, "--to", url)
    for call in (("noop",), ("--sql", "long.sql")):
        inrush("bench", "calls", *call, *words).expect(CLEAN, "by TLS")
    with tls_server.connect() as connection:
        left = connection.execute("SELECT FROM pg_namespace WHERE nspname ~ 'inrush'").fetchall()
    assert left == []

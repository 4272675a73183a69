"""The load may meet a pooler, a standby, a published table, or no server at all."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import StartServer
from harness import servers
from harness.command import CLEAN, FAILED, Inrush
from harness.contents import state
from harness.pooler import pooler
from harness.servers import Database, Server
from harness.standby import follow

TABLE = "CREATE TABLE people (id int NOT NULL, name text)"


@pytest.fixture(autouse=True)
def rows(inrush: Inrush) -> Path:
    return inrush.write("rows.csv", "id,name\n1,Ann\n2,Bob\n")


@pytest.fixture(scope="module")
def replicating(start_server: StartServer) -> Server:
    """Return a server that others may follow."""
    return start_server(18, servers.REPLICATING)


def test_a_transaction_pooler_is_found_out(
    newest_database: Database, inrush: Inrush, servers_folder: Path
) -> None:
    newest_database.execute(TABLE)
    before = state(newest_database)
    with pooler(newest_database.server, servers_folder / "pooler-t", "transaction") as folder:
        url = f"postgresql://any@/{newest_database.name}?host={folder}&port=6432"
        words = ("load", "rows.csv", "--to", url, "--table", "people")
        inrush(*words).expect(FAILED, "pooler")
    assert state(newest_database) == before


def test_a_standby_is_found_out(replicating: Server, inrush: Inrush, servers_folder: Path) -> None:
    database = replicating.create_database("with_standby")
    database.execute(TABLE)
    with follow(replicating, servers_folder / "standby") as standby:
        words = ("load", "rows.csv", "--to", standby.url("with_standby"), "--table", "people")
        inrush(*words).expect(FAILED, "standby")
    assert database.rows("TABLE people") == []


@pytest.mark.parametrize("publication", ["FOR TABLE people", "FOR ALL TABLES"])
def test_a_published_target_is_refused(
    replicating: Server, inrush: Inrush, publication: str
) -> None:
    database = replicating.create_database(f"published_{publication.split()[1].lower()}")
    database.execute(TABLE + "; CREATE PUBLICATION feed " + publication)
    before = state(database)
    words = ("load", "rows.csv", "--to", database.url, "--table", "people")
    inrush(*words).expect(FAILED, "publication", "feed")
    assert state(database) == before


def test_a_target_with_row_security_is_refused(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(
        TABLE + "; ALTER TABLE people ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"
    )
    before = state(newest_database)
    words = ("load", "rows.csv", "--to", newest_database.url, "--table", "people")
    inrush(*words).expect(FAILED, "row security")
    assert state(newest_database) == before


def test_privileges_that_are_missing_are_named(newest_database: Database, inrush: Inrush) -> None:
    name = newest_database.name
    newest_database.execute(TABLE + f"; CREATE ROLE guest_{name} LOGIN")
    before = state(newest_database)
    url = newest_database.server.url(name, user=f"guest_{name}")
    words = ("load", "rows.csv", "--to", url, "--table", "people", "--mode", "append")
    inrush(*words).expect(FAILED, "lacks what the plan needs", "GRANT CREATE ON DATABASE")
    assert state(newest_database) == before


SECRET = "correct horse"  # noqa: S105


@pytest.fixture(scope="module")
def guarded(start_server: StartServer) -> Server:
    """Return a server that asks for a password."""
    return start_server(18, password=SECRET)


def test_passwords(guarded: Server, inrush: Inrush) -> None:
    url = guarded.url()
    words = ("load", "rows.csv", "--to", url, "--table", "people")
    columns = ("--columns", "id int, name text")
    wrong = inrush(*words, *columns, environment={"PGPASSWORD": "wrong"})
    wrong.expect(FAILED, "assword")
    assert "wrong" not in wrong.said.replace("wrong password", "")
    inrush(*words, *columns).expect(FAILED, "assword")
    right = inrush(*words, *columns, environment={"PGPASSWORD": SECRET}).expect(CLEAN)
    # Nothing that the run leaves behind contains the secret.
    assert SECRET not in right.said
    for path in (inrush.folder / "runs").rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path


def test_the_password_file(guarded: Server, inrush: Inrush) -> None:
    file = inrush.write("pgpass", f"*:*:*:{guarded.user}:{SECRET}\n")
    file.chmod(0o600)
    words = ("load", "rows.csv", "--to", guarded.url(), "--table", "others")
    environment = {"PGPASSFILE": str(file)}
    columns = ("--columns", "id int, name text")
    inrush(*words, *columns, environment=environment).expect(CLEAN)


def test_a_url_from_the_environment(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(TABLE)
    inrush.write(
        "package.toml",
        'name = "test"\n[connections.target]\nurl = "${env:WAREHOUSE_URL}"\n'
        '[[flow]]\ntable = "people"\nfiles = "rows.csv"\n',
    )
    inrush("run", "package.toml", environment={"WAREHOUSE_URL": newest_database.url}).expect(CLEAN)
    inrush("run", "package.toml").expect(2, "WAREHOUSE_URL")
    assert newest_database.value("SELECT count(*) FROM people") == 2


def test_a_server_that_is_down(inrush: Inrush, tmp_path: Path) -> None:
    url = f"postgresql://nobody@/nothing?host={tmp_path}&port=5432"
    inrush("load", "rows.csv", "--to", url, "--table", "people").expect(FAILED, str(tmp_path))


def test_a_server_that_does_not_answer(inrush: Inrush) -> None:
    """The server's port takes connections but never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        url = f"postgresql://nobody@127.0.0.1:{port}/nothing?connect_timeout=2"
        outcome = inrush("load", "rows.csv", "--to", url, "--table", "people")
        outcome.expect(FAILED, str(port))


def test_something_that_is_no_postgresql(inrush: Inrush) -> None:
    script = "import socket,sys\ns=socket.create_server(('127.0.0.1',0))\n"
    script += "print(s.getsockname()[1],flush=True)\nc,_=s.accept()\nc.recv(100)\n"
    script += "c.sendall(b'HTTP/1.1 400 Bad Request\\r\\n\\r\\n')\nc.close()\n"
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        url = f"postgresql://nobody@127.0.0.1:{port}/nothing?sslmode=disable"
        outcome = inrush("load", "rows.csv", "--to", url, "--table", "people")
        outcome.expect(FAILED, str(port))


def test_a_database_that_is_not_there(newest_server: Server, inrush: Inrush) -> None:
    words = ("load", "rows.csv", "--to", newest_server.url("no_such_base"), "--table", "people")
    inrush(*words).expect(FAILED, "no_such_base")


def test_sessions_are_tagged(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(TABLE)
    newest_database.execute(f"ALTER DATABASE {newest_database.name} SET log_statement = 'all'")
    words = ("load", "rows.csv", "--to", newest_database.url, "--table", "people")
    inrush(*words).expect(CLEAN)
    tags = {
        line.removeprefix(newest_database.name).split("LOG:")[0].strip()
        for line in newest_database.server.log.read_text().splitlines()
        if line.startswith(f"{newest_database.name} ") and "COPY" in line and "LOG:" in line
    }
    assert tags
    assert all(tag.startswith("inrush") for tag in tags), tags

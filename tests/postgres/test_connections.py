"""Connection settings of libpq: several hosts, service files, channel binding."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import StartServer
from harness import servers
from harness.command import CLEAN, FAILED, USAGE, Inrush
from harness.ports import free_port
from harness.proxy import Proxy
from harness.servers import Server
from harness.standby import follow

COLUMNS = ("--columns", "id int, name text")


@pytest.fixture(autouse=True)
def rows(inrush: Inrush) -> Path:
    return inrush.write("rows.csv", "id,name\n1,Ann\n2,Bob\n")


@pytest.fixture(scope="module")
def primary(start_server: StartServer) -> Server:
    """Return a server on TCP that others may follow."""
    server = start_server(18, servers.REPLICATING)
    server.move_to_tcp()
    return server


@pytest.fixture(scope="module")
def standby(primary: Server, servers_folder: Path) -> Iterator[Server]:
    with follow(primary, servers_folder / "connections-standby", addresses="127.0.0.1") as one:
        yield one


def load(inrush: Inrush, url: str, table: str, **environment: str) -> None:
    words = ("load", "rows.csv", "--to", url, "--table", table, *COLUMNS)
    inrush(*words, environment=environment).expect(CLEAN)


def test_of_several_hosts_the_primary_is_taken(
    primary: Server, standby: Server, inrush: Inrush
) -> None:
    nobody = free_port()
    hosts = f"127.0.0.1:{nobody},127.0.0.1:{standby.port},127.0.0.1:{primary.port}"
    url = f"postgresql://{primary.user}@{hosts}/postgres"
    load(inrush, url, "several_hosts")
    load(inrush, url + "?target_session_attrs=read-write", "read_write")
    load(inrush, url + "?load_balance_hosts=random", "balanced")
    with primary.connect() as connection:
        assert connection.execute("TABLE several_hosts").fetchall() == [(1, "Ann"), (2, "Bob")]


def test_hosts_of_the_environment(primary: Server, standby: Server, inrush: Inrush) -> None:
    load(
        inrush,
        "postgresql:///postgres",
        "hosts_of_the_environment",
        PGHOST="127.0.0.1,127.0.0.1",
        PGPORT=f"{standby.port},{primary.port}",
        PGUSER=primary.user,
    )


def test_where_no_host_will_do_each_is_named(
    primary: Server, standby: Server, inrush: Inrush
) -> None:
    nobody = free_port()
    hosts = f"127.0.0.1:{nobody},127.0.0.1:{standby.port}"
    url = f"postgresql://{primary.user}@{hosts}/postgres"
    words = ("load", "rows.csv", "--to", url, "--table", "people", *COLUMNS)
    inrush(*words).expect(FAILED, f"127.0.0.1:{nobody}", str(standby.port), "standby")
    inrush(*words[:3], url + "?target_session_attrs=standby", *words[4:]).expect(
        USAGE, "selects a read-only server"
    )


def test_a_host_may_be_reached_by_another_address(primary: Server, inrush: Inrush) -> None:
    url = f"postgresql://{primary.user}@no.such.name:{primary.port}/postgres?hostaddr=127.0.0.1"
    load(inrush, url, "by_address")


def test_service_files(primary: Server, inrush: Inrush) -> None:
    file = inrush.write(
        "services",
        f"# ours\n[warehouse]\nhost=127.0.0.1\nport={primary.port}\n"
        f"user={primary.user}\ndbname=postgres\n\n[elsewhere]\nhost=127.0.0.1\nport=1\n",
    )
    where = {"PGSERVICEFILE": str(file)}
    load(inrush, "postgresql:///?service=warehouse", "by_service", **where)
    load(inrush, "postgresql://", "by_variable", PGSERVICE="warehouse", **where)
    # The URL overrides the service, and the service overrides the environment.
    url = f"postgresql://127.0.0.1:{primary.port}/postgres?service=elsewhere&user={primary.user}"
    load(inrush, url, "url_first", **where)
    load(inrush, "postgresql:///?service=warehouse", "service_first", PGPORT="1", **where)
    words = ("load", "rows.csv", "--table", "people", *COLUMNS, "--to")
    inrush(*words, "postgresql:///?service=lake", environment=where).expect(
        USAGE, "lake", "services"
    )
    inrush(*words, "postgresql:///?service=x", environment={"PGSERVICEFILE": "none"}).expect(
        USAGE, "PGSERVICEFILE", "none"
    )


def test_a_user_service_file_in_the_home_folder(primary: Server, inrush: Inrush) -> None:
    inrush.write(
        ".pg_service.conf",
        f"[dw]\nhost={primary.folder}\nport={primary.port}\nuser={primary.user}\n",
    )
    load(inrush, "postgresql:///postgres?service=dw", "of_home", HOME=str(inrush.folder))


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("connect_timeout=2&keepalives_idle=5&keepalives_interval=1&keepalives_count=2", CLEAN),
        ("keepalives=0&tcp_user_timeout=0", CLEAN),
        ("gssencmode=disable&client_encoding=utf8&application_name=x", CLEAN),
        ("options=-c%20statement_timeout%3D1", CLEAN),
        # The wheel's server has no TLS, and channel binding needs TLS.
        ("channel_binding=require", FAILED),
        ("sslmode=require", FAILED),
        ("keepalives_idle=soon", USAGE),
        ("channel_binding=always", USAGE),
        ("gssencmode=require", USAGE),
        ("colour=blue", USAGE),
    ],
)
def test_settings_of_urls(primary: Server, inrush: Inrush, query: str, status: int) -> None:
    url = f"postgresql://{primary.user}@127.0.0.1:{primary.port}/postgres?{query}"
    table = f"settings_{abs(hash(query))}"
    words = ("load", "rows.csv", "--to", url, "--table", table, *COLUMNS)
    inrush(*words).expect(status)


def test_keepalives_are_on(primary: Server, inrush: Inrush) -> None:
    """The system lists the sockets with their timers while the load is stopped."""
    with Proxy(primary.port) as proxy:
        url = f"postgresql://{primary.user}@127.0.0.1:{proxy.port}/postgres"
        words = ("load", "rows.csv", "--to", url, "--table", "kept_alive", *COLUMNS)
        with inrush.stopped_by("stop:before_switch", *words):
            timers = sockets_with_timers(proxy.port)
    assert timers, "no socket of the loader asks whether its peer lives"


def sockets_with_timers(port: int) -> list[str]:
    """Return the sockets to a port whose timer is the keepalive timer (2 in /proc/net/tcp)."""
    found = []
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[2].endswith(f":{port:04X}") and words[5].startswith("02:"):
            found.append(line)
    return found


def test_a_role_that_does_not_exist(primary: Server, inrush: Inrush) -> None:
    words = ("load", "rows.csv", "--table", "people", *COLUMNS)
    refused = inrush(*words, "--to", primary.url(user="no_such_role")).expect(
        FAILED, '"no_such_role" does not exist', "no such user"
    )
    assert "pg_hba" not in refused.said


def test_a_name_without_an_address(inrush: Inrush) -> None:
    url = "postgresql://nobody@no.such.name.invalid/nothing"
    words = ("load", "rows.csv", "--to", url, "--table", "people", *COLUMNS)
    inrush(*words).expect(FAILED, "no.such.name.invalid")

"""Certificates and settings have the meaning of libpq 18, which psycopg contains."""

from __future__ import annotations

import itertools
import os
import shutil
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from conftest import SharedServer, StartServer
from harness import certificates as made
from harness import servers
from harness.certificates import Authority
from harness.command import CLEAN, FAILED, USAGE, Inrush
from harness.hostile_server import tls_before
from harness.ports import free_port
from harness.servers import Server

# The wheel's PostgreSQL is built without TLS.
VERSION = 15
numbers = itertools.count(1)
HOSTS = ("localhost", "127.0.0.1")


def libpq_connects(url: str, environment: Mapping[str, str] | None = None) -> str | None:
    """Return libpq's message if libpq does not connect.

    It runs in this process, because importing psycopg takes much longer than a connection. libpq
    reads its variables anew for each connection.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    with environment_of(kept | dict(environment or {})):
        try:
            with psycopg.connect(url) as connection:
                connection.execute("SELECT 1")
        except psycopg.Error as error:
            return str(error)
    return None


@contextmanager
def environment_of(variables: Mapping[str, str]) -> Iterator[None]:
    """Give this process, and with it libpq, these variables and no others."""
    before = dict(os.environ)
    try:
        _exchange_environment(variables)
        yield
    finally:
        _exchange_environment(before)


def _exchange_environment(variables: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(variables)


def inrush_connects(
    inrush: Inrush, url: str, environment: Mapping[str, str] | None = None
) -> str | None:
    """Return Inrush's message if Inrush does not connect."""
    inrush.write("rows.csv", "id\n1\n")
    table = f"reached_{next(numbers)}"
    words = ("load", "rows.csv", "--to", url, "--table", table, "--columns", "id int")
    outcome = inrush(*words, environment=environment)
    outcome.expect(outcome.status if outcome.status in (FAILED, USAGE) else CLEAN)
    return None if outcome.status == CLEAN else outcome.said


def assert_alike(inrush: Inrush, url: str, environment: Mapping[str, str] | None = None) -> bool:
    """Fail unless both connect or neither does."""
    theirs = libpq_connects(url, environment)
    ours = inrush_connects(inrush, url, environment)
    assert (theirs is None) == (ours is None), f"{url}\nlibpq: {theirs}\nInrush: {ours}"
    return ours is None


@dataclass
class TlsServer:
    """A server that takes TLS only, with a chosen certificate."""

    server: Server
    folder: Path
    root: Authority
    other: Authority

    def present(self, certificate: Path, authority: Path | None = None) -> None:
        """Restart with this certificate; given an authority, clients need a certificate from it."""
        if self.server.running:
            self.server.stop()
        settings = {**servers.FAST, "ssl": "on"}
        files = {"server.crt": certificate, "server.key": certificate.with_suffix(".key")}
        if authority is not None:
            files["ca.crt"] = authority
            settings["ssl_ca_file"] = "ca.crt"
        for name, file in files.items():
            copy = self.server.data / name
            shutil.copy(file, copy)
            servers.own_by_server(copy)
            copy.chmod(0o600)
        self.server.configure(settings, addresses="127.0.0.1")
        self.server.start()

    def url(self, host: str, query: str, user: str | None = None) -> str:
        """Return its URL."""
        return f"postgresql://{user or self.server.user}@{host}:{self.server.port}/postgres?{query}"


@pytest.fixture(scope="module")
def tls(start_server: StartServer, tmp_path_factory: pytest.TempPathFactory) -> TlsServer:
    folder = tmp_path_factory.mktemp("certificates")
    root, other = (made.authority(folder, name) for name in ("root", "other"))
    server = start_server(VERSION)
    with server.connect() as connection:
        connection.execute("CREATE ROLE certified LOGIN SUPERUSER")
    server.stop()
    rules = (
        "local all all trust\n"
        "hostssl all certified all cert\n"
        "hostssl all all all trust\n"
        "hostnossl all all all reject\n"
    )
    (server.data / "pg_hba.conf").write_text(rules)
    server.port = free_port()
    return TlsServer(server, folder, root, other)


def certificate(tls: TlsServer, kind: str) -> tuple[Path, Path]:
    """Return a server certificate of this kind, and the root that a client trusts."""
    name = kind.replace(" ", "-")
    folder, root = tls.folder, tls.root

    def own(subject: str, *more: str) -> tuple[Path, Path]:
        both = made.self_signed(folder, name, subject, *more)
        return both, both

    def signed(subject: str, extensions: str = "", version: int = 3) -> tuple[Path, Path]:
        return root.sign(name, subject, extensions, version), root.certificate

    if kind == "its own root":
        return own("/CN=localhost")
    if kind == "its own root, no authority":
        return own("/CN=localhost", "-addext", "basicConstraints=critical,CA:FALSE")
    if kind == "its own root, to sign only":
        return own("/CN=localhost", "-addext", "keyUsage=critical,keyCertSign")
    if kind == "its own root, for clients":
        return own("/CN=localhost", "-addext", "extendedKeyUsage=clientAuth")
    if kind == "its own root, with a name":
        return own("/CN=x", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
    if kind == "its own, root unknown":
        return own("/CN=localhost")[0], tls.other.certificate
    if kind == "a common name":
        return signed("/O=x/CN=localhost")
    if kind == "a common name, version 1":
        return signed("/O=x/CN=localhost", version=1)
    if kind == "version 1 of another":
        return tls.other.sign(name, "/CN=localhost", version=1), root.certificate
    if kind == "a common name that is an address":
        return signed("/CN=127.0.0.1")
    if kind == "another name beside the common name":
        return signed("/CN=localhost", "subjectAltName=DNS:elsewhere")
    if kind == "an address beside the common name":
        return signed("/CN=localhost", "subjectAltName=IP:127.0.0.1")
    if kind == "a name beside the address":
        return signed("/CN=127.0.0.1", "subjectAltName=DNS:localhost")
    if kind == "an address as a name":
        return signed("/CN=x", "subjectAltName=DNS:127.0.0.1")
    if kind == "mail beside the common name":
        return signed("/CN=localhost", "subjectAltName=email:a@b.c")
    if kind == "no name":
        return signed("/O=x")
    if kind == "for clients":
        return signed("/CN=localhost", "extendedKeyUsage=clientAuth")
    raise ValueError(kind)


KINDS = [
    "its own root",
    "its own root, no authority",
    "its own root, to sign only",
    "its own root, for clients",
    "its own root, with a name",
    "its own, root unknown",
    "a common name",
    "a common name, version 1",
    "version 1 of another",
    "a common name that is an address",
    "another name beside the common name",
    "an address beside the common name",
    "a name beside the address",
    "an address as a name",
    "mail beside the common name",
    "no name",
    "for clients",
]
# Names that libpq accepts for `localhost`.
TAKEN = {
    "its own root",
    "its own root, no authority",
    "its own root, with a name",
    "a common name",
    "a common name, version 1",
    "an address beside the common name",
    "a name beside the address",
    "mail beside the common name",
}


@pytest.mark.parametrize("kind", KINDS)
def test_certificates_of_servers(tls: TlsServer, inrush: Inrush, kind: str) -> None:
    presented, trusted = certificate(tls, kind)
    tls.present(presented)
    for host in HOSTS:
        for mode in ("require", "verify-ca", "verify-full"):
            taken = assert_alike(inrush, tls.url(host, f"sslmode={mode}&sslrootcert={trusted}"))
            if host == "localhost" and mode == "verify-full":
                assert taken == (kind in TAKEN)
        assert assert_alike(inrush, tls.url(host, "sslmode=require"))


RIGHTS = {
    "no authority": "basicConstraints = critical, CA:FALSE\n",
    "for no more": "basicConstraints = critical, CA:TRUE, pathlen:0\n",
    "for clients": "basicConstraints = critical, CA:TRUE\nextendedKeyUsage = clientAuth\n",
    "to sign lists": "basicConstraints = critical, CA:TRUE\nkeyUsage = critical, cRLSign\n",
}


def chained(tls: TlsServer, kind: str) -> tuple[Path, Path]:
    """Return a certificate with the authorities above it, and the root that a client trusts."""
    leaf_kind, *above_it, root_kind = kind.split(", ")
    root = tls.root
    if root_kind == "root of version 1":
        root = made.authority_of_version_1(tls.folder, f"root-{next(numbers)}")
    signer, sent = root, ""
    for word in reversed(above_it):
        if word == "unknown":
            signer = tls.other
            continue
        version = 1 if word == "intermediate of version 1" else 3
        extensions = RIGHTS.get(word, "")
        name = f"between-{next(numbers)}"
        signer = signer.authority(name, version=version, extensions=extensions)
        sent = signer.certificate.read_text() + sent
    version = 1 if leaf_kind == "leaf of version 1" else 3
    names = "subjectAltName = DNS:localhost\n"
    leaf = signer.sign(f"leaf-{next(numbers)}", "/CN=localhost", names, version)
    leaf.write_text(leaf.read_text() + sent)
    return leaf, root.certificate


# Chains of certificates, from the server's upwards, grouped by libpq's answer to them.
CHAINS = {
    "leaf, root of version 1": True,
    "leaf of version 1, root": True,
    "leaf of version 1, root of version 1": True,
    "leaf, intermediate, root": True,
    "leaf, intermediate, root of version 1": True,
    "leaf of version 1, intermediate, root": True,
    "leaf of version 1, intermediate, root of version 1": True,
    "leaf of version 1, intermediate, intermediate, root": True,
    "leaf, intermediate of version 1, root": False,
    "leaf of version 1, intermediate of version 1, root": False,
    "leaf of version 1, no authority, root": False,
    "leaf of version 1, for no more, root": True,
    "leaf of version 1, for no more, intermediate, root": True,
    "leaf of version 1, intermediate, for no more, root": False,
    "leaf of version 1, for clients, root": False,
    "leaf of version 1, to sign lists, root": False,
    "leaf of version 1, intermediate, unknown, root": False,
    "leaf of version 1, unknown, root": False,
}


@pytest.mark.parametrize("kind", CHAINS)
def test_chains_with_certificates_of_version_1(tls: TlsServer, inrush: Inrush, kind: str) -> None:
    presented, trusted = chained(tls, kind)
    tls.present(presented)
    for mode in ("verify-ca", "verify-full"):
        url = tls.url("localhost", f"sslmode={mode}&sslrootcert={trusted}")
        assert assert_alike(inrush, url) == CHAINS[kind]
    if kind == "leaf, intermediate of version 1, root":
        said = inrush_connects(inrush, url)
        assert said is not None and "issue it again with version 3" in said


def test_a_certificate_of_version_1_is_not_looked_up_in_lists(
    tls: TlsServer, inrush: Inrush
) -> None:
    """Inrush refuses a version 1 certificate, although libpq looks it up in revocation lists.

    The message of Inrush says what to do instead.
    """
    presented = tls.root.sign("old-and-listed", "/CN=localhost", version=1)
    tls.present(presented)
    lists = tls.root.revoke("list-for-old")
    query = f"sslmode=verify-full&sslrootcert={tls.root.certificate}"
    assert assert_alike(inrush, tls.url("localhost", query))
    url = tls.url("localhost", f"{query}&sslcrl={lists}")
    assert libpq_connects(url) is None
    said = inrush_connects(inrush, url)
    assert said is not None
    for part in ("X.509 version 1", "revoked", "Give the server a certificate of version 3"):
        assert part in said


def test_revoked_certificates(tls: TlsServer, inrush: Inrush) -> None:
    good = tls.root.sign("good", "/CN=localhost", "subjectAltName=DNS:localhost")
    bad = tls.root.sign("bad", "/CN=localhost", "subjectAltName=DNS:localhost")
    revoked = tls.root.revoke("list", bad)
    others = tls.other.revoke("others")
    folder = tls.folder / "lists"
    folder.mkdir()
    subject = subprocess.run(
        ["openssl", "crl", "-in", revoked, "-noout", "-hash"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    shutil.copy(revoked, folder / f"{subject}.r0")
    home = tls.folder / "home-with-list"
    (home / ".postgresql").mkdir(parents=True)
    shutil.copy(revoked, home / ".postgresql/root.crl")
    query = f"sslmode=verify-full&sslrootcert={tls.root.certificate}"
    for presented, is_good in ((good, True), (bad, False)):
        tls.present(presented)
        assert assert_alike(inrush, tls.url("localhost", query))
        for more in (f"&sslcrl={revoked}", f"&sslcrldir={folder}"):
            assert assert_alike(inrush, tls.url("localhost", query + more)) == is_good
        for environment in (
            {"PGSSLCRL": str(revoked)},
            {"PGSSLCRLDIR": str(folder)},
            {"HOME": str(home)},
        ):
            assert assert_alike(inrush, tls.url("localhost", query), environment) == is_good
        # A revocation list of another authority does not concern this certificate.
        assert not assert_alike(inrush, tls.url("localhost", query + f"&sslcrl={others}"))
    # libpq ignores a list that it cannot read or cannot use.
    for more in ("&sslcrl=/no/such/list", f"&sslcrl={good}"):
        said = inrush_connects(inrush, tls.url("localhost", query + more))
        assert said is not None and ("list of revoked" in said or "/no/such/list" in said)
    said = inrush_connects(inrush, tls.url("localhost", "sslmode=prefer"), {"PGSSLCRL": "x"})
    assert said is not None and "sslcrl (from PGSSLCRL) has no effect" in said


def test_certificates_of_clients(tls: TlsServer, inrush: Inrush) -> None:
    presented = tls.root.sign("for-clients", "/CN=localhost", "subjectAltName=DNS:localhost")
    tls.present(presented, tls.root.certificate)
    mine = tls.root.sign("mine", "/CN=certified")
    old = tls.root.sign("old", "/CN=certified", version=1)
    foreign = tls.other.sign("foreign", "/CN=certified")
    open_key = tls.folder / "open.key"
    shutil.copy(mine.with_suffix(".key"), open_key)
    open_key.chmod(0o644)
    encrypted = tls.folder / "encrypted.key"
    made.openssl(
        "pkey", "-in", mine.with_suffix(".key"), "-aes256", "-passout", "pass:x", "-out", encrypted
    )
    encrypted.chmod(0o600)
    home = tls.folder / "home"
    (home / ".postgresql").mkdir(parents=True)
    for ending in ("crt", "key"):
        shutil.copy(mine.with_suffix(f".{ending}"), home / f".postgresql/postgresql.{ending}")
    base = f"sslmode=verify-full&sslrootcert={tls.root.certificate}"

    def alike(more: str, environment: Mapping[str, str] | None = None) -> bool:
        return assert_alike(inrush, tls.url("localhost", base + more, "certified"), environment)

    def pair(one: Path, key: Path | None = None) -> str:
        return f"&sslcert={one}&sslkey={key or one.with_suffix('.key')}"

    assert alike(pair(mine))
    assert alike(pair(old))
    assert alike("", {"PGSSLCERT": str(mine), "PGSSLKEY": str(mine.with_suffix(".key"))})
    assert alike("", {"HOME": str(home)})
    assert alike(pair(mine) + "&sslcertmode=require")
    assert alike(pair(mine) + "&ssl_max_protocol_version=TLSv1.2")
    assert not alike("")
    assert not alike(pair(mine) + "&sslcertmode=disable")
    assert not alike("", {"HOME": str(home), "PGSSLCERTMODE": "disable"})
    assert not alike(pair(foreign))
    assert not alike(pair(mine, foreign.with_suffix(".key")))
    assert not alike(pair(mine, open_key))
    assert not alike(pair(mine, tls.folder / "none.key"))
    assert not alike(pair(tls.folder / "none.crt"))
    assert not alike(pair(mine, encrypted))
    said = inrush_connects(inrush, tls.url("localhost", base + pair(mine, encrypted), "certified"))
    assert said is not None and "encrypted" in said and "openssl pkey" in said
    # If the server does not ask for a certificate, `require` is not met, even if the login
    # succeeds.
    tls.present(presented)
    everybody = tls.url("localhost", base + pair(mine) + "&sslcertmode=require")
    assert not assert_alike(inrush, everybody)
    said = inrush_connects(inrush, everybody)
    assert said is not None and "sslcertmode=require" in said


def test_versions_and_names(tls: TlsServer, inrush: Inrush) -> None:
    tls.present(tls.root.sign("versions", "/CN=localhost", "subjectAltName=DNS:localhost"))
    base = f"sslmode=verify-full&sslrootcert={tls.root.certificate}"
    for more, taken in (
        ("&ssl_max_protocol_version=TLSv1.2", True),
        ("&ssl_min_protocol_version=TLSv1.3", True),
        ("&ssl_min_protocol_version=TLSv1.3&ssl_max_protocol_version=TLSv1.2", False),
        ("&ssl_min_protocol_version=1.2", False),
        ("&sslsni=0", True),
        ("&sslcompression=0", True),
        ("&sslnegotiation=postgres", True),
        # The server is too old for direct TLS and for protocol 3.2.
        ("&sslnegotiation=direct", False),
        ("&max_protocol_version=3.0", True),
        ("&max_protocol_version=latest", True),
        ("&min_protocol_version=3.2", False),
        ("&gssencmode=disable&krbsrvname=x&gssdelegation=0", True),
        ("&channel_binding=disable", True),
        ("&channel_binding=require", False),
        ("&require_auth=none", True),
        ("&require_auth=scram-sha-256", False),
        ("&require_auth=!none", False),
    ):
        assert assert_alike(inrush, tls.url("localhost", base + more)) == taken, more
    root = f"sslrootcert={tls.root.certificate}"
    assert assert_alike(inrush, tls.url("localhost", "requiressl=1&" + root))
    assert assert_alike(inrush, tls.url("localhost", "ssl=true&" + root))
    assert assert_alike(inrush, tls.url("localhost", root), {"PGREQUIRESSL": "1"})
    assert not assert_alike(inrush, tls.url("localhost", "sslmode=prefer&sslnegotiation=direct"))


@pytest.mark.parametrize("agrees", ["postgresql", None, "http/1.1"])
def test_tls_that_begins_at_once(
    tls: TlsServer, shared_server: SharedServer, inrush: Inrush, agrees: str | None
) -> None:
    server = shared_server(18)
    presented = tls.root.sign(
        f"direct-{next(numbers)}", "/CN=localhost", "subjectAltName=DNS:localhost"
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(presented, presented.with_suffix(".key"))
    if agrees is not None:
        context.set_alpn_protocols([agrees])
    seen: list[str | None] = []
    socket = server.folder / f".s.PGSQL.{server.port}"
    with tls_before(socket, context, seen) as port:
        query = f"sslmode=verify-full&sslrootcert={tls.root.certificate}&sslnegotiation=direct"
        url = f"postgresql://{server.user}@localhost:{port}/postgres?{query}"
        assert assert_alike(inrush, url) == (agrees == "postgresql")
        if agrees is None:
            said = inrush_connects(inrush, url) or ""
            assert "sslnegotiation=direct" in said and "ALPN" in said, said
    if agrees == "postgresql":
        assert seen and set(seen) == {"postgresql"}


def test_the_peer_of_a_socket(shared_server: SharedServer, inrush: Inrush) -> None:
    server = shared_server(18)
    runs = server.data.owner()
    assert assert_alike(inrush, server.url() + f"&requirepeer={runs}")
    assert assert_alike(inrush, server.url(), {"PGREQUIREPEER": runs})
    for other in ("daemon", "no_such_user"):
        assert not assert_alike(inrush, server.url() + f"&requirepeer={other}")
        assert not assert_alike(inrush, server.url(), {"PGREQUIREPEER": other})
    said = inrush_connects(inrush, server.url(), {"PGREQUIREPEER": "daemon"})
    assert said is not None and f"user {runs} runs the server there" in said


def test_password_files(start_server: StartServer, inrush: Inrush) -> None:
    server = start_server(18, password="a:b")  # noqa: S106
    # The connection is by TCP: the address of a socket is printed on another line.
    file = inrush.write("mine", f"*:*:*:{server.user}:a\\:b\n")
    file.chmod(0o600)
    assert assert_alike(inrush, server.url() + f"&passfile={file}")
    assert assert_alike(inrush, server.url(), {"PGPASSFILE": str(file)})
    assert assert_alike(inrush, server.url() + f"&passfile={file}&require_auth=scram-sha-256")
    assert not assert_alike(inrush, server.url() + f"&passfile={file}&require_auth=password,md5")
    file.chmod(0o644)
    assert not assert_alike(inrush, server.url() + f"&passfile={file}")
    said = inrush_connects(inrush, server.url() + f"&passfile={file}")
    assert said is not None and "chmod 600" in said


def options() -> list[tuple[str, str | None]]:
    """Return all keywords of libpq, with their variables."""
    found = [
        (one.keyword.decode(), one.envvar.decode() if one.envvar else None)
        for one in psycopg.pq.Conninfo.get_defaults()
    ]
    assert psycopg.pq.version() >= 180000, "the test should know the newest libpq"
    assert len(found) > 45
    return found


def test_every_keyword_of_libpq_is_known(inrush: Inrush) -> None:
    """Each keyword is accepted, or refused with the reason."""
    port = free_port()
    refused = set()
    for keyword, _ in options():
        value = str(port) if keyword == "port" else ""
        said = inrush_connects(inrush, f"postgresql://etl@127.0.0.1:{port}/dw?{keyword}={value}")
        assert (
            said is not None
            and "is not a connection setting (docs/connections.md lists them)" not in said
        ), said
        if "is not supported" in said:
            refused.add(keyword)
            assert f"`{keyword}` is not supported: " in said
    assert refused == {
        "sslpassword", "sslkeylogfile", "replication", "scram_client_key", "scram_server_key",
        "oauth_issuer", "oauth_client_id", "oauth_client_secret", "oauth_scope",
    }  # fmt: skip


def test_no_variable_of_libpq_is_passed_over(tls: TlsServer, inrush: Inrush) -> None:
    """If an invalid value stops libpq from connecting, it also stops Inrush."""
    tls.present(tls.root.sign("variables", "/CN=localhost", "subjectAltName=DNS:localhost"))
    url = tls.url("localhost", f"sslmode=verify-full&sslrootcert={tls.root.certificate}")
    heeded = set()
    for _, variable in options():
        if variable is None:
            continue
        environment = {variable: "nonsense"}
        theirs = libpq_connects(url, environment)
        ours = inrush_connects(inrush, url, environment)
        if theirs is not None:
            heeded.add(variable)
            assert ours is not None, (variable, theirs)
    assert {"PGREQUIREAUTH", "PGSSLCERTMODE", "PGSSLNEGOTIATION", "PGOPTIONS"} <= heeded


@pytest.mark.parametrize(
    "variable", ["PGSSLMODE", "PGREQUIREAUTH", "PGHOST", "PGPASSWORD", "PGSERVICE"]
)
def test_a_variable_that_is_not_text_is_refused_by_name(inrush: Inrush, variable: str) -> None:
    outcome = inrush(
        "status",
        "--to",
        "postgresql://postgres@127.0.0.1:1/postgres",
        environment={variable: "verify-full\udcff"},
    )
    outcome.expect(USAGE, f"{variable} is not UTF-8 text")
    assert "verify-full" not in outcome.said


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PGREQUIREAUTH", "bogus"),
        ("PGCONNECT_TIMEOUT", "abc"),
        ("PGTARGETSESSIONATTRS", "x"),
        ("PGLOADBALANCEHOSTS", "x"),
    ],
)
def test_a_variable_is_named_where_it_is_at_fault(
    inrush: Inrush, variable: str, value: str
) -> None:
    url = "postgresql://postgres@127.0.0.1:1/postgres"
    outcome = inrush("status", "--to", url, environment={variable: value})
    outcome.expect(USAGE, f"(from {variable})", f"correct {variable}, or unset it")

"""Logins by a Kerberos ticket, in a realm with a real KDC; the server is the double."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness import certificates, kerberos
from harness.command import CLEAN, USAGE, Inrush, Outcome
from sqlserver.double import Double
from sqlserver.double.kerberos import Service
from sqlserver.double.server import ENCRYPTION_ON
from sqlserver.reaching import loaded

ROWS = 500
USER = f"etl@{kerberos.REALM}"

# Loads rows into the server on a port: options of the URL, and variables of the environment.
Load = Callable[[int, str, dict[str, str]], Outcome]


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kerberos.Realm]:
    """Return a realm with the user `etl`."""
    kerberos.require_programs()
    with kerberos.Realm(tmp_path_factory.mktemp("realm")) as made:
        made.keytab("etl")
        yield made


@pytest.fixture(scope="module")
def ticket(realm: kerberos.Realm) -> dict[str, str]:
    """Return the variables of a client with a ticket for `etl`."""
    return realm.ticket("etl", realm.folder / "etl.keytab")


@pytest.fixture
def load(inrush: Inrush) -> Load:
    """Return a function that loads by Kerberos."""
    rows = "".join(f"{number},note {number}\n" for number in range(ROWS))
    inrush.write("rows.csv", "id,note\n" + rows)

    def run(port: int, query: str, environment: dict[str, str]) -> Outcome:
        url = f"mssql://localhost:{port}/test?integrated_security=yes&{query}"
        columns = "id integer not null, note nvarchar(40)"
        words = ["load", "rows.csv", "--to", url, "--table", "t", "--columns", columns]
        # A login by ticket does not read the user or the password.
        others = {"SQLCMDUSER": "other", "SQLCMDPASSWORD": "of another"}
        return inrush(*words, environment={**others, **environment})

    return run


def by_kerberos(realm: kerberos.Realm, double: Double, name: str = "", **settings: object) -> None:
    """Give the double the keys of its own name, or of another one."""
    keytab = realm.keytab(name or f"MSSQLSvc/localhost:{double.port}")
    double.kerberos = Service(keytab, **settings)  # type: ignore[arg-type]


def test_a_ticket_logs_in(load: Load, realm: kerberos.Realm, ticket: dict[str, str]) -> None:
    with Double() as double:
        by_kerberos(realm, double)
        load(double.port, "encrypt=off", ticket).expect(CLEAN)
        assert loaded(double) == ROWS
        assert set(double.users) == {USER}
        assert len(double.users) == len(double.granted)


def test_a_ticket_logs_in_within_tls(
    load: Load, realm: kerberos.Realm, ticket: dict[str, str], tmp_path: Path
) -> None:
    authority = certificates.authority(tmp_path, "root")
    authority.sign("server", "/CN=localhost", "subjectAltName = DNS:localhost\n")
    pair = (tmp_path / "server.crt", tmp_path / "server.key")
    for strict, mode in ((False, "mandatory"), (False, "optional"), (True, "strict")):
        double = Double(certificate=pair, encryption=ENCRYPTION_ON, strict=strict)
        with double:
            by_kerberos(realm, double)
            query = f"encrypt={mode}&certificate_authority={authority.certificate}"
            load(double.port, query, ticket).expect(CLEAN)
            assert loaded(double) == ROWS
            assert set(double.users) == {USER}


def test_a_keytab_logs_in(load: Load, realm: kerberos.Realm) -> None:
    """A job without a person has a keytab, and no kinit."""
    with Double() as double:
        by_kerberos(realm, double)
        keytab = f"FILE:{realm.folder / 'etl.keytab'}"
        environment = {**realm.environment, "KRB5_CLIENT_KTNAME": keytab}
        environment["KRB5CCNAME"] = "MEMORY:"
        load(double.port, "encrypt=off", environment).expect(CLEAN)
        assert loaded(double) == ROWS
        assert set(double.users) == {USER}


def test_without_a_ticket_there_is_no_login(load: Load, realm: kerberos.Realm) -> None:
    with Double() as double:
        by_kerberos(realm, double)
        outcome = load(double.port, "encrypt=off", realm.environment)
        outcome.expect(USAGE, "no Kerberos login for MSSQLSvc/localhost", "kinit")
        assert double.users == []


def test_a_server_that_the_realm_does_not_know(
    load: Load, realm: kerberos.Realm, ticket: dict[str, str]
) -> None:
    with Double() as double:
        by_kerberos(realm, double, "MSSQLSvc/dw.example.com:1433")
        outcome = load(double.port, "encrypt=off", ticket)
        outcome.expect(USAGE, "not found in Kerberos database", "server_spn=")
        query = "encrypt=off&server_spn=MSSQLSvc/dw.example.com:1433"
        load(double.port, query, ticket).expect(CLEAN)
        assert loaded(double) == ROWS


def test_a_server_with_the_keys_of_another_one(
    load: Load, realm: kerberos.Realm, ticket: dict[str, str]
) -> None:
    with Double() as double:
        by_kerberos(realm, double)
        by_kerberos(realm, double, f"MSSQLSvc/elsewhere:{double.port}")
        outcome = load(double.port, "encrypt=off", ticket)
        outcome.expect(USAGE, "error 18452", "CREATE LOGIN")
        assert double.users == []


def test_a_user_without_a_login(load: Load, realm: kerberos.Realm, ticket: dict[str, str]) -> None:
    with Double() as double:
        by_kerberos(realm, double, unknown=frozenset({USER}))
        load(double.port, "encrypt=off", ticket).expect(USAGE, USER, "error 18456", "FROM WINDOWS")


def test_a_server_that_does_not_prove_who_it_is(
    load: Load, realm: kerberos.Realm, ticket: dict[str, str]
) -> None:
    with Double() as double:
        by_kerberos(realm, double, keeps_its_proof=True)
        outcome = load(double.port, "encrypt=off", ticket)
        outcome.expect(USAGE, "does not prove by Kerberos")
        assert double.batches == []


def test_a_machine_without_the_library(
    load: Load, realm: kerberos.Realm, ticket: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "libgssapi_krb5.so.2").write_text("no library")
    with Double() as double:
        by_kerberos(realm, double)
        environment = {**ticket, "LD_LIBRARY_PATH": str(tmp_path)}
        outcome = load(double.port, "encrypt=off", environment)
        outcome.expect(USAGE, "library of Kerberos cannot be loaded", "libgssapi-krb5-2")


def test_a_realm_that_does_not_answer(load: Load, realm: kerberos.Realm, tmp_path: Path) -> None:
    """The KDC accepts connections but never answers: the login ends by its own time limit."""
    with Double() as double, socket.create_server(("127.0.0.1", 0)) as silent:
        by_kerberos(realm, double)
        text = (realm.folder / "krb5.conf").read_text()
        lines = [line for line in text.splitlines() if "kdc =" not in line]
        here = lines.index(f"    {kerberos.REALM} = {{")
        lines.insert(here + 1, f"        kdc = 127.0.0.1:{silent.getsockname()[1]}")
        (tmp_path / "krb5.conf").write_text("\n".join(lines) + "\n")
        keytab = realm.folder / "etl.keytab"
        environment = {
            "KRB5_CONFIG": str(tmp_path / "krb5.conf"),
            "KRB5CCNAME": "MEMORY:",
            "KRB5_CLIENT_KTNAME": f"FILE:{keytab}",
        }
        outcome = load(double.port, "encrypt=off&login_timeout_seconds=1", environment)
        outcome.expect(USAGE, "did not answer in the time of the login", "krb5.conf")

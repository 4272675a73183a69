"""Logins by access tokens of Microsoft Entra, and by commands that print them; on the double."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness import certificates
from harness.command import CLEAN, USAGE, Inrush, Outcome
from sqlserver.double import Double
from sqlserver.double.server import ENCRYPTION_ON
from sqlserver.reaching import ROWS, SECRET, encrypted, loaded, write_rows

# The token is longer than a packet.
TOKEN = "eyJ0eXAi." + "x" * 5000 + "." + SECRET
# Loads rows with these options in addition to the URL.
Load = Callable[..., Outcome]


def test_an_access_token_logs_in(inrush: Inrush, authority: certificates.Authority) -> None:
    """The token is in no output, ledger or file."""
    token = TOKEN
    write_rows(inrush)
    with encrypted(authority, encryption=ENCRYPTION_ON, tokens={token}) as double:
        url = f"mssql://localhost:{double.port}/test"

        def run(secret: str, *options: str) -> Outcome:
            more = [word for option in options for word in ("--option", option)]
            ca = f"certificate_authority={authority.certificate}"
            words = ["load", "rows.csv", "--to", url, "--table", "t", "--option", ca, *more]
            columns = ["--columns", "id integer not null, note nvarchar(40)"]
            given = ["--option", "access_token=${env:SECRET}"]
            environment = {"SECRET": secret, "SQLCMDUSER": "etl", "SQLCMDPASSWORD": "other"}
            return inrush(*words, *columns, *given, environment=environment)

        refused = run(token + "x").expect(USAGE, "Login failed", "take a new access token")
        off = run(token, "encrypt=optional").expect(USAGE, "encrypted connections only")
        both = run(token, "user=etl").expect(USAGE, "both access_token and a user")
        assert double.batches == []
        outcome = run(token + "\n").expect(CLEAN)
        assert loaded(double) == ROWS
        checked = run(token).expect(CLEAN, "already loaded")
        assert not any(SECRET in one.said for one in (refused, off, both, outcome, checked))
        session = double.session()
        ledger = session.rows("SELECT * FROM inrush.run")
        session.close()
        assert SECRET not in str(ledger)
        written = f"{url}?access_token={token}"
        words = ["load", "rows.csv", "--to", written, "--table", "t"]
        argument = inrush(*words).expect(USAGE)
        assert SECRET not in argument.said
    files = [path for path in inrush.folder.rglob("*") if path.is_file()]
    assert not any(SECRET.encode() in path.read_bytes() for path in files)


@pytest.fixture
def load(inrush: Inrush, authority: certificates.Authority) -> Load:
    """Return a function that loads some thousand rows into the server on a port."""
    write_rows(inrush)

    def run(port: int, *options: str, table: str = "t") -> Outcome:
        ca = f"certificate_authority={authority.certificate}"
        more = [word for option in (ca, *options) for word in ("--option", option)]
        words = ["load", "rows.csv", "--to", f"mssql://localhost:{port}/test", "--table", table]
        return inrush(*words, "--columns", "id integer not null, note nvarchar(40)", *more)

    return run


def test_a_command_prints_the_token_of_each_login(
    load: Load, inrush: Inrush, authority: certificates.Authority
) -> None:
    """The command runs in the working folder of `inrush`; a later login takes a newer token."""
    command = "access_token_command=echo run >>calls; cat token; echo a note >&2"
    with encrypted(authority, encryption=ENCRYPTION_ON, tokens={TOKEN}) as double:
        inrush.write("token", TOKEN + "\n")
        outcome = load(double.port, command).expect(CLEAN)
        assert loaded(double) == ROWS
        # Logins within a minute share a token.
        assert inrush.folder.joinpath("calls").read_text() == "run\n"
        double.tokens = {TOKEN + "2"}
        stale = load(double.port, command, table="u")
        stale.expect(USAGE, "Login failed", "take a new access token")
        inrush.write("token", TOKEN + "2")
        again = load(double.port, command, table="u").expect(CLEAN)
        assert not any(SECRET in one.said for one in (outcome, stale, again))
        session = double.session()
        ledger = session.rows("SELECT * FROM inrush.run")
        session.close()
        assert SECRET not in str(ledger)
    files = [path for path in inrush.folder.rglob("*") if path.is_file() and path.name != "token"]
    assert not any(SECRET.encode() in path.read_bytes() for path in files)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo not logged in >&2; exit 7", "access_token_command failed (exit status: 7): not log"),
        ("echo", "printed 1 bytes that are no access token"),
        (f"echo {SECRET} two", "that are no access token"),
        ("  ", "access_token_command of SQL Server is empty"),
    ],
    ids=["fails", "prints_nothing", "prints_more", "empty"],
)
def test_a_command_without_a_token(
    load: Load, authority: certificates.Authority, command: str, said: str
) -> None:
    with encrypted(authority, encryption=ENCRYPTION_ON) as double:
        outcome = load(double.port, f"access_token_command={command}")
        outcome.expect(USAGE, said)
        assert double.granted == []


def test_a_command_beside_a_token_or_a_user_is_refused(load: Load) -> None:
    with Double() as double:
        both = load(double.port, "access_token_command=echo x", "user=etl")
        both.expect(USAGE, "both access_token_command and a user or password")
        off = load(double.port, "access_token_command=echo x", "encrypt=off")
        off.expect(USAGE, "encrypted connections only")


def test_a_command_of_a_package_needs_trust(
    inrush: Inrush, authority: certificates.Authority
) -> None:
    write_rows(inrush)
    with encrypted(authority, encryption=ENCRYPTION_ON, tokens={TOKEN}) as double:
        inrush.write("token", TOKEN)
        options = (
            f'{{ certificate_authority = "{authority.certificate}", '
            'access_token_command = "echo run >>calls; cat token" }'
        )
        inrush.write(
            "package.toml",
            f"""
            name = "p"
            [connections.target]
            url = "mssql://localhost:{double.port}/test"
            options = {options}
            [[flow]]
            files = "rows.csv"
            table = "t"
            columns = [
                {{ name = "id", type = "integer", nullable = false }},
                {{ name = "note", type = "nvarchar(40)" }},
            ]
            """,
        )
        inrush("check", "package.toml").expect(USAGE, "access_token_command", "--trust")
        assert not (inrush.folder / "calls").exists()
        inrush("run", "package.toml", "--trust").expect(CLEAN)
        assert loaded(double) == ROWS
        url = f"mssql://localhost:{double.port}/test?access_token_command=cat%20token"
        words = ("load", "rows.csv", "--to", url, "--table", "u")
        inrush(*words).expect(USAGE, "access_token_command cannot be part of a URL")

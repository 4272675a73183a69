"""Connections to servers: TLS, logins, packets, and servers that fail. All tests use the double."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from harness import certificates
from harness.command import CLEAN, FAILED, INTERRUPTED, USAGE, VERIFICATION, Inrush, Outcome
from harness.packages import flow, package
from sqlserver.double import Double
from sqlserver.double.server import (
    ENCRYPTION_OFF,
    ENCRYPTION_ON,
    ENCRYPTION_REQUIRED,
    NO_ENCRYPTION,
)
from sqlserver.reaching import ROWS, SECRET, encrypted, loaded, write_rows

# Loads rows into the server on a port, with additional parts of the URL or of the environment.
Load = Callable[..., Outcome]
Answer = Callable[[socket.socket], object]


@pytest.fixture
def load(inrush: Inrush) -> Load:
    """Return a function that loads some thousand rows into a server's table."""
    write_rows(inrush)

    def run(port: int, query: str = "", database: str = "test", **environment: str) -> Outcome:
        url = f"mssql://tester@localhost:{port}/{database}{query and '?'}{query}"
        columns = "id integer not null, note nvarchar(40)"
        words = ["load", "rows.csv", "--to", url, "--table", "t", "--columns", columns]
        if environment:
            words += ["--option", "password=${env:SECRET}"]
        return inrush(*words, environment=environment or None)

    return run


ENCRYPTED = {
    # The server's behaviour, the option, and whether packets have the size for encryption.
    "all": (ENCRYPTION_ON, "encrypt=mandatory", True),
    "usual": (ENCRYPTION_ON, "", True),
    "required": (ENCRYPTION_REQUIRED, "encrypt=optional", True),
    "login_only": (ENCRYPTION_ON, "encrypt=optional", False),
    "none": (NO_ENCRYPTION, "encrypt=optional", False),
    "off": (ENCRYPTION_OFF, "encrypt=off", False),
}


@pytest.mark.parametrize("way", ENCRYPTED)
def test_rows_arrive_by_every_encryption(
    load: Load, authority: certificates.Authority, way: str
) -> None:
    encryption, option, is_encrypted = ENCRYPTED[way]
    with encrypted(authority, encryption=encryption) as double:
        query = f"{option}&certificate_authority={authority.certificate}".lstrip("&")
        load(double.port, query).expect(CLEAN)
        assert loaded(double) == ROWS
        assert set(double.granted) == {16_380 if is_encrypted else 32_764}


def test_rows_arrive_by_tds_8(load: Load, authority: certificates.Authority) -> None:
    with encrypted(authority, strict=True) as double:
        query = f"encrypt=strict&certificate_authority={authority.certificate}"
        load(double.port, query).expect(CLEAN)
        assert loaded(double) == ROWS


@pytest.mark.parametrize("strict", [False, True], ids=["in_packets", "first"])
def test_a_certificate_of_another_authority_is_refused(
    load: Load, authority: certificates.Authority, strict: bool
) -> None:
    with encrypted(authority, encryption=ENCRYPTION_ON, strict=strict) as double:
        mode = "strict" if strict else "mandatory"
        query = f"encrypt={mode}&certificate_authority={authority.folder / 'other.crt'}"
        outcome = load(double.port, query)
        outcome.expect(USAGE, "TLS failed", "certificate_authority")
        assert double.batches == []
        if not strict:
            load(double.port, "trust_server_certificate=yes").expect(CLEAN)


def test_a_certificate_of_another_name_is_refused(
    load: Load, authority: certificates.Authority
) -> None:
    with encrypted(authority, encryption=ENCRYPTION_ON) as double:
        query = f"certificate_authority={authority.certificate}&host_name_in_certificate="
        outcome = load(double.port, query + "elsewhere.example")
        outcome.expect(USAGE, "TLS failed", "host_name_in_certificate")
        load(double.port, query + "localhost").expect(CLEAN)


@pytest.mark.parametrize(
    ("encryption", "query", "said"),
    [
        (NO_ENCRYPTION, "", "the server does not encrypt"),
        (ENCRYPTION_REQUIRED, "encrypt=off", "encrypted connections only"),
    ],
    ids=["none", "required"],
)
def test_the_two_sides_do_not_agree(
    load: Load,
    authority: certificates.Authority,
    encryption: int,
    query: str,
    said: str,
) -> None:
    with encrypted(authority, encryption=encryption) as double:
        load(double.port, query).expect(USAGE, said, "encrypt=")


@pytest.mark.parametrize("asked", [512, 4096, 32_767])
def test_packets_have_the_size_that_was_granted(load: Load, asked: int) -> None:
    """The double fails on a packet that is larger."""
    with Double(packet_bytes_max=20_000) as double:
        query = f"encrypt=off&packet_size={asked}"
        load(double.port, query).expect(CLEAN)
        assert loaded(double) == ROWS
        assert set(double.granted) == {min(asked, 20_000) & ~3}


def test_endpoints_are_dealt_to_the_streams(inrush: Inrush) -> None:
    """The endpoints are two ports of one server."""
    for part in range(4):
        inrush.write(f"part.{part}.csv", f"n\n{part}\n")
    with Double() as one, Double(database=one.database, node=1) as other:
        url = f"mssql://tester@localhost:{one.port},localhost:{other.port}/test?encrypt=off"
        words = ("load", "part.*.csv", "--to", url, "--table", "t", "--columns", "n integer")
        outcome = inrush(*words, "--streams", "4").expect(CLEAN)
        assert loaded(one) == 4
        # The control sessions are with the first.
        assert len(other.granted) == 2
        places = [(f"localhost:{one.port}", "node 0"), (f"localhost:{other.port}", "node 1")]
        said = ", ".join(f"2 streams to {place} ({node})" for place, node in sorted(places))
        assert f"the streams connected to these endpoints: {said}" in outcome.report["notes"]
        one.database.shows_server_state = False
        again = inrush(*words, "--mode", "append", "--again", "--streams", "2").expect(CLEAN)
        [note] = [text for text in again.report["notes"] if "these endpoints" in text]
        assert "the nodes of the server are not known: VIEW SERVER STATE permission" in note


@pytest.mark.parametrize(
    ("option", "name"), [("", "Inrush"), ("&application_name=nightly%20%C3%A9", "nightly é")]
)
def test_all_sessions_have_the_name_of_the_application(load: Load, option: str, name: str) -> None:
    with Double() as double:
        load(double.port, "encrypt=off" + option).expect(CLEAN)
        assert loaded(double) == ROWS
        assert set(double.applications) == {name} and len(double.applications) > 1


@pytest.mark.parametrize("option", ["", "&table_lock=no"], ids=["usual", "without"])
def test_bulk_loads_lock_their_table_unless_told_otherwise(load: Load, option: str) -> None:
    with Double() as double:
        load(double.port, "encrypt=off" + option).expect(CLEAN)
        assert loaded(double) == ROWS
        (statement,) = (batch for batch in double.batches if batch.startswith("INSERT BULK"))
        assert ("TABLOCK" in statement) == (not option)


def test_a_bulk_load_announces_its_rows_if_asked(load: Load) -> None:
    with Double() as double:
        load(double.port, "encrypt=off&rows_per_batch=500").expect(CLEAN)
        assert loaded(double) == ROWS
        (statement,) = (batch for batch in double.batches if batch.startswith("INSERT BULK"))
        assert statement.endswith("WITH (KEEP_NULLS, TABLOCK, ROWS_PER_BATCH = 500)")
        load(double.port, "encrypt=off&rows_per_batch=0").expect(USAGE, "rows_per_batch", "from 1")


@pytest.mark.parametrize(("option", "transactions"), [("", 1), ("&commit_megabytes=1", 2)])
def test_a_unit_has_the_size_that_is_asked_for(
    inrush: Inrush, option: str, transactions: int
) -> None:
    rows = "".join(f"{number},{'x' * 90}\n" for number in range(25_000))
    inrush.write("rows.csv", "id,note\n" + rows)
    with Double() as double:
        url = f"mssql://tester@localhost:{double.port}/test?encrypt=off{option}"
        columns = "id integer not null, note nvarchar(90)"
        inrush("load", "rows.csv", "--to", url, "--table", "t", "--columns", columns).expect(CLEAN)
        assert loaded(double) == 25_000
        begun = [batch for batch in double.batches if batch.startswith("INSERT BULK")]
        assert len(begun) == transactions


def test_a_password_is_sent_and_told_to_nobody(load: Load, inrush: Inrush) -> None:
    with Double(passwords={"tester": SECRET}) as double:
        for secret, status in ((SECRET, CLEAN), (SECRET + "x", USAGE)):
            outcome = load(double.port, "encrypt=off", SECRET=secret)
            outcome.expect(status)
            assert SECRET not in outcome.said
        assert "Login failed" in outcome.said
        assert loaded(double) == ROWS
        session = double.session()
        ledger = session.rows("SELECT * FROM inrush.run")
        session.close()
        assert ledger
        assert SECRET not in str(ledger)
    files = [path for path in inrush.folder.rglob("*") if path.is_file()]
    assert not any(SECRET.encode() in path.read_bytes() for path in files)


def test_a_database_that_is_not_there(load: Load) -> None:
    with Double() as double:
        outcome = load(double.port, "encrypt=off", database="missing")
        outcome.expect(USAGE, "missing", "4060", "check the name of the database")


@pytest.mark.parametrize("path", ["", "/"])
def test_a_url_without_a_database(inrush: Inrush, path: str) -> None:
    """The login's default database is loaded, and the plan names it."""
    inrush.write("rows.csv", "n\n1\n")
    with Double() as double:
        url = f"mssql://tester@localhost:{double.port}{path}?encrypt=off"
        into = flow("t", "rows.csv", columns=["n integer"])
        inrush.write("package.toml", package(url, into))
        inrush("check", "package.toml").expect(CLEAN)
        assert ", database test, " in inrush("check", "package.toml").output
        inrush("run", "package.toml").expect(CLEAN)
        session = double.session()
        assert session.rows("SELECT n FROM t") == [[1]]
        session.close()


def test_a_password_in_an_argument_is_refused(inrush: Inrush) -> None:
    inrush.write("rows.csv", "n\n1\n")
    url = f"mssql://tester:{SECRET}@127.0.0.1:1/test"
    outcome = inrush("load", "rows.csv", "--to", url, "--table", "t", "--columns", "n integer")
    outcome.expect(USAGE, "password")
    assert SECRET not in outcome.said


def _garbage(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def _half(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b"\x04\x01\x00\x40\x00\x00\x01\x00" + b"\x00\x00\x06")


def _endless(connection: socket.socket) -> None:
    """Send packets without an end mark for as long as the client takes them."""
    connection.recv(4096)
    packet = b"\x04\x00\x7f\xff\x00\x00\x01\x00" + bytes(32_759)
    while True:
        connection.sendall(packet)


HOSTILE: dict[str, tuple[Answer, str]] = {
    "garbage": (_garbage, "no answer of TDS begins with"),
    "half": (_half, "the server closed it"),
    "reset": (lambda _: None, "was lost"),
    "endless": (_endless, "MiB"),
}


@pytest.fixture
def hostile() -> Iterator[Callable[[Answer], int]]:
    """Return a function that starts a server with one answer; returns its port."""
    listeners: list[socket.socket] = []

    def start(answer: Answer) -> int:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    try:
                        answer(connection)
                    except OSError:
                        continue

        threading.Thread(target=serve, daemon=True).start()
        return int(listener.getsockname()[1])

    yield start
    for listener in listeners:
        listener.close()


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_server_that_does_not_speak_tds(
    load: Load, hostile: Callable[[Answer], int], kind: str
) -> None:
    answer, said = HOSTILE[kind]
    outcome = load(hostile(answer), "encrypt=off")
    outcome.expect_one_message(USAGE, said)


def test_a_server_that_says_nothing(load: Load, hostile: Callable[[Answer], int]) -> None:
    until = threading.Event()
    try:
        outcome = load(
            hostile(lambda _: bool(until.wait(60))), "encrypt=off&login_timeout_seconds=1"
        )
        outcome.expect_one_message(USAGE, "did not answer in time")
    finally:
        until.set()


@pytest.mark.parametrize("early", [False, True], ids=["after_the_last_packet", "at_once"])
def test_a_refusal_in_the_middle_of_a_load(load: Load, early: bool) -> None:
    """A full server refuses rows; if it refuses at once, it closes the connection in the middle."""
    with Double(refuses_early=early, rows_max=ROWS // 2) as double:
        outcome = load(double.port, "encrypt=off")
        outcome.expect_one_message(FAILED, "1105", "make room on the server")
        double.rows_max = None
        load(double.port, "encrypt=off").expect(CLEAN)
        assert loaded(double) == ROWS


@pytest.mark.parametrize("by", [-1, 1])
def test_another_count_of_the_server_is_an_error(load: Load, by: int) -> None:
    """A unit is committed only if the server has counted all of its rows."""
    with Double(miscounts_by=by) as double:
        load(double.port, "encrypt=off").expect_one_message(
            VERIFICATION, f"counts {ROWS + by} rows, but {ROWS} were sent"
        )
        double.miscounts_by = 0
        load(double.port, "encrypt=off").expect(CLEAN)
        assert loaded(double) == ROWS


def test_a_server_that_dies_in_a_load(load: Load, inrush: Inrush) -> None:
    with Double() as double:
        url = f"mssql://tester@localhost:{double.port}/test?encrypt=off"
        load(double.port, "encrypt=off").expect(CLEAN)
        words = ("load", "rows.csv", "--to", url, "--table", "u", "--columns")
        columns = "id integer not null, note nvarchar(40)"
        with inrush.stopped_by("stop:in_copy", *words, columns) as running:
            double.break_connections()
            outcome = running.resume().wait()
            outcome.expect_one_message(FAILED, "was lost", "resumes the load")
        inrush(*words, columns).expect(CLEAN)
        session = double.session()
        assert session.rows("SELECT COUNT_BIG(*) FROM u") == [[ROWS]]
        session.close()


LOST: dict[str, tuple[str, str, list[int]]] = {
    # The point of the stop, the batch whose answer is then lost, and the exit statuses of the
    # command until it is done.
    "begin": ("in_copy", 'UPDATE "inrush"."run" SET epoch', [FAILED, CLEAN]),
    "unit": ("in_copy", 'INSERT INTO "inrush"."unit"', [FAILED, CLEAN]),
    # The ledger is asked whether the switch was committed: it was.
    "switch": ("before_switch", "COMMIT TRANSACTION", [CLEAN]),
    # The server is restarting, so it does not answer at once.
    "restart": ("before_switch", "COMMIT TRANSACTION", [CLEAN]),
}


@pytest.mark.parametrize("step", LOST)
def test_an_answer_is_lost(inrush: Inrush, step: str) -> None:
    """The server has executed a batch, but its answer is lost: no row is loaded twice."""
    point, batch, statuses = LOST[step]
    write_rows(inrush)
    with Double() as double:
        url = f"mssql://tester@localhost:{double.port}/test?encrypt=off"
        columns = "id integer not null, note nvarchar(40)"
        words = ("load", "rows.csv", "--to", url, "--table", "t", "--columns", columns)
        with inrush.stopped_by(f"stop:{point}", *words) as running:
            if step == "begin":
                running.process.kill()
            double.loses_answer_to = batch
            double.turns_away = 2 if step == "restart" else 0
            first = running.resume().wait() if step != "begin" else inrush(*words)
        outcomes = [first, *(inrush(*words) for _ in statuses[1:])]
        assert [outcome.status for outcome in outcomes] == statuses, outcomes
        assert not double.loses_answer_to
        assert double.turns_away == 0
        assert loaded(double) == ROWS
        inrush(*words).expect(CLEAN, "already loaded")
        session = double.session()
        left = session.rows("SELECT name FROM sys.tables WHERE schema_id <> N'inrush'")
        session.close()
        assert left == [["t"]]


def test_an_interrupt_ends_a_statement_that_waits(load: Load, inrush: Inrush) -> None:
    """The switch waits for a lock of another session; ATTENTION ends the wait."""
    with Double() as double:
        load(double.port, "encrypt=off").expect(CLEAN)
        session = double.session()
        url = f"mssql://tester@localhost:{double.port}/test?encrypt=off"
        words = ("load", "more.csv", "--to", url, "--table", "t", "--mode", "append")
        inrush.write("more.csv", "id,note\n-2,a\n")
        with inrush.stopped_by("stop:before_switch", *words) as running:
            session.execute("BEGIN TRANSACTION; INSERT INTO t VALUES (-1, NULL)")
            running.resume()
            double.wait_for_batch('INSERT INTO "dbo"."t"')
            running.send(signal.SIGINT)
            assert running.wait().status == INTERRUPTED
        assert double.attentions == 1
        session.execute("COMMIT")
        session.close()
        assert loaded(double) == ROWS + 1
        inrush(*words).expect(CLEAN)
        assert loaded(double) == ROWS + 2


def test_the_variables_of_sqlcmd_complete_a_url(inrush: Inrush) -> None:
    """The URL takes precedence over them, and the password is in no file of the run."""
    write_rows(inrush)
    with Double(passwords={"etl": SECRET, "other": SECRET}) as double:
        environment = {
            "SQLCMDSERVER": f"tcp:localhost,{double.port}",
            "SQLCMDUSER": "etl",
            "SQLCMDPASSWORD": SECRET,
            "SQLCMDDBNAME": "test",
        }
        columns = "id integer not null, note nvarchar(40)"

        def load(url: str, *more: str, **instead: str) -> Outcome:
            words = ("load", "rows.csv", "--to", url, "--table", "t", "--columns", columns)
            return inrush(*words, *more, environment={**environment, **instead})

        query = "?encrypt=off"
        load("mssql://" + query).expect(CLEAN)
        assert loaded(double) == ROWS
        load("mssql://" + query, SQLCMDPASSWORD="wrong").expect(USAGE, "etl")
        url = f"mssql://other@localhost:{double.port}/" + query
        more = ("--mode", "append", "--again")
        load(url, *more, SQLCMDUSER="etl", SQLCMDSERVER="missing").expect(CLEAN)
        assert loaded(double) == 2 * ROWS
        load("mssql://" + query, SQLCMDSERVER="").expect(USAGE, "SQLCMDSERVER")
    written = [path for path in inrush.folder.rglob("*") if path.is_file()]
    assert len(written) > 2
    assert not [path for path in written if SECRET.encode() in path.read_bytes()]

"""A hostile server gets no memory, no time and no password from the loader."""

from __future__ import annotations

import pytest

from harness import hostile_server as hostile
from harness.command import FAILED, USAGE, Inrush
from harness.hostile_server import Client, HostileServer, Script, message
from harness.ports import free_port

SECRET = "long-and-secret"  # noqa: S105
# A load may use this much more memory than a load that finds no server.
MORE_KIB = 24 << 10


def words(url: str) -> tuple[str, ...]:
    return ("load", "rows.csv", "--to", url, "--table", "people", "--columns", "id int, name text")


@pytest.fixture(autouse=True)
def rows(inrush: Inrush) -> None:
    inrush.write("rows.csv", "id,name\n1,Ann\n2,Bob\n")


def peak_kib(inrush: Inrush, url: str, *parts: str) -> int:
    """Return the peak of the resident memory of a load that fails with a message."""
    return inrush.peak_kib(*words(url), status=FAILED, says=parts)


def setting(number: int) -> bytes:
    """Return one setting with an invented name, or thousands of them."""
    return b"".join(
        message(b"S", b"setting_%d\0%s\0" % (number * 100 + one, b"v" * 1000)) for one in range(100)
    )


GIGABYTE = 2_000_000_000
LIES: dict[str, tuple[Script, str]] = {
    "error": (
        hostile.without_end(hostile.zeros, message(b"E", b"SFATAL\0", GIGABYTE)),
        "ErrorResponse of 2000000000 bytes before the login; the limit is 30000",
    ),
    "notice": (
        hostile.without_end(hostile.zeros, message(b"N", b"", GIGABYTE)),
        "NoticeResponse of 2000000000 bytes before the login; the limit is 30000",
    ),
    "notices": (
        hostile.without_end(
            lambda _: message(b"N", b"S" + b"x" * 20_000 + b"\0\0") * 10, hostile.AUTHENTICATION_OK
        ),
        "1048576 bytes before the login",
    ),
    "unknown kind": (
        hostile.without_end(hostile.zeros, message(b"!", b"", GIGABYTE)),
        "unknown kind 0x21 before the login",
    ),
    "settings": (
        hostile.without_end(setting, hostile.AUTHENTICATION_OK),
        "more than 256 settings",
    ),
    "one setting again and again": (
        hostile.without_end(
            lambda _: message(b"S", b"TimeZone\0UTC\0") * 1000, hostile.AUTHENTICATION_OK
        ),
        "1048576 bytes before the login",
    ),
    "mechanisms": (
        hostile.without_end(
            lambda _: b"SCRAM\0" * 10_000, message(b"R", b"\0\0\0\x0a", 10_000_000 * 6)
        ),
        "Authentication of 60000000 bytes before the login; the limit is 2000",
    ),
    "long key": (
        hostile.saying(hostile.AUTHENTICATION_OK, message(b"K", b"\0\0\0\1" + bytes(256))),
        "BackendKeyData of 264 bytes",
    ),
    "other protocol": (
        hostile.saying(message(b"v", b"\0\3\0\0\0\0\0\0")),
        "does not speak version 3.0 of the protocol",
    ),
    "rows before the login": (
        hostile.saying(hostile.AUTHENTICATION_OK, message(b"D", b"\0\0")),
        "DataRow before the login",
    ),
    "length of nothing": (hostile.saying(b"E\0\0\0\x03"), "ErrorResponse of 3 bytes"),
    "error after the login": (
        hostile.after_login(hostile.lying(b"E", GIGABYTE)),
        "ErrorResponse of 2000000000 bytes after the login; the limit is 16777216",
    ),
    "row after the login": (
        hostile.after_login(hostile.lying(b"D", GIGABYTE)),
        "DataRow of 2000000000 bytes after the login; the limit is 67108864",
    ),
    "settings after the login": (
        hostile.after_login(lambda client: client.send_without_end(setting)),
        "more than 256 settings",
    ),
    "copy out": (
        hostile.after_login(hostile.lying(b"d", GIGABYTE)),
        "CopyData of 2000000000 bytes",
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_lies_take_no_memory(inrush: Inrush, name: str) -> None:
    script, said = LIES[name]
    calm = peak_kib(inrush, f"postgresql://etl@127.0.0.1:{free_port()}/dw")
    with HostileServer(script) as server:
        peak = peak_kib(inrush, server.url(), f"127.0.0.1:{server.port}", said)
    assert peak < calm + MORE_KIB, (peak, calm)


def test_rows_without_end_take_bounded_memory(inrush: Inrush) -> None:
    calm = peak_kib(inrush, f"postgresql://etl@127.0.0.1:{free_port()}/dw")
    with HostileServer(hostile.after_login(hostile.rows_without_end)) as server:
        peak = peak_kib(inrush, server.url(), "an answer to one query", f":{server.port}")
    assert peak < calm + (400 << 10), (peak, calm)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"H", "answered the request for TLS with the byte 0x48"),
        (message(b"E", b"SFATAL\0Mtoo many\0\0"), "answered the request for TLS with an error"),
        # Plain text that follows the server's agreement to TLS is not protected by it
        # (CVE-2021-23222).
        (b"S" + hostile.AUTHENTICATION_OK + hostile.KEY_DATA + hostile.READY, "TLS"),
        (b"SHTTP/1.1 400 Bad Request\r\n", "TLS"),
    ],
)
def test_answers_to_the_request_for_tls(inrush: Inrush, answer: bytes, said: str) -> None:
    with HostileServer(hostile.saying(), tls_answer=answer) as server:
        failed = inrush(*words(server.url()), environment={"PGPASSWORD": SECRET})
        failed.expect(FAILED, f"127.0.0.1:{server.port}")
        assert said.lower() in failed.said.lower() or "corrupt message" in failed.said, failed.said
        assert SECRET.encode() not in server.received


def test_a_byte_a_second_is_no_login(inrush: Inrush) -> None:
    def drip(client: Client) -> None:
        client.start_up()
        for byte in message(b"N", b"S" + b"x" * 20_000):
            client.send(bytes([byte]))
            # Wait a second for bytes, to see that the client sends nothing.
            client.socket.settimeout(1)
            try:
                client.read(1)
            except TimeoutError:
                continue

    with HostileServer(drip) as server:
        late = inrush(*words(server.url("connect_timeout=2")), seconds=30)
        late.expect(FAILED, "no answer within 2 s", f"127.0.0.1:{server.port}")


def test_scram_takes_no_time(inrush: Inrush) -> None:
    """A server that asks for 2^31 iterations, which would take an hour, is refused."""

    def script(client: Client) -> None:
        client.start_up()
        client.send(message(b"R", b"\0\0\0\x0aSCRAM-SHA-256\0\0"))
        _, body = client.read_message()
        # A nonce may contain "r=", but never a comma.
        nonce = body.partition(b",r=")[2]
        client.send(message(b"R", b"\0\0\0\x0br=%sx,s=c2FsdA==,i=2147483647" % nonce))
        client.wait()

    with HostileServer(script) as server:
        refused = inrush(*words(server.url()), environment={"PGPASSWORD": SECRET}, seconds=30)
        refused.expect(FAILED, "iteration count")


ASKED = {
    "cleartext": (hostile.CLEARTEXT_PASSWORD, "asks for the password in clear text"),
    "md5": (hostile.MD5_PASSWORD, "asks for the password hashed by MD5"),
    "nothing": (
        hostile.AUTHENTICATION_OK + hostile.KEY_DATA + hostile.READY,
        "without asking for a password",
    ),
    "kerberos": (b"R\0\0\0\x08\0\0\0\x07", "GSSAPI"),
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("way", ["variable", "url", "service"])
def test_require_auth(inrush: Inrush, asked: str, way: str) -> None:
    """A false server that asks for another kind of login gets neither the password nor its hash."""
    sent, said = ASKED[asked]
    with HostileServer(hostile.saying(sent)) as server:
        environment = {"PGPASSWORD": SECRET}
        url = server.url()
        if way == "variable":
            environment["PGREQUIREAUTH"] = "scram-sha-256"
        elif way == "url":
            url = server.url("require_auth=scram-sha-256")
        else:
            text = f"[dw]\nhost=127.0.0.1\nport={server.port}\nrequire_auth=scram-sha-256\n"
            environment["PGSERVICEFILE"] = str(inrush.write("services", text))
            url = "postgresql://etl@/dw?service=dw"
        failed = inrush(*words(url), environment=environment)
        failed.expect(FAILED, f"127.0.0.1:{server.port}", said, "require_auth=scram-sha-256")
        # The first message has no type; all later ones have.
        assert b"p\0\0\0" not in server.received
        assert SECRET.encode() not in server.received


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("scram", "not one of none, password"),
        ("md5,!none", "mixes"),
        ("gss,sspi,oauth", "no method that Inrush has"),
    ],
)
def test_require_auth_is_spelt_right(inrush: Inrush, value: str, said: str) -> None:
    url = f"postgresql://etl@127.0.0.1:{free_port()}/dw"
    inrush(*words(url), environment={"PGREQUIREAUTH": value}).expect(USAGE, said)

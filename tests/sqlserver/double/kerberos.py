"""The server's side of a Kerberos login, by the system's GSSAPI library (RFC 2744)."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_CONTINUE_NEEDED, _ERRORS, _ACCEPT = 1, 0xFFFF0000, 2


class _Buffer(ctypes.Structure):
    _fields_ = (("length", ctypes.c_size_t), ("value", ctypes.c_void_p))


class _KeyValue(ctypes.Structure):
    _fields_ = (("key", ctypes.c_char_p), ("value", ctypes.c_char_p))


class _Store(ctypes.Structure):
    _fields_ = (("count", ctypes.c_uint32), ("elements", ctypes.POINTER(_KeyValue)))


class KerberosError(Exception):
    """Raised if the library refuses the client's token."""


@dataclass(frozen=True)
class Service:
    """A server that proves who it is by a keytab."""

    keytab: Path
    # True if it accepts logins without proving its own identity.
    keeps_its_proof: bool = False
    # Users that have no login on the server.
    unknown: frozenset[str] = frozenset()


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL("libgssapi_krb5.so.2")


def _checked(major: int, minor: ctypes.c_uint32) -> int:
    major &= 0xFFFFFFFF
    if major & _ERRORS:
        raise KerberosError(f"{major:#x}, {minor.value:#x}")
    return major


class Acceptor:
    """One login."""

    def __init__(self, service: Service) -> None:
        """Read the keys of the server."""
        self._library = _library()
        self._credential, self._context = ctypes.c_void_p(), ctypes.c_void_p()
        elements = (_KeyValue * 2)(
            _KeyValue(b"keytab", f"FILE:{service.keytab}".encode()), _KeyValue(b"rcache", b"none:")
        )
        store = _Store(len(elements), elements)
        minor = ctypes.c_uint32()
        major = self._library.gss_acquire_cred_from(
            ctypes.byref(minor), None, 0, None, _ACCEPT, ctypes.byref(store),
            ctypes.byref(self._credential), None, None,
        )  # fmt: skip
        _checked(major, minor)

    def step(self, token: bytes) -> tuple[bytes, str | None]:
        """Return the answer to a token, and the user once the login is complete."""
        minor, name, answer = ctypes.c_uint32(), ctypes.c_void_p(), _Buffer()
        taken = ctypes.create_string_buffer(token, len(token))
        given = _Buffer(len(token), ctypes.cast(taken, ctypes.c_void_p))
        major = self._library.gss_accept_sec_context(
            ctypes.byref(minor), ctypes.byref(self._context), self._credential,
            ctypes.byref(given), None, ctypes.byref(name), None, ctypes.byref(answer),
            None, None, None,
        )  # fmt: skip
        major = _checked(major, minor)
        user = None if major & _CONTINUE_NEEDED else self._text(name)
        return self._bytes(answer), user

    def _text(self, name: ctypes.c_void_p) -> str:
        minor, text = ctypes.c_uint32(), _Buffer()
        major = self._library.gss_display_name(ctypes.byref(minor), name, ctypes.byref(text), None)
        _checked(major, minor)
        return self._bytes(text).decode()

    def _bytes(self, buffer: _Buffer) -> bytes:
        found = ctypes.string_at(buffer.value, buffer.length) if buffer.length else b""
        self._library.gss_release_buffer(ctypes.byref(ctypes.c_uint32()), ctypes.byref(buffer))
        return found

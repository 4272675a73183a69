"""A connection of the double: bytes, TLS, packets and messages."""

from __future__ import annotations

import select
import socket
import ssl
import struct
from pathlib import Path

from ..tokens import PRELOGIN, REPLY

FIRST_PACKET_BYTES = 4096


class GoneError(Exception):
    """The client closed its connection."""


class Connection:
    """A connection, on which a client has sent nothing yet."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._tls: ssl.SSLObject | None = None
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._packet_bytes = FIRST_PACKET_BYTES
        # The number of its session, which its packets contain.
        self._number = 0

    def _receive(self) -> bytes:
        data = self._socket.recv(1 << 16)
        if not data:
            raise GoneError
        return data

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            if self._tls is None:
                piece = self._socket.recv(count - len(data))
                if not piece:
                    raise GoneError
                data += piece
                continue
            try:
                piece = self._tls.read(count - len(data))
                if not piece:
                    raise GoneError
                data += piece
            except ssl.SSLWantReadError:
                self._in.write(self._receive())
        return data

    def _write(self, data: bytes) -> None:
        if self._tls is not None:
            self._tls.write(data)
            data = self._out.read()
        self._socket.sendall(data)

    def _packet(self) -> tuple[int, bool, bytes]:
        kind, status, length = struct.unpack(">BBH", self._exactly(8)[:4])
        if length > self._packet_bytes:
            raise AssertionError(f"a packet of {length} bytes; {self._packet_bytes} were granted")
        return kind, bool(status & 1), self._exactly(length - 8)

    def _message(self) -> tuple[int, bytes]:
        payload = b""
        while True:
            kind, is_last, piece = self._packet()
            payload += piece
            if is_last:
                return kind, payload

    def _send(self, payload: bytes, kind: int = REPLY, *, is_last: bool = True) -> None:
        room = self._packet_bytes - 8
        pieces = [payload[at : at + room] for at in range(0, len(payload), room)]
        packets = b""
        for index, piece in enumerate(pieces):
            status = int(is_last and index == len(pieces) - 1)
            # "SPID is the process ID on the server, corresponding to the current connection"
            # ([MS-TDS] 2.2.3.1.4).
            number = self._number
            packets += struct.pack(
                ">BBHHBB", kind, status, len(piece) + 8, number, index + 1 & 255, 0
            )
            packets += piece
        self._write(packets)

    def _has_input(self) -> bool:
        if self._tls is not None and (self._tls.pending() or self._in.pending):
            return True
        return bool(select.select([self._socket], [], [], 0)[0])

    def _begin_tls(self, certificate: tuple[Path, Path] | None, *, in_packets: bool) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        assert certificate is not None
        context.load_cert_chain(*certificate)
        if in_packets:
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        else:
            context.set_alpn_protocols(["tds/8.0"])
        tls = context.wrap_bio(self._in, self._out, server_side=True)
        while True:
            try:
                tls.do_handshake()
                is_done = True
            except ssl.SSLWantReadError:
                is_done = False
            records = self._out.read()
            if records and in_packets:
                self._send(records, PRELOGIN)
            elif records:
                self._socket.sendall(records)
            if is_done:
                break
            self._in.write(self._message()[1] if in_packets else self._receive())
        if not in_packets:
            assert tls.selected_alpn_protocol() == "tds/8.0", tls.selected_alpn_protocol()
        self._tls = tls

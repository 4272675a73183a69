"""The content of a LOGIN7 message ([MS-TDS] 2.2.6.4)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from ..tokens import features

# The flag of a login by ticket ("fIntSecurity"), and the length that means that the ticket's length
# is in a field of 32 bits.
_INTEGRATED_SECURITY, _LONG = 0x80, 0xFFFF


@dataclass(frozen=True)
class Login:
    """A login that a client requests."""

    packet_bytes: int
    process_id: int
    user: str
    password: str
    application: str
    database: str
    # The first token of a Kerberos login; None if a user and a password log in.
    ticket: bytes | None
    features: dict[int, bytes]

    @staticmethod
    def read(payload: bytes) -> Login:
        """Read the message."""

        def text(field_number: int) -> bytes:
            at, units = struct.unpack_from("<HH", payload, 36 + 4 * field_number)
            return payload[at : at + 2 * units]

        packet_bytes, _, process_id = struct.unpack_from("<III", payload, 8)
        hidden = bytes((byte ^ 0xA5) << 4 & 0xF0 | (byte ^ 0xA5) >> 4 for byte in text(2))
        ticket = None
        if payload[25] & _INTEGRATED_SECURITY:
            at, length = struct.unpack_from("<HH", payload, 78)
            if length == _LONG:
                (length,) = struct.unpack_from("<I", payload, 90)
            ticket = payload[at : at + length]
        return Login(
            packet_bytes=packet_bytes,
            process_id=process_id,
            user=text(1).decode("utf-16-le"),
            password=hidden.decode("utf-16-le"),
            application=text(3).decode("utf-16-le"),
            database=text(8).decode("utf-16-le"),
            ticket=ticket,
            features=features(payload),
        )

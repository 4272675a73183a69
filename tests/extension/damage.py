"""Damages COPY BINARY streams, and the messages that carry them, from a seed."""

from __future__ import annotations

import random
import struct

from extension.raw_session import message, statement

# The ends of the ranges of field counts, lengths and values.
EDGES = (b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\xff\xff\xff\xfe")
# Kinds of messages: some that a client may send, and some that it may not.
KINDS = b"dcfHSQPBEDXpFC\0zZ"


def damaged(stream: bytes, chance: random.Random) -> bytes:
    """Return the stream with a few bytes changed, lost, added or moved, or unchanged."""
    bytes_ = bytearray(stream)
    for _ in range(chance.choice((0, 1, 1, 1, 2, 5))):
        # The header is seldom damaged.
        first = 0 if chance.random() < 0.1 else min(19, len(bytes_) - 1)
        place = chance.randrange(first, len(bytes_))
        kind = chance.randrange(8)
        if kind == 0:
            bytes_[place] = chance.randrange(256)
        elif kind == 1:
            bytes_[place] ^= 1 << chance.randrange(8)
        elif kind == 2:
            bytes_[place : place + 4] = chance.choice(EDGES)
        elif kind == 3:
            bytes_[place : place + 4] = struct.pack(">i", chance.randrange(-3, 300))
        elif kind == 4:
            del bytes_[place : place + chance.choice((1, 2, 4, 100))]
        elif kind == 5:
            bytes_[place:place] = chance.randbytes(chance.choice((1, 2, 4, 100)))
        elif kind == 6:
            other = chance.randrange(len(bytes_))
            bytes_[place:place] = bytes_[other : other + chance.choice((2, 8, 200))]
        else:
            del bytes_[place:]
        if not bytes_:
            break
    return bytes(bytes_)


def cut(stream: bytes, chance: random.Random) -> list[bytes]:
    """Return the stream as messages of CopyData, cut anywhere, and a CopyDone."""
    largest = chance.choice((len(stream) + 1, 3, 100, 2_000, 70_000))
    messages, place = [], 0
    while place < len(stream):
        # The stream becomes a few thousand messages at most.
        length = max(chance.randint(1, largest), len(stream) // 2_000)
        messages.append(message(b"d", stream[place : place + length]))
        place += length
    return [*messages, message(b"c")]


def disturbed(messages: list[bytes], chance: random.Random) -> list[bytes]:
    """Return the messages with some lost, doubled, swapped or malformed, or unchanged."""
    messages = list(messages)
    for _ in range(chance.choice((0, 1, 1, 2))):
        place = chance.randrange(len(messages))
        kind = chance.randrange(9)
        if kind == 0:
            messages.insert(place, message(chance.choice((b"H", b"S"))))
        elif kind == 1:
            foreign = bytes([chance.choice(KINDS)])
            messages.insert(place, message(foreign, chance.randbytes(chance.choice((0, 1, 9)))))
        elif kind == 2:
            messages.insert(place, message(b"f", chance.choice((b"given up\0", b"", b"no end"))))
        elif kind == 3:
            messages.insert(place, statement("SELECT 1"))
        elif kind == 4:
            messages.insert(place, message(b"d"))
        elif kind == 5:
            other = chance.randrange(len(messages))
            messages[place], messages[other] = messages[other], messages[place]
        elif kind == 6:
            length = chance.choice((0, 3, 5, 10_001, 0x3FFFFFFF, 0x7FFFFFFF, -1))
            messages[place] = messages[place][:1] + struct.pack(">i", length) + messages[place][5:]
        elif kind == 7:
            messages[place] = messages[place][: chance.randrange(len(messages[place]) + 1)]
        else:
            del messages[place + chance.randint(0, 1) :]
            messages.append(b"")
    return messages

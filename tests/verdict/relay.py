"""Passes packets between two TUN devices, each after a delay that lines on stdin set.

It prints `ready` once both devices exist, and each delay that it was given. It is a separate
program, so that no other thread of Python delays a packet.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
import sys
from collections import deque
from time import monotonic

# <linux/if_tun.h>
TUNSETIFF = 0x400454CA
IFF_TUN = 0x0001
IFF_NO_PI = 0x1000
PACKET_BYTES_MAX = 65_536
# The number of packets that are read before due packets are sent.
BATCH = 64


def open_device(name: str) -> int:
    """Make a TUN device and return its file."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return device


def pass_on(device: int, packet: bytes) -> None:
    """Write a packet; a device that is down or being moved loses it, as a cable would."""
    try:
        os.write(device, packet)
    except OSError:
        return


def main() -> None:
    """Relay until stdin ends."""
    first, second = (open_device(name) for name in sys.argv[1:3])
    told = sys.stdin.fileno()
    other = {first: second, second: first}
    print("ready", flush=True)
    delay_s = 0.0
    waiting: deque[tuple[float, int, bytes]] = deque()
    while True:
        timeout = max(0.0, waiting[0][0] - monotonic()) if waiting else None
        readable, _, _ = select.select([first, second, told], [], [], timeout)
        for source in readable:
            if source == told:
                line = sys.stdin.readline()
                if not line:
                    return
                delay_s = float(line)
                print(delay_s, flush=True)
                continue
            for _ in range(BATCH):
                try:
                    packet = os.read(source, PACKET_BYTES_MAX)
                except OSError:
                    break
                if delay_s > 0.0:
                    waiting.append((monotonic() + delay_s, other[source], packet))
                else:
                    pass_on(other[source], packet)
        now = monotonic()
        while waiting and waiting[0][0] <= now:
            _, device, packet = waiting.popleft()
            pass_on(device, packet)


if __name__ == "__main__":
    main()

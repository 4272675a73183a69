"""A network between loader and server, both on this machine, that can be slowed in three ways.

The loader runs in a separate network namespace, which a pair of virtual devices connects. `tc`
limits their rate (tbf), and `nft` drops their packets at random. The kernel may have no netem, so a
second connection makes the delay: two TUN devices, and a program between them that keeps each
packet for a while (`relay.py`).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from harness.ports import process_number
from verdict.system import CannotError, need_root, program, run

NAMESPACES = Path("/run/netns")
# The length of the queue in front of the limited link.
QUEUE_MS = 50
BURST_BYTES = 64 << 10
# Linux's largest default send buffer, and one that was not tuned for a long path.
SEND_BUFFER_BYTES = 4 << 20
SMALL_SEND_BUFFER_BYTES = 256 << 10


class Network(AbstractContextManager["Network"]):
    """A namespace with one connection out of it."""

    def __init__(self, kind: str) -> None:
        need_root("a network namespace")
        self._ip = program("ip", "iproute2")
        self.kind = kind
        # 10.231 is not used otherwise; each process has two networks, so that suites can run at
        # once.
        part = process_number()
        self.namespace = f"inrush{part}{kind}"
        third = 2 * part + (kind == "tun")
        self.server_address = f"10.231.{third}.1"
        self._loader_address = f"10.231.{third}.2"
        self._outer = f"irv{part}{kind}o"
        self._inner = f"irv{part}{kind}i"
        self._relay: subprocess.Popen[str] | None = None
        # A killed process that used these names may have left its namespace.
        if (NAMESPACES / self.namespace).exists():
            self._remove()
        run(self._ip, "netns", "add", self.namespace)
        try:
            if kind == "veth":
                self._make_pair()
            else:
                self._make_relay()
            self._address()
        except BaseException:
            self._remove()
            raise

    def _make_pair(self) -> None:
        words = ("link", "add", self._outer, "type", "veth", "peer", "name", self._inner)
        run(self._ip, *words, "netns", self.namespace)

    def _make_relay(self) -> None:
        if not Path("/dev/net/tun").exists():
            raise CannotError("/dev/net/tun is missing")
        program_path = Path(__file__).parent / "relay.py"
        self._relay = subprocess.Popen(
            [sys.executable, program_path, self._outer, self._inner],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._relay.stdout is not None
        assert self._relay.stderr is not None
        if self._relay.stdout.readline() != "ready\n":
            raise CannotError(f"no TUN devices: {self._relay.stderr.read().strip()}")
        run(self._ip, "link", "set", self._inner, "netns", self.namespace)

    def _address(self) -> None:
        inside = [self._ip, "-n", self.namespace]
        mtu = ["mtu", "9000"] if self.kind == "tun" else []
        run(self._ip, "address", "add", f"{self.server_address}/24", "dev", self._outer)
        run(self._ip, "link", "set", self._outer, *mtu, "up")
        run(*inside, "address", "add", f"{self._loader_address}/24", "dev", self._inner)
        run(*inside, "link", "set", self._inner, *mtu, "up")
        run(*inside, "link", "set", "lo", "up")
        # With this congestion control, loss slows connections down as on most machines. This
        # machine may have another one.
        self._set("tcp_congestion_control", "reno")

    def _set(self, name: str, value: str) -> None:
        run(*self.inside, "sh", "-c", f'echo "{value}" > /proc/sys/net/ipv4/{name}')

    @property
    def inside(self) -> list[str]:
        """The words that start a command on the loader's side."""
        return [self._ip, "netns", "exec", self.namespace]

    @contextmanager
    def rate(self, bytes_per_second: float, *, to_loader: bool = False) -> Iterator[None]:
        """Limit the rate towards the server, or towards the loader."""
        words = [program("tc", "iproute2"), "qdisc"]
        device = ("dev", self._outer if to_loader else self._inner, "root")
        if not to_loader:
            words = [*self.inside, *words]
        bits = f"{int(bytes_per_second * 8)}bit"
        limit = ("tbf", "rate", bits, "burst", str(BURST_BYTES), "latency", f"{QUEUE_MS}ms")
        run(*words, "add", *device, *limit)
        try:
            yield
        finally:
            run(*words, "del", *device)

    @contextmanager
    def loss(self, share: float) -> Iterator[None]:
        """Lose packets on their way to the server, at random."""
        nft = program("nft", "nftables")
        table = f"inrush_verdict_{process_number()}"
        per_million = int(share * 1_000_000)
        rules = f"""
            table inet {table} {{
                chain lose {{
                    type filter hook prerouting priority -300;
                    iifname "{self._outer}" numgen random mod 1000000 < {per_million} drop
                }}
            }}
        """
        run(nft, "--file", "-", text=rules)
        try:
            yield
        finally:
            run(nft, "delete", "table", "inet", table)

    @contextmanager
    def delay(self, seconds: float) -> Iterator[None]:
        """Delay each packet by this time, in each direction."""
        self._tell(seconds)
        try:
            yield
        finally:
            self._tell(0.0)

    @contextmanager
    def small_send_buffer(self) -> Iterator[None]:
        """Give connections that begin from now on a small send buffer."""
        self._set("tcp_wmem", f"4096 16384 {SMALL_SEND_BUFFER_BYTES}")
        try:
            yield
        finally:
            self._set("tcp_wmem", f"4096 16384 {SEND_BUFFER_BYTES}")

    def _tell(self, seconds: float) -> None:
        if self._relay is None:
            raise CannotError("only packets that go through the relay can be kept")
        assert self._relay.stdin is not None
        assert self._relay.stdout is not None
        self._relay.stdin.write(f"{seconds}\n")
        self._relay.stdin.flush()
        answer = self._relay.stdout.readline()
        assert answer == f"{seconds}\n", answer

    def __exit__(self, *_: object) -> None:
        """Remove it."""
        self._remove()

    def _remove(self) -> None:
        if self._relay is not None:
            self._relay.kill()
            self._relay.communicate()
        # The devices disappear with their namespace.
        run(self._ip, "netns", "del", self.namespace)

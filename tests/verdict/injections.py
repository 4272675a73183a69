"""Ways to slow loads down on purpose, each with a random strength.

A strength is the factor by which a load should take longer. An injection can only aim at it: its
rates follow from the measurements of the control run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field

from harness.servers import Database
from verdict.cpu import neighbours, quota
from verdict.network import SMALL_SEND_BUFFER_BYTES
from verdict.server_side import locked, paused
from verdict.site import CORE, FILE_BYTES, TABLE, Ground, Measured, Site

# The kernel takes no quota below a hundredth of a core.
CORES_MIN = 0.02
# The delay of a path that is long enough for loss to have a cost, and the size of its packets.
DELAY_S = 0.01
SEGMENT_BYTES = 8_948
LOSS_MAX = 0.08
# The approximate seconds in which DuckDB hashes the hash of a text: two blocks of SHA-256.
HASH_S = 0.8e-6
# Linux allows about half of a send buffer for bytes on the way.
WINDOW_BYTES = SMALL_SEND_BUFFER_BYTES / 2


@dataclass
class Scene:
    """The means of an injection, and its effect on the load."""

    site: Site
    ground: Ground
    control: Measured
    database: Database
    factor: float
    # Words that start the command.
    before: list[str] = field(default_factory=list)
    # The bytes per second of the pipe; None if it is not limited.
    fed_rate: float | None = None
    # Steps of the flow, as the package has them.
    steps: str = ""
    # The injection, in words.
    words: list[str] = field(default_factory=list)


Begin = Callable[[Scene], AbstractContextManager[None]]


@dataclass(frozen=True)
class Kind:
    """A kind of injection."""

    name: str
    ground: Ground
    # The verdict is right if it names any of these.
    causes: frozenset[str]
    begin: Begin
    # Words that the line must contain.
    line: tuple[str, ...] = ()


KINDS: dict[str, Kind] = {}


def _kind(
    causes: str, ground: Ground, line: tuple[str, ...] = ()
) -> Callable[[Callable[[Scene], Iterator[None]]], Begin]:
    def add(function: Callable[[Scene], Iterator[None]]) -> Begin:
        begin = contextmanager(function)
        name = function.__name__
        KINDS[name] = Kind(name, ground, frozenset(causes.split()), begin, line)
        return begin

    return add


def _mb(rate: float) -> str:
    return f"{rate / 1e6:.1f} MB/s"


@_kind("source_read", Ground(source="disk"))
def slow_disk(scene: Scene) -> Iterator[None]:
    """Load files from a disk that reads slowly."""
    rate = scene.control.text_rate / scene.factor
    scene.words.append(f"files read at {_mb(rate)}")
    with scene.site.disk("source").limited(reads=rate):
        yield


@_kind("source_read", Ground(source="pipe"))
def slow_pipe(scene: Scene) -> Iterator[None]:
    """Load rows from a pipe that is written slowly."""
    scene.fed_rate = scene.control.text_rate / scene.factor
    scene.words.append(f"a pipe fed at {_mb(scene.fed_rate)}")
    yield


@_kind("client_cpu", Ground())
def cpu_limit(scene: Scene) -> Iterator[None]:
    """Limit the CPU of the loader's control group."""
    cores = max(CORES_MIN, scene.control.loader_cores / scene.factor)
    scene.words.append(f"{cores:.2f} cores for the loader")
    with quota(cores) as words:
        scene.before += words
        yield


@_kind("transform_cpu", Ground())
def costly_steps(scene: Scene) -> Iterator[None]:
    """Let a check of the flow compute a lot for each row."""
    control = scene.control
    more_s = control.load_s * scene.ground.streams * (scene.factor - 1)
    count = max(1, round(more_s / control.rows / HASH_S))
    scene.words.append(f"{count} hashes in a check of each row")
    hashes = "sha256(" * count + "note" + ")" * count
    scene.steps = f'[[flow.step]]\ncheck = "length({hashes}) = 64"\nname = "has a hash"\n'
    yield


# On a busy machine many neighbours also slow the server's processes on other cores, because the
# weight of a group is shared between cores. So the line must name who takes the CPU.
@_kind("client_cpu destination_cpu", Ground(is_pinned=True), line=("other processes",))
def busy_neighbours(scene: Scene) -> Iterator[None]:
    """Let other processes compute on the loader's core."""
    count = round(3 * scene.factor)
    scene.words.append(f"{count} neighbours on the loader's core")
    with neighbours(count, CORE):
        yield


@_kind("network_rate", Ground(way="veth"))
def link_rate(scene: Scene) -> Iterator[None]:
    """Load over a link with a rate."""
    rate = scene.control.text_rate / scene.factor
    scene.words.append(f"a link of {_mb(rate)}")
    with scene.site.network("veth").rate(rate):
        yield


@_kind("network_loss", Ground(way="tun", delay_s=DELAY_S))
def loss(scene: Scene) -> Iterator[None]:
    """Lose packets at random, with a long round trip: in a rack they would be resent at once."""
    # The rate of congestion control under loss (Mathis and others, 1997).
    rate = scene.control.text_rate / scene.factor / scene.ground.streams
    share = min(LOSS_MAX, (1.22 * SEGMENT_BYTES / (2 * DELAY_S * rate)) ** 2)
    scene.words.append(f"{share:.2%} of packets lost at {2 * DELAY_S * 1e3:.0f} ms")
    with scene.site.network("tun").loss(share):
        yield


@_kind("network_latency", Ground(way="tun"))
def delay(scene: Scene) -> Iterator[None]:
    """Make the path long, with a send buffer that is too small for it."""
    rate = scene.control.text_rate / scene.factor
    seconds = scene.ground.streams * WINDOW_BYTES / rate / 2
    scene.words.append(f"{seconds * 1e3:.0f} ms either way")
    network = scene.site.network("tun")
    with network.small_send_buffer(), network.delay(seconds):
        yield


# The server's CPU limits many loads anyway, so the line must say that the server was stopped.
@_kind("destination_cpu", Ground(), line=("stopped",))
def paused_backends(scene: Scene) -> Iterator[None]:
    """Stop the backends for a part of the time."""
    share = 1.0 - 1.0 / scene.factor
    scene.words.append(f"backends stopped {share:.0%} of the time")
    with paused(scene.database, share):
        yield


@_kind("destination_disk", Ground(server="durable"))
def slow_wal(scene: Scene) -> Iterator[None]:
    """Write WAL to a slow disk."""
    rate = scene.control.wal_rate / scene.factor
    scene.words.append(f"WAL written at {_mb(rate)}")
    with scene.site.disk("wal").limited(writes=rate):
        yield


@_kind("destination_locks", Ground(is_straight=True))
def lock(scene: Scene) -> Iterator[None]:
    """Let another session hold a lock again and again."""
    share = 1.0 - 1.0 / scene.factor
    scene.words.append(f"the target locked {share:.0%} of the time")
    with locked(scene.database, TABLE, share):
        yield


@_kind("coordination source_read", Ground(source="split", streams=4), line=("stream ",))
def slow_split(scene: Scene) -> Iterator[None]:
    """Read one file of eight from a slow disk."""
    rate = FILE_BYTES / (scene.control.load_s * scene.factor)
    scene.words.append(f"one file of eight read at {_mb(rate)}")
    with scene.site.disk("source").limited(reads=rate):
        yield


# Pairs of injections that act at the same time, and the ground that both need.
PAIRS: dict[tuple[str, str], Ground] = {
    ("slow_disk", "slow_wal"): Ground(server="durable", source="disk"),
    ("slow_disk", "lock"): Ground(source="disk", is_straight=True),
    ("link_rate", "lock"): Ground(way="veth", is_straight=True),
    ("slow_pipe", "paused_backends"): Ground(source="pipe"),
}

# The causes that limit a load without an injection, by the property of its ground.
CPUS = frozenset({"client_cpu", "destination_cpu"})
NATURAL: dict[str, frozenset[str]] = {
    "fast": CPUS,
    # The delay of the tunnel is 20 ms.
    "tun": frozenset({"network_latency"}),
    "durable": CPUS | {"destination_disk"},
    # The process that writes into the pipe runs on the same machine.
    "pipe": CPUS | {"source_read"},
}


def natural(ground: Ground) -> frozenset[str]:
    """Return what may limit a load without an injection."""
    more = [ground.source] + [ground.way] * (ground.delay_s > 0)
    return NATURAL[ground.server].union(*(NATURAL.get(one, frozenset()) for one in more))


@contextmanager
def injected(scene: Scene, names: tuple[str, ...]) -> Iterator[None]:
    """Start all of these injections."""
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(KINDS[name].begin(scene))
        yield

"""A network and a disk with a limited rate, as benchmarks need them: root's, on Linux.

The network is the loopback of a network namespace of its own, into which a benchmark moves itself
(`in_own_network`); a token bucket (`tc ... tbf`) holds it back. The disk is a file system in a file
(a loop device); its writes, those of the kernel's write-back among them, are held back by the
`blkio` controller of cgroups of version 1, whose root group they all belong to. Neither touches
another network or disk of the machine. Where the machine has none of it, the functions say why.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BLKIO = Path("/sys/fs/cgroup/blkio")
WRITE_LIMIT = BLKIO / "blkio.throttle.write_bps_device"
# The process that `in_own_network` has started knows by it that it is there already.
_IN_NETWORK = "INRUSH_BENCH_NETWORK"
# More than the largest packet of the loopback, which is 64 KiB.
_BURST = "256kb"


def _run(*words: str | Path) -> str:
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(
            f"{' '.join(map(str, words))} ended with {done.returncode}: {done.stderr}"
        )
    return done.stdout


def in_own_network() -> str | None:
    """Run the rest of this program in a network namespace of its own; return why it cannot be.

    The program is started once more, inside it, and this process ends with its exit status.
    """
    if not os.environ.get(_IN_NETWORK):
        if os.geteuid() != 0:
            return "only root can limit the rate of a network"
        program = shutil.which("unshare")
        if program is None or subprocess.run([program, "--net", "true"], check=False).returncode:
            return "this machine makes no network namespace (`unshare --net`)"
        again = [program, "--net", sys.executable, *sys.argv]
        sys.exit(subprocess.run(again, env=os.environ | {_IN_NETWORK: "1"}, check=False).returncode)
    try:
        _run("ip", "link", "set", "lo", "up")
        limit_network(1_000_000_000)
        limit_network(None)
    except (OSError, RuntimeError) as error:
        return str(error)
    return None


def limit_network(bytes_per_s: int | None) -> None:
    """Limit the loopback of this network namespace, or end that."""
    if not os.environ.get(_IN_NETWORK):
        raise RuntimeError("the loopback is not that of a namespace of this benchmark")
    subprocess.run(["tc", "qdisc", "del", "dev", "lo", "root"], capture_output=True, check=False)
    if bytes_per_s is not None:
        words = ("rate", f"{bytes_per_s}bps", "burst", _BURST, "latency", "50ms")
        _run("tc", "qdisc", "add", "dev", "lo", "root", "tbf", *words)


class Disk:
    """A mounted file system whose rate of writing can be limited."""

    def __init__(self, device: str, folder: Path) -> None:
        number = Path(device).stat().st_rdev
        self._number = f"{os.major(number)}:{os.minor(number)}"
        self.folder = folder

    def limit(self, bytes_per_s: int | None) -> None:
        """Limit what is written in a second, or end that."""
        WRITE_LIMIT.write_text(f"{self._number} {bytes_per_s or 0}\n")


def cannot_limit_disks() -> str | None:
    """Return why no disk can be limited here."""
    if os.geteuid() != 0:
        return "only root can limit the rate of a disk"
    if not os.access(WRITE_LIMIT, os.W_OK):
        return f"there is no {WRITE_LIMIT} (cgroups of version 1 with the blkio controller)"
    if not Path("/dev/loop-control").exists():
        return "there is no /dev/loop-control (loop devices)"
    return None


@contextmanager
def disk(folder: Path, size_bytes: int) -> Iterator[Disk]:
    """Yield a new file system in a file in this folder, which must have room for all of it."""
    image, mounted = folder / "disk.img", folder / "disk"
    with image.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size_bytes)
    _run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", image)
    device = _run("losetup", "--find", "--show", "--direct-io=on", image).strip()
    mounted.mkdir()
    try:
        _run("mount", device, mounted)
        try:
            made = Disk(device, mounted)
            mounted.chmod(0o755)
            try:
                yield made
            finally:
                made.limit(None)
        finally:
            _run("umount", mounted)
    finally:
        _run("losetup", "--detach", device)
        image.unlink()

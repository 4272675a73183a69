"""A separate disk whose reads or writes go at a chosen rate: a file system on a loop device.

Version 1 of the block devices' control group limits a device for all processes, including the
kernel's own, which write data back. Version 2 limits groups of processes instead, never the root
group, so it is not used here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from verdict.system import CannotError, need_root, program, run, write

GROUP = Path("/sys/fs/cgroup/blkio")


class SlowDisk(AbstractContextManager["SlowDisk"]):
    """A file system on a loop device, as fast as the machine until it is limited."""

    def __init__(self, folder: Path, name: str, size_bytes: int) -> None:
        need_root("a disk of our own")
        for file in ("read", "write"):
            if not (GROUP / f"blkio.throttle.{file}_bps_device").exists():
                raise CannotError(
                    f"{GROUP} does not limit devices: no control group `blkio` of version 1"
                )
        self._image = folder / f"{name}.img"
        self.folder = folder / name
        with self._image.open("wb") as image:
            image.truncate(size_bytes)
        self._device = run(program("losetup", "mount"), "--find", "--show", self._image).strip()
        try:
            run(program("mkfs.ext4", "e2fsprogs"), "-q", "-F", self._device)
            self.folder.mkdir()
            run("mount", self._device, self.folder)
        except CannotError:
            run("losetup", "--detach", self._device)
            raise
        sys_block = Path("/sys/block") / Path(self._device).name
        self._number = (sys_block / "dev").read_text().strip()

    @contextmanager
    def limited(self, *, reads: float | None = None, writes: float | None = None) -> Iterator[None]:
        """Limit reads, writes or both to this number of bytes a second."""
        wanted = {"read": reads, "write": writes}
        limits = {kind: int(rate) for kind, rate in wanted.items() if rate is not None}
        try:
            for kind, rate in limits.items():
                self._limit(kind, rate)
            yield
        finally:
            for kind in limits:
                self._limit(kind, 0)

    def _limit(self, kind: str, rate: int) -> None:
        write(GROUP / f"blkio.throttle.{kind}_bps_device", f"{self._number} {rate}")

    def forget(self) -> None:
        """Remove the files from the page cache."""
        run("sync", "--file-system", self.folder)
        for path in self.folder.rglob("*"):
            if path.is_file():
                with path.open("rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def __exit__(self, *_: object) -> None:
        """Remove the file system and its device."""
        run("umount", "--lazy", self.folder)
        run("losetup", "--detach", self._device)
        self._image.unlink()

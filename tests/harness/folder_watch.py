"""Watches by inotify which files and folders are made, written, renamed and removed."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from dataclasses import dataclass, field
from pathlib import Path

MOVED_FROM, MOVED_TO = 0x40, 0x80
CREATED, DELETED = 0x100, 0x200
OVERFLOW = 0x4000
WATCHED = MOVED_FROM | MOVED_TO | CREATED | DELETED
NONBLOCK = os.O_NONBLOCK
HEAD = struct.Struct("iIII")


@dataclass
class FolderWatch:
    """The watched folders. Their events are in the order in which they happened."""

    root: Path
    _folders: dict[int, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Start without a watched folder."""
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._file = self._libc.inotify_init1(NONBLOCK | os.O_CLOEXEC)
        assert self._file >= 0, os.strerror(ctypes.get_errno())

    def close(self) -> None:
        """End the watch."""
        os.close(self._file)

    def add(self, folder: Path) -> None:
        """Watch a folder, without the folders in it."""
        watch = self._libc.inotify_add_watch(self._file, os.fsencode(folder), WATCHED)
        assert watch >= 0, os.strerror(ctypes.get_errno())
        self._folders[watch] = folder.relative_to(self.root)

    def steps(self) -> list[tuple[str, ...]]:
        """Return the events: `make` and `remove` with a path, `rename` with two.

        A rename out of the watched folders has an empty second path.
        """
        found: list[tuple[str, ...]] = []
        moved: dict[int, int] = {}
        for mask, cookie, path in self._events():
            assert not mask & OVERFLOW, "events were lost"
            if mask & CREATED:
                found.append(("make", path))
            elif mask & DELETED:
                found.append(("remove", path))
            elif mask & MOVED_FROM:
                moved[cookie] = len(found)
                found.append(("rename", path, ""))
            elif mask & MOVED_TO:
                at = moved.pop(cookie)
                found[at] = ("rename", found[at][1], path)
        return found

    def _events(self) -> list[tuple[int, int, str]]:
        events: list[tuple[int, int, str]] = []
        while True:
            try:
                data = os.read(self._file, 1 << 16)
            except OSError as error:
                assert error.errno == errno.EAGAIN
                return events
            at = 0
            while at < len(data):
                watch, mask, cookie, length = HEAD.unpack_from(data, at)
                at += HEAD.size
                name = os.fsdecode(data[at : at + length].rstrip(b"\0"))
                at += length
                if name or mask & OVERFLOW:
                    events.append((mask, cookie, str(self._folders[watch] / name)))

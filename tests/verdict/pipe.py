"""A file that comes through a named pipe, at a fixed rate or as fast as it is read."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

BLOCK_BYTES = 64 << 10


@contextmanager
def fed(path: Path, sources: list[Path], rate: float | None) -> Iterator[None]:
    """Make the pipe and write the files into it, one after the other."""
    os.mkfifo(path)
    ending = threading.Event()

    def feed() -> None:
        try:
            pipe = path.open("wb", buffering=0)
        except OSError:
            return
        with pipe:
            began, sent_bytes = monotonic(), 0
            for source in sources:
                data = source.read_bytes()
                for start in range(0, len(data), BLOCK_BYTES):
                    if ending.is_set():
                        return
                    try:
                        pipe.write(data[start : start + BLOCK_BYTES])
                    except BrokenPipeError:
                        return
                    sent_bytes += BLOCK_BYTES
                    if rate is not None:
                        ending.wait(began + sent_bytes / rate - monotonic())

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        yield
    finally:
        ending.set()
        # A writer without a reader waits in `open`.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb"):
            feeder.join()
        path.unlink()

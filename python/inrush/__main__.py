"""The `inrush` command."""

from __future__ import annotations

# Not `signal`: it imports `enum`, which takes longer than the rest of this file.
import _signal  # type: ignore[import-not-found]
import os
import sys

# The exit status of an interrupted command (README.md).
INTERRUPTED = 130
ENDS = (_signal.SIGINT, _signal.SIGTERM)


def main() -> None:
    """Run the command with this process's arguments, and end the process with its exit status."""
    for number in ENDS:
        _signal.signal(number, lambda *_: os._exit(INTERRUPTED))
    # Loading the engine takes a while; a signal meanwhile ends the process immediately.
    from inrush import _inrush
    from inrush.wheel import own_package, site_packages

    found = site_packages()
    # The command handles signals by itself; Python's handlers would run only after it ends.
    for number in ENDS:
        _signal.signal(number, _signal.SIG_DFL)
    status = _inrush.main(sys.argv[1:], found, own_package())
    # All is done and printed. Taking the interpreter apart would take a sixth of a short command.
    os._exit(status)


if __name__ == "__main__":
    main()

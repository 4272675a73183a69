"""The `inrush` command."""

from __future__ import annotations

import signal
import sys

from inrush import _inrush
from inrush.wheel import site_packages


def main() -> int:
    """Run the command with this process's arguments and return its exit status."""
    # The command stops cleanly by itself; Python's own handler would raise afterwards.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _inrush.main(sys.argv[1:], site_packages())


if __name__ == "__main__":
    sys.exit(main())

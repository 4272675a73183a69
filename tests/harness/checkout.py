"""Paths in this checkout."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# The script that runs a command and records its time and memory.
MEASURED = ROOT / "benchmarks" / "measured.py"

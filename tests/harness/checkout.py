"""Where things lie in this checkout."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# Runs a command and writes what it took.
MEASURED = ROOT / "benchmarks" / "measured.py"

"""The files of the record workload: making them takes long, so they are made once."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from command.etlwr import GENERATOR, SCALE, generate
from harness.command import CLEAN, Inrush


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all files, made by the original generator."""
    folder = tmp_path_factory.mktemp("tpch")
    subprocess.run(
        [GENERATOR, "tbl", "-s", SCALE, "--output-dir", folder], check=True, capture_output=True
    )
    return folder


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all files, made by the command: once, because this takes long."""
    folder = tmp_path_factory.mktemp("made")
    generate(Inrush(folder), "--tables", "all").expect(CLEAN)
    return folder / "data"

"""Scenarios from seeds: each kind of fault, on loads into DuckDB, Parquet and SQLite."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.disturbances import Struck, assert_most_hit
from faults.file_destinations.disturbances import KINDS
from faults.file_destinations.scenarios import FileReferences, play, scenario

# Every kind of fault comes at least twice.
SEEDS = range(2 * len(KINDS))

_tried: list[Struck] = []


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> FileReferences:
    return FileReferences(tmp_path_factory.mktemp("references"))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_scenario(seed: int, references: FileReferences, tmp_path: Path) -> None:
    chosen = scenario(seed)
    print(chosen)
    result = play(chosen, references, tmp_path)
    print(result.struck)
    _tried.extend(result.struck)


def test_most_faults_hit() -> None:
    assert_most_hit(_tried)

"""Scenarios from seeds: each kind of fault, on several loads and servers (see torture.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.disturbances import Struck, assert_most_hit
from faults.scenarios import References, play, scenario
from faults.site import Site

# Every kind of fault comes at least once.
SEEDS = range(26)


@pytest.fixture(scope="module")
def references(servers_folder: Path) -> References:
    return References(servers_folder)


# The limit is long, because a scenario has several commands and may have to start its server.
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_scenario(seed: int, site: Site, references: References, tmp_path: Path) -> None:
    chosen = scenario(seed)
    print(chosen)
    result = play(chosen, site, references, tmp_path)
    print(result.struck)
    _tried.extend(result.struck)


_tried: list[Struck] = []


def test_most_faults_hit() -> None:
    assert_most_hit(_tried)

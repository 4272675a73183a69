"""Scenarios from seeds: a few kinds of faults, on copies of tables and queries of databases."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.database_sources.scenarios import play, scenario
from faults.disturbances import Struck, assert_most_hit
from faults.site import Site

# Short scenarios of different kinds; `make torture-faults SOURCE=databases` runs many more.
SEEDS = (1, 22, 31, 42, 49, 87)

_tried: list[Struck] = []


# The limit is long, because a scenario has several commands and may have to start its servers.
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_scenario(seed: int, site: Site, tmp_path: Path) -> None:
    chosen = scenario(seed)
    print(chosen)
    result = play(chosen, site, tmp_path)
    print(result.struck)
    _tried.extend(result.struck)


def test_most_faults_hit() -> None:
    assert_most_hit(_tried)

"""Scenarios from seeds: each kind of fault, on several loads and servers (see torture.py)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import FindPrograms
from faults.disturbances import Struck
from faults.scenarios import References, play, scenario
from faults.site import Site

# Every kind of fault comes at least once.
SEEDS = range(26)


@pytest.fixture(scope="module")
def site(servers_folder: Path, find_programs: FindPrograms) -> Iterator[Site]:
    place = Site(servers_folder, find_programs)
    yield place
    place.close()


@pytest.fixture(scope="module")
def references(servers_folder: Path) -> References:
    return References(servers_folder)


# A scenario has several commands, and may be the first on its server.
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
    """Fail if the faults miss, because then the scenarios above show nothing."""
    hit = sum(struck.hit for struck in _tried)
    print(f"{len(_tried)} faults tried, {hit} hit")
    assert hit >= 0.7 * len(_tried)

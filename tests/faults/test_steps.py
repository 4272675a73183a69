"""Loads whose rows pass steps, under faults: the same rows and rejects as without them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from faults.loads import Load
from faults.scenarios import References, play, scenario
from faults.site import Site
from faults.steps_loads import STEPS_LOADS

# Kills, crashes of the server, a full disk, a second process, and a network that is cut.
KINDS = ["killed_at_random", "killed_at_step", "network_cut", "rival", "server_crashed"]


@pytest.fixture(scope="module")
def references(servers_folder: Path) -> References:
    return References(servers_folder)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("load", STEPS_LOADS, ids=lambda load: load.name)
def test_rows_pass_the_steps_once(
    kind: str, load: Load, site: Site, references: References, tmp_path: Path
) -> None:
    chosen = next(one for one in map(scenario, range(5_000)) if one.names == [kind])
    result = play(replace(chosen, load=load), site, references, tmp_path)
    print(result.struck)

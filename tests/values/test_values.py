"""For every type, format and setting, a value is what its text says, or its row is a reject.

Cases are made from seeds in rounds, loaded by the command, and read back in binary form. An
independent reader (`reader.py`) says what each text means. A fault names its case and how to run it
alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import StartServer
from harness.command import Inrush
from harness.servers import VERSIONS, Server
from values import duckdb_loads, guesses, loads, locales
from values.judging import Judgement, judge
from values.rounds import CASES_PER_ROUND, make

# A round may be loaded more than once, with 170 seconds each.
pytestmark = pytest.mark.timeout(600)

ROUNDS = range(4)
GUESSES = (4, 5, 7)
# Otherwise a loader that accepts only plain values would pass.
REJECTS_OF_VALUES_MAX = 0.1


@pytest.fixture(scope="module")
def local_servers(start_server: StartServer, servers_folder: Path) -> dict[int, Server]:
    """Return servers with locales, if this machine can create any."""
    folder = servers_folder / "locales"
    if not locales.make(folder):
        return {version: start_server(version) for version in VERSIONS}
    with locales.known(folder):
        return {version: start_server(version) for version in VERSIONS}


def expect_no_fault(found: Judgement) -> None:
    print(dict(found.counts))
    if found.faults:
        pytest.fail("\n".join(found.faults), pytrace=False)


@pytest.mark.parametrize("seed", ROUNDS)
def test_values_are_what_their_texts_say(
    local_servers: dict[int, Server], inrush: Inrush, seed: int
) -> None:
    server = local_servers[VERSIONS[seed % len(VERSIONS)]]
    chosen = make(seed)
    database = server.create_database(f"values_{seed}")
    found = judge(chosen, loads.load(chosen, database, inrush))
    expect_no_fault(found)
    assert found.counts["cases"] == CASES_PER_ROUND
    rejects = found.counts["rejects of what has a value"]
    assert rejects < CASES_PER_ROUND * REJECTS_OF_VALUES_MAX, found.refusals


@pytest.mark.parametrize("seed", GUESSES)
def test_guessed_columns_hold_what_their_files_say(
    local_servers: dict[int, Server], inrush: Inrush, seed: int
) -> None:
    server = local_servers[VERSIONS[seed % len(VERSIONS)]]
    expect_no_fault(guesses.play(seed, server.create_database(f"guess_{seed}"), inrush))


def test_duckdb_holds_what_texts_say(inrush: Inrush) -> None:
    chosen = duckdb_loads.shared(make(ROUNDS[0]))
    expect_no_fault(judge(chosen, duckdb_loads.load(chosen, inrush)))

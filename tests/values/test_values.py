"""Whatever the type, format and setting: a value is what its text says, or its row is a reject.

Rounds of cases are made from seeds, loaded by the command, and read back in binary form. An
independent reader (`reader.py`) says what each text means. A fault names its case and how to play
it alone.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from command import Inrush
from conftest import StartServer
from servers import VERSIONS, Database, Server
from values import guesses, locales
from values.judging import judge
from values.loads import load
from values.rounds import make

ROUNDS = (0, 1)
GUESSES = range(6)
# Of what has a value and is no plain text, more is taken than this.
REJECTS_OF_VALUES_MAX = 0.1


@pytest.fixture(scope="module")
def local_servers(
    start_server: StartServer, tmp_path_factory: pytest.TempPathFactory, servers_folder: Path
) -> dict[int, Server]:
    """Return servers that know locales, where this machine can make any."""
    del tmp_path_factory
    folder = servers_folder / "locales"
    if not locales.make(folder):
        return {version: start_server(version) for version in VERSIONS}
    with locales.known(folder):
        return {version: start_server(version) for version in VERSIONS}


def fresh(server: Server, name: str) -> Database:
    return server.create_database(name)


@pytest.mark.parametrize("seed", ROUNDS)
def test_values_are_what_their_texts_say(
    local_servers: dict[int, Server], inrush: Inrush, seed: int
) -> None:
    server = local_servers[VERSIONS[seed % len(VERSIONS)]]
    chosen = make(seed)
    found = judge(chosen, load(chosen, fresh(server, f"values_{seed}"), inrush))
    print(f"seed {seed}: {dict(found.counts)}")
    assert not found.faults, "\n".join(found.faults)
    # A loader that takes nothing would pass what stands above.
    assert found.counts["cases"] == 250
    assert found.counts["equal"] > found.counts["plain"] * 0.9
    rejects = found.counts["rejects of what has a value"]
    assert rejects < found.counts["cases"] * REJECTS_OF_VALUES_MAX, found.counts


@pytest.mark.parametrize("seed", GUESSES)
def test_guessed_columns_hold_what_their_files_say(
    local_servers: dict[int, Server], inrush: Inrush, seed: int
) -> None:
    server = local_servers[VERSIONS[seed % len(VERSIONS)]]
    found = guesses.play(seed, fresh(server, f"guess_{seed}"), inrush)
    assert not found.faults, "\n".join(found.faults)

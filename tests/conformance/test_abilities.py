"""Abilities: a destination has all that it claims, and refuses packages that ask for others.

The list of each destination is the second table under "Abilities" of docs/specs/destination.md.
After a change: `INRUSH_BLESS=1 pytest tests/conformance -k abilities`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance import abilities
from conformance.abilities import ABILITIES, PAGE, SHOWN, Ability, Scene, claims
from conformance.conftest import MakePlace
from conformance.destinations import PLACES, Place, PostgreSql, PostgreSql18
from conftest import StartServer
from harness import servers
from harness.command import Inrush
from harness.servers import Server

CLAIMS = claims()


@pytest.fixture(scope="module")
def replicating(start_server: StartServer) -> dict[int, Server]:
    """Return servers that have replication slots, by version; each is started when it is needed."""

    class Started(dict[int, Server]):
        def __missing__(self, version: int) -> Server:
            self[version] = start_server(version, servers.REPLICATING)
            return self[version]

    return Started()


@pytest.fixture
def scene(
    place: Place,
    inrush: Inrush,
    ability: Ability,
    replicating: dict[int, Server],
    make_place: MakePlace,
    tmp_path: Path,
) -> Iterator[Scene]:
    """Return the destination, and prepare replication slots or a source if the test needs them."""
    if ability.name == "slot bytes" and ability.name in CLAIMS[place.title]:
        assert isinstance(place, PostgreSql)
        server = replicating[place.database.server.version]
        database = server.create_database(place.database.name)
        yield Scene(type(place)(database, database.url), inrush)
        server.done_with(database)
    elif ability.name in abilities.OF_TABLES:
        source = make_place(PostgreSql18, tmp_path)
        assert isinstance(source, PostgreSql)
        yield Scene(place, inrush, source)
    else:
        yield Scene(place, inrush)


@pytest.mark.clause("D-4", "D-52", "D-53")
@pytest.mark.parametrize(
    "ability", ABILITIES.values(), ids=[abilities.slug(name) for name in ABILITIES]
)
def test_each_ability_is_shown_or_refused(scene: Scene, ability: Ability) -> None:
    if ability.name in CLAIMS[scene.place.title]:
        SHOWN[ability.name](scene)
    elif ability.name == "undo":
        abilities.no_undo(scene, ability)
    elif ability.name == "reject refused rows":
        abilities.fails_whole(scene, ability)
    elif ability.name == "several hosts":
        abilities.no_several_hosts(scene, ability)
    elif ability.name == "staged bytes":
        abilities.no_staged_bytes(scene)
    else:
        abilities.refuses(scene, ability)


@pytest.mark.clause("D-4")
def test_the_page_has_the_abilities_that_plans_say(make_place: MakePlace, tmp_path: Path) -> None:
    found = {}
    for kind in PLACES:
        folder = tmp_path / kind.name
        folder.mkdir()
        made = make_place(kind, folder)
        own = Inrush(folder)
        found[kind.title] = set(ABILITIES) - abilities.lacking(made, own, folder)
    text = abilities.page_with(found)
    if "INRUSH_BLESS" in os.environ:
        PAGE.write_text(text)
    assert PAGE.read_text() == text, (
        "docs/specs/destination.md does not have the abilities that plans say. "
        "Write it again: INRUSH_BLESS=1 pytest tests/conformance -k abilities"
    )


def test_every_ability_has_a_test() -> None:
    assert set(SHOWN) == set(ABILITIES)
    of_commands = {"undo", "several hosts", "staged bytes"}
    assert set(abilities.ASKED) == set(ABILITIES) - of_commands - abilities.OF_TABLES

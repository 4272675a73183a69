"""Editions of SQL Server: each has its abilities, and refuses all others.

The double is SQL Server 2022 in the rest of the suite. Here it is another version or edition, with
the rules of `sqlserver.double.editions`. Abilities that SQL Server 2022 lacks too are left out,
because every edition refuses them alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from conformance import abilities
from conformance.abilities import ABILITIES, SHOWN, Ability, Scene, claims
from conformance.conftest import MakePlace
from conformance.destinations import PostgreSql, PostgreSql18, SqlServerDouble
from harness.command import Inrush
from sqlserver.double import Double


@dataclass(frozen=True)
class Edition:
    """Properties of the server and of its database, and the abilities that it lacks."""

    properties: dict[str, Any]
    attributes: dict[str, Any] = field(default_factory=dict)
    lacks: frozenset[str] = frozenset()


EDITIONS = {
    "2016": Edition({"PRODUCTVERSION": "13.0.1601.5"}),
    "azure_sql": Edition(
        {"PRODUCTVERSION": "12.0.2000.8", "ENGINEEDITION": 5},
        # "The recovery model of Azure SQL Database is FULL", and readers see versions.
        {"recovery_model": "FULL", "reads_snapshots": True, "allows_snapshots": True},
    ),
    "babelfish": Edition(
        {"PRODUCTVERSION": "12.0.2000.8", "BABELFISH": 1},
        lacks=frozenset(
            {
                "replace partitions",
                "keep",
                "undo",
                "upsert",
                "versions",
                "partitions",
                "bounds",
                "routing",
                "analyze",
                "verify sums",
                "add members",
                "staged bytes",
            }
        ),
    ),
}
OF_2022 = claims()[SqlServerDouble.title]


@pytest.fixture(params=EDITIONS)
def edition(request: pytest.FixtureRequest) -> Edition:
    """Return each edition."""
    return EDITIONS[request.param]


@pytest.fixture
def scene(
    edition: Edition, inrush: Inrush, make_place: MakePlace, tmp_path: Path
) -> Iterator[Scene]:
    """Return a double of the edition, and the database beside it that some abilities need."""
    source = make_place(PostgreSql18, tmp_path)
    assert isinstance(source, PostgreSql)
    with Double() as double:
        double.database.properties |= edition.properties
        for name, value in edition.attributes.items():
            assert hasattr(double.database, name), name
            setattr(double.database, name, value)
        yield Scene(SqlServerDouble(double), inrush, source, edition.lacks)
        assert double.unknown == []


def test_the_plan_lists_what_it_lacks(scene: Scene, edition: Edition, tmp_path: Path) -> None:
    expected = ABILITIES.keys() - OF_2022 | edition.lacks
    assert abilities.lacking(scene.place, scene.inrush, tmp_path) == expected


@pytest.mark.clause("D-4")
@pytest.mark.parametrize(
    "ability",
    [ABILITIES[name] for name in ABILITIES if name in OF_2022],
    ids=[abilities.slug(name) for name in ABILITIES if name in OF_2022],
)
def test_each_ability_is_shown_or_refused(scene: Scene, edition: Edition, ability: Ability) -> None:
    if ability.name not in edition.lacks:
        SHOWN[ability.name](scene)
    elif ability.name == "undo":
        abilities.no_undo(scene, ability)
    elif ability.name == "staged bytes":
        abilities.no_staged_bytes(scene)
    else:
        abilities.refuses(scene, ability)


@pytest.mark.parametrize("mode", ["create", "append", "replace"])
def test_a_table_that_exists(scene: Scene, mode: str) -> None:
    """An empty table, and one with rows, get rows by statements that the edition has."""
    scene.place.execute("CREATE TABLE t (id integer NOT NULL PRIMARY KEY, note text)")
    if mode != "create":
        scene.place.execute("INSERT INTO t VALUES (1, 'old')")
    scene.run(mode, [("3", "new")])
    old = [("1", "old")] if mode == "append" else []
    assert scene.rows == [*old, ("3", "new")]

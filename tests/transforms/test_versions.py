"""The rows of random packages, loaded into a target that keeps versions (`scd`).

The reference is the model of `harness/versions.py`. The last steps keep the first row of each key.
"""

from __future__ import annotations

from typing import Any

import pytest

from conformance.canonical import canonical
from harness.command import CLEAN, LOADED_WITH_REJECTS
from harness.packages import flow
from harness.versions import Model
from transforms.conftest import FIRST, LAST, Loader, rows_of, settings_of
from transforms.expressions import DOUBLE
from transforms.packages import RandomPackage

TIMES = ["valid_from", "valid_to"]


def versions(
    loader: Loader, types: dict[str, str], loads: dict[str, int], load: int
) -> list[tuple[Any, ...]]:
    """Return the rows of the target after a load, with the numbers of loads as times.

    `loads` has the number of each load by its time; the time of this load is added to it.
    """
    with loader.place.connect() as connection:
        columns = [
            # The text of a float is not always exact.
            name if own == DOUBLE else f"{name}::VARCHAR"
            for name, own in types.items()
        ]
        columns += [f"{name}::VARCHAR" for name in TIMES]
        query = f"SELECT {', '.join(columns)}, is_current FROM loaded"
        found = connection.execute(query).fetchall()
    new = {time for row in found for time in row[-3:-1] if time} - set(loads)
    # All versions of a load begin at one moment.
    assert len(new) <= 1, new
    loads |= dict.fromkeys(new, load)
    return [
        (
            *(canonical(own, value) for own, value in zip(types.values(), row, strict=False)),
            *(None if time is None else loads[time] for time in row[-3:-1]),
            row[-1],
        )
        for row in found
    ]


@pytest.mark.parametrize("seed", range(FIRST, FIRST + (LAST - FIRST) // 3))
def test_versions_are_those_of_the_reference(loader: Loader, seed: int) -> None:
    random_package = RandomPackage(seed)
    keys = random_package.distinct_keys()
    if not keys:
        pytest.skip("the columns of this seed cannot be a key and tracked values")
    types = random_package.types
    values = [name for name in types if name not in keys]
    tracked = values[: (len(values) + 1) // 2]
    types = {name: types[name] for name in (*keys, *values)}
    random_package.types = types
    declared = [f"{name} {own}{' NOT NULL' * (name in keys)}" for name, own in types.items()]
    declared += ["valid_from timestamptz NOT NULL", "valid_to timestamptz", "is_current boolean"]
    loader.place.execute(f"CREATE TABLE loaded ({', '.join(declared)})")
    scd = {"track": tracked, "current": "is_current"}
    model = Model(tracked=len(tracked))
    loads: dict[str, int] = {}
    # The loads have records in common, so some rows do not change.
    for part in (random_package.part(3), random_package.part(1), random_package.part(2)):
        ends = part.ends()
        rows = rows_of(part, ends.rows)
        text = flow("loaded", "rows.*.csv", mode="upsert", key=keys, scd=scd, **settings_of(part))
        outcome = loader.run(part, text + part.toml())
        outcome.expect(LOADED_WITH_REJECTS if ends.rejects else CLEAN)
        count = len(keys)
        expected = model.load({row[:count]: row[count:] for row in rows})
        (table,) = outcome.report["tables"]
        assert table["versions"] == expected, text
        found = versions(loader, types, loads, model.loads)
        as_the_model = [(*row[:count], row[-3], *row[count:-3], *row[-2:]) for row in found]
        assert sorted(as_the_model, key=repr) == sorted(model.rows(), key=repr), text

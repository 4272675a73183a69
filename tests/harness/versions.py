"""A model of a target that keeps versions of rows (`scd`), in plain Python."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.packages import Value

Key = tuple[int, str]
# Two tracked columns, and two that are overwritten.
Values = tuple[str | None, int | None, str | None, int | None]
# Keys and values of other tables; the model works for them, too.
AnyKey = tuple[Any, ...]
AnyValues = tuple[Any, ...]

# The columns that files fill, and the settings of `scd`.
COLUMNS: list[Value] = ["no", "land", "city", "level", "phone", "visits"]
SCD: dict[str, Value] = {"track": ["city", "level"], "current": "is_current"}

FIRST: dict[Key, Values] = {(n, "at"): ("Graz", n, "1", None) for n in range(40)}
SECOND: dict[Key, Values] = {
    **{(n, "at"): ("Linz", n, "2", None) for n in range(20)},
    **{(n, "at"): ("Graz", n, "2", None) for n in range(20, 30)},
    **{(n, "ch"): (None, None, None, None) for n in range(10)},
}


@dataclass
class Version:
    """A version of the model; times are the numbers of loads."""

    values: AnyValues
    begun: int
    ended: int | None = None


@dataclass
class Model:
    """The versions of each key, the oldest first."""

    versions: dict[AnyKey, list[Version]] = field(default_factory=dict)
    loads: int = 0
    # The number of values, from the first on, that are tracked.
    tracked: int = 2

    def load(self, rows: Mapping[Key, Values] | Mapping[AnyKey, AnyValues]) -> dict[str, int]:
        """Merge the rows of a load, and return their account."""
        self.loads += 1
        counts = {"new": 0, "changed": 0, "overwritten": 0, "unchanged": 0}
        for key, values in rows.items():
            known = self.versions.setdefault(key, [])
            if not known:
                counts["new"] += 1
                known.append(Version(values, self.loads))
            elif known[-1].values[: self.tracked] != values[: self.tracked]:
                counts["changed"] += 1
                known[-1].ended = self.loads
                known.append(Version(values, self.loads))
            elif known[-1].values != values:
                counts["overwritten"] += 1
                known[-1].values = values
            else:
                counts["unchanged"] += 1
        return counts

    def rows(self) -> list[tuple[object, ...]]:
        """Return the rows of the target, with the numbers of loads as times."""
        return sorted(
            (*key, one.begun, *one.values, one.ended, one.ended is None)
            for key, versions in self.versions.items()
            for one in versions
        )


def file_text(rows: dict[Key, Values]) -> str:
    """Return the text of a CSV file with these rows."""

    def text(value: object) -> str:
        return "" if value is None else str(value)

    lines = [",".join(map(text, (*key, *values))) + "\n" for key, values in rows.items()]
    return ",".join(map(str, COLUMNS)) + "\n" + "".join(lines)


def some_rows(chance: random.Random) -> dict[Key, Values]:
    """Return rows of some keys, whose values often stay from load to load."""
    keys = [(no, land) for no in range(12) for land in ("at", "ch")]
    return {
        key: (
            chance.choice(["Graz", "Linz", None]),
            chance.choice([1, 2, None]),
            chance.choice(["1", "2", None]),
            chance.choice([1, 2, None]),
        )
        for key in chance.sample(keys, chance.randint(0, len(keys)))
    }

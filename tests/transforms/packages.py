"""Random packages with steps, their rows, and the expected result of each row.

Versions of rows (`scd`) are a mode of the target and not a step, so they have a reference of their
own, `harness/versions.py`. `test_versions.py` compares loads of these rows with it.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from harness.packages import Value, output, step
from transforms import moments
from transforms.expressions import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Expression,
    FailsError,
    Maker,
    Values,
)

_NUMERIC = "numeric(38,9)"
_TYPES = [INTEGER, BIGINT, TEXT, DATE, TIMESTAMP, TIMESTAMPTZ, BOOLEAN, DOUBLE, _NUMERIC]
# Every kind of value that a type has, also at the ends of its range.
_VALUES: dict[str, list[str]] = {
    INTEGER: ["0", "1", "-1", "7", "2147483647", "-2147483648", "46341"],
    BIGINT: ["0", "3", "-3", "9223372036854775807", "-9223372036854775808", "3037000500"],
    TEXT: ["", "a", "aardvark", "Z", "12", "-7", "2147483648", "9223372036854775808", "b,c", 'q"q'],
    DATE: [
        "-infinity",
        "4713-01-01 BC",
        "0001-02-29 BC",
        "0001-12-31 BC",
        "0001-01-01",
        "1582-10-15",
        "1970-01-01",
        "2024-02-29",
        "9999-12-31",
        "5874897-12-31",
        "infinity",
    ],
    TIMESTAMP: [
        "-infinity",
        "4713-01-01 00:00:00 BC",
        "0001-12-31 23:59:59.999999 BC",
        "0001-01-01 00:00:00",
        "1969-12-31 23:59:59.999999",
        "2024-02-29 23:59:59.000001",
        "9999-12-31 23:59:59.999999",
        "294246-12-31 23:59:59.999999",
        "infinity",
    ],
    TIMESTAMPTZ: [
        "-infinity",
        "0044-03-15 12:00:00+00 BC",
        "0001-01-01 00:00:00+00",
        "1970-01-01 00:00:00-11:30",
        "2024-02-29 23:59:59.999999+00",
        "2024-03-01 05:29:59.999999+05:30",
        "9999-12-31 23:59:59.999999+00",
        "infinity",
    ],
    BOOLEAN: ["true", "false"],
    DOUBLE: ["0.5", "-2", "1e300", "NaN", "Infinity", "-Infinity", "3.141592653589793"],
    _NUMERIC: ["0", "1.5", "-99999999999999999999999999999.999999999", "0.000000001", "17"],
}
_ORIGIN: dict[str, Any] = {
    INTEGER: int,
    BIGINT: int,
    TEXT: str,
    DATE: moments.date,
    TIMESTAMP: moments.timestamp,
    TIMESTAMPTZ: moments.timestamp,
    BOOLEAN: lambda text: text == "true",
    DOUBLE: float,
    _NUMERIC: Decimal,
}


# The connection of lookups in tables; the target has another one.
WAREHOUSE = "warehouse"


@dataclass(frozen=True)
class Lookup:
    """A lookup in a file or a table: the key column of the flow, and the text for each key."""

    key: str
    # The type of the key in the reference.
    type: str
    taken: str
    # The name of the table, or of the file without its ending.
    name: str
    is_table: bool
    # The text that the lookup returns, by the text of the key.
    reference: Mapping[str, str]
    fold: bool
    # `reject`, `null` or `default`.
    unmatched: str

    def toml(self) -> str:
        """Return it in a package."""
        lookup: dict[str, Value] = {"connection": WAREHOUSE, "table": self.name}
        if not self.is_table:
            lookup = {"files": f"{self.name}.csv", "columns": [f"k {self.type}", "v text"]}
        said: dict[str, Value] = {
            "lookup": lookup,
            "on": {self.key: "k"},
            "take": {self.taken: "v"},
            "unmatched": self.unmatched,
        }
        if self.unmatched == "default":
            said["unmatched"] = {"default": {self.taken: "none"}}
        return step(**said, **({"fold": "case"} if self.fold else {}))

    def text(self) -> str:
        """Return the text of the file."""
        rows = [_line({"k": key, "v": value}) for key, value in self.reference.items()]
        return "k,v\n" + "".join(rows)

    def statements(self) -> str:
        """Return the statements that make the table."""
        rows = ", ".join(f"('{key}', '{value}')" for key, value in self.reference.items())
        return (
            f"DROP TABLE IF EXISTS {self.name}; CREATE TABLE {self.name} (k {self.type}, v text); "
            f"INSERT INTO {self.name} VALUES {rows};"
        )

    def value(self, row: Values) -> str | None:
        """Return the value that the lookup gives a row."""
        key = row[self.key]
        known = {self._compared(_ORIGIN[self.type](k)): v for k, v in self.reference.items()}
        if key is not None and self._compared(key) in known:
            return known[self._compared(key)]
        if self.unmatched == "reject":
            raise FailsError(str(key))
        return "none" if self.unmatched == "default" else None

    def _compared(self, key: Any) -> Any:
        return key.casefold() if self.fold else key


@dataclass(frozen=True)
class Step:
    """A step: its text in a package, and the function by which the reference computes it."""

    kind: str
    # Derived columns, in the order of their names.
    derived: Mapping[str, Expression]
    condition: Expression | None
    otherwise: str = "reject"
    # Columns that become rows.
    unpivoted: Sequence[str] = ()

    # The columns with the name and the value of an unpivoted column.
    made: Sequence[str] = ()

    lookup: Lookup | None = None
    # The columns of which the first row with equal values is kept.
    distinct: Sequence[str] = ()

    def toml(self, name: str) -> str:
        """Return it in a package."""
        if self.lookup:
            return self.lookup.toml()
        if self.distinct:
            return step(distinct_on=[*self.distinct])
        if self.kind == "derive":
            return step(derive={name: own.sql for name, own in self.derived.items()})
        if self.kind == "unpivot":
            names = dict(zip(("name", "value"), self.made, strict=True))
            return step(unpivot={"columns": [*self.unpivoted], **names})
        assert self.condition
        said: dict[str, Value] = {self.kind: self.condition.sql}
        if self.kind == "check":
            said |= {"name": name, "else": self.otherwise}
        return step(**said)


@dataclass(frozen=True)
class Outputs:
    """The tables to which rows go, with their conditions; the last one may take the rest."""

    conditions: list[Expression | None]
    each: bool
    otherwise: str | None

    def tables(self) -> list[str]:
        """Return the names of the tables."""
        return [f"output_{number}" for number in range(len(self.conditions))]

    def toml(self) -> str:
        """Return them in a package."""
        pairs = zip(self.tables(), self.conditions, strict=True)
        return "".join(output(table, **({"when": it.sql} if it else {})) for table, it in pairs)

    def settings(self) -> dict[str, Value]:
        """Return the settings of the flow about its outputs."""
        said: dict[str, Value] = {"each": True} if self.each else {}
        return said | ({"else": self.otherwise} if self.otherwise else {})

    def of(self, row: Values) -> list[str]:
        """Return the tables that take a row."""
        pairs = zip(self.tables(), self.conditions, strict=True)
        found = [table for table, it in pairs if it is None or it.value(row) is True]
        return found if self.each else found[:1]


# The index of a record, and the unpivoted columns from which one of its rows was made.
Origin = tuple[int, tuple[str, ...]]
# A rejected row with its column and its code.
RejectedRow = tuple[Origin, str, str]


@dataclass
class Ends:
    """The expected result of the rows."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    # The origin of each of these rows.
    origins: list[Origin] = field(default_factory=list)
    rejects: list[RejectedRow] = field(default_factory=list)
    filtered: int = 0
    warned: int = 0
    added: int = 0
    # The keys that each step with distinct rows has seen.
    seen: dict[int, set[tuple[Any, ...]]] = field(default_factory=dict)


class RandomPackage:
    """Files, columns and steps of a seed."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)  # noqa: S311
        self._chance = chance
        self.columns = {f"c{at}": chance.choice(_TYPES) for at in range(chance.randint(1, 7))}
        # Some seeds have no rows, some have one file, and some have several files.
        self.file_sizes = chance.choice([[0], [1], [40], [0, 30, 1], [2_500], [300, 300, 300]])
        self.records = [
            {
                name: None if chance.random() < 0.15 else chance.choice(_VALUES[type_])
                for name, type_ in self.columns.items()
            }
            for _ in range(sum(self.file_sizes))
        ]
        known = dict(self.columns)
        self.steps: list[Step] = []
        for at in range(chance.randint(1, 5)):
            maker = Maker(chance, known)
            kind = chance.choice(
                ["derive", "derive", "where", "check", "unpivot", "lookup", "distinct"]
            )
            if kind == "unpivot":
                self._unpivot(at, known)
            elif kind == "distinct":
                self._distinct(known)
            elif kind == "lookup":
                self._lookup(at, known)
            elif kind == "derive":
                names = [f"d{at}_{number}" for number in range(chance.randint(1, 3))]
                derived = {name: maker.derived(chance.choice(_TYPES), 3) for name in names}
                self.steps.append(Step(kind, derived, None))
                known |= {name: own.type for name, own in derived.items()}
            else:
                otherwise = chance.choice(["reject", "warn"])
                self.steps.append(self._filter(kind, maker, otherwise))
        # Later steps may use these columns, but they are not loaded.
        self.types = {name: type_ for name, type_ in known.items() if name not in self.unpivoted()}
        self._known = known

    def outputs(self) -> Outputs:
        """Return some outputs for the rows after the steps."""
        maker = Maker(self._chance, self._known)
        number = self._chance.randint(1, 4)
        conditions: list[Expression | None] = [maker.condition(2) for _ in range(number)]
        if self._chance.random() < 0.5:
            return Outputs([*conditions, None], self._chance.random() < 0.5, None)
        otherwise = self._chance.choice([None, "reject", "filter"])
        return Outputs(conditions, self._chance.random() < 0.5, otherwise)

    def unpivoted(self) -> list[str]:
        """Return the columns that become rows."""
        return [name for own in self.steps for name in own.unpivoted]

    def _unpivot(self, at: int, known: dict[str, str]) -> None:
        """Add a step that makes columns of one type into rows, unless the rows are too many."""
        type_ = self._chance.choice(list(known.values()))
        names = [name for name, own in known.items() if own == type_]
        names = self._chance.sample(names, self._chance.randint(1, min(3, len(names))))
        if len(self.ends().rows) * len(names) > 8_000:
            return
        made = (f"name{at}", f"value{at}")
        self.steps.append(Step("unpivot", {}, None, unpivoted=names, made=made))
        known |= dict(zip(made, (TEXT, type_), strict=True))

    def _distinct(self, known: dict[str, str]) -> None:
        """Add a step with distinct rows. Rows cannot be compared by values of DOUBLE."""
        names = [name for name, own in known.items() if own != DOUBLE]
        if names:
            count = self._chance.randint(1, min(3, len(names)))
            chosen = self._chance.sample(names, count)
            self.steps.append(Step("distinct", {}, None, distinct=chosen))

    def _lookup(self, at: int, known: dict[str, str]) -> None:
        """Add a lookup of a column whose type can be a key, if there is one."""
        names = [name for name, own in known.items() if own not in (BOOLEAN, DOUBLE)]
        if not names:
            return
        key = self._chance.choice(names)
        type_ = known[key]
        # Numbers are compared by their values, whatever their types.
        numbers = [INTEGER, BIGINT, _NUMERIC]
        type_ = self._chance.choice(numbers) if type_ in numbers else type_
        count = self._chance.randint(1, 5)
        # Two texts of one moment would be one key twice.
        texts = {_ORIGIN[type_](text): text for text in self._chance.sample(_VALUES[type_], count)}
        own = Lookup(
            key,
            type_,
            f"taken{at}",
            f"reference{at}",
            self._chance.random() < 0.5,
            {text: f"of {text}" for text in texts.values()},
            type_ == TEXT and self._chance.random() < 0.5,
            self._chance.choice(["reject", "null", "null", "default"]),
        )
        self.steps.append(Step("lookup", {}, None, lookup=own))
        known[own.taken] = TEXT

    def distinct_keys(self) -> list[str]:
        """Add steps after which each key occurs once and is not NULL; return its columns.

        There are no such steps if no column can be a key, or if no other column would be left.
        """
        names = [name for name, type_ in self.types.items() if type_ != DOUBLE]
        keys = self._chance.sample(names, min(2, len(names), len(self.types) - 1))
        for name in keys:
            known = Expression(f"({name} IS NOT NULL)", BOOLEAN, _is_there(name))
            self.steps.append(Step("where", {}, known))
        if keys:
            self.steps.append(Step("distinct", {}, None, distinct=keys))
        return keys

    def part(self, step: int) -> RandomPackage:
        """Return a package of one file that has every `step`-th record."""
        part = copy.copy(self)
        part.records = self.records[::step]
        part.file_sizes = [len(part.records)]
        return part

    def lookups(self) -> list[Lookup]:
        """Return the lookups of the steps."""
        return [own.lookup for own in self.steps if own.lookup]

    def _filter(self, kind: str, maker: Maker, otherwise: str) -> Step:
        """Return a condition; if a few attempts find one, it keeps some rows and drops others."""
        before = len(self.ends().rows)
        for _ in range(8):
            own = Step(kind, {}, maker.condition(2), otherwise)
            self.steps.append(own)
            left = len(self.ends().rows)
            self.steps.pop()
            if before * 0.3 < left < before:
                break
        return own

    def files(self) -> list[str]:
        """Return the text of each file."""
        header = ",".join(self.columns) + "\n"
        texts, first = [], 0
        for size in self.file_sizes:
            rows = self.records[first : first + size]
            texts.append(header + "".join(_line(row) for row in rows))
            first += size
        return texts

    def toml(self) -> str:
        """Return the steps in a package."""
        return "".join(own.toml(f"check {at}") for at, own in enumerate(self.steps))

    def ends(self) -> Ends:
        """Compute what becomes of each row, in plain Python."""
        ends = Ends()
        for number, record in enumerate(self.records):
            row = {
                name: None if text is None else _ORIGIN[self.columns[name]](text)
                for name, text in record.items()
            }
            self._pass((number, ()), row, self.steps, ends)
        return ends

    def _pass(self, origin: Origin, row: dict[str, Any], steps: Sequence[Step], ends: Ends) -> None:
        for at, own in enumerate(steps):
            if own.kind == "unpivot":
                number, names = origin
                for name in own.unpivoted:
                    part = row | dict(zip(own.made, (name, row[name]), strict=True))
                    self._pass((number, (*names, name)), part, steps[at + 1 :], ends)
                ends.added += len(own.unpivoted) - 1
                return None
            made: dict[str, Any] = {}
            if own.distinct:
                key = tuple(row[name] for name in own.distinct)
                seen = ends.seen.setdefault(id(own), set())
                if key in seen:
                    ends.filtered += 1
                    return None
                seen.add(key)
            if own.lookup:
                try:
                    made[own.lookup.taken] = own.lookup.value(row)
                except FailsError:
                    return ends.rejects.append((origin, "", "lookup_unmatched"))
            for name, expression in own.derived.items():
                try:
                    made[name] = expression.value(row)
                except FailsError as fails:
                    return ends.rejects.append((origin, name, fails.code))
            row |= made
            holds = own.condition.value(row) if own.condition else True
            if own.kind == "where" and holds is not True:
                ends.filtered += 1
                return None
            if own.kind == "check" and holds is False:
                if own.otherwise == "reject":
                    return ends.rejects.append((origin, "", "check_failed"))
                ends.warned += 1
        ends.origins.append(origin)
        return ends.rows.append(row)


def _is_there(name: str) -> Callable[[Values], bool]:
    return lambda row: row[name] is not None


def _line(record: Mapping[str, str | None]) -> str:
    def written(text: str | None) -> str:
        if text is None:
            return ""
        doubled = text.replace('"', '""')
        return f'"{doubled}"' if not text or set(text) & set(',"') else text

    # A record of one NULL would be an empty line.
    return ",".join(written(text) for text in record.values()) + "\n"

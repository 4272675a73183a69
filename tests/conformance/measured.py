"""Finds out how a destination stores the values of a type, by loading them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance.canonical import canonical
from conformance.destinations import Place
from conformance.values import Type, label
from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, USAGE, Inrush, Outcome
from harness.packages import Value, flow


@dataclass
class Measured:
    """How a destination stored a type's values."""

    # The message, if the type itself is refused.
    refused: str | None = None
    # The type that the column got, in the destination's words.
    column_type: str = ""
    # Values that are rejects, with the reasons.
    rejects: dict[str, str] = field(default_factory=dict)
    # Failures, in sentences.
    faults: list[str] = field(default_factory=list)


@dataclass
class _Part:
    """The file of a type's values: where each of them is, and the table that gets them."""

    type_: Type
    table: str
    file: Path
    offsets: list[int]


# Loads the values of a type into a destination of a kind.
Measure = Callable[[type[Place], Type], Measured]

# More than the number of values of any type.
_REJECTS_MAX = 1000


def field_of(value: str | None) -> str:
    """Return a value as CSV: an empty text is quoted, NULL is an empty field."""
    if value is None:
        return ""
    doubled = value.replace('"', '""')
    return f'"{doubled}"'


class Measuring:
    """Loads types into one destination, each once and into its own table."""

    def __init__(self, place: Place, inrush: Inrush, verify: str = "count") -> None:
        self.place = place
        self._inrush = inrush
        self._verify = verify
        self._done: dict[str, Measured] = {}

    def of(self, type_: Type) -> Measured:
        """Return how a type's values are stored."""
        if type_.name not in self._done:
            self._done[type_.name] = self._load(type_)
        return self._done[type_.name]

    def together(self, types: Sequence[Type]) -> dict[str, Measured]:
        """Return how values of these types, of which none is refused, are stored by one load."""
        parts, flows = [], []
        for type_ in types:
            parts.append(self._part(type_))
            columns: list[Value] = ["id integer not null", f"v {type_.name}"]
            one, limit = parts[-1], {"rows_max": _REJECTS_MAX}
            flows.append(flow(one.table, one.file.name, columns=columns, rejects=limit))
        text = self.place.package(*flows, verify=self._verify)
        outcome = self._inrush("run", self._inrush.write("together.toml", text))
        outcome.expect(LOADED_WITH_REJECTS)
        told: dict[str, list[dict[str, Any]]] = {part.file.name: [] for part in parts}
        for reject in outcome.rejects():
            told[Path(reject["file"]).name].append(reject)
        return {part.type_.name: self._found(part, told[part.file.name]) for part in parts}

    def _part(self, type_: Type) -> _Part:
        # Messages in the page name the table, so its name must not depend on earlier loads.
        table = "of_" + re.sub(r"\W+", "_", type_.name).strip("_")
        text, offsets = b"id,v\n", []
        for number, value in enumerate(type_.values):
            offsets.append(len(text))
            text += f"{number},{field_of(value)}\n".encode()
        return _Part(type_, table, self._inrush.write(f"{table}.csv", text), offsets)

    def _load(self, type_: Type) -> Measured:
        part = self._part(type_)
        words = ["--columns", f"id integer not null, v {type_.name}", "--verify", self._verify]
        outcome = self._inrush(
            "load",
            part.file.name,
            *self.place.words,
            "--table",
            part.table,
            *words,
            "--max-rejects",
            str(_REJECTS_MAX),
        )
        if outcome.status in (FAILED, USAGE):
            return self._refused(type_, part.table, outcome)
        assert outcome.status in (CLEAN, LOADED_WITH_REJECTS), outcome.said
        found = self._found(part, outcome.rejects())
        if (outcome.status == LOADED_WITH_REJECTS) != bool(found.rejects):
            found.faults.append(f"exit status {outcome.status} with rejects {found.rejects}")
        return found

    def _found(self, part: _Part, rejects: list[dict[str, Any]]) -> Measured:
        """Compare the values of a type with its table and its rejects."""
        type_ = part.type_
        found = Measured(column_type=self.place.column_types(part.table)["v"])
        rows = self.place.rows(part.table, ["integer", type_.name]) or []
        stored = {number: value for number, value in rows if number is not None}
        if len(stored) != len(rows):
            found.faults.append("rows are there twice")
        told = {one["byte_offset"]: one for one in rejects}
        for number, value in enumerate(type_.values):
            reject = told.pop(part.offsets[number], None)
            if reject is not None:
                found.rejects[label(value)] = reject["reason"]
                if not reject["reason"] or reject["column"] != "v":
                    found.faults.append(f"the reject of {label(value)} says only {reject}")
                if str(number) in stored:
                    found.faults.append(f"{label(value)} is a reject, and was loaded too")
            elif str(number) not in stored:
                found.faults.append(f"{label(value)} is lost")
            elif stored[str(number)] != canonical(type_.name, value):
                was = label(stored[str(number)])
                found.faults.append(f"{label(value)} became {was}")
        if told:
            found.faults.append(f"rejects of rows that are not there: {told}")
        return found

    def _refused(self, type_: Type, table: str, outcome: Outcome) -> Measured:
        found = Measured(refused=" ".join(outcome.errors.split()).removeprefix("error: "))
        # A name with quotes is escaped inside the quotes of a message.
        said = outcome.said.replace('\\"', '"')
        if type_.name not in said or "panicked" in outcome.said:
            found.faults.append(f"the type is refused in other words: {outcome.said}")
        if table in self.place.tables():
            found.faults.append("the type is refused, and a table is made")
        return found

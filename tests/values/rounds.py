"""Rounds: many cases in one load, made from a seed alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from values.columns import columns
from values.meanings import Column
from values.reader import Field
from values.roles import RoleSetting, draw
from values.writing import text_for

CASES_PER_ROUND = 250
FIELDS_PER_COLUMN = 10
# Encodings by their names in a package, and in Python.
CODECS = {"windows-1252": "cp1252", "latin1": "latin-1", "utf-16": "utf-16", "gb18030": "gb18030"}
DIALECTS = ("csv", "quoted", "tsv")


@dataclass(frozen=True)
class Case:
    """A field of a column; its number is the row's number in the round."""

    number: int
    column: Column
    field: Field


@dataclass(frozen=True)
class Group:
    """The cases of a column: one file, one table."""

    column: Column
    dialect: str
    cases: tuple[Case, ...]
    encoding: str = ""

    @property
    def separator(self) -> str:
        """The text between fields."""
        return "\t" if self.dialect == "tsv" else "|"

    @property
    def codec(self) -> str:
        """Python's name of the encoding."""
        return CODECS.get(self.encoding, "utf-8")

    @property
    def text(self) -> str:
        """The file."""
        return "".join(f"{case.number}{self.separator}{case.field.raw}\n" for case in self.cases)

    def can_be(self, encoding: str) -> bool:
        """Whether an encoding has all characters of the file."""
        try:
            self.text.encode(CODECS[encoding])
        except UnicodeEncodeError:
            return False
        return True


@dataclass(frozen=True)
class Round:
    """A load."""

    seed: int
    groups: tuple[Group, ...]
    roles: tuple[RoleSetting, ...]
    verifies: bool

    def only(self, number: int) -> Round:
        """Return the round with a single case."""
        groups = tuple(
            replace(group, cases=tuple(case for case in group.cases if case.number == number))
            for group in self.groups
        )
        return replace(self, groups=tuple(group for group in groups if group.cases))

    def first(self, count: int) -> Round:
        """Return the round with its first cases only."""
        groups = tuple(
            replace(group, cases=tuple(case for case in group.cases if case.number < count))
            for group in self.groups
        )
        return replace(self, groups=tuple(group for group in groups if group.cases))


def field_of(text: str, dialect: str) -> Field:
    """Return a text as a field of a dialect, quoted if it must be."""
    if dialect == "tsv":
        return Field(text, escaped=True)
    must_be_quoted = any(one in text for one in '|"\r\n') or dialect == "quoted"
    return Field(text, quoted=must_be_quoted)


def make(seed: int) -> Round:
    """Return the round of a seed."""
    random = Random(f"values {seed}")  # noqa: S311
    groups = []
    for place, column in enumerate(columns(random, CASES_PER_ROUND // FIELDS_PER_COLUMN)):
        dialect = random.choice(DIALECTS)
        texts = [text_for(random, column) for _ in range(FIELDS_PER_COLUMN)]
        cases = tuple(
            Case(place * FIELDS_PER_COLUMN + at, column, field_of(text, dialect))
            for at, text in enumerate(texts)
        )
        group = Group(column, dialect, cases)
        encoding = random.choice(list(CODECS))
        if random.random() < 0.2 and group.can_be(encoding):
            group = replace(group, encoding=encoding)
        groups.append(group)
    return Round(seed, tuple(groups), draw(random), verifies=random.random() < 0.3)

"""Files whose format and columns are guessed: loaded, and compared with their true content."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from harness.command import CLEAN, LOADED_WITH_REJECTS, USAGE, Inrush
from harness.servers import Database
from values.amounts import number, written
from values.binary import decode
from values.declared_formats import declared
from values.judging import Judgement
from values.meanings import Column, Meaning, may, must, nothing, shown
from values.reader import same, value
from values.samples import CODE, THOUSANDS, Sampled, sampled, word

SAMPLES = 14
LATER = 6
# The guessed types that are read here, by their oid.
KINDS = {
    16: "bool",
    20: "int8",
    21: "int2",
    23: "int4",
    25: "text",
    700: "float4",
    701: "float8",
    1082: "date",
    1083: "time",
    1114: "timestamp",
    1184: "timestamptz",
    1700: "numeric",
}


@dataclass(frozen=True)
class Guessed:
    """A file: a key, columns, and a header that may lack its last names."""

    seed: int
    columns: tuple[Sampled, ...]
    # None if it has no header.
    names: tuple[str, ...] | None
    # Empty fields at the end of each record.
    empty_fields: int

    @property
    def width(self) -> int:
        """The number of fields in a record."""
        return 1 + len(self.columns) + self.empty_fields

    def lines(self, *, later: bool) -> str:
        """Return the file, with or without the values that come later."""
        out = []
        if self.names is not None:
            out.append(self.names)
        for row in range(SAMPLES + (LATER if later else 0)):
            fields = [f"k{row + 100}"]
            for column in self.columns:
                is_late = row >= SAMPLES
                fields.append(column.later[row - SAMPLES] if is_late else column.samples[row])
            out.append(tuple(fields + [""] * self.empty_fields))
        return "".join(";".join(fields) + "\n" for fields in out)


def make(seed: int) -> Guessed:
    """Return the file of a seed."""
    random = Random(f"guesses {seed}")  # noqa: S311
    count = random.randint(2, 7)
    columns = [sampled(random, SAMPLES, LATER) for _ in range(count)]
    if random.random() < 0.25:
        # Only words, so that no type distinguishes the header from the rows.
        columns = [
            Sampled(
                "word",
                tuple(word(random) for _ in range(SAMPLES)),
                tuple(word(random) for _ in range(LATER)),
            )
            for _ in range(count)
        ]
    empty_fields = random.choice((0, 0, 0, 1, 3, 5))
    names: tuple[str, ...] | None = None
    if random.random() < 0.8:
        names = ("key", *(f"name {place}" for place in range(1, count + 1)))
        names += ("",) * empty_fields
    return Guessed(seed, tuple(columns), names, empty_fields)


def play(seed: int, database: Database, inrush: Inrush) -> Judgement:
    """Guess from the samples, load these and later rows, and judge the rows in the table."""
    chosen = make(seed)
    file = inrush.write("guessed.csv", chosen.lines(later=False))
    to = ("--to", database.url, "--table", "guessed", "--save", "guessed.toml", "--force")
    told = inrush("init", file, *to).expect(CLEAN).said
    inrush.write("guessed.csv", chosen.lines(later=True))
    package = inrush.folder / "guessed.toml"
    package.write_text(package.read_text() + "\nrejects = { rows_max = 1000000 }\n")
    outcome = inrush("run", package)
    found = Judgement()
    if outcome.status not in (CLEAN, LOADED_WITH_REJECTS):
        outcome.expect(USAGE)
        found.counts["files refused"] += 1
        found.refusals.append(f"guess {seed}: {outcome.errors}")
        return found
    rejected = [] if outcome.status == CLEAN else outcome.rejects()
    _judge(found, chosen, database, told.partition("unsure:")[2], len(rejected))
    return found


def _judge(
    found: Judgement, chosen: Guessed, database: Database, told: str, reject_count: int
) -> None:
    def fault(what: str) -> None:
        found.firsts.setdefault(f"guess: {what.split(':')[0]}", found.counts["cases"])
        found.faults.append(
            f"{what}\n    again: tests/values/torture.py --guess --seed {chosen.seed}"
        )

    with database.connect() as connection, connection.cursor(binary=True) as cursor:
        cursor.execute("SELECT * FROM guessed")
        result = cursor.pgresult
    assert result is not None
    # The guess may or may not take empty fields at the end for columns; a note says which.
    seen = [place for place, column in enumerate(chosen.columns, 1) if any(column.samples)]
    if not max(seen, default=0) < result.nfields <= chosen.width:
        fault(f"width: the table has {result.nfields} columns for {chosen.width} fields")
        return
    rows: dict[str, list[bytes | None]] = {}
    for row in range(result.ntuples):
        fields = [result.get_value(row, place) for place in range(result.nfields)]
        rows[(fields[0] or b"").decode()] = fields
    _judge_rows(found, chosen, set(rows), told, reject_count, fault)
    # If the header was taken for a row, nothing else can be checked: there are no names.
    has_names = chosen.names is None or chosen.names[0] not in rows
    for place, column in enumerate(chosen.columns, 1):
        kind = "text"
        if place < result.nfields:
            kind = KINDS.get(result.ftype(place), "other")
        if has_names:
            _judge_type(chosen, place, column, kind, told, fault)
        for row in range(SAMPLES + LATER):
            fields = rows.get(f"k{row + 100}", [])
            is_late = row >= SAMPLES
            text = column.later[row - SAMPLES] if is_late else column.samples[row]
            found.counts["cases"] += 1
            if not fields:
                found.counts["rejects"] += 1
                continue
            meaning = meant(text, column, kind)
            data = fields[place] if place < result.nfields else None
            got = decode(data, Column(kind, kind)) if kind != "other" else None
            if meaning.is_none or not same(meaning.value, got):
                fault(
                    f"{kind}: a column of the kind `{column.kind}` (such as "
                    f"{', '.join(column.samples[:4])}) was guessed to be {kind}: {text!r} is "
                    f"{shown(got)} in the database; the reader says {meaning}"
                )
            else:
                found.counts["equal"] += 1


def _judge_rows(
    found: Judgement,
    chosen: Guessed,
    keys: set[str],
    told: str,
    reject_count: int,
    fault: Callable[[str], None],
) -> None:
    about_header = re.search(r"header|first record", told) is not None
    expected = {f"k{row + 100}" for row in range(SAMPLES + LATER)}
    lost = len(expected - keys) - reject_count
    first = chosen.lines(later=False).splitlines()[0]
    if chosen.names is not None and chosen.names[0] in keys:
        found.counts["headers that are rows"] += 1
        if not about_header:
            fault(f"header: the header {first!r} is loaded as a row, and nothing is unsure of it")
    elif keys - expected:
        fault(f"rows: these are in no file: {sorted(keys - expected)[:3]}")
    if lost > 0 and not (chosen.names is None and about_header):
        fault(f"rows: {lost} are neither loaded nor rejects; the first line is {first!r}")


def _judge_type(
    chosen: Guessed,
    place: int,
    column: Sampled,
    kind: str,
    told: str,
    fault: Callable[[str], None],
) -> None:
    what = {
        "a dot that parts decimals or thousands": column.has_two_readings,
        "the order of day and month": column.tells_no_order,
    }
    name = f"name_{place}" if chosen.names is not None else f"column_{place + 1}"
    shown_samples = ", ".join(column.samples[:4])
    for reason, is_so in what.items():
        if not is_so or not any(column.samples):
            continue
        if kind != "text":
            fault(f"ambiguous: samples such as {shown_samples} do not tell {reason}: {kind}")
        elif not re.search(rf"{name}\b", told):
            fault(f"untold: {name} ({shown_samples}) is text for {reason}, and nothing says so")
    if column.has_codes and kind in ("float4", "float8", "numeric"):
        fault(f"codes: samples such as {shown_samples} and {_a_code(column)} are codes, not {kind}")


def _a_code(column: Sampled) -> str:
    return next(one for one in column.samples if CODE.fullmatch(one))


def meant(text: str, column: Sampled, kind: str) -> Meaning:
    """Return the meaning of a column's text as a value of the guessed type."""
    if text == "":
        return must(None)
    if kind == "text":
        return must(text)
    if column.kind == "date":
        if kind in ("date", "timestamp", "timestamptz"):
            return _dated(text, column, kind)
    elif kind == "date":
        return nothing("the column holds no dates")
    if kind in ("int2", "int4", "int8", "numeric", "float4", "float8"):
        return _numbered(text, column, kind)
    if kind == "bool":
        words: dict[str, Any] = {"true": True, "false": False}
        word = text.lower()
        return may(words[word]) if word in words else nothing("no sample has this word")
    return value(text, Column(kind, kind)) if kind != "other" else nothing("an unknown type")


def _dated(text: str, column: Sampled, kind: str) -> Meaning:
    settings = {"format": [column.format, "%Y-%m-%d", "%Y%m%d"]}
    meaning = declared(text, Column("date", "date", settings=settings))
    if meaning.is_none or kind == "date":
        return meaning
    return may(meaning.value * 86_400_000_000)


def _numbered(text: str, column: Sampled, kind: str) -> Meaning:
    if THOUSANDS.fullmatch(text) and not column.shows_decimals and kind.startswith("int"):
        return nothing("its dot parts decimals or thousands, and no sample tells which")
    if CODE.fullmatch(text) and kind.startswith("int"):
        return nothing("it is a code and no number")
    shape = Column(kind, kind, settings={"lossless": True})
    meaning = number(text, shape)
    if kind == "numeric" and not meaning.is_none:
        parts = written(text, shape)
        if parts is None:
            return nothing("the type of a guess has digits")
        return may((parts.value, _scale(column)))
    return meaning


def _scale(column: Sampled) -> int:
    """Return the largest number of digits after the point in the samples."""
    return max((len(one.split(".")[1]) for one in column.samples if "." in one), default=0)

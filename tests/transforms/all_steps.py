"""A flow with every kind of step, and the expected result of each row, in plain Python.

A lookup with `unmatched = "add"` and versions of rows (`scd`) change the target, and have tests of
their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from conformance.canonical import Row, canonical
from harness.command import Inrush
from harness.packages import Value, output, step

# The columns of the source. Those that become rows and the key of the lookup are not loaded.
NAMES = ("id", "code", "note", "one", "two", "day")
COLUMNS: list[Value] = [
    "id integer not null",
    "code varchar(4)",
    "note text",
    {"name": "one", "type": "numeric(12,2)", "load": False},
    {"name": "two", "type": "numeric(12,2)", "load": False},
    "day date",
]
# An amount that a check rejects.
MISTAKE = Decimal("7.77")
# The columns of the targets, and their types.
TYPES = {
    "id": "integer",
    "code": "varchar(4)",
    "note": "text",
    "day": "date",
    "half": "integer",
    "number": "integer",
    "title": "text",
    "kind": "text",
    "amount": "numeric(12,2)",
}
# The reference of the lookup.
TITLES = {"a": "first", "b": "second", "ü": "third", "d": "fourth, and last"}
CODES = (*TITLES, "e", None, "too long")
# The tables of the outputs, and their conditions. No output takes the other rows.
OUTPUTS = {"thirds": "id % 3 = 0", "others": "amount IS NOT NULL"}
# The table of a flow without outputs.
ONE_TABLE = "loaded"


@dataclass(frozen=True)
class Record:
    """A row of the source."""

    id: int
    code: str | None
    note: str
    one: Decimal | None
    two: Decimal | None
    day: date

    def values(self) -> tuple[Any, ...]:
        """Return its values in the order of the columns."""
        return (self.id, self.code, self.note, self.one, self.two, self.day)

    def texts(self) -> list[str | None]:
        """Return the texts of its values."""
        return [None if value is None else str(value) for value in self.values()]


def records(count: int, note_end: str = "") -> list[Record]:
    """Return records; each step removes some of them. Their notes end with this text."""
    return [
        Record(
            id=n,
            code=CODES[n // 2 % 53 % len(CODES)],
            note=("note " if n % 17 else "note x") + f"{n % 1000:03} “é”{note_end}",
            one=None if n % 9 == 4 else Decimal(n * 3701 % 100_000) / 100,
            two=None if n % 19 == 5 else MISTAKE if n % 29 == 7 else Decimal(n % 1999) - 99,
            day=date(2024, 1, 1) + timedelta(days=n % 500),
        )
        for n in range(count)
    ]


def steps(inrush: Inrush, buckets: int, *, has_distinct: bool = True) -> str:
    """Return the steps in a package, and write the reference of their lookup.

    Rows whose ids are 2 * `buckets` apart have equal keys.
    """
    lines = [f'{code},"{title}"\n' for code, title in TITLES.items()]
    inrush.write("titles.csv", "k,v\n" + "".join(lines))
    # Expressions of one step are evaluated in the order of their names.
    text = step(derive={"half": "id // (id % 13)", "number": "CAST(substr(note, 6, 3) AS INTEGER)"})
    text += step(where="id % 10 <> 3")
    text += step(check="one < 900 OR id % 5 <> 0", name="large prices are not round")
    text += step(check="two >= one", name="the second is not smaller", else_="warn")
    text += step(
        lookup={"files": "titles.csv", "columns": ["k varchar(4)", "v text"]},
        on={"code": "k"},
        take={"title": "v"},
        unmatched="reject",
    )
    if has_distinct:
        text += step(derive={"bucket": f"id // 2 % {buckets}"}, load=False)
        text += step(distinct_on=["bucket", "title"])
    text += step(unpivot={"columns": ["one", "two"], "name": "kind", "value": "amount"})
    text += step(check=f"amount <> {MISTAKE}", name="no mistake of the till")
    return text + step(where="amount IS NOT NULL OR id % 2 = 0")


def outputs() -> str:
    """Return the outputs in a package."""
    return "".join(output(table, when=when) for table, when in OUTPUTS.items())


# The id of a row, the unpivoted column that it came from, and the reject's column and code.
RejectedRow = tuple[int, str, str, str]


@dataclass
class Counts:
    """What a step did, as the report has it."""

    step: str
    rows_in: int
    rows_out: int
    filtered: int = 0
    rejected: int = 0
    warned: int = 0
    unmatched: int = 0
    added: int = 0


@dataclass
class Ends:
    """The expected result of the rows."""

    tables: dict[str, list[Row]]
    rejects: list[RejectedRow]
    rows_read: int
    # The counts of the steps in the flow of the first table.
    counts: list[Counts]

    def accounts(self) -> dict[str, dict[str, int]]:
        """Return the account of each table, without bytes; the first one has all rejects."""
        found = {}
        rows_added = sum(each.added for each in self.counts)
        for at, (table, rows) in enumerate(self.tables.items()):
            rejected = 0 if at else len(self.rejects)
            found[table] = {
                "rows_read": self.rows_read,
                "rows_added": rows_added,
                "rows_loaded": len(rows),
                "rows_rejected": rejected,
                "rows_skipped": 0,
                "bytes_read": 0,
                "rows_filtered": self.rows_read + rows_added - len(rows) - rejected,
            }
        return found


class RejectedError(Exception):
    """A row is a reject: its column and its code."""


class Reference:
    """Passes rows through the steps, one step after the other."""

    def __init__(self, given: Sequence[Record]) -> None:
        self.rejects: list[RejectedRow] = []
        self.counts: list[Counts] = []
        self.rows_read = len(given)
        self.rows: list[dict[str, Any]] = []
        for record in given:
            if record.code is not None and len(record.code) > 4:
                self.rejects.append((record.id, "", "code", "too_long"))
            else:
                self.rows.append(dict(zip(NAMES, record.values(), strict=True)))

    def ends(self, buckets: int, *, has_distinct: bool, has_outputs: bool) -> Ends:
        """Return the expected result of the rows; see `steps` for the settings."""
        self._each("derive", _derive)
        self._each("where", lambda row: row["id"] % 10 != 3)
        self._each("check", _check("", lambda row: (row["one"] or 0) < 900 or row["id"] % 5 != 0))
        self._each("check", lambda _: True)
        self.counts[-1].warned = sum(
            None not in (row["one"], row["two"]) and row["two"] < row["one"] for row in self.rows
        )
        self._each("lookup", _take)
        self.counts[-1].unmatched = self.counts[-1].rejected
        if has_distinct:
            self._each("derive", lambda _: True)
            seen: set[tuple[int, str]] = set()
            self._each("distinct_on", lambda row: _is_new(seen, row, buckets))
        self._unpivot()
        self._each("check", _check("amount", lambda row: row["amount"] != MISTAKE))
        self._each("where", lambda row: row["amount"] is not None or row["id"] % 2 == 0)
        tables: dict[str, list[Row]] = {ONE_TABLE: self._loaded()}
        if has_outputs:
            tables = self._outputs()
        return Ends(tables, sorted(self.rejects), self.rows_read, self.counts)

    def _each(self, name: str, own: Callable[[dict[str, Any]], bool]) -> None:
        """Pass each row through a step, which returns whether the row stays."""
        counts = Counts(name, len(self.rows), 0)
        left = []
        for row in self.rows:
            try:
                stays = own(row)
            except RejectedError as rejected:
                column, code = rejected.args
                self.rejects.append((row["id"], row.get("kind", ""), column, code))
                counts.rejected += 1
                continue
            if stays:
                left.append(row)
            else:
                counts.filtered += 1
        counts.rows_out = len(left)
        self.rows = left
        self.counts.append(counts)

    def _unpivot(self) -> None:
        before = len(self.rows)
        self.rows = [
            row | {"kind": kind, "amount": row[kind]}
            for row in self.rows
            for kind in ("one", "two")
        ]
        self.counts.append(Counts("unpivot", before, 2 * before, added=before))

    def _loaded(self) -> list[Row]:
        return [
            tuple(canonical(type_, _written(row[name])) for name, type_ in TYPES.items())
            for row in self.rows
        ]

    def _outputs(self) -> dict[str, list[Row]]:
        """Divide the rows among the outputs; a row that none of them takes is a reject."""
        before = self.rows
        found = {}
        for at, table in enumerate(OUTPUTS):
            self.rows = [row for row in before if _taker(row) == table]
            found[table] = self._loaded()
            if at == 0:
                counts = Counts("output", len(before), len(self.rows))
                counts.rejected = sum(_taker(row) is None for row in before)
                counts.filtered = counts.rows_in - counts.rows_out - counts.rejected
                self.counts.append(counts)
        self.rejects += [
            (row["id"], row["kind"], "", "check_failed") for row in before if _taker(row) is None
        ]
        return found


def _derive(row: dict[str, Any]) -> bool:
    if row["id"] % 13 == 0:
        raise RejectedError("half", "step_failed")
    row["half"] = row["id"] // (row["id"] % 13)
    digits = row["note"][5:8]
    if not digits.isdecimal():
        raise RejectedError("number", "step_failed")
    row["number"] = int(digits)
    return True


def _check(
    column: str, condition: Callable[[dict[str, Any]], bool]
) -> Callable[[dict[str, Any]], bool]:
    """Return a check; its rejects name the column if the condition uses no other one."""

    def holds(row: dict[str, Any]) -> bool:
        if condition(row):
            return True
        raise RejectedError(column, "check_failed")

    return holds


def _take(row: dict[str, Any]) -> bool:
    if row["code"] not in TITLES:
        raise RejectedError("code", "lookup_unmatched")
    row["title"] = TITLES[row["code"]]
    return True


def _is_new(seen: set[tuple[int, str]], row: dict[str, Any], buckets: int) -> bool:
    key = (row["id"] // 2 % buckets, row["title"])
    if key in seen:
        return False
    seen.add(key)
    return True


def _taker(row: dict[str, Any]) -> str | None:
    if row["id"] % 3 == 0:
        return "thirds"
    return None if row["amount"] is None else "others"


def _written(value: Any) -> str | None:
    return None if value is None else str(value)

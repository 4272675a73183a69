"""A load of several files into one table, and the expected rows of the table."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path

from conformance.canonical import Row, canonical
from conformance.destinations import Place, in_order
from harness.command import CLEAN, Inrush, Outcome, Running
from harness.packages import Value, flow

PARTS = 3
ROWS_OF_A_PART = 500
TABLE = "loaded"
COLUMNS = ("id integer not null", "note text", "price numeric(15,2)", "at timestamp")
TYPES = ("integer", "text", "numeric(15,2)", "timestamp")
HEADER = "id,note,price,at\n"

# A record as its file writes it.
Record = tuple[str, str, str, str]


# Most jobs have the same rows.
@cache
def record(number: int) -> Record:
    """Return a record with values that differ from row to row."""
    at = f"2024-{number % 12 + 1:02}-{number % 28 + 1:02} 12:34:56.{number % 1_000_000:06}"
    return str(number), f"note {number}, “ö”", f"{number}.{number % 100:02}", at


def line(values: Sequence[str]) -> str:
    """Return the line of a record."""
    return ",".join(f'"{value}"' if "," in value else value for value in values) + "\n"


@cache
def row(values: Record) -> Row:
    """Return the row of a record in a table."""
    return tuple(canonical(*pair) for pair in zip(TYPES, values, strict=True))


class Job:
    """A load of a package with one flow, for tests that disturb it."""

    def __init__(
        self,
        place: Place,
        inrush: Inrush,
        *,
        mode: str = "create",
        parts: int = PARTS,
        rows_of_a_part: int = ROWS_OF_A_PART,
        first: int = 0,
        name: str = "package",
        run: dict[str, Value] | None = None,
        **settings: Value,
    ) -> None:
        self.place = place
        self.inrush = inrush
        self.parts = parts
        numbers = range(first, first + parts * rows_of_a_part)
        for part in range(parts):
            of_part = numbers[part * rows_of_a_part : (part + 1) * rows_of_a_part]
            text = HEADER + "".join(line(record(number)) for number in of_part)
            inrush.write(f"{name}.{part}.csv", text)
        self.rows = in_order([row(record(number)) for number in numbers])
        columns: list[Value] = list(COLUMNS)
        self.flow = flow(TABLE, f"{name}.*.csv", columns=columns, mode=mode, **settings)
        # Small batches, so that each file has several.
        text = place.package(self.flow, name=name, **{"batch_rows": 100, **(run or {})})
        self.package = inrush.write(f"{name}.toml", text)

    def run(self, *words: str) -> Outcome:
        """Run it."""
        return self.inrush("run", self.package, *words)

    def killed_at(self, point: str, *words: str) -> None:
        """Run it until it dies by SIGKILL at a fault point."""
        self.place.killed_at(point, self.inrush, "run", self.package, *words)

    def stopped_at(self, point: str, deed: str = "stop") -> AbstractContextManager[Running]:
        """Run the load until a fault point stops it.

        With the action `stop_until_asked` the load waits at this point until a signal asks it to
        end.
        """
        return self.inrush.stopped_by(f"{deed}:{point}", "run", self.package)

    @property
    def found(self) -> list[Row] | None:
        """The rows that a reader finds in the table now; None if there is no table."""
        return self.place.rows(TABLE, TYPES)

    def assert_done(self, before: Sequence[Row] = ()) -> None:
        """Fail unless the table has its new and old rows, and nothing else is left."""
        assert self.found == in_order([*before, *self.rows])
        assert self.place.tables() == {TABLE}

    def assert_nothing(self, before: Sequence[Row] = ()) -> None:
        """Fail unless a reader finds the old rows, or no table."""
        assert (self.found or []) == in_order(before)


# What a load of these records made of an empty destination whose contents are in files.
_FILLED: dict[tuple[type[Place], tuple[Record, ...]], dict[Path, bytes]] = {}


def filled(place: Place, inrush: Inrush, records: Sequence[Record]) -> list[Row]:
    """Make the table with these rows by a separate load; return them.

    An empty destination that is stored in files gets copies of the files that the first such load
    of the session has made.
    """
    files, key = place.stored_in, (type(place), tuple(records))
    if files is None or files.exists():
        _load(place, inrush, records)
    elif key in _FILLED:
        _restore(files, _FILLED[key])
    else:
        _load(place, inrush, records)
        _FILLED[key] = _contents(files)
    return in_order([row(record) for record in records])


def _load(place: Place, inrush: Inrush, records: Sequence[Record]) -> None:
    inrush.write("before.csv", HEADER + "".join(map(line, records)))
    words = ("--table", TABLE, "--columns", ", ".join(COLUMNS))
    inrush("load", "before.csv", *place.words, *words).expect(CLEAN)


def _contents(place: Path) -> dict[Path, bytes]:
    """Return the contents of a file, or of all files in a folder."""
    # The journal of a database, which has rows if a process died, is a file beside it.
    assert not list(place.parent.glob(f"{place.name}?*")), "the load has left a journal"
    files = [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file()]
    return {path.relative_to(place): path.read_bytes() for path in files}


def _restore(place: Path, contents: dict[Path, bytes]) -> None:
    """Write what `_contents` has returned."""
    for path, content in contents.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(content)

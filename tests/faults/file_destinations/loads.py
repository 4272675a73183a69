"""Loads under faults into files of DuckDB, SQLite and Parquet: their files, rows and rejects."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache

from conformance.destinations import Parquet, Place
from faults.loads import (
    COLUMN_LIST,
    PART_ROWS,
    Row,
    bad_files,
    large_gzip,
    large_rows,
    large_text,
    old_rows,
    part_files,
    part_rows,
    parts,
    text_of,
)
from faults.steps_loads import files_for_steps
from harness.command import CLEAN, LOADED_WITH_REJECTS
from harness.packages import Value, flow, step

# The file, line and code of a reject.
Reject = tuple[str, int, str]
Tables = dict[str, list[Row]]


@dataclass(frozen=True)
class FileLoad:
    """A load: its files, its flows, and its targets before and after."""

    name: str
    files: Callable[[], dict[str, bytes]]
    # The flows of its package.
    flows: tuple[str, ...]
    # The final rows of each target.
    full: Callable[[], Tables]
    # The rows of existing targets before the load.
    before: Callable[[], Tables] = dict
    # The columns of those targets, in SQL.
    constraints: str = ""
    rejects: Callable[[], list[Reject]] = list
    # The destinations that it can load into.
    fits: Callable[[type[Place]], bool] = lambda kind: bool(kind)
    # True if the notes of its rows may be changed: no constraint or partition depends on them.
    has_free_notes: bool = True
    # True if a reader that lists the folders of a Parquet table sees one generation of files.
    has_partitions: bool = False
    # True if rows are appended to an existing target.
    appends: bool = False
    # Options of the connection, in addition to the destination's own.
    options: dict[str, str] = field(default_factory=dict)

    @property
    def targets(self) -> list[str]:
        """The tables that it fills."""
        return list(self.full())

    @property
    def status(self) -> int:
        """Its exit status."""
        return LOADED_WITH_REJECTS if self.rejects() else CLEAN

    @property
    def rows_read(self) -> int:
        """The rows of its files."""
        return sum(
            (gzip.decompress(content) if name.endswith(".gz") else content).count(b"\n")
            for name, content in self.files().items()
        )


def speaks_sql(kind: type[Place]) -> bool:
    """Whether the destination has tables with constraints."""
    return kind.speaks_sql


def is_parquet(kind: type[Place]) -> bool:
    """Whether it is Parquet."""
    return issubclass(kind, Parquet)


def _flow(table: str, files: str, **more: Value) -> str:
    return flow(table, files, columns=COLUMN_LIST, **more)


def _lines_of(files: dict[str, bytes], code: str) -> list[Reject]:
    return sorted(
        (name, line, code)
        for name, content in files.items()
        for line, text in enumerate(content.splitlines(), 1)
        if text.startswith(b"x")
    )


def _bad_lines() -> list[Reject]:
    return _lines_of(bad_files(), "syntax")


# Constraints that rows of `_guarded_files` violate.
GUARDED = ", PRIMARY KEY (id), UNIQUE (note), CHECK (k >= 0)"
_GUARDED_ROWS = 400


def _guarded_before() -> list[Row]:
    return [(10_000 + number, number, f"old {number}") for number in range(50)]


@cache
def _guarded_lines() -> list[tuple[str, int, Row | None]]:
    """Return file, line and row of three files; None is a row whose values do not fit the types."""
    numbers = random.Random(20261126)  # noqa: S311
    lines: list[tuple[str, int, Row | None]] = []
    for part in range(3):
        for line in range(1, _GUARDED_ROWS + 1):
            number = part * _GUARDED_ROWS + line
            key, k, note = number, number, f"note {number}"
            if numbers.random() < 0.04:
                key = numbers.choice([numbers.randint(1, number), 10_000 + numbers.randrange(50)])
            if numbers.random() < 0.04:
                known = [f"note {numbers.randint(1, number)}", f"old {numbers.randrange(50)}"]
                note = numbers.choice(known)
            if numbers.random() < 0.03:
                k = -number
            row = None if numbers.random() < 0.01 else (key, k, note)
            lines.append((f"rows.tbl.{part}", line, row))
    return lines


def _guarded_files() -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for name, _, row in _guarded_lines():
        text = b"x|1|bad|\n" if row is None else text_of([row])
        files[name] = files.get(name, b"") + text
    return files


def _serial(before: Iterable[Row]) -> tuple[list[Row], list[Reject]]:
    """Load row by row; of several rows with the same key, the first is kept."""
    rows = list(before)
    ids, notes = {row[0] for row in rows}, {row[2] for row in rows}
    rejects: list[Reject] = []
    for name, line, row in _guarded_lines():
        if row is None:
            rejects.append((name, line, "syntax"))
        elif row[1] < 0:
            rejects.append((name, line, "check_violated"))
        elif row[0] in ids or row[2] in notes:
            rejects.append((name, line, "duplicate_key"))
        else:
            rows.append(row)
            ids.add(row[0])
            notes.add(row[2])
    return sorted(rows), sorted(rejects)


def _by_hundreds(rows: Iterable[Row]) -> list[Row]:
    """Return rows whose second value, the partition, is the same for 500 consecutive numbers."""
    return [(number, number // 500, note) for number, _, note in rows]


_PARTITIONS = PART_ROWS // 500

FILE_LOADS = [
    FileLoad(
        "create",
        lambda: part_files(3),
        (_flow("loaded", "rows.tbl.*"),),
        lambda: {"loaded": parts(3)},
    ),
    FileLoad(
        "append",
        lambda: part_files(3),
        (_flow("journal", "rows.tbl.*", mode="append"),),
        lambda: {"journal": sorted(old_rows() + parts(3))},
        before=lambda: {"journal": old_rows()},
        appends=True,
    ),
    FileLoad(
        "replace",
        lambda: part_files(3),
        (_flow("journal", "rows.tbl.*", mode="replace"),),
        lambda: {"journal": parts(3)},
        before=lambda: {"journal": old_rows()},
    ),
    FileLoad(
        "ranges",
        lambda: {"rows.tbl": large_text()},
        (_flow("loaded", "rows.tbl"),),
        lambda: {"loaded": large_rows()},
        has_free_notes=False,
    ),
    FileLoad(
        "fed",
        lambda: {"rows.tbl.gz": large_gzip()},
        (_flow("loaded", "rows.tbl.gz"),),
        lambda: {"loaded": large_rows()},
        has_free_notes=False,
    ),
    FileLoad(
        "rejects",
        bad_files,
        (_flow("loaded", "rows.tbl.*", rejects={"rows_max": 100}),),
        lambda: {"loaded": parts(4)},
        rejects=_bad_lines,
    ),
    FileLoad(
        "merged",
        bad_files,
        (_flow("loaded", "rows.tbl.*", rejects={"rows_max": 100}),),
        lambda: {"loaded": parts(4)},
        rejects=_bad_lines,
        fits=is_parquet,
        # Two files are a load unit.
        options={"merge_bytes": str(sum(map(len, bad_files().values())) * 2 // 3)},
    ),
    FileLoad(
        "several",
        lambda: part_files(4),
        (
            _flow("loaded", "rows.tbl.[01]"),
            _flow("journal", "rows.tbl.2", mode="append"),
            _flow("history", "rows.tbl.3"),
        ),
        lambda: {
            "loaded": parts(2),
            "journal": sorted(old_rows() + part_rows(2)),
            "history": part_rows(3),
        },
        before=lambda: {"journal": old_rows()},
        appends=True,
    ),
    FileLoad(
        "refused_append",
        _guarded_files,
        (_flow("journal", "rows.tbl.*", mode="append", rejects={"rows_max": 500}),),
        lambda: {"journal": _serial(_guarded_before())[0]},
        before=lambda: {"journal": _guarded_before()},
        constraints=GUARDED,
        rejects=lambda: _serial(_guarded_before())[1],
        fits=speaks_sql,
        has_free_notes=False,
        appends=True,
    ),
    FileLoad(
        "refused_replace",
        _guarded_files,
        (_flow("journal", "rows.tbl.*", mode="replace", rejects={"rows_max": 500}),),
        lambda: {"journal": _serial([])[0]},
        before=lambda: {"journal": _guarded_before()},
        constraints=GUARDED,
        rejects=lambda: _serial([])[1],
        fits=speaks_sql,
        has_free_notes=False,
    ),
    FileLoad(
        "partitions",
        lambda: {f"rows.tbl.{part}": text_of(_by_hundreds(part_rows(part))) for part in range(3)},
        (_flow("loaded", "rows.tbl.*", partition_by="k"),),
        lambda: {"loaded": _by_hundreds(parts(3))},
        fits=is_parquet,
        has_partitions=True,
    ),
    FileLoad(
        "replace_partitions",
        lambda: {f"rows.tbl.{part}": text_of(_by_hundreds(part_rows(part))) for part in range(2)},
        (
            _flow(
                "history",
                "rows.tbl.*",
                partition_by="k",
                mode="replace",
                replace={"scope": "partitions"},
            ),
        ),
        # The partitions of the last part get no new rows.
        lambda: {"history": _by_hundreds(parts(3))},
        before=lambda: {
            "history": sorted(
                [(-number, number % _PARTITIONS, "gone") for number in range(1, 51)]
                + _by_hundreds(part_rows(2))
            )
        },
        fits=is_parquet,
        has_partitions=True,
    ),
]

# Rows that pass a step. It is not in `FILE_LOADS`, so that most seeds mean the same scenario as
# before.
FILE_STEPS_LOAD = FileLoad(
    "steps",
    files_for_steps,
    (
        flow(
            "journal",
            "rows.tbl.*",
            columns=[{"name": "text", "type": "text", "load": False}, "k int", "note text"],
            mode="append",
            rejects={"rows_max": 100},
        )
        + step(derive={"id": "CAST(text AS INTEGER)"}),
    ),
    lambda: {"journal": sorted(old_rows() + parts(3))},
    before=lambda: {"journal": old_rows()},
    rejects=lambda: _lines_of(files_for_steps(), "step_failed"),
    appends=True,
)

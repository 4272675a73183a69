"""The loads under faults: all ways to load rows into a target, with the right results.

The rows are made here, so the expected result comes from the code that made the files, not from the
loader.
"""

from __future__ import annotations

import base64
import gzip
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from harness.command import CLEAN, LOADED_WITH_REJECTS
from harness.packages import flow

COLUMNS = "id int not null, k int not null, note text"
COLUMN_LIST = [column.strip() for column in COLUMNS.split(",")]

Row = tuple[int, int, str]


@dataclass(frozen=True)
class Load:
    """A load: its files, its flows, and its targets before and after."""

    name: str
    # Its files, made once, by name.
    files: Callable[[], dict[str, bytes]]
    # The flows of its package.
    flows: tuple[str, ...]
    # The final rows of each target.
    full: Callable[[], dict[str, list[Row]]]
    # The statements that make the targets which exist before the load.
    setup: str = ""
    # The number of rejected rows.
    rejected_rows: int = 0
    # Its rows fill more than `LARGE_BYTES` of the server's disk.
    is_large: bool = False
    # True if readers see either nothing or everything.
    is_atomic: bool = True
    # True if the table that it replaces is kept.
    keeps: bool = False

    @property
    def targets(self) -> list[str]:
        """The tables that it fills."""
        return list(self.full())

    @property
    def status(self) -> int:
        """Its exit status."""
        return LOADED_WITH_REJECTS if self.rejected_rows else CLEAN

    @property
    def has_target(self) -> bool:
        """Whether a target exists before the load."""
        return bool(self.setup)


LARGE_BYTES = 12 << 20
PART_ROWS = 1_500
LARGE_ROWS = 18_000
# The first keys of the second, the third and the fourth part.
SECOND, THIRD, FOURTH = PART_ROWS, 2 * PART_ROWS, 3 * PART_ROWS


def part_rows(part: int, rows: int = PART_ROWS) -> list[Row]:
    """Return the rows of a part."""
    start = part * rows
    return [(number, number, f"note {number}") for number in range(start, start + rows)]


def parts(count: int) -> list[Row]:
    """Return the rows of the first parts."""
    return [row for part in range(count) for row in part_rows(part)]


def text_of(rows: Iterable[Row]) -> bytes:
    """Return the lines of rows in a file."""
    return "".join(f"{number}|{key}|{note}|\n" for number, key, note in rows).encode()


def part_files(count: int) -> dict[str, bytes]:
    """Return one file for each part."""
    return {f"rows.tbl.{part}": text_of(part_rows(part)) for part in range(count)}


@cache
def large_rows() -> list[Row]:
    """Return rows of about a KiB each, which compress badly."""
    numbers = random.Random(20261121)  # noqa: S311
    return [
        (number, number, base64.b64encode(numbers.randbytes(756)).decode())
        for number in range(LARGE_ROWS)
    ]


@cache
def large_text() -> bytes:
    """Return the text of the large rows."""
    return text_of(large_rows())


@cache
def large_gzip() -> bytes:
    """Return the same text, compressed."""
    return gzip.compress(large_text(), 1, mtime=0)


def old_rows() -> list[Row]:
    """Return rows that a target has before the load."""
    return [(-number, -number, "old") for number in range(1, 101)]


def insert_old(table: str) -> str:
    """Return the statement that fills a target with the old rows."""
    return f"INSERT INTO {table} SELECT -n, -n, 'old' FROM generate_series(1, 100) AS n;"


def _shuffled_files() -> dict[str, bytes]:
    """Return the rows of four parts in files that do not match partitions."""
    rows = parts(4)
    random.Random(20261122).shuffle(rows)  # noqa: S311
    return {f"rows.tbl.{file}": text_of(rows[file::3]) for file in range(3)}


def _merged_rows() -> list[Row]:
    """Return the result of an upsert: old rows whose keys the files lack, and the files' rows."""
    return sorted(_before_upsert() + parts(2))


def _before_upsert() -> list[Row]:
    return [(number, -1, "kept") for number in range(THIRD, THIRD + 50)]


def bad_files() -> dict[str, bytes]:
    """Return files with ten bad rows each, 400 KiB in all."""
    files = {}
    for part in range(4):
        lines = text_of(part_rows(part)).splitlines(keepends=True)
        for bad in range(10):
            note = b"no number " * 4096
            lines.insert(100 * bad + 7, b"x%d|1|%s|\n" % (bad, note))
        files[f"rows.tbl.{part}"] = b"".join(lines)
    return files


def _partitioned(table: str, files: str, **more: str | dict[str, str | int | bool]) -> str:
    return flow(table, files, columns=COLUMN_LIST, partition_by="k", **more)


APPENDED_PLAIN = f"CREATE TABLE journal ({COLUMNS}, PRIMARY KEY (id));" + insert_old("journal")
_APPENDED_PARTITIONED = (
    f"CREATE TABLE history ({COLUMNS}) PARTITION BY RANGE (k);"
    "CREATE INDEX ON history (note);"
    "CREATE TABLE history_old PARTITION OF history FOR VALUES FROM (-1000) TO (0);"
    + insert_old("history")
)

_REPLACED_PLAIN = f"CREATE TABLE journal ({COLUMNS}, PRIMARY KEY (id));" + insert_old("journal")
# Two partitions that are replaced, and one that is kept.
_REPLACED_PARTITIONED = (
    f"CREATE TABLE history ({COLUMNS}) PARTITION BY RANGE (k);"
    "CREATE INDEX ON history (note);"
    "CREATE TABLE history_old PARTITION OF history FOR VALUES FROM (-1000) TO (0);"
    f"CREATE TABLE history_0 PARTITION OF history FOR VALUES FROM (0) TO ({SECOND});"
    f"CREATE TABLE history_1 PARTITION OF history FOR VALUES FROM ({SECOND}) TO ({THIRD});"
    + insert_old("history")
    + f"INSERT INTO history SELECT n, n, 'gone' FROM generate_series(0, {THIRD - 1}, 7) n;"
)
_UPSERTED = (
    f"CREATE TABLE journal ({COLUMNS}, PRIMARY KEY (id));"
    f"INSERT INTO journal SELECT n, -1, 'kept' FROM generate_series({THIRD}, {THIRD + 49}) n;"
    f"INSERT INTO journal SELECT n, -1, 'updated' FROM generate_series(0, {THIRD - 1}, 3) n;"
)
# Some existing partitions, one of them with subpartitions, for rows in any order.
_ROUTED = (
    f"CREATE TABLE history ({COLUMNS}) PARTITION BY RANGE (k);"
    "CREATE INDEX ON history (note);"
    "CREATE TABLE history_old PARTITION OF history FOR VALUES FROM (-1000) TO (0);"
    f"CREATE TABLE history_0 PARTITION OF history FOR VALUES FROM (0) TO ({SECOND});"
    f"CREATE TABLE history_1 PARTITION OF history FOR VALUES FROM ({SECOND}) TO ({FOURTH})"
    " PARTITION BY HASH (id);"
    "CREATE TABLE history_1a PARTITION OF history_1 FOR VALUES WITH (MODULUS 2, REMAINDER 0);"
    "CREATE TABLE history_1b PARTITION OF history_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);"
    "CREATE TABLE history_rest PARTITION OF history DEFAULT;" + insert_old("history")
)

LOADS = [
    Load(
        "private",
        lambda: part_files(4),
        (_partitioned("loaded", "rows.tbl.*"),),
        lambda: {"loaded": parts(4)},
    ),
    Load(
        "bounds",
        lambda: part_files(6),
        (_partitioned("loaded", "rows.tbl.*", bounds={"every": PART_ROWS}),),
        lambda: {"loaded": parts(6)},
    ),
    Load(
        "plain",
        lambda: part_files(3),
        (flow("loaded", "rows.tbl.*", columns=COLUMN_LIST),),
        lambda: {"loaded": parts(3)},
    ),
    Load(
        "append_plain",
        lambda: part_files(3),
        (flow("journal", "rows.tbl.*", mode="append"),),
        lambda: {"journal": sorted(old_rows() + parts(3))},
        setup=APPENDED_PLAIN,
    ),
    Load(
        "append_partitioned",
        lambda: part_files(4),
        (_partitioned("history", "rows.tbl.*", mode="append"),),
        lambda: {"history": sorted(old_rows() + parts(4))},
        setup=_APPENDED_PARTITIONED,
    ),
    Load(
        "ranges",
        lambda: {"rows.tbl": large_text()},
        (flow("loaded", "rows.tbl", columns=COLUMN_LIST),),
        lambda: {"loaded": large_rows()},
        is_large=True,
    ),
    Load(
        "fed",
        lambda: {"rows.tbl.gz": large_gzip()},
        (flow("loaded", "rows.tbl.gz", columns=COLUMN_LIST),),
        lambda: {"loaded": large_rows()},
        is_large=True,
    ),
    Load(
        "rejects",
        bad_files,
        (_partitioned("loaded", "rows.tbl.*", rejects={"rows_max": 100}),),
        lambda: {"loaded": parts(4)},
        rejected_rows=40,
    ),
    Load(
        "several",
        lambda: part_files(4) | {"large.tbl": large_text()},
        (
            _partitioned("loaded", "rows.tbl.*"),
            flow("journal", "rows.tbl.[12]", mode="append"),
            _partitioned("history", "rows.tbl.[03]", mode="append"),
            flow("large", "large.tbl", columns=COLUMN_LIST),
        ),
        lambda: {
            "loaded": parts(4),
            "journal": sorted(old_rows() + part_rows(1) + part_rows(2)),
            "history": sorted(old_rows() + part_rows(0) + part_rows(3)),
            "large": large_rows(),
        },
        setup=APPENDED_PLAIN + _APPENDED_PARTITIONED,
        is_large=True,
    ),
    Load(
        "replace_plain",
        lambda: part_files(3),
        (flow("journal", "rows.tbl.*", mode="replace", replace={"keep": True}),),
        lambda: {"journal": parts(3)},
        setup=_REPLACED_PLAIN,
        keeps=True,
    ),
    Load(
        "replace_partitioned",
        lambda: part_files(2),
        (
            _partitioned(
                "history",
                "rows.tbl.*",
                mode="replace",
                replace={"scope": "partitions"},
                bounds={"every": PART_ROWS},
            ),
        ),
        lambda: {"history": sorted(old_rows() + parts(2))},
        setup=_REPLACED_PARTITIONED,
    ),
    Load(
        "upsert",
        lambda: part_files(2),
        (flow("journal", "rows.tbl.*", mode="upsert", key=["id"]),),
        lambda: {"journal": _merged_rows()},
        setup=_UPSERTED,
    ),
    Load(
        "routed",
        _shuffled_files,
        (flow("history", "rows.tbl.*", mode="append", routing=True),),
        lambda: {"history": sorted(old_rows() + parts(4))},
        setup=_ROUTED,
    ),
    Load(
        "straight",
        lambda: part_files(3),
        (flow("journal", "rows.tbl.*", mode="append", atomic=False),),
        lambda: {"journal": sorted(old_rows() + parts(3))},
        setup=APPENDED_PLAIN,
        is_atomic=False,
    ),
]

"""The runs that commit e68f33c left: their files, where they were stopped, and the right result.

`make.py` makes them with that build, and `test_first_edition.py` gives the same files and packages
to today's build.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.packages import Value, flow, package

COMMIT = "e68f33c"
FOLDER = Path(__file__).parent
COLUMNS: list[Value] = ["id int not null", "note text"]
TYPES = ("integer", "text")
# A run recognizes a file by its size and its time.
MODIFIED_NS = 1_790_000_000_123_456_789
PACKAGE = "package.toml"
# A range of a file has at least 8 MiB, and the file shall have three ranges.
LARGE_BYTES = 26 << 20
LARGE_ROWS = 52

Row = tuple[int, str]
ROWS: list[Row] = [(number, f"note {number}") for number in range(12)]
OLD_ROWS: list[Row] = [(-2, "old"), (-1, "old")]
BAD_RECORD = "x|no number|\n"


def _text(rows: list[Row]) -> bytes:
    return "".join(f"{number}|{note}|\n" for number, note in rows).encode()


def _parts() -> dict[str, bytes]:
    """Return four files of three rows each."""
    return {f"rows.tbl.{part}": _text(ROWS[part * 3 : part * 3 + 3]) for part in range(4)}


def _parts_with_rejects() -> dict[str, bytes]:
    """Return these files with bad records in the first and the third; the third is compressed."""
    files = _parts()
    for name in ("rows.tbl.0", "rows.tbl.2"):
        files[name] += BAD_RECORD.encode()
    files["rows.tbl.2.gz"] = gzip.compress(files.pop("rows.tbl.2"), mtime=0)
    return files


def _large() -> dict[str, bytes]:
    """Return a file that streams share; nearly all of it is comments, which load no rows."""
    comment = b"# " + b"." * 97 + b"\n"
    comments = comment * (LARGE_BYTES // LARGE_ROWS // len(comment))
    return {"large.tbl": b"".join(_text([row]) + comments for row in _large_rows())}


def _large_rows() -> list[Row]:
    return [(number, f"note {number}") for number in range(LARGE_ROWS)]


@dataclass(frozen=True)
class Left:
    """A run that was stopped halfway, or that ended."""

    name: str
    # `postgresql`, `duckdb` or `parquet`.
    destination: str
    files: Callable[[], dict[str, bytes]]
    flows: tuple[str, ...]
    # The final rows of each target.
    full: Mapping[str, list[Row]]
    # The fault point where it died; without one, the run ended by itself.
    fault: str | None = None
    streams: int = 1
    # The statements that make the targets which exist before the load.
    setup: str = ""
    rejected_rows: int = 0
    # True if its rows are already in the targets.
    is_loaded: bool = False
    # The number of committed units.
    units: int = 0
    # Rows that were written directly to the target.
    straight_rows: list[Row] = field(default_factory=list)

    @property
    def archive(self) -> Path:
        """The folder in which the command ran, without the input files."""
        return FOLDER / f"{self.name}.tar.xz"

    @property
    def dump(self) -> Path:
        """The database, if it is PostgreSQL's."""
        return FOLDER / f"{self.name}.sql"

    def write(self, folder: Path, url: str) -> None:
        """Write the input files and the package into a folder."""
        for name, content in self.files().items():
            path = folder / name
            path.write_bytes(content)
            os.utime(path, ns=(MODIFIED_NS, MODIFIED_NS))
        text = package(url, *self.flows, streams=self.streams)
        (folder / PACKAGE).write_text(text)


_JOURNAL = (
    "CREATE TABLE journal (id int NOT NULL, note text);"
    "INSERT INTO journal VALUES (-2, 'old'), (-1, 'old')"
)
_REJECTS: dict[str, Value] = {
    "columns": COLUMNS,
    # That build did not save a format which only the names of files implied, so it replayed no
    # rejects.
    "format": {"preset": "tbl"},
    "rejects": {"rows_max": 5},
}
_TWO_FLOWS = (
    flow("events", "rows.tbl.*", **_REJECTS),
    flow("others", "rows.tbl.[13]", columns=COLUMNS),
)
_TWO_FULL = {"events": ROWS, "others": ROWS[3:6] + ROWS[9:]}

LEFT = [
    Left(
        "partitioned",
        "postgresql",
        _parts,
        (flow("events", "rows.tbl.*", columns=COLUMNS, partition_by="id"),),
        {"events": ROWS},
        fault="after_unit_commit:2",
        units=2,
    ),
    Left(
        "partitioned_before_switch",
        "postgresql",
        _parts_with_rejects,
        (flow("events", "rows.tbl.*", partition_by="id", **_REJECTS),),
        {"events": ROWS},
        fault="before_switch_commit",
        rejected_rows=2,
        units=4,
    ),
    Left(
        "plain",
        "postgresql",
        _parts_with_rejects,
        (flow("journal", "rows.tbl.*", mode="append", **_REJECTS),),
        {"journal": OLD_ROWS + ROWS},
        fault="after_unit_commit:1",
        setup=_JOURNAL,
        rejected_rows=2,
        units=1,
    ),
    Left(
        "straight",
        "postgresql",
        _parts_with_rejects,
        (flow("journal", "rows.tbl.*", mode="append", atomic=False, **_REJECTS),),
        {"journal": OLD_ROWS + ROWS},
        fault="after_unit_commit:1",
        setup=_JOURNAL,
        rejected_rows=2,
        units=1,
        straight_rows=ROWS[6:9],
    ),
    Left(
        "ranges",
        "postgresql",
        _large,
        (flow("events", "large.tbl", columns=COLUMNS, format={"preset": "tbl", "comment": "#"}),),
        {"events": _large_rows()},
        fault="after_unit_commit:1",
        streams=3,
        units=1,
    ),
    Left(
        "loaded",
        "postgresql",
        _parts_with_rejects,
        (flow("events", "rows.tbl.*", partition_by="id", **_REJECTS),),
        {"events": ROWS},
        rejected_rows=2,
        is_loaded=True,
    ),
    Left(
        "duckdb",
        "duckdb",
        _parts_with_rejects,
        _TWO_FLOWS,
        _TWO_FULL,
        fault="after_unit_commit:5",
        rejected_rows=2,
        units=5,
    ),
    Left(
        "duckdb_loaded",
        "duckdb",
        _parts_with_rejects,
        _TWO_FLOWS,
        _TWO_FULL,
        rejected_rows=2,
        is_loaded=True,
    ),
    Left(
        "parquet",
        "parquet",
        _parts_with_rejects,
        _TWO_FLOWS,
        _TWO_FULL,
        fault="after_unit_commit:5",
        rejected_rows=2,
        units=5,
    ),
    # One table has its new rows, and the other does not.
    Left(
        "parquet_half_published",
        "parquet",
        _parts_with_rejects,
        _TWO_FLOWS,
        _TWO_FULL,
        fault="before_switch_commit:2",
        rejected_rows=2,
        is_loaded=True,
    ),
    Left(
        "parquet_loaded",
        "parquet",
        _parts_with_rejects,
        _TWO_FLOWS,
        _TWO_FULL,
        rejected_rows=2,
        is_loaded=True,
    ),
]

"""With all steps in one flow, many splits and streams end like one split and one stream."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

import pytest

from conformance.destinations import PostgreSql18
from harness.command import LOADED_WITH_REJECTS, Inrush, Outcome
from harness.servers import Database, Server
from transforms import all_steps
from transforms.all_steps import Record
from transforms.loads import assert_ended, made_of, package
from transforms.row_sources import Csv, PostgreSqlTable, RowSource

# Enough text, and enough pages of one row each, for this many splits of 8 MiB or more.
COUNT, NOTE_END = 3_300, "x" * 7_800
SPLITS_MIN = 3
FILES = 30
# Rows of different splits have equal keys.
BUCKETS = 811

# Both have the same number of settings, so the reason of a reject names the same line of both
# packages.
SERIAL = {"streams": 1, "chunk_bytes": 16 << 20, "batch_rows": 1024}
PARALLEL = {"streams": 4, "chunk_bytes": 64 << 10, "batch_rows": 100}

_numbers = itertools.count(1)


@pytest.fixture
def make_database(newest_server: Server) -> Iterator[Callable[[], Database]]:
    """Return a function that makes an empty database."""
    with ExitStack() as stack:

        def make() -> Database:
            database = newest_server.create_database(f"split_{next(_numbers)}")
            stack.callback(newest_server.done_with, database)
            return database

        yield make


# A reject: the id of its row, and the fields that do not depend on the row's place.
Reject = tuple[int, tuple[str, ...], str, str, str, str]


class Loads:
    """Loads of the same rows, each into an empty database."""

    def __init__(
        self, source: RowSource, given: Sequence[Record], make_database: Callable[[], Database]
    ) -> None:
        self.source = source
        self.make_database = make_database
        reference = all_steps.Reference(given)
        self.ends = reference.ends(BUCKETS, has_distinct=True, has_outputs=True)

    def load(self, run: dict[str, int]) -> Outcome:
        """Load the rows, and fail unless they end as they must."""
        target = self.make_database()
        place = PostgreSql18(target, target.url)
        path = package(place, self.source, BUCKETS, run=run)
        outcome = self.source.inrush("run", path, seconds=300).expect(LOADED_WITH_REJECTS)
        assert_ended(place, self.source, outcome, self.ends)
        return outcome

    def rejects(self, outcome: Outcome) -> list[Reject]:
        """Return the rejects of a load."""
        return sorted(
            (
                self.source.id_at(reject),
                made_of(reject),
                reject["column"] or "",
                reject["value"] or "",
                reject["code"],
                reject["reason"],
            )
            for reject in outcome.rejects()
        )

    def kept(self, outcome: Outcome) -> list[str]:
        """Return the lines of the rejected rows that a load has kept."""
        files = (outcome.run_folders()[-1] / "rejects").glob("*.rejects")
        return sorted(line for path in files for line in path.read_text().splitlines()[1:])


def splits(outcome: Outcome) -> dict[str, int]:
    """Return the number of splits that each flow was loaded in."""
    found = dict.fromkeys(all_steps.OUTPUTS, 0)
    for unit in outcome.report["units"]:
        found[unit["flow"]] += len(unit["files"])
    return found


@pytest.mark.parametrize("kind", [Csv, PostgreSqlTable], ids=lambda kind: str(kind.name))
def test_splits_and_streams_change_nothing(
    kind: type[RowSource], inrush: Inrush, make_database: Callable[[], Database]
) -> None:
    given = all_steps.records(COUNT, NOTE_END)
    source = kind(inrush, make_database, ExitStack())
    loads = Loads(source, given, make_database)
    if isinstance(source, Csv):
        source.files = 1
    source.fill(given)
    serial = loads.load(SERIAL)
    assert set(splits(serial).values()) == {1}
    rejects, kept = loads.rejects(serial), loads.kept(serial)

    def assert_same(splits_min: int) -> None:
        parallel = loads.load(PARALLEL)
        assert min(splits(parallel).values()) >= splits_min
        assert len(parallel.report["streams"]) == PARALLEL["streams"]
        assert loads.rejects(parallel) == rejects
        assert loads.kept(parallel) == kept

    assert_same(SPLITS_MIN)
    if isinstance(source, Csv):
        # Load the same rows again, from small files.
        source.files = FILES
        source.fill(given)
        assert_same(FILES)

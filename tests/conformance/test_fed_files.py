"""A file that cannot be read from its middle feeds all streams, and is loaded as by one stream."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conformance.canonical import Row
from conformance.destinations import Place, in_order
from harness.command import CLEAN, LOADED_WITH_REJECTS, VERIFICATION, Inrush, Outcome
from harness.packages import flow

# A little more than three ranges of 4 MiB, for three streams: few rows, because they are long.
ROWS = 6_500
TYPES = ("integer", "text")
TABLE = "loaded"
HEADER = "id,note\n"
# One row in this many has a text instead of its number.
BAD_EVERY = 701
STREAMS = 3


@dataclass
class Text:
    """The text of a file, and its rows in a table."""

    text: str
    rows: list[Row]
    # The line and byte of each reject.
    rejects: list[tuple[int, int]]


def make(first: int = 0, seed: str = "fed", bad_from: int = 0) -> Text:
    """Return a text that compresses only to half its size: the file is large enough to be fed."""
    numbers = random.Random(seed)  # noqa: S311
    lines = [HEADER]
    rows: list[Row] = []
    rejects = []
    offset = len(HEADER)
    for number in range(first, first + ROWS):
        is_bad = number % BAD_EVERY == 5 and number >= bad_from
        # A quoted line end: a reader that starts in the middle takes it for the end of a record.
        note = numbers.randbytes(1_000).hex()
        line = f'{"x" if is_bad else ""}{number},"{note[:1000]}\n{number},{note[1000:]}"\n'
        if is_bad:
            rejects.append((2 + 2 * (number - first), offset))
        else:
            rows.append((str(number), f"{note[:1000]}\n{number},{note[1000:]}"))
        lines.append(line)
        offset += len(line)
    return Text("".join(lines), in_order(rows), rejects)


@pytest.fixture(scope="module")
def made() -> Text:
    """Return the text that all tests load."""
    return make()


@pytest.fixture(scope="module")
def compressed(made: Text, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with this text, compressed."""
    path = tmp_path_factory.mktemp("fed") / "large.csv.gz"
    path.write_bytes(gzip.compress(made.text.encode(), 1))
    return path


class Fed:
    """A load of one file into one table, by any number of streams."""

    def __init__(self, place: Place, inrush: Inrush, file: str = "large.csv.gz") -> None:
        self.place = place
        self.inrush = inrush
        self.file = file

    def package(self, streams: int, mode: str = "create") -> Path:
        """Write the package; it is the same for any number of streams."""
        target = flow(
            TABLE,
            self.file,
            columns=["id integer not null", "note text"],
            mode=mode,
            rejects={"rows_max": 1_000},
        )
        return self.inrush.write("package.toml", self.place.package(target, streams=streams))

    def run(self, streams: int, *words: str, mode: str = "create") -> Outcome:
        """Run it."""
        return self.inrush("run", self.package(streams, mode), *words)

    def killed_at(self, point: str, streams: int) -> None:
        """Run it until it dies by SIGKILL at a fault point, and check that nothing is visible."""
        self.place.killed_at(point, self.inrush, "run", self.package(streams))
        assert not self.place.rows(TABLE, TYPES)

    def assert_done(self, outcome: Outcome, *texts: Text) -> None:
        """Fail unless the table has the rows of these texts, with the rejects of the last one."""
        outcome.expect(LOADED_WITH_REJECTS)
        expected = in_order([row for text in texts for row in text.rows])
        assert self.place.rows(TABLE, TYPES) == expected
        assert self.place.tables() == {TABLE}
        assert places(outcome) == texts[-1].rejects
        account = outcome.report["account"]
        assert account["rows_loaded"] == len(texts[-1].rows)
        assert account["rows_rejected"] == len(texts[-1].rejects)
        # The header is a skipped line.
        assert account["rows_read"] == ROWS + account["rows_skipped"]
        (unit,) = outcome.report["units"]
        assert unit["account"] == account
        assert unit["finished"]


def places(outcome: Outcome) -> list[tuple[int, int]]:
    """Return line and byte of each reject of the newest run."""
    return [(reject["line"], reject["byte_offset"]) for reject in outcome.rejects()]


def rows_sent(outcome: Outcome) -> int:
    """Return the number of rows that all streams of a run have sent."""
    rows: list[Any] = [stream["meter"]["rows"] for stream in outcome.report["streams"]]
    return sum(rows)


@pytest.fixture
def fed(place: Place, inrush: Inrush, compressed: Path) -> Fed:
    """Return a load of the compressed file."""
    shutil.copy(compressed, inrush.folder / "large.csv.gz")
    return Fed(place, inrush)


def is_fed(place: Place, inrush: Inrush, package: Path) -> bool:
    """Whether one reader feeds the file to all streams; false if the destination has one writer."""
    said = inrush("check", package).expect(CLEAN).output
    if "one writer at a time" in said:
        assert "shared by all streams" not in said
        return False
    assert "large.csv.gz, shared by all streams through one reader" in said, f"{place.name}: {said}"
    assert "for the reader that feeds them" in said
    assert f"Streams      {STREAMS}" in said
    return True


@pytest.mark.clause("D-32", "D-34", "D-36")
def test_all_streams_load_a_compressed_file(fed: Fed, made: Text) -> None:
    shared = is_fed(fed.place, fed.inrush, fed.package(STREAMS))
    # At this rate a range takes half a second, in which the other streams ask for theirs.
    outcome = fed.run(STREAMS, "--max-rate", "8MB")
    fed.assert_done(outcome, made)
    (unit,) = outcome.report["units"]
    assert unit["shared"] == shared
    # Each stream gets one of three ranges, and the last stream that asks gets the rest.
    busy = [stream for stream in outcome.report["streams"] if stream["pieces"] > 0]
    assert len(busy) > 1 or not shared, outcome.report["streams"]
    # Text is accounted to its file, whichever stream has read it.
    assert outcome.report["account"]["bytes_read"] == len(made.text.encode())
    fed.run(1).expect(LOADED_WITH_REJECTS, "already loaded")


@pytest.mark.clause("D-22", "D-23", "D-24", "D-36")
@pytest.mark.parametrize(
    ("point", "streams", "then"),
    [
        ("in_copy:12", 1, 3),
        ("in_copy:12", 3, 2),
        ("before_unit_commit", 3, 1),
        ("unit_commit_sent", 2, 4),
        ("after_unit_commit", 3, 1),
        ("after_unit_commit", 2, 3),
        ("before_switch", 3, 1),
        ("before_switch", 1, 3),
        ("in_switch", 3, 2),
    ],
)
def test_killed_and_run_by_another_number_of_streams(
    fed: Fed, made: Text, point: str, streams: int, then: int
) -> None:
    fed.killed_at(point, streams)
    outcome = fed.run(then)
    fed.assert_done(outcome, made)
    assert outcome.report["resumed"]
    if point in ("after_unit_commit", "before_switch", "in_switch"):
        assert rows_sent(outcome) < len(made.rows), "what was committed is not sent again"
    if point in ("before_switch", "in_switch"):
        (unit,) = outcome.report["units"]
        assert unit["kept"]
        assert rows_sent(outcome) == 0


@pytest.mark.clause("D-22", "D-23", "D-24", "D-36")
def test_killed_again_and_again(fed: Fed, made: Text) -> None:
    points = ("after_unit_commit", "in_copy:9", "before_unit_commit", "after_unit_commit")
    for streams, point in zip((3, 1, 2, 4), points, strict=True):
        died = fed.inrush("run", fed.package(streams), environment={"INRUSH_FAULT": point})
        # The rest may be too short to reach the fault point.
        if died.status == LOADED_WITH_REJECTS:
            break
        assert died.status == -signal.SIGKILL, died.said
        assert not fed.place.rows(TABLE, TYPES)
    else:
        died = fed.run(3)
    fed.assert_done(died, made)


@pytest.mark.clause("D-22", "D-24", "D-36")
def test_rejects_of_a_last_range_are_kept(place: Place, inrush: Inrush) -> None:
    """A transaction of several ranges has one reject file for all of its ranges."""
    made = make(bad_from=ROWS - 800)
    assert len(made.rejects) == 1
    inrush.write("large.csv.gz", gzip.compress(made.text.encode(), 1))
    fed = Fed(place, inrush)
    fed.killed_at("before_switch", 2)
    outcome = fed.run(3)
    fed.assert_done(outcome, made)
    assert rows_sent(outcome) == 0, outcome.said


@pytest.mark.clause("D-12", "D-19", "D-36")
def test_a_file_that_ends_in_its_middle_leaves_nothing(fed: Fed, made: Text) -> None:
    path = fed.inrush.folder / fed.file
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    outcome = fed.run(STREAMS)
    assert outcome.status not in (CLEAN, LOADED_WITH_REJECTS), outcome.said
    assert fed.file in outcome.said
    assert not fed.place.rows(TABLE, TYPES)
    path.write_bytes(content)
    fed.assert_done(fed.run(STREAMS, "--again"), made)


@pytest.mark.clause("D-22", "D-36")
def test_a_file_that_changed_since_is_refused_and_loaded_anew(fed: Fed) -> None:
    fed.killed_at("after_unit_commit", STREAMS)
    other = make(first=50_000, seed="other")
    (fed.inrush.folder / fed.file).write_bytes(gzip.compress(other.text.encode(), 1))
    refused = fed.run(STREAMS)
    assert refused.status not in (CLEAN, LOADED_WITH_REJECTS), refused.said
    assert "changed since" in refused.said, refused.said
    assert not fed.place.rows(TABLE, TYPES)
    fed.assert_done(fed.run(STREAMS, "--again"), other)


@pytest.mark.clause("D-32", "D-36")
def test_the_trailer_of_a_fed_file_tells_of_all_ranges(place: Place, inrush: Inrush) -> None:
    numbers = random.Random("trailer")  # noqa: S311
    lines = [f"{number},{numbers.randbytes(1_000).hex()}\n" for number in range(6_000)]
    for promised in (len(lines) + 1, len(lines)):
        text = "".join([*lines, f"TRL,{promised}\n"])
        inrush.write("large.csv.gz", gzip.compress(text.encode(), 1))
        target = flow(
            TABLE,
            "large.csv.gz",
            columns=["id integer not null", "note text"],
            format={"header": False},
            trailer={"starts_with": "TRL", "rows_field": 2},
        )
        path = inrush.write("package.toml", place.package(target, streams=STREAMS))
        outcome = inrush("run", path)
        if promised == len(lines):
            outcome.expect(CLEAN)
        else:
            outcome.expect(VERIFICATION, f"rows = {promised}")
            assert not place.rows(TABLE, TYPES)
            inrush("cleanup", *place.words).expect(CLEAN)
    rows = place.rows(TABLE, TYPES)
    assert rows == in_order([tuple(line.rstrip().split(",")) for line in lines])


@pytest.mark.clause("D-34", "D-36")
def test_rejects_that_are_gone_are_told_again(fed: Fed, made: Text) -> None:
    fed.killed_at("before_switch", STREAMS)
    for path in (fed.inrush.folder / "runs").rglob("*.rejects*"):
        path.unlink()
    outcome = fed.run(2)
    fed.assert_done(outcome, made)
    assert "loaded again" in outcome.said


@pytest.mark.clause("D-31", "D-36")
def test_cleanup_removes_the_ranges_that_a_stopped_run_left(fed: Fed, made: Text) -> None:
    fed.killed_at("after_unit_commit", STREAMS)
    fed.inrush("status", *fed.place.words).expect(CLEAN)
    fed.inrush("cleanup", *fed.place.words).expect(CLEAN)
    assert fed.place.tables() == set()
    outcome = fed.run(STREAMS)
    fed.assert_done(outcome, made)
    assert not outcome.report["resumed"]


@pytest.mark.clause("D-32", "D-34", "D-36")
def test_all_streams_load_what_a_pipe_brings(place: Place, inrush: Inrush, made: Text) -> None:
    pipe = inrush.folder / "feed.csv"
    os.mkfifo(pipe)
    fed = Fed(place, inrush, pipe.name)
    for texts in ([made], [made, made]):
        writer = threading.Thread(target=pipe.write_text, args=(made.text,))
        writer.start()
        # A pipe never counts as loaded: each time it is a new input.
        outcome = fed.run(STREAMS, mode="append" if len(texts) > 1 else "create")
        writer.join()
        fed.assert_done(outcome, *texts)


@pytest.mark.clause("D-15", "D-36")
def test_a_pipe_without_rows_makes_the_table(place: Place, inrush: Inrush) -> None:
    pipe = inrush.folder / "feed.csv"
    os.mkfifo(pipe)
    for text in ("", HEADER):
        writer = threading.Thread(target=pipe.write_text, args=(text,))
        writer.start()
        fed = Fed(place, inrush, pipe.name)
        outcome = fed.run(STREAMS, mode="create")
        writer.join()
        outcome.expect(CLEAN)
        assert place.rows(TABLE, TYPES) == []

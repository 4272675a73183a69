"""One large file for several streams: cut into ranges, or fed to them; the same rows as by one."""

from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from command import CLEAN, LOADED_WITH_REJECTS, Inrush, Outcome
from contents import state
from packages import Value, flow, package
from servers import Database

ROWS = 220_000
BAD_ROW = 201_000
STREAMS = 3
# Text that does not shrink to nothing when it is compressed.
NOISE = "".join(sha256(str(number).encode()).hexdigest() for number in range(1_600))


@dataclass(frozen=True)
class Kind:
    """A way in which the same rows are written."""

    name: str
    write: Callable[[str], bytes]
    format: dict[str, str | int | bool]
    quoted: bool


KINDS = [
    Kind("quoted.csv", str.encode, {"preset": "csv", "header": True}, True),
    Kind("plain.psv", str.encode, {"delimiter": "|", "quote": "", "header": True}, False),
    Kind("old.csv", lambda text: text.replace("\n", "\r").encode(),
         {"preset": "csv", "header": True, "terminator": "cr"}, True),
    Kind("packed.csv.gz", lambda text: gzip.compress(text.encode(), 1),
         {"preset": "csv", "header": True}, True),
    Kind("wide.csv", lambda text: text.encode("utf-16"),
         {"preset": "csv", "header": True}, True),
]  # fmt: skip

Row = tuple[int, int, str]


def noise(number: int) -> str:
    """Return some of the noise, of another length and from another place for each number."""
    start = number * 977 % 90_000
    return NOISE[start : start + number % 180]


def rows_and_text(kind: Kind, *, bad_row: int | None = None) -> tuple[list[Row], str, int, int]:
    """Return rows with their lines, the file's text, and the bad row's line and character."""
    delimiter = "," if kind.quoted else "|"
    lines = [delimiter.join(("id", "note"))]
    rows: list[Row] = []
    line, character = 2, len(lines[0]) + 1
    bad_line = bad_character = 0
    for number in range(ROWS):
        if kind.quoted and number % 7 == 0:
            note = f'line one of {number}, "quoted" ü\n\nline three {noise(number)}'
            written = '"' + note.replace('"', '""') + '"'
        else:
            note = f"note ü {number} {noise(number)}"
            written = note
        key = str(number)
        if number == bad_row:
            key, bad_line, bad_character = "bad", line, character
        else:
            rows.append((number, line, note))
        record = key + delimiter + written
        lines.append(record)
        line += 1 + written.count("\n")
        character += len(record) + 1
    return rows, "\n".join(lines) + "\n", bad_line, bad_character


def load(
    database: Database,
    inrush: Inrush,
    kind: Kind,
    file: str | Path,
    *,
    fault: str | None = None,
    streams: int = STREAMS,
    **more: Value,
) -> Outcome:
    line_column = '{ name = "line", type = "int", source = "line" }'
    columns = f'columns = ["id int not null", "note text", {line_column}]\n'
    written = flow("loaded", file, format=kind.format, **more)
    text = package(database.url, written.rstrip("\n") + "\n" + columns, streams=streams)
    if fault is None:
        return inrush("run", inrush.write("package.toml", text))
    environment = {"INRUSH_FAULT": fault}
    with inrush.start("run", inrush.write("package.toml", text), environment=environment) as run:
        return run.wait()


def loaded(database: Database) -> list[Row]:
    found: list[Row] = database.rows("SELECT id, line::int, note FROM loaded ORDER BY id, line")
    return found


def expected(kind: Kind, rows: list[Row]) -> list[Row]:
    # A file of lone carriage returns has them inside of its quotes too.
    mend = kind.format.get("terminator") == "cr"
    return [(key, line, note.replace("\n", "\r") if mend else note) for key, line, note in rows]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_one_file_by_several_streams(newest_database: Database, inrush: Inrush, kind: Kind) -> None:
    rows, text, bad_line, bad_character = rows_and_text(kind, bad_row=BAD_ROW)
    file = inrush.folder / kind.name
    file.write_bytes(kind.write(text))
    outcome = load(newest_database, inrush, kind, kind.name, rejects={"rows_max": 1})
    outcome.expect(LOADED_WITH_REJECTS)
    assert loaded(newest_database) == expected(kind, rows)
    (reject,) = outcome.rejects()
    # In the file's own encoding.
    encoding = "utf-16" if kind.name == "wide.csv" else "utf-8"
    offset = len(text[:bad_character].encode(encoding))
    assert (reject["line"], reject["byte_offset"]) == (bad_line, offset)
    report = outcome.report
    assert report["account"]["rows_read"] == ROWS
    assert sum(stream["pieces"] for stream in report["streams"]) > 1
    assert all(stream["meter"]["rows"] > 0 for stream in report["streams"])
    # However many streams there are the next time.
    for streams in (1, STREAMS):
        again = load(
            newest_database, inrush, kind, kind.name, streams=streams, rejects={"rows_max": 1}
        )
        again.expect(CLEAN, "already loaded")


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[1], KINDS[3]], ids=lambda kind: kind.name)
@pytest.mark.parametrize(
    "fault", ["in_copy:9", "before_unit_commit:2", "after_unit_commit:2", "before_switch"]
)
def test_a_kill_loses_no_range_and_doubles_none(
    newest_database: Database, inrush: Inrush, kind: Kind, fault: str
) -> None:
    rows, text, _, _ = rows_and_text(kind)
    (inrush.folder / kind.name).write_bytes(kind.write(text))
    killed = load(newest_database, inrush, kind, kind.name, fault=fault)
    assert killed.status == -9, killed.said
    assert "loaded" not in str(state(newest_database))
    outcome = load(newest_database, inrush, kind, kind.name)
    outcome.expect(CLEAN)
    assert outcome.report["resumed"]
    assert loaded(newest_database) == expected(kind, rows)


def test_a_pipe_by_several_streams(newest_database: Database, inrush: Inrush) -> None:
    kind = KINDS[0]
    rows, text, _, _ = rows_and_text(kind)
    pipe = inrush.folder / "feed.csv"
    os.mkfifo(pipe)
    for time in (1, 2):
        writer = threading.Thread(target=pipe.write_text, args=(text,))
        writer.start()
        load(newest_database, inrush, kind, pipe.name, mode="append" if time == 2 else "create")
        writer.join()
        # A pipe is never loaded already: the second time it is another one.
        assert loaded(newest_database) == sorted(expected(kind, rows) * time)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_user_can_prove_it(inrush: Inrush, kind: Kind) -> None:
    _, text, _, _ = rows_and_text(kind)
    (inrush.folder / kind.name).write_bytes(kind.write(text[: 1 << 20]))
    format_words = ",".join(
        name if value is True else f"{name}={value}" for name, value in kind.format.items()
    )
    for more in ([], ["--range-bytes", "777"]):
        outcome = inrush("verify", "--split", kind.name, "--format", format_words, *more)
        outcome.expect(CLEAN, "the same in pieces as in one go")

"""Several streams load the same rows from one large file, cut or fed, as one stream does."""

from __future__ import annotations

import gzip
import io
import os
import re
import threading
import zipfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from harness import pauses
from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, USAGE, Inrush, Outcome
from harness.contents import state
from harness.packages import Value, flow, package
from harness.servers import Database

# Few rows, because they are long: a file has three ranges, or six if it is fed.
ROWS = 68_000
BAD_ROW = 62_000
LONGEST_NOTE = 720
STREAMS = 3
# Some rows of each range wait while the gate is closed.
GATED = (
    pauses.HELD_DOMAIN
    + """
    CREATE DOMAIN gated AS int CHECK (VALUE % 1000 <> 0 OR pass_gate(-1));
    CREATE TABLE loaded (id gated NOT NULL, note text, line int);
"""
)
# Text that does not compress to almost nothing.
NOISE = "".join(sha256(str(number).encode()).hexdigest() for number in range(1_600))


@dataclass(frozen=True)
class Kind:
    """A form in which the same rows are written."""

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


def noise(number: int, longest: int = 180) -> str:
    """Return a part of the noise, with another length and start for each number."""
    start = number * 977 % 90_000
    return NOISE[start : start + number % longest]


def rows_and_text(kind: Kind, *, bad_row: int | None = None) -> tuple[list[Row], str, int, int]:
    """Return rows with their lines, the file's text, and the bad row's line and character."""
    delimiter = "," if kind.quoted else "|"
    lines = [delimiter.join(("id", "note"))]
    rows: list[Row] = []
    line, character = 2, len(lines[0]) + 1
    bad_line = bad_character = 0
    for number in range(ROWS):
        if kind.quoted and number % 7 == 0:
            note = f'line one of {number}, "quoted" ü\n\nline three {noise(number, LONGEST_NOTE)}'
            written = '"' + note.replace('"', '""') + '"'
        else:
            note = f"note ü {number} {noise(number, LONGEST_NOTE)}"
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


def write_package(
    database: Database,
    inrush: Inrush,
    kind: Kind,
    file: str | Path,
    *,
    streams: int = STREAMS,
    **more: Value,
) -> Path:
    line_column = '{ name = "line", type = "int", source = "line" }'
    columns = f'columns = ["id int not null", "note text", {line_column}]\n'
    written = flow("loaded", file, format=kind.format, **more)
    text = package(database.url, written.rstrip("\n") + "\n" + columns, streams=streams)
    return inrush.write("package.toml", text)


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
    path = write_package(database, inrush, kind, file, streams=streams, **more)
    return inrush("run", path, environment={} if fault is None else {"INRUSH_FAULT": fault})


def loaded(database: Database) -> list[Row]:
    found: list[Row] = database.rows("SELECT id, line::int, note FROM loaded ORDER BY id, line")
    return found


def expected(kind: Kind, rows: list[Row]) -> list[Row]:
    # A file with carriage returns as line ends also has them inside its quotes.
    mend = kind.format.get("terminator") == "cr"
    return [(key, line, note.replace("\n", "\r") if mend else note) for key, line, note in rows]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_one_file_by_several_streams(newest_database: Database, inrush: Inrush, kind: Kind) -> None:
    rows, text, bad_line, bad_character = rows_and_text(kind, bad_row=BAD_ROW)
    file = inrush.folder / kind.name
    file.write_bytes(kind.write(text))
    newest_database.execute(GATED)
    path = write_package(
        newest_database, inrush, kind, kind.name, mode="append", rejects={"rows_max": 1}
    )
    # A file of two pieces is read by two streams.
    plan = inrush("check", path).expect(CLEAN).output
    (planned,) = re.findall(r"^Streams +([0-9]+)", plan, re.MULTILINE)
    with ExitStack() as gate:
        gate.enter_context(pauses.closed_gate(newest_database))
        with inrush.start("run", path) as running:
            # Each stream has received a piece, even the one that began last.
            pauses.wait_until_held(newest_database, sessions=int(planned))
            gate.close()
            outcome = running.wait()
    outcome.expect(LOADED_WITH_REJECTS)
    assert loaded(newest_database) == expected(kind, rows)
    (reject,) = outcome.rejects()
    # The rejects have the file's own encoding.
    encoding = "utf-16" if kind.name == "wide.csv" else "utf-8"
    offset = len(text[:bad_character].encode(encoding))
    assert (reject["line"], reject["byte_offset"]) == (bad_line, offset)
    report = outcome.report
    assert report["account"]["rows_read"] == ROWS
    assert len(report["streams"]) == int(planned) > 1
    assert sum(stream["pieces"] for stream in report["streams"]) > 1
    assert all(stream["meter"]["rows"] > 0 for stream in report["streams"])
    # The number of streams of the next run may differ.
    for streams in (1, STREAMS):
        again = load(
            newest_database,
            inrush,
            kind,
            kind.name,
            streams=streams,
            mode="append",
            rejects={"rows_max": 1},
        )
        again.expect(LOADED_WITH_REJECTS, "already loaded")


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
        # A pipe never counts as loaded: each time it is a new input.
        assert loaded(newest_database) == sorted(expected(kind, rows) * time)


def test_a_pipe_is_planned_without_a_size(newest_database: Database, inrush: Inrush) -> None:
    os.mkfifo(inrush.folder / "feed.csv")
    columns: Value = ["id int", "note text"]
    form: Value = {"header": False}
    written = flow("loaded", "feed.csv", columns=columns, format=form)
    text = package(newest_database.url, written, streams=STREAMS)
    outcome = inrush("check", inrush.write("package.toml", text)).expect(CLEAN)
    assert "1 file, of unknown size" in outcome.output
    assert "for the reader that feeds them" in outcome.output
    assert " 0 B" not in outcome.output


def archive(members: dict[str, bytes]) -> bytes:
    """Return a zip archive."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return written.getvalue()


def test_each_member_of_an_archive_is_a_file(newest_database: Database, inrush: Inrush) -> None:
    rows: list[tuple[object, ...]] = []
    members: dict[str, bytes] = {}
    for part in (1, 2, 3):
        lines = ["id,note"]
        for line in range(2, 30_002):
            key = part * 100_000 + line
            # The text is sometimes empty, which means NULL.
            note = noise(key)
            rows.append((key, f"feed.zip/part.{part}.csv", line, note or None))
            lines.append(f"{key},{note}")
        members[f"part.{part}.csv"] = ("\n".join(lines) + "\n").encode()
    file_column = '{ name = "file", type = "text", source = "file" }'
    line_column = '{ name = "line", type = "int", source = "line" }'
    columns = f'columns = ["id int not null", {file_column}, {line_column}, "note text"]\n'
    # A damaged file may return rows before the damage is found.
    written = flow("loaded", "feed.zip/*.csv", rejects={"rows_max": 1_000_000})
    text = package(newest_database.url, written.rstrip("\n") + "\n" + columns, streams=2)
    path = inrush.write("package.toml", text)
    # One member is damaged: the message names it, and nothing is loaded.
    whole = archive(members)
    start = whole.index(b"part.2.csv") + 2000
    inrush.write("feed.zip", whole[:start] + bytes(64) + whole[start + 64 :])
    outcome = inrush("run", path).expect(FAILED, "feed.zip/part.2.csv", "damaged")
    assert "loaded" not in str(state(newest_database)), outcome.said
    # After the fix, a load that was killed after its first commit resumes where it stopped, because
    # the text of the members that were loaded before is unchanged.
    inrush.write("feed.zip", whole)
    environment = {"INRUSH_FAULT": "after_unit_commit:1"}
    with inrush.start("run", path, environment=environment) as killed:
        assert killed.wait().status == -9
    inrush("run", path).expect(CLEAN)
    order = "SELECT id, file, line::int, note FROM loaded ORDER BY id"
    found = [
        (key, file[file.index("feed.zip") :], line, note)
        for key, file, line, note in newest_database.rows(order)
    ]
    assert found == rows


def test_rejects_are_loaded_again_by_the_same_package(
    newest_database: Database, inrush: Inrush
) -> None:
    text = 'id,note\n1,"größe"\nx,"two\nlines"\n3,c\ny,ü\n4,"never closed,\n5,e\n'
    inrush.write("rows.csv", text.encode("utf-16"))
    newest_database.execute("CREATE TABLE loaded (id int NOT NULL, note text)")
    columns: Value = ["id int not null", "note text"]
    limit: Value = {"rows_max": 9}

    def load_from(files: str) -> Outcome:
        settings = flow("loaded", files, columns=columns, rejects=limit, mode="append")
        written = package(newest_database.url, settings, streams=1)
        return inrush("run", inrush.write("package.toml", written))

    outcome = load_from("rows.csv").expect(LOADED_WITH_REJECTS)
    assert newest_database.rows("SELECT * FROM loaded") == [(1, "größe"), (3, "c")]
    codes = [reject["code"] for reject in outcome.rejects()]
    assert sorted(codes) == ["syntax", "syntax", "unclosed_quote"]
    assert {reject["encoding"] for reject in outcome.rejects()} == {"UTF-16LE"}
    kept = sorted((outcome.run_folders()[-1] / "rejects").glob("*.rejects"))
    assert [re.sub(r"[0-9a-f]{16}", "KEY", file.name) for file in kept] == [
        "loaded.KEY.last.rejects",
        "loaded.KEY.rejects",
    ]
    for file in kept:
        # Unchanged rows are rejected again.
        inrush.write(f"again/{file.name}.csv", file.read_bytes())
    again = load_from("again/*.csv").expect(LOADED_WITH_REJECTS)
    assert sorted(reject["code"] for reject in again.rejects()) == sorted(codes)
    for file in kept:
        mended = file.read_bytes().decode("utf-16").replace("x,", "2,").replace("y,", "6,")
        mended = mended.replace('"never closed', "closed").replace(",\n5,e", "\n5,e")
        inrush.write(f"mended/{file.name}.csv", mended.encode("utf-16"))
    load_from("mended/*.csv").expect(CLEAN)
    assert newest_database.rows("SELECT * FROM loaded ORDER BY id") == [
        (1, "größe"), (2, "two\nlines"), (3, "c"), (4, "closed"), (5, "e"), (6, "ü"),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_user_can_prove_it(inrush: Inrush, kind: Kind) -> None:
    _, text, _, _ = rows_and_text(kind)
    (inrush.folder / kind.name).write_bytes(kind.write(text[: 1 << 20]))
    format_words = ",".join(
        name if value is True else f"{name}={value}" for name, value in kind.format.items()
    )
    for more in ([], ["--range-bytes", "777"]):
        outcome = inrush("verify", "--split", kind.name, "--format", format_words, *more)
        outcome.expect(CLEAN, "gives the same as reading in one go")


MARK = "\ufeff"
NAMES = "".join(f"{number},name{number}\n" for number in range(300))
BEGINNINGS = {
    "mark": f"{MARK}id,name\n1,Ann\n2,Bob\n",
    "blank_lines": f"\n\nid,name\n{NAMES}",
    "comment": f"# exported 2024-01-01 by the nightly job of the warehouse\nid,name\n{NAMES}",
    "long_comment": f"# {'x' * 300}\nid,name\n{NAMES * 20}",
}


@pytest.mark.parametrize("name", BEGINNINGS)
def test_what_stands_before_the_header_is_no_difference(inrush: Inrush, name: str) -> None:
    inrush.write("a.csv", BEGINNINGS[name])
    for more in ([], ["--range-bytes", "1"]):
        outcome = inrush("verify", "--split", "a.csv", *more)
        outcome.expect(CLEAN, "gives the same as reading in one go")


@pytest.mark.parametrize("text", [f"{MARK}1,Ann\n2,Bob\n", f"{MARK}\n1,Ann\n"])
def test_a_mark_before_rows_is_no_difference(inrush: Inrush, text: str) -> None:
    inrush.write("a.csv", text)
    words = ("--format", "csv,no_header", "--range-bytes")
    for range_bytes in ("1", "2", "3", "4", "5"):
        outcome = inrush("verify", "--split", "a.csv", *words, range_bytes)
        outcome.expect(CLEAN, "gives the same as reading in one go")


@pytest.mark.parametrize("quote", ["", ",quote="])
def test_a_header_behind_the_first_range_is_no_row(
    newest_database: Database, inrush: Inrush, quote: str
) -> None:
    # Files are cut from 16 MiB on, here in the middle of the comments.
    comments = f"# {'what it is, ' * 80}\n" * 13_500
    rows = [(number, noise(number)) for number in range(60_000)]
    text = "".join(f"{number},{note}\n" for number, note in rows)
    file = inrush.write("a.csv", f"{comments}id,note\n{text}")
    words = ("--format", f"csv,comment=#{quote}", "--columns", "id int, note text")
    to = ("--to", newest_database.url, "--table", "t")
    inrush("load", file, *to, *words, "--streams", "2").expect(CLEAN)
    found = newest_database.rows("SELECT id, coalesce(note, '') FROM t ORDER BY id")
    assert found == rows


@pytest.mark.parametrize("name", ["one.tsv.gz", "wide.tsv"])
def test_an_end_marker_is_a_reject_wherever_a_chunk_ends(
    newest_database: Database, inrush: Inrush, name: str
) -> None:
    # Every chunk of every range ends right after a record, or nearly so.
    noted = [f"{number}\t{noise(number)}\n" for number in range(60_000)]
    text = "".join(line + "\\.\n" * (number % 2) for number, line in enumerate(noted))
    write = gzip.compress if name.endswith(".gz") else lambda text: text.decode().encode("utf-16")
    file = inrush.write(name, write(text.encode()))
    lines = [line for line, written in enumerate(text.splitlines(), 1) if written == "\\."]
    # The last end marker ends the file, so it is not a reject.
    expected = lines[:-1]
    for streams in ("1", "3"):
        words = ("--format", "tsv", "--columns", "id int, note text", "--max-rejects", "99999")
        to = ("--to", newest_database.url, "--table", f"t{streams}", "--streams", streams)
        outcome = inrush("load", file, *to, *words).expect(LOADED_WITH_REJECTS)
        found = outcome.rejects()
        assert [reject["line"] for reject in found] == expected
        assert {reject["code"] for reject in found} == {"end_marker"}
        assert newest_database.rows(f"SELECT count(*) FROM t{streams}") == [(60_000,)]
    outcome = inrush("verify", "--split", name, "--format", "tsv", "--range-bytes", "9999")
    outcome.expect(CLEAN, "fed by one reader", "gives the same as reading in one go")


def test_the_files_of_a_package_can_be_proven(inrush: Inrush) -> None:
    lines = "".join(f"{number:<6}näme {number:<6}\n" for number in range(500))
    inrush.write("data/a.dat", lines)
    inrush.write("data/b.dat", lines.replace("\n", ""))
    inrush.write("data/c.csv", 'id;note\n1;"x\ny"\n2;z\n')
    form: Value = {"fixed": [[1, 6], [7, 11]], "fixed_unit": "characters", "header": False}
    records: Value = {"fixed": [[1, 6], [7, 12]], "record_bytes": 18, "header": False}
    columns: Value = ["id int", "note text"]
    written = package(
        "postgresql://nobody@nowhere.invalid/none",
        flow("lines", "{data}/a.dat", format=form, columns=columns),
        flow("other", "{data}/b.dat", format=records, columns=columns, name="records"),
        flow("guessed", "{data}/c.csv"),
    )
    inrush.write("feed.toml", written + '\n[parameters]\ndata = "nowhere"\n')
    words = ("verify", "--split", "feed.toml", "--set", "data=data")
    outcome = inrush(*words, "--range-bytes", "7").expect(CLEAN)
    assert outcome.output.count("gives the same as reading in one go") == 3
    for part in ("data/a.dat: 500 records", "data/b.dat: 500 records", "data/c.csv: 2 records"):
        assert part in outcome.output
    outcome = inrush(*words, "--flow", "records").expect(CLEAN, "b.dat")
    assert "a.dat" not in outcome.output
    inrush(*words, "--flow", "record").expect(USAGE, "no flow", "lines, records, guessed")
    inrush(*words, "--format", "csv").expect(USAGE, "--format", "package")
    inrush("verify", "--split", "data/c.csv", "--flow", "x").expect(USAGE, "--flow", "package")
    inrush("verify", "--split", "feed.toml", "data/c.csv").expect(USAGE, "only one package")


def test_no_standard_input_is_said(newest_database: Database, inrush: Inrush) -> None:
    words = ("load", "-", "--to", newest_database.url, "--table", "t", "--columns", "id int")
    with inrush.start(*words, before=("bash", "-c", 'exec "$0" "$@" <&-')) as running:
        running.wait().expect(FAILED, "-: there is no standard input")
    # A user who loads files does not need a standard input.
    file = inrush.write("a.csv", "id\n1\n")
    words = ("load", str(file), *words[2:])
    with inrush.start(*words, before=("bash", "-c", 'exec "$0" "$@" <&-')) as running:
        running.wait().expect(CLEAN)
    assert newest_database.rows("SELECT id FROM t") == [(1,)]

"""A large file that is cut into ranges or fed to streams gives the rows of a serial reader.

The code that makes the file knows the right result: every row, and the place of every reject.
"""

from __future__ import annotations

import gzip
import random
from collections import Counter
from dataclasses import dataclass, field

import pytest

from harness.command import LOADED_WITH_REJECTS, Inrush
from harness.contents import differing_rows
from harness.nasty_csv import Dialect, Writer, seed
from harness.packages import flow, package
from harness.servers import Database, Server

MIB = 1 << 20

# Records, without their numbers, and the fault of each.
FAULTS = {
    ',a"b,': "stray_quote",
    ',"a\r\n""b""" ,': "text_after_quote",
    ',"a"b,"\n"': "text_after_quote",
    ",lone \r return,": "bare_carriage_return",
    ",a\r\r": "bare_carriage_return",
    ",few": "field_count",
    ',"many\n",,': "field_count",
    ',nul \0 byte,"\n\n"': "nul_byte",
}

# Text of a quoted field that looks like good records to a reader that starts inside it.
DECEPTION = '""\n1,a,b\r\n2,"",c"",d\n\n3,,""""\n'


DIALECTS = {
    "doubled_quotes": Dialect(),
    "escapes": Dialect(delimiter=";", quote="'", escape="\\"),
}


def in_dialect(text: str, dialect: Dialect) -> str:
    """Return an RFC 4180 text in another dialect."""
    for pair in (
        (",", dialect.delimiter),
        ('""', dialect.escape + dialect.quote),
        ('"', dialect.quote),
    ):
        text = text.replace(*pair)
    return text


@dataclass
class LargeFile:
    """A file, its rows in a table, and the places of its rejects in bytes of each encoding."""

    database: Database
    dialect: Dialect
    text: str = ""
    good_rows: int = 0
    blank_lines: int = 0
    rejects: dict[str, list[tuple[int, int, str]]] = field(default_factory=dict)
    rejected_text: str = ""

    def encoded(self, encoding: str) -> bytes:
        """Return its bytes, with a byte order mark for UTF-16."""
        mark = "\ufeff" if encoding == "utf-16-le" else ""
        return (mark + self.text).encode(encoding)


def make(numbers: random.Random, database: Database, dialect: Dialect) -> LargeFile:
    """Make the file, and a table of its rows with COPY."""
    made = LargeFile(database, dialect)
    writer = Writer(numbers, dialect)
    comma = dialect.delimiter
    pool: list[tuple[str, str | None]] = [
        (f"{comma}{writer.quoted(counts=(20, 40))}{comma}{writer.quoted()}", None)
        for _ in range(1000)
    ]
    pool += [(in_dialect(tail, dialect), code) for tail, code in FAULTS.items()]
    sizes = {
        tail: {encoding: len(tail.encode(encoding)) for encoding in ("utf-8", "utf-16-le")}
        for tail, _ in pool
    }
    # It is longer than a range, whatever its place: from 6 MiB to 16 MiB.
    deception = in_dialect(DECEPTION, dialect) * (10 * MIB // len(DECEPTION))
    pieces: list[str] = []
    good: list[str] = []
    bad: list[str] = []
    offsets = {"utf-8": 0, "utf-16-le": 2}
    made.rejects = {encoding: [] for encoding in offsets}
    line = 1

    def put(text: str, **bytes_of: int) -> None:
        nonlocal line
        pieces.append(text)
        line += text.count("\n")
        offsets["utf-8"] += bytes_of.get("utf8", len(text))
        offsets["utf-16-le"] += bytes_of.get("utf16", 2 * len(text))

    number = 0
    # Three ranges: the second begins in the text that deceives, the third behind it.
    while offsets["utf-8"] < 28 * MIB:
        number += 1
        tail, code = numbers.choice(pool)
        if number == 50_000:
            tail, code = in_dialect(',"', dialect) + deception + in_dialect('",', dialect), None
            sizes[tail] = {"utf-8": len(tail), "utf-16-le": 2 * len(tail)}
        line_end = numbers.choice(("\n", "\n", "\r\n"))
        if code is None:
            good.append(f"{number}{tail}\n")
        else:
            for encoding, offset in offsets.items():
                made.rejects[encoding].append((line, offset, code))
            # A return before the line feed is part of the line end. A second return is a fault. It
            # must stay a fault when the row is replayed, so the kept row also has two returns.
            row = f"{number}{tail}{line_end}".removesuffix("\n").removesuffix("\r")
            bad.append(row + ("\r\n" if row.endswith("\r") else "\n"))
        put(str(number))
        put(tail, utf8=sizes[tail]["utf-8"], utf16=sizes[tail]["utf-16-le"])
        put(line_end)
        if numbers.random() < 0.01:
            made.blank_lines += 1
            put("\r\n")
    # The last line ends with the file, inside a quoted field.
    for encoding, offset in offsets.items():
        made.rejects[encoding].append((line, offset, "unclosed_quote"))
    unclosed = in_dialect('0,"never closed,\n', dialect)
    put(unclosed)
    made.rejected_text = "".join([*bad, unclosed])
    made.text = "".join(pieces)
    made.good_rows = len(good)
    database.execute("CREATE TABLE expected (id int, a text, b text)")
    statement = f"COPY expected FROM STDIN ({dialect.copy_options})"
    with database.connect() as connection, connection.cursor().copy(statement.encode()) as copy:
        copy.write("".join(good))
    return made


@pytest.fixture(scope="module", params=DIALECTS)
def large_file(request: pytest.FixtureRequest, newest_server: Server) -> LargeFile:
    """Return the file in each dialect, made once."""
    print(f"INRUSH_TEST_SEED={seed()}")
    numbers = random.Random(f"{seed()} {request.param}")  # noqa: S311
    database = newest_server.create_database(f"one_large_file_{request.param}")
    return make(numbers, database, DIALECTS[request.param])


@pytest.mark.parametrize(
    ("name", "encoding", "streams"),
    [
        ("alone.csv", "utf-8", 1),
        ("cut.csv", "utf-8", 4),
        ("fed.csv.gz", "utf-8", 4),
        ("translated.csv", "utf-16-le", 4),
    ],
)
def test_every_way_reads_the_same(
    large_file: LargeFile, inrush: Inrush, name: str, encoding: str, streams: int
) -> None:
    database = large_file.database
    table = name.partition(".")[0]
    content = large_file.encoded(encoding)
    inrush.write(name, gzip.compress(content, 1) if name.endswith(".gz") else content)
    text = package(
        database.url,
        flow(
            table,
            name,
            columns=["id int", "a text", "b text"],
            format=large_file.dialect.inrush_format | {"record_bytes_max": 64 * MIB},
            rejects={"rows_max": 1_000_000},
        ),
        name=table,
        streams=streams,
    )
    outcome = inrush("run", "--quiet", inrush.write("package.toml", text))
    outcome.expect(LOADED_WITH_REJECTS)
    rejects = [(one["line"], one["byte_offset"], one["code"]) for one in outcome.rejects()]
    assert sorted(rejects, key=lambda one: one[1]) == large_file.rejects[encoding]
    folder = outcome.run_folders()[-1] / "rejects"
    # The rejects are written in the encoding of the file, so that the same package reads them.
    kept_in = "utf-16" if encoding == "utf-16-le" else encoding
    kept = "".join(path.read_bytes().decode(kept_in) for path in folder.glob("*.rejects"))
    assert Counter(kept.split("\n")) == Counter(large_file.rejected_text.split("\n"))
    (unit,) = outcome.report["units"]
    assert (len(unit["files"]) > 1) == (name == "cut.csv"), "ranges of the file"
    account = outcome.report["account"]
    assert account["rows_loaded"] == large_file.good_rows
    assert account["rows_rejected"] == len(rejects)
    assert account["rows_skipped"] == large_file.blank_lines
    assert differing_rows(database, "expected", table) == 0
    database.execute(f"DROP TABLE {table}")

"""Inrush reads CSV like PostgreSQL's `COPY ... CSV`, or the difference is documented."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import psycopg

from harness.command import CLEAN, LOADED_WITH_REJECTS, Inrush
from harness.nasty_csv import (
    BYTE_ORDER_MARK,
    Dialect,
    NastyFile,
    line_end_at,
    mended,
    nasty_files,
    record_end,
    seed,
)
from harness.packages import flow, package
from harness.servers import Database

Rows = list[tuple[Any, ...]]

# Records that COPY loads and Inrush rejects, because readers interpret them differently.
COPY_TAKES = {"stray_quote", "text_after_quote", "bare_carriage_return"}

# For a longer search, the environment can set a larger number and another seed.
FILES = {
    version: int(os.environ.get("INRUSH_TEST_FILES", count))
    for version, count in {18: 250, 15: 80}.items()
}


@dataclass(frozen=True)
class Loaded:
    """The result of loading a file with Inrush."""

    rows: Rows
    rejects: list[dict[str, Any]]


def comparable(rows: Rows) -> Rows:
    """Return rows in an order that does not depend on how they were loaded."""
    return sorted(rows, key=lambda row: [(value is None, value or "") for value in row])


def copied(connection: psycopg.Connection[Any], dialect: Dialect, text: bytes) -> Rows | str:
    """Return the rows that COPY reads from a text, or its error."""
    columns = ", ".join(f"{name} text" for name in dialect.names)
    with connection.transaction(force_rollback=True):
        connection.execute(f"CREATE TEMPORARY TABLE copied ({columns})".encode())
        try:
            with connection.transaction():
                statement = f"COPY copied FROM STDIN ({dialect.copy_options})"
                with connection.cursor().copy(statement.encode()) as copy:
                    copy.write(text)
        except psycopg.DataError as refusal:
            return str(refusal)
        return comparable(connection.execute("TABLE copied").fetchall())


def load(database: Database, inrush: Inrush, files: list[NastyFile]) -> dict[int, Loaded]:
    """Load each file into a separate table, all in one run."""
    flows = []
    for file in files:
        inrush.write(f"files/{file.name}", file.text)
        flow_text = flow(
            f"loaded_{file.number}",
            f"files/{file.name}",
            columns=[f"{name} text" for name in file.dialect.names],
            format=file.inrush_format,
            rejects={"rows_max": 1000},
        )
        flows.append(flow_text)
    text = package(
        database.url,
        *flows,
        name=f"files_from_{files[0].number}",
        chunk_bytes=65536,
        batch_rows=64,
        analyze=False,
    )
    outcome = inrush("run", "--quiet", inrush.write("package.toml", text))
    assert outcome.status in (CLEAN, LOADED_WITH_REJECTS), outcome.said
    rejects: dict[str, list[dict[str, Any]]] = {}
    for reject in outcome.rejects():
        rejects.setdefault(reject["file"].rpartition("/")[2], []).append(reject)
    found = {}
    with database.connect() as connection:
        for file in files:
            rows = connection.execute(f"TABLE loaded_{file.number}".encode()).fetchall()
            found[file.number] = Loaded(comparable(rows), rejects.get(file.name, []))
    return found


def without_rejects(file: NastyFile, rejects: list[dict[str, Any]]) -> bytes:
    """Return a file without its mark and its rejected records."""
    kept = bytearray()
    begin = len(BYTE_ORDER_MARK) if file.has_mark else 0
    for reject in rejects:
        start = reject["byte_offset"]
        is_start = start in (0, len(BYTE_ORDER_MARK)) or file.text[start - 1] in b"\r\n"
        assert is_start, f"no record starts at {start}\n{reject}\n{file}"
        line_end = b"\r" if file.dialect.returns_only else b"\n"
        assert reject["line"] == 1 + file.text.count(line_end, 0, start), f"{reject}\n{file}"
        assert start >= begin, f"not in order: {reject}\n{file}"
        kept += file.text[begin:start]
        begin = record_end(file.dialect, file.text, start)
        begin += len(line_end_at(file.dialect, file.text, begin))
    return bytes(kept + file.text[begin:])


def judge(connection: psycopg.Connection[Any], file: NastyFile, loaded: Loaded) -> set[str]:
    """Fail unless Inrush and COPY read a file alike or differ in a documented way.

    Return the names of the differences, or `same` if there are none.
    """
    rows = copied(connection, file.dialect, file.text)
    if rows == loaded.rows and not loaded.rejects:
        return {"same"}
    names = set()
    if loaded.rejects and isinstance(rows, str):
        names.add("both_refuse")
    elif loaded.rejects:
        code = loaded.rejects[0]["code"]
        assert code in COPY_TAKES, f"COPY takes it, and Inrush rejects it: {code}\n{file}"
        names.add(code)
    text = without_rejects(file, loaded.rejects)
    text, differences = mended(file, text)
    differences |= {"byte_order_mark"} if file.has_mark else set()
    assert loaded.rejects or differences, f"COPY: {rows}\nInrush: {loaded.rows}\n{file}"
    rest = copied(connection, file.dialect, text)
    found = f"{loaded.rejects}\n{file}\nmended: {text!r}\nCOPY: {rest}\nInrush: {loaded.rows}"
    assert rest == loaded.rows, found
    return names | differences


def test_nasty_files_are_read_as_copy_reads_them(database: Database, inrush: Inrush) -> None:
    print(f"INRUSH_TEST_SEED={seed()}")
    version = database.server.version
    numbers = random.Random(f"{seed()} {version}")  # noqa: S311
    files = nasty_files(numbers, FILES[version], end_markers=version >= 18)
    # Not all at once, because the switch holds a lock for each table.
    loaded: dict[int, Loaded] = {}
    for first in range(0, len(files), 250):
        loaded |= load(database, inrush, files[first : first + 250])
    met: Counter[str] = Counter()
    wrong = []
    with database.connect() as connection:
        for file in files:
            try:
                met.update(judge(connection, file, loaded[file.number]))
            except AssertionError as difference:
                wrong.append(str(difference))
    print(dict(met))
    assert not wrong, "\n\n".join(wrong)
    # The test shows nothing if all generated files are faulty, or none is.
    assert min(met["same"], met["both_refuse"]) > len(files) / 10


BACKSLASH = Dialect(columns=2, escape="\\")

CORNERS: list[tuple[str, bytes, Dialect]] = [
    ("same", b"a,b\n", Dialect(columns=2)),
    ("same", b"a,b\r\nc,d", Dialect(columns=2)),
    ("same", b"", Dialect(columns=2)),
    ("same", b"c0,c1\n", Dialect(columns=2, header=True)),
    ("same", b'"c0",c1\n"a\n",b\n', Dialect(columns=2, header=True)),
    ("same", b'"a\r\r\n","\r"\r\n"\n\n",""\r\n', Dialect(columns=2)),
    ("same", b'"","""",""","""\n,  , \n', Dialect()),
    ("same", b"a,b\rc,d\r", Dialect(columns=2, returns_only=True)),
    ("same", b"\\N,\\.\n", Dialect(columns=2)),
    ("same", b'\\N,"\\N"\n', Dialect(columns=2, null="\\N")),
    ("same", b'\\N,"\\N"\n', Dialect(columns=2, null="\\N", null_quoted=True)),
    ("same", b',""\n', Dialect(columns=2, null_quoted=True)),
    ("same", b'a\n\n""\n\n', Dialect(columns=1)),
    ("same", b"\n\n", Dialect(columns=1, null="-")),
    ("same", b'"\\"\\\\",\\\n', BACKSLASH),
    ("same", b"'a,''';b\n", Dialect(columns=2, delimiter=";", quote="'", escape="'")),
    ("blank_line", b"\na,b\n\n\nc,d\n\n", Dialect(columns=2)),
    ("mixed_line_ends", b"a,b\r\nc,d\n", Dialect(columns=2)),
    ("mixed_line_ends", b"a,b\nc,d\r\n", Dialect(columns=2)),
    ("byte_order_mark", BYTE_ORDER_MARK + b'"a",b\n', Dialect(columns=2)),
    ("escaped_ordinary_byte", b'"a\\b",c\n', BACKSLASH),
    ("stray_quote", b'a"b",c\n', Dialect(columns=2)),
    ("both_refuse", b'a"b,c\n', Dialect(columns=2)),
    ("stray_quote", b' "a",c\n', Dialect(columns=2)),
    ("stray_quote", b'a"\n"b,c\n', Dialect(columns=2)),
    ("text_after_quote", b'"a"b,c\n', Dialect(columns=2)),
    ("text_after_quote", b'"a" ,c\n', Dialect(columns=2)),
    ("text_after_quote", b'"a""b",c\n', BACKSLASH),
    ("bare_carriage_return", b"a,b\rc,d\r", Dialect(columns=2)),
    ("both_refuse", b"a,b\nc,\rd\n", Dialect(columns=2)),
    ("both_refuse", b"a,b\r\r\nc,d\r\r\n", Dialect(columns=2)),
    ("both_refuse", b"a,b\nc,d,e\n", Dialect(columns=2)),
    ("both_refuse", b"a,b\nc\n", Dialect(columns=2)),
    ("both_refuse", b'a,b\nc,"d\n', Dialect(columns=2)),
    ("both_refuse", b'a,"\\"\n', BACKSLASH),
    ("both_refuse", b"a,b\nc,\0\n", Dialect(columns=2)),
    ("both_refuse", b"a,b\nc,\xe9\n", Dialect(columns=2)),
]


def test_corners_that_have_a_name(newest_database: Database, inrush: Inrush) -> None:
    files = [NastyFile(number, dialect, text) for number, (_, text, dialect) in enumerate(CORNERS)]
    loaded = load(newest_database, inrush, files)
    with newest_database.connect() as connection:
        for (name, _, _), file in zip(CORNERS, files, strict=True):
            assert judge(connection, file, loaded[file.number]) == {name}, str(file)

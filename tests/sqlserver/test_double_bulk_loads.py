"""Bulk loads into the double, and its columnstores."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from sqlserver.double import Session, SqlError
from sqlserver.double.types import description, encoded
from sqlserver.statements import TABLE, OpenSession, fails


class Bulk:
    """Rows of (int NOT NULL, nvarchar(4) NULL) as a client sends them."""

    def __init__(self, session: Session, hints: str = "TABLOCK") -> None:
        self.session = session
        session.execute(
            f"INSERT BULK t (id int, note nvarchar(4) COLLATE SQL_Latin1_General_CP1_CI_AS) WITH "
            f"({hints})"
        )
        columns = session.database.objects[("dbo", "t")].columns  # type: ignore[union-attr]
        self.start = description(columns)

    @staticmethod
    def row(number: int, note: str | None) -> bytes:
        if note is None:
            return b"\xd1" + struct.pack("<i", number) + b"\xff\xff"
        text = note.encode("utf-16-le")
        return b"\xd1" + struct.pack("<iH", number, len(text)) + text

    def load(self, *payloads: bytes) -> int | None:
        for payload in payloads:
            self.session.feed(payload)
        return self.session.end_bulk().count


DONE = b"\xfd" + bytes(12)


def test_rows_of_a_bulk_load_are_counted_and_kept(open_session: OpenSession) -> None:
    session: Session = open_session()
    session.execute(TABLE)
    bulk = Bulk(session)
    message = bulk.start + bulk.row(1, "ä😀") + bulk.row(-2, None) + bulk.row(3, "") + DONE
    # A packet may end anywhere.
    assert bulk.load(*(message[at : at + 7] for at in range(0, len(message), 7))) == 3
    assert session.rows("SELECT * FROM t") == [[1, "ä😀"], [-2, None], [3, ""]]
    session.execute("UPDATE t SET note = N'x' WHERE id = 3; DELETE FROM t WHERE id = 1")
    assert session.rows("SELECT * FROM t") == [[-2, None], [3, "x"]]


def test_bulk_loads_into_a_heap_share_its_lock(open_session: OpenSession) -> None:
    one: Session = open_session()
    other: Session = open_session()
    one.execute(TABLE)
    one.execute("BEGIN TRANSACTION")
    first = Bulk(one)
    other.execute("BEGIN TRANSACTION")
    second = Bulk(other)
    assert first.load(first.start, first.row(1, None), DONE) == 1
    assert second.load(second.start, second.row(2, None), DONE) == 1
    third: Session = open_session()
    fails(third, 1222, "SELECT COUNT_BIG(*) FROM t")
    one.execute("COMMIT")
    other.close()
    assert third.rows("SELECT id FROM t") == [[1]]


def test_bulk_loads_into_an_indexed_table_do_not(open_session: OpenSession) -> None:
    one: Session = open_session()
    other: Session = open_session()
    one.execute(TABLE + "; CREATE INDEX i ON t (id); BEGIN TRANSACTION")
    Bulk(one)
    with pytest.raises(SqlError, match="1222"):
        Bulk(other)


WRONG_STREAMS: dict[str, tuple[int, Callable[[Bulk], list[bytes]]]] = {
    "another_type": (4816, lambda b: [b.start.replace(b"\x38", b"\x7f", 1), DONE]),
    "fewer_columns": (4816, lambda b: [b"\x81\x01\x00" + b.start[3:], DONE]),
    "too_long": (4815, lambda b: [b.start, b.row(1, "12345"), DONE]),
    "cut_row": (4804, lambda b: [b.start, b.row(1, "1234")[:-1]]),
    "no_done": (4804, lambda b: [b.start, b.row(1, "1234")]),
    "row_with_bitmap": (4804, lambda b: [b.start, b"\xd2\x02" + struct.pack("<i", 1), DONE]),
}


@pytest.mark.parametrize("wrong", WRONG_STREAMS)
def test_a_wrong_stream_is_refused(open_session: OpenSession, wrong: str) -> None:
    number, payloads = WRONG_STREAMS[wrong]
    session: Session = open_session()
    session.execute(TABLE)
    bulk = Bulk(session)
    with pytest.raises(SqlError) as raised:
        bulk.load(*payloads(bulk))
    assert raised.value.number == number
    assert session.rows("SELECT COUNT_BIG(*) FROM t") == [[0]]


def test_a_bulk_load_without_the_hint_makes_checks_untrusted(open_session: OpenSession) -> None:
    for hints, is_trusted in (("TABLOCK", False), ("CHECK_CONSTRAINTS", True)):
        session: Session = open_session()
        session.execute("CREATE TABLE t (id int NOT NULL, note nvarchar(4) NULL, CHECK (id > 0))")
        bulk = Bulk(session, hints)
        bulk.load(bulk.start, bulk.row(1, None), DONE)
        table = session.database.objects[("dbo", "t")]
        assert [check.is_trusted for check in table.checks] == [is_trusted]  # type: ignore[union-attr]
        session.execute("DROP TABLE t")


def test_rowgroups_are_those_of_batches_or_of_a_build(open_session: OpenSession) -> None:
    """Rowgroups are full, but a small batch leaves its rest open, and a build compresses it."""
    session: Session = open_session()
    session.database.rowgroup_rows_max, session.database.compressed_rows_min = 4, 2
    seen = (
        "SELECT total_rows, trim_reason_desc FROM sys.dm_db_column_store_row_group_physical_stats"
    )
    session.execute("CREATE TABLE c (n int); INSERT INTO c VALUES (1), (2), (3), (4), (5)")
    session.execute("CREATE CLUSTERED COLUMNSTORE INDEX i ON c")
    built = [[4, "NO_TRIM"], [1, "RESIDUAL_ROW_GROUP"]]
    assert session.rows(seen) == built
    session.execute("INSERT INTO c VALUES (6), (7); INSERT INTO c VALUES (8)")
    assert session.rows(seen) == [*built, [2, "BULKLOAD"], [1, None]]
    session.execute("BEGIN TRANSACTION; TRUNCATE TABLE c")
    assert session.rows(seen) == []
    session.execute("ROLLBACK")
    assert len(session.rows(seen)) == 4
    session.database.shows_rowgroups = False
    fails(session, 262, seen)


def test_a_columnstore_of_2016_has_no_long_texts(open_session: OpenSession) -> None:
    session: Session = open_session()
    session.execute("CREATE TABLE c (note nvarchar(max))")
    session.database.properties["PRODUCTVERSION"] = "13.0.1601.5"
    fails(session, 35343, "CREATE CLUSTERED COLUMNSTORE INDEX i ON c")
    session.database.properties["PRODUCTVERSION"] = "14.0.1000.169"
    session.execute("CREATE CLUSTERED COLUMNSTORE INDEX i ON c")


def test_money_has_its_upper_half_first(open_session: OpenSession) -> None:
    """[MS-TDS] 2.2.5.5.1.3: ten-thousandths, as two numbers of four bytes."""
    session: Session = open_session()
    session.execute("CREATE TABLE m (a money NULL, b smallmoney NULL)")
    session.execute("INSERT BULK m (a money, b smallmoney) WITH (TABLOCK)")
    table = session.database.objects[("dbo", "m")]
    columns = table.columns  # type: ignore[union-attr]
    row = b"\xd1\x08" + struct.pack("<iI", -1, 2**32 - 15_000) + b"\x04" + struct.pack("<i", 25_000)
    session.feed(description(columns) + row + b"\xd1\0\0" + DONE)
    assert session.end_bulk().count == 2
    values = session.rows("SELECT a, b FROM m")
    texts = [[str(value) for value in row] for row in values]
    assert texts == [["-1.5000", "2.5000"], ["None", "None"]]
    assert encoded(values, columns) == row + b"\xd1\0\0"

"""Compares the independent reader of intervals with PostgreSQL."""

from __future__ import annotations

import psycopg
import pytest

from harness.servers import Database
from values.intervals import interval
from values.meanings import Column

FIELDS = ["", "year", "year to month", "day", "hour", "minute", "day to minute", "hour to second"]
FIELDS += ["minute to second", "day to second", "second"]
TEXTS = """
5|-3|+01|1.5|1-2|-1-2|1-2 3|1-2 3 4:05:06|1-2 ago|1 2|1 1-2|1-2 1-2|5 1 day|5 ago|1 day 5|1 week 01
1 week +01|1 week -01|1 week+01|1 week-01|1week+01|1 week+1.5|1 day2|1day2|1 day-2h|1 day+02:03
-1 02:03:04|1 02:03|1 2:03|-1 -02:03|1 day 1 02:03|3 4:05:06 ago|-1 days +02:03|1h30m|1 week -5 ago
1 week01 day|18hr17 d|1 mon1 day|1mon1day|1 day2 h|1d2h|-.5 h|+.5h|.5 h|5.day|5. day|1h.5m|P+1Y|P-1Y
20:44:30 15 ms|15 ms 20:44:30|30 s 15 ms|30.5 s 15 ms|15 us 1.5 s|30.0 s 15 us|1 min 20:44
-99 c25 mon|10+02:03:04|10-02:03:04|10+02
02:03|-02:03|02:03:04.5|1:00+5|ago|1 day ago|P1DT2H|@ 2 hours|1 year 2 mons -3 days 04:05:06
""".replace("\n", "|").strip("|")


@pytest.mark.parametrize("fields", FIELDS, ids=str)
def test_what_the_reader_reads_is_what_postgresql_reads(database: Database, fields: str) -> None:
    """The reader may refuse more than PostgreSQL, but reads no text in another way."""
    read = 0
    for text in TEXTS.split("|"):
        meaning = interval(text, Column("interval", f"interval {fields}", fields=fields))
        if meaning.is_none:
            continue
        months, days, time = meaning.value
        made = f"make_interval(months => {months}, days => {days}) + {time} * interval '1 us'"
        query = f"SELECT ('{text}'::interval {fields})::text, ({made})::text"
        try:
            [(theirs, ours)] = database.rows(query)
        except psycopg.DataError as error:
            pytest.fail(f"{text!r}: the reader says {meaning.value}, PostgreSQL says {error}")
        assert theirs == ours, text
        read += 1
    assert read >= 3

"""The partitions of the double, and SWITCH."""

from __future__ import annotations

import pytest

from sqlserver.double import Database, NotInDoubleError, Session
from sqlserver.statements import OTHER, PARTITIONED, OpenSession, fails


def test_a_switch_moves_the_rows_of_a_trusted_table(open_session: OpenSession) -> None:
    session: Session = open_session()
    for name in ("s", "t"):
        session.execute(f"CREATE TABLE {name} (id int CHECK (id > 0))")
    session.execute("INSERT INTO s VALUES (1), (2)")
    session.execute("BEGIN TRANSACTION; ALTER TABLE s SWITCH TO t; ROLLBACK")
    assert session.rows("SELECT COUNT_BIG(*) FROM t") == [[0]]
    session.execute("ALTER TABLE s SWITCH TO t")
    assert session.rows("SELECT id FROM t ORDER BY id DESC") == [[2], [1]]


def test_the_catalog_counts_the_rows_of_partitions(open_session: OpenSession) -> None:
    session: Session = open_session()
    for statement in PARTITIONED:
        session.execute(statement)
    session.execute("INSERT INTO p VALUES (9, NULL), (20, NULL), (21, NULL)")
    counted = "SELECT partition_number, rows FROM sys.partitions WHERE object_id = OBJECT_ID(N'p')"
    assert session.rows(counted) == [[1, 1], [2, 0], [3, 2]]


def test_rows_are_in_the_partitions_of_their_bounds(open_session: OpenSession) -> None:
    session: Session = open_session()
    for statement in PARTITIONED:
        session.execute(statement)
    session.execute("INSERT INTO p VALUES (9, NULL), (10, NULL), (19, NULL), (20, NULL)")
    number = "$PARTITION.pf(id)"
    grouped = f"SELECT {number}, COUNT_BIG(*) FROM p GROUP BY {number} ORDER BY {number}"
    assert session.rows(grouped) == [[1, 1], [2, 2], [3, 1]]
    # A bound of RANGE LEFT is the last value of its partition, and NULL is in the first one.
    session.execute("CREATE PARTITION FUNCTION pl (date) AS RANGE LEFT FOR VALUES ('2024-01-31')")
    for value, partition in (("'2024-01-31'", 1), ("'2024-02-01'", 2), ("NULL", 1)):
        assert session.rows(f"SELECT $PARTITION.pl({value})") == [[partition]]


def test_partitions_are_switched_and_emptied_one_by_one(open_session: OpenSession) -> None:
    session: Session = open_session()
    for statement in (*PARTITIONED, OTHER):
        session.execute(statement)
    session.execute("INSERT INTO p VALUES (1, NULL), (25, NULL)")
    session.execute("INSERT INTO s VALUES (2, NULL), (12, NULL), (13, NULL)")
    switch = (
        "ALTER TABLE s SWITCH PARTITION 2 TO p PARTITION 2 WITH (WAIT_AT_LOW_PRIORITY "
        "(MAX_DURATION = 1 MINUTES, ABORT_AFTER_WAIT = SELF))"
    )
    everything = "SELECT id FROM p ORDER BY id"
    session.execute(f"BEGIN TRANSACTION; {switch}; ROLLBACK")
    assert session.rows(everything) == [[1], [25]]
    session.execute(switch)
    assert session.rows(everything) == [[1], [12], [13], [25]]
    assert session.rows("SELECT id FROM s") == [[2]]
    session.execute("BEGIN TRANSACTION; TRUNCATE TABLE p WITH (PARTITIONS (1, 3)); ROLLBACK")
    assert session.rows(everything) == [[1], [12], [13], [25]]
    session.execute("TRUNCATE TABLE p WITH (PARTITIONS (2 TO 3))")
    assert session.rows(everything) == [[1]]


def test_partitions_are_in_the_filegroups_of_their_scheme(
    empty_database: Database, open_session: OpenSession
) -> None:
    session: Session = open_session()
    empty_database.filegroups += ["a", "b"]
    for statement in PARTITIONED:
        session.execute(statement)
    session.execute("CREATE PARTITION SCHEME po AS PARTITION pf TO (a, b, a)")
    session.execute(OTHER.replace("ps(", "po("))
    fails(session, 4938, "ALTER TABLE s SWITCH PARTITION 1 TO p PARTITION 1")
    session.execute("CREATE TABLE x (n int) ON a; CREATE TABLE y (n int)")
    fails(session, 4940, "ALTER TABLE x SWITCH TO y")


def test_a_split_adds_an_empty_partition(open_session: OpenSession) -> None:
    session: Session = open_session()
    session.database.filegroups.append("new")
    for statement in PARTITIONED:
        session.execute(statement)
    split = "ALTER PARTITION FUNCTION pf() SPLIT RANGE"
    fails(session, 7707, f"{split} (30)")
    session.execute("ALTER PARTITION SCHEME ps NEXT USED new")
    fails(session, 7721, f"{split} (20)")
    session.execute(f"BEGIN TRANSACTION; {split} (30)")
    other: Session = open_session()
    fails(other, 1222, "SELECT id FROM p")
    places = (
        "SELECT d.data_space_id FROM sys.partition_schemes s JOIN sys.destination_data_spaces d "
        "ON d.partition_scheme_id = s.data_space_id"
    )
    assert session.rows(places) == [["PRIMARY"], ["PRIMARY"], ["PRIMARY"], ["new"]]
    session.execute("ROLLBACK")
    assert session.rows(places) == [["PRIMARY"]] * 3
    session.execute(f"{split} (30); INSERT INTO p VALUES (30, NULL), (29, NULL)")
    found = session.rows("SELECT $PARTITION.pf(id), id FROM p ORDER BY id")
    assert found == [[3, 29], [4, 30]]
    session.execute("ALTER PARTITION SCHEME ps NEXT USED new")
    with pytest.raises(NotInDoubleError):
        session.execute(f"{split} (40)")

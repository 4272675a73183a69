"""The double enforces each rule that it claims, with the number of its error."""

from __future__ import annotations

import pytest

from sqlserver.double import Database, Double, NotInDoubleError, Session
from sqlserver.double.errors import RULES
from sqlserver.double.storage import ForeignKey
from sqlserver.statements import OTHER, PARTITIONED, TABLE, OpenSession, fails

RULES_OF_STATEMENTS = {
    "identity column changed": (
        8102,
        [
            "CREATE TABLE t (id int IDENTITY, note nvarchar(4))",
            "INSERT INTO t (note) VALUES ('a')",
            "UPDATE t SET id = 2",
        ],
    ),
    "key of an index after an update": (
        2601,
        [
            TABLE,
            "CREATE UNIQUE INDEX u ON t (id)",
            "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
            "UPDATE a SET id = 2 FROM t AS a JOIN t AS b ON a.id = b.id WHERE b.note = 'a'",
        ],
    ),
    "check after an update": (
        547,
        [
            TABLE,
            "ALTER TABLE t WITH CHECK ADD CONSTRAINT c CHECK (id < 9)",
            "INSERT INTO t VALUES (1, 'a')",
            "UPDATE t SET id = 9",
        ],
    ),
    "syntax": (102, ["SELECTED 1"]),
    "readpast": (650, [TABLE, "SELECT id FROM t WITH (READPAST)"]),
    "column": (207, [TABLE, "SELECT other FROM t; INSERT INTO t (id) VALUES (1); SELECT x FROM t"]),
    "object": (208, ["SELECT * FROM missing"]),
    "null": (515, [TABLE, "INSERT INTO t VALUES (NULL, N'a')"]),
    "identity without its value": (
        545,
        (
            "CREATE TABLE i (id int IDENTITY, n int)",
            "SET IDENTITY_INSERT i ON",
            "INSERT INTO i (n) VALUES (1)",
        ),
    ),
    "identity of two tables": (
        8107,
        (
            "CREATE TABLE i (id int IDENTITY)",
            "CREATE TABLE j (id int IDENTITY)",
            "SET IDENTITY_INSERT i ON",
            "SET IDENTITY_INSERT j ON",
        ),
    ),
    "decimal beyond its digits": (
        8115,
        ("CREATE TABLE d (n decimal(4,2))", "INSERT INTO d VALUES (99.995)"),
    ),
    "money beyond its range": (
        8115,
        ("CREATE TABLE d (n smallmoney)", "INSERT INTO d VALUES (214748.36475)"),
    ),
    "integer beyond its range": (220, ("CREATE TABLE d (n tinyint)", "INSERT INTO d VALUES (256)")),
    "integer of a text": (245, ("CREATE TABLE d (n int)", "INSERT INTO d VALUES (N'1.5')")),
    "decimal of a text": (
        8114,
        ("CREATE TABLE d (n decimal(4,2))", "INSERT INTO d VALUES (N'one')"),
    ),
    "identity": (
        544,
        ["CREATE TABLE i (n int IDENTITY(1,1), v int)", "INSERT INTO i (n, v) VALUES (1, 1)"],
    ),
    "check": (547, ["CREATE TABLE c (n int CHECK (n > 0))", "INSERT INTO c VALUES (0)"]),
    "index": (
        2601,
        [TABLE, "CREATE UNIQUE INDEX u ON t (id)", "INSERT INTO t VALUES (1, NULL), (1, NULL)"],
    ),
    "key": (2627, ["CREATE TABLE k (n int PRIMARY KEY)", "INSERT INTO k VALUES (1), (1)"]),
    "length": (2628, [TABLE, "INSERT INTO t VALUES (1, N'12345')"]),
    "units": (2628, [TABLE, "INSERT INTO t VALUES (1, N'12😀😀')"]),
    "name_is_taken": (2714, [TABLE, TABLE]),
    "schema_is_there": (2759, ["CREATE SCHEMA s", "CREATE SCHEMA s"]),
    "nothing_to_drop": (3701, ["DROP TABLE missing"]),
    "nothing_to_commit": (3902, ["COMMIT"]),
    "nothing_to_roll_back": (3903, ["ROLLBACK"]),
    "rename_nothing": (15225, ["EXEC sp_rename N'missing', N'x'"]),
    "rename_to_a_name": (15335, [TABLE, "CREATE TABLE x (n int)", "EXEC sp_rename N't', N'x'"]),
    "switch_into_rows": (
        4905,
        [
            TABLE,
            "CREATE TABLE s (id int NOT NULL, note nvarchar(4) NULL)",
            "INSERT INTO t VALUES (1, NULL)",
            "ALTER TABLE s SWITCH TO t",
        ],
    ),
    "switch_other_nullability": (
        4985,
        [TABLE, "CREATE TABLE s (id int NULL, note nvarchar(4) NULL)", "ALTER TABLE s SWITCH TO t"],
    ),
    "switch_other_types": (
        4944,
        [
            TABLE,
            "CREATE TABLE s (id bigint NOT NULL, note nvarchar(4))",
            "ALTER TABLE s SWITCH TO t",
        ],
    ),
    "switch_other_names": (
        4942,
        [TABLE, "CREATE TABLE s (n int NOT NULL, note nvarchar(4))", "ALTER TABLE s SWITCH TO t"],
    ),
    "switch_fewer_columns": (
        4943,
        [TABLE, "CREATE TABLE s (id int NOT NULL)", "ALTER TABLE s SWITCH TO t"],
    ),
    "switch_without_the_index": (
        4947,
        [
            TABLE,
            "CREATE TABLE s (id int NOT NULL, note nvarchar(4) NULL)",
            "CREATE INDEX i ON t (id)",
            "ALTER TABLE s SWITCH TO t",
        ],
    ),
    "switch_of_a_clustered_table_into_a_heap": (
        4913,
        [
            TABLE,
            "CREATE TABLE s (id int NOT NULL, note nvarchar(4) NULL)",
            "CREATE CLUSTERED INDEX i ON s (id)",
            "ALTER TABLE s SWITCH TO t",
        ],
    ),
    "switch_with_other_compression": (
        11406,
        [
            TABLE,
            "CREATE TABLE s (id int NOT NULL, note nvarchar(4)) WITH (DATA_COMPRESSION = PAGE)",
            "ALTER TABLE s SWITCH TO t",
        ],
    ),
    "switch_without_the_check": (
        4970,
        [
            "CREATE TABLE t (id int CHECK (id > 0))",
            "CREATE TABLE s (id int)",
            "ALTER TABLE s SWITCH TO t",
        ],
    ),
    "switch_with_an_untrusted_check": (
        4960,
        [
            "CREATE TABLE t (id int CHECK (id > 0))",
            "CREATE TABLE s (id int)",
            "ALTER TABLE s WITH NOCHECK ADD CONSTRAINT c CHECK (id > 0)",
            "ALTER TABLE s SWITCH TO t",
        ],
    ),
    "duplicates_in_a_new_index": (
        1505,
        [TABLE, "INSERT INTO t VALUES (1, NULL), (1, NULL)", "CREATE UNIQUE INDEX u ON t (id)"],
    ),
    "name_of_an_index": (1913, [TABLE, *["CREATE INDEX i ON t (id)"] * 2]),
    "drop_the_index_of_a_key": (
        3723,
        ["CREATE TABLE k (n int CONSTRAINT pk PRIMARY KEY)", "DROP INDEX pk ON k"],
    ),
    "drop_no_constraint": (
        3728,
        [TABLE, "CREATE INDEX i ON t (id)", "ALTER TABLE t DROP CONSTRAINT i"],
    ),
    "no_such_filegroup": (1921, ["CREATE TABLE t (id int) ON [elsewhere]"]),
    "key_without_the_partition_column": (
        1908,
        [*PARTITIONED, "CREATE UNIQUE INDEX u ON p (note) ON ps(id)"],
    ),
    "select_into_a_table_that_exists": (2714, [TABLE, "SELECT id INTO t FROM t"]),
    "scheme_in_use": (7717, [*PARTITIONED, "DROP PARTITION SCHEME ps"]),
    "function_in_use": (7706, [*PARTITIONED, "DROP PARTITION FUNCTION pf"]),
    "too_few_filegroups": (
        7707,
        [*PARTITIONED[:1], "CREATE PARTITION SCHEME ps AS PARTITION pf TO ([PRIMARY], [PRIMARY])"],
    ),
    "bounds_twice": (7721, ["CREATE PARTITION FUNCTION f (int) AS RANGE LEFT FOR VALUES (1, 1)"]),
    "another_type_than_the_function": (
        7726,
        [*PARTITIONED[:2], "CREATE TABLE p (id bigint) ON ps(id)"],
    ),
    "truncate_a_partition_that_is_not": (
        7722,
        [*PARTITIONED, "TRUNCATE TABLE p WITH (PARTITIONS (4))"],
    ),
    "truncate_partitions_of_a_plain_table": (
        7729,
        [TABLE, "TRUNCATE TABLE t WITH (PARTITIONS (1))"],
    ),
    "truncate_partitions_beside_an_index": (
        3756,
        [
            *PARTITIONED,
            "CREATE INDEX i ON p (note) ON [PRIMARY]",
            "TRUNCATE TABLE p WITH (PARTITIONS (1 TO 2))",
        ],
    ),
    "switch_without_a_number": (4911, [*PARTITIONED, OTHER, "ALTER TABLE s SWITCH TO p"]),
    "switch_into_no_partition": (
        4950,
        [*PARTITIONED, OTHER, "ALTER TABLE s SWITCH PARTITION 4 TO p PARTITION 4"],
    ),
    "switch_into_a_partition_with_rows": (
        4904,
        [
            *PARTITIONED,
            OTHER,
            "INSERT INTO p VALUES (15, NULL)",
            "ALTER TABLE s SWITCH PARTITION 2 TO p PARTITION 2",
        ],
    ),
    "switch_into_another_range": (
        4973,
        [*PARTITIONED, OTHER, "ALTER TABLE s SWITCH PARTITION 1 TO p PARTITION 2"],
    ),
    "switch_beside_an_index": (
        7733,
        [
            *PARTITIONED,
            OTHER,
            "CREATE INDEX i ON p (note) ON [PRIMARY]",
            "ALTER TABLE s SWITCH PARTITION 1 TO p PARTITION 1",
        ],
    ),
}


@pytest.mark.parametrize("rule", RULES_OF_STATEMENTS)
def test_a_rule_is_enforced(open_session: OpenSession, rule: str) -> None:
    number, statements = RULES_OF_STATEMENTS[rule]
    session: Session = open_session()
    for statement in statements[:-1]:
        session.execute(statement)
    fails(session, number, statements[-1])
    assert number in RULES


def test_what_it_does_not_know_is_not_answered(open_session: OpenSession) -> None:
    session: Session = open_session()
    for statement in ("EXEC sp_who", "SELECT NEWID()", "SELECT * FROM sys.dm_os_wait_stats"):
        with pytest.raises(NotInDoubleError):
            session.execute(statement)


def test_babelfish_refuses_what_it_does_not_have(
    empty_database: Database, open_session: OpenSession
) -> None:
    session: Session = open_session()
    empty_database.properties["BABELFISH"] = 1
    for statement in (*PARTITIONED, TABLE, "CREATE TABLE s (id int NOT NULL, note nvarchar(4))"):
        session.execute(statement)
    for statement in (
        "ALTER TABLE s SWITCH TO t",
        "ALTER PARTITION FUNCTION pf() SPLIT RANGE (30)",
        "TRUNCATE TABLE p WITH (PARTITIONS (1))",
        "CREATE PARTITION FUNCTION pl (int) AS RANGE LEFT FOR VALUES (1)",
        "CREATE CLUSTERED COLUMNSTORE INDEX i ON t",
        "ALTER TABLE t WITH CHECK ADD CONSTRAINT c CHECK (id > 0)",
        "INSERT BULK p (id int, note nvarchar(4))",
    ):
        fails(session, 33557097, statement)
    fails(session, 208, "SELECT session_id FROM sys.dm_exec_requests")
    session.execute("TRUNCATE TABLE t; CREATE INDEX i ON t (id)")


@pytest.mark.parametrize(
    ("version", "edition", "is_known"),
    [("14.0.1000.1", 3, False), ("15.0.2000.5", 3, True), ("12.0.2000.8", 5, True)],
)
def test_collations_of_utf_8_are_those_of_2019(
    empty_database: Database, open_session: OpenSession, version: str, edition: int, is_known: bool
) -> None:
    session: Session = open_session()
    session.execute("CREATE TABLE t (note nvarchar(4)); INSERT INTO t VALUES (N'a')")
    empty_database.properties |= {"PRODUCTVERSION": version, "ENGINEEDITION": edition}
    queried = "SELECT note COLLATE Latin1_General_100_BIN2_UTF8 FROM t"
    if is_known:
        assert session.rows(queried) == [["a"]]
    else:
        fails(session, 448, queried)


def test_a_table_that_a_foreign_key_references(
    empty_database: Database, open_session: OpenSession
) -> None:
    session: Session = open_session()
    session.execute(TABLE)
    empty_database.foreign_keys.append(ForeignKey("key", "other", "t"))
    fails(session, 4712, "TRUNCATE TABLE t")
    session.execute("CREATE TABLE s (id int NOT NULL, note nvarchar(4) NULL)")
    fails(session, 4967, "ALTER TABLE t SWITCH TO s")
    fails(session, 3726, "DROP TABLE t")


def test_the_catalog_has_places_indexes_and_checks(open_session: OpenSession) -> None:
    session: Session = open_session()
    for statement in PARTITIONED:
        session.execute(statement)
    session.execute("CREATE INDEX i ON p (note DESC) WHERE note IS NOT NULL")
    session.execute("ALTER TABLE p WITH CHECK ADD CONSTRAINT c CHECK (id > 0 AND note <> N'''')")
    of_table = "object_id = OBJECT_ID(N'p')"
    indexes = f"SELECT index_id, name, type, data_space_id FROM sys.indexes WHERE {of_table}"
    assert session.rows(indexes) == [[0, None, 0, "ps"], [2, "i", 2, "ps"]]
    columns = (
        "SELECT index_id, key_ordinal, partition_ordinal, is_descending_key FROM sys.index_columns "
        f"WHERE {of_table}"
    )
    # The server adds the partition column to the index.
    assert session.rows(columns) == [[0, 0, 1, 0], [2, 1, 0, 1], [2, 0, 1, 0]]
    checks = "SELECT definition FROM sys.check_constraints WHERE name = N'c'"
    ((definition,),) = session.rows(checks)
    session.execute(f"ALTER TABLE p ADD CONSTRAINT d CHECK {definition}")
    one, other = session.database.objects[("dbo", "p")].checks  # type: ignore[union-attr]
    assert one.condition == other.condition


def test_constraints_are_dropped(open_session: OpenSession) -> None:
    session: Session = open_session()
    session.execute("CREATE TABLE k (n int CONSTRAINT pk PRIMARY KEY, CONSTRAINT c CHECK (n > 0))")
    session.execute("BEGIN TRANSACTION; ALTER TABLE k DROP CONSTRAINT c; ROLLBACK")
    fails(session, 547, "INSERT INTO k VALUES (0)")
    session.execute("ALTER TABLE k DROP CONSTRAINT c; ALTER TABLE k DROP CONSTRAINT pk")
    session.execute("INSERT INTO k VALUES (0), (0)")


def test_the_double_listens_until_it_is_closed() -> None:
    with Double() as double:
        assert double.port and double.url.endswith("/test?encrypt=off")

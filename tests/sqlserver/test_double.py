"""The double keeps the rules that it claims: each with the number of its error."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterator

import pytest

from sqlserver.double import Database, Double, NotInDoubleError, Session, SqlError
from sqlserver.double.errors import RULES
from sqlserver.double.storage import ForeignKey
from sqlserver.double.types import description

# Opens a session that waits for nothing.
OpenSession = Callable[[], Session]


@pytest.fixture
def database() -> Database:
    """Return an empty database."""
    return Database("test")


@pytest.fixture
def open_session(database: Database) -> Iterator[OpenSession]:
    """Return a function that opens sessions which wait for nothing."""
    opened: list[Session] = []

    def make() -> Session:
        session = Session(database)
        session.lock_timeout = 0
        opened.append(session)
        return session

    yield make
    for session in opened:
        session.close()


def fails(session: Session, number: int, statement: str) -> None:
    """Fail unless a statement fails with this error."""
    with pytest.raises(SqlError) as raised:
        session.execute(statement)
    assert raised.value.number == number, raised.value


TABLE = "CREATE TABLE t (id int NOT NULL, note nvarchar(4) NULL)"

# A table whose partitions begin at 10 and at 20, and another one like it.
PARTITIONED = (
    "CREATE PARTITION FUNCTION pf (int) AS RANGE RIGHT FOR VALUES (20, 10)",
    "CREATE PARTITION SCHEME ps AS PARTITION pf ALL TO ([PRIMARY])",
    "CREATE TABLE p (id int NOT NULL, note nvarchar(4) NULL) ON ps(id)",
)
OTHER = "CREATE TABLE s (id int NOT NULL, note nvarchar(4) NULL) ON ps(id)"

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


def test_a_switch_moves_the_rows_of_a_trusted_table(open_session: OpenSession) -> None:
    session: Session = open_session()
    for name in ("s", "t"):
        session.execute(f"CREATE TABLE {name} (id int CHECK (id > 0))")
    session.execute("INSERT INTO s VALUES (1), (2)")
    session.execute("BEGIN TRANSACTION; ALTER TABLE s SWITCH TO t; ROLLBACK")
    assert session.rows("SELECT COUNT_BIG(*) FROM t") == [[0]]
    session.execute("ALTER TABLE s SWITCH TO t")
    assert session.rows("SELECT id FROM t ORDER BY id DESC") == [[2], [1]]


def test_select_into_makes_a_table(open_session: OpenSession) -> None:
    session: Session = open_session()
    session.execute("CREATE TABLE t (id int NOT NULL IDENTITY(1, 1) PRIMARY KEY, note nvarchar(4))")
    session.execute("INSERT INTO t VALUES (N'a'), (N'b')")
    session.execute("BEGIN TRANSACTION; SELECT id, note INTO s FROM t WHERE id > 1; ROLLBACK")
    fails(session, 208, "SELECT id FROM s")
    session.execute("SELECT id, note INTO s FROM t WHERE id > 1")
    assert session.rows("SELECT id, note FROM s") == [[2, "b"]]
    names = "name, is_nullable, is_identity"
    found = session.rows(f"SELECT {names} FROM sys.columns WHERE object_id = OBJECT_ID(N's')")
    assert found == [["id", 0, 1], ["note", 1, 0]]
    # Indexes do not come with it.
    found = session.rows("SELECT type FROM sys.indexes WHERE object_id = OBJECT_ID(N's')")
    assert found == [[0]]


def test_tablockx_keeps_others_away(open_session: OpenSession) -> None:
    one, other = open_session(), open_session()
    one.execute(TABLE)
    one.execute("BEGIN TRANSACTION; SELECT COUNT_BIG(*) FROM t WITH (TABLOCKX)")
    fails(other, 1222, "SELECT id FROM t")
    one.execute("COMMIT")
    assert other.rows("SELECT id FROM t") == []


def test_the_catalog_counts_the_rows_of_partitions(open_session: OpenSession) -> None:
    session: Session = open_session()
    for statement in PARTITIONED:
        session.execute(statement)
    session.execute("INSERT INTO p VALUES (9, NULL), (20, NULL), (21, NULL)")
    counted = "SELECT partition_number, rows FROM sys.partitions WHERE object_id = OBJECT_ID(N'p')"
    assert session.rows(counted) == [[1, 1], [2, 0], [3, 2]]


def test_babelfish_refuses_what_it_does_not_have(
    database: Database, open_session: OpenSession
) -> None:
    session: Session = open_session()
    database.properties["BABELFISH"] = 1
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
    database: Database, open_session: OpenSession, version: str, edition: int, is_known: bool
) -> None:
    session: Session = open_session()
    session.execute("CREATE TABLE t (note nvarchar(4)); INSERT INTO t VALUES (N'a')")
    database.properties |= {"PRODUCTVERSION": version, "ENGINEEDITION": edition}
    queried = "SELECT note COLLATE Latin1_General_100_BIN2_UTF8 FROM t"
    if is_known:
        assert session.rows(queried) == [["a"]]
    else:
        fails(session, 448, queried)


def test_a_table_that_a_foreign_key_references(
    database: Database, open_session: OpenSession
) -> None:
    session: Session = open_session()
    session.execute(TABLE)
    database.foreign_keys.append(ForeignKey("key", "other", "t"))
    fails(session, 4712, "TRUNCATE TABLE t")
    session.execute("CREATE TABLE s (id int NOT NULL, note nvarchar(4) NULL)")
    fails(session, 4967, "ALTER TABLE t SWITCH TO s")
    fails(session, 3726, "DROP TABLE t")


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
    database: Database, open_session: OpenSession
) -> None:
    session: Session = open_session()
    database.filegroups += ["a", "b"]
    for statement in PARTITIONED:
        session.execute(statement)
    session.execute("CREATE PARTITION SCHEME po AS PARTITION pf TO (a, b, a)")
    session.execute(OTHER.replace("ps(", "po("))
    fails(session, 4938, "ALTER TABLE s SWITCH PARTITION 1 TO p PARTITION 1")
    session.execute("CREATE TABLE x (n int) ON a; CREATE TABLE y (n int)")
    fails(session, 4940, "ALTER TABLE x SWITCH TO y")


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


def test_all_of_a_transaction_is_undone(open_session: OpenSession) -> None:
    session: Session = open_session()
    session.execute(TABLE)
    session.execute("INSERT INTO t VALUES (1, N'a'), (2, N'b')")
    session.execute(
        "BEGIN TRANSACTION; UPDATE t SET note = N'x' WHERE id = 1; DELETE FROM t WHERE id = 2; "
        "INSERT INTO t VALUES (3, NULL); CREATE TABLE u (n int); EXEC sp_rename N't', N'v'; "
        "CREATE SCHEMA s"
    )
    assert session.rows("SELECT id, note FROM v") == [[1, "x"], [3, None]]
    session.execute("ROLLBACK")
    assert session.rows("SELECT id, note FROM t") == [[1, "a"], [2, "b"]]
    assert session.rows("SELECT name FROM sys.tables") == [["t"]]
    assert session.rows("SELECT COUNT_BIG(*) FROM sys.schemas") == [[1]]
    # TRUNCATE is part of a transaction as well.
    session.execute("BEGIN TRANSACTION; TRUNCATE TABLE t; ROLLBACK")
    assert session.rows("SELECT COUNT_BIG(*) FROM t") == [[2]]


def test_with_xact_abort_an_error_undoes_the_transaction(open_session: OpenSession) -> None:
    session: Session = open_session()
    session.execute("CREATE TABLE k (n int PRIMARY KEY)")
    session.execute("BEGIN TRANSACTION; INSERT INTO k VALUES (1)")
    fails(session, 2627, "INSERT INTO k VALUES (2), (1)")
    assert session.rows("SELECT n, @@TRANCOUNT FROM k") == [[1, 1]]
    session.execute("SET XACT_ABORT ON")
    fails(session, 2627, "INSERT INTO k VALUES (1)")
    assert session.transaction_count == 0
    assert session.rows("SELECT COUNT_BIG(*) FROM k") == [[0]]


def test_double_quotes_enclose_a_text_without_quoted_identifiers(open_session: OpenSession) -> None:
    session: Session = open_session()
    session.quoted_identifiers = False
    fails(session, 102, 'CREATE TABLE "q" (n int)')
    session.execute("SET QUOTED_IDENTIFIER ON")
    session.execute('CREATE TABLE "q" (n int)')
    assert session.rows("SELECT n FROM q") == []


def test_constraints_are_dropped(open_session: OpenSession) -> None:
    session: Session = open_session()
    session.execute("CREATE TABLE k (n int CONSTRAINT pk PRIMARY KEY, CONSTRAINT c CHECK (n > 0))")
    session.execute("BEGIN TRANSACTION; ALTER TABLE k DROP CONSTRAINT c; ROLLBACK")
    fails(session, 547, "INSERT INTO k VALUES (0)")
    session.execute("ALTER TABLE k DROP CONSTRAINT c; ALTER TABLE k DROP CONSTRAINT pk")
    session.execute("INSERT INTO k VALUES (0), (0)")


def test_a_code_page_replaces_characters_that_it_lacks(open_session: OpenSession) -> None:
    session: Session = open_session()
    session.execute("CREATE TABLE c (v varchar(9) NULL)")
    session.execute("INSERT INTO c VALUES (N'é漢')")
    assert session.rows("SELECT v FROM c") == [["é?"]]


def test_readers_wait_for_writers(open_session: OpenSession) -> None:
    one: Session = open_session()
    other: Session = open_session()
    one.execute("CREATE TABLE r (n int PRIMARY KEY, v int)")
    one.execute("INSERT INTO r VALUES (1, 1), (2, 2)")
    one.execute("BEGIN TRANSACTION; UPDATE r SET v = 9 WHERE n = 1")
    fails(other, 1222, "SELECT * FROM r")
    # The row of another key is not waited for, and hints pass by.
    assert other.rows("SELECT v FROM r WHERE n = 2") == [[2]]
    assert other.rows("SELECT v FROM r WITH (READCOMMITTEDLOCK, READPAST)") == [[2]]
    assert other.rows("SELECT v FROM r WITH (NOLOCK) ORDER BY n") == [[9], [2]]
    one.close()
    assert other.rows("SELECT v FROM r ORDER BY n") == [[1], [2]]


def test_who_changes_a_row_waits_for_those_who_keep_it(open_session: OpenSession) -> None:
    one: Session = open_session()
    other: Session = open_session()
    one.execute("CREATE TABLE r (n int PRIMARY KEY, v int); INSERT INTO r VALUES (1, 1), (2, 2)")
    for session in (one, other):
        session.execute("BEGIN TRANSACTION")
        session.rows("SELECT v FROM r WITH (REPEATABLEREAD) WHERE n = 1")
    other.execute("UPDATE r SET v = 3 WHERE n = 2")
    fails(other, 1222, "UPDATE r SET v = 3 WHERE n = 1")
    one.execute("COMMIT")
    other.execute("UPDATE r SET v = 3 WHERE n = 1")


def test_definitions_lock_their_names(open_session: OpenSession) -> None:
    one: Session = open_session()
    other: Session = open_session()
    one.execute(TABLE)
    one.execute("BEGIN TRANSACTION; EXEC sp_rename N't', N'u'")
    for statement in ("SELECT * FROM t", "SELECT OBJECT_ID(N'u')", "SELECT name FROM sys.objects"):
        fails(other, 1222, statement)


def test_a_deadlock_ends_one_of_its_sessions(database: Database) -> None:
    one, other = Session(database), Session(database)
    one.execute("CREATE TABLE a (n int); CREATE TABLE b (n int)")
    one.execute("BEGIN TRANSACTION; INSERT INTO a WITH (TABLOCK) VALUES (1)")
    other.execute("BEGIN TRANSACTION; INSERT INTO b WITH (TABLOCK) VALUES (1)")
    errors: list[int] = []

    def take(session: Session, table: str) -> None:
        try:
            session.execute(f"INSERT INTO {table} WITH (TABLOCK) VALUES (2)")
        except SqlError as error:
            errors.append(error.number)
            session.close()

    threads = [threading.Thread(target=take, args=pair) for pair in ((one, "b"), (other, "a"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert errors == [1205]
    one.close()
    other.close()


APPLICATION_LOCK = (
    "EXEC sp_getapplock @Resource = N'r', @LockMode = N'Exclusive', @LockOwner = N'Session', "
    "@LockTimeout = 0"
)


def status(session: Session) -> int | None:
    return next(result.status for result in session.run(APPLICATION_LOCK))


def test_an_application_lock_dies_with_its_session(open_session: OpenSession) -> None:
    one: Session = open_session()
    other: Session = open_session()
    assert status(one) == 0
    # It belongs to the session and not to its transaction.
    one.execute("BEGIN TRANSACTION; ROLLBACK")
    assert status(other) == -1
    question = "SELECT APPLOCK_TEST(N'public', N'r', N'Exclusive', N'Session')"
    assert [session.rows(question) for session in (one, other)] == [[[1]], [[0]]]
    one.close()
    assert other.rows(question) == [[1]]
    assert status(other) == 0


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


def test_the_double_listens_until_it_is_closed() -> None:
    with Double() as double:
        assert double.port and double.url.endswith("/test?encrypt=off")


def test_windows_count_the_rows_that_share_a_key(open_session: OpenSession) -> None:
    session: Session = open_session()
    session.execute("CREATE TABLE w (n int, k nvarchar(4) NULL)")
    session.execute("INSERT INTO w VALUES (1, N'a'), (2, NULL), (3, N'A '), (4, N'b'), (5, NULL)")
    query = (
        "SELECT n, first FROM (SELECT n, MIN(n) OVER (PARTITION BY k) AS first, COUNT_BIG(*) OVER "
        "(PARTITION BY k) AS sharing FROM w) AS keyed WHERE sharing > 1 ORDER BY n"
    )
    # NULL is equal to NULL here, as in a unique index.
    assert session.rows(query) == [[1, 1], [2, 2], [3, 1], [5, 2]]


def test_a_subquery_sees_the_row_around_it(open_session: OpenSession) -> None:
    session: Session = open_session()
    session.execute("CREATE TABLE a (n int); CREATE TABLE b (n int, m int)")
    session.execute("INSERT INTO a VALUES (1), (2), (3); INSERT INTO b VALUES (2, 1), (3, 2)")
    query = (
        "SELECT own.n FROM a AS own WHERE EXISTS (SELECT 1 FROM b AS other WHERE other.n = own.n "
        "AND m > 1)"
    )
    assert session.rows(query) == [[3]]


def test_functions_of_values(open_session: OpenSession) -> None:
    session: Session = open_session()
    for expression, value in {
        "DATEDIFF(day, '1970-01-01', '1969-12-30')": -2,
        "DATEDIFF_BIG(second, '1970-01-01T00:00:00', '1969-12-31 23:59:59.500000')": -1,
        "DATEPART(microsecond, '1969-12-31 23:59:59.500000')": 500_000,
        "DATEDIFF(second, '00:00:00', '01:00:01')": 3_601,
        "DATALENGTH(CAST(N'aä😀' COLLATE Latin1_General_100_BIN2_UTF8 AS varchar(max)))": 7,
        "CONVERT(bigint, CONVERT(varbinary(8), SUBSTRING('ffffffffffffffff', 1, 16), 2))": -1,
        "CAST(COALESCE(CAST('0' AS decimal(38,8)), 0) AS nvarchar(100))": "0.00000000",
    }.items():
        assert session.rows(f"SELECT {expression}") == [[value]], expression


def test_rowgroups_are_those_of_batches_or_of_a_build(open_session: OpenSession) -> None:
    """Full ones, and the rest: open in a batch with few rows, compressed by a build."""
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


def test_requests_show_who_waits_for_whom(database: Database) -> None:
    """Without VIEW SERVER STATE a session sees only itself, and no service (error 300)."""
    one, other, asks = Session(database), Session(database), Session(database)
    one.execute(f"{TABLE}; BEGIN TRANSACTION; INSERT INTO t VALUES (1, NULL)")
    waits = threading.Thread(target=other.execute, args=("SELECT id FROM t",))
    waits.start()
    with database.locks.changed:
        assert database.locks.changed.wait_for(lambda: other.wait is not None, 10)
    seen = "SELECT session_id, status, wait_type, blocking_session_id FROM sys.dm_exec_requests"
    blocked = [other.number, "suspended", "LCK_M_S", one.number]
    running = [asks.number, "running", None, 0]
    assert asks.rows(seen) == [blocked, running]
    database.shows_server_state = False
    assert asks.rows(seen) == [running]
    assert asks.rows("SELECT session_id FROM sys.dm_exec_sessions") == [[asks.number]]
    fails(asks, 300, "SELECT servicename FROM sys.dm_server_services")
    one.execute("ROLLBACK")
    waits.join(10)
    for session in (one, other, asks):
        session.close()


def test_joins_and_groups(open_session: OpenSession) -> None:
    """LEFT JOIN, HAVING, and an UPDATE of the rows that have a partner."""
    session = open_session()
    session.execute(
        "CREATE TABLE a (id int, n nvarchar(4)); CREATE TABLE b (id int, m nvarchar(4))"
    )
    session.execute("INSERT INTO a VALUES (1, 'x'), (2, 'y'), (2, 'z'), (NULL, 'n')")
    session.execute("INSERT INTO b VALUES (2, 'p'), (3, 'q')")
    joined = "SELECT a.n, b.m FROM a LEFT JOIN b ON b.id = a.id"
    both = [["x", None], ["y", "p"], ["z", "p"], ["n", None]]
    assert session.rows(joined) == both
    assert session.rows(f"{joined} WHERE b.id IS NULL") == [both[0], both[3]]
    grouped = "SELECT TOP (1) id, COUNT_BIG(*) FROM a GROUP BY id HAVING COUNT_BIG(*) > "
    assert session.rows(grouped + "1") == [[2, 2]]
    assert session.rows(grouped + "2") == []
    changed = "UPDATE t SET n = s.m FROM a AS t JOIN b AS s ON s.id = t.id"
    assert [one.count for one in session.run(changed)] == [2]
    assert session.rows("SELECT n FROM a ORDER BY n") == [["n"], ["p"], ["p"], ["x"]]


def test_a_table_that_is_locked_whole(open_session: OpenSession) -> None:
    """TABLOCKX with HOLDLOCK: until its transaction ends, nobody else reads or writes it."""
    first, second = open_session(), open_session()
    first.execute(f"{TABLE}; BEGIN TRANSACTION; SELECT TOP (1) 1 FROM t WITH (TABLOCKX, HOLDLOCK)")
    for statement in ("SELECT id FROM t", "INSERT INTO t VALUES (1, 'a')"):
        fails(second, 1222, statement)
    first.execute("COMMIT TRANSACTION")
    second.execute("INSERT INTO t VALUES (1, 'a')")


def test_texts_and_their_bytes(open_session: OpenSession) -> None:
    """`=` ignores case and trailing blanks; bytes differ, except for zeros at their end."""
    session = open_session()
    session.execute("CREATE TABLE t (a nvarchar(9), b nvarchar(9), c varbinary(9), d varbinary(9))")
    session.execute("INSERT INTO t VALUES ('Ab', 'aB ', NULL, NULL)")
    equal = "SELECT COUNT_BIG(*) FROM t WHERE "
    assert session.rows(equal + "a = b") == [[1]]
    in_bytes = "CAST(a AS varbinary(max)) = CAST(b AS varbinary(max))"
    assert session.rows(equal + in_bytes) == [[0]]
    session.insert("t", [[None, None, b"a", b"a\0"]])
    assert session.rows(equal + "c = d") == [[1]]
    assert session.rows(equal + "DATALENGTH(c) = DATALENGTH(d)") == [[0]]

"""Merging rows by their key where SQL Server differs from others. All tests use the double.

`tests/conformance/test_merge.py` compares loads with the model, for every destination.
"""

from __future__ import annotations

from harness.command import CLEAN, FAILED
from sqlserver.loads import Loads

VERSIONS = (
    "CREATE TABLE t (id int NOT NULL, day date NOT NULL, note nvarchar(20) NULL, "
    "valid_from datetimeoffset(6) NOT NULL, valid_to datetimeoffset(6) NULL)",
    "CREATE UNIQUE INDEX of_current ON t (id) WHERE valid_to IS NULL",
)
BEGUN = "'2020-01-01 00:00:00 +00:00', NULL"


def test_texts_that_differ_in_case_or_in_blanks_are_changed(loads: Loads) -> None:
    """Such texts are updated although the server's `=` treats them as equal."""
    loads.make(*VERSIONS)
    for number, note in ((1, "n1"), (2, "N2"), (3, "n3 "), (4, None)):
        text = "NULL" if note is None else f"'{note}'"
        loads.make(f"INSERT INTO t VALUES ({number}, '2024-01-01', {text}, {BEGUN})")
    loads.files(" ".join(f"{number},2024-01-01" for number in (1, 2, 3, 4)))
    (table,) = loads(mode="upsert", key="id", scd={}).expect(CLEAN).report["tables"]
    assert table["versions"] == {"new": 0, "changed": 3, "overwritten": 0, "unchanged": 1}
    assert loads.rows("SELECT note FROM t WHERE valid_to IS NULL ORDER BY id") == [
        ["n1"], ["n2"], ["n3"], ["n4"],
    ]  # fmt: skip


def test_the_key_may_be_an_identity_column_and_other_columns_may_not(loads: Loads) -> None:
    loads.make(
        "CREATE TABLE t (id int IDENTITY(1, 1) PRIMARY KEY, day date NOT NULL, note nvarchar(20))",
        "INSERT INTO t (day, note) VALUES ('2024-01-01', 'old'), ('2024-01-01', 'old')",
    )
    loads.files("2,2024-01-05 7,2024-01-07")
    (table,) = loads(mode="upsert", key="id").expect(CLEAN).report["tables"]
    assert table["rows_updated"] == 1
    assert loads.rows("SELECT id, note FROM t ORDER BY id") == [[1, "old"], [2, "n2"], [7, "n7"]]
    loads.make(
        "DROP TABLE t",
        "CREATE TABLE t (id int IDENTITY(1, 1), day date NOT NULL PRIMARY KEY, note nvarchar(20))",
    )
    said = 'has the identity column "id", which no UPDATE can change'
    loads("check", mode="upsert", key="day").expect(FAILED, said, "part of the key")


def test_rows_are_merged_into_partitions(loads: Loads) -> None:
    """A row may move into another partition."""
    loads.months()
    loads.make(
        "CREATE UNIQUE INDEX u ON t (id) ON [PRIMARY]",
        "INSERT INTO t VALUES (1, '2024-01-05', 'old'), (2, '2024-02-05', 'old')",
    )
    loads.files("2,2024-03-05 3,2024-03-07")
    loads(mode="upsert", key="id").expect(CLEAN)
    assert loads.partitions() == {1: 1, 3: 2}
    assert loads.rows("SELECT id, note FROM t ORDER BY id") == [[1, "old"], [2, "n2"], [3, "n3"]]
    assert loads.switches == []
    loads.nothing_is_left()


def test_babelfish_refuses_to_merge(loads: Loads) -> None:
    loads.double.database.properties |= {"PRODUCTVERSION": "12.0.2000.8", "BABELFISH": 1}
    loads.make("CREATE TABLE t (id int PRIMARY KEY, day date NOT NULL, note nvarchar(20))")
    loads.files("1,2024-01-05")
    said = "cannot merge rows into a table by their key"
    outcome = loads("check", mode="upsert", key="id")
    outcome.expect(outcome.status, said)
    assert outcome.status != CLEAN

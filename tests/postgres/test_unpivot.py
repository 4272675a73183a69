"""`unpivot` into PostgreSQL: streams, refused rows, bad columns, expectations, and reject shares.

`tests/conformance/test_steps.py` checks the rows in every destination.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from harness.command import (
    CLEAN,
    LOADED_WITH_REJECTS,
    REJECT_LIMIT,
    USAGE,
    VERIFICATION,
    Inrush,
)
from harness.packages import flow, package, step
from harness.servers import Database

COLUMNS = ["id int", "q1 int", "q2 int", "q3 int"]
QUARTERS = step(unpivot={"columns": ["q1", "q2", "q3"], "name": "quarter", "value": "amount"})


def text_of(count: int) -> str:
    return "id,q1,q2,q3\n" + "".join(f"{n},{n % 7},{n % 11},{n % 13}\n" for n in range(count))


def rows_of(count: int) -> list[tuple[int, str, int]]:
    return [
        (n, f"q{quarter}", n % of)
        for n in range(count)
        for quarter, of in ((1, 7), (2, 11), (3, 13))
    ]


def loaded(database: Database, table: str = "loaded") -> list[tuple[Any, ...]]:
    return database.rows(f"SELECT id, quarter, amount FROM {table} ORDER BY 1, 2")


@pytest.mark.parametrize("compressed", [False, True])
def test_any_number_of_streams_makes_the_same_rows(
    inrush: Inrush, newest_database: Database, compressed: bool
) -> None:
    # Four files, which streams share. Each has more than the 2,730 records that pass the steps
    # together.
    count, files = 5_000, 4
    header, *lines = text_of(count * files).splitlines(keepends=True)
    for file in range(files):
        encoded = "".join([header, *lines[file * count : (file + 1) * count]]).encode()
        if compressed:
            inrush.write(f"rows.{file}.csv.gz", gzip.compress(encoded, 1))
        else:
            inrush.write(f"rows.{file}.csv", encoded)
    refused = [n for n in range(count * files) if n % 2_000 == 7]
    expected = [row for row in rows_of(count * files) if row[0] % 2_000 != 7 or row[1] != "q2"]
    steps = QUARTERS + step(check="id % 2000 <> 7 OR quarter <> 'q2'")
    for streams in (1, 4):
        one = flow(f"loaded_{streams}", "rows.*", columns=COLUMNS, rejects={"rows_max": 100})
        said: dict[str, Any] = {"streams": streams, "name": f"by {streams}"}
        path = inrush.write("package.toml", package(newest_database.url, one + steps, **said))
        outcome = inrush("run", path).expect(LOADED_WITH_REJECTS)
        assert [unit["shared"] for unit in outcome.report["units"]] == [streams > 1]
        rejects = outcome.rejects()
        assert all(
            reject["reason"].endswith("(step 2) is not met (the row of `q2`)") for reject in rejects
        )
        ending = ".csv.gz" if compressed else ".csv"
        assert [(Path(reject["file"]).name, reject["line"]) for reject in rejects] == [
            (f"rows.{n // count}{ending}", n % count + 2) for n in refused
        ]
        assert loaded(newest_database, f"loaded_{streams}") == expected


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_single_rows_of_a_record_are_refused(
    inrush: Inrush, newest_database: Database, mode: str
) -> None:
    """The careful load rejects one row, the merge another; other rows of the record are loaded."""
    newest_database.execute(
        "CREATE TABLE loaded (id int, quarter text, amount int CHECK (amount <> 12), "
        "PRIMARY KEY (id, quarter))"
    )
    newest_database.execute("INSERT INTO loaded VALUES (50, 'q2', -1), (50, 'q3', -1)")
    inrush.write("rows.csv", text_of(200))
    more: dict[str, Any] = {"key": ["id", "quarter"]} if mode == "upsert" else {}
    one = flow("loaded", "rows.csv", columns=COLUMNS, mode=mode, rejects={"rows_max": 50}, **more)
    path = inrush.write("package.toml", package(newest_database.url, one + QUARTERS))
    outcome = inrush("run", path).expect(LOADED_WITH_REJECTS)
    before = {(50, "q2"), (50, "q3")} if mode == "append" else set()
    rejected = sorted(
        (number, quarter)
        for number, quarter, amount in rows_of(200)
        if amount == 12 or (number, quarter) in before
    )
    rejects = outcome.rejects()
    assert [reject["line"] - 2 for reject in rejects] == [number for number, _ in rejected]
    named = [reject["reason"].rpartition(" (the row of ")[2] for reject in rejects]
    assert named == [f"`{quarter}`)" for _, quarter in rejected]
    expected = [row for row in rows_of(200) if row[2] != 12 and (row[0], row[1]) not in before]
    expected += [(*key, -1) for key in before]
    assert loaded(newest_database) == sorted(expected)


def test_promises_count_records(inrush: Inrush, newest_database: Database) -> None:
    inrush.write("rows.csv", text_of(30))
    for promised, status in ((90, VERIFICATION), (30, CLEAN)):
        one = flow("loaded", "rows.csv", columns=COLUMNS, expect={"rows": promised}) + QUARTERS
        path = inrush.write("package.toml", package(newest_database.url, one, name=f"p{promised}"))
        inrush("run", path).expect(status)
    assert loaded(newest_database) == rows_of(30)


def test_the_share_of_rejects_is_of_the_rows_that_are_made(
    inrush: Inrush, newest_database: Database
) -> None:
    """One of three rows of each record is rejected. The record is not replayed."""
    inrush.write("rows.csv", text_of(100))
    for share, status in ((0.33, REJECT_LIMIT), (0.34, LOADED_WITH_REJECTS)):
        one = flow("loaded", "rows.csv", columns=COLUMNS, rejects={"share_max": share})
        one += QUARTERS + step(check="quarter <> 'q1'")
        path = inrush.write("package.toml", package(newest_database.url, one, name=f"p {share}"))
        outcome = inrush("run", path).expect(status)
    assert outcome.report["account"]["rows_rejected"] == 100
    refused = inrush("rejects", "replay", outcome.report["run"])
    assert refused.status != CLEAN
    assert "makes several rows of each record" in refused.said
    shown = inrush("rejects", "show", outcome.report["run"]).expect(CLEAN).output
    assert "makes several rows of each record" in shown
    assert "rejects replay" not in shown


def test_a_column_of_the_target_of_which_rows_are_made(
    inrush: Inrush, newest_database: Database
) -> None:
    """A target's column with the name of an unpivoted one gets no value, and the plan says so."""
    inrush.write("rows.csv", text_of(3))
    one = flow("loaded", "rows.csv", columns=COLUMNS, mode="append") + QUARTERS
    path = inrush.write("package.toml", package(newest_database.url, one))
    table = "CREATE TABLE loaded (id int, q1 int {}, quarter text, amount int)"
    newest_database.execute(table.format("NOT NULL"))
    said = "`unpivot` turns q1 into rows, so it is not loaded, and "
    inrush("check", path).expect(USAGE, said, "does not allow it to be NULL", "DEFAULT")
    newest_database.execute("DROP TABLE loaded; " + table.format("DEFAULT 7"))
    said = "has q1, which `unpivot` turns into rows: new rows get the DEFAULT there, or NULL"
    inrush("check", path).expect(CLEAN, said)
    inrush("run", path).expect(CLEAN, said)
    assert newest_database.rows("SELECT DISTINCT q1 FROM loaded") == [(7,)]
    assert loaded(newest_database) == rows_of(3)


def test_the_hint_names_a_type_that_holds_all_values(
    inrush: Inrush, newest_database: Database
) -> None:
    inrush.write("rows.csv", "id,a,b\n1,1,0.5\n")
    for types, hint in {
        ("int", "double precision"): "CAST(a AS DOUBLE)",
        ("double precision", "int"): "CAST(b AS DOUBLE)",
        ("bigint", "double precision"): "CAST(b AS VARCHAR)",
        ("int", "numeric(5,2)"): "CAST(b AS DECIMAL(12,2))",
        ("int", "uuid"): "read the columns as text",
    }.items():
        columns: list[Any] = ["id int", f"a {types[0]}", f"b {types[1]}"]
        one = flow("loaded", "rows.csv", columns=columns)
        one += step(unpivot={"columns": ["a", "b"], "name": "what", "value": "amount"})
        path = inrush.write("package.toml", package(newest_database.url, one))
        inrush("check", path).expect(USAGE, hint)


BAD = {
    '{ columns = ["q1", "q9"], name = "quarter", value = "amount" }': "there is no column `q9`",
    '{ columns = ["q1", "word"], name = "quarter", value = "amount" }': "has the type VARCHAR",
    '{ columns = ["q1", "q2"], name = "ID", value = "amount" }': "a column `ID` already",
    '{ columns = ["q1", "q2"], name = "V", value = "v" }': "`name` is the same column",
    '{ columns = ["q1", "q2"], name = "inrush_step_x", value = "amount" }': "cannot be called",
}


@pytest.mark.parametrize("unpivot", BAD)
def test_columns_that_cannot_become_rows_are_shown_at_their_place(
    inrush: Inrush, newest_database: Database, unpivot: str
) -> None:
    inrush.write("rows.csv", "id,q1,q2,word\n1,2,3,x\n")
    one = flow("loaded", "rows.csv", columns=["id int", "q1 int", "q2 int", "word text"])
    text = package(newest_database.url, one + f"\n[[flow.step]]\nunpivot = {unpivot}\n")
    outcome = inrush("check", inrush.write("package.toml", text))
    line = text.splitlines().index(f"unpivot = {unpivot}") + 1
    outcome.expect(USAGE, f"package.toml:{line}:", BAD[unpivot])


def test_check_peek_and_lineage_know_the_step(inrush: Inrush, newest_database: Database) -> None:
    inrush.write("rows.csv", text_of(3))
    one = flow("loaded", "rows.csv", columns=COLUMNS) + QUARTERS
    path = inrush.write("package.toml", package(newest_database.url, one))
    checked = inrush("check", path).expect(CLEAN).output
    assert "step 1: unpivot q1, q2, q3: each row becomes 3 rows" in checked
    shown = inrush("peek", path, "--rows", "4").expect(CLEAN).output
    assert shown.count("rows.csv:2 ") == 3
    assert shown.count("rows.csv:3 ") == 1
    assert "3 in, 6 added" in shown
    inrush("preflight", path).expect(CLEAN)
    inrush("run", path).expect(CLEAN)
    of_value = inrush("lineage", "loaded.amount", path).expect(CLEAN).output
    assert "step 1, unpivot" in of_value
    assert "q3 of rows.csv" in of_value


@pytest.mark.parametrize("memory", [None, 200_000], ids=["in memory", "on disk"])
def test_each_row_of_a_record_is_looked_up(
    inrush: Inrush, newest_database: Database, memory: int | None
) -> None:
    """Rows are looked up by the new columns: a record has rows with a match and without one."""
    keys = 20_000
    inrush.write(
        "words.csv",
        "quarter,amount,word\n" + "".join(f"q{n % 2 + 1},{n // 2},word {n}\n" for n in range(keys)),
    )
    inrush.write("rows.csv", text_of(500))
    reference: dict[str, Any] = {
        "files": "words.csv",
        "columns": ["quarter text", "amount int", "word text"],
    }
    if memory:
        reference["memory_bytes_max"] = memory
    on = {"quarter": "quarter", "amount": "amount"}
    one = flow("loaded", "rows.csv", columns=COLUMNS, rejects={"rows_max": 500}) + QUARTERS
    one += step(lookup=reference, on=on, take={"word": "word"})
    path = inrush.write("package.toml", package(newest_database.url, one))
    checked = inrush("check", path).expect(CLEAN).output
    assert ("in the folder for temporary files" in checked) == bool(memory)
    outcome = inrush("run", path).expect(LOADED_WITH_REJECTS)
    rejects = outcome.rejects()
    assert [reject["line"] - 2 for reject in rejects] == list(range(500))
    assert all(reject["reason"].endswith(" (the row of `q3`)") for reject in rejects)
    assert newest_database.rows("SELECT id, quarter, amount, word FROM loaded ORDER BY 1, 2") == [
        (number, quarter, amount, f"word {2 * amount + (quarter == 'q2')}")
        for number, quarter, amount in rows_of(500)
        if quarter != "q3"
    ]


def test_members_are_added_for_the_rows_of_a_record(
    inrush: Inrush, newest_database: Database
) -> None:
    newest_database.execute(
        "CREATE TABLE amounts (key int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, no int UNIQUE)"
    )
    newest_database.execute("CREATE TABLE loaded (id int, quarter text, amount int, key int)")
    inrush.write("rows.csv", text_of(100))
    adding = step(
        lookup={"connection": "target", "table": "amounts"},
        on={"amount": "no"},
        take={"key": "key"},
        unmatched="add",
    )
    one = flow("loaded", "rows.csv", columns=COLUMNS, mode="append") + QUARTERS + adding
    path = inrush.write("package.toml", package(newest_database.url, one))
    inrush("run", path).expect(CLEAN, "13 members were added to")
    assert newest_database.rows("SELECT no FROM amounts ORDER BY 1") == [(n,) for n in range(13)]
    assert newest_database.rows(
        "SELECT l.id, l.quarter, a.no FROM loaded l JOIN amounts a USING (key) ORDER BY 1, 2"
    ) == rows_of(100)
    # The number of a member is final only in the switch, so it cannot become a row.
    late = step(unpivot={"columns": ["key", "amount"], "name": "what", "value": "number"})
    one = flow("late", "rows.csv", columns=COLUMNS) + QUARTERS + adding + late
    path = inrush.write("late.toml", package(newest_database.url, one))
    inrush("check", path).expect(USAGE, "step 3 uses `key`")


def test_many_columns_become_rows(inrush: Inrush, newest_database: Database) -> None:
    """Each column is read once, and columns that no later step uses are not repeated."""
    count, rows = 600, 50
    names = [f"c{at}" for at in range(count)]
    lines = [",".join(["id", *names])]
    lines += [",".join(str(row * at) for at in (1, *range(count))) for row in range(rows)]
    inrush.write("rows.csv", "\n".join(lines) + "\n")
    columns = ["id int", *(f"{name} int" for name in names)]
    one = flow("loaded", "rows.csv", columns=columns)
    one += step(unpivot={"columns": names, "name": "name", "value": "value"})
    one += step(where="c3 <> 9 OR name <> 'c5'")
    path = inrush.write("package.toml", package(newest_database.url, one))
    shown = inrush("peek", path, "--step", "1", "--rows", "2").expect(CLEAN).output
    assert "c0, c1, c2, c3, c4, c5, c6, c7 and 592 more" in shown
    header = shown.splitlines()[2].split()
    assert "c3" in header
    assert "c4" not in header
    outcome = inrush("run", path).expect(CLEAN)
    assert outcome.report["account"]["rows_added"] == rows * (count - 1)
    assert newest_database.rows("SELECT id, name, value FROM loaded ORDER BY 1, 3, 2") == sorted(
        (
            (row, f"c{at}", row * at)
            for row in range(rows)
            for at in range(count)
            if (row, at) != (3, 5)
        ),
        key=lambda one: (one[0], one[2], one[1]),
    )


# Values of types that DuckDB can process, and of types that expressions cannot use.
TYPES = {
    "boolean": ("true", "false"),
    "bigint": ("9223372036854775807", "-1"),
    "numeric(38,9)": ("0.000000001", "-99999999999999999999999999999.999999999"),
    "numeric": ("1e-40", "NaN"),
    "double precision": ("NaN", "-Infinity"),
    "char(5)": ("ab", "abcde"),
    "varchar(9)": ("", "ü b"),
    "bytea": ("\\x00ff", "\\x"),
    "date": ("infinity", "0001-01-01"),
    "time": ("24:00:00", "12:34:56.789"),
    "timestamp": ("-infinity", "2024-02-29 12:34:56.000001"),
    "timestamptz": ("infinity", "2024-02-29 12:34:56+02"),
    "interval": ("1 mon -2 days 00:00:03", "-1 year"),
    "uuid": ("12345678-90ab-cdef-1234-567890abcdef", "00000000-0000-0000-0000-000000000000"),
    "jsonb": ('{"a": [1, null]}', '"x"'),
    "inet": ("10.0.0.1/8", "::1"),
    "int4range": ("[1,5)", "empty"),
    "text[]": ("{a,NULL}", "{}"),
}


# Types that only this database has, or whose values have no limit. A derived column of a new target
# cannot have them, because it needs a type that every destination has.
LACK_A_TYPE = ["numeric", "interval", "jsonb", "inet", "int4range", "text[]"]

TypedRow = tuple[int, str | None, str | None]


def rows_of_type(type_: str) -> list[TypedRow]:
    first, second = TYPES[type_]
    return [(1, first, second), (2, second, None), (3, None, first)]


def unpivoted(inrush: Inrush, table: str, type_: str, mode: str) -> str:
    """Write a file with values of a type, and return a flow that makes rows of them."""

    def field(value: str | None) -> str:
        return "" if value is None else '"' + value.replace('"', '""') + '"'

    lines = [
        f"{number},{field(one)},{field(other)}\n" for number, one, other in rows_of_type(type_)
    ]
    inrush.write(f"{table}.csv", "id,a,b\n" + "".join(lines))
    columns = ["id int", f"a {type_}", f"b {type_}"]
    made = step(unpivot={"columns": ["a", "b"], "name": "which", "value": "what"})
    return flow(table, f"{table}.csv", columns=columns, mode=mode) + made


def insert_wanted(table: str, type_: str) -> str:
    """Return statements that make a table with the rows that `unpivoted` makes."""

    def literal(value: str | None) -> str:
        return "NULL" if value is None else "'" + value.replace("'", "''") + "'"

    wanted = ", ".join(
        f"({number}, '{which}', {literal(value)}::{type_})"
        for number, *values in rows_of_type(type_)
        for which, value in zip("ab", values, strict=True)
    )
    return (
        f"CREATE TABLE {table} (id int, which text, what {type_}); "
        f"INSERT INTO {table} VALUES {wanted}"
    )


@pytest.mark.parametrize("is_new", [False, True], ids=["a target", "a new target"])
def test_values_of_every_type_become_rows(
    inrush: Inrush, newest_database: Database, is_new: bool
) -> None:
    """All values of all types, and NULL, are unpivoted unchanged; each type has its own flow."""
    types = [type_ for type_ in TYPES if not (is_new and type_ in LACK_A_TYPE)]
    statements, flows = [], []
    for number, type_ in enumerate(types):
        table = f"loaded_{number}"
        if not is_new:
            statements.append(f"CREATE TABLE {table} (id int, which text, what {type_})")
        statements.append(insert_wanted(f"wanted_{number}", type_))
        flows.append(unpivoted(inrush, table, type_, "create" if is_new else "append"))
    newest_database.execute("; ".join(statements))
    path = inrush.write("package.toml", package(newest_database.url, *flows))
    inrush("run", path).expect(CLEAN)
    for number, type_ in enumerate(types):
        loaded_rows, wanted_rows = (
            newest_database.rows(f"SELECT t::text FROM {name}_{number} t ORDER BY id, which")
            for name in ("loaded", "wanted")
        )
        assert loaded_rows == wanted_rows, type_
        assert len(loaded_rows) == 6


@pytest.mark.parametrize("type_", LACK_A_TYPE)
def test_a_new_target_has_no_type_for_some_values(
    inrush: Inrush, newest_database: Database, type_: str
) -> None:
    flow_of_type = unpivoted(inrush, "loaded", type_, "create")
    path = inrush.write("package.toml", package(newest_database.url, flow_of_type))
    inrush("run", path).expect(USAGE, "no type holds its values", "create the target first")

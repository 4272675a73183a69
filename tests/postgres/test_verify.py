"""Tests that each level of `verify` finds the damage that it should find.

The tests cause the damage: another session changes the ledger and the staging tables while the
command is stopped, and `INRUSH_FAULT` changes rows in transit.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from harness import staging_triggers
from harness.command import CLEAN, VERIFICATION, Inrush
from harness.contents import assert_no_rows, assert_same_rows, contents
from harness.packages import flow, package
from harness.servers import Database
from values.families import families_of, lines

LEVELS = ["count", "sums", "rows"]

COLUMNS = ["id int not null", "amount numeric(15,2)", "day date", "note text"]
# Two batches and a part of one.
ROWS = 2_500

# The rows of files that are large enough to be shared, because they have several ranges of 8 MiB.
# They are long, so that there are few.
WIDE = "x" * 3_900
WIDE_ROWS = 4_400


def file_of(inrush: Inrush, name: str = "rows.tbl") -> None:
    """Write a file whose rows all differ."""
    inrush.write(
        name,
        "".join(
            f"{n}|{n * 37 % 9973}.{n % 100:02}|2024-{n % 12 + 1:02}-{n % 28 + 1:02}|note {n}|\n"
            for n in range(ROWS)
        ),
    )


# The damage to the ledger's splits, and the message.
LEDGER_FAULTS = {
    "a range is missing": (
        "DELETE FROM inrush.shard WHERE byte_start > 0 AND byte_start < file_bytes / 2 "
        "AND byte_start = (SELECT min(byte_start) FROM inrush.shard WHERE byte_start > 0)",
        "were loaded by no range",
    ),
    "the last range is missing": (
        "DELETE FROM inrush.shard WHERE byte_end = file_bytes",
        "were loaded by no range",
    ),
    "a range reaches into the next": (
        "UPDATE inrush.shard SET byte_end = byte_end + 1 WHERE byte_start = 0",
        "were loaded more than once",
    ),
    **{
        f"a range is there twice, {place}": (
            "INSERT INTO inrush.shard SELECT twice.* FROM inrush.shard s, jsonb_populate_record(s, "
            f"jsonb_build_object('shard_key', repeat('{digit}', 64), 'rows_read', 0, "
            "'rows_loaded', 0, 'bytes_read', 0)) twice WHERE s.byte_start = 0",
            "were loaded more than once",
        )
        for place, digit in [("read before the others", "0"), ("read after them", "f")]
    },
    "a range has read too little": (
        "UPDATE inrush.shard SET bytes_read = bytes_read - 1 WHERE byte_start = 0",
        "bytes were read from its ranges",
    ),
    "rows are counted in the wrong range": (
        "UPDATE inrush.shard SET rows_loaded = rows_loaded - 1, rows_read = rows_read - 1 "
        "WHERE byte_start = 0",
        "but 6799 were sent",
    ),
}


@pytest.mark.parametrize("fault", LEDGER_FAULTS)
def test_ranges_cover_the_file(newest_database: Database, inrush: Inrush, fault: str) -> None:
    """The ledger's ranges of a file that several streams share cover the file exactly once."""
    statement, said = LEDGER_FAULTS[fault]
    inrush.write("rows.tbl", "".join(f"{n:07}|{WIDE}|\n" for n in range(6_800)))
    words = ["load", "rows.tbl", "--to", newest_database.url, "--table", "loaded"]
    words += ["--columns", "id int, note text", "--streams", "2"]
    with inrush.stopped_by("stop:before_switch", *words) as running:
        assert newest_database.value("SELECT count(*) FROM inrush.shard") == 3
        newest_database.execute(statement)
        outcome = running.resume().wait()
    outcome.expect(VERIFICATION, said)
    assert_no_rows(newest_database)


# The lowest level that finds each kind of damage.
HARM = {"batch_lost": "count", "row_doubled": "sums", "values_exchanged": "rows"}


@pytest.mark.parametrize("streams", [1, 2])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("harm", HARM)
def test_harm_on_the_way_is_found(
    database: Database, inrush: Inrush, harm: str, level: str, streams: int
) -> None:
    """Each level finds the damage that it promises to find, and all that lower levels find."""
    if streams == 1:
        file_of(inrush)
    else:
        # Each range has its own sums.
        lines = (f"{n}|{n}|2024-01-01|{WIDE}|\n" for n in range(WIDE_ROWS))
        inrush.write("rows.tbl", "".join(lines))
    text = package(
        database.url,
        flow("loaded", "rows.tbl", columns=COLUMNS, verify=level),
        streams=streams,
    )
    file = inrush.write("package.toml", text)
    outcome = inrush("run", file, environment={"INRUSH_FAULT": harm})
    if LEVELS.index(level) < LEVELS.index(HARM[harm]):
        outcome.expect(CLEAN)
        return
    outcome.expect(VERIFICATION, "nothing was switched")
    if harm == "row_doubled":
        assert "column `id`" in outcome.said
    if harm == "values_exchanged":
        assert "in other rows" in outcome.said
    assert_no_rows(database)
    # Without damage the same command loads everything, after it has removed committed damaged rows.
    if streams == 2:
        inrush("run", file).expect(VERIFICATION)
        inrush("cleanup", "--to", database.url).expect(CLEAN)
    inrush("run", file).expect(CLEAN)
    assert database.value("SELECT count(*) FROM loaded") == (ROWS if streams == 1 else WIDE_ROWS)


def test_a_private_unit_is_counted_by_its_copies(database: Database, inrush: Inrush) -> None:
    """No other session sees the unit's table, so COPY's count is enough: no query counts again."""
    file_of(inrush)
    database.execute(f"ALTER DATABASE {database.name} SET log_statement = 'all'")
    before = database.server.log.stat().st_size
    inrush.write("package.toml", package(database.url, flow("loaded", "rows.tbl", columns=COLUMNS)))
    inrush("run", "package.toml").expect(CLEAN)
    with database.server.log.open() as log:
        log.seek(before)
        counts = [line for line in log if "count(*)" in line and '"inrush_staging"."loaded' in line]
    assert not counts
    assert database.value("SELECT rows_counted FROM inrush.unit") == ROWS


def test_rows_that_a_trigger_drops_are_missed(database: Database, inrush: Inrush) -> None:
    """COPY does not count a row that a trigger keeps out of the staging table."""
    staging_triggers.for_each_row(database, staging_triggers.DROPS_ROWS)
    file_of(inrush)
    words = ["load", "rows.tbl", "--to", database.url, "--table", "loaded"]
    words += ["--columns", ", ".join(COLUMNS)]
    outcome = inrush(*words).expect(VERIFICATION, "the COPY for loading", "nothing was switched")
    assert f"{ROWS * 9 // 10}" in outcome.said
    assert_no_rows(database)


def test_rows_that_a_trigger_removes_later_are_missed(database: Database, inrush: Inrush) -> None:
    """A trigger removes rows after COPY has counted them, so such a table is counted again."""
    staging_triggers.after_statement(database, staging_triggers.REMOVES_ROWS)
    file_of(inrush)
    words = ["load", "rows.tbl", "--to", database.url, "--table", "loaded"]
    words += ["--columns", ", ".join(COLUMNS)]
    outcome = inrush(*words).expect(VERIFICATION, "staging table of unit 1", "nothing was switched")
    assert f"{ROWS * 9 // 10}" in outcome.said
    assert_no_rows(database)


# A change that another session makes to a staging row, and the levels that find it.
CHANGES = {
    "id = id + 1": LEVELS[1:],
    "amount = amount + 0.01": LEVELS[1:],
    "amount = -amount": LEVELS[1:],
    "amount = NULL": LEVELS[1:],
    "day = day + 1": LEVELS[1:],
    "day = 'infinity'": LEVELS[1:],
    "moment = moment + interval '1 microsecond'": LEVELS[1:],
    "moment = 'infinity'": LEVELS[1:],
    "duration = -duration": LEVELS[1:],
    "note = note || ' '": LEVELS[1:],
    "note = upper(note)": LEVELS[2:],
}


@pytest.mark.parametrize("level", LEVELS[1:])
@pytest.mark.parametrize("change", CHANGES)
def test_changed_staging_rows_are_found(
    newest_database: Database, inrush: Inrush, change: str, level: str
) -> None:
    """A shared unit's table is committed before it is verified, so others can write to it."""
    # A timestamp whose microseconds since 1970 are the number of infinity; an infinite interval.
    late = "294247-01-10 04:00:54.775807|infinity"
    rows = (f"{n}|{n}.25|2024-01-01|{WIDE}|{late}|\n" for n in range(WIDE_ROWS))
    inrush.write("rows.tbl", "".join(rows))
    columns = [*COLUMNS, "moment timestamp", "duration interval"]
    text = package(newest_database.url, flow("loaded", "rows.tbl", columns=columns, verify=level))
    file = inrush.write("package.toml", text)
    with inrush.stopped_by("stop:after_unit_commit:2", "run", file) as running:
        staging = newest_database.value("SELECT staging_table FROM inrush.unit")
        newest_database.execute(
            f"UPDATE inrush_staging.{staging} SET {change} "
            f"WHERE ctid = (SELECT min(ctid) FROM inrush_staging.{staging})"
        )
        outcome = running.resume().wait()
    if level in CHANGES[change]:
        column = change.split()[0]
        outcome.expect(VERIFICATION, f"column `{column}`", "in the database")
        assert_no_rows(newest_database)
    else:
        outcome.expect(CLEAN)


@pytest.mark.parametrize("form", ["binary", "text"])
@pytest.mark.parametrize("level", LEVELS[1:])
def test_every_type_agrees(database: Database, inrush: Inrush, level: str, form: str) -> None:
    r"""All values of all types, NULLs and extremes: both sides have the same sums.

    Then the tables equal those of psql's `\copy`. A column of a type without an encoder sends the
    whole table in COPY's text form.
    """
    flows, statements, copies = [], [], []
    families = families_of(database)
    for family in families:
        statements.append(family.before)
        columns = ["id int", *(f"c{n} {name}" for n, name in enumerate(family.columns, 1))]
        text = lines(family)
        if form == "text":
            columns.append("address inet")
            text = "".join(f"{line}\t\\N\n" for line in text.split("\n")[:-1])
        for name in (family.name, f"expected_{family.name}"):
            statements.append(f"CREATE TABLE {name} ({', '.join(columns)})")
        rows = inrush.write(f"{family.name}.tsv", text)
        copies.append(f"\\copy expected_{family.name} FROM '{rows}'")
        flows.append(flow(family.name, f"{family.name}.tsv", verify=level))
    database.execute("; ".join(filter(None, statements)))
    database.psql(*copies)
    file = inrush.write("package.toml", package(database.url, *flows))
    inrush("run", file).expect(CLEAN)
    for family in families:
        assert_same_rows(
            database, family.name, f"expected_{family.name}", "id", binary=family.binary
        )


@pytest.mark.parametrize("level", LEVELS)
def test_levels_load_the_same(newest_database: Database, inrush: Inrush, level: str) -> None:
    file_of(inrush)
    words = ("load", "rows.tbl", "--to", newest_database.url, "--columns", ", ".join(COLUMNS))
    inrush(*words, "--table", "plain").expect(CLEAN)
    inrush(*words, "--table", "verified", "--verify", level).expect(CLEAN)
    assert_same_rows(newest_database, "verified", "plain", "id")


def test_the_plan_says_what_is_not_verified(newest_database: Database, inrush: Inrush) -> None:
    inrush.write("rows.tsv", "1\t10.0.0.1\n")
    newest_database.execute("CREATE TABLE loaded (id int, address inet)")
    for level, said in (("count", "are counted"), ("sums", "inet"), ("rows", "inet")):
        text = package(newest_database.url, flow("loaded", "rows.tsv", verify=level))
        inrush("check", inrush.write("package.toml", text)).expect(CLEAN, f"`{level}`", said)


def test_sums_are_resumed(newest_database: Database, inrush: Inrush) -> None:
    """The sums of a stopped run are added to those of the next one."""
    count = 6_800
    rows = (f"{n}|{n}.25|2024-01-01|{WIDE}|\n" for n in range(count))
    inrush.write("rows.tbl", "".join(rows))
    for level in LEVELS:
        table = f"loaded_{level}"
        text = package(
            newest_database.url,
            flow(table, "rows.tbl", columns=COLUMNS, verify=level),
            name=table,
        )
        file = inrush.write("package.toml", text)
        died = inrush("run", file, environment={"INRUSH_FAULT": "after_unit_commit:2"})
        assert died.status == -signal.SIGKILL, died.said
        inrush("run", file).expect(CLEAN)
        assert newest_database.value(f"SELECT count(DISTINCT id) FROM {table}") == count


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
@pytest.mark.parametrize("level", LEVELS)
def test_databases_of_other_encodings(
    database: Database, inrush: Inrush, level: str, encoding: str
) -> None:
    """Texts are compared as UTF-8, whatever the encoding of the database."""
    name = f"{database.name}_{encoding.lower()}_{level}"
    with database.server.connect() as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0".encode()
        )
        connection.execute(f"ALTER DATABASE {name} SET client_encoding = 'UTF8'".encode())
    other = Database(database.server, name)
    other.execute("CREATE TABLE loaded (id int, name text, code char(8), facts jsonb)")
    lines = ['1\täöü ß\te\t{"a": "ö"}', "2\tplain\tx\t[]", "3\t\t\tnull", "4\t\\N\t\\N\t\\N"]
    inrush.write("rows.tsv", "\n".join(lines) + "\n")
    words = ("--to", other.url, "--table", "loaded", "--verify", level)
    inrush("load", "rows.tsv", "--format", "tsv,header=false", *words).expect(CLEAN)
    query = "SELECT id, name, code, facts FROM loaded ORDER BY id"
    found = contents(other, query, binary=False).text
    assert found == (
        '1\täöü ß\te       \t{"a": "ö"}',
        "2\tplain\tx       \t[]",
        "3\t\t        \tnull",
        "4\t\\N\t\\N\t\\N",
    )


def parts(inrush: Inrush, database: Database, level: str, mode: str = "create") -> list[str | Path]:
    """Write a load of four units into a partitioned table, or of one unit into a plain table."""
    for part in range(4):
        numbers = range(part * ROWS, (part + 1) * ROWS)
        lines = (f"{n}|{n}.25|2024-01-01|note {n}|\n" for n in numbers)
        inrush.write(f"rows.tbl.{part}", "".join(lines))
    more = {"partition_by": "id"} if mode == "create" else {}
    settings = flow("loaded", "rows.tbl.*", columns=COLUMNS, verify=level, mode=mode, **more)
    text = package(database.url, settings, streams=1)
    return ["run", inrush.write("package.toml", text)]


def killed(inrush: Inrush, words: list[str | Path], point: str) -> None:
    died = inrush(*words, environment={"INRUSH_FAULT": point})
    assert died.status == -signal.SIGKILL, died.said


def staging(database: Database) -> str:
    name = database.value("SELECT staging_table FROM inrush.unit ORDER BY committed_at LIMIT 1")
    return f"inrush_staging.{name}"


# A change that a session makes to a leftover unit of a stopped run, and the levels that find it.
HARM_TO_KEPT = {
    "TRUNCATE {}": LEVELS,
    "DELETE FROM {} WHERE id % 1000 = 0": LEVELS,
    "INSERT INTO {0} SELECT * FROM {0} LIMIT 1": LEVELS,
    "UPDATE {} SET amount = amount + 1 WHERE id % 2500 = 7": LEVELS[1:],
    "UPDATE {} SET note = upper(note) WHERE id % 2500 = 7": LEVELS[2:],
}


@pytest.mark.parametrize("mode", ["create", "append"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("harm", HARM_TO_KEPT)
def test_kept_units_are_verified_again(
    newest_database: Database, inrush: Inrush, harm: str, level: str, mode: str
) -> None:
    """Other sessions may have changed rows that an earlier attempt committed."""
    if mode == "append":
        newest_database.execute(f"CREATE TABLE loaded ({', '.join(COLUMNS)})")
    words = parts(inrush, newest_database, level, mode)
    killed(inrush, words, "after_unit_commit:3" if mode == "create" else "before_switch")
    newest_database.execute(harm.format(staging(newest_database)))
    outcome = inrush(*words)
    if level not in HARM_TO_KEPT[harm]:
        outcome.expect(CLEAN)
        return
    outcome.expect(VERIFICATION, "nothing was switched", "inrush cleanup")
    assert_no_rows(newest_database)
    inrush("cleanup", "--to", newest_database.url).expect(CLEAN)
    inrush(*words).expect(CLEAN)
    assert newest_database.value("SELECT count(*) FROM loaded") == 4 * ROWS


def test_a_kept_unit_that_was_written_anew_is_kept(
    newest_database: Database, inrush: Inrush
) -> None:
    """VACUUM FULL gives a table new files but does not change its rows."""
    words = parts(inrush, newest_database, "rows")
    killed(inrush, words, "before_switch")
    newest_database.execute(f"VACUUM FULL {staging(newest_database)}")
    report = inrush(*words).expect(CLEAN).report
    assert all(unit["kept"] for unit in report["units"])


def test_a_unit_that_was_dropped_is_loaded_anew(newest_database: Database, inrush: Inrush) -> None:
    words = parts(inrush, newest_database, "count")
    killed(inrush, words, "before_switch")
    newest_database.execute(f"DROP TABLE {staging(newest_database)}")
    report = inrush(*words).expect(CLEAN).report
    assert sum(not unit["kept"] for unit in report["units"]) == 1
    assert newest_database.value("SELECT count(*) FROM loaded") == 4 * ROWS


def test_another_table_of_a_units_name_is_not_taken_for_it(
    newest_database: Database, inrush: Inrush
) -> None:
    words = parts(inrush, newest_database, "count")
    killed(inrush, words, "before_switch")
    table = staging(newest_database)
    newest_database.execute(
        f"CREATE TABLE copy (LIKE {table} INCLUDING ALL); INSERT INTO copy SELECT * FROM {table};"
        f"DROP TABLE {table}; ALTER TABLE copy SET SCHEMA inrush_staging;"
        f"ALTER TABLE inrush_staging.copy RENAME TO {table.split('.')[1]}"
    )
    outcome = inrush(*words)
    outcome.expect(1, "exists already, and no run in the ledger created it", "DROP TABLE")
    newest_database.execute(f"DROP TABLE {table}")
    inrush(*words).expect(CLEAN)
    assert newest_database.value("SELECT count(*) FROM loaded") == 4 * ROWS


def test_a_unit_that_is_emptied_before_the_switch_is_found(
    newest_database: Database, inrush: Inrush
) -> None:
    """TRUNCATE gives a table another file, even if this attempt created the table."""
    words = parts(inrush, newest_database, "count")
    with inrush.stopped_by("stop:before_switch", *words) as running:
        newest_database.execute(f"TRUNCATE {staging(newest_database)}")
        outcome = running.resume().wait()
    outcome.expect(VERIFICATION, "nothing was switched")
    assert_no_rows(newest_database)

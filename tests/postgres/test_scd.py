"""Targets that keep versions of rows (`scd`), where PostgreSQL differs from other destinations.

`tests/conformance/test_merge.py` compares loads with the model, for every destination.
"""

from __future__ import annotations

import signal

import pytest

from harness.command import CLEAN, FAILED, USAGE, VERIFICATION, Inrush, Outcome
from harness.packages import Value, flow, package
from harness.servers import Database
from harness.versions import FIRST, SCD, SECOND, Key, Model, Values, file_text
from harness.watcher import Watcher

TARGET = (
    "CREATE TABLE customer (sk int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, no int NOT NULL, "
    "land text NOT NULL, city text, level int, phone text, visits int, "
    "valid_from {time} NOT NULL, valid_to {time}, is_current boolean NOT NULL);"
    "CREATE UNIQUE INDEX ON customer (no, land) WHERE valid_to IS NULL"
)


def stored(database: Database) -> list[tuple[object, ...]]:
    """Return the rows of the target; a time is given as the number of the run that began then."""
    runs = "(SELECT count(*)::int FROM inrush.run r WHERE r.started_at <= c.{})"
    return database.rows(
        f"SELECT no, land, {runs.format('valid_from')}, city, level, phone, visits, "
        f"CASE WHEN valid_to IS NOT NULL THEN {runs.format('valid_to')} END, is_current "
        'FROM customer c ORDER BY no, land COLLATE "C", 3'
    )


def write(inrush: Inrush, database: Database, rows: dict[Key, Values], name: str = "") -> None:
    inrush.write(f"rows{name}.csv", file_text(rows))
    settings: dict[str, Value] = {"mode": "upsert", "key": ["no", "land"], "scd": SCD}
    one = flow("customer", f"rows{name}.csv", **settings)
    inrush.write("package.toml", package(database.url, one))


def run(inrush: Inrush, fault: str | None = None) -> Outcome:
    environment = {} if fault is None else {"INRUSH_FAULT": fault}
    return inrush("run", "package.toml", environment=environment)


@pytest.mark.parametrize(
    "point",
    [
        "in_copy", "before_unit_commit", "unit_commit_sent", "after_unit_commit",
        "before_switch", "in_switch", "before_switch_commit", "switch_commit_sent",
        "after_switch_commit", "before_report",
    ],
)  # fmt: skip
def test_killed_and_run_again(database: Database, inrush: Inrush, point: str) -> None:
    database.execute(TARGET.format(time="timestamptz"))
    model = Model()
    write(inrush, database, FIRST, "1")
    run(inrush).expect(CLEAN)
    model.load(FIRST)
    write(inrush, database, SECOND, "2")
    watcher = Watcher(database, "customer")
    old = watcher.now()
    with watcher:
        died = run(inrush, point)
        assert died.status == -signal.SIGKILL, died.said
        run(inrush).expect(CLEAN)
    model.load(SECOND)
    assert stored(database) == model.rows()
    assert watcher.seen <= {old, watcher.now()}, watcher.seen


def test_a_second_row_of_a_key_is_a_reject(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(TARGET.format(time="timestamptz"))
    write(inrush, newest_database, {(1, "at"): ("Graz", 1, None, None)})
    with (inrush.folder / "rows.csv").open("a") as file:
        file.write("1,at,Linz,2,,\n")
    outcome = run(inrush)
    assert outcome.status != CLEAN, outcome.said
    assert newest_database.rows("SELECT count(*) FROM customer") == [(0,)]


def test_a_version_that_began_after_the_run_is_not_ended(
    newest_database: Database, inrush: Inrush
) -> None:
    newest_database.execute(TARGET.format(time="timestamptz"))
    write(inrush, newest_database, FIRST, "1")
    run(inrush).expect(CLEAN)
    newest_database.execute("UPDATE customer SET valid_from = now() + '1 day' WHERE no = 3")
    everything = "SELECT * FROM customer ORDER BY sk"
    before = newest_database.rows(everything)
    write(inrush, newest_database, SECOND, "2")
    said = "1 current version that begins at or after the start of this run"
    run(inrush).expect(FAILED, said, "the version of no = 3, land = at begins at ", "cleanup")
    assert newest_database.rows(everything) == before


def refused(database: Database, inrush: Inrush, change: str, *said: str) -> None:
    """Check that a changed target is refused, and make the original target again."""
    database.execute(change)
    run(inrush).expect(FAILED, *said)
    database.execute("DROP TABLE customer")
    database.execute(TARGET.format(time="timestamptz"))


def test_targets_that_cannot_keep_versions(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(TARGET.format(time="timestamptz"))
    write(inrush, newest_database, FIRST)
    for change, said in [
        ("DROP INDEX customer_no_land_idx", "no unique index on the key"),
        ("CREATE UNIQUE INDEX ON customer (land, no)", "only one version of each row"),
        ("ALTER TABLE customer ALTER no DROP NOT NULL", "allows NULL in `no`"),
        ("ALTER TABLE customer DROP valid_from", "has no column `valid_from`"),
        ("ALTER TABLE customer ALTER valid_from TYPE date", "versions begin at a time"),
        ("ALTER TABLE customer ALTER valid_from TYPE timestamp", "`valid_to`, but timestamp"),
        ("ALTER TABLE customer ALTER valid_to SET NOT NULL", "marks the current version"),
        ("ALTER TABLE customer ALTER is_current TYPE text", "needs a boolean"),
        ("ALTER TABLE customer ALTER city TYPE json USING NULL", "cannot be compared"),
        ("CREATE RULE keep AS ON UPDATE TO customer DO INSTEAD NOTHING", "INSERT or UPDATE rules"),
    ]:
        refused(newest_database, inrush, change, said)
    newest_database.execute("DROP TABLE customer")
    run(inrush).expect(FAILED, "does not exist")


# One UPDATE ends a version, the other overwrites columns that are not tracked.
@pytest.mark.parametrize("when", ["NEW.valid_to IS NOT NULL", "NEW.valid_to IS NULL"])
def test_a_version_that_the_target_keeps_as_it_was_fails_the_load(
    newest_database: Database, inrush: Inrush, when: str
) -> None:
    newest_database.execute(TARGET.format(time="timestamptz"))
    write(inrush, newest_database, FIRST, "1")
    run(inrush).expect(CLEAN)
    newest_database.execute(
        "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
        "CREATE TRIGGER keep BEFORE UPDATE ON customer FOR EACH ROW "
        f"WHEN ({when}) EXECUTE FUNCTION keep()"
    )
    everything = "SELECT * FROM customer ORDER BY sk"
    before = newest_database.rows(everything)
    write(inrush, newest_database, SECOND, "2")
    run(inrush).expect(VERIFICATION, "were expected; nothing was switched", "a trigger or rule")
    assert newest_database.rows(everything) == before


def test_a_column_of_versions_is_not_loaded(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(TARGET.format(time="timestamptz"))
    write(inrush, newest_database, {})
    inrush.write("rows.csv", "no,land,valid_from\n1,at,2024-01-01\n")
    run(inrush).expect(USAGE, "valid_from")
    assert newest_database.rows("SELECT count(*) FROM customer") == [(0,)]

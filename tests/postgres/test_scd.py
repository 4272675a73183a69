"""Targets that keep versions of rows (`scd`), against a model in plain Python."""

from __future__ import annotations

import random
import signal
from dataclasses import dataclass, field

import pytest

from harness.command import CLEAN, FAILED, USAGE, Inrush, Outcome
from harness.packages import Value, flow, package
from harness.servers import Database
from harness.watcher import Watcher

Key = tuple[int, str]
# Two tracked columns, and two that are overwritten.
Values = tuple[str | None, int | None, str | None, int | None]

TARGET = (
    "CREATE TABLE customer (sk int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, no int NOT NULL, "
    "land text NOT NULL, city text, level int, phone text, visits int, "
    "valid_from {time} NOT NULL, valid_to {time}, is_current boolean NOT NULL);"
    "CREATE UNIQUE INDEX ON customer (no, land) WHERE valid_to IS NULL"
)
COLUMNS: list[Value] = ["no", "land", "city", "level", "phone", "visits"]
SCD: dict[str, Value] = {"track": ["city", "level"], "current": "is_current"}


@dataclass
class Version:
    """A version of the model; times are the numbers of loads."""

    values: Values
    begun: int
    ended: int | None = None


@dataclass
class Model:
    """The versions of each key, the oldest first."""

    versions: dict[Key, list[Version]] = field(default_factory=dict)
    loads: int = 0

    def load(self, rows: dict[Key, Values]) -> dict[str, int]:
        """Merge the rows of a load, and return their account."""
        self.loads += 1
        counts = {"new": 0, "changed": 0, "overwritten": 0, "unchanged": 0}
        for key, values in rows.items():
            known = self.versions.setdefault(key, [])
            if not known:
                counts["new"] += 1
                known.append(Version(values, self.loads))
            elif known[-1].values[:2] != values[:2]:
                counts["changed"] += 1
                known[-1].ended = self.loads
                known.append(Version(values, self.loads))
            elif known[-1].values != values:
                counts["overwritten"] += 1
                known[-1].values = values
            else:
                counts["unchanged"] += 1
        return counts

    def rows(self) -> list[tuple[object, ...]]:
        """Return the rows of the target, with the numbers of loads as times."""
        return sorted(
            (*key, one.begun, *one.values, one.ended, one.ended is None)
            for key, versions in self.versions.items()
            for one in versions
        )


def stored(database: Database) -> list[tuple[object, ...]]:
    """Return the rows of the target; each time as the number of the run that began then."""
    runs = "(SELECT count(*)::int FROM inrush.run r WHERE r.started_at <= c.{})"
    return database.rows(
        f"SELECT no, land, {runs.format('valid_from')}, city, level, phone, visits, "
        f"CASE WHEN valid_to IS NOT NULL THEN {runs.format('valid_to')} END, is_current "
        'FROM customer c ORDER BY no, land COLLATE "C", 3'
    )


def write(inrush: Inrush, database: Database, rows: dict[Key, Values], name: str = "") -> None:
    def text(value: object) -> str:
        return "" if value is None else str(value)

    lines = [",".join(map(text, (*key, *values))) + "\n" for key, values in rows.items()]
    inrush.write(f"rows{name}.csv", "no,land,city,level,phone,visits\n" + "".join(lines))
    settings: dict[str, Value] = {"mode": "upsert", "key": ["no", "land"], "scd": SCD}
    one = flow("customer", f"rows{name}.csv", **settings)
    inrush.write("package.toml", package(database.url, one))


def run(inrush: Inrush, fault: str | None = None) -> Outcome:
    environment = {} if fault is None else {"INRUSH_FAULT": fault}
    return inrush("run", "package.toml", environment=environment)


def some_rows(chance: random.Random) -> dict[Key, Values]:
    keys = [(no, land) for no in range(12) for land in ("at", "ch")]
    return {
        key: (
            chance.choice(["Graz", "Linz", None]),
            chance.choice([1, 2, None]),
            chance.choice(["1", "2", None]),
            chance.choice([1, 2, None]),
        )
        for key in chance.sample(keys, chance.randint(0, len(keys)))
    }


@pytest.mark.parametrize("time", ["timestamptz", "timestamp"])
@pytest.mark.parametrize("seed", range(4))
def test_loads_are_as_the_model(
    newest_database: Database, inrush: Inrush, seed: int, time: str
) -> None:
    # The times of a `timestamp` are in UTC, and the test compares them with the ledger's.
    newest_database.execute(f"ALTER DATABASE {newest_database.name} SET timezone = 'UTC'")
    newest_database.execute(TARGET.format(time=time))
    chance, model = random.Random(seed), Model()  # noqa: S311
    print("seed", seed)
    for load in range(5):
        rows = some_rows(chance)
        write(inrush, newest_database, rows, str(load))
        expected = model.load(rows)
        (table,) = run(inrush).expect(CLEAN).report["tables"]
        assert table["versions"] == expected
        assert stored(newest_database) == model.rows()
    run(inrush).expect(CLEAN, "already loaded")
    # The file is newer, so it is loaded again.
    write(inrush, newest_database, rows, "4")
    (table,) = run(inrush).expect(CLEAN).report["tables"]
    assert table["versions"]["unchanged"] == len(rows)
    assert stored(newest_database) == model.rows()


FIRST: dict[Key, Values] = {(n, "at"): ("Graz", n, "1", None) for n in range(40)}
SECOND: dict[Key, Values] = {
    **{(n, "at"): ("Linz", n, "2", None) for n in range(20)},
    **{(n, "at"): ("Graz", n, "2", None) for n in range(20, 30)},
    **{(n, "ch"): (None, None, None, None) for n in range(10)},
}


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


def test_a_row_that_the_target_refuses_fails_the_load(
    newest_database: Database, inrush: Inrush
) -> None:
    newest_database.execute(TARGET.format(time="timestamptz"))
    write(inrush, newest_database, FIRST, "1")
    run(inrush).expect(CLEAN)
    before = stored(newest_database)
    newest_database.execute("ALTER TABLE customer ADD UNIQUE (no, city, phone)")
    write(inrush, newest_database, {(1, "ch"): ("Graz", 7, "1", None)}, "2")
    run(inrush).expect(FAILED, "customer_no_city_phone_key")
    assert stored(newest_database) == before
    newest_database.execute("ALTER TABLE customer DROP CONSTRAINT customer_no_city_phone_key")
    run(inrush).expect(CLEAN)
    assert len(stored(newest_database)) == len(before) + 1


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
    run(inrush).expect(FAILED, "1 current version that changed after this run began", "cleanup")
    assert newest_database.rows(everything) == before


def refused(database: Database, inrush: Inrush, change: str, *said: str) -> None:
    """Check that a target that was changed is refused; then it is made again."""
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
        ("ALTER TABLE customer ALTER valid_from TYPE date", "versions begin at a moment"),
        ("ALTER TABLE customer ALTER valid_from TYPE timestamp", "`valid_to`, but timestamp"),
        ("ALTER TABLE customer ALTER valid_to SET NOT NULL", "marks the current version"),
        ("ALTER TABLE customer ALTER is_current TYPE text", "is a boolean"),
        ("ALTER TABLE customer ALTER city TYPE json USING NULL", "cannot be compared"),
    ]:
        refused(newest_database, inrush, change, said)
    newest_database.execute("DROP TABLE customer")
    run(inrush).expect(FAILED, "does not exist")


def test_a_column_of_versions_is_not_loaded(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(TARGET.format(time="timestamptz"))
    write(inrush, newest_database, {})
    inrush.write("rows.csv", "no,land,valid_from\n1,at,2024-01-01\n")
    run(inrush).expect(USAGE, "valid_from")
    assert newest_database.rows("SELECT count(*) FROM customer") == [(0,)]

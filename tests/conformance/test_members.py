"""Lookups with `unmatched = "add"`: the publish adds each new member to the reference once.

Features that only PostgreSQL has (several servers, routing, grants) are tested in
tests/postgres/test_members.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance import abilities
from conformance.destinations import DuckDb, Place
from harness import kill_points
from harness.command import CLEAN, LOADED_WITH_REJECTS, USAGE, Inrush, Outcome
from harness.packages import Value, flow, step

CLAIMS = abilities.claims()
COLUMNS: list[Value] = ["id int not null", "customer numeric(20,0)"]
KNOWN = 5
# More new members than the 100 that the destination SQL Server numbers by one statement. Each file
# has all of them, so streams share each member.
KEYS = 140
KILL_POINTS = [*kill_points.ALL, "in_copy:3", "unit_commit_sent:3", "after_unit_commit:3"]


def step_that_adds(**lookup: Value) -> str:
    """Return the step that looks up customers and adds the missing ones."""
    said: dict[str, Value] = {"connection": "target", "table": "customers", **lookup}
    return step(
        lookup=said, on={"customer": "no"}, take={"customer_key": "customer_key"}, unmatched="add"
    )


class Customers:
    """A destination with five customers, and loads that add others."""

    def __init__(self, place: Place, inrush: Inrush) -> None:
        self.place = place
        self.inrush = inrush
        place.make_numbered(
            "customers", "customer_key", "no bigint UNIQUE, name text DEFAULT 'unknown'"
        )
        self._insert({number: f"customer {number}" for number in range(1, KNOWN + 1)})

    def add(self, *numbers: int) -> None:
        """Add customers, as another program does."""
        self._insert(dict.fromkeys(numbers, "other"))

    def _insert(self, names: dict[int, str]) -> None:
        values = ", ".join(f"({number}, '{name}')" for number, name in names.items())
        self.place.execute(f"INSERT INTO customers (no, name) VALUES {values}")

    def make_target(self, table: str = "loaded", columns: str = "id int NOT NULL") -> None:
        self.place.execute(f"CREATE TABLE {table} ({columns}, customer_key int NOT NULL)")

    def write(self, parts: int, rows: int, keys: int) -> list[tuple[int, int]]:
        """Write files in which each customer has many rows; return their rows."""
        found = []
        for part in range(parts):
            lines = ["id,customer\n"]
            for number in range(part * rows, (part + 1) * rows):
                customer = number * 7919 % keys + 1
                found.append((number, customer))
                lines.append(f"{number},{customer}\n")
            self.inrush.write(f"rows.{part}.csv", "".join(lines))
        return found

    def package(self, *steps: str, table: str = "loaded", **more: Any) -> Path:
        said = {"mode": "append", "columns": COLUMNS, **more}
        text = flow(table, "rows.*.csv", **said) + "".join(steps or [step_that_adds()])
        return self.inrush.write(f"{table}.toml", self.place.package(text, name=table, streams=3))

    def killed_at(self, point: str, package: Path) -> None:
        self.place.killed_at(point, self.inrush, "run", package)

    def count(self, table: str = "customers") -> int:
        ((count,),) = self.place.query(f"SELECT count(*) FROM {table}")
        assert isinstance(count, int)
        return count

    def assert_loaded(self, rows: list[tuple[int, int]], table: str = "loaded") -> None:
        """Check that each row has the number of its customer."""
        # Joined here: the double of SQL Server compares each row with each customer.
        members = self.place.query("SELECT customer_key, no FROM customers")
        numbers = dict(members)
        assert len(numbers) == len(members)
        found = self.place.query(f"SELECT id, customer_key FROM {table}")
        assert sorted((row, numbers[key]) for row, key in found) == sorted(rows)

    def assert_members(self, *numbers: int) -> None:
        """Check that these customers and the first ones are there, and no others."""
        found = self.place.query("SELECT no, count(*) FROM customers GROUP BY no ORDER BY no")
        assert found == [(no, 1) for no in sorted({*numbers, *range(1, KNOWN + 1)})]

    def assert_nothing_left(self, *targets: str) -> None:
        assert self.place.tables() == {"customers", *targets}
        if isinstance(self.place, DuckDb):
            left = "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'members%'"
            assert self.place.query(left) == []


@pytest.fixture
def customers(place: Place, inrush: Inrush) -> Customers:
    """Return each destination that adds members. `test_abilities.py` tests that others refuse."""
    if "add members" not in CLAIMS[place.title]:
        pytest.skip(
            f"{place.title} cannot add members; test_abilities.py checks that it refuses it"
        )
    return Customers(place, inrush)


def members_of(outcome: Outcome) -> list[int]:
    """Return the numbers of added members, for each table of the report."""
    tables = outcome.report["tables"]
    return [members["added"] for table in tables for members in table.get("members", [])]


@pytest.mark.clause("D-49")
@pytest.mark.parametrize("mode", ["create", "append", "replace", "upsert"])
def test_keys_that_the_reference_lacks_are_added_to_it(customers: Customers, mode: str) -> None:
    more: dict[str, Any] = {"mode": mode}
    if mode == "upsert":
        customers.make_target(columns="id int PRIMARY KEY")
        more["key"] = "id"
    elif mode != "create":
        customers.make_target()
    rows = customers.write(4, 300, KEYS)
    path = customers.package(**more)
    customers.inrush("check", path).expect(CLEAN, "members are added to it")
    customers.inrush("preflight", path).expect(CLEAN)
    customers.inrush("peek", path, "--step", "1", "--rows", "20").expect(CLEAN)
    customers.assert_members()
    outcome = customers.inrush("run", path).expect(CLEAN, f"{KEYS - KNOWN} members were added to")
    customers.assert_loaded(rows)
    customers.assert_members(*(customer for _, customer in rows))
    assert members_of(outcome) == [KEYS - KNOWN]
    (lookup,) = outcome.report["tables"][0]["steps"]
    assert lookup["unmatched"] == len([no for _, no in rows if no > KNOWN])
    assert lookup["rejected"] == 0
    found = customers.place.query("SELECT DISTINCT name FROM customers WHERE no > 5")
    assert found == [("unknown",)]
    customers.assert_nothing_left("loaded")
    # The reference has changed, but the files still count as loaded.
    customers.inrush("run", path).expect(CLEAN, "already loaded")
    if mode == "append":
        for part in range(1, 4):
            (customers.inrush.folder / f"rows.{part}.csv").unlink()
        customers.inrush.write("rows.0.csv", "id,customer\n9000,6\n9001,9001\n")
        again = customers.inrush("run", path).expect(CLEAN)
        assert sum(members_of(again)) == 1


@pytest.mark.clause("D-49")
def test_keys_of_two_columns_in_two_flows_share_a_member(customers: Customers) -> None:
    place, inrush = customers.place, customers.inrush
    place.make_numbered(
        "shops", "shop_key", f"region {place.key_text}, no bigint, UNIQUE (no, region)"
    )
    place.execute("INSERT INTO shops (region, no) VALUES ('n', 1)")
    place.execute("CREATE TABLE a (id int, near bigint, far bigint)")
    place.execute("CREATE TABLE b (id int, shop bigint)")
    inrush.write("a.csv", "id,r1,n1,r2,n2\n1,n,1,s,25\n2,s,25,w,3\n")
    inrush.write("b.csv", "id,zone,number\n1,s,25\n2,w,3\n3,n,1\n4,o,4\n")
    shops: Value = {"connection": "target", "table": "shops"}

    def adding(region: str, number: str, taken: str) -> str:
        on: Value = {region: "region", number: "no"}
        return step(lookup=shops, on=on, take={taken: "shop_key"}, unmatched="add")

    first = flow(
        "a",
        "a.csv",
        columns=["id int", "r1 text", "n1 bigint", "r2 text", "n2 numeric(9,0)"],
        mode="append",
    )
    first += adding("r1", "n1", "near") + adding("r2", "n2", "far")
    # By name, `number` sorts before `zone`, and `no` before `region`. The file, the step and the
    # reference have these columns in the other order.
    second = flow("b", "b.csv", columns=["id int", "zone text", "number bigint"], mode="append")
    second += adding("zone", "number", "shop")
    path = inrush.write("package.toml", place.package(first, second))
    outcome = inrush("run", path).expect(CLEAN)
    found = place.query(
        "SELECT a.id, n.region, n.no, f.region, f.no FROM a JOIN shops n ON n.shop_key = near "
        "JOIN shops f ON f.shop_key = far ORDER BY 1"
    )
    assert found == [(1, "n", 1, "s", 25), (2, "s", 25, "w", 3)]
    found = place.query(
        "SELECT b.id, s.region, s.no FROM b JOIN shops s ON s.shop_key = shop ORDER BY 1"
    )
    assert found == [(1, "s", 25), (2, "w", 3), (3, "n", 1), (4, "o", 4)]
    assert customers.count("shops") == 4
    assert members_of(outcome) == [3]


@pytest.mark.clause("D-49")
def test_rows_whose_key_no_member_can_have_are_rejects(customers: Customers) -> None:
    customers.make_target()
    text = "id,customer\n1,1\n2,\n3,9223372036854775808\n4,77\n5,-32768\n"
    customers.inrush.write("rows.0.csv", text)
    path = customers.package(rejects={"rows_max": 2})
    outcome = customers.inrush("run", path).expect(LOADED_WITH_REJECTS)
    rejects = [(one["line"], one["code"], one["value"]) for one in outcome.rejects()]
    assert rejects == [
        (3, "lookup_unmatched", None),
        (4, "lookup_unmatched", "9223372036854775808"),
    ]
    reasons = [one["reason"] for one in outcome.rejects()]
    assert "is NULL, which is equal to nothing" in reasons[0]
    assert "does not fit `no` of the reference, so no member can be added" in reasons[1]
    customers.assert_loaded([(1, 1), (4, 77), (5, -32768)])
    customers.assert_members(77, -32768)


@pytest.mark.clause("D-49")
def test_a_row_that_is_no_row_of_the_load_adds_no_member(customers: Customers) -> None:
    """Rows that a later step filters or the target refuses add no member."""
    customers.make_target(columns="id int CHECK (id <> 3)")
    customers.inrush.write("rows.0.csv", "id,customer\n1,101\n2,102\n3,103\n4,101\n5,104\n")
    path = customers.package(step_that_adds(), step(where="id <> 2"), rejects={"rows_max": 1})
    outcome = customers.inrush("run", path).expect(LOADED_WITH_REJECTS, "2 members were added")
    assert [one["line"] for one in outcome.rejects()] == [4]
    customers.assert_loaded([(1, 101), (4, 101), (5, 104)])
    customers.assert_members(101, 104)
    customers.assert_nothing_left("loaded")


@pytest.mark.clause("D-49")
def test_the_first_members_of_an_empty_reference(customers: Customers) -> None:
    customers.place.execute("DELETE FROM customers")
    customers.make_target()
    members = customers.place.many_members
    rows = customers.write(1, members + members // 3, members)
    outcome = customers.inrush("run", customers.package()).expect(CLEAN)
    assert members_of(outcome) == [members]
    customers.assert_loaded(rows)
    # No new member gets the number of a deleted one.
    taken = customers.place.query("SELECT count(*) FROM customers WHERE customer_key <= 5")
    assert taken == [(0,)]


@pytest.mark.clause("D-49", "D-23")
@pytest.mark.parametrize("point", KILL_POINTS)
def test_killed_and_run_again(customers: Customers, point: str) -> None:
    customers.make_target()
    rows = customers.write(4, 300, KEYS)
    path = customers.package()
    customers.killed_at(point, path)
    if point.partition(":")[0] in kill_points.UNSWITCHED:
        assert customers.count("loaded") == 0
        customers.assert_members()
    customers.inrush("run", path).expect(CLEAN)
    customers.assert_loaded(rows)
    customers.assert_members(*(customer for _, customer in rows))
    customers.assert_nothing_left("loaded")


@pytest.mark.clause("D-49", "D-24")
@pytest.mark.parametrize("mode", ["append", "create"])
@pytest.mark.parametrize("point", ["in_copy:3", "after_unit_commit:2", "before_switch_commit"])
def test_others_add_members_before_it_is_run_again(
    customers: Customers, point: str, mode: str
) -> None:
    """Between the runs, others add members of the kept units, which get other numbers."""
    if mode == "append":
        customers.make_target()
    rows = customers.write(4, 200, 60)
    path = customers.package(mode=mode)
    customers.killed_at(point, path)
    customers.add(*range(20, 31), 1_000)
    customers.killed_at("before_switch_commit", path)
    customers.add(60)
    customers.inrush("run", path).expect(CLEAN)
    customers.assert_loaded(rows)
    customers.assert_members(1_000, *(customer for _, customer in rows))
    ((others,),) = customers.place.query("SELECT count(*) FROM customers WHERE name = 'other'")
    assert others == 13
    customers.assert_nothing_left("loaded")


@pytest.mark.clause("D-49")
def test_two_runs_that_add_the_same_members_add_them_once(customers: Customers) -> None:
    """Both have read the reference and numbered their members before one of them publishes."""
    rows = customers.write(2, 200, KEYS)
    paths = {}
    for name in ("first", "second"):
        customers.make_target(name)
        paths[name] = customers.package(table=name)
        customers.killed_at("before_switch", paths[name])
    customers.assert_members()
    for name, added in (("first", KEYS - KNOWN), ("second", 0)):
        outcome = customers.inrush("run", paths[name]).expect(CLEAN)
        assert all(unit["kept"] for unit in outcome.report["units"])
        assert members_of(outcome) == [added]
    for name in paths:
        customers.assert_loaded(rows, name)
    customers.assert_members(*(customer for _, customer in rows))
    customers.assert_nothing_left("first", "second")


@pytest.mark.clause("D-49", "D-37")
def test_rows_that_the_target_refuses_are_found_beside_replaced_numbers(
    customers: Customers,
) -> None:
    """Staged rows get the numbers of other members, and then the target refuses one of the rows."""
    customers.make_target(columns="id int PRIMARY KEY")
    customers.place.execute("INSERT INTO loaded VALUES (17, 1)")
    rows = customers.write(1, 100, 50)
    path = customers.package(rejects={"rows_max": 5})
    customers.killed_at("before_switch", path)
    customers.add(*range(6, 31))
    outcome = customers.inrush("run", path).expect(LOADED_WITH_REJECTS)
    rejects = [(one["line"], one["code"]) for one in outcome.rejects()]
    assert rejects == [(19, "duplicate_key")]
    customers.assert_loaded([*((number, no) for number, no in rows if number != 17), (17, 1)])
    customers.assert_members(*(customer for _, customer in rows))


@pytest.mark.clause("D-49", "D-31")
def test_a_run_that_is_given_up_adds_nothing(customers: Customers) -> None:
    customers.make_target()
    customers.write(1, 100, 50)
    path = customers.package()
    customers.killed_at("before_switch_commit", path)
    customers.inrush("cleanup", path).expect(CLEAN)
    customers.assert_members()
    customers.assert_nothing_left("loaded")


@pytest.mark.clause("D-49")
def test_a_reference_that_cannot_get_members_is_refused_at_plan_time(customers: Customers) -> None:
    place = customers.place
    customers.make_target()
    customers.inrush.write("rows.0.csv", "id,customer\n1,1\n")
    place.make_numbered("a", "customer_key", "no bigint")
    place.make_numbered("b", "customer_key", "no bigint UNIQUE, city text NOT NULL")
    place.execute("CREATE TABLE c (customer_key int PRIMARY KEY, no bigint UNIQUE)")
    place.execute("CREATE VIEW d AS SELECT customer_key, no FROM customers")
    numbers = {"adbc_sqlite": "AUTOINCREMENT"}
    numbers |= dict.fromkeys(("sql_server", "sql_server_double"), "identity column")
    for table, said in (
        ("a", "has no unique index on `no` alone"),
        ("b", "needs values for `city`"),
        ("c", numbers.get(place.name, "sequence")),
        ("d", "is not a table of the database"),
    ):
        path = customers.package(step_that_adds(table=table))
        for command in ("check", "run"):
            outcome = customers.inrush(command, path).expect(USAGE, "step 1, unmatched")
            assert said in outcome.said.replace('"', ""), outcome.said
    assert customers.count("loaded") == 0
    customers.assert_members()

"""Lookups with `unmatched = "add"`: the switch adds each new member to the reference once."""

from __future__ import annotations

import re
import signal
from typing import Any

import pytest

from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, USAGE, Inrush
from harness.packages import flow, package, step
from harness.servers import Database

CUSTOMERS = (
    "CREATE TABLE customers (customer_key int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
    "no bigint UNIQUE, name text DEFAULT 'unknown'); "
    "INSERT INTO customers (no, name) SELECT n, 'customer ' || n FROM generate_series(1, 5) n"
)
TARGET = "CREATE TABLE loaded (id int NOT NULL, customer_key int NOT NULL)"
COLUMNS = ["id int not null", "customer int"]
LOOKUP: dict[str, Any] = {"connection": "target", "table": "customers"}


def adding(*, to: str = "customer_key", **lookup: Any) -> str:
    """Return the step that looks up customers and adds the missing ones."""
    said = {**LOOKUP, **lookup}
    return step(lookup=said, on={"customer": "no"}, take={to: "customer_key"}, unmatched="add")


def write_rows(inrush: Inrush, parts: int, rows: int, keys: int) -> list[tuple[int, int]]:
    """Write files in which each customer has many rows; return their rows."""
    found = []
    for part in range(parts):
        lines = ["id,customer\n"]
        for row in range(rows):
            number = part * rows + row
            customer = number * 7919 % keys + 1
            found.append((number, customer))
            lines.append(f"{number},{customer}\n")
        inrush.write(f"rows.{part}.csv", "".join(lines))
    return found


def assert_loaded(database: Database, rows: list[tuple[int, int]], table: str = "loaded") -> None:
    """Fail unless each row has the number of its customer, and each customer is there once."""
    found = database.rows(
        f"SELECT l.id, c.no FROM {table} l JOIN customers c USING (customer_key) ORDER BY 1"
    )
    assert found == sorted(rows)
    wanted = {customer for _, customer in rows} | set(range(1, 6))
    assert database.rows("SELECT no, count(*) FROM customers GROUP BY 1 ORDER BY 1") == [
        (number, 1) for number in sorted(wanted)
    ]


def assert_no_reservation(database: Database) -> None:
    assert database.value("SELECT count(*) FROM inrush.inferred_member") == 0


MODES = ["append", "partitioned", "replace", "routed", "upsert"]


def make_target(database: Database, mode: str) -> dict[str, Any]:
    """Make the reference, and a target for a mode; return the settings of its flow."""
    database.execute(CUSTOMERS)
    more: dict[str, Any] = {"mode": "append"}
    if mode == "partitioned":
        database.execute(TARGET + " PARTITION BY RANGE (id)")
    elif mode == "routed":
        database.execute(TARGET + " PARTITION BY RANGE (id)")
        database.execute(
            "CREATE TABLE one PARTITION OF loaded FOR VALUES FROM (0) TO (500); "
            "CREATE TABLE two PARTITION OF loaded FOR VALUES FROM (500) TO (100000)"
        )
        more["routing"] = True
    elif mode == "upsert":
        database.execute(TARGET.replace("id int NOT NULL", "id int PRIMARY KEY"))
        more = {"mode": "upsert", "key": "id"}
    else:
        database.execute(TARGET)
        more["mode"] = mode
    if mode != "replace":
        key = "FOREIGN KEY (customer_key) REFERENCES customers (customer_key)"
        database.execute(f"ALTER TABLE loaded ADD {key}")
    return more


@pytest.mark.parametrize("mode", MODES)
def test_a_preflight_adds_no_members(inrush: Inrush, newest_database: Database, mode: str) -> None:
    """A preflight takes seconds, and its rehearsal asks no server for members."""
    more = make_target(newest_database, mode)
    write_rows(inrush, 4, 1_000, 300)
    text = flow("loaded", "rows.*.csv", columns=COLUMNS, **more) + adding()
    path = inrush.write("package.toml", package(newest_database.url, text, streams=3))
    inrush("preflight", path).expect(CLEAN)
    assert newest_database.value("SELECT count(*) FROM customers") == 5
    assert newest_database.value("SELECT count(*) FROM loaded") == 0
    assert newest_database.value("SELECT to_regclass('inrush.inferred_member')") is None


@pytest.mark.parametrize("mode", MODES)
def test_keys_that_the_reference_lacks_are_added_to_it(
    inrush: Inrush, database: Database, mode: str
) -> None:
    more = make_target(database, mode)
    rows = write_rows(inrush, 4, 1_000, 300)
    text = flow("loaded", "rows.*.csv", columns=COLUMNS, **more) + adding()
    path = inrush.write("package.toml", package(database.url, text, streams=3))
    inrush("check", path).expect(CLEAN, "members are added to it")
    assert database.value("SELECT count(*) FROM customers") == 5
    outcome = inrush("run", path).expect(CLEAN, "295 members were added to")
    assert_loaded(database, rows)
    assert_no_reservation(database)
    (table,) = outcome.report["tables"]
    (members,) = table["members"]
    assert members["added"] == 295
    (lookup,) = table["steps"]
    unmatched = [customer for _, customer in rows if customer > 5]
    assert lookup["unmatched"] == len(unmatched)
    assert lookup["rejected"] == 0
    assert len(lookup["unmatched_keys"]) == 10
    name = database.value("SELECT DISTINCT name FROM customers WHERE no > 5")
    assert name == "unknown"
    # The reference has changed, but the files still count as loaded.
    inrush("run", path).expect(CLEAN, "already loaded")
    assert_loaded(database, rows)


def test_two_columns_and_two_flows_share_a_member(
    inrush: Inrush, newest_database: Database
) -> None:
    """The columns of a key are not in the order of their names, and three columns name one shop."""
    newest_database.execute(
        "CREATE TABLE shops (region varchar(5), no numeric(8,1), key bigserial NOT NULL UNIQUE, "
        "UNIQUE (no, region))"
    )
    newest_database.execute("INSERT INTO shops (region, no) VALUES ('n', 1)")
    newest_database.execute("CREATE TABLE a (id int, near bigint, far bigint)")
    newest_database.execute("CREATE TABLE b (id int, shop smallint)")
    inrush.write("a.csv", "id,r1,n1,r2,n2\n1,n,1.00,s,2.50\n2,s,2.5,w,3\n")
    inrush.write("b.csv", "id,zone,number\n1,s,2.5\n2,w,3\n3,n,1\n4,o,4\n")
    shops = {"connection": "target", "table": "shops"}
    columns = ["id int", "r1 text", "n1 numeric(9,2)", "r2 text", "n2 numeric(9,2)"]
    near = step(
        lookup=shops, on={"r1": "region", "n1": "no"}, take={"near": "key"}, unmatched="add"
    )
    far = step(lookup=shops, on={"r2": "region", "n2": "no"}, take={"far": "key"}, unmatched="add")
    first = flow("a", "a.csv", columns=columns, mode="append") + near + far
    # By name, `number` sorts before `zone`, and `no` before `region`, so the order of the key's
    # columns differs.
    second = flow(
        "b", "b.csv", columns=["id int", "zone text", "number numeric(4,1)"], mode="append"
    )
    second += step(
        lookup=shops, on={"zone": "region", "number": "no"}, take={"shop": "key"}, unmatched="add"
    )
    path = inrush.write("package.toml", package(newest_database.url, first, second))
    outcome = inrush("run", path).expect(CLEAN)
    shop = "(SELECT region || no::text FROM shops WHERE key = {})"
    found = newest_database.rows(
        f"SELECT id, {shop.format('near')}, {shop.format('far')} FROM a ORDER BY id"
    )
    assert found == [(1, "n1.0", "s2.5"), (2, "s2.5", "w3.0")]
    found = newest_database.rows(f"SELECT id, {shop.format('shop')} FROM b ORDER BY id")
    assert found == [(1, "s2.5"), (2, "w3.0"), (3, "n1.0"), (4, "o4.0")]
    assert newest_database.value("SELECT count(*) FROM shops") == 4
    added = [table.get("members", []) for table in outcome.report["tables"]]
    assert [[one["added"] for one in members] for members in added] == [[3], []]


def test_rows_whose_key_no_member_can_have_are_rejects(
    inrush: Inrush, newest_database: Database
) -> None:
    newest_database.execute(CUSTOMERS.replace("bigint", "smallint"))
    newest_database.execute(TARGET)
    inrush.write("rows.csv", "id,customer\n1,1\n2,\n3,40000\n4,77\n5,-32768\n")
    text = flow("loaded", "rows.csv", columns=COLUMNS, mode="append", rejects={"rows_max": 2})
    path = inrush.write("package.toml", package(newest_database.url, text + adding()))
    outcome = inrush("run", path).expect(LOADED_WITH_REJECTS)
    rejects = [(one["line"], one["code"], one["value"]) for one in outcome.rejects()]
    assert rejects == [(3, "lookup_unmatched", None), (4, "lookup_unmatched", "40000")]
    reasons = [one["reason"] for one in outcome.rejects()]
    assert "is NULL, which is equal to nothing" in reasons[0]
    assert "does not fit `no` of the reference, so no member can be added" in reasons[1]
    assert_loaded(newest_database, [(1, 1), (4, 77), (5, -32768)])


def test_members_of_a_reference_on_disk(inrush: Inrush, newest_database: Database) -> None:
    """Members are added to a reference that is larger than its memory, also after a stop."""
    newest_database.execute(CUSTOMERS)
    newest_database.execute(
        "INSERT INTO customers (no, name) "
        "SELECT n, 'customer ' || n FROM generate_series(6, 30000) n"
    )
    newest_database.execute(TARGET)
    rows = write_rows(inrush, 4, 1_000, 40_000)
    text = flow("loaded", "rows.*.csv", columns=COLUMNS, mode="append")
    text += adding(memory_bytes_max=200_000)
    path = inrush.write("package.toml", package(newest_database.url, text, streams=3))
    inrush("check", path).expect(CLEAN, "in the folder for temporary files")
    died = inrush("run", path, environment={"INRUSH_FAULT": "after_unit_commit:2"})
    assert died.status == -signal.SIGKILL, died.said
    added = len({customer for _, customer in rows if customer > 30_000})
    assert added > 500
    inrush("run", path).expect(CLEAN, f"{added:,} members were added to")
    assert newest_database.rows(
        "SELECT l.id, c.no FROM loaded l JOIN customers c USING (customer_key) ORDER BY 1"
    ) == sorted(rows)
    assert newest_database.value("SELECT count(*) FROM customers") == 30_000 + added
    assert_no_reservation(newest_database)


def test_distinct_rows_come_before_members(inrush: Inrush, newest_database: Database) -> None:
    newest_database.execute(CUSTOMERS)
    newest_database.execute(TARGET)
    write_rows(inrush, 1, 10, 10)
    distinct = step(distinct_on=["id"])
    for steps, status, said in (
        (adding() + distinct, USAGE, "step 2, `distinct_on`, comes after a lookup"),
        (distinct + adding(), CLEAN, "members are added to it"),
    ):
        text = flow("loaded", "rows.*.csv", columns=COLUMNS, mode="append") + steps
        path = inrush.write("package.toml", package(newest_database.url, text))
        inrush("check", path).expect(status, said)


def test_the_first_members_of_an_empty_reference(inrush: Inrush, newest_database: Database) -> None:
    newest_database.execute(CUSTOMERS)
    newest_database.execute("DELETE FROM customers")
    newest_database.execute(TARGET)
    # More rows than the 8,192 that pass the steps together.
    rows = write_rows(inrush, 1, 20_000, 16_000)
    text = flow("loaded", "rows.*.csv", columns=COLUMNS, mode="append") + adding()
    path = inrush.write("package.toml", package(newest_database.url, text))
    inrush("run", path).expect(CLEAN, "16,000 members were added")
    found = newest_database.rows(
        "SELECT l.id, c.no FROM loaded l JOIN customers c USING (customer_key) ORDER BY 1"
    )
    assert found == sorted(rows)


def test_a_row_that_is_no_row_of_the_load_adds_no_member(
    inrush: Inrush, newest_database: Database
) -> None:
    """Rows that a later step filters or the target refuses reserve a number but add no member."""
    newest_database.execute(CUSTOMERS)
    newest_database.execute(TARGET.replace("id int NOT NULL", "id int CHECK (id <> 3)"))
    inrush.write("rows.csv", "id,customer\n1,101\n2,102\n3,103\n4,101\n5,104\n")
    text = flow("loaded", "rows.csv", columns=COLUMNS, mode="append", rejects={"rows_max": 1})
    text += adding() + step(where="id <> 2")
    path = inrush.write("package.toml", package(newest_database.url, text))
    inrush("run", path).expect(LOADED_WITH_REJECTS, "2 members were added")
    assert_loaded(newest_database, [(1, 101), (4, 101), (5, 104)])
    assert_no_reservation(newest_database)


BAD: dict[str, tuple[str, dict[str, Any], dict[str, Any], str]] = {
    "no index": (
        "ALTER TABLE customers DROP CONSTRAINT customers_no_key",
        {},
        {},
        "customers has no unique index on `no` alone",
    ),
    "a partial index": (
        "ALTER TABLE customers DROP CONSTRAINT customers_no_key; "
        "CREATE UNIQUE INDEX ON customers (no) WHERE no > 0",
        {},
        {},
        "customers has no unique index on `no` alone",
    ),
    "no sequence": (
        "ALTER TABLE customers ALTER customer_key DROP IDENTITY",
        {},
        {},
        "`customer_key` of public.customers is neither an identity column nor one",
    ),
    "numbers that are not unique": (
        "ALTER TABLE customers DROP CONSTRAINT customers_pkey",
        {},
        {},
        "customers has no unique index on customer_key alone",
    ),
    "a sequence that starts again": (
        "ALTER SEQUENCE customers_customer_key_seq CYCLE",
        {},
        {},
        "starts again at its end",
    ),
    "a generated key": (
        "ALTER TABLE customers DROP no, "
        "ADD no bigint GENERATED ALWAYS AS (customer_key * 2) STORED UNIQUE",
        {},
        {},
        "`no` of public.customers is generated from other columns",
    ),
    "required": (
        "ALTER TABLE customers ADD city text NOT NULL DEFAULT ''; "
        "ALTER TABLE customers ALTER city DROP DEFAULT",
        {},
        {},
        "needs values for `city`",
    ),
    "a view": (
        "ALTER TABLE customers RENAME TO c; CREATE VIEW customers AS SELECT * FROM c",
        {},
        {},
        "customers is not a table of the database",
    ),
    "where": ("SELECT 1", {"where": "no > 1"}, {}, "remove `where`"),
    "first": ("SELECT 1", {"first": "name"}, {}, "remove `first`"),
    "direct": ("SELECT 1", {}, {"atomic": False}, "members are added by the switch"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_reference_that_cannot_get_members_is_refused_at_plan_time(
    inrush: Inrush, newest_database: Database, kind: str
) -> None:
    change, lookup, more, said = BAD[kind]
    newest_database.execute(CUSTOMERS)
    newest_database.execute(TARGET)
    newest_database.execute(change)
    write_rows(inrush, 1, 10, 10)
    text = flow("loaded", "rows.*.csv", columns=COLUMNS, mode="append", **more)
    path = inrush.write("package.toml", package(newest_database.url, text + adding(**lookup)))
    outcome = inrush("run", path)
    assert outcome.status in (1, USAGE), outcome.said
    assert said.replace("public.", "") in outcome.said.replace('"', "").replace("public.", "")
    assert newest_database.value("SELECT count(*) FROM loaded") == 0


def test_a_number_that_may_be_replaced_is_used_by_nothing_else(
    inrush: Inrush, newest_database: Database
) -> None:
    newest_database.execute(CUSTOMERS)
    newest_database.execute(TARGET + " PARTITION BY RANGE (customer_key)")
    newest_database.execute("CREATE TABLE texts (id int, customer_key text)")
    write_rows(inrush, 1, 10, 10)
    derived = step(derive={"customer_key": "CAST(number AS VARCHAR)"})
    cases = [
        ("loaded", adding(), "`customer_key` is the partition key"),
        ("texts", adding(), "has the type text"),
        ("texts", adding(to="number") + derived, "step 2 uses `number`"),
    ]
    for table, steps, said in cases:
        text = flow(table, "rows.*.csv", columns=COLUMNS, mode="append") + steps
        path = inrush.write("package.toml", package(newest_database.url, text))
        outcome = inrush("check", path).expect(USAGE)
        assert said in outcome.said.replace("public.", "").replace('"', ""), outcome.said


def test_a_reference_is_no_target_of_the_same_run(
    inrush: Inrush, newest_database: Database
) -> None:
    newest_database.execute(CUSTOMERS)
    newest_database.execute(TARGET)
    write_rows(inrush, 1, 10, 10)
    inrush.write("customers.csv", "no\n900\n")
    text = flow("loaded", "rows.*.csv", columns=COLUMNS, mode="append") + adding()
    text += flow("customers", "customers.csv", columns=["no bigint"], mode="append")
    path = inrush.write("package.toml", package(newest_database.url, text))
    inrush("check", path).expect(USAGE, "is also the target of flow customers")


def test_a_reference_elsewhere_is_refused(inrush: Inrush, newest_database: Database) -> None:
    """Files, other databases, and tables outside of the target's DuckDB file get no members."""
    newest_database.execute(CUSTOMERS)
    newest_database.execute(TARGET)
    write_rows(inrush, 1, 10, 10)
    inrush.write("customers.csv", "no,customer_key\n1,1\n")
    rows = flow("loaded", "rows.*.csv", columns=COLUMNS, mode="append")
    of_file = step(
        lookup={"files": "customers.csv"},
        on={"customer": "no"},
        take={"customer_key": "customer_key"},
        unmatched="add",
    )
    path = inrush.write("package.toml", package(newest_database.url, rows + of_file))
    inrush("check", path).expect(USAGE, "`files`")
    other = newest_database.url.replace(newest_database.name, "postgres")
    text = package(newest_database.url, rows + adding(connection="other"))
    text += f'\n[connections.other]\nurl = "{other}"\n'
    outcome = inrush("check", inrush.write("package.toml", text))
    assert outcome.status != CLEAN
    rows = flow("loaded", "rows.*.csv", columns=COLUMNS)
    text = package(f"duckdb:///{inrush.folder}/target.duckdb", rows + adding(connection="other"))
    text += f'\n[connections.other]\nurl = "{newest_database.url}"\n'
    outcome = inrush("check", inrush.write("package.toml", text))
    outcome.expect(USAGE, "the reference is read from `other`, and members are added in the")


def test_a_role_without_the_right_to_insert_is_told(
    inrush: Inrush, newest_database: Database
) -> None:
    newest_database.execute(CUSTOMERS)
    role = f"{newest_database.name}_loader"
    newest_database.execute(
        f"CREATE ROLE {role} LOGIN; GRANT CREATE ON DATABASE {newest_database.name} TO {role}; "
        f"GRANT CREATE, USAGE ON SCHEMA public TO {role}; GRANT SELECT ON customers TO {role}"
    )
    newest_database.execute(f"{TARGET}; ALTER TABLE loaded OWNER TO {role}")
    rows = write_rows(inrush, 1, 100, 20)
    text = flow("loaded", "rows.*.csv", columns=COLUMNS, mode="append") + adding()
    url = re.sub(r"//[^@/]*@", f"//{role}@", newest_database.url)
    url = url if role in url else newest_database.url.replace("://", f"://{role}@", 1)
    path = inrush.write("package.toml", package(url, text))
    outcome = inrush("run", path)
    assert outcome.status != CLEAN
    assert "members that a lookup adds" in outcome.said
    grants = re.findall(r"GRANT [^;]*;", outcome.said)
    assert len(grants) == 2, outcome.said
    newest_database.execute(" ".join(grants))
    inrush("run", path).expect(CLEAN)
    assert_loaded(newest_database, rows)


def test_two_runs_that_add_the_same_members_add_them_once(
    inrush: Inrush, newest_database: Database
) -> None:
    """Both runs have read the reference and numbered their members before one of them switches."""
    newest_database.execute(CUSTOMERS)
    rows = write_rows(inrush, 2, 2_000, 300)
    paths = []
    for name in ("first", "second"):
        newest_database.execute(TARGET.replace("loaded", name))
        text = flow(name, "rows.*.csv", columns=COLUMNS, mode="append") + adding()
        path = inrush.write(f"{name}.toml", package(newest_database.url, text, name=name))
        paths.append(path)
        died = inrush("run", path, environment={"INRUSH_FAULT": "before_switch"})
        assert died.status == -signal.SIGKILL, died.said
    reserved = "SELECT count(*), count(DISTINCT number) FROM inrush.inferred_member"
    assert newest_database.rows(reserved) == [(590, 590)]
    assert newest_database.value("SELECT count(*) FROM customers") == 5
    first = inrush("run", paths[0]).expect(CLEAN, "295 members were added")
    assert all(unit["kept"] for unit in first.report["units"])
    second = inrush("run", paths[1]).expect(CLEAN)
    assert all(unit["kept"] for unit in second.report["units"])
    assert second.report["tables"][0]["members"][0]["added"] == 0
    assert_loaded(newest_database, rows, "first")
    assert_loaded(newest_database, rows, "second")
    assert_no_reservation(newest_database)


def test_runs_at_the_same_time_add_each_member_once(
    inrush: Inrush, newest_database: Database
) -> None:
    newest_database.execute(CUSTOMERS)
    rows = write_rows(inrush, 2, 5_000, 900)
    running = []
    names = ["first", "second", "third"]
    for name in names:
        newest_database.execute(TARGET.replace("loaded", name))
        text = flow(name, "rows.*.csv", columns=COLUMNS, mode="append") + adding()
        path = inrush.write(f"{name}.toml", package(newest_database.url, text, name=name))
        running.append(inrush.start("run", path))
    added = 0
    for one in running:
        said = re.search(r"(\d+) members? w", one.wait().expect(CLEAN).said)
        added += int(said[1]) if said else 0
    assert added == 895
    for name in names:
        assert_loaded(newest_database, rows, name)
    assert_no_reservation(newest_database)


def test_rows_that_the_target_refuses_are_found_beside_replaced_numbers(
    inrush: Inrush, newest_database: Database
) -> None:
    """Staged rows get the numbers of other members, and then the target refuses one of the rows."""
    newest_database.execute(CUSTOMERS)
    newest_database.execute(TARGET.replace("id int NOT NULL", "id int PRIMARY KEY"))
    newest_database.execute("INSERT INTO loaded VALUES (17, 1)")
    rows = write_rows(inrush, 1, 100, 50)
    text = flow("loaded", "rows.*.csv", columns=COLUMNS, mode="append", rejects={"rows_max": 5})
    path = inrush.write("package.toml", package(newest_database.url, text + adding()))
    died = inrush("run", path, environment={"INRUSH_FAULT": "before_switch"})
    assert died.status == -signal.SIGKILL, died.said
    newest_database.execute("INSERT INTO customers (no) SELECT generate_series(6, 30)")
    outcome = inrush("run", path).expect(LOADED_WITH_REJECTS)
    rejects = [(one["line"], one["code"]) for one in outcome.rejects()]
    assert rejects == [(19, "duplicate_key")]
    kept = [(number, customer) for number, customer in rows if number != 17]
    assert_loaded(newest_database, [*kept, (17, 1)])


def test_a_run_that_is_given_up_adds_nothing(inrush: Inrush, newest_database: Database) -> None:
    newest_database.execute(CUSTOMERS)
    newest_database.execute(TARGET)
    write_rows(inrush, 1, 100, 50)
    text = flow("loaded", "rows.*.csv", columns=COLUMNS, mode="append") + adding()
    path = inrush.write("package.toml", package(newest_database.url, text))
    died = inrush("run", path, environment={"INRUSH_FAULT": "before_switch_commit"})
    assert died.status == -signal.SIGKILL, died.said
    inrush("cleanup", path).expect(CLEAN)
    assert newest_database.value("SELECT count(*) FROM customers") == 5
    assert_no_reservation(newest_database)


def test_rows_that_are_peeked_at_reserve_nothing(inrush: Inrush, newest_database: Database) -> None:
    newest_database.execute(CUSTOMERS)
    newest_database.execute(TARGET)
    write_rows(inrush, 1, 100, 50)
    text = flow("loaded", "rows.*.csv", columns=COLUMNS, mode="append") + adding()
    path = inrush.write("package.toml", package(newest_database.url, text))
    inrush("peek", path, "--step", "1", "--rows", "20").expect(CLEAN)
    assert newest_database.value("SELECT to_regclass('inrush.inferred_member')") is None


def test_a_sequence_behind_its_table_gives_no_number_of_another_member(
    inrush: Inrush, newest_database: Database
) -> None:
    newest_database.execute(CUSTOMERS.replace("ALWAYS", "BY DEFAULT"))
    newest_database.execute(TARGET)
    # The sequence lags behind, as after rows were added with explicit numbers.
    newest_database.execute("SELECT setval('customers_customer_key_seq', 2)")
    inrush.write("rows.csv", "id,customer\n1,3\n2,900\n3,901\n")
    text = flow("loaded", "rows.csv", columns=COLUMNS, mode="append") + adding()
    path = inrush.write("package.toml", package(newest_database.url, text))
    inrush("run", path).expect(
        FAILED,
        "the sequence public.customers_customer_key_seq gives numbers that other rows",
        "SELECT setval('public.customers_customer_key_seq', "
        '(SELECT max("customer_key") FROM "public"."customers"));',
    )
    assert newest_database.rows("SELECT * FROM loaded") == []
    assert newest_database.value("SELECT count(*) FROM customers") == 5
    newest_database.execute(
        "SELECT setval('customers_customer_key_seq', (SELECT max(customer_key) FROM customers))"
    )
    inrush("run", path).expect(CLEAN)
    assert_loaded(newest_database, [(1, 3), (2, 900), (3, 901)])
    assert_no_reservation(newest_database)

"""Steps of flows into PostgreSQL: partitions by derived keys, refused rows, rows of databases.

`tests/conformance/test_steps.py` checks the rows in every destination.
"""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from harness.command import CLEAN, LOADED_WITH_REJECTS, USAGE, Inrush
from harness.packages import flow, package, settings, step
from harness.servers import Database

COLUMNS = ["id integer not null", "day date", "price numeric(12,2)"]
DERIVE = step(derive={"month": "CAST(date_trunc('month', day) AS DATE)", "gross": "price * 2"})


def lines(first: int, count: int) -> str:
    """Return rows; each hundred rows have the same month."""
    numbers = range(first, first + count)
    return "id,day,price\n" + "".join(
        f"{number},2024-{number // 100 + 1:02}-{number % 28 + 1:02},{number}.25\n"
        for number in numbers
    )


def run(inrush: Inrush, database: Database, *flows: str, status: int = CLEAN, **more: Any) -> Any:
    """Run a package into a database."""
    text = package(database.url, *flows, **more)
    return inrush("run", inrush.write("package.toml", text)).expect(status)


def totals(database: Database) -> list[tuple[Any, ...]]:
    return database.rows(
        "SELECT month, count(*), min(id), max(id), sum(gross) FROM loaded GROUP BY 1 ORDER BY 1"
    )


def expected(database: Database, rows: int) -> list[tuple[Any, ...]]:
    """Compute the expected rows in PostgreSQL."""
    return database.rows(
        "SELECT make_date(2024, n / 100 + 1, 1), count(*), min(n), max(n), sum((n + 0.25) * 2) "
        f"FROM generate_series(0, {rows - 1}) n GROUP BY 1 ORDER BY 1"
    )


def test_a_reject_shows_an_infinite_key_as_such(inrush: Inrush, newest_database: Database) -> None:
    inrush.write("rows.csv", "id,day,price\n1,infinity,1\n2,2024-01-05,1\n3,-infinity,1\n")
    key: dict[str, Any] = {
        "partition_by": "month",
        "bounds": ["2024-01-01", "2024-02-01"],
        "routing": True,
        "rejects": {"rows_max": 5},
    }
    rows = flow("loaded", "rows.csv", columns=COLUMNS, **key) + DERIVE
    outcome = run(inrush, newest_database, rows, status=LOADED_WITH_REJECTS)
    values = [(reject["column"], reject["value"]) for reject in outcome.rejects()]
    assert values == [("month", "infinity"), ("month", "-infinity")]


def test_a_derived_key_decides_the_partition_of_a_file(
    inrush: Inrush, newest_database: Database
) -> None:
    for part in range(3):
        inrush.write(f"rows.{part}.csv", lines(part * 100, 100))
    rows = flow("loaded", "rows.*.csv", columns=COLUMNS, partition_by="month") + DERIVE
    run(inrush, newest_database, rows, verify="rows")
    assert totals(newest_database) == expected(newest_database, 300)
    partitions = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'loaded'::regclass"
    assert newest_database.value(partitions) == 3


def test_rows_are_routed_by_a_derived_key(inrush: Inrush, newest_database: Database) -> None:
    inrush.write("rows.csv", lines(0, 300))
    bounds = ["2024-01-01", "2024-02-01", "2024-03-01"]
    route: dict[str, Any] = {"partition_by": "month", "bounds": bounds, "routing": True}
    limit: dict[str, Any] = {"rejects": {"rows_max": 200}}
    rows = flow("loaded", "rows.csv", columns=COLUMNS, **route, **limit) + DERIVE
    outcome = run(inrush, newest_database, rows, status=LOADED_WITH_REJECTS)
    assert totals(newest_database) == expected(newest_database, 200)
    rejects = outcome.rejects()
    # The key is checked after the steps, but the reported place is that of the record.
    assert [reject["line"] for reject in rejects] == list(range(202, 302))
    assert {(reject["column"], reject["code"]) for reject in rejects} == {
        ("month", "outside_partition")
    }


@pytest.mark.parametrize("bounds", [{"every": "1 month"}, {"parts": 3}])
def test_bounds_that_need_keys_of_files_cannot_be_derived(
    inrush: Inrush, newest_database: Database, bounds: dict[str, Any]
) -> None:
    inrush.write("rows.csv", lines(0, 100))
    rows = flow("loaded", "rows.csv", columns=COLUMNS, partition_by="month", bounds=bounds)
    text = package(newest_database.url, rows + DERIVE)
    outcome = inrush("check", inrush.write("package.toml", text))
    outcome.expect(USAGE, "`month` is derived by a step", "keys in the files")


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_rows_that_the_target_refuses_are_found_behind_steps(
    inrush: Inrush, newest_database: Database, mode: str
) -> None:
    """Rows that a careful load or the merge of an upsert refuses are traced to their records."""
    newest_database.execute(
        "CREATE TABLE loaded (id int PRIMARY KEY, day date, price numeric(12,2), month date, "
        "gross numeric(12,2) CHECK (gross <> 140.50 AND gross <> 20.50))"
    )
    newest_database.execute("INSERT INTO loaded VALUES (50, NULL, 0, NULL, 0)")
    inrush.write("rows.csv", lines(0, 300))
    more: dict[str, Any] = {"key": "id"} if mode == "upsert" else {}
    limit: dict[str, Any] = {"rejects": {"rows_max": 200}}
    rows = flow("loaded", "rows.csv", columns=COLUMNS, mode=mode, **more, **limit)
    rows += step(where="id % 3 <> 0") + DERIVE
    outcome = run(inrush, newest_database, rows, status=LOADED_WITH_REJECTS)
    # The rows with 10.25 and 70.25 violate the CHECK; 50 is already in the target.
    refused = {10: "check_violated", 70: "check_violated"}
    if mode == "append":
        refused[50] = "duplicate_key"
    found = {reject["line"] - 2: reject["code"] for reject in outcome.rejects()}
    assert found == refused
    wanted = [n for n in range(300) if (n % 3 and n not in refused) or n == 50]
    assert newest_database.rows("SELECT id FROM loaded ORDER BY id") == [(n,) for n in wanted]
    account = outcome.report["account"]
    assert (account["rows_filtered"], account["rows_rejected"]) == (100, len(refused))


def source_flow(table: str, source: dict[str, Any], **more: Any) -> str:
    """Return a flow whose rows come from a table or a query."""
    said = {"table": table, "connection": "target", "source": source, **more}
    return "\n[[flow]]\n" + settings(said)


CRM = """
CREATE TABLE orders (id int PRIMARY KEY, customer int, tags text[], price numeric(12,2), qty int);
INSERT INTO orders SELECT n, n % 40, ARRAY['a', n::text], n / 4.0, nullif(n % 9, 0)
FROM generate_series(1, 5000) n;
CREATE TABLE customers (no bigint, key int, name text);
INSERT INTO customers SELECT n, n + 1000, 'customer ' || n FROM generate_series(0, 29) n
"""


def test_rows_of_a_database_pass_steps_and_lookups(
    inrush: Inrush, newest_database: Database
) -> None:
    """Values in binary form go through unchanged; columns for steps have the source's type."""
    newest_database.execute("CREATE SCHEMA crm; SET search_path = crm; " + CRM)
    newest_database.execute(
        "CREATE TABLE loaded (id int, tags text[], total numeric(20,2), customer_key int, who text)"
    )
    rows = source_flow(
        "public.loaded",
        {"connection": "target", "table": "crm.orders"},
        mode="append",
        rejects={"rows_max": 3_000},
    )
    lookup = {"connection": "target", "table": "crm.customers", "where": "no < 25"}
    rows += (
        step(where="qty IS NOT NULL")
        + step(derive={"total": "price * qty"})
        + step(
            lookup=lookup,
            on={"customer": "no"},
            take={"customer_key": "key", "who": "name"},
        )
    )
    outcome = run(inrush, newest_database, rows, status=LOADED_WITH_REJECTS)
    wanted = newest_database.rows(
        "SELECT id, tags, price * qty, key, name FROM crm.orders JOIN crm.customers "
        "ON no = customer AND no < 25 WHERE qty IS NOT NULL ORDER BY id"
    )
    assert newest_database.rows("SELECT * FROM loaded ORDER BY id") == wanted
    rejects = outcome.rejects()
    assert {reject["code"] for reject in rejects} == {"lookup_unmatched"}
    assert len(rejects) == outcome.report["account"]["rows_rejected"]
    (table,) = outcome.report["tables"]
    lookup_step = table["steps"][2]
    assert lookup_step["unmatched"] == len(rejects)
    wanted = newest_database.rows(
        "SELECT customer::text, count(*) FROM crm.orders WHERE qty IS NOT NULL AND customer >= 25 "
        "GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10"
    )
    assert [(one["key"], one["rows"]) for one in lookup_step["unmatched_keys"]] == wanted


def test_rows_of_a_database_are_replayed_through_the_steps(
    inrush: Inrush, newest_database: Database
) -> None:
    """The saved package of the run also has the types of columns that only steps use."""
    newest_database.execute("CREATE TABLE orders (id int, text text)")
    newest_database.execute("INSERT INTO orders VALUES (1, '7'), (2, 'x'), (3, '9')")
    newest_database.execute("CREATE TABLE loaded (id int, number int)")
    rows = source_flow(
        "loaded",
        {"connection": "target", "table": "orders"},
        mode="append",
        rejects={"rows_max": 1},
    ) + step(derive={"number": "CAST(text AS INTEGER)"})
    run(inrush, newest_database, rows, status=LOADED_WITH_REJECTS)
    (folder,) = inrush.folder.glob("runs/*")
    (kept,) = folder.glob("rejects/*.rejects")
    assert "2,x" in kept.read_text()
    kept.write_text(kept.read_text().replace("2,x", "2,8"))
    inrush("rejects", "replay", folder.name).expect(CLEAN)
    assert newest_database.rows("SELECT * FROM loaded ORDER BY id") == [(1, 7), (2, 8), (3, 9)]


def test_rejects_are_replayed_through_a_lookup_in_a_relative_file(
    inrush: Inrush, newest_database: Database
) -> None:
    """The run's folder differs from the package's folder, whose name looks like a pattern."""
    newest_database.execute("CREATE TABLE loaded (id int, number int, name text)")
    inrush.write("jobs [1]/rows.csv", "id,number\n1,7\n2,x\n3,9\n")
    inrush.write("jobs [1]/rows.ctl", "3\n")
    inrush.write("jobs [1]/names.1.csv", "no,name\n1,one\n2,two\n")
    inrush.write("jobs [1]/names.2.csv", "no,name\n3,three\n")
    rows = flow(
        "loaded",
        "rows.csv",
        columns=["id int", "number int"],
        mode="append",
        rejects={"rows_max": 1},
        control_file={"path": "rows.ctl", "rows_field": 1},
    ) + step(lookup={"files": "names.*.csv"}, on={"id": "no"}, take={"name": "name"})
    path = inrush.write("jobs [1]/package.toml", package(newest_database.url, rows))
    inrush("run", path).expect(LOADED_WITH_REJECTS)
    (kept,) = inrush.folder.glob("**/rejects/*.rejects")
    kept.write_text(kept.read_text().replace("2,x", "2,8"))
    inrush("rejects", "replay", kept.parent.parent).expect(CLEAN)
    found = newest_database.rows("SELECT * FROM loaded ORDER BY id")
    assert found == [(1, 7, "one"), (2, 8, "two"), (3, 9, "three")]


BAD_REFERENCES: dict[str, tuple[str, dict[str, Any], str]] = {
    "twice": ("INSERT INTO customers VALUES (1, 2, 'x')", {}, "the key 1 is there twice"),
    "empty": ("DELETE FROM customers", {}, "no rows with a key"),
    "no column": ("ALTER TABLE customers RENAME key TO kee", {}, "kee"),
    "no table": ("DROP TABLE customers", {}, "customers"),
    "type": ("ALTER TABLE customers ALTER no TYPE text", {}, "such values are never equal"),
}


@pytest.mark.parametrize("kind", BAD_REFERENCES)
def test_a_reference_that_cannot_be_used_is_refused_at_plan_time(
    inrush: Inrush, newest_database: Database, kind: str
) -> None:
    change, more, said = BAD_REFERENCES[kind]
    newest_database.execute(CRM)
    newest_database.execute(change)
    rows = source_flow("loaded", {"connection": "target", "table": "orders"})
    lookup: dict[str, Any] = {"connection": "target", "table": "customers", **more}
    rows += step(lookup=lookup, on={"customer": "no"}, take={"customer_key": "key"})
    text = package(newest_database.url, rows)
    outcome = inrush("check", inrush.write("package.toml", text))
    assert outcome.status in (1, USAGE), outcome.said
    outcome.expect(outcome.status, said, "package.toml:", "step 1")


def test_rows_without_a_match_get_null_or_a_default(
    inrush: Inrush, newest_database: Database
) -> None:
    inrush.write("rows.csv", "id,customer\n1,10\n2,11\n3,\n")
    inrush.write("customers.csv", "no,key,name\n10,1000,Anna\n12,1002,Cleo\n")
    inrush.write("regions.csv", "no,region\n11,north\n")
    rows = flow("loaded", "rows.csv", columns=["id int", "customer smallint"])
    rows += step(
        lookup={"files": "customers.csv"},
        on={"customer": "no"},
        take={"customer_key": "key", "name": "name"},
        unmatched={"default": {"customer_key": -1, "name": "nobody"}},
    )
    rows += step(
        lookup={"files": "regions.csv", "columns": ["no bigint", "region text"]},
        on={"customer": "no"},
        take={"region": "region"},
        unmatched="null",
    )
    run(inrush, newest_database, rows)
    assert newest_database.rows(
        "SELECT id, customer_key, name, region FROM loaded ORDER BY id"
    ) == [(1, 1000, "Anna", None), (2, -1, "nobody", "north"), (3, -1, "nobody", None)]


def test_of_rows_with_the_same_key_the_first_counts(
    inrush: Inrush, newest_database: Database
) -> None:
    newest_database.execute("CREATE TABLE prices (item int, since date, price numeric(9,2))")
    newest_database.execute(
        "INSERT INTO prices VALUES (1, '2024-01-01', 1), (1, '2024-03-01', 3), (1, NULL, 9), "
        "(1, '2024-02-01', 2), (2, NULL, 7)"
    )
    inrush.write("rows.csv", "id,item\n10,1\n20,2\n")
    for first, price in [("since desc", 3), ("since", 1)]:
        lookup = {"connection": "target", "table": "prices", "first": first}
        rows = flow(f"loaded_{price}", "rows.csv", columns=["id int", "item int"])
        rows += step(lookup=lookup, on={"item": "item"}, take={"price": "price"})
        run(inrush, newest_database, rows, name=f"first {price}")
        found = newest_database.rows(f"SELECT id, price::int FROM loaded_{price} ORDER BY id")
        assert found == [(10, price), (20, 7)]
    newest_database.execute("INSERT INTO prices VALUES (1, '2024-03-01', 4)")
    # Two rows share the first place, so the order does not decide between them.
    text = package(
        newest_database.url, rows.replace("loaded_1", "new").replace("since", "since desc")
    )
    outcome = inrush("check", inrush.write("package.toml", text))
    outcome.expect(USAGE, "the key 1 is there twice", "the same place in the order")


@pytest.mark.parametrize("compressed", [False, True])
def test_any_number_of_streams_gives_the_same_rows_and_rejects(
    inrush: Inrush, newest_database: Database, compressed: bool
) -> None:
    """A large file is cut, and a compressed one is fed to all streams."""
    count = 300_000
    numbers = range(count)
    text = "id,word\n" + "".join(
        f"{number},{'x' if number % 9_973 == 5 else number}\n" for number in numbers
    )
    name = "rows.csv.gz" if compressed else "rows.csv"
    inrush.write(name, gzip.compress(text.encode()) if compressed else text)
    steps = (
        step(where="id % 3 <> 0")
        + step(derive={"number": "CAST(word AS INTEGER) * 2"})
        + step(check="number % 50000 <> 2")
    )
    found = []
    for streams in (1, 4):
        limit: dict[str, Any] = {"rejects": {"rows_max": 1_000}}
        table = f"loaded_{streams}"
        rows = flow(table, name, columns=["id int", "word text"], **limit) + steps
        outcome = run(
            inrush,
            newest_database,
            rows,
            status=LOADED_WITH_REJECTS,
            name=f"by {streams}",
            streams=streams,
        )
        rejects = [(one["line"], one["code"], one["value"]) for one in outcome.rejects()]
        query = f"SELECT count(*), sum(id), sum(number), min(number) FROM {table}"
        (table_report,) = outcome.report["tables"]
        found.append((rejects, newest_database.rows(query), table_report["steps"]))
    assert found[0] == found[1]
    rejects, sums, _ = found[0]
    failing = [n for n in numbers if n % 3 and n % 9_973 == 5]
    breaking = [n for n in numbers if n % 3 and n % 9_973 != 5 and n * 2 % 50_000 == 2]
    assert [line for line, *_ in rejects] == sorted(n + 2 for n in failing + breaking)
    kept = [n for n in numbers if n % 3 and n % 9_973 != 5 and n * 2 % 50_000 != 2]
    assert sums == [(len(kept), sum(kept), 2 * sum(kept), 2 * min(kept))]


def test_another_reference_is_another_load(inrush: Inrush, newest_database: Database) -> None:
    """Units that were loaded with other rows of the reference are not kept."""
    for part in range(2):
        inrush.write(f"rows.{part}.csv", f"id\n{part + 1}\n")
    inrush.write("names.csv", "no,name\n1,one\n2,two\n")
    rows = flow("loaded", "rows.*.csv", columns=["id int"])
    rows += step(lookup={"files": "names.csv"}, on={"id": "no"}, take={"name": "name"})
    path = inrush.write("package.toml", package(newest_database.url, rows, streams=1))
    environment = {"INRUSH_FAULT": "after_unit_commit"}
    assert inrush("run", path, environment=environment).status < 0
    inrush.write("names.csv", "no,name\n2,TWO\n1,ONE\n")
    outcome = inrush("run", path).expect(CLEAN)
    assert not any(unit["kept"] for unit in outcome.report["units"])
    assert newest_database.rows("SELECT * FROM loaded ORDER BY 1") == [(1, "ONE"), (2, "TWO")]


def test_a_digit_that_changes_in_all_rows_of_a_reference_is_noticed(
    inrush: Inrush, newest_database: Database
) -> None:
    """The sum of the rows' digests changes, too: the changes do not cancel each other out."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    for part in range(2):
        inrush.write(f"rows.{part}.csv", "k\n" + "".join(f"{one}\n" for one in letters))
    inrush.write("factors.csv", "k,f\n" + "".join(f"{one},1\n" for one in letters))
    rows = flow("loaded", "rows.*.csv", columns=["k text"])
    rows += step(lookup={"files": "factors.csv"}, on={"k": "k"}, take={"f": "f"})
    path = inrush.write("package.toml", package(newest_database.url, rows, streams=1))
    environment = {"INRUSH_FAULT": "after_unit_commit"}
    assert inrush("run", path, environment=environment).status < 0
    inrush.write("factors.csv", "k,f\n" + "".join(f"{one},2\n" for one in letters))
    inrush("run", path).expect(CLEAN)
    assert newest_database.rows("SELECT f, count(*) FROM loaded GROUP BY 1") == [(2, 52)]


def test_a_preflight_passes_the_steps(inrush: Inrush, newest_database: Database) -> None:
    inrush.write("rows.csv", lines(0, 300))
    rows = flow("loaded", "rows.csv", columns=COLUMNS) + DERIVE + step(where="id < 100")
    path = inrush.write("package.toml", package(newest_database.url, rows))
    inrush("preflight", path).expect(CLEAN)
    run(inrush, newest_database, rows)
    assert newest_database.value("SELECT count(*) FROM loaded") == 100


def test_a_lookup_takes_no_name_twice(newest_database: Database, inrush: Inrush) -> None:
    """Names must differ by more than their case."""
    inrush.write("rows.csv", "id\n1\n")
    inrush.write("names.csv", "no,name\n1,Ada\n")
    rows = flow("loaded", "rows.csv", columns=["id int"], format={"header": True})
    rows += step(lookup={"files": "names.csv"}, on={"id": "no"}, take={"who": "name", "Who": "no"})
    path = inrush.write("p.toml", package(newest_database.url, rows))
    for command in ("check", "run"):
        inrush(command, path).expect(USAGE, "step 1: the flow has a column `who` already", "take =")


def test_a_date_that_nothing_holds_rejects_its_row(
    newest_database: Database, inrush: Inrush
) -> None:
    """DuckDB has earlier dates than PostgreSQL."""
    inrush.write("rows.csv", "id,n\n1,10\n2,3000000\n3,20\n")
    rows = flow("loaded", "rows.csv", columns=["id int", "n int"], rejects={"rows_max": 1})
    rows += step(derive={"d": "DATE '2000-01-01' - n"})
    path = inrush.write("p.toml", package(newest_database.url, rows))
    outcome = inrush("run", path).expect(LOADED_WITH_REJECTS)
    (reject,) = outcome.rejects()
    assert (reject["line"], reject["column"]) == (3, "d")
    assert "before 4714-11-24 BC" in reject["reason"]
    assert newest_database.rows("SELECT id, d::text FROM loaded ORDER BY 1") == [
        (1, "1999-12-22"),
        (3, "1999-12-12"),
    ]

"""Steps inside the INSERT into a DuckDB file give the same rows as steps before the INSERT.

If the file has a user-defined macro, the steps run before the INSERT, so the same package is loaded
both ways.
"""

from __future__ import annotations

import gzip
import random
import signal
from typing import Any

import pytest

from harness.command import CLEAN, LOADED_WITH_REJECTS, REJECT_LIMIT, Inrush, Outcome
from harness.duckdb_files import opened
from harness.packages import flow, package, step

IN_INSERT = "the steps are a part of the statement that adds the rows"
BEFORE_INSERT = "the steps are evaluated before the rows are sent, because"
FAILED = "the steps in the destination's statement failed for a row"
# The rows of each file: all have several batches, and the second file has two chunks.
BATCH_ROWS, CHUNK_BYTES = 100, 65_536
COUNTS = (700, 3_000, 700)
COLUMNS = [
    "id integer not null",
    "note text",
    "price numeric(15,2)",
    "day date",
    "x double precision",
]
DERIVED = step(
    derive={
        "gross": "price * 2",
        "label": "id * 10 + length(note)",
        "month": "CAST(date_trunc('month', day) AS DATE)",
        "half": "x / 2",
        "digit": "CAST(right(note, 1) AS INTEGER)",
    }
)
STEPS = DERIVED + step(where="id % 10 <> 3") + step(check="gross < 1900", name="not too dear")
STEPS += step(derive={"share": "1000 // (id % 10 - 3)"})


def lines(seed: int, numbers: range, *, bad: bool) -> list[str]:
    """Return the lines of a file; some are bad in each way that a step or a column can refuse."""
    made = random.Random(seed)  # noqa: S311
    found = []
    for number in numbers:
        note = made.choice(["a1", "7", "abcdef2", "é€3", "x y4"])
        price = f"{made.randrange(0, 90_000) / 100:.2f}"
        day = made.choice(["1999-12-31", "2024-02-29", ""])
        real = made.choice(["0.5", "-2", "1e300", ""])
        if bad:
            match made.randrange(40):
                case 5:
                    note = "none"
                case 0:
                    price = "999.99"
                case 1:
                    day = "infinity"
                case 2:
                    real = "NaN"
                case 3:
                    day = "never"
                case 4:
                    day = "0044-03-15 BC"
        found.append(f"{number},{note},{price},{day},{real}\n")
    return found


class Both:
    """A package, and two folders in which it is loaded into a file of DuckDB."""

    def __init__(self, inrush: Inrush, steps: str, **settings: Any) -> None:
        self.insert, self.runner = (Inrush(inrush.folder / name) for name in ("insert", "runner"))
        words: dict[str, Any] = {"columns": COLUMNS, "rejects": {"rows_max": 10_000}} | settings
        files = words.pop("files", "rows.*.csv")
        rows_flow = flow("loaded", files, **words) + steps
        text = package(
            "duckdb:results.duckdb", rows_flow, batch_rows=BATCH_ROWS, chunk_bytes=CHUNK_BYTES
        )
        for own in self.folders():
            own.write("package.toml", text)
        self.execute("CREATE MACRO own(a) AS a", [self.runner])

    def folders(self) -> list[Inrush]:
        return [self.insert, self.runner]

    def execute(self, sql: str, places: list[Inrush] | None = None) -> None:
        """Run a statement in both files, or in some."""
        for own in places or self.folders():
            with opened(own.folder / "results.duckdb") as file:
                file.execute(sql)

    def write(self, seed: int, *, bad: bool, bad_file: int | None = None, step: int = 0) -> None:
        """Write three files whose numbers are `step` apart; the named file, if any, is bad."""
        print(f"seed {seed}")
        for part, count in enumerate(COUNTS):
            is_bad = bad and bad_file in (None, part)
            rows = "".join(lines(seed + part, range(part * step, part * step + count), bad=is_bad))
            assert (len(rows) > CHUNK_BYTES) == (part == 1)
            for own in self.folders():
                own.write(f"rows.{part}.csv", "id,note,price,day,x\n" + rows)

    def assert_plan(self) -> None:
        checked = self.insert("check", "package.toml").expect(CLEAN).output
        assert IN_INSERT in checked, checked
        assert "INSERT INTO" in checked, checked
        other = self.runner("check", "package.toml").expect(CLEAN).output
        assert BEFORE_INSERT in other, other
        assert "`own`" in other, other

    def run(self, status: int, *, resumes: bool = False) -> Outcome:
        """Load both ways, and return the outcome of the load with steps in its INSERT."""
        ours, theirs = (own("run", "package.toml").expect(status) for own in self.folders())
        assert table(self.insert) == table(self.runner)
        assert ours.report["account"] == theirs.report["account"]
        if not resumes:
            # The counts of steps are those of one attempt.
            assert counts(ours) == counts(theirs)
        assert list(map(told, ours.rejects())) == list(map(told, theirs.rejects()))
        return ours


def table(own: Inrush) -> list[tuple[Any, ...]]:
    """Return all rows of the target; nothing else may be left in the file."""
    with opened(own.folder / "results.duckdb", read_only=True) as file:
        made = file.execute(
            "SELECT function_name FROM duckdb_functions() WHERE NOT internal"
        ).fetchall()
        assert made in ([], [("own",)])
        return file.execute("SELECT COLUMNS(*)::VARCHAR FROM loaded ORDER BY ALL").fetchall()


def log(own: Inrush) -> str:
    """Return the logs of all runs."""
    return "".join(path.read_text() for path in own.folder.glob("runs/*/log.jsonl"))


def counts(outcome: Outcome) -> list[dict[str, Any]]:
    """Return what the steps have counted."""
    steps: list[dict[str, Any]] = outcome.report["tables"][0]["steps"]
    return steps


def told(reject: dict[str, Any]) -> str:
    """Return all fields of a reject except its run."""
    return str({key: value for key, value in reject.items() if key != "run_id"})


@pytest.fixture(params=range(3))
def seed(request: pytest.FixtureRequest) -> int:
    return int(request.param) * 1_000


@pytest.mark.parametrize("mode", ["create", "append", "replace", "upsert"])
def test_rows_without_faults_are_the_same_both_ways(inrush: Inrush, seed: int, mode: str) -> None:
    more: dict[str, Any] = {"key": ["id", "label"]} if mode == "upsert" else {}
    both = Both(inrush, STEPS, mode=mode, **more)
    if mode != "create":
        key = ", PRIMARY KEY (id, label)" if mode == "upsert" else ""
        both.execute(
            "CREATE TABLE loaded (id INTEGER NOT NULL, note VARCHAR, price DECIMAL(15,2), "
            "day DATE, x DOUBLE, digit INTEGER, gross DECIMAL(18,2), half DOUBLE, "
            f"label BIGINT, month DATE, share INTEGER{key})"
        )
    both.write(seed, bad=False, step=10_000)
    if seed == 0:
        # The plan is that of the package, which is the same for all seeds.
        both.assert_plan()
    outcome = both.run(CLEAN)
    assert outcome.report["account"]["rows_filtered"] > 0
    assert FAILED not in log(both.insert)
    assert "a part of the destination's statement" in "".join(outcome.report["notes"])


def test_rows_that_steps_reject_are_the_same_both_ways(inrush: Inrush, seed: int) -> None:
    both = Both(inrush, STEPS)
    both.write(seed, bad=True)
    if seed == 0:
        both.assert_plan()
    outcome = both.run(LOADED_WITH_REJECTS)
    assert {reject["code"] for reject in outcome.rejects()} >= {"check_failed", "step_failed"}
    assert FAILED in log(both.insert)


def test_after_a_fault_the_later_units_pass_the_steps_before(inrush: Inrush) -> None:
    both = Both(inrush, STEPS)
    both.write(7, bad=True, bad_file=1)
    both.run(LOADED_WITH_REJECTS)
    # Both streams may reach the fault at the same time. Later units run the steps before the
    # INSERT.
    assert 1 <= log(both.insert).count(FAILED) <= 2


@pytest.mark.parametrize("bad", [False, True])
def test_a_file_that_is_fed_to_all_streams_is_the_same_both_ways(inrush: Inrush, bad: bool) -> None:
    both = Both(inrush, STEPS, files="rows.csv.gz")
    print("seed 17")
    rows = "".join(lines(17, range(20_000), bad=bad))
    for own in both.folders():
        own.write("rows.csv.gz", gzip.compress(("id,note,price,day,x\n" + rows).encode()))
    both.run(LOADED_WITH_REJECTS if bad else CLEAN)
    assert (FAILED in log(both.insert)) == bad


@pytest.mark.parametrize("point", ["in_copy:2", "before_unit_commit", "after_unit_commit"])
@pytest.mark.parametrize("bad", [False, True])
def test_a_load_that_is_killed_ends_with_the_same_rows(
    inrush: Inrush, point: str, bad: bool
) -> None:
    both = Both(inrush, STEPS)
    both.write(11, bad=bad)
    died = both.insert("run", "package.toml", environment={"INRUSH_FAULT": point})
    assert died.status == -signal.SIGKILL, died.said
    both.run(LOADED_WITH_REJECTS if bad else CLEAN, resumes=True)


def test_a_check_that_fails_the_load_does_so_both_ways(inrush: Inrush) -> None:
    both = Both(inrush, DERIVED + step(check="id < 2000", name="small ids", else_="fail"))
    both.write(5, bad=False)
    both.assert_plan()
    for own in both.folders():
        own("run", "package.toml").expect(
            REJECT_LIMIT, "small ids", "rows.", "nothing was switched"
        )


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        (step(where="id > 1") + step(where="id > 2"), "more than one `where`"),
        (step(check="id > 1", else_="warn"), 'else = "warn"'),
        (step(derive={"a": "id + 1"}, load=False) + step(where="a > 2"), "`a` is derived but not"),
        (step(derive={"a": "replace(note, 'a', 'b')"}), "`replace`"),
        (step(derive={"a": "note || note"}), "`a` is a text or bytes"),
        (step(distinct_on=["id"]), "only steps with expressions"),
    ],
)
def test_the_plan_says_why_steps_are_not_in_the_insert(
    inrush: Inrush, steps: str, why: str
) -> None:
    both = Both(inrush, steps)
    both.write(1, bad=False)
    checked = both.insert("check", "package.toml").expect(CLEAN).output
    assert f"{BEFORE_INSERT} " in checked, checked
    assert why in checked, checked
    both.run(CLEAN)


def test_an_expression_before_a_condition_fails_also_for_rows_that_it_filters(
    inrush: Inrush,
) -> None:
    both = Both(inrush, step(derive={"a": "10 // id"}) + step(where="id > 0"))
    both.write(3, bad=False)
    both.assert_plan()
    outcome = both.run(LOADED_WITH_REJECTS)
    assert outcome.report["account"]["rows_rejected"] == 3

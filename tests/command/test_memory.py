"""The plan's memory figure includes streams, buffers, and the records of each file."""

from __future__ import annotations

import signal

import pytest

from harness.command import Inrush
from harness.packages import flow, package, step
from harness.plans import larger_code_kib, promised_kib, write_many_files
from harness.servers import Database

LINE = "{}|some text that is neither short nor long|12345.67|2024-02-29|\n"
COLUMNS = ["id int not null", "note text", "price numeric(15,2)", "day date"]


def test_ten_times_the_rows_take_the_same_memory(newest_database: Database, inrush: Inrush) -> None:
    peaks = []
    # At this rate even the smaller files fill all chunks of their streams, however fast the server
    # is.
    for rows, rate in ((60_000, {"rate_bytes_max": 2_000_000}), (600_000, {})):
        for part in range(2):
            numbers = range(part * rows, (part + 1) * rows)
            inrush.write(f"{rows}/rows.tbl.{part}", "".join(map(LINE.format, numbers)))
        target = flow(f"loaded_{rows}", f"{rows}/rows.tbl.*", columns=COLUMNS, partition_by="id")
        text = package(newest_database.url, target, name=f"n{rows}", **rate)
        path = inrush.write(f"{rows}.toml", text)
        peaks.append(inrush.peak_kib("run", path))
        assert newest_database.value(f"SELECT count(*) FROM loaded_{rows}") == 2 * rows
    small, large = peaks
    assert large < small * 1.1, peaks


# One stream loads forty thousand files in one transaction.
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("count", "streams", "verify"),
    [
        (1, 2, "count"),
        (1_000, 2, "count"),
        (1_000, 4, "rows"),
        (1_000, 1, "rows"),
        (40_000, 1, "count"),
    ],
)
def test_memory_stays_within_the_figure_of_the_plan(
    newest_database: Database, inrush: Inrush, count: int, streams: int, verify: str
) -> None:
    write_many_files(inrush.folder / "many", count)
    target = flow("many", "many/*.csv", columns=["id int", "note text"])
    settings = package(newest_database.url, target, streams=streams, verify=verify)
    path = inrush.write("many.toml", settings)
    promised = promised_kib(inrush("check", path, seconds=600).expect(0).said)
    peak = inrush.peak_kib("run", path)
    assert peak <= promised + larger_code_kib(inrush), (count, peak, promised)
    found = newest_database.rows("SELECT count(*), sum(id)::int8, count(DISTINCT id) FROM many")
    assert found == [(count, count * (count - 1) // 2, count)]


def test_steps_stay_within_the_figure_of_the_plan(
    newest_database: Database, inrush: Inrush
) -> None:
    """DuckDB, the reference of a lookup, and failing rows in every batch take memory."""
    numbers = range(200_000)
    inrush.write("words.csv", "no,word\n" + "".join(f"{n},word {n}\n" for n in numbers))
    for part in range(2):
        inrush.write(f"rows.tbl.{part}", "".join(map(LINE.format, range(600_000))))
    derived = {"half": "price / (id % 1000)", "number": "id % 200000"}
    steps = (
        step(derive=derived)
        + step(where="id % 2 = 0")
        + step(lookup={"files": "words.csv"}, on={"number": "no"}, take={"word": "word"})
        + step(check="word LIKE 'word %' AND half < 1e9")
    )
    limit = {"rejects": {"rows_max": 10_000}}
    target = flow("loaded", "rows.tbl.*", columns=COLUMNS, **limit) + steps
    path = inrush.write("steps.toml", package(newest_database.url, target))
    promised = promised_kib(inrush("check", path).expect(0).said)
    peak = inrush.peak_kib("run", path, status=3)
    assert peak <= promised + larger_code_kib(inrush), (peak, promised)
    assert newest_database.value("SELECT count(*) FROM loaded") == 2 * (300_000 - 600)


def test_long_texts_of_steps_stay_within_the_figure_of_the_plan(
    newest_database: Database, inrush: Inrush
) -> None:
    """All texts together are 1.6 GB. The `where` after the step drops most of their rows."""
    rows = 40_000
    inrush.write("rows.tbl", "".join(f"{number}|\n" for number in range(rows)))
    long = "x" * 10_000
    derived = {f"text_{at}": f"'{long}' || id || '.{at}'" for at in range(4)}
    steps = step(derive=derived) + step(where="id % 100 = 0 AND length(text_0) > 10000")
    target = flow("loaded", "rows.tbl", columns=["id int not null"]) + steps
    path = inrush.write("texts.toml", package(newest_database.url, target, streams=1))
    promised = promised_kib(inrush("check", path).expect(0).said)
    assert promised < 700_000, promised
    peak = inrush.peak_kib("run", path)
    print(f"peak {peak} KiB, promised {promised:.0f} KiB")
    assert peak <= promised + larger_code_kib(inrush), (peak, promised)
    found = newest_database.rows(
        "SELECT count(*), sum(id)::int8, min(length(text_3)), max(right(text_3, 7)) FROM loaded"
    )
    ids = range(0, rows, 100)
    last = max((f"{'x' * 10}{number}.3")[-7:] for number in ids)
    assert found == [(len(ids), sum(ids), 10_003, last)]


def test_texts_that_grow_inside_of_expressions_stay_within_the_figure_of_the_plan(
    newest_database: Database, inrush: Inrush
) -> None:
    """Every tenth row would need 50 MB and is rejected. The others need 100 kB of memory."""
    rows = 2_000
    inrush.write("rows.tbl", "".join(f"{number}|\n" for number in range(rows)))
    made = (
        "replace(long, 'a', CASE WHEN id % 10 = 0 THEN lpad('z', 5000, 'z') ELSE 'zzzzzzzzzz' END)"
    )
    steps = step(derive={"long": "lpad('', 10000, 'a')"}, load=False) + step(
        derive={"size": f"length({made})"}
    )
    target = flow("loaded", "rows.tbl", columns=["id int not null"], rejects={"rows_max": rows})
    path = inrush.write("texts.toml", package(newest_database.url, target + steps, streams=1))
    promised = promised_kib(inrush("check", path).expect(0).said)
    assert promised < 700_000, promised
    peak = inrush.peak_kib("run", path, status=3, says=["200 rejected"])
    assert peak <= promised + larger_code_kib(inrush), (peak, promised)
    found = newest_database.rows("SELECT count(*), min(id % 10), min(size), max(size) FROM loaded")
    assert found == [(rows * 9 // 10, 1, 100_000, 100_000)]


def test_a_resumed_run_stays_within_the_figure_of_the_plan(
    newest_database: Database, inrush: Inrush
) -> None:
    write_many_files(inrush.folder / "many", 3_000)
    target = flow("many", "many/*.csv", columns=["id int", "note text"])
    path = inrush.write("many.toml", package(newest_database.url, target, verify="rows"))
    stopped = inrush("run", path, environment={"INRUSH_FAULT": "before_switch"})
    assert stopped.status == -signal.SIGKILL, stopped.said
    promised = promised_kib(inrush("check", path).expect(0).said)
    peak = inrush.peak_kib("run", path)
    assert peak <= promised + larger_code_kib(inrush), (peak, promised)
    assert newest_database.value("SELECT count(DISTINCT id) FROM many") == 3_000


# In some destinations each file is a unit. The figure then includes row groups, which small files
# do not fill. So the test compares how memory grows from few files to many.
def test_files_of_a_destination_take_what_the_plan_says(inrush: Inrush) -> None:
    peaks, promises = [], []
    for count in (500, 5_000):
        write_many_files(inrush.folder / f"many_{count}", count)
        target = flow("many", f"many_{count}/*.csv", columns=["id int", "note text"])
        path = inrush.write(f"{count}.toml", package(f"parquet:made_{count}", target))
        promises.append(promised_kib(inrush("check", path).expect(0).said))
        peaks.append(inrush.peak_kib("run", path))
    assert peaks[1] - peaks[0] <= promises[1] - promises[0], (peaks, promises)


@pytest.mark.parametrize("to", ["parquet:made", "duckdb:made.duckdb"])
def test_a_resumed_run_of_a_destination_keeps_little_of_each_file(inrush: Inrush, to: str) -> None:
    write_many_files(inrush.folder / "many", 1_000)
    target = flow("many", "many/*.csv", columns=["id int", "note text"])
    limit = {"memory_limit": "64MB"} if to.startswith("duckdb") else {}
    path = inrush.write("many.toml", package({"url": to, "options": limit}, target))
    stopped = inrush("run", path, environment={"INRUSH_FAULT": "before_switch"})
    assert stopped.status == -signal.SIGKILL, stopped.said
    said = inrush("check", path).expect(0, "1000 units kept").said
    peak = inrush.peak_kib("run", path)
    own_kib = (64_000_000 >> 10) * len(limit) + larger_code_kib(inrush)
    assert peak <= promised_kib(said) + own_kib, (peak, said)
    inrush("run", path).expect(0, "already loaded")

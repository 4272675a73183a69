"""Figures in trailers, control files and packages are compared with the rows that were read."""

from __future__ import annotations

import gzip

import pytest

from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, USAGE, VERIFICATION, Inrush, Outcome
from harness.contents import assert_no_rows
from harness.packages import Value, flow, package
from harness.servers import Database

COLUMNS = ["id int not null", "amount numeric(15,2)", "note text"]
ROWS = 40
# 0.01 + 0.02 + ..., as exact as the column.
AMOUNTS = [f"{n // 100}.{n % 100:02}" for n in range(1, ROWS + 1)]
TOTAL = "8.20"


def rows(first: int = 0, last: int = ROWS, delimiter: str = "|") -> str:
    """Return rows of a file."""
    return "".join(
        delimiter.join((str(n), AMOUNTS[n], f"note {n}")) + "\n" for n in range(first, last)
    )


def run(database: Database, inrush: Inrush, files: str = "rows.txt", **more: Value) -> Outcome:
    """Run a package with one flow of `|`-separated files."""
    text = package(
        database.url,
        flow(
            "loaded",
            files,
            columns=COLUMNS,
            format={"delimiter": "|", "header": False},
            **more,
        ),
    )
    return inrush("run", inrush.write("package.toml", text))


def assert_loaded(database: Database, count: int = ROWS) -> None:
    found = database.rows("SELECT count(*), max(note) LIKE 'note%' FROM loaded")
    assert found == [(count, True)]


TRAILER: dict[str, Value] = {"starts_with": "TRL", "rows_field": 2}

# The trailer of the file, the flow's setting, and the message if they disagree.
TRAILERS: dict[str, tuple[str, Value, str | None]] = {
    "as promised": (f"TRL|{ROWS}\n", TRAILER, None),
    "no line end": (f"TRL|{ROWS}", TRAILER, None),
    "blank lines behind": (f"TRL|{ROWS}\n\n\n", TRAILER, None),
    "as many fields as a row": (f"TRL|{ROWS}|x\n", TRAILER, None),
    "leading zeros": (f"TRL|{ROWS:09}\n", TRAILER, None),
    "by position": (f"TRL{ROWS:06}\n", TRAILER | {"rows_field": [4, 6]}, None),
    "counts itself": (f"TRL|{ROWS + 1}\n", TRAILER | {"also_counts": 1}, None),
    "a sum": (f"TRL|{ROWS}|{TOTAL}\n", TRAILER | {"sum_fields": {"amount": 3}}, None),
    "a sum alone": ("TRL|8.2\n", {"starts_with": "TRL", "sum_fields": {"amount": 2}}, None),
    "too many": (f"TRL|{ROWS + 1}\n", TRAILER, f"rows = {ROWS + 1}, but {ROWS} were found"),
    "too few": (f"TRL|{ROWS - 1}\n", TRAILER, f"rows = {ROWS - 1}, but {ROWS} were found"),
    "another sum": (
        f"TRL|{ROWS}|8.21\n",
        TRAILER | {"sum_fields": {"amount": 3}},
        "sum of `amount` = 8.21, but 8.2 were found",
    ),
    "cut off": ("", TRAILER, "its last record begins with other text"),
    "no number": ("TRL|many\n", TRAILER, "is not a number"),
    "no such field": ("TRL\n", TRAILER, "is not a number"),
}


@pytest.mark.parametrize("name", TRAILERS)
def test_trailers(newest_database: Database, inrush: Inrush, name: str) -> None:
    """The trailer is not a row but counts as skipped, and its numbers must be right."""
    trailer, setting, said = TRAILERS[name]
    inrush.write("rows.txt", rows() + trailer)
    outcome = run(newest_database, inrush, trailer=setting)
    if said is None:
        report = outcome.expect(CLEAN).report
        assert report["account"]["rows_loaded"] == ROWS
        assert report["account"]["rows_rejected"] == 0
        assert report["account"]["rows_skipped"] >= 1
        assert_loaded(newest_database)
    else:
        outcome.expect(VERIFICATION, said, "nothing was switched")
        assert_no_rows(newest_database)


@pytest.mark.parametrize("level", ["count", "sums", "rows"])
def test_each_file_has_a_trailer_of_its_own(database: Database, inrush: Inrush, level: str) -> None:
    inrush.write("rows.1.txt", rows(0, 10) + "TRL|10|0.55\n")
    inrush.write("rows.2.txt", rows(10) + f"TRL|{ROWS - 10}|7.65\n")
    trailer = TRAILER | {"sum_fields": {"amount": 3}}
    run(database, inrush, "rows.*.txt", trailer=trailer, verify=level).expect(CLEAN)
    assert_loaded(database)


def test_a_trailer_in_the_middle_is_refused(newest_database: Database, inrush: Inrush) -> None:
    """If files are concatenated, the count in the last trailer does not include all rows."""
    inrush.write("rows.txt", rows(0, 10) + "TRL|10|x\n" + rows(10) + f"TRL|{ROWS - 10}|x\n")
    text = ["id text", "amount text", "note text"]
    outcome = inrush(
        "run",
        inrush.write(
            "package.toml",
            package(
                newest_database.url,
                flow(
                    "loaded",
                    "rows.txt",
                    columns=text,
                    format={"delimiter": "|", "header": False},
                    trailer=TRAILER,
                ),
            ),
        ),
    )
    outcome.expect(VERIFICATION, f"rows = {ROWS - 10}, but {ROWS + 1} were found")
    assert_no_rows(newest_database)


@pytest.mark.parametrize("compressed", [False, True])
def test_the_trailer_of_a_large_file_that_streams_share(
    newest_database: Database, inrush: Inrush, compressed: bool
) -> None:
    """The trailer is in the last range of the file, and describes the rows of all ranges."""
    count = 17_000
    note = "".join(str(n % 7) for n in range(990))
    text = "".join(f"{n}|1.00|note {note}\n" for n in range(count)) + f"TRL|{count}|{count}\n"
    setting = TRAILER | {"sum_fields": {"amount": 3}}
    name = "rows.txt.gz" if compressed else "rows.txt"
    inrush.write(name, gzip.compress(text.encode(), 0) if compressed else text)
    run(newest_database, inrush, name, trailer=setting).expect(CLEAN)
    assert_loaded(newest_database, count)
    wrong = text.replace(f"TRL|{count}|", f"TRL|{count + 1}|")
    name = name.replace("rows", "wrong")
    inrush.write(name, gzip.compress(wrong.encode(), 0) if compressed else wrong)
    outcome = run(newest_database, inrush, name, trailer=setting, mode="append")
    outcome.expect(VERIFICATION, f"rows = {count + 1}")
    assert_loaded(newest_database, count)


# The control file's name and text, the flow's setting, and the message if they disagree.
CONTROLS: dict[str, tuple[str, str, Value, str | None]] = {
    "beside": ("rows.txt.ctl", f"{ROWS}\n", {"suffix": ".ctl", "rows_field": 1}, None),
    "in place of": ("rows.ctl", f"rows.txt,{ROWS}", {"extension": "ctl", "rows_field": 2}, None),
    "names": (
        "rows.txt.ctl",
        f"FILE=rows.txt\nROWS = {ROWS}\nTOTAL: {TOTAL}\n",
        {"suffix": ".ctl", "rows_field": "rows", "sum_fields": {"amount": "total"}},
        None,
    ),
    "one for all": (
        "all.ctl",
        f"other.txt|1\nsome/rows.txt|{ROWS + 1}\n",
        {"path": "all.ctl", "file_field": 1, "rows_field": 2, "also_counts": 1},
        None,
    ),
    "one total": ("all.ctl", f"{ROWS};{TOTAL}", {"path": "all.ctl", "rows_field": 1}, None),
    "too many": (
        "rows.txt.ctl",
        f"{ROWS + 1}",
        {"suffix": ".ctl", "rows_field": 1},
        f"rows = {ROWS + 1}, but {ROWS} were found",
    ),
    "another sum": (
        "rows.txt.ctl",
        f"{ROWS}|8.19",
        {"suffix": ".ctl", "sum_fields": {"amount": 2}},
        "sum of `amount` = 8.19, but 8.2 were found",
    ),
}


@pytest.mark.parametrize("name", CONTROLS)
def test_control_files(newest_database: Database, inrush: Inrush, name: str) -> None:
    path, text, setting, said = CONTROLS[name]
    inrush.write("rows.txt", rows())
    inrush.write(path, text)
    outcome = run(newest_database, inrush, control_file=setting)
    if said is None:
        outcome.expect(CLEAN)
        assert_loaded(newest_database)
    else:
        outcome.expect(VERIFICATION, path, said, "nothing was switched")
        assert_no_rows(newest_database)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read"),
        ("", "it is empty"),
        ("many\n", "not a number of rows"),
        ("\n1\n", "not a number of rows"),
    ],
)
def test_a_control_file_is_read_before_anything_is_loaded(
    newest_database: Database, inrush: Inrush, text: str | None, said: str
) -> None:
    inrush.write("rows.txt", rows())
    if text is not None:
        inrush.write("rows.txt.ctl", text)
    setting: Value = {"suffix": ".ctl", "rows_field": 1}
    run(newest_database, inrush, control_file=setting).expect(USAGE, "rows.txt.ctl", said)
    assert_no_rows(newest_database)


@pytest.mark.parametrize(
    ("expect", "said"),
    [
        ({"rows": ROWS}, None),
        ({"rows": str(ROWS), "sums": {"amount": TOTAL, "id": 780}}, None),
        ({"rows": ROWS + 1}, f"rows = {ROWS + 1}, but {ROWS} were found"),
        ({"sums": {"id": 781}}, "sum of `id` = 781, but 780 were found"),
    ],
)
def test_totals_of_all_files(
    newest_database: Database, inrush: Inrush, expect: dict[str, Value], said: str | None
) -> None:
    inrush.write("rows.1.txt", rows(0, 10))
    inrush.write("rows.2.txt", rows(10))
    outcome = run(newest_database, inrush, "rows.*.txt", expect=expect)
    if said is None:
        outcome.expect(CLEAN)
        assert_loaded(newest_database)
    else:
        outcome.expect(VERIFICATION, said)
        assert_no_rows(newest_database)


def test_rejected_rows_are_rows_of_the_file(newest_database: Database, inrush: Inrush) -> None:
    inrush.write("rows.txt", rows() + "no number|1|x\nTRL|41\n")
    outcome = run(newest_database, inrush, trailer=TRAILER, rejects={"rows_max": 1})
    outcome.expect(LOADED_WITH_REJECTS)
    assert_loaded(newest_database)


@pytest.mark.parametrize(
    ("expect", "said"),
    [
        ({"sums": {"note": 1}}, "the column has the type text"),
        ({"sums": {"absent": 1}}, "no such column"),
        ({"rows": "many"}, "not a number of rows"),
    ],
)
def test_sums_are_of_columns_of_numbers(
    newest_database: Database, inrush: Inrush, expect: dict[str, Value], said: str
) -> None:
    inrush.write("rows.txt", rows())
    run(newest_database, inrush, expect=expect).expect(USAGE, said)


def test_a_stopped_run_keeps_what_it_has_summed_up(
    newest_database: Database, inrush: Inrush
) -> None:
    inrush.write("rows.1.txt", rows(0, 10) + "TRL|10\n")
    inrush.write("rows.2.txt", rows(10) + "TRL|30\n")
    text = package(
        newest_database.url,
        flow(
            "loaded",
            "rows.*.txt",
            columns=COLUMNS,
            format={"delimiter": "|", "header": False},
            partition_by="id",
            trailer=TRAILER,
            expect={"sums": {"amount": TOTAL}},
        ),
    )
    file = inrush.write("package.toml", text)
    died = inrush("run", file, environment={"INRUSH_FAULT": "after_unit_commit"})
    assert died.status not in (CLEAN, FAILED)
    inrush("run", file).expect(CLEAN)
    assert_loaded(newest_database)

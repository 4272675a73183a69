"""The page of a report: what it shows in a browser, on paper, and to screen readers."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest

from harness import browser
from harness.browser import look
from harness.command import (
    CLEAN,
    FAILED,
    LOADED_WITH_REJECTS,
    REJECT_LIMIT,
    USAGE,
    VERIFICATION,
    Inrush,
    Outcome,
)
from harness.packages import flow, package
from harness.servers import Database
from harness.synthetic_report import Wish, report

pytestmark = pytest.mark.timeout(900)

COLUMNS = ["id int not null", "name text"]

# Every section, chart and table of a page is there with so few streams and steps, too. The size of
# a report is for `test_a_large_report_stays_usable`, and for the kinds that do without this.
SMALL: dict[str, Any] = {"streams": 2, "steps": 12, "step_ms": 1_000}


@pytest.fixture(scope="module", autouse=True)
def one_browser() -> Iterator[None]:
    """Start Chromium once for all pages."""
    with browser.shared():
        yield


def rounded(number: float, digits: int) -> str:
    """Write a number as `toFixed` does."""
    return str(Decimal(number).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def count(number: int) -> str:
    return f"{number:,}"


def size(number: float) -> str:
    unit, *larger = ("B", "kB", "MB", "GB")
    while number >= 999.95:
        unit, *larger = larger
        number /= 1000
    return f"{number:,.0f} B" if unit == "B" else f"{rounded(number, 1)} {unit}"


def seconds(number: float) -> str:
    if number < 0.0005:
        return "0 s"
    if number < 100:
        return f"{rounded(number, 3 if number < 1 else 2 if number < 10 else 1)} s"
    minutes, rest = divmod(int(number + 0.5), 60)
    return f"{minutes} min {rest:02} s"


def page_of(outcome: Outcome) -> Path:
    return outcome.run_folders()[-1] / "report.html"


def made(inrush: Inrush, name: str, given: dict[str, Any]) -> Path:
    """Make the page of a report with the command."""
    path = inrush.write(f"{name}.json", json.dumps(given))
    page = inrush.folder / f"{name}.html"
    assert inrush("report", path).expect(CLEAN).output == f"{page}\n"
    return page


def parts_of(given: dict[str, Any]) -> list[str]:
    """Return the parts of the account that the page must show, in their order."""
    rare = {part for part in ("added", "filtered") if given["account"].get(f"rows_{part}")}
    parts = ("read", "added", "loaded", "rejected", "skipped", "filtered")
    return [part for part in parts if part in rare or part not in ("added", "filtered")]


def account_rows(given: dict[str, Any]) -> list[list[str]]:
    """Return the rows that the table of accounts must have, without head and foot."""
    rows = []
    for table in given["tables"]:
        account = table["account"]
        rows.append(
            [
                table["target"].replace('"', ""),
                table["flow"],
                *(count(account[f"rows_{what}"]) for what in parts_of(given)),
                size(account["bytes_read"]),
                size(table["stored_bytes"]),
                count(len(table["partitions"])) if table["partitions"] else "-",
            ]
        )
    return rows


def assert_tells(seen: dict[str, Any], given: dict[str, Any]) -> None:
    """Fail unless the page shows what its report contains."""
    page = seen["page"]
    account = given["account"]
    assert page["title"] == f"Inrush: {given['package']}, {given['run']}"
    assert page["tiles"]["rejected"] == count(account["rows_rejected"])
    assert page["tiles"]["text"] == size(account["bytes_read"])
    assert count(account["rows_loaded"]) in page["tiles"].values()
    sums = [f"{count(account[f'rows_{part}'])} {part}" for part in parts_of(given)]
    ends = sums.index(f"{count(account['rows_loaded'])} loaded")
    equation = f"{' + '.join(sums[:ends])} = {' + '.join(sums[ends:])}"
    assert page["checks"][0] == f"✓ Holds: {equation}"
    assert all("Does not hold" not in check for check in page["checks"])
    _, *rows = page["tables"]["Rows by table"]
    assert rows[: len(given["tables"])] == account_rows(given)
    assert page["notes"] == given["notes"]
    assert page["error"] == given["error"]
    facts = page["facts"]
    assert facts["Package hash (SHA-256, secrets left out)"] == given["package_hash"]
    assert facts["Destination"] == given["destination"]
    assert facts["Processor"] == given["machine"]["processor"]
    settings = page["tables"].get("Settings of the server that matter to a load", [[]])
    assert settings[1:] == given["server"]["settings"]
    units = page["tables"]["All load units"]
    assert [row[0] for row in units[1:]] == [f"{u['flow']} {u['unit']}" for u in given["units"]]
    assert [row[2] for row in units[1:]] == [
        count(u["account"]["rows_loaded"]) for u in given["units"]
    ]
    assert_shows_steps(page, given)
    if given.get("measurements"):
        assert_draws(page["charts"], given["measurements"], given)
    if given.get("verdict"):
        assert_judges(page, given["verdict"])


def assert_shows_steps(page: dict[str, Any], given: dict[str, Any]) -> None:
    """Fail unless the page shows the rows of each step, in a picture and in a table."""
    flows = [table for table in given["tables"] if table.get("steps")]
    drawn = [name for name in page["charts"] if name.startswith("row-flow-")]
    assert len(drawn) == len(flows)
    if not flows:
        assert "Rows through the steps" not in page["tables"]
        return
    fields = ("rows_in", "added", "rows_out", "filtered", "rejected", "warned", "unmatched")
    _, *rows = page["tables"]["Rows through the steps"]
    assert rows == [
        [flow["flow"], f"{number}: {step['step']}", step["what"]]
        + [count(step.get(field, 0)) for field in fields]
        for flow in flows
        for number, step in enumerate(flow["steps"], 1)
    ]
    for name, table in zip(drawn, flows, strict=True):
        steps = table["steps"]
        parts = [step[part] for step in steps for part in ("rows_out", "filtered", "rejected")]
        assert page["charts"][name]["marks"]["part"] == sum(part > 0 for part in parts)
        first, last = count(steps[0]["rows_in"]), count(steps[-1]["rows_out"])
        says = page["charts"][name]["says"]
        assert says.startswith(f"{first} rows reached the first step, {last} left the last one;")
    keys = [
        [flow["flow"], f"{number}: {step['step']}", step["what"], key["key"], count(key["rows"])]
        for flow in flows
        for number, step in enumerate(flow["steps"], 1)
        for key in step.get("unmatched_keys", [])
    ]
    assert page["tables"].get("Keys that lookups did not find", [[]])[1:] == keys


# The names of the phases on the page, in the order of the page.
PHASES = {
    "read": "read",
    "decompress": "decompress",
    "scan": "scan",
    "convert": "convert",
    "transform": "steps",
    "verify": "verify",
    "encode": "encode",
    "feed_wait": "wait for a file's reader",
    "pace_wait": "wait for the pace",
    "send_wait": "wait to send",
    "verify_wait": "wait for the server's sums",
    "server_wait": "wait for the server",
}


def assert_draws(charts: dict[str, Any], measured: dict[str, Any], given: dict[str, Any]) -> None:
    """Fail unless the marks and numbers of the charts match the measurements."""
    streams = measured["streams"]
    lanes = charts["lanes"]
    assert lanes["marks"]["end"] == len(streams)
    head, *rows = lanes["numbers"]
    used = [phase for phase in PHASES if any(sum(s["phases_us"].get(phase, [])) for s in streams)]
    between = ["between phases"] if "between phases" in head else []
    assert head == ["Stream", "Ended at", *(PHASES[phase] for phase in used), *between]
    for stream, row in zip(streams, rows, strict=True):
        whole = [sum(stream["phases_us"].get(phase, [])) / 1e6 for phase in used]
        assert row[: len(used) + 2] == [
            str(stream["stream"]),
            seconds(stream["ended_s"]),
            *map(seconds, whole),
        ]
    for unit, chart in (("rows", "throughput-rows"), ("stored_bytes", "throughput-bytes")):
        targets = {table["flow"]: table["target"] for table in given["tables"]}
        with_any = {targets[table["flow"]] for table in measured["tables"] if sum(table[unit])}
        if with_any:
            assert charts[chart]["marks"]["layer"] == min(len(with_any), 8)
            assert len(charts[chart]["legend"]) == min(len(with_any), 8)
    over_tcp = [stream for stream in streams if stream.get("tcp")]
    assert ("flow" in charts) == bool(over_tcp)
    if over_tcp:
        assert charts["flow-over-time"]["marks"]["end"] == len(over_tcp)
        for stream, row in zip(over_tcp, charts["flow"]["numbers"][1:], strict=True):
            tcp = stream["tcp"]
            held = sum(tcp["receiver_limited_us"]), sum(tcp["send_buffer_limited_us"])
            assert row[0] == str(stream["stream"])
            assert row[2:4] == [seconds(us / 1e6) for us in held]
    assert ("pipeline" in charts) == (len(over_tcp) < len(streams))
    assert ("feeds" in charts) == bool(measured.get("feeds"))
    for line, values in (("disk", "disk_read_bytes"), ("memory", "loader_memory_bytes")):
        if line in charts:
            assert charts[line]["marks"]["line"] == (2 if line == "disk" else 1)
            assert len(charts[line]["numbers"]) <= min(120, len(measured["machine"][values])) + 1


def assert_judges(page: dict[str, Any], verdict: dict[str, Any]) -> None:
    # The fix is shown below the line.
    line = (
        verdict["line"].split(verdict["advice"]["change"])[0]
        if verdict.get("advice")
        else verdict["line"]
    )
    assert page["line"] == " ".join(line.split())
    rows = page["tables"]["Causes and their evidence"][1:]
    assert len(rows) == len(verdict["causes"])
    for row, cause in zip(rows, verdict["causes"], strict=True):
        assert row[2] == seconds(cause["seconds"])
        assert row[3] == (" ".join("".join(cause["evidence"]).split()) or "none")
    if verdict["streams"]:
        causes = page["charts"]["causes"]["numbers"][1:]
        assert [row[0] for row in causes] == [str(one["stream"]) for one in verdict["streams"]]
    if verdict.get("advice"):
        assert verdict["advice"]["change"].rstrip(". ") in page["advice"]


def write_files(inrush: Inrush, files: int, rows: int, bad: int = 0) -> None:
    for number in range(files):
        lines = [f"{number * rows + row}|row {row}|" for row in range(rows)]
        for row in range(bad):
            lines[7 * row + number] = f"x{row}|<b>&amp;\u2028</script>|"
        inrush.write(f"rows.tbl.{number + 1}", "\n".join(lines) + "\n")


def load(inrush: Inrush, url: str, *flows: str, **run: Any) -> Outcome:
    path = inrush.write("package.toml", package(url, *flows, **run))
    return inrush("run", path)


def test_a_clean_run(newest_database: Database, inrush: Inrush) -> None:
    write_files(inrush, 4, 20_000)
    inrush.write("other.tbl", "1|one|\n2|two|\n")
    outcome = load(
        inrush,
        newest_database.url,
        flow("loaded", "rows.tbl.*", columns=COLUMNS),
        flow("other", "other.tbl", columns=COLUMNS),
    )
    run = outcome.run_folders()[-1].name
    outcome.expect(CLEAN, f"report: runs/{run}/report.html, and report.json beside it")
    seen = look(page_of(outcome))
    assert_tells(seen, outcome.report)
    page = seen["page"]
    assert page["badge"] == "✓ Loaded"
    assert page["h1"].startswith("Loaded 80,002 rows into 2 tables in ")
    assert page["todo"] == []
    assert "rejects" not in page["sections"]
    # The report alone gives the same page.
    text = page_of(outcome).read_bytes()
    assert len(text) < 700_000
    page_of(outcome).unlink()
    inrush("report").expect(CLEAN, f"runs/{run}/report.html")
    assert page_of(outcome).read_bytes() == text
    assert page_of(outcome).stat().st_mode & 0o777 == 0o600
    for words in (
        ["report", run],
        ["report", f"runs/{run}"],
        ["report", f"runs/{run}/report.json"],
    ):
        assert inrush(*words, "--output", "-").expect(CLEAN).output.encode() == text


def test_a_run_with_rejects(newest_database: Database, inrush: Inrush) -> None:
    write_files(inrush, 2, 500, bad=9)
    outcome = load(
        inrush,
        newest_database.url,
        flow("loaded", "rows.tbl.*", columns=COLUMNS, rejects={"rows_max": 100}),
    ).expect(LOADED_WITH_REJECTS)
    given = outcome.report
    seen = look(page_of(outcome))
    assert_tells(seen, given)
    page = seen["page"]
    assert page["badge"] == "! Loaded, with rejects"
    assert f"inrush rejects replay {given['run']}" in page["todo"][0]
    (cause,) = page["rejects"]
    assert cause["title"] == "syntax, column id 18 rows"
    first = given["rejects"][:5]
    assert [row[:4] for row in cause["rows"][1:]] == [
        [one["file"], count(one["line"]), count(one["byte_offset"]), one["value"]] for one in first
    ]


def test_rejects_are_found_by_their_keys(inrush: Inrush) -> None:
    """A row from a source without lines shows its key; a reject without a key shows a dash."""
    given = report(Wish(rejects=8, has_keys=True, **SMALL))
    # A key is shown as text, and its invisible characters are escaped.
    given["rejects"][1]["key"] = "name = '<b>\u00a0'"
    shown: dict[str, str] = {}
    for cause in look(made(inrush, "keys", given))["page"]["rejects"]:
        heading, *rows = cause["rows"]
        at = heading.index("Key")
        assert at == heading.index("Byte") + 1
        shown |= {row[1]: row[at] for row in rows}
    assert shown == {
        count(one["line"]): (one["key"] or "-").replace("\u00a0", "\\u{a0}")
        for one in given["rejects"]
    }
    assert "-" in shown.values()
    without = look(made(inrush, "no-keys", report(Wish(rejects=8, **SMALL))))
    assert without["page"]["rejects"]
    for cause in without["page"]["rejects"]:
        assert "Key" not in cause["rows"][0]


def test_a_run_with_a_long_tail(newest_database: Database, inrush: Inrush) -> None:
    """The server is slow with one file's rows, long after the other streams have ended."""
    newest_database.execute(
        """
        CREATE FUNCTION slow(id int) RETURNS bool LANGUAGE plpgsql AS $$
        BEGIN
            IF id % 1000 = 1 AND id > 3000 THEN PERFORM pg_sleep(1.5); END IF;
            RETURN true;
        END $$;
        CREATE TABLE loaded (id int NOT NULL CHECK (slow(id)), name text) PARTITION BY RANGE (id);
        """
    )
    write_files(inrush, 4, 1000)
    outcome = load(
        inrush,
        newest_database.url,
        flow(
            "loaded",
            "rows.tbl.*",
            mode="append",
            partition_by="id",
            bounds=[0, 1000, 2000, 3000, 4000],
        ),
        streams=4,
    ).expect(CLEAN)
    given = outcome.report
    seen = look(page_of(outcome), "screen")
    assert_tells(seen, given)
    assert seen["page"]["charts"]["lanes"]["says"].startswith(
        "A long tail: half of the streams had ended by "
    )


def test_a_run_that_failed(newest_database: Database, inrush: Inrush) -> None:
    write_files(inrush, 2, 500, bad=1)
    outcome = load(inrush, newest_database.url, flow("loaded", "rows.tbl.*", columns=COLUMNS))
    run = outcome.run_folders()[-1].name
    outcome.expect(REJECT_LIMIT, f"report: runs/{run}/report.html, and report.json beside it")
    given = outcome.report
    seen = look(page_of(outcome), "screen,paper,light")
    page = seen["page"]
    assert page["badge"] == "✕ Failed"
    assert page["h1"].endswith("nothing was switched in")
    assert page["error"] == " ".join(given["error"].split())
    # The limit is set in the package, because `inrush run` has no --max-rejects.
    assert page["todo"][0] == (
        "Fix the file and run the same command again, or accept more in the package: "
        "rejects = { rows_max = 100 }."
    )
    assert f"hint: {given['hint']}\n" in outcome.errors
    assert f"inrush rejects show {run}" in page["todo"][1]
    assert page["todo"][2].startswith("The targets are as they were.")


def test_a_failure_says_how_to_fix_it(newest_database: Database, inrush: Inrush) -> None:
    write_files(inrush, 1, 10)
    text = package(newest_database.url, flow("loaded", "rows.tbl.*", columns=COLUMNS))
    path = inrush.write("package.toml", text)
    outcome = inrush("run", path, environment={"INRUSH_FAULT": "batch_lost"}).expect(VERIFICATION)
    given = outcome.report
    assert f"hint: {given['hint']}" in outcome.errors
    page = look(page_of(outcome), "screen")["page"]
    assert page["error"] == " ".join(given["error"].split())
    assert page["todo"][0].lower() == f"{given['hint']}.".lower()
    assert page["todo"][-1] == (
        "The targets are as they were. No unit was committed; "
        "the same command starts from the beginning."
    )


def test_files_instead_of_a_server(inrush: Inrush) -> None:
    """A destination of files has fewer measurements, and the page works without the others."""
    write_files(inrush, 2, 2_000)
    outcome = load(inrush, "parquet:lake", flow("loaded", "rows.tbl.*", columns=COLUMNS)).expect(
        CLEAN
    )
    seen = look(page_of(outcome), "screen")
    assert_tells(seen, outcome.report)


def test_a_page_that_cannot_be_written_is_a_note(newest_database: Database, inrush: Inrush) -> None:
    write_files(inrush, 2, 100)
    text = package(newest_database.url, flow("loaded", "rows.tbl.*", columns=COLUMNS))
    path = inrush.write("package.toml", text)
    inrush("run", path, environment={"INRUSH_FAULT": "in_copy"})
    (folder,) = inrush.folder.glob("runs/*")
    (folder / "report.html" / "in the way").mkdir(parents=True)
    outcome = inrush("run", path).expect(
        CLEAN, "the report's page could not be written", folder.name
    )
    assert f"report: runs/{folder.name}/report.json\n" in outcome.output
    (note,) = [note for note in outcome.report["notes"] if "page" in note]
    assert f"inrush report {folder.name}" in note
    assert newest_database.value("SELECT count(*) FROM loaded") == 200


KINDS = {
    "measured": Wish(rejects=37, is_predicted=True),
    "tail": Wish(streams=8, has_tail=True, units=16, is_tcp=True, has_feed=True, seed=2),
    "unmeasured": Wish(is_measured=False, rejects=200),
    "filtered and added": Wish(filtered=1_000, added=20, seed=3, **SMALL),
    "steps": Wish(has_steps=True, flows=2, seed=4, **SMALL),
    "alone": Wish(streams=1, flows=1, units=1, steps=3),
    "many tables": Wish(flows=30, units=60, steps=700, step_ms=400),
    "interrupted": Wish(
        outcome="interrupted", error="stopped on request; nothing was switched", **SMALL
    ),
    "failed": Wish(outcome="failed", error="the server is gone", is_measured=False),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_report(inrush: Inrush, kind: str) -> None:
    given = report(KINDS[kind])
    seen = look(made(inrush, kind, given), "screen,phone")
    assert_tells(seen, given)
    page = seen["page"]
    phases = page["charts"]["run-phases"]
    assert ("Predicted" in phases["numbers"][0]) == ("prediction" in given)
    if kind == "measured":
        assert "That is 25 % more than the 11.6 s that a preflight had predicted" in phases["says"]
    if kind == "tail":
        assert "1 stream worked on" in page["charts"]["lanes"]["says"]
    if given["outcome"] != "loaded":
        assert any("Kept: " in todo for todo in page["todo"])
    if kind == "unmeasured":
        assert "throughput" not in page["sections"]
        assert sum(int(cause["title"].split()[-6]) for cause in page["rejects"]) == 100


STRAIGHT = (
    "{} rows were written directly to their target (atomic = false) and stay there; "
    "the same command loads the rest."
)
EMBEDDED: dict[str, Any] = {"version": "18.4", "data_folder": None, "settings": []}
BEGINS_ANEW = (
    "The targets are as they were. No unit was committed; "
    "the same command starts from the beginning."
)


@pytest.mark.parametrize("outcome", ["interrupted", "failed"])
def test_rows_that_went_straight_into_their_target(inrush: Inrush, outcome: str) -> None:
    """A stopped run has rows in its target; the page must not say that nothing was loaded."""
    wish = Wish(
        outcome=outcome, error="it ended", is_measured=False, flows=2, units=6, straight_flows=2
    )
    given = report(wish)
    seen = look(made(inrush, f"straight {outcome}", given), "screen")
    assert_tells(seen, given)
    page = seen["page"]
    rows = count(given["account"]["rows_loaded"])
    assert page["h1"].endswith("; some rows are in their target already")
    assert page["tiles"]["rows that went in"] == rows
    assert "rows staged" not in page["tiles"]
    assert page["todo"][-1] == STRAIGHT.format(rows)
    said = " ".join(page["todo"])
    assert "as they were" not in said
    assert "No unit" not in said
    assert "from the beginning" not in said


def test_rows_of_which_some_were_staged(inrush: Inrush) -> None:
    """One of two flows is written directly to its target, the other through staging tables."""
    wish = Wish(outcome="interrupted", error="it ended", flows=2, units=8, straight_flows=1)
    given = report(wish)
    page = look(made(inrush, "both", given), "screen")["page"]

    def rows(units: list[dict[str, Any]]) -> str:
        return count(sum(unit["account"]["rows_loaded"] for unit in units))

    straight = [unit for unit in given["units"] if unit["straight"]]
    staged = [unit for unit in given["units"] if not unit["straight"]]
    finished = [unit for unit in staged if unit["finished"]]
    assert page["tiles"]["rows staged or in targets"] == rows(given["units"])
    assert page["todo"] == [
        STRAIGHT.format(rows(straight)),
        f"Kept: {len(finished)} of {len(staged)} units, {rows(finished)} rows in staging tables. "
        "The same command resumes from there; data from a pipe has to be sent again.",
    ]


def test_a_stopped_run_that_committed_nothing(inrush: Inrush) -> None:
    """The page distinguishes rows that are lost from rows that a unit's parts have committed."""
    given = report(Wish(outcome="interrupted", error="it ended", is_measured=False, units=2))
    for unit in given["units"]:
        unit["finished"] = False
    (first, second) = given["units"]
    first["account"] = second["account"] = dict.fromkeys(first["account"], 0)
    page = look(made(inrush, "nothing", given), "screen")["page"]
    assert page["h1"].endswith("; nothing was switched in")
    assert page["todo"] == [BEGINS_ANEW]
    # In a unit that several streams fill, each range of a file is committed by itself.
    first["shared"] = True
    first["account"] = first["account"] | {"rows_read": 7, "rows_loaded": 7}
    page = look(made(inrush, "parts", given), "screen")["page"]
    assert page["todo"] == [
        "The targets are as they were. Kept: parts of 1 unit, 7 rows in staging tables. The same "
        "command resumes from there; data from a pipe has to be sent again."
    ]


def test_what_an_embedded_server_had_is_gone_with_it(inrush: Inrush) -> None:
    given = report(Wish(outcome="interrupted", error="it ended", flows=1, straight_flows=1))
    given["embedded"] = EMBEDDED
    page = look(made(inrush, "gone", given), "screen")["page"]
    assert page["h1"].endswith("; nothing was switched in")
    (todo,) = page["todo"]
    assert todo.startswith("The embedded server and its data are gone; ")


def test_a_run_that_found_all_loaded(inrush: Inrush) -> None:
    given = report(Wish(outcome="already_loaded", is_measured=False))
    given |= {"units": [], "streams": [], "phases": dict.fromkeys(given["phases"], 0.0)}
    page = look(made(inrush, "already", given), "screen")["page"]
    assert page["badge"] == "= Loaded already"
    assert page["sections"] == ["account", "repeat", "notes"]


def test_a_large_report_stays_usable(inrush: Inrush) -> None:
    given = report(Wish(streams=64, steps=1200, flows=12, units=500, is_tcp=True, rejects=5_000))
    page = made(inrush, "large", given)
    # The JSON has 12 MB. The page joins time steps into longer ones; report.json keeps all.
    assert page.stat().st_size < 4_000_000
    seen = look(page, "screen,phone")
    shown = seen["page"]
    assert shown["elements"] < 30_000
    charts = shown["charts"]
    assert charts["lanes"]["marks"]["end"] == 64
    assert charts["flow-over-time"]["marks"]["end"] == 64
    assert charts["unit-times"]["marks"]["column"] == 500
    assert charts["throughput-rows"]["marks"]["layer"] == 8
    assert len(shown["tables"]["All load units"]) == 501
    # The sums are unchanged.
    for stream, row in zip(
        given["measurements"]["streams"], charts["lanes"]["numbers"][1:], strict=True
    ):
        assert row[2] == seconds(sum(stream["phases_us"]["read"]) / 1e6)


def hostile(value: Any, change: Callable[[str], str]) -> Any:
    """Return a value whose texts are replaced; names of fields and fixed words are kept."""
    if isinstance(value, dict):
        fixed = ("outcome", "cause", "code", "state", "phase", "started_at", "finished_at")
        return {name: one if name in fixed else hostile(one, change) for name, one in value.items()}
    if isinstance(value, list):
        return [hostile(one, change) for one in value]
    return change(value) if isinstance(value, str) else value


WILD = [
    "</script><script>document.title = 'broken out'</script>",
    "<img src=x onerror=\"document.title='broken out'\"><!--",
    "<b>&lt;&amp;\u2028\u2029\u202e\x00\x1b[31m ${x} {{report}} `",
    "w" * 400,
]


@pytest.fixture(scope="module")
def calm() -> dict[str, Any]:
    """Return a report whose texts have nothing that a page could mistake."""
    return report(Wish(rejects=8, has_keys=True, is_tcp=True, **SMALL))


@pytest.fixture(scope="module")
def calm_seen(calm: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what its page shows."""
    return look(made(Inrush(tmp_path_factory.mktemp("calm")), "calm", calm), "screen")


@pytest.mark.parametrize("number", range(len(WILD)))
def test_whatever_stands_in_a_report_is_text(
    inrush: Inrush, calm: dict[str, Any], calm_seen: dict[str, Any], number: int
) -> None:
    given = hostile(
        calm, lambda text: text if text in ("send_wait", "convert") else WILD[number] + text
    )
    # The causes of streams are fixed words, too, but `hostile` cannot recognize them by a name.
    given["verdict"]["streams"] = calm["verdict"]["streams"]
    page = made(inrush, "wild", given)
    seen = look(page, "screen,phone")
    title = f"Inrush: {given['package']}, {given['run']}"
    # Chromium shows control characters in titles as spaces.
    assert seen["page"]["title"].split() == re.sub(r"[\x00-\x1f]", " ", title).split()
    assert seen["page"]["rejects"]
    assert seen["page"]["sections"] == calm_seen["page"]["sections"]
    assert list(seen["page"]["charts"]) == list(calm_seen["page"]["charts"])


def test_mistakes_are_told(inrush: Inrush) -> None:
    inrush("report").expect(USAGE, "no folder in runs has a report.json", "--runs-folder", "killed")
    inrush("report", "none").expect(USAGE, "runs/none is neither a run folder")
    whole = json.dumps(report(Wish(is_measured=False)))
    for name, text, said in (
        ("cut", whole[: len(whole) // 2], "not JSON"),
        ("bytes", b"\xff\xfe", "not JSON"),
        ("other", '{"name": 1}', "not the report of a run: it has no `report_version`"),
        ("less", '{"report_version": 1}', "not the report of a run: missing field"),
        ("newer", '{"report_version": 1000}', "format version 1000"),
    ):
        path = inrush.write(f"{name}.json", text)
        inrush("report", path).expect(USAGE, said, "hint: ")
        assert not path.with_suffix(".html").exists()
    good = inrush.write("good.json", whole)
    inrush("report", good, "--output", "no/such/folder/page.html").expect(FAILED, "cannot write")
    assert inrush("report", good, "-o", "page.html").expect(CLEAN).output == "page.html\n"


def test_a_page_does_not_take_the_place_of_its_report(inrush: Inrush) -> None:
    whole = json.dumps(report(Wish(is_measured=False)))
    path = inrush.write("runs/one/report.json", whole)
    link = inrush.folder / "link.json"
    link.symlink_to(path)
    for target in ("runs/one/report.json", "runs/../runs/one/report.json", path, link):
        inrush("report", "one", "-o", target).expect(USAGE, "its own report", "hint: ")
    # The default page of a report with this name would have the report's own name.
    named = inrush.write("report.html", whole)
    inrush("report", named).expect(USAGE, "its own report", "--output")
    assert [path.read_text(), named.read_text()] == [whole, whole]
    inrush("report", named, "-o", "page.html").expect(CLEAN)


def test_the_page_is_what_its_sources_make() -> None:
    """The committed script equals the build of web/ with the packages of the lock file."""
    words = [browser.node(browser.WEB), "build.mjs", "--check"]
    done = subprocess.run(words, cwd=browser.WEB, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

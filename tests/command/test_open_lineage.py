"""Events of OpenLineage: what they say, where they go, and that no load depends on them."""

from __future__ import annotations

import copy
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from command.open_lineage import faults
from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, REJECT_LIMIT, USAGE, Inrush
from harness.packages import Value, flow, package, step

ROWS = "id,price,kind\n1,2.50,a\n2,4.00,b\n3,0.00,a\n4,7.00,c\n5,8.00,a\n"
COLUMNS: list[Value] = [
    "id integer",
    "price numeric(12,2)",
    "kind text",
    {"name": "run", "type": "bigint", "source": "run"},
]
STEPS = (
    step(derive={"net": "price - 1"}, load=False)
    + step(where="price > 0")
    + step(derive={"gross": "net * 2 + id"})
    + step(check="price < 8", name="not too large", else_="warn")
    + step(
        lookup={"files": "kinds.csv", "columns": ["kind text", "title text"]},
        on={"kind": "kind"},
        take={"title": "title"},
    )
)
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def write(
    inrush: Inrush, to: str, rejects: int = 10, url: str = "results.duckdb", **settings: Any
) -> Path:
    """Write a package whose rows pass steps, and that sends events."""
    inrush.write("rows.csv", ROWS)
    inrush.write("kinds.csv", "kind,title\na,first\nb,second\n")
    rows = flow("prices", "rows.csv", columns=COLUMNS, rejects={"rows_max": rejects}) + STEPS
    settings = {"open_lineage": {"to": to, "namespace": "shop"}, **settings}
    return inrush.write("prices.toml", package(url, rows, name="prices", **settings))


def read(path: Path) -> list[dict[str, Any]]:
    """Return the events of a file; they must match the published schemas."""
    events = [json.loads(line) for line in path.read_text().splitlines()]
    for event in events:
        assert faults(event) == []
    return events


def facet_names(facets: dict[str, Any]) -> set[str]:
    """Return the names of facets, each of which must name its producer and its schema."""
    for facet in facets.values():
        assert facet["_producer"].startswith("https://")
        assert re.search(r"#/\$defs/\w+Facet$", facet["_schemaURL"]), facet
    return set(facets)


def test_the_events_of_a_load(inrush: Inrush) -> None:
    outcome = inrush("run", write(inrush, "events.jsonl")).expect(LOADED_WITH_REJECTS)
    events = read(inrush.folder / "events.jsonl")
    assert [event["eventType"] for event in events] == ["START", "RUNNING", "COMPLETE"]
    for event in events:
        assert (
            event["schemaURL"]
            == "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
        )
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", event["eventTime"])
        assert UUID.fullmatch(event["run"]["runId"])
        assert event["run"]["runId"] == events[0]["run"]["runId"]
        assert (event["job"]["namespace"], event["job"]["name"]) == ("shop", "prices")
        assert facet_names(event["job"]["facets"]) == {"jobType"}
        assert "processing_engine" in facet_names(event["run"]["facets"])
        folder = inrush.folder
        assert [(one["namespace"], one["name"]) for one in event["inputs"]] == [
            ("file", f"{folder}/rows.csv"),
            ("file", f"{folder}/kinds.csv"),
        ]
        (output,) = event["outputs"]
        assert output["namespace"] == f"duckdb:{folder}/results.duckdb"
        assert output["name"] == "main.prices"
        assert facet_names(output["facets"]) == {"schema", "columnLineage"}
    start, running, complete = events
    assert "outputFacets" not in start["outputs"][0]
    assert running["run"]["facets"]["inrush_progress"]["rowsRead"] == 5
    run = complete["run"]["facets"]["inrush_run"]
    assert run["run"] == outcome.report["run"]
    assert run["account"] == outcome.report["account"]
    assert "errorMessage" not in complete["run"]["facets"]
    (output,) = complete["outputs"]
    assert facet_names(output["outputFacets"]) == {"outputStatistics"}
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 3
    metrics = complete["inputs"][0]["inputFacets"]
    assert facet_names(metrics) == {"dataQualityMetrics", "dataQualityAssertions"}
    assert metrics["dataQualityMetrics"]["rowCount"] == 5
    (check,) = metrics["dataQualityAssertions"]["assertions"]
    assert (check["name"], check["success"], check["actual"]) == ("not too large", False, "1")
    assert (check["column"], check["severity"]) == ("price", "warn")


def made_of(event: dict[str, Any], column: str | None) -> list[tuple[str, ...]]:
    """Return dataset, field, type, subtype and description of each input of a column.

    Without a column, return the inputs that decide which rows are loaded.
    """
    lineage = event["outputs"][0]["facets"]["columnLineage"]
    fields = lineage["dataset"] if column is None else lineage["fields"][column]["inputFields"]
    found: list[tuple[str, ...]] = []
    for one in fields:
        for how in one["transformations"]:
            assert how["masking"] is False
            assert one["namespace"] == "file"
            dataset = one["name"].rsplit("/", 1)[1]
            found.append((dataset, one["field"], how["type"], how["subtype"], how["description"]))
    return found


def test_the_lineage_of_columns(inrush: Inrush) -> None:
    inrush("run", write(inrush, "events.jsonl")).expect(LOADED_WITH_REJECTS)
    start, *_ = read(inrush.folder / "events.jsonl")
    (output,) = start["outputs"]
    fields = output["facets"]["schema"]["fields"]
    assert [field["name"] for field in fields] == ["id", "price", "kind", "run", "gross", "title"]
    rows, kinds = start["inputs"]
    assert [field["name"] for field in rows["facets"]["schema"]["fields"]] == [
        "id",
        "price",
        "kind",
    ]
    assert kinds["facets"]["schema"]["fields"] == [
        {"name": "kind", "type": "VARCHAR"},
        {"name": "title", "type": "VARCHAR"},
    ]
    assert made_of(start, "id") == [("rows.csv", "id", "DIRECT", "IDENTITY", "")]
    assert made_of(start, "run") == []
    assert made_of(start, "gross") == [
        ("rows.csv", "id", "DIRECT", "TRANSFORMATION", "net * 2 + id"),
        ("rows.csv", "price", "DIRECT", "TRANSFORMATION", "net * 2 + id"),
    ]
    assert made_of(start, "title") == [
        ("kinds.csv", "title", "DIRECT", "IDENTITY", ""),
        ("rows.csv", "kind", "INDIRECT", "JOIN", "title of kinds.csv"),
    ]
    assert made_of(start, None) == [
        ("rows.csv", "price", "INDIRECT", "FILTER", "price > 0"),
    ], "the check only warns"


def test_the_lineage_of_what_is_made_of_a_lookup(inrush: Inrush) -> None:
    """A value taken from a reference is a field of that reference, wherever it is used."""
    inrush.write("rows.csv", "id,kind\n1,a\n2,b\n")
    inrush.write("kinds.csv", "kind,title,shelf\na,first,7\nb,second,8\n")
    inrush.write("shelves.csv", "number,floor\n7,1\n8,2\n")
    kinds: dict[str, Value] = {
        "files": "kinds.csv",
        "columns": ["kind text", "title text", "shelf integer"],
    }
    shelves: dict[str, Value] = {
        "files": "shelves.csv",
        "columns": ["number integer", "floor integer"],
    }
    rows = (
        flow("goods", "rows.csv", columns=["id integer", "kind text"])
        + step(lookup=kinds, on={"kind": "kind"}, take={"title": "title", "at": "shelf"})
        + step(lookup=shelves, on={"at": "number"}, take={"floor": "floor"})
        + step(lookup=kinds, on={"kind": "kind"}, take={"again": "title"})
        + step(derive={"label": "title || ' of ' || kind"})
        + step(where="floor > 0 AND id > 0")
    )
    run: dict[str, Value] = {"open_lineage": {"to": "events.jsonl"}}
    text = package("results.duckdb", rows, name="goods", **run)
    inrush("run", inrush.write("goods.toml", text)).expect(CLEAN)
    events = read(inrush.folder / "events.jsonl")
    start = events[0]
    names = [(one["name"].rsplit("/", 1)[1], one["facets"]["schema"]) for one in start["inputs"]]
    assert [(name, [field["name"] for field in schema["fields"]]) for name, schema in names] == [
        ("rows.csv", ["id", "kind"]),
        ("kinds.csv", ["kind", "shelf", "title"]),
        ("shelves.csv", ["number", "floor"]),
    ], "each reference once"
    expression = "title || ' of ' || kind"
    assert made_of(start, "label") == [
        ("rows.csv", "kind", "DIRECT", "TRANSFORMATION", expression),
        ("rows.csv", "kind", "INDIRECT", "JOIN", "title of kinds.csv"),
        ("kinds.csv", "title", "DIRECT", "TRANSFORMATION", expression),
    ]
    assert made_of(start, "floor") == [
        ("shelves.csv", "floor", "DIRECT", "IDENTITY", ""),
        ("kinds.csv", "shelf", "INDIRECT", "JOIN", "floor of shelves.csv"),
        ("rows.csv", "kind", "INDIRECT", "JOIN", "floor of shelves.csv"),
    ]
    condition = "floor > 0 AND id > 0"
    assert made_of(start, None) == [
        ("rows.csv", "id", "INDIRECT", "FILTER", condition),
        ("shelves.csv", "floor", "INDIRECT", "FILTER", condition),
        ("kinds.csv", "shelf", "INDIRECT", "FILTER", condition),
        ("rows.csv", "kind", "INDIRECT", "FILTER", condition),
    ]


def test_a_run_that_fails_and_its_next_attempt(inrush: Inrush) -> None:
    path = write(inrush, "events.jsonl", rejects=0)
    inrush("run", path).expect(REJECT_LIMIT)
    start, failed = read(inrush.folder / "events.jsonl")
    assert (start["eventType"], failed["eventType"]) == ("START", "FAIL")
    message = failed["run"]["facets"]["errorMessage"]
    assert "reject" in message["message"]
    assert failed["run"]["facets"]["inrush_run"]["exitStatus"] == REJECT_LIMIT
    path.write_text(path.read_text().replace("rows_max = 0", "rows_max = 5"))
    inrush("run", path).expect(LOADED_WITH_REJECTS)
    again = read(inrush.folder / "events.jsonl")[2:]
    assert [event["eventType"] for event in again] == ["START", "RUNNING", "COMPLETE"]
    assert {event["run"]["runId"] for event in again} == {start["run"]["runId"]}
    inrush("run", path).expect(LOADED_WITH_REJECTS, "already loaded")
    assert len(read(inrush.folder / "events.jsonl")) == 5


class Catalog(ThreadingHTTPServer):
    """A server that takes events, and answers with a status."""

    def __init__(self, status: int) -> None:
        self.status = status
        self.events: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/api/v1/lineage"


class Handler(BaseHTTPRequestHandler):
    """Takes one event."""

    server: Catalog

    def do_POST(self) -> None:
        assert self.path == "/api/v1/lineage"
        assert self.headers["Content-Type"] == "application/json"
        text = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.events.append(json.loads(text))
        self.server.keys.append(self.headers["Authorization"])
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def catalog(status: int = 201) -> Iterator[Catalog]:
    """Run a catalog."""
    with Catalog(status) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def test_events_are_posted_with_a_key(inrush: Inrush) -> None:
    with catalog() as server:
        path = write(inrush, server.url)
        outcome = inrush("run", path, environment={"OPENLINEAGE_API_KEY": "s3cret-key"})
        outcome.expect(LOADED_WITH_REJECTS)
    assert [event["eventType"] for event in server.events] == ["START", "RUNNING", "COMPLETE"]
    assert [faults(event) for event in server.events] == [[], [], []]
    assert set(server.keys) == {"Bearer s3cret-key"}
    assert "OpenLineage" not in outcome.said
    everything = "".join(
        file.read_text(errors="replace")
        for file in inrush.folder.rglob("*")
        if file.is_file() and file.suffix != ".duckdb"
    )
    assert "s3cret-key" not in everything + outcome.said


def test_a_server_that_answers_an_error_is_a_note(inrush: Inrush) -> None:
    with catalog(status=500) as server:
        outcome = inrush("run", write(inrush, server.url))
    outcome.expect(LOADED_WITH_REJECTS, "3 of 3 events of OpenLineage could not be sent", "500")
    assert [event["eventType"] for event in server.events] == ["START", "COMPLETE"]


def test_a_server_that_is_not_there_is_a_note(inrush: Inrush) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/api/v1/lineage"
        outcome = inrush("run", write(inrush, url))
    outcome.expect(LOADED_WITH_REJECTS, "could not be sent", "the load does not depend on them")


def test_a_server_that_never_answers_is_a_note(inrush: Inrush) -> None:
    """A server that accepts connections and does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/api/v1/lineage"
        outcome = inrush("run", write(inrush, url))
    outcome.expect(LOADED_WITH_REJECTS, "could not be sent", "timeout")


def test_a_file_that_cannot_be_written_is_a_note(inrush: Inrush) -> None:
    outcome = inrush("run", write(inrush, "missing/events.jsonl"))
    outcome.expect(LOADED_WITH_REJECTS, "cannot write to", "missing/events.jsonl")


@pytest.mark.parametrize(
    ("to", "told"),
    [
        ("", "it is empty"),
        ("ftp://catalog/lineage", "events cannot be sent by ftp"),
        ("https://", "the URL has no host"),
        ("https://user:pass@catalog/lineage", "OPENLINEAGE_API_KEY"),
    ],
)
def test_mistakes_are_told(inrush: Inrush, to: str, told: str) -> None:
    refused = inrush("check", write(inrush, to))
    refused.expect(USAGE, told, "prices.toml:")
    assert "pass" not in refused.said.replace("password", "")


def assert_failed(event: dict[str, Any], word: str, *told: str) -> None:
    """Fail unless the event gives the reason why a run without a report failed."""
    assert event["eventType"] == word
    facets = event["run"]["facets"]
    assert facet_names(facets) == {"processing_engine", "errorMessage"}
    for part in told:
        assert part in facets["errorMessage"]["message"]
    assert UUID.fullmatch(event["run"]["runId"])
    assert (event["job"]["namespace"], event["job"]["name"]) == ("shop", "prices")


def test_a_run_that_cannot_begin_tells_why(inrush: Inrush) -> None:
    path = write(inrush, "events.jsonl", url="postgresql://etl@127.0.0.1:1/shop")
    inrush("run", path).expect(FAILED)
    path = write(inrush, "events.jsonl")
    (inrush.folder / "rows.csv").unlink()
    inrush("run", path)
    unreachable, missing = read(inrush.folder / "events.jsonl")
    assert_failed(unreachable, "FAIL", "127.0.0.1")
    assert_failed(missing, "FAIL", "rows.csv")
    for event in (unreachable, missing):
        assert (event["inputs"], event["outputs"]) == ([], [])
    assert unreachable["run"]["runId"] != missing["run"]["runId"]


def test_a_run_that_fails_before_its_report_tells_why(inrush: Inrush) -> None:
    """Loading has begun, but its streams get no memory, so there is no report."""
    names = [inrush.write(f"{part}.csv", "1\n2\n").name for part in range(8)]
    rows = flow("prices", names, columns=["id integer"], format={"header": False})
    run: dict[str, Value] = {"open_lineage": {"to": "events.jsonl", "namespace": "shop"}}
    text = package("parquet:lake", rows, name="prices", streams=8, **run)
    path = inrush.write("prices.toml", text)
    with inrush.start("run", path, before=["prlimit", f"--as={200 << 20}"]) as running:
        running.wait().expect(FAILED, "8 streams need")
    start, failed = read(inrush.folder / "events.jsonl")
    assert start["eventType"] == "START"
    assert_failed(failed, "FAIL", "8 streams need", "ulimit -v")
    assert failed["run"]["runId"] == start["run"]["runId"]
    assert failed["outputs"] == start["outputs"]


def test_rows_without_steps_have_lineage_too(inrush: Inrush) -> None:
    inrush.write("rows.csv", "1\n2\n")
    rows = flow("plain", "rows.csv", columns=["id integer"], format={"header": False})
    run: dict[str, Value] = {"open_lineage": {"to": "events.jsonl"}}
    text = package("parquet:lake", rows, name="plain", **run)
    inrush("run", inrush.write("plain.toml", text)).expect(CLEAN)
    start, *_ = read(inrush.folder / "events.jsonl")
    assert start["job"]["namespace"] == "inrush"
    (output,) = start["outputs"]
    assert (output["namespace"], output["name"]) == (f"parquet:{inrush.folder}/lake", "plain")
    lineage = output["facets"]["columnLineage"]
    assert [one["field"] for one in lineage["fields"]["id"]["inputFields"]] == ["id"]
    assert "dataset" not in lineage


def test_an_event_with_a_fault_is_found(inrush: Inrush) -> None:
    """The check of the schemas sees the faults that events could have."""
    inrush("run", write(inrush, "events.jsonl")).expect(LOADED_WITH_REJECTS)
    *_, complete = read(inrush.folder / "events.jsonl")

    def said(change: Callable[[dict[str, Any]], object]) -> str:
        event = copy.deepcopy(complete)
        change(event)
        return "\n".join(faults(event))

    def columns(event: dict[str, Any]) -> dict[str, Any]:
        fields: dict[str, Any] = event["outputs"][0]["facets"]["columnLineage"]["fields"]
        return fields

    assert "'runId' is a required property" in said(lambda event: event["run"].pop("runId"))
    assert "is not a 'uuid'" in said(lambda event: event["run"].update(runId="7"))
    assert "'DONE' is not one of" in said(lambda event: event.update(eventType="DONE"))
    assert "'field' is a required property" in said(
        lambda event: columns(event)["id"]["inputFields"][0].pop("field")
    )
    assert "'7' is not of type 'integer'" in said(
        lambda event: event["outputs"][0]["outputFacets"]["outputStatistics"].update(rowCount="7")
    )
    assert "'account' is a required property" in said(
        lambda event: event["run"]["facets"]["inrush_run"].pop("account")
    )

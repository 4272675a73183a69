"""A run neither prints, writes, nor shows a password to other users."""

from __future__ import annotations

import itertools
import json
import urllib.parse
from collections.abc import Iterable
from pathlib import Path

import pytest

from conftest import StartServer
from harness import pauses
from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, REJECT_LIMIT, USAGE, Inrush, Running
from harness.packages import flow, package
from harness.servers import Database, Server

# All characters that break URLs, connection strings, TOML, JSON, shells or patterns, in one word.
SECRET = "p@s:s/w?o#r&d= %41'\"\\{}$(x)é"  # noqa: S105

TABLE = "CREATE TABLE people (id int NOT NULL, gate int, name text)"
ROWS = "id,gate,name\n1,1,Ann\nx,1,Bob\n"


def forms(secret: str) -> set[str]:
    """Return all forms in which a secret may appear in a text."""
    quoted = json.dumps(secret)[1:-1]
    encoded = urllib.parse.quote(secret, safe="")
    return {
        secret,
        quoted,
        json.dumps(secret, ensure_ascii=False)[1:-1],
        json.dumps(quoted)[1:-1],
        encoded,
        encoded.lower(),
        urllib.parse.quote(secret),
        urllib.parse.quote_plus(secret),
        secret.replace("'", "''"),
        secret.encode().hex(),
    }


def assert_hidden(texts: Iterable[tuple[str, str]]) -> None:
    for place, text in texts:
        for form in forms(SECRET):
            assert form not in text, f"the password is in {place}"


def files_below(folder: Path) -> list[tuple[str, str]]:
    return [
        (str(path), path.read_bytes().decode(errors="replace"))
        for path in folder.rglob("*")
        if path.is_file()
    ]


_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def guarded(start_server: StartServer) -> Server:
    """Return a server that asks for the password, on TCP and on its socket."""
    return start_server(18, password=SECRET)


@pytest.fixture
def guarded_database(guarded: Server, monkeypatch: pytest.MonkeyPatch) -> Database:
    # The tests' own connections.
    monkeypatch.setenv("PGPASSWORD", SECRET)
    return guarded.create_database(f"guarded_{next(_numbers)}")


def write_package(inrush: Inrush, url: str, rows_max: int) -> Path:
    text = package(url, flow("people", "rows.csv", rejects={"rows_max": rows_max}))
    return inrush.write("package.toml", text)


def with_password(database: Database, password: str) -> str:
    return database.url.replace("@", f":{password}@", 1)


# The ways to give a run the password.
WAYS = ["variable", "file", "in_url", "whole_url", "package", "service"]


def told(way: str, inrush: Inrush, database: Database) -> tuple[str, dict[str, str]]:
    """Return the URL of the package and the environment that give the password to a run."""
    encoded = urllib.parse.quote(SECRET, safe="")
    if way == "variable":
        return database.url, {"PGPASSWORD": SECRET}
    if way == "file":
        escaped = SECRET.replace("\\", "\\\\").replace(":", "\\:")
        file = inrush.write("secrets/pgpass", f"*:*:*:*:{escaped}\n")
        file.chmod(0o600)
        return database.url, {"PGPASSFILE": str(file)}
    if way == "in_url":
        return with_password(database, "${env:WAREHOUSE_SECRET}"), {"WAREHOUSE_SECRET": SECRET}
    if way == "whole_url":
        return "${env:WAREHOUSE}", {"WAREHOUSE": with_password(database, encoded)}
    if way == "service":
        server = database.server
        text = f"[warehouse]\nhost={server.folder}\nport={server.port}\npassword={SECRET}\n"
        file = inrush.write("secrets/service.conf", text)
        url = f"postgresql://{server.user}@/{database.name}?service=warehouse"
        return url, {"PGSERVICEFILE": str(file)}
    return with_password(database, encoded), {}


def outputs(inrush: Inrush, database: Database) -> list[tuple[str, str]]:
    """Return what runs have left in files, and in the ledger's runs, units and splits."""
    found = files_below(inrush.folder / "runs")
    for table in ("run", "unit", "shard"):
        if database.value(f"SELECT to_regclass('inrush.{table}') IS NOT NULL"):
            rows = database.rows(f"SELECT t::text FROM inrush.{table} AS t")
            found.append((f"ledger {table}", str(rows)))
    comments = database.rows("SELECT description FROM pg_description WHERE objoid >= 16384")
    return [*found, ("comments", str(comments)), ("log", database.server.log.read_text())]


@pytest.mark.parametrize("way", WAYS)
def test_no_output_of_a_run_has_the_password(
    guarded_database: Database, inrush: Inrush, way: str
) -> None:
    database = guarded_database
    url, environment = told(way, inrush, database)
    inrush.write("rows.csv", ROWS)
    database.execute(TABLE)
    # One run exceeds its limit, one dies, one loads, and one finds the files already loaded.
    path = write_package(inrush, url, 0)
    outcomes = [inrush("run", path, "--json", environment=environment).expect(REJECT_LIMIT)]
    path = write_package(inrush, url, 1)
    outcomes.append(inrush("check", path, environment=environment).expect(CLEAN))
    outcomes.append(
        inrush("run", path, environment=environment | {"INRUSH_FAULT": "before_switch_commit"})
    )
    for command in ("status", "cleanup"):
        outcomes.append(inrush(command, path, environment=environment).expect(CLEAN))
    outcomes.append(
        inrush("run", path, "--json", environment=environment).expect(LOADED_WITH_REJECTS)
    )
    again = inrush("run", path, environment=environment)
    outcomes.append(again.expect(LOADED_WITH_REJECTS, "already loaded"))
    assert_hidden((str(outcome.words), outcome.said) for outcome in outcomes)
    assert_hidden(outputs(inrush, database))


def test_failures_do_not_tell_the_password(guarded_database: Database, inrush: Inrush) -> None:
    database = guarded_database
    database.execute(TABLE)
    inrush.write("rows.csv", ROWS)
    for way in ("in_url", "whole_url", "package", "variable"):
        url, environment = told(way, inrush, database)
        for wrong_url in (
            url.replace(database.name, "no_such_base"),
            url.replace(f"port={database.server.port}", "port=1"),
            url + "&colour=blue",
            url + "&sslmode=always",
            url.replace("postgresql://", "postgres//"),
            url.replace(f"host={database.server.folder}", "host=/no/such/folder"),
        ):
            path = write_package(inrush, wrong_url, 0)
            changed = dict(environment)
            if way == "whole_url":
                changed["WAREHOUSE"] += "&colour=blue"
            outcome = inrush("run", path, environment=changed)
            assert outcome.status in (FAILED, USAGE), outcome.said
            assert_hidden([(f"{way} {wrong_url[:30]}", outcome.said)])
    # A password in an argument is refused, and not repeated.
    words = ("load", "rows.csv", "--to", with_password(database, SECRET), "--table", "people")
    assert_hidden([("an argument", inrush(*words).expect(USAGE, "PGPASSWORD").said)])
    assert_hidden(outputs(inrush, database))


def test_others_cannot_see_the_password_while_it_runs(
    guarded_database: Database, inrush: Inrush
) -> None:
    database = guarded_database
    database.execute(pauses.HELD_DOMAIN + TABLE.replace("gate int", "gate held"))
    inrush.write("rows.csv", "id,gate,name\n1,-1,Ann\n")
    url, environment = told("package", inrush, database)
    path = write_package(inrush, url, 0)
    with inrush.start("run", path, environment=environment) as running:
        with pauses.closed_gate(database):
            pauses.wait_until_held(database)
            seen = [("pg_stat_activity", str(database.rows("TABLE pg_stat_activity")))]
            seen += [(name, text) for name, text in of_process(running)]
        outcome = running.wait().expect(CLEAN)
    assert_hidden([*seen, ("what it said", outcome.said)])


def of_process(running: Running) -> list[tuple[str, str]]:
    """Return the text that every user may read about a process and its threads."""
    folder = Path("/proc") / str(running.process.pid)
    found = []
    for path in [folder / "cmdline", folder / "comm", *folder.glob("task/*/comm")]:
        found.append((str(path), path.read_bytes().replace(b"\0", b" ").decode()))
    return found


def test_a_password_in_an_argument_for_a_parameter_is_refused(
    guarded_database: Database, inrush: Inrush
) -> None:
    """The parameter is the URL's password, or is a whole URL with a password."""
    inrush.write("rows.csv", "id,gate,name\n1,1,Ann\n")
    encoded = urllib.parse.quote(SECRET, safe="")
    for url, value in (
        (with_password(guarded_database, "{word}"), encoded),
        ("{word}", with_password(guarded_database, encoded)),
    ):
        text = package(url, flow("people", "rows.csv"))
        parameters = "[parameters]\nword = ''\n"
        file = inrush.write("package.toml", text.replace("\n[conn", f"\n{parameters}\n[conn", 1))
        outcome = inrush("run", file, "--set", f"word={value}").expect(USAGE, "--set word", "hint:")
        assert_hidden([("what is said", outcome.said)])


def test_a_password_in_a_parameter_is_not_kept(guarded_database: Database, inrush: Inrush) -> None:
    guarded_database.execute(TABLE)
    inrush.write("rows.csv", "id,gate,name\n1,1,Ann\n")
    encoded = urllib.parse.quote(SECRET, safe="")
    text = package(with_password(guarded_database, "{word}"), flow("people", "rows.csv"))
    parameters = f"[parameters]\nword = '{encoded}'\n"
    file = inrush.write("package.toml", text.replace("\n[conn", f"\n{parameters}\n[conn", 1))
    outcome = inrush("run", file, environment={"PGPASSWORD": ""}).expect(CLEAN)
    assert_hidden([("what is said", outcome.said), *outputs(inrush, guarded_database)])


PLAIN_SECRET = "hunter2secret"  # noqa: S105


@pytest.mark.parametrize(
    "form",
    [
        "postgresql://u@127.0.0.1:1/d?passwort={}",
        "postgresql://u@127.0.0.1:1/d?geheim={}",
        "postgresql://u:a@{}@127.0.0.1:1/d",
        "postgresql://u:a@b?{}@127.0.0.1:1/d",
        "postgresql://u:a {}@127.0.0.1:1/d",
        "postgresql://u:{}",
        "postgresql:u:{}@h/d",
        "postgres:/u:{}@h/d",
        "mysql://u:{}@h/d",
        "adbc:postgresql://u:{}@h/d",
        "parquet:s3://key:{}@bucket",
        "duckdb:md:db?motherduck_token={}",
    ],
)
def test_a_url_that_is_wrong_tells_no_password(inrush: Inrush, form: str) -> None:
    inrush.write("rows.csv", "id\n1\n")
    url = form.format(PLAIN_SECRET)
    path = inrush.write("p.toml", package(url, flow("t", "rows.csv", columns=["id int"])))
    for command in ("check", "run", "status", "preflight"):
        outcome = inrush(command, path)
        assert outcome.status in (FAILED, USAGE, 6), outcome.said
        assert PLAIN_SECRET not in outcome.said, outcome.said
    text = path.read_text().replace('table = "t"', 'tabel = "t"').replace("[run]", "[rum]")
    said = inrush("check", inrush.write("q.toml", text)).expect(USAGE).said
    assert PLAIN_SECRET not in said
    variable = {"WAREHOUSE_URL": url}
    path = inrush.write("e.toml", package("${env:WAREHOUSE_URL}", flow("t", "rows.csv")))
    for command in ("check", "run"):
        outcome = inrush(command, path, environment=variable)
        assert PLAIN_SECRET not in outcome.said, outcome.said
        assert url not in outcome.said, outcome.said
    assert all(PLAIN_SECRET not in text for _, text in files_below(inrush.folder / "runs"))


def test_what_a_variable_holds_is_shown_nowhere(newest_database: Database, inrush: Inrush) -> None:
    """A variable's value is hidden, whatever it contains: here the files' folder and the user."""
    folder = "feed-4711.of_nobody"
    newest_database.execute(TABLE)
    role = "loader_4711"
    newest_database.execute(f"CREATE ROLE {role} LOGIN SUPERUSER")
    url = newest_database.url.replace(f"//{newest_database.server.user}@", "//${env:WHO}@")
    assert "${env:WHO}" in url
    inrush.write(f"{folder}/rows.csv", ROWS)
    environment = {"WHO": role, "FEED": folder}
    more = {"rejects": {"rows_max": 1}}
    path = inrush.write("p.toml", package(url, flow("people", "${env:FEED}/rows.csv", **more)))
    outcomes = [
        inrush("check", path, environment=environment).expect(CLEAN, "${env:FEED}/rows.csv"),
        inrush("preflight", path, environment=environment),
        inrush("run", path, "--json", environment=environment).expect(3),
        inrush("rejects", "show").expect(CLEAN, "${env:FEED}/rows.csv"),
        inrush("status", path, "--json", environment=environment).expect(CLEAN),
    ]
    for file, text in [
        *((str(o.words), o.said) for o in outcomes),
        *files_below(inrush.folder / "runs"),
    ]:
        assert folder not in text, file
        assert role not in text, file
    # A replay reads the variables again, so it loads the corrected row.
    [rejects] = inrush.folder.glob("runs/*/rejects/*.rejects")
    rejects.write_text(rejects.read_text().replace("x,1,Bob", "2,1,Bob"))
    inrush("rejects", "replay", rejects.parents[1].name, environment=environment).expect(CLEAN)
    assert newest_database.rows("SELECT id FROM people ORDER BY id") == [(1,), (2,)]


def test_a_password_in_a_statement_is_not_shown(newest_database: Database, inrush: Inrush) -> None:
    newest_database.execute(TABLE)
    inrush.write("rows.csv", "id,gate,name\n1,1,Ann\n")
    statement = f"CREATE ROLE of_statement PASSWORD '{PLAIN_SECRET}'"
    path = inrush.write(
        "p.toml", package(newest_database.url, flow("people", "rows.csv", post_sql=statement))
    )
    outcomes = [inrush("check", path).expect(CLEAN, "PASSWORD '***'"), inrush("run", path)]
    for place, text in [
        *((str(o.words), o.said) for o in outcomes),
        *files_below(inrush.folder / "runs"),
    ]:
        assert PLAIN_SECRET not in text, place


def test_paths_stay_usable(newest_database: Database, inrush: Inrush) -> None:
    """A folder in a variable is not a secret: programs open the printed paths."""
    newest_database.execute(TABLE)
    data = inrush.folder / "data-4711"
    inrush.write("data-4711/rows.csv", ROWS)
    rows = "${env:DD}/rows.csv"
    people = flow("people", rows, mode="append", rejects={"rows_max": 1})
    path = inrush.write("p.toml", package(newest_database.url, people))
    environment = {"DD": str(data)}
    for number, words in enumerate(((), ("--json",))):
        if number:
            words = (*words, "--again")
        runs = data / f"runs{number}"
        said = inrush("run", path, "--runs-folder", runs, *words, environment=environment).expect(
            LOADED_WITH_REJECTS
        )
        assert "${env:" not in said.said
        [report] = runs.glob("*/report.json")
        assert str(report.parent) in said.said
        found = json.loads(report.read_text())
        assert "${env:" not in json.dumps(found)
        assert str(data / "rows.csv") in report.read_text()
        [reasons] = runs.glob("*/rejects/*.jsonl")
        assert json.loads(reasons.read_text().splitlines()[0])["file"] == str(data / "rows.csv")


def test_a_named_path_is_shown_and_the_variable_of_a_url_is_not(
    newest_database: Database, inrush: Inrush
) -> None:
    newest_database.execute(TABLE)
    inrush.write("rows.csv", "id,gate,name\n1,1,Ann\n")
    # A value that is not a path: an application's name that contains a folder's name.
    folder = "of-4711.app"
    url = newest_database.url + ("&" if "?" in newest_database.url else "?")
    path = inrush.write(
        "p.toml", package(url + "application_name=${env:APP}", flow("people", "rows.csv"))
    )
    runs = inrush.folder / folder / "runs"
    said = inrush("run", path, "--runs-folder", runs, environment={"APP": folder}).expect(CLEAN)
    assert str(runs) in said.said

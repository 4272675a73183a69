"""Names of every kind: for tables, columns, schemas, files, parameters, packages and flows."""

from __future__ import annotations

import pytest

from harness.command import CLEAN, USAGE, Inrush
from harness.packages import package, settings
from harness.servers import Database

# Each is a valid name, and would run as code if it were not quoted.
NAMES = {
    "double_quote": 'say "yes"',
    "single_quote": "o'clock",
    "spaces": "  two  words ",
    "reserved": "select",
    "upper": "SELECT",
    "unicode": "Größe 大きさ 🐘",
    "sql": 'x"; DROP TABLE public.witness; --',
    "sql_of_a_text": "x'); DROP TABLE public.witness; --",
    "dollar": "$1 $$x$$ $(id)",
    "percent": "100% %s %I",
    "backslash": "a\\b\\'",
    "dots": "a.b..c",
    "braces": "a{b}c",
    "digits": "1st",
    "comma": "a,b;c|d",
    "like_ours": "loaded_p1",
    "long": "n" * 63,
    "long_unicode": "é" * 31,
}


def quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def braced(name: str) -> str:
    """Return a text whose braces are not parameters."""
    return name.replace("{", "{{").replace("}", "}}")


def file_name(name: str) -> str:
    return name.replace("/", "_") + ".csv"


def check_rows(database: Database, target: str, column: str) -> None:
    assert database.rows(f"SELECT {quoted(column)}, note FROM {target} ORDER BY 1") == [
        (1, "Ann"),
        (2, "Bob"),
        (3, "Cy"),
    ]
    assert database.rows("TABLE public.witness") == [(1,)], "a name was run as SQL"


@pytest.mark.parametrize("partitioned", [False, True], ids=["plain", "partitioned"])
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_is_taken_as_it_is(
    newest_database: Database, inrush: Inrush, name: str, partitioned: bool
) -> None:
    database = newest_database
    database.execute("CREATE TABLE public.witness AS SELECT 1 AS id")
    database.execute(f"CREATE SCHEMA {quoted(name)}")
    target = f"{quoted(name)}.{quoted(name)}"
    header = '"' + name.replace('"', '""') + '",note\n'
    file = file_name(name)
    (inrush.folder / file).write_text(header + "1,Ann\n2,Bob\n3,Cy\n", newline="")
    flow: dict[str, object] = {
        "name": braced(name),
        "files": [braced(file)],
        "columns": [
            {"name": braced(name), "type": "int", "nullable": False},
            {"name": "note", "type": "text"},
        ],
        "table": braced(target),
    }
    if partitioned:
        flow["partition_by"] = braced(quoted(name))
    text = package(
        database.url,
        "\n[[flow]]\n" + settings(flow),  # type: ignore[arg-type]
        name=braced(name),
    )
    path = inrush.write("package.toml", text)
    # The names of leftover staging tables, which are shown and found again, contain it too.
    inrush("run", path, environment={"INRUSH_FAULT": "before_switch_commit"})
    if not partitioned:
        inrush("check", path).expect(CLEAN)
        inrush("status", path).expect(CLEAN)
    inrush("run", path).expect(CLEAN)
    check_rows(database, target, name)
    inrush("run", path).expect(CLEAN, "already loaded")
    # This load appends to the target, which exists now.
    again = text.replace("[[flow]]", '[[flow]]\nmode = "append"')
    if not partitioned:
        inrush("run", inrush.write("again.toml", again), "--again").expect(CLEAN)
        assert database.value(f"SELECT count(*) FROM {target}") == 6
    assert database.rows("TABLE public.witness") == [(1,)], "a name was run as SQL"
    left = "SELECT count(*) FROM pg_class WHERE relnamespace = 'inrush_staging'::regnamespace"
    assert database.value(left) == 0


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_parameter_is_no_code(newest_database: Database, inrush: Inrush, name: str) -> None:
    database = newest_database
    database.execute("CREATE TABLE public.witness AS SELECT 1 AS id")
    file = file_name(name)
    (inrush.folder / file).write_text("id,note\n1,Ann\n2,Bob\n3,Cy\n")
    flow: dict[str, object] = {
        "files": ["{given}.csv"],
        "columns": ["id int", "note text"],
        "table": "loaded",
    }
    text = package(database.url, "\n[[flow]]\n" + settings(flow))  # type: ignore[arg-type]
    text = text.replace("[connections", '[parameters]\ngiven = "none"\n[connections')
    path = inrush.write("package.toml", text)
    inrush("run", path, "--set", f"given={file.removesuffix('.csv')}").expect(CLEAN)
    check_rows(database, "loaded", "id")


@pytest.mark.parametrize("name", ["double_quote", "sql", "unicode", "spaces"])
def test_load_and_cleanup_take_odd_names(
    newest_database: Database, inrush: Inrush, name: str
) -> None:
    database = newest_database
    odd = NAMES[name]
    database.execute("CREATE TABLE public.witness AS SELECT 1 AS id")
    (inrush.folder / "rows.csv").write_text("id,note\n1,Ann\n2,Bob\n3,Cy\n")
    words = ("load", "rows.csv", "--to", database.url, "--table", quoted(odd))
    columns = ("--columns", "id int, note text")
    inrush(*words, *columns, environment={"INRUSH_FAULT": "before_switch_commit"})
    status = inrush("status", "--to", database.url).expect(CLEAN)
    assert "no stopped runs" not in status.output
    inrush("cleanup", "--to", database.url).expect(CLEAN)
    inrush(*words, *columns).expect(CLEAN)
    check_rows(database, quoted(odd), "id")


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "a\x1b[31mb", "a\x00b", ""])
def test_a_name_that_no_terminal_shows_is_refused(
    newest_database: Database, inrush: Inrush, name: str
) -> None:
    (inrush.folder / "rows.csv").write_text("id,note\n1,Ann\n")
    flow: dict[str, object] = {"files": "rows.csv", "table": quoted(name)}
    text = package(newest_database.url, "\n[[flow]]\n" + settings(flow))  # type: ignore[arg-type]
    inrush("run", inrush.write("package.toml", text)).expect(USAGE, "table")

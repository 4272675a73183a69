"""Values of files, servers and packages are printed as text, and never look like our own lines."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

import inrush as inrush_module
from harness.command import (
    CLEAN,
    COMMAND,
    FAILED,
    LOADED_WITH_REJECTS,
    REJECT_LIMIT,
    USAGE,
    Inrush,
    Outcome,
)
from harness.packages import flow, package
from harness.servers import Database

# Clears the line, sets the title, clears by C1, changes the direction, hides text, ends a line.
EVIL = "a\x1b[2K\x1b]0;title\x07\r\x9b2K\x7f\u202e\u200b\u2028z"
FORGED = "0 rejected, all is well"
LINES = f"{EVIL}\n{FORGED}\nhint: run it again"
UNSAFE = "".join(
    [
        *(chr(code) for code in range(32) if chr(code) not in "\n\t"),
        *(chr(code) for code in range(0x7F, 0xA0)),
        "\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff",
    ]
)


def assert_clean(text: str) -> None:
    found = {character for character in UNSAFE if character in text}
    assert not found, f"{found!r} in {text!r}"
    for line in text.splitlines():
        assert not line.startswith((FORGED, "hint: run it again")), text


def written(outcome: Outcome) -> Outcome:
    """Check that a command's output has no control characters and still shows the value."""
    assert_clean(outcome.said)
    assert "\\u{1b}" in outcome.said or "\\u001b" in outcome.said, outcome.said
    return outcome


def test_a_name_of_a_file_is_told_as_text(newest_database: Database, inrush: Inrush) -> None:
    inrush.write(f"{LINES}.csv", "id,name\n1,Ann\nx,Bob\n")
    url = newest_database.url
    words = ("load", f"{LINES}.csv", "--to", url, "--table", "t", "--columns", "id int, name text")
    written(inrush(*words).expect(REJECT_LIMIT))
    assert_clean(inrush(*words, "--max-rejects", "1").expect(LOADED_WITH_REJECTS).said)
    written(inrush("rejects", "show").expect(CLEAN))
    shown = written(inrush("rejects", "show", "--json").expect(CLEAN))
    [cause] = json.loads(shown.output)["causes"]
    assert cause["examples"][0]["file"].endswith(f"{LINES}.csv")
    path = inrush.write("p.toml", package(url, flow("t", f"{LINES}.csv", mode="append")))
    written(inrush("check", path).expect(CLEAN))
    events = written(inrush("run", path, "--again", "--json"))
    assert all(json.loads(line) for line in events.output.split("\n") if line)
    written(inrush("verify", "--split", f"{LINES}.csv"))
    written(inrush("preflight", path))


def test_nothing_of_a_file_moves_the_cursor_of_a_terminal(
    newest_database: Database, inrush: Inrush
) -> None:
    """Only the progress bars write control sequences to a terminal."""
    inrush.write(f"{EVIL}.csv", "id\n1\nx\n")
    words = ["load", f"{EVIL}.csv", "--to", newest_database.url, "--table", "t"]
    words += ["--columns", "id int", "--max-rejects", "1"]
    reader, terminal = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, *words], cwd=inrush.folder, stdin=terminal, stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    seen = b""
    while True:
        try:
            some = os.read(reader, 65536)
        except OSError:  # The last process has closed the terminal.
            break
        if not some:
            break
        seen += some
    os.close(reader)
    assert process.wait() == LOADED_WITH_REJECTS, seen
    for part in (b"\x1b]0;", "\x9b".encode(), "\u202e".encode(), b"\x7f", b"\x07"):
        assert part not in seen, seen
    assert b"\\u{1b}]0;title" in seen


def test_a_message_of_a_server_is_told_as_text(newest_database: Database, inrush: Inrush) -> None:
    inrush.write("rows.csv", "id\n1\n")
    newest_database.execute("CREATE TABLE t (id int)")
    said = LINES
    statement = f"DO $$ BEGIN RAISE EXCEPTION '%', '{said}'; END $$".replace("{", "{{")
    path = inrush.write(
        "p.toml",
        package(newest_database.url, flow("t", "rows.csv", post_sql=statement, mode="append")),
    )
    written(inrush("check", path).expect(CLEAN))
    written(inrush("run", path).expect(FAILED, "post_sql", "title"))
    with pytest.raises(inrush_module.InrushError) as error:
        inrush_module.run(path, runs_folder=inrush.folder / "runs")
    assert_clean(str(error.value))


def urls(package: str) -> list[str]:
    """Return the lines with a URL; Python ends lines at some characters that TOML does not."""
    return [line for line in package.split("\n") if line.startswith("url")]


def test_a_header_is_told_as_text_and_makes_a_package(inrush: Inrush) -> None:
    """A column's name cannot end a comment or a text in the package."""
    name = f'x{EVIL}"\n[connections.target]\nurl = "stolen"\n#'
    quoted = name.replace('"', '""')
    inrush.write("rows.csv", f'"{quoted}",b\n1,2\n3,4\n')
    outcome = inrush("init", "rows.csv", "--to", "embedded", "--save", "-").expect(CLEAN)
    assert_clean(outcome.said)
    assert urls(outcome.output) == ['url = "embedded"']
    assert_clean(inrush("init", "rows.csv", "--to", "embedded").expect(CLEAN).said)
    [made] = inrush.folder.glob("*.toml")
    assert_clean(made.read_text())
    assert urls(made.read_text()) == ['url = "embedded"']


def test_arguments_and_packages_are_told_as_text(inrush: Inrush) -> None:
    """Arguments may be file names that a shell found with a pattern."""
    written(inrush("load", "x", f"--{LINES}").expect(USAGE))
    written(inrush("run", f"{LINES}.toml").expect(USAGE))
    written(inrush("run", "x.toml", "--streams", LINES).expect(USAGE))
    text = package("embedded", flow("t", "rows.csv")) + f"# {EVIL}\n".replace("\r", "")
    path = inrush.write("p.toml", text.replace("\x1b", "").replace("\x07", "").replace("\x7f", ""))
    bad = path.read_text().replace('table = "t"', f'tabel = "{EVIL[-4:]}"')
    assert_clean(inrush("check", inrush.write("q.toml", bad)).expect(USAGE, "tabel").said)


def test_the_page_of_a_report_holds_no_markup_of_values(
    newest_database: Database, inrush: Inrush
) -> None:
    name = f"<script>alert(1)<!--{EVIL}.csv".replace("/", "")
    inrush.write(name, "id\n1\nx\n")
    words = ("load", name, "--to", newest_database.url, "--table", "t", "--columns", "id int")
    inrush(*words, "--max-rejects", "1").expect(LOADED_WITH_REJECTS)
    [page] = inrush.folder.glob("runs/*/report.html")
    text = page.read_text()
    assert "<script>alert(1)" not in text
    assert "\x1b" not in text
    assert Path(page).with_name("report.json").exists()

"""The result of a careful serial load: one INSERT after the other, each after a savepoint.

Loads are compared with this result: the loaded rows, and the complete list of refused rows.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import psycopg

from harness.command import LOADED_WITH_REJECTS, Inrush, Outcome
from harness.contents import assert_same_rows
from harness.servers import Database

# The code of the reject for each SQLSTATE of the server.
CODES = {
    "22003": "out_of_range",
    "22P02": "syntax",
    "23502": "null_not_allowed",
    "23503": "foreign_key_missing",
    "23505": "duplicate_key",
    "23514": "check_violated",
    "23P01": "exclusion_violated",
    "P0001": "raised",
}

# The tables that targets refer to, and the function of their triggers, which refuses some rows and
# changes others.
PARENTS_AND_GUARD = """
CREATE TABLE parents (id int PRIMARY KEY);
INSERT INTO parents SELECT generate_series(1, 50);
CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.note = 'no' THEN RAISE EXCEPTION 'row % says no', NEW.id; END IF;
    IF NEW.note = 'set' THEN NEW.note := 'changed'; END IF;
    RETURN NEW;
END $$;
"""

# Runs a statement for each row in its own block, which begins with a savepoint. Separate requests
# would take most of a test's time.
INSERT_EACH = """
CREATE FUNCTION pg_temp.insert_each(
    statement text, rows_of_file json,
    OUT at int, OUT sqlstate_ text, OUT message text, OUT detail text, OUT constraint_ text
) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
    fields text[];
BEGIN
    FOR at, fields IN
        SELECT number, ARRAY(SELECT json_array_elements_text(one))
        FROM json_array_elements(rows_of_file) WITH ORDINALITY AS rows_(one, number)
    LOOP
        BEGIN
            EXECUTE format(statement, VARIADIC fields);
            -- Every row must be valid by itself.
            SET CONSTRAINTS ALL IMMEDIATE;
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS
                sqlstate_ = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
                detail = PG_EXCEPTION_DETAIL, constraint_ = CONSTRAINT_NAME;
            RETURN NEXT;
        END;
    END LOOP;
END $$
"""

# The rows of each file by its name, in the order in which the files are loaded.
Files = Mapping[str, Sequence[Sequence[str]]]


@dataclass(frozen=True, order=True)
class Refused:
    """A row that was not loaded."""

    file: str
    line: int
    code: str
    # A part of the reason: the server's own message.
    said: str


def text_of(header: str, rows: Sequence[Sequence[str]]) -> str:
    """Return a CSV file."""
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(rows)
    return f"{header}\n{written.getvalue()}"


def insert(
    database: Database,
    statement: str,
    files: Files,
    before: Callable[[str, int, Sequence[str]], Refused | None] | None = None,
) -> list[Refused]:
    """Load files row by row and return the refused rows; `before` may refuse a row first."""
    refused = []
    with database.connect(autocommit=False) as connection:
        connection.execute(INSERT_EACH)
        for file, rows in files.items():
            lines = _lines_of(rows)
            if before is None:
                refused += _insert_rows(connection, statement, file, rows, lines)
                continue
            # `before` may query the rows that are inserted so far.
            for row, line in zip(rows, lines, strict=True):
                one = before(file, line, row)
                found = [one] if one else _insert_rows(connection, statement, file, [row], [line])
                refused += found
        connection.commit()
    return sorted(refused)


def _lines_of(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the lines at which rows begin, after a header."""
    lines = [2]
    for row in rows:
        lines.append(lines[-1] + 1 + sum(field.count("\n") for field in row))
    return lines[:-1]


def _insert_rows(
    connection: psycopg.Connection[Any],
    statement: str,
    file: str,
    rows: Sequence[Sequence[str]],
    lines: Sequence[int],
) -> list[Refused]:
    """Insert rows of a file one after the other, and return the refused ones."""
    values = (statement.replace("%s", "%L"), json.dumps(rows))
    errors = connection.execute("SELECT * FROM pg_temp.insert_each(%s, %s)", values)
    return [_refused(file, lines[at - 1], *error) for at, *error in errors]


def _refused(
    file: str, line: int, sqlstate: str, message: str, detail: str, constraint: str
) -> Refused:
    """Return the reject for an error."""
    code = CODES[sqlstate]
    said = ""
    if code == "check_violated" and not constraint:
        # The server names no constraint for the bounds of a partition.
        code = "outside_partition"
    if code in ("duplicate_key", "foreign_key_missing", "exclusion_violated"):
        said = detail.rstrip(".")
    elif code == "check_violated":
        # The server derives the constraint's name from the table's, which differs here.
        said = constraint.removeprefix("expected")
    elif code == "raised":
        said = message
    return Refused(file, line, code, said)


def places(outcome: Outcome) -> list[tuple[str, int, str]]:
    """Return file, line and code of all rejects."""
    return sorted((Path(one["file"]).name, one["line"], one["code"]) for one in outcome.rejects())


def assert_rejects(outcome: Outcome, expected: Sequence[Refused]) -> None:
    """Fail unless exactly these were rejected, for these reasons."""
    assert places(outcome) == [(one.file, one.line, one.code) for one in sorted(expected)]
    said = {(one.file, one.line): one.said for one in expected}
    for one in outcome.rejects():
        assert said[Path(one["file"]).name, one["line"]] in one["reason"], one
        assert "inrush" not in one["reason"], one


def assert_account(outcome: Outcome, rows: int, refused: int) -> None:
    """Fail unless the account has these totals."""
    account = outcome.report["account"]
    assert account["rows_read"] == rows
    assert account["rows_rejected"] == refused
    assert account["rows_loaded"] == rows - refused


class SerialJob:
    """Files for targets, and the result of a careful serial load of them.

    A test file gives tables, rows and package. Beside each target is a table into which the rows
    are inserted one by one.
    """

    # Each target, the table beside it, and the columns that order the rows of both.
    tables: ClassVar[Sequence[tuple[str, str, str]]] = (("loaded", "expected", "k, id"),)

    def __init__(self, database: Database, inrush: Inrush) -> None:
        self.database = database
        self.inrush = inrush
        self.rows_read = 0
        self.expected: list[Refused] = []

    def insert(
        self,
        header: str,
        statement: str,
        files: Files,
        before: Callable[[str, int, Sequence[str]], Refused | None] | None = None,
    ) -> None:
        """Write files, and insert their rows one by one; `before` may refuse a row first."""
        for name, rows in files.items():
            self.inrush.write(name, text_of(header, rows))
            self.rows_read += len(rows)
        self.expected += insert(self.database, statement, files, before)

    def name_as_targets(self) -> None:
        """Replace the names `expected_NAME` in messages by those of the targets NAME."""
        self.expected = [
            replace(one, said=one.said.replace("expected_", "").removeprefix("_"))
            for one in self.expected
        ]

    def run(self, fault: str | None = None) -> Outcome:
        """Run the package, with a fault point if one is given."""
        environment = {"INRUSH_FAULT": fault} if fault else None
        return self.inrush("run", "package.toml", environment=environment)

    def assert_same_contents(self) -> None:
        """Fail unless each target has the same rows as the table beside it."""
        for target, beside, order in self.tables:
            assert_same_rows(self.database, target, beside, order)

    def assert_loaded(self, outcome: Outcome) -> None:
        """Fail unless the right rows are loaded, and the right ones were rejected."""
        self.assert_same_contents()
        assert_rejects(outcome, self.expected)

    def assert_done(self, outcome: Outcome) -> None:
        """Fail unless the run loaded all but the rejected rows, and accounts for each row."""
        outcome.expect(LOADED_WITH_REJECTS)
        self.assert_loaded(outcome)
        assert_account(outcome, self.rows_read, len(self.expected))

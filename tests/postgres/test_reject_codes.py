"""Each code of a reject: a bad row, and its report."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from harness.checkout import DOCS
from harness.command import LOADED_WITH_REJECTS, Inrush
from harness.packages import flow, package, step
from harness.servers import Database
from postgres.refusing import PLAIN_CODES

HELPERS = """
CREATE FUNCTION refuses(n int) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF n = 13 THEN RAISE EXCEPTION 'we do not like %', n USING HINT = 'take 14'; END IF;
    RETURN true;
END $$;
CREATE DOMAIN even AS int CHECK (VALUE % 2 = 0);
CREATE DOMAIN present AS int NOT NULL;
"""


@dataclass(frozen=True)
class Cause:
    """A row that the server refuses, on the fifth line of a file, and its report."""

    name: str
    columns: str
    good: str
    bad: str
    code: str
    said: tuple[str, ...]
    column: str | None = None
    value: str | None = None
    constraints: str = ""
    before: str = ""


CAUSES = [
    Cause("check", "amount int CHECK (amount > 0)", "5", "-5",
          "check_violated", ('"t_amount_check"', "CHECK ((amount > 0))", "fix the row")),
    Cause("check_of_two_columns", "a int, b int, CONSTRAINT order_ab CHECK (a < b)", "1,2", "2,1",
          "check_violated", ('"order_ab"', "(a < b)")),
    Cause("domain", "n even", "2", "3",
          "check_violated", ("domain even", "even_check"), "n", "3"),
    Cause("domain_not_null", "n present", "2", "",
          "null_not_allowed", ("means NULL", "is not nullable"), "n"),
    Cause("unique", "n int", "{n}", "1",
          "duplicate_key", ("(k, n)=(7, 1)", "UNIQUE (k, n)", "the first row is loaded"),
          constraints="UNIQUE (k, n)"),
    Cause("unique_index", "n text", "x{n}", "X1",
          "duplicate_key", ("(7, x1) already exists", "UNIQUE (k, lower(n))"),
          before="CREATE UNIQUE INDEX ON t (k, lower(n))"),
    Cause("deferrable_unique", "n int", "{n}", "1",
          "duplicate_key", ("(k, n)=(7, 1)",),
          constraints="UNIQUE (k, n) DEFERRABLE INITIALLY DEFERRED"),
    Cause("bad_json", "doc jsonb", "{{}}", "{{",
          "syntax", ("not JSON",), "doc", "{"),
    Cause("json_with_nul", "doc jsonb", "1", '"""\\u0000"""',
          "value_refused", ("\\u0000", "bytea"), "doc"),
    Cause("type_sent_as_text", "address inet", "10.0.0.1", "10.0.0.256",
          "value_refused", ("inet", "10.0.0.256"), "address", "10.0.0.256"),
    Cause("generated_column", "n int, m int GENERATED ALWAYS AS (100 / n) STORED", "5", "0",
          "value_refused", ("division by zero",)),
    Cause("function_that_raises", "n int CHECK (refuses(n))", "5", "13",
          "raised", ("we do not like 13", "take 14")),
    Cause("too_large_for_an_index", "n text", "x", "{long}",
          "too_large", ("index",), before="CREATE INDEX ON t (n)"),
]  # fmt: skip


def incompressible(length: int) -> str:
    """Return text that does not compress."""
    return "".join(random.Random(1).choices("0123456789abcdefghijklmnopqrstuvwxyz", k=length))  # noqa: S311


def names(columns: str) -> list[str]:
    """Return the columns of the file."""
    parts = [part for part in columns.split(", ") if "GENERATED" not in part]
    return [part.split()[0] for part in parts if not part.startswith("CONSTRAINT")]


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.name)
def test_each_cause_is_told(database: Database, inrush: Inrush, cause: Cause) -> None:
    constraints = f", {cause.constraints}" if cause.constraints else ""
    database.execute(
        HELPERS
        + f"CREATE TABLE t (k int NOT NULL, {cause.columns}{constraints}) PARTITION BY RANGE (k);"
        + cause.before
    )
    good = [f"7,{cause.good.format(n=n)}" for n in range(1, 7)]
    long = incompressible(12_000)
    bad = f"7,{cause.bad.format(long=long)}"
    header = ",".join(["k", *names(cause.columns)])
    lines = [header, *good[:3], bad, *good[3:]]
    inrush.write("rows.csv", "\n".join(lines) + "\n")
    text = package(database.url, flow("t", "rows.csv", mode="append", rejects={"rows_max": 1}))
    outcome = inrush("run", inrush.write("package.toml", text))
    outcome.expect(LOADED_WITH_REJECTS)
    assert database.value("SELECT count(*) FROM t") == 6
    (reject,) = outcome.rejects()
    print(reject["reason"])
    assert (reject["code"], reject["line"], reject["column"]) == (cause.code, 5, cause.column)
    assert reject["byte_offset"] == len("\n".join(lines[:4])) + 1
    if cause.value is not None:
        assert reject["value"] == cause.value
    for part in cause.said:
        assert part in reject["reason"]
    assert "inrush" not in reject["reason"]
    (rows,) = (outcome.run_folders()[-1] / "rejects").glob("*.rejects")
    assert rows.read_text().splitlines()[1:] == [bad]
    assert outcome.report["account"]["rows_read"] == 7


@dataclass(frozen=True)
class Form:
    """A second row whose fault is found before the row is sent, and its report."""

    code: str
    columns: tuple[Any, ...]
    rows: bytes
    said: tuple[str, ...]
    format: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    loaded: int = 1
    steps: tuple[str, ...] = ()


TSV = {"preset": "tsv"}
CSV = {"preset": "csv", "header": False}
TWO = ("id int", "note text")
LOCAL = {"name": "at", "type": "timestamptz", "zone": "Europe/Vienna"}
LOSSLESS = {"name": "id", "type": "int", "lossless": True}
KEYED = {"partition_by": "id", "bounds": [0, 10]}
FORMS = [
    Form("field_count", TWO, b"1,a\n2\n", ("1 field", "2 were expected"), CSV),
    Form("stray_quote", TWO, b'1,a\n2,a"b\n', ("inside an unquoted field",), CSV),
    Form("text_after_quote", TWO, b'1,a\n2,"a"b\n', ("follows a closing quote",), CSV),
    Form("unclosed_quote", TWO, b'1,a\n2,"a\n', ("ends inside the quoted field",), CSV),
    Form("dangling_escape", TWO, b"1\ta\n2\ta\\", ("right after an escape",), TSV),
    Form("trailing_delimiter_missing", TWO, b"1|a|\n2|a\n", ("does not end with '|'",),
         {"preset": "tbl"}),
    Form("bare_carriage_return", TWO, b"1,a\n2,a\rb\n", ("carriage return", '"cr"'), CSV),
    Form("end_marker", TWO, b"1\ta\n\\.\n3\tc\n", ("end-of-data marker",), TSV,
         loaded=2),
    Form("record_length", TWO, b"1 aa\n2 \n", ("shorter than 4 bytes",),
         {"fixed": [[1, 2], [3, 2]]}),
    Form("invalid_utf8", TWO, b"1,a\n2,\xff\n", ("not valid UTF-8", "windows-1252"), CSV),
    Form("nul_byte", TWO, b"1,a\n2,a\0b\n", ("NUL",), CSV),
    Form("null_not_allowed", ("id int not null", "note text"), b"1,a\n,a\n",
         ("means NULL", "is not nullable"), CSV),
    Form("syntax", TWO, b"1,a\nx,a\n", ("not a whole number",), CSV),
    Form("out_of_range", TWO, b"1,a\n99999999999,a\n", ("2147483647",), CSV),
    Form("fraction_lost", ("n numeric(4,1)",), b"1.5\n1.25\n", ("round",), CSV),
    Form("form_lost", (LOSSLESS,), b"1\n007\n", ("begins with a zero", "lossless = false"), CSV),
    Form("too_long", ("note varchar(2)",), b"ab\nabc\n",
         ("3 characters, but the column holds 2",), CSV),
    Form("unknown_label", ("m mood",), b"good\nso-so\n", ("good",), CSV),
    Form("ambiguous_local_time", (LOCAL,), b"2024-06-01 00:00:00\n2024-10-27 02:30:00\n",
         ("Europe/Vienna",), CSV),
    Form("zone_missing", ("at timestamptz",), b"2024-06-01 00:00:00Z\n2024-06-01 00:00:00\n",
         ("zone",), CSV),
    Form("outside_partition", ("id int not null",), b"1\n50\n", ("partition",), CSV, KEYED),
    Form("step_failed", TWO, b"1,7\n2,x\n", ("Could not convert string 'x'",), CSV,
         steps=(step(derive={"number": "note::INTEGER"}),)),
    Form("check_failed", TWO, b"1,a\n2,a\n", ("first ones only",), CSV,
         steps=(step(check="id < 2", name="first ones only"),)),
    Form("lookup_unmatched", TWO, b"1,a\n2,b\n", ("reference.csv",), CSV,
         steps=(step(lookup={"files": "reference.csv"}, on={"note": "key"}, take={"n": "name"}),)),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.code)
def test_each_form_is_told(newest_database: Database, inrush: Inrush, form: Form) -> None:
    newest_database.execute("CREATE TYPE mood AS ENUM ('good', 'bad')")
    inrush.write("rows.dat", form.rows)
    inrush.write("reference.csv", "key,name\na,first\n")
    settings: dict[str, Any] = {
        "format": form.format,
        "columns": list(form.columns),
        "rejects": {"rows_max": 1},
        **form.more,
    }
    text = package(newest_database.url, flow("t", "rows.dat", **settings), *form.steps)
    outcome = inrush("run", inrush.write("package.toml", text)).expect(LOADED_WITH_REJECTS)
    (reject,) = outcome.rejects()
    print(reject["reason"])
    assert (reject["code"], reject["line"]) == (form.code, 2)
    for part in form.said:
        assert part in reject["reason"]
    assert newest_database.value("SELECT count(*) FROM t") == form.loaded


def test_every_code_has_its_row_here() -> None:
    schema = json.loads((DOCS / "report.schema.json").read_text())
    codes = {code["const"] for code in schema["$defs"]["RejectCode"]["oneOf"]}
    shown = {cause.code for cause in CAUSES} | {form.code for form in FORMS} | PLAIN_CODES
    # No file can contain such rows (crates/convert/src/tests/typed.rs tests them).
    assert codes == shown | {"row_form"}

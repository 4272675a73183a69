"""Loads the table with FreeTDS (`freebcp`) from text files, or reads it (`PORT read`)."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from sqlserver.table import COLUMNS, TABLE, rows, text_of

# No value has these characters.
FIELD_END, ROW_END = "\x01", "\x02"
# A field with this byte alone is an empty text; an empty field is NULL.
EMPTY = "\x00"


def freebcp(direction: str, data: Path, port: int) -> None:
    """Run `freebcp`. It finds the server in a settings file."""
    settings = data.with_name("freetds.conf")
    lines = ["host = 127.0.0.1", f"port = {port}", "tds version = 7.4", "client charset = UTF-8"]
    # Without a size for texts, FreeTDS cuts long ones.
    lines += ["encryption = off", "text size = 1000000"]
    settings.write_text("\n".join(["[capture]", *lines, ""]))
    words: list[str | Path] = ["freebcp", TABLE, direction, data]
    words += ["-S", "capture", "-U", "sa", "-P", "password"]
    words += ["-D", "every_type", "-c", "-t", FIELD_END, "-r", ROW_END, "-h", "KEEP_NULLS"]
    environment = {**os.environ, "FREETDSCONF": str(settings)}
    subprocess.run(words, check=True, env=environment, stdout=sys.stderr)


def load(data: Path, port: int) -> None:
    """Load the table."""
    fields = [[written(text_of(value)) for value in row] for row in rows()]
    data.write_text("".join(FIELD_END.join(row) + ROW_END for row in fields))
    freebcp("in", data, port)


def read(data: Path, port: int) -> None:
    """Read the table, and print its rows as texts."""
    freebcp("out", data, port)
    # The bytes of a file may not be valid text; the comparison then shows the fault.
    lines = data.read_text(errors="backslashreplace").split(ROW_END)[:-1]
    found = [line.split(FIELD_END) for line in lines]
    kinds = [column.sql.split("(")[0] for column in COLUMNS]
    texts = [[canonical(*pair) for pair in zip(kinds, row, strict=True)] for row in found]
    print(json.dumps(texts))


def written(text: str | None) -> str:
    """Return a field."""
    return "" if text is None else text or EMPTY


def canonical(kind: str, text: str) -> str | None:
    """Return a value's text as `text_of` has it."""
    if not text:
        return None
    if text == EMPTY:
        return ""
    if kind in ("real", "float"):
        return repr(float(text))
    if kind == "uniqueidentifier":
        return text.lower()
    if kind in ("date", "time", "datetime", "datetime2", "smalldatetime"):
        # The client writes years without leading zeros.
        moment = datetime.datetime.fromisoformat(text.zfill(len("0001-01-01 00:00:00.000")))
        parts = {"date": moment.date(), "time": moment.time()}
        return text_of(parts.get(kind, moment))
    return text


with tempfile.TemporaryDirectory() as folder:
    (read if "read" in sys.argv[2:] else load)(Path(folder) / "rows.txt", int(sys.argv[1]))

"""Foreign clients read our own stream as the rows of a SELECT, and get the rows of the table.

A bulk load and a result have the same form ([MS-TDS] 2.2.6.1), so clients that read results from
SQL Server decode our bytes by code that is not ours. `make capture-tds` records it.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from sqlserver.capture import CLIENTS_OF, REPLAY, Client, digest
from sqlserver.table import COLUMNS, rows, text_of

READERS = [client for client in CLIENTS_OF if client.read is not None]

# For each client and column: why the client reads another text in at least one row.
_ZEROS = "it drops the zeros at the end of a decimal"
DIFFERENCES: dict[tuple[str, str], str] = {
    ("python-tds", "c_decimal_9"): _ZEROS,
    ("python-tds", "c_decimal_15"): _ZEROS,
    ("python-tds", "c_decimal_28"): _ZEROS,
    ("python-tds", "c_decimal_38"): _ZEROS,
    ("python-tds", "c_varchar_utf8"): "it reads UTF-8 as the code page of the database",
}


def replayed(client: Client) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((REPLAY / f"{client.name}.json").read_text())
    return found


@pytest.mark.parametrize("client", READERS, ids=lambda client: client.name)
def test_a_replay_is_of_the_stream_and_the_version(client: Client) -> None:
    found = replayed(client)
    assert found["version"] == client.version, "make capture-tds"
    assert found["stream_sha256"] == digest(), "make capture-tds"


@pytest.mark.parametrize("client", READERS, ids=lambda client: client.name)
def test_others_read_the_values_of_the_table(client: Client) -> None:
    expected = [[text_of(value) for value in row] for row in rows()]
    found = replayed(client)["rows"]
    assert len(found) == len(expected)
    different = {
        COLUMNS[place].name
        for ours, theirs in zip(expected, found, strict=True)
        for place, pair in enumerate(zip(ours, theirs, strict=True))
        if pair[0] != pair[1]
    }
    assert different == {column for name, column in DIFFERENCES if name == client.name}


def test_no_replay_is_left_over() -> None:
    assert {file.stem for file in REPLAY.glob("*.json")} == {client.name for client in READERS}

"""The captures fit the table; `crates/tds/tests/bulk/captures.rs` compares their bytes."""

from __future__ import annotations

import json

import pytest

from sqlserver.capture import CAPTURES, CLIENTS_OF, Client
from sqlserver.table import COLUMNS, as_json
from sqlserver.tokens import description


def test_the_table_is_the_one_that_clients_load() -> None:
    assert (CAPTURES / "table.json").read_text() == as_json(), "make capture-tds"


@pytest.mark.parametrize("client", CLIENTS_OF, ids=lambda client: client.name)
def test_a_capture_is_of_the_version_that_is_named(client: Client) -> None:
    capture = json.loads((CAPTURES / f"{client.name}.json").read_text())
    assert capture["version"] == client.version, "make capture-tds"
    assert "insert bulk" in capture["statement"].lower()


def test_a_description_has_all_columns() -> None:
    data = description(COLUMNS)
    assert data[:3] == b"\x81" + len(COLUMNS).to_bytes(2, "little")

"""The server as the fuzzer's oracle: each input is loaded by COPY BINARY and by the extension.

Both must fail with the same message, or store the same tuples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from extension.fuzzed import FuzzedLoad
from extension.raw_session import RawSession, Reply, statement
from extension.stored import assert_same_tuples_of
from extension.twins import copy_statement
from harness.servers import Database


@dataclass
class Compared:
    """The number of compared loads, and how they ended."""

    inputs: int = 0
    # The numbers of loads that COPY accepted, of their rows, and of their fields that are not NULL.
    stored: int = 0
    rows: int = 0
    values: int = 0
    # The number of loads that COPY refused, for each SQLSTATE.
    refused: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        """Return a line for the reader of a run."""
        refused = ", ".join(f"{state} {count}" for state, count in self.refused.most_common())
        return (
            f"{self.inputs} inputs: {self.stored} loads stored {self.rows} rows with {self.values}"
            f" values; {self.refused.total()} were refused ({refused})"
        )


def compare(database: Database, inputs: Iterable[tuple[str, bytes]], way: str) -> Compared:
    """Load each input into a table of `a` and one of `b`, and fail where the two differ."""
    compared = Compared()
    # The tables that have rows, each with its input.
    made: dict[str, str] = {}
    with RawSession(database) as session:
        opened = session.run("SELECT inrush_fastcopy.open()")
        assert not [reply for reply in opened if reply.kind == "E"], opened
        for number, (name, data) in enumerate(inputs):
            load = FuzzedLoad.of(data)
            compared.inputs += load is not None
            table = f"{way}_{number}"
            while load is not None:
                place = f"input {name}, way {way}: {load.create(table)}, body {load.body.hex()}"
                error = _refusal(session, load, table, way, place)
                if error is None:
                    made[table] = place
                    rows = load.rows()
                    compared.stored += 1
                    compared.rows += len(rows)
                    compared.values += sum(value is not None for row in rows for value in row)
                    break
                compared.refused[error.sqlstate or ""] += 1
                load = load.without(error)
    assert_same_tuples_of(database, made)
    return compared


def _refusal(
    session: RawSession, load: FuzzedLoad, table: str, way: str, place: str
) -> Reply | None:
    """Load both ways, fail unless both end alike, and return the error if they failed."""
    told = []
    for schema, form in (("a", "FORMAT binary"), ("b", f"FORMAT inrush, WAY {way}")):
        name = f"{schema}.{table}"
        copy = copy_statement(name, load.loaded, form).decode()
        # One message is one transaction: a table whose load fails does not exist afterwards.
        made = f"{load.create(name)}; {copy}; COPY {name} TO STDOUT (FORMAT binary)"
        session.send(statement(made) + load.messages())
        told.append(session.until_ready())
    assert told[1] == told[0], place
    copied = told[0]
    assert any(reply.kind == "G" for reply in copied), f"no COPY began, {place}: {copied}"
    assert copied[-1].kind == "Z", f"the server ended the session, {place}: {copied}"
    return next((reply for reply in copied if reply.kind == "E"), None)

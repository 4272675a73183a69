"""A server of Arrow Flight SQL that returns a result in partitions, for the ADBC driver.

It has only the calls that the driver needs to read. When the driver asks for the `FlightInfo` of a
statement, DuckDB runs the statement. Each endpoint of the `FlightInfo` is a partition of the
result.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

import duckdb
from pyarrow import flight


def fields(message: bytes) -> dict[int, bytes]:
    """Return those fields of a protobuf message that have a length: texts and inner messages."""
    found: dict[int, bytes] = {}
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = number()
        assert tag & 7 == 2, f"a field of another kind in {message!r}"
        size = number()
        found[tag >> 3] = message[at : at + size]
        at += size
    return found


class FlightSql(flight.FlightServerBase):  # type: ignore[misc]
    """The server. It cuts each result at the same rows, and can fail within a partition."""

    def __init__(self, rows: str, cuts: Sequence[int]) -> None:
        super().__init__("grpc://127.0.0.1:0")
        self.database = duckdb.connect()
        self.database.execute(f"CREATE TABLE t AS {rows}")
        self.cuts = cuts
        self.statements: list[str] = []
        # The partitions that were read, and by which client.
        self.read: list[tuple[int, str]] = []
        # The partition whose stream breaks off after its first batch.
        self.fails_in: int | None = None
        self._lock = threading.Lock()
        self._results: list[Any] = []

    def __enter__(self) -> FlightSql:
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.shutdown()

    def get_flight_info(self, context: Any, descriptor: Any) -> Any:  # noqa: ARG002
        """Run a statement, and offer its result in partitions."""
        about = fields(descriptor.command)
        if not about[1].endswith(b"CommandStatementQuery"):
            raise flight.FlightUnavailableError(f"{about[1]!r} is not known here")
        statement = fields(about[2])[1].decode()
        with self._lock:
            self.statements.append(statement)
            result = self.database.sql(statement).to_arrow_table()
            self._results.append(result)
            number = len(self._results) - 1
        # A statement with a condition that is never true only asks for the columns.
        has_rows = "1 = 0" not in statement
        cuts = [cut for cut in self.cuts if has_rows and cut <= result.num_rows]
        bounds = itertools.pairwise((0, *cuts, result.num_rows))
        endpoints = [
            flight.FlightEndpoint(f"{number} {at} {start} {end}", [])
            for at, (start, end) in enumerate(bounds)
        ]
        return flight.FlightInfo(result.schema, descriptor, endpoints, result.num_rows, -1)

    def do_get(self, context: Any, ticket: Any) -> Any:
        """Send a partition."""
        number, at, start, end = map(int, ticket.ticket.split())
        rows = self._results[number].slice(start, end - start)
        with self._lock:
            if "1 = 0" not in self.statements[number]:
                self.read.append((at, context.peer()))
            fails = self.fails_in == at

        def batches() -> Iterator[Any]:
            for batch in rows.to_batches(max_chunksize=1_000):
                yield batch
                if fails:
                    raise flight.FlightInternalError("the partition broke off")

        return flight.GeneratorStream(rows.schema, batches())

"""Statements for sessions of the double, and their errors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sqlserver.double import Session, SqlError

# Opens a session that waits for nothing.
OpenSession = Callable[[], Session]


def fails(session: Session, number: int, statement: str) -> None:
    """Fail unless a statement fails with this error."""
    with pytest.raises(SqlError) as raised:
        session.execute(statement)
    assert raised.value.number == number, raised.value


TABLE = "CREATE TABLE t (id int NOT NULL, note nvarchar(4) NULL)"


# A table whose partitions begin at 10 and at 20, and another one like it.
PARTITIONED = (
    "CREATE PARTITION FUNCTION pf (int) AS RANGE RIGHT FOR VALUES (20, 10)",
    "CREATE PARTITION SCHEME ps AS PARTITION pf ALL TO ([PRIMARY])",
    "CREATE TABLE p (id int NOT NULL, note nvarchar(4) NULL) ON ps(id)",
)


OTHER = "CREATE TABLE s (id int NOT NULL, note nvarchar(4) NULL) ON ps(id)"

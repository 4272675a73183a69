"""Refuses statements and catalog views that the double's version and edition do not have.

The double's SERVERPROPERTY names the version and the edition.

Babelfish: https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/babelfish-partition.html and
contrib/babelfishpg_tsql/src/tsqlUnsupportedFeatureHandler.cpp of babelfish_extensions.
"""

from __future__ import annotations

from typing import Any

from .errors import SqlError
from .nodes import Node
from .storage import Database

# Views of the catalog that Babelfish lacks (sql/sys_views.sql of babelfish_extensions).
_NOT_IN_BABELFISH = (
    "allocation_units",
    "change_tracking_tables",
    "fulltext_indexes",
    "dm_exec_requests",
    "dm_db_partition_stats",
    "dm_db_column_store_row_group_physical_stats",
)
_SQL_SERVER_2019 = 15


def is_babelfish(database: Database) -> bool:
    """Return whether the server is Babelfish."""
    return bool(database.properties.get("BABELFISH"))


def catalog_name(database: Database, name: str) -> str:
    """Return a name as the catalog has it; Babelfish's catalog has names in lower case."""
    return name.lower() if is_babelfish(database) else name


def refuse_statement(database: Database, statement: Node) -> None:
    """Refuse a statement that Babelfish does not have (error 33557097)."""
    if not is_babelfish(database):
        return
    kind, *rest = statement
    unknown: dict[str, Any] = {
        "switch": "ALTER TABLE SWITCH",
        "split_range": "ALTER PARTITION FUNCTION",
        "next_used": "ALTER PARTITION SCHEME",
        "truncate": "TRUNCATE TABLE WITH PARTITIONS" if rest[-1:] != [None] else None,
        "create_partition_function": None if rest[2:3] == [True] else "RANGE LEFT",
        "create_index": "CREATE COLUMNSTORE INDEX" if _is_columnstore(rest) else None,
        "add_constraint": "ALTER TABLE WITH CHECK" if _has_check(rest) else None,
    }
    if unknown.get(kind):
        raise SqlError(33557097, unknown[kind])


def _is_columnstore(parts: list[Any]) -> bool:
    return len(parts) > 1 and bool(getattr(parts[1], "columnstore", False))


def _has_check(parts: list[Any]) -> bool:
    return len(parts) > 1 and isinstance(parts[1], tuple) and parts[1][0] == "check"


def view_id(database: Database, name: str) -> int | None:
    """Return a number for a view of the catalog, if the server has it."""
    return None if is_babelfish(database) and name in _NOT_IN_BABELFISH else -1


def refuse_view(database: Database, name: str) -> None:
    """Refuse a view of the catalog that Babelfish lacks (error 208)."""
    if view_id(database, name) is None:
        raise SqlError(208, f"sys.{name}")


def refuse_bulk_load(database: Database, partition_column: str | None) -> None:
    """Refuse a bulk load into a partitioned table of Babelfish."""
    if is_babelfish(database) and partition_column is not None:
        raise SqlError(33557097, "INSERT BULK into a partitioned table")


def refuse_collation(database: Database, name: str) -> None:
    """Refuse a collation of UTF-8 before SQL Server 2019 (error 448)."""
    major = int(str(database.properties["PRODUCTVERSION"]).split(".")[0])
    is_azure = database.properties["ENGINEEDITION"] in (5, 8, 12)
    is_old = major < _SQL_SERVER_2019 and not is_azure
    if name.upper().endswith("_UTF8") and (is_old or is_babelfish(database)):
        raise SqlError(448, name)

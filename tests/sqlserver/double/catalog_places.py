"""The catalog of the double: where tables and indexes are, their partitions, keys and CHECKs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from .catalog_view import View, view
from .editions import is_babelfish
from .nodes import PRIMARY, Index
from .partitions import PartitionScheme, partition_of, scheme_of
from .storage import Database, Table

_HEAP = 0


def _numbered(table: Table) -> list[tuple[int, Index | None]]:
    """Return the indexes of a table with their numbers: 0 is a heap, 1 the clustered index."""
    clustered = [index for index in table.indexes if index.clustered]
    others = [index for index in table.indexes if not index.clustered]
    first: tuple[int, Index | None] = (1, clustered[0]) if clustered else (_HEAP, None)
    return [first, *enumerate(others, start=2)]


def _kind(index: Index | None) -> int:
    if index is None:
        return 0
    if index.columnstore:
        return 5 if index.clustered else 6
    return 1 if index.clustered else 2


def _rows_by_partition(scheme: PartitionScheme | None, table: Table) -> Counter[int]:
    if scheme is None:
        return Counter({1: table.row_count})
    rows = [row.values for row in table.rows if not row.deleted]
    rows += [values for chunk in table.chunks for values in chunk.rows(table.columns)]
    return Counter(partition_of(scheme, table, values) for values in rows)


def _partitions(database: Database, tables: list[Table]) -> View:
    rows: list[list[Any]] = []
    for table in tables:
        scheme = scheme_of(database, table)
        rows_of = _rows_by_partition(scheme, table)
        for index_id, _ in _numbered(table):
            for number in range(1, (scheme.function.fanout if scheme else 1) + 1):
                is_first = number == 1 and index_id < 2
                hobt = table.object_id if is_first else -len(rows) - 1
                compression = table.compression.get(number) or table.compression.get(0, "NONE")
                name = compression if index_id == _HEAP else "NONE"
                counted = rows_of[number] * database.counted_rows_of_a_row
                if is_babelfish(database):
                    # In Babelfish this is PostgreSQL's estimate, which is 0 until somebody runs
                    # ANALYZE.
                    counted = 0
                rows.append([table.object_id, hobt, index_id, number, name, counted])
    return view("object_id hobt_id index_id partition_number data_compression_desc rows", rows)


def _indexes(database: Database, tables: list[Table]) -> View:
    # The clustered indexes of indexed views.
    rows: list[list[Any]] = [
        [number, 1, PRIMARY, 1, name, 1, 0, 0, 0, 0, None]
        for number, name in database.numbered_views()
    ]
    for table in tables:
        for index_id, index in _numbered(table):
            space = table.space if index is None else index.space
            rows.append([table.object_id, index_id, space, _kind(index), *_facts(index)])
    return view(
        "object_id index_id data_space_id type name is_unique is_primary_key is_unique_constraint "
        "is_disabled ignore_dup_key filter_definition",
        rows,
    )


def _facts(index: Index | None) -> list[Any]:
    if index is None:
        return [None, 0, 0, 0, 0, 0, None]
    is_unique_constraint = index.is_constraint and not index.is_primary
    return [
        *(index.name, int(index.unique), int(index.is_primary), int(is_unique_constraint)),
        *(0, 0, index.where_text),
    ]


def _index_columns(_: Database, tables: list[Table]) -> View:
    rows: list[list[Any]] = []
    for table in tables:
        for index_id, index in _numbered(table):
            keys = [] if index is None else index.columns
            number = 0
            partition = (table.partition_column or "").lower()
            named: set[str] = set()
            for column, descending in zip(keys, index.descending if index else [], strict=True):
                number += 1
                named.add(column.lower())
                rows.append(
                    [
                        *(table.object_id, index_id, number, _column_id(table, column), number),
                        *(int(column.lower() == partition), int(descending), 0),
                    ]
                )
            for column in index.included if index else []:
                number += 1
                rows.append(
                    [table.object_id, index_id, number, _column_id(table, column), 0, 0, 0, 1]
                )
            if partition and partition not in named:
                at = _column_id(table, partition)
                rows.append([table.object_id, index_id, number + 1, at, 0, 1, 0, 0])
    return view(
        "object_id index_id index_column_id column_id key_ordinal partition_ordinal "
        "is_descending_key is_included_column",
        rows,
    )


def _column_id(table: Table, name: str) -> int:
    place = table.place(name)
    assert place is not None
    return place + 1


def _checks(_: Database, tables: list[Table]) -> View:
    rows = [
        [
            *(check.name, table.object_id, check.text, 0),
            *(int(not check.is_trusted), int(check.not_for_replication)),
        ]
        for table in tables
        for check in table.checks
    ]
    return view(
        "name parent_object_id definition is_disabled is_not_trusted is_not_for_replication", rows
    )


def _data_spaces(database: Database, _: list[Table]) -> View:
    rows = [[name, name, "FG"] for name in database.filegroups]
    rows += [[scheme.name, scheme.name, "PS"] for scheme in database.schemes.values()]
    return view("name data_space_id type", rows)


def _schemes(database: Database, _: list[Table]) -> View:
    rows = [[one.name, one.name, one.function.name] for one in database.schemes.values()]
    return view("name data_space_id function_id", rows)


def _functions(database: Database, _: list[Table]) -> View:
    functions = database.functions.values()
    rows = [
        [one.name, one.name, int(one.is_right), one.fanout, str(one.changes)] for one in functions
    ]
    return view("name function_id boundary_value_on_right fanout modify_date", rows)


def _bounds(database: Database, _: list[Table]) -> View:
    rows = [
        [function.name, number, str(bound)]
        for function in database.functions.values()
        for number, bound in enumerate(function.bounds, start=1)
    ]
    return view("function_id boundary_id value", rows)


# The views of this file, by their names.
PLACES: dict[str, Callable[[Database, list[Table]], View]] = {
    "partitions": _partitions,
    "indexes": _indexes,
    "index_columns": _index_columns,
    "check_constraints": _checks,
    "data_spaces": _data_spaces,
    "partition_schemes": _schemes,
    "partition_functions": _functions,
    "partition_range_values": _bounds,
}

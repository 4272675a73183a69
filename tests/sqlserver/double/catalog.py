"""The catalog of the double: the rows of the views of `sys` that queries ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .catalog_files import FILES
from .catalog_places import PLACES
from .catalog_sessions import connections, requests, session_waits, sessions
from .catalog_view import View, view
from .columnstore import rowgroups
from .editions import catalog_name, refuse_view
from .errors import NotInDoubleError, SqlError
from .lexer import Name
from .partitions import large_value_space
from .storage import Database, Table
from .storage import View as TableView

if TYPE_CHECKING:
    from .base import SessionBase

_PAGE_BYTES = 8192
_ROWGROUPS = "dm_db_column_store_row_group_physical_stats"
_OF_OBJECTS = (
    *("objects", "tables", "columns", "partitions", "allocation_units", "indexes"),
    *("index_columns", "check_constraints", _ROWGROUPS),
    *("change_tracking_tables", "fulltext_indexes", "triggers"),
)
# "1 = Column uses ANSI_PADDING ON behavior if character, binary, or variant."
_PADDED = ("char", "varchar", "nchar", "nvarchar", "binary", "varbinary")
# Views with a row for each table that has a trait.
_TRAITS = {"change_tracking_tables": "change_tracking", "fulltext_indexes": "fulltext_index"}
_REPLICATED = ("is_published", "is_merge_published", "is_replicated", "is_tracked_by_cdc")
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19, "real": 24, "float": 53}


def catalog_view(session: SessionBase, name: str, object_id: int | None) -> View:
    """Return a view of `sys` with the rows of one object, or of all objects.

    The query waits for objects that another session is changing.
    """
    database = session.database
    name = name.lower()
    refuse_view(database, name)
    objects: list[Table | TableView] = []
    if name in _OF_OBJECTS:
        for (schema, own), known in list(database.objects.items()):
            if object_id in (None, known.object_id):
                found = session.find(Name(schema, own))
                objects += [] if found is None else [found]
    tables = [one for one in objects if isinstance(one, Table)]
    if name == "schemas":
        return view("name schema_id", [[own, own] for own in database.schemas.values()])
    if name == "objects":
        kinds = [[one.object_id, one.name, one.schema, _kind(one)] for one in objects]
        return view("object_id name schema_id type", kinds)
    if name == "tables":
        return _tables(tables)
    if name in _TRAITS:
        marked = [[one.object_id] for one in tables if _TRAITS[name] in one.traits]
        return view("object_id", marked)
    if name == "columns":
        return _columns(database, tables)
    if name in PLACES:
        return PLACES[name](database, tables)
    if name == "dm_exec_connections":
        return connections(session)
    if name == "dm_exec_session_wait_stats":
        return session_waits(session)
    if name == "dm_exec_requests":
        return requests(session)
    if name == "dm_exec_sessions":
        return sessions(session)
    if name in FILES:
        return FILES[name](database)
    if name == "allocation_units":
        pages = [
            [
                one.object_id,
                max(-(-one.bytes // _PAGE_BYTES), one.row_count * database.pages_of_a_row),
            ]
            for one in tables
        ]
        return view("container_id total_pages", pages)
    if name == _ROWGROUPS:
        if not database.shows_rowgroups:
            raise SqlError(262, "VIEW DATABASE STATE", database.name)
        return view(
            "object_id index_id partition_number row_group_id state_desc total_rows "
            "trim_reason_desc",
            rowgroups(tables),
        )
    if name == "databases":
        snapshots = int(database.reads_snapshots)
        names = (
            "name is_read_committed_snapshot_on snapshot_isolation_state recovery_model_desc "
            "replica_id"
        )
        facts = [int(database.allows_snapshots), database.recovery_model, database.replica_id]
        return view(names, [[database.name, snapshots, *facts]])
    if name == "views":
        return view("object_id name", [list(one) for one in database.numbered_views()])
    if name == "sql_expression_dependencies":
        return view(
            "referenced_id is_schema_bound_reference referencing_id",
            [
                [one.object_id, 1, number]
                for number, name in database.numbered_views()
                for one in database.objects.values()
                if one.name == database.indexed_views[name]
            ],
        )
    if name == "foreign_keys":
        ids = {one.name: one.object_id for one in database.objects.values()}
        return view(
            "name parent_object_id referenced_object_id delete_referential_action is_disabled",
            [
                [one.name, ids.get(one.table), ids.get(one.referenced), one.on_delete, 0]
                for one in database.foreign_keys
            ],
        )
    if name != "triggers":
        raise NotInDoubleError(f"sys.{name}")
    triggers = [[f"of_{one.name}", one.object_id, 0] for one in tables if "trigger" in one.traits]
    return view("name parent_id is_disabled", triggers)


def _kind(one: Any) -> str:
    return "U " if isinstance(one, Table) else "V "


def _tables(tables: list[Table]) -> View:
    rows = [
        [
            *(one.object_id, one.name, one.schema, int("memory_optimized" in one.traits)),
            # "1 = HISTORY_TABLE", "2 = SYSTEM_VERSIONED_TEMPORAL_TABLE".
            2 if "temporal" in one.traits else int("history" in one.traits),
            *(int(trait in one.traits) for trait in _REPLICATED),
            *(int("out_of_row" in one.traits), 256 if "text_in_row" in one.traits else 0),
            # The space of large values; 0 if the table has no columns for them.
            large_value_space(one) or 0,
        ]
        for one in tables
    ]
    return view(
        "object_id name schema_id is_memory_optimized temporal_type "
        + " ".join(_REPLICATED)
        + " large_value_types_out_of_row text_in_row_limit lob_data_space_id",
        rows,
    )


def _columns(database: Database, tables: list[Table]) -> View:
    names = (
        "object_id name column_id system_type_id max_length precision scale collation_name "
        "is_nullable is_identity is_computed generated_always_type default_object_id "
        "encryption_type is_rowguidcol is_filestream is_ansi_padded xml_collection_id "
        "rule_object_id"
    )
    rows = []
    for table in tables:
        for number, column in enumerate(table.columns, start=1):
            kind = column.kind
            digits = kind.precision or _DIGITS.get(kind.name, 0)
            rows.append(
                [
                    *(table.object_id, catalog_name(database, column.name), number, kind.name),
                    *(kind.length if kind.length else kind.max_length, digits, kind.scale),
                    *(kind.collation, int(column.nullable), int(column.identity)),
                    *(int(column.computed is not None), 0),
                    *(int(column.default is not None), None),
                    *(int("rowguidcol" in column.traits), int("filestream" in column.traits)),
                    int(kind.name in _PADDED and "ansi_unpadded" not in column.traits),
                    *(int("xml_collection" in column.traits), int("rule" in column.traits)),
                ]
            )
    return view(names, rows)

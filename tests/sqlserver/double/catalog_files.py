"""The catalog of the double: files, filegroups, the server's services, and indexed views.

Columns, values and rights follow Microsoft's documentation of sys.database_files, sys.filegroups,
sys.destination_data_spaces and sys.dm_server_services
(https://learn.microsoft.com/sql/relational-databases/system-catalog-views/ and
system-dynamic-management-views/). `size`, `max_size` and `growth` count pages of 8 KiB. A file with
`max_size` -1 grows until the disk is full; a file with `growth` 0 does not grow.
"""

from __future__ import annotations

from collections.abc import Callable

from .catalog_view import View, view
from .errors import SqlError
from .storage import Database

_LOG = 0


def _files(database: Database) -> View:
    rows = [
        [
            *(one.name, one.filegroup or _LOG, "ROWS" if one.filegroup else "LOG"),
            *(one.size, one.max_size, one.growth),
        ]
        for one in database.files
    ]
    return view("name data_space_id type_desc size max_size growth", rows)


def _filegroups(database: Database) -> View:
    rows = [[name, name, int(number == 0)] for number, name in enumerate(database.filegroups)]
    return view("name data_space_id is_default", rows)


def _destinations(database: Database) -> View:
    rows = [
        [scheme.name, number, filegroup]
        for scheme in database.schemes.values()
        for number, filegroup in enumerate(scheme.filegroups, start=1)
    ]
    return view("partition_scheme_id destination_id data_space_id", rows)


def _services(database: Database) -> View:
    if not database.shows_server_state:
        raise SqlError(300, "VIEW SERVER STATE", "server", "master")
    enabled = "Y" if database.grows_files_at_once else "N"
    rows = [
        ["SQL Server Agent (MSSQLSERVER)", "N"],
        ["SQL Server (MSSQLSERVER)", enabled],
    ]
    return view("servicename instant_file_initialization_enabled", rows)


# The views of this file, by their names.
FILES: dict[str, Callable[[Database], View]] = {
    "database_files": _files,
    "filegroups": _filegroups,
    "destination_data_spaces": _destinations,
    "dm_server_services": _services,
}

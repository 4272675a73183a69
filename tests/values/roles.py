"""Settings of a role or a database that change how a server reads or writes values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

import psycopg

from harness.servers import Database

# Settings that a server without the locale accepts for a role.
VALUES = {
    "DateStyle": ("German, DMY", "SQL, DMY", "ISO, DMY", "Postgres, MDY", "SQL, MDY"),
    "IntervalStyle": ("sql_standard", "iso_8601", "postgres_verbose"),
    "TimeZone": ("Asia/Kolkata", "America/New_York", "Pacific/Auckland"),
    "timezone_abbreviations": ("Australia", "India"),
    "lc_monetary": ("de_DE.UTF-8", "C", "ja_JP.UTF-8"),
    "lc_numeric": ("de_DE.UTF-8", "C"),
    "lc_time": ("de_DE.UTF-8", "C"),
    "array_nulls": ("off",),
    "xmloption": ("document",),
    "xmlbinary": ("hex",),
    "extra_float_digits": ("-15", "0", "3"),
    "bytea_output": ("escape",),
    "standard_conforming_strings": ("off",),
    "backslash_quote": ("on", "off"),
    "escape_string_warning": ("off",),
    "default_text_search_config": ("pg_catalog.german",),
    "client_encoding": ("LATIN1", "SJIS"),
    "search_path": ("elsewhere, public",),
    "transform_null_equals": ("on",),
    "quote_all_identifiers": ("on",),
    "synchronize_seqscans": ("off",),
}
# Settings that are known to change what an input function reads.
READING = "DateStyle IntervalStyle TimeZone lc_monetary array_nulls xmloption".split()
SCOPES = ("role", "database", "role in database")


@dataclass(frozen=True)
class RoleSetting:
    """A setting, and the role or database that has it."""

    name: str
    value: str
    scope: str

    def __str__(self) -> str:
        """Return it as one line."""
        return f"{self.scope}: {self.name} = {self.value}"

    def statement(self, database: Database) -> str:
        """Return the statement that sets it."""
        value = self.value
        if self.name != "search_path":
            value = "'" + value + "'"
        whom = {
            "role": f"ROLE {database.server.user}",
            "database": f'DATABASE "{database.name}"',
            "role in database": f'ROLE {database.server.user} IN DATABASE "{database.name}"',
        }[self.scope]
        return f"ALTER {whom} SET {self.name} = {value}"


def draw(random: Random) -> tuple[RoleSetting, ...]:
    """Return settings: none in a third of the cases."""
    if random.random() < 0.25:
        return ()
    names = [name for name in VALUES if random.random() < (0.4 if name in READING else 0.1)]
    return tuple(
        RoleSetting(name, random.choice(VALUES[name]), random.choice(SCOPES)) for name in names
    )


@contextmanager
def given(database: Database, settings: tuple[RoleSetting, ...]) -> Iterator[list[RoleSetting]]:
    """Give settings to a role and a database, and take them away again.

    Settings that the server does not know, such as a locale that is not installed, are left out.
    """
    held: list[RoleSetting] = []
    with database.connect() as connection:
        for setting in settings:
            try:
                connection.execute(setting.statement(database).encode())
            except psycopg.Error:
                if not setting.name.startswith("lc_"):
                    raise
                continue
            held.append(setting)
    database.server.close_kept_sessions()
    try:
        yield held
    finally:
        # A setting may lock its own role out, so this connection has another role.
        with database.connect() as connection:
            user, name = database.server.user, database.name
            for whom in (f"ROLE {user}", f'DATABASE "{name}"', f'ROLE {user} IN DATABASE "{name}"'):
                connection.execute(f"ALTER {whom} RESET ALL".encode())
        database.server.close_kept_sessions()

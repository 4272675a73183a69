"""No setting of a role, a database or a session changes a value that is loaded.

`docs/connections.md` says what Inrush does about every setting that a role can have. Here all of
them are set, in every way in which a site can set them. A setting that the page lacks makes a test
fail.
"""

from __future__ import annotations

import fnmatch
import itertools
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from conftest import FindPrograms
from harness import servers
from harness.checkout import DOCS
from harness.command import CLEAN, LOADED_WITH_REJECTS, Inrush
from harness.contents import state
from harness.servers import Database, Server

PAGE = DOCS / "connections.md"
LOCALE = "de_DE.UTF-8"
ROLE = "loader"

# A type, and texts that a server reads differently under some setting.
VALUES: list[tuple[str, list[str]]] = [
    ("money", ["1234.56", "-0.05", "$1,234.50"]),
    ("text[]", ["{a,NULL,b}", '{"NULL",x}', "{}"]),
    ("int[]", ["{1,NULL,3}", "{}", "{{1,2},{3,4}}"]),
    ("money[]", ["{1234.56,NULL}", "{}", "{0.05}"]),
    (
        "timestamptz",
        ["2024-02-03 04:05:06 EST", "2024-02-03 04:05:06+01", "2024-07-03 04:05:06 CST"],
    ),
    ("timestamptz[]", ["{2024-02-03 04:05:06 EST}", "{2024-02-03 04:05:06}", "{NULL}"]),
    ("tstzrange", ["[2024-02-03 04:05:06 IST,)", "[2024-02-03,2024-03-04)", "empty"]),
    ("timestamp", ["2024-02-03 04:05:06", "2024-12-31 23:59:59.999999", "infinity"]),
    ("timestamp[]", ["{01-02-2024}", "{2024-02-03 04:05:06}", "{NULL}"]),
    ("date", ["2024-02-03", "infinity", "0044-03-15 BC"]),
    ("date[]", ["{01/02/2024,NULL}", "{2024-02-03}", "{}"]),
    ("daterange", ["[01-02-2024,03-04-2024)", "empty", "(,)"]),
    ("time", ["04:05:06", "24:00:00", "00:00:00.000001"]),
    ("timetz", ["04:05:06+01", "04:05:06 EST", "04:05:06-00:30"]),
    ("interval", ["-1 day +2:03:04", "P1Y2M3DT4H5M6S", "1 year"]),
    ("interval[]", ["{-1 2:03:04}", "{1-2 3 4:05:06}", "{}"]),
    ("double precision", ["0.1", "1e308", "NaN"]),
    ("real[]", ["{0.1,1e30}", "{NULL}", "{}"]),
    ("numeric", ["1234.56", "0.000000001", "NaN"]),
    ("bytea", ["\\x00ff", "\\\\x", "\\x"]),
    ("bytea[]", ['{"\\\\x00ff"}', "{NULL}", "{}"]),
    ("text", ["a\\b'c", "NULL", "E'x'"]),
    ("name", ["Upper", "with space", "x"]),
    ("bool", ["true", "off", "1"]),
    ("jsonb", ['{"a": 1.10}', "null", '"NULL"']),
    ("tsvector", ["a fat cat", "'The' rat:2A", ""]),
    ("tsquery", ["fat & rat", "'The'", "!cat"]),
    ("regclass", ["pg_class", "pg_catalog.pg_type", "0"]),
    ("regtype", ["int4", "pg_catalog.text", "bool"]),
    ("regconfig", ["english", "simple", "pg_catalog.german"]),
    ("inet", ["10.0.0.1/8", "::1", "10.1.2.3"]),
    ("bit(4)", ["1010", "0000", "1111"]),
    ("point", ["(0.1,2)", "(1e10,-3)", "(0,0)"]),
    ("uuid", ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"] * 3),
    ("oid", ["26", "0", "4294967295"]),
    ("int4range", ["[1,5)", "empty", "(,3]"]),
    ("numrange[]", ['{"[1.5,2)"}', "{}", "{NULL}"]),
]

# Harmful values of settings that are neither a switch nor one of a list of words.
HOSTILE = {
    "lc_monetary": LOCALE,
    "lc_numeric": LOCALE,
    "lc_time": LOCALE,
    "lc_messages": LOCALE,
    "DateStyle": "SQL, DMY",
    "TimeZone": "Asia/Kolkata",
    "timezone_abbreviations": "India",
    "search_path": "evil, public",
    "client_encoding": "LATIN1",
    "default_text_search_config": "pg_catalog.german",
    "extra_float_digits": "-15",
    # Even a tenth of this timeout could end a session before its first statement.
    "statement_timeout": "1000",
    "lock_timeout": "1000",
    "idle_in_transaction_session_timeout": "1000",
    "idle_session_timeout": "1000",
    "transaction_timeout": "1000",
    "gin_fuzzy_search_limit": "1",
    "application_name": "somebody else",
    "restrict_nonsystem_relation_kind": "foreign-table",
    "work_mem": "64",
    "geqo_threshold": "2",
    "from_collapse_limit": "1",
    "join_collapse_limit": "1",
    "default_statistics_target": "1",
    "log_min_duration_statement": "0",
}
# These are not set, because they would stop every session of every client, or the harness itself.
UNPLAYABLE = {
    # These settings belong to one transaction, and PostgreSQL does not store them for a role.
    # (Settings of the context `backend` cannot be set for a role either.)
    "transaction_deferrable",
    "transaction_isolation",
    "transaction_read_only",
    # This setting writes every page of every file into the log.
    "wal_consistency_checking",
    # Each needs files on the server, or a build with assertions.
    "debug_discard_caches",
    # This setting makes the server read damaged pages as empty, but no page is damaged.
    "zero_damaged_pages",
}

SETTABLE = (
    "SELECT name, context, vartype, setting, enumvals FROM pg_settings "
    "WHERE context IN ('user', 'superuser', 'backend', 'superuser-backend') ORDER BY name"
)


def decided() -> dict[str, str]:
    """Return the page's entry for each name or pattern: `set ...` or `kept`."""
    found = {}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 5 and cells[2].startswith(("set", "kept")):
            for name in re.findall(r"`([^`]+)`", cells[1]):
                assert name not in found, f"{name} is decided twice"
                found[name] = cells[2]
    return found


@pytest.fixture(scope="module")
def locales(servers_folder: Path) -> Path:
    """Return a folder with a locale whose decimal separator is not a point."""
    folder = servers_folder / "locales_of_settings"
    folder.mkdir()
    subprocess.run(
        ["localedef", "-i", "de_DE", "-f", "UTF-8", folder / LOCALE],
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture(scope="module", params=servers.VERSIONS, ids=lambda version: f"pg{version}")
def german(
    request: pytest.FixtureRequest,
    servers_folder: Path,
    locales: Path,
    find_programs: FindPrograms,
) -> Iterator[Server]:
    """Return a server that knows one more locale, with a role that is not a superuser."""
    version = request.param
    programs = find_programs(version)
    server = Server(version, programs, servers_folder / f"german-{version}")
    server.initialise()
    before = os.environ.get("LOCPATH")
    os.environ["LOCPATH"] = str(locales)
    try:
        server.start()
    finally:
        del os.environ["LOCPATH"]
        if before is not None:
            os.environ["LOCPATH"] = before
    with server.connect() as connection:
        connection.execute(f"CREATE ROLE {ROLE} LOGIN".encode())
        # Without this a role with `replica` is refused.
        grant = f"GRANT SET ON PARAMETER session_replication_role TO {ROLE}"
        connection.execute(grant.encode())
    yield server
    server.stop("immediate")


def hostile(server: Server, *, contexts: tuple[str, ...]) -> dict[str, str]:
    """Return a value other than the default for each setting that has one."""
    values = {}
    with server.connect() as connection:
        for name, context, kind, setting, words in connection.execute(SETTABLE.encode()):
            if context not in contexts or name in UNPLAYABLE:
                continue
            if name in HOSTILE:
                values[name] = HOSTILE[name]
            elif kind == "bool":
                values[name] = "off" if setting == "on" else "on"
            elif kind == "enum":
                others = [word for word in words if word != setting]
                if others:
                    values[name] = others[0]
    missing = {name for name in ("array_nulls", "xmloption", "lc_monetary") if name not in values}
    assert not missing
    return values


def test_every_setting_is_decided(server: Server) -> None:
    """A new setting of a new version counts as harmless only after a person has checked it."""
    with server.connect() as connection:
        names = [row[0] for row in connection.execute(SETTABLE.encode())]
    patterns = decided()
    assert len(names) > 150
    undecided = [
        name for name in names if not any(fnmatch.fnmatchcase(name, one) for one in patterns)
    ]
    assert undecided == []


def test_what_is_set_is_what_the_page_says(inrush: Inrush, newest_database: Database) -> None:
    """A trigger in Inrush's session reads the settings, which equal those of the page."""
    wanted = [name for name, decision in decided().items() if decision.startswith("set: ")]
    values = ", ".join(f"('{name}')" for name in wanted)
    newest_database.execute(f"""
        CREATE TABLE seen (name text, setting text);
        CREATE TABLE rows (id int);
        CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO public.seen SELECT name, current_setting(name)
            FROM (VALUES {values}) AS wanted(name);
            RETURN NULL;
        END $$;
        CREATE TRIGGER look AFTER INSERT ON rows EXECUTE FUNCTION look();
    """)
    inrush.write("rows.csv", "id\n1\n")
    package = f"""
        name = "settings"
        [connections.target]
        url = "{newest_database.url}"
        [run]
        staging = false
        [[flow]]
        table = "rows"
        files = "rows.csv"
        mode = "append"
    """
    inrush("run", inrush.write("p.toml", package)).expect(CLEAN)
    seen = dict(newest_database.rows("TABLE seen"))
    assert set(seen) == set(wanted)
    usual = {
        "statement_timeout": "0",
        "array_nulls": "on",
        "lc_monetary": "C",
        "xmloption": "content",
        "standard_conforming_strings": "on",
        "quote_all_identifiers": "off",
        "exit_on_error": "off",
        "DateStyle": "ISO, YMD",
        "IntervalStyle": "postgres",
        "TimeZone": "UTC",
        "timezone_abbreviations": "Default",
        "client_encoding": "UTF8",
        "gin_fuzzy_search_limit": "0",
        "bytea_output": "hex",
        "extra_float_digits": "1",
    }
    assert {name: seen[name] for name in usual} == usual


def set_hostile(server: Server, scope: str, values: dict[str, str]) -> None:
    """Set all of these settings for a role, a database or both."""
    with server.connect() as connection:
        for name, value in values.items():
            listed = name in ("search_path", "DateStyle")
            said = value if listed else "'" + value + "'"
            try:
                connection.execute(f"{scope} SET {name} = {said}".encode())
            except psycopg.Error as error:
                raise AssertionError(f"{scope} SET {name} = {said}") from error


def load(inrush: Inrush, server: Server, database: str, **how: str) -> list[tuple[str, ...]]:
    """Load every type into a table that the role owns, and return the stored values."""
    with server.connect() as connection:
        connection.execute(f'CREATE DATABASE "{database}" OWNER {ROLE}'.encode())
    owned = Database(server, database)
    xml = server.version != 18
    columns = [(f"c{n}", kind, texts) for n, (kind, texts) in enumerate(VALUES)]
    if xml:
        # The wheel's server is built without libxml.
        columns.append(("x", "xml", ["<a/>", "words", "<a/><b/>"]))
    table = ", ".join(f"{name} {kind}" for name, kind, _ in columns)
    owned.execute(f"CREATE TABLE typed (id int, {table}); ALTER TABLE typed OWNER TO {ROLE}")
    owned.execute("CREATE SCHEMA evil; CREATE TABLE evil.typed (id int)")
    # Each row has one value, so that a refused value does not lose others.
    lines = [",".join(["id", *(name for name, _, _ in columns)])]
    for place, (_, _, texts) in enumerate(columns):
        for text in texts:
            quoted = '"' + text.replace('"', '""') + '"'
            lines.append(
                f"{len(lines)}" + "," * (place + 1) + quoted + "," * (len(columns) - 1 - place)
            )
    inrush.write("typed.csv", "\n".join(lines) + "\n")
    scope = how.get("scope", "").format(database=f'"{database}"')
    if scope:
        set_hostile(server, scope, hostile(server, contexts=("user", "superuser")))
    url = f"postgresql://{ROLE}@/{database}?host={server.folder}&port={server.port}"
    environment = {}
    options = " ".join(
        "-c " + f"{name}={value}".replace("\\", "\\\\").replace(" ", "\\ ")
        for name, value in hostile(server, contexts=("user",)).items()
    )
    if how.get("way") == "url":
        url += "&options=" + quote(options)
    elif how.get("way") == "variable":
        environment["PGOPTIONS"] = options
    words = ("load", "typed.csv", "--to", url, "--table", "public.typed", "--max-rejects", "1000")
    try:
        done = inrush(*words, environment=environment)
    finally:
        if scope:
            with server.connect() as connection:
                connection.execute((scope + " RESET ALL").encode())
    done.expect(done.status if done.status == LOADED_WITH_REJECTS else CLEAN)
    rejects = [(Path(reject["file"]).name, str(reject["line"])) for reject in done.rejects()]
    return state(owned) + rejects


numbers = itertools.count(1)


@pytest.fixture(scope="module")
def plain(german: Server, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, ...]]:
    """Return the stored values of a load without any settings; a type may refuse a few."""
    found = load(Inrush(tmp_path_factory.mktemp("plain")), german, f"plain_{next(numbers)}")
    assert sum(name == "typed" for name, *_ in found) > 100
    return found


@pytest.mark.parametrize(
    "how",
    [
        {"scope": f"ALTER ROLE {ROLE}"},
        {"scope": "ALTER DATABASE {database}"},
        {"scope": f"ALTER ROLE {ROLE} IN DATABASE {{database}}"},
        {"way": "url"},
        {"way": "variable"},
    ],
    ids=["role", "database", "role in database", "url", "variable"],
)
def test_settings_change_no_value(
    german: Server, inrush: Inrush, plain: list[tuple[str, ...]], how: dict[str, str]
) -> None:
    assert load(inrush, german, f"hostile_{next(numbers)}", **how) == plain

"""A table of PostgreSQL that a copy with `unchanged_by = "sums"` cuts into ranges."""

from __future__ import annotations

from harness.servers import Database

# A range has about 16 MiB of the source's disk; a page has two rows.
ROWS_OF_A_RANGE = 4_100
PAD = "repeat(chr(97 + (n % 26)::int), 300)"
SPARSE = "WITH (autovacuum_enabled = off, fillfactor = 10)"
TABLE = "CREATE TABLE orders (id bigint PRIMARY KEY, v int NOT NULL, pad text NOT NULL)"


def filled(database: Database, ranges: int) -> Database:
    """Return a database with a table of this many ranges; only ANALYZE changes its statistics."""
    database.execute(f"{TABLE} {SPARSE}")
    add_rows(database, 1, ranges * ROWS_OF_A_RANGE)
    database.execute("ANALYZE orders")
    return database


def add_rows(database: Database, first: int, last: int) -> None:
    """Add rows with these keys."""
    database.execute(
        f"INSERT INTO orders SELECT n, n % 1000, {PAD} FROM generate_series({first}, {last}) AS n"
    )


def now(database: Database) -> int:
    """Return the id of a new transaction; later transactions have larger ids."""
    return int(str(database.value("SELECT pg_current_xact_id()::text")))


def keys_since(database: Database, transaction: int) -> tuple[int, int, int]:
    """Return the smallest key, largest key and number of the rows stored since a transaction."""
    found = database.rows(
        f"SELECT min(id), max(id), count(*) FROM orders WHERE xmin::text::bigint > {transaction}"
    )
    return found[0]

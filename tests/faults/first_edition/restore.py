"""Restores a fixture: into a folder of the test, and into a database of its server.

A ledger identifies files by digests of their full paths, and tables by their OIDs. A test has other
files and tables, so this module replaces the digests and the OIDs, and nothing else. It first
computes each digest for the old path, and fails if the fixture has another digest for it.
"""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
from dataclasses import dataclass
from pathlib import Path

from faults.first_edition.left import FOLDER, Left
from harness.duckdb_files import opened
from harness.servers import Database

# A split's key in a PostgreSQL dump, and as JSON inside JSON or inside a database.
COPIED_SHARD = re.compile(
    r"(?P<shard>[0-9a-f]{64})\t(?P<file>[0-9a-f]{64})\t(?P<name>[^\t]+)"
    r"\t(?P<start>\d+)\t(?P<end>\d+|\\N)\t"
)
JSON_SHARD = re.compile(
    r'shard_key\\*":\\*"(?P<shard>[0-9a-f]{64})\\*",\\*"file_key\\*":\\*"(?P<file>[0-9a-f]{64})\\*",'
    r'\\*"file\\*":\\*"(?P<name>[^"\\]+)\\*",'
    r'\\*"byte_start\\*":(?P<start>\d+),\\*"byte_end\\*":(?P<end>\d+|null),'
)


def digest(*texts: str) -> str:
    """Return the digest that identifies files and byte ranges."""
    found = hashlib.sha256()
    for text in texts:
        found.update(len(text.encode()).to_bytes(8, "little") + text.encode())
    return found.hexdigest()


@dataclass(frozen=True)
class Move:
    """Maps the folder and the URL in which a fixture was made to those of a test."""

    left: Left
    old_folder: Path
    old_url: str
    folder: Path
    url: str

    def text(self, text: str) -> str:
        """Return a text with the new folder, URL and digests."""
        for pattern in (COPIED_SHARD, JSON_SHARD):
            text = pattern.sub(self._shard, text)
        if self.old_url:
            text = text.replace(self.old_url, self.url)
        return text.replace(str(self.old_folder), str(self.folder))

    def _shard(self, found: re.Match[str]) -> str:
        # The key of a file that is read as a whole has no end.
        size_bytes = len(self.left.files()[found["name"]])
        end = found["end"] if found["end"].isdigit() else str(size_bytes)
        text = found[0]
        for known, texts in ((found["shard"], (found["start"], end)), (found["file"], ())):
            old, new = (
                digest(str(folder / found["name"]), *texts)
                for folder in (self.old_folder, self.folder)
            )
            assert old == known, f"{found['name']} {texts} is not named by the rule of this test"
            text = text.replace(old, new)
        return text


# The digest that `stored.rs` writes for a staging table, of its files and its partitions' files.
_FILENODES = """
    (SELECT md5(string_agg(part || ':' || coalesce(pg_relation_filenode(part), 0), ','
                           ORDER BY part))
     FROM (SELECT table_oid AS part
           UNION SELECT relid::oid FROM pg_partition_tree(table_oid)) parts)
"""
_OIDS = f"""
    UPDATE inrush.switched_table
       SET table_oid = to_regclass(format('%I.%I', table_schema, table_name));
    UPDATE inrush.unit u SET table_oid = coalesce(
      (SELECT s.table_oid FROM inrush.switched_table s WHERE s.unit_key = u.unit_key),
      to_regclass(CASE WHEN straight THEN target
                       ELSE format('%I.%I', staging_schema, staging_table) END));
    UPDATE inrush.unit SET filenodes = {_FILENODES} WHERE NOT straight;
    UPDATE inrush.run SET target_oids =
      (SELECT array_agg(to_regclass(t)::oid ORDER BY n)
       FROM unnest(targets) WITH ORDINALITY o (t, n))
     WHERE target_oids IS NOT NULL;
"""


def restore(left: Left, folder: Path, url: str, database: Database | None = None) -> None:
    """Restore the leftovers of a run into a folder, and into the database of the URL."""
    made = json.loads((FOLDER / "made.json").read_text())[left.name]
    move = Move(left, Path(made["folder"]), made["url"], folder.resolve(), url)
    with tarfile.open(left.archive) as archive:
        # The first versions of Python 3.10 and 3.11 have no filters.
        if hasattr(tarfile, "data_filter"):
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(folder)  # noqa: S202
    for path in folder.rglob("*"):
        if path.suffix in (".json", ".jsonl", ".toml"):
            path.write_text(move.text(path.read_text()))
    for path in folder.glob("*.duckdb"):
        _move_duckdb(path, move)
    if database is not None:
        _restore_database(left, folder, move, database)
    left.write(folder, url)


def _restore_database(left: Left, folder: Path, move: Move, database: Database) -> None:
    dump = folder / "dump.sql"
    dump.write_text(move.text(left.dump.read_text()))
    database.psql(rf"\i {dump}")
    dump.unlink()
    database.execute(_OIDS)


def _move_duckdb(path: Path, move: Move) -> None:
    with opened(path) as connection:
        rows = connection.execute("SELECT DISTINCT detail FROM inrush.unit").fetchall()
        for (detail,) in rows:
            statement = "UPDATE inrush.unit SET detail = ? WHERE detail = ?"
            connection.execute(statement, [move.text(detail), detail])

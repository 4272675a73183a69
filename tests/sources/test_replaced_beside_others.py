"""A package that replaces some tables and creates others, run again."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest

from harness.command import CLEAN, FAILED, Inrush
from harness.duckdb_files import opened
from harness.servers import Database, Server

MADE = (
    "CREATE TABLE {0} (id int NOT NULL, v int);"
    "INSERT INTO {0} SELECT n, 0 FROM generate_series(1, 500) AS n;"
)


@pytest.fixture
def target(server: Server, database: Database) -> Iterator[Database]:
    """Return an empty database beside the one that is read."""
    beside = server.create_database(f"{database.name}_again")
    yield beside
    server.done_with(beside)


def flow(table: str, mode: str) -> str:
    return (
        f'[[flow]]\nsource = {{ connection = "crm", table = "{table}" }}\nconnection = "dw"\n'
        f'table = "{table}"\nmode = "{mode}"\n'
    )


class Copy:
    """A copy of three tables, one of which is replaced."""

    def __init__(self, source: Database, to: str, target: Database, inrush: Inrush) -> None:
        self.source = source
        self.target = target
        self.inrush = inrush
        self.into_duckdb = to == "duckdb"
        source.execute(MADE.format("kept") + MADE.format("newest") + MADE.format("added"))
        if not self.into_duckdb:
            target.execute("CREATE TABLE added (id int, v int)")
        url = "duckdb:lake.duckdb" if self.into_duckdb else target.url
        last = flow("added", "create" if self.into_duckdb else "append")
        inrush.write(
            "copy.toml",
            f'name = "copy"\n[connections]\ncrm.url = "{source.url}"\ndw.url = "{url}"\n'
            + flow("kept", "create")
            + flow("newest", "replace")
            + last,
        )

    def sums(self, table: str) -> tuple[Any, ...]:
        """Return the number of rows, the number of different rows, and the sum of a target."""
        query = f"SELECT count(*), count(DISTINCT id), sum(v) FROM {table}"
        if not self.into_duckdb:
            (found,) = self.target.rows(query)
            return found
        with opened(self.inrush.folder / "lake.duckdb") as file:
            (found,) = file.execute(query).fetchall()
            return found


@pytest.mark.parametrize("to", ["postgresql", "duckdb"])
def test_only_the_replaced_table_is_loaded_again(
    database: Database, target: Database, inrush: Inrush, to: str
) -> None:
    """The other tables show the same moment, because their rows have not changed since then."""
    copy = Copy(database, to, target, inrush)
    inrush("run", "copy.toml").expect(CLEAN)
    database.execute("UPDATE newest SET v = 2 WHERE id <= 100")
    again = inrush("run", "copy.toml").expect(CLEAN, "only the other flows are loaded")
    report = again.report
    assert [table["flow"] for table in report["tables"]] == ["newest"]
    left_out = sorted(note for note in report["notes"] if "only the other flows" in note)
    assert [name in note for name, note in zip(("added", "kept"), left_out, strict=True)] == [
        True
    ] * 2
    # The plan does not describe how they would be loaded.
    assert not any("the switch copies the rows" in note for note in report["notes"])
    assert [copy.sums(table) for table in ("kept", "newest", "added")] == [
        (500, 500, 0),
        (500, 500, 200),
        (500, 500, 0),
    ]
    # The package of the rejects has only the flows of this run.
    saved = (again.run_folders()[-1] / "package.toml").read_text()
    assert saved.count("[[flow]]") == 1
    assert "newest" in saved
    # A stopped run behaves in the same way.
    database.execute("UPDATE newest SET v = 3 WHERE id <= 100")
    for fault, published in (("before_switch", 200), ("after_switch_commit", 300)):
        killed = inrush("run", "copy.toml", environment={"INRUSH_FAULT": fault})
        assert killed.status == -signal.SIGKILL, killed.said
        assert copy.sums("newest") == (500, 500, published)
    inrush("run", "copy.toml").expect(CLEAN)
    assert copy.sums("newest") == (500, 500, 300)
    # The tables can no longer show one moment, so the user has to decide.
    database.execute("INSERT INTO kept VALUES (501, 7)")
    inrush("run", "copy.toml").expect(FAILED, "kept has other rows now", "--again")
    assert copy.sums("kept") == copy.sums("added") == (500, 500, 0)

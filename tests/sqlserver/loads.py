"""Loads into a double: the files, the packages, and the rows and statements of the double."""

from __future__ import annotations

from typing import Any

from harness.command import Inrush, Outcome
from harness.packages import Value, flow, package
from sqlserver.double import Double, Session, Table

COLUMNS: Value = ["id integer not null", "day date not null", "note nvarchar(20)"]
# A table like those of the files, with a partition for each month of 2024.
FUNCTION = (
    "CREATE PARTITION FUNCTION months (date) AS RANGE {side} FOR VALUES ('2024-01-31', "
    "'2024-02-29', '2024-03-31')"
)
SCHEME = "CREATE PARTITION SCHEME by_month AS PARTITION months TO (old, old, new, new)"
TABLE = (
    "CREATE TABLE t (id int NOT NULL, day date NOT NULL, note nvarchar(20) NULL{more}) ON "
    "by_month(day)"
)


class Loads:
    """Loads files of rows into the table `t` of a double."""

    def __init__(self, inrush: Inrush, double: Double) -> None:
        self.inrush = inrush
        self.double = double

    def files(self, *files: str) -> None:
        """Write files, each with rows `id,day` that blanks separate."""
        for old in self.inrush.folder.glob("part.*.csv"):
            old.unlink()
        for number, rows in enumerate(files):
            lines = "".join(f"{row},n{row.split(',')[0]}\n" for row in rows.split())
            self.inrush.write(f"part.{number}.csv", "id,day,note\n" + lines)

    def __call__(
        self, command: str = "run", options: str = "", *words: str, **settings: Any
    ) -> Outcome:
        """Run the command with a package of one flow."""
        settings = {"columns": COLUMNS, **settings}
        text = package(self.double.url + options, flow("t", "part.*.csv", **settings))
        return self.inrush(command, self.inrush.write("package.toml", text), *words)

    def make(self, *statements: str) -> None:
        """Run statements in the double."""
        session = self.double.session()
        for statement in statements:
            session.execute(statement)
        session.close()

    @property
    def table(self) -> Table:
        """Return the table `t` of the double."""
        table = self.double.database.objects["dbo", "t"]
        assert isinstance(table, Table)
        return table

    def mark(self, trait: str, column: str | None = None) -> None:
        """Give the table `t`, or one of its columns, a trait in the catalog."""
        table = self.table
        if column is None:
            table.traits.add(trait)
            return
        place = table.place(column)
        assert place is not None
        table.columns[place].traits |= {trait}

    def months(self, more: str = "", side: str = "LEFT") -> None:
        """Make the table with a partition for each month."""
        self.make(FUNCTION.format(side=side), SCHEME, TABLE.format(more=more))

    def rows(self, query: str = "SELECT id FROM t ORDER BY id") -> list[list[object]]:
        """Return the rows of a query."""
        session: Session = self.double.session()
        try:
            return session.rows(query)
        finally:
            session.close()

    def ids(self) -> list[object]:
        """Return the ids of the table."""
        return [number for (number,) in self.rows()]

    def partitions(self, function: str = "months", column: str = "day") -> dict[object, object]:
        """Return the rows of each partition."""
        number = f"$PARTITION.[{function}]({column})"
        found = self.rows(f"SELECT {number}, COUNT_BIG(*) FROM t GROUP BY {number}")
        return {partition: rows for partition, rows in found}  # noqa: C416

    def ran(self, beginning: str) -> list[str]:
        """Return the batches with this beginning."""
        return [one for one in self.double.batches if one.startswith(beginning)]

    @property
    def switches(self) -> list[str]:
        """Return the text after SWITCH of each SWITCH statement."""
        found = (one for one in self.double.batches if " SWITCH " in one)
        return [one.split(" SWITCH ")[1].split(" WITH ")[0] for one in found]

    @property
    def copies(self) -> list[str]:
        """Return the statements that copy rows into the table."""
        return self.ran('INSERT INTO "dbo"."t"')

    def nothing_is_left(self) -> None:
        """Fail if staging tables, or their partition schemes and functions, are left."""
        names = [name for (name,) in self.rows("SELECT name FROM sys.tables")]
        assert not [name for name in names if str(name).startswith("inrush_")], names
        database = self.double.database
        table = database.objects.get(("dbo", "t"))
        used = {table.space.lower()} if table is not None else set()  # type: ignore[union-attr]
        own = {name for name in database.schemes if name.startswith("inrush_")}
        assert own <= used
        assert {name for name in database.functions if name.startswith("inrush_")} <= used

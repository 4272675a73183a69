"""The abilities of destinations: the tables of the page, and a small load that shows each ability.

`ASKED` has the settings that ask for an ability. A destination that lacks it must refuse them. A
destination that has it must pass the ability's function in `SHOWN`, which loads a few rows and
checks the effect.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conformance.canonical import Row
from conformance.destinations import PLACES, Place, PostgreSql, in_order
from harness import pauses
from harness.checkout import DOCS
from harness.command import CLEAN, FAILED, LOADED_WITH_REJECTS, USAGE, VERIFICATION, Inrush, Outcome
from harness.packages import Value, flow, settings, step

PAGE = DOCS / "specs" / "destination.md"
BLESS = (
    "<!-- by destination: written by `INRUSH_BLESS=1 pytest tests/conformance -k abilities` -->\n"
)
END = "<!-- end of by destination -->\n"


@dataclass(frozen=True)
class Ability:
    """A row of the page's first table, which is generated from the code."""

    name: str
    refusal: str
    fix: str


def _rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def _abilities() -> dict[str, Ability]:
    found = re.search(r"<!-- abilities:.*?-->\n(.*?)<!-- end of abilities", PAGE.read_text(), re.S)
    assert found, f"{PAGE} has no table of abilities"
    _, *rows = _rows(found.group(1))
    return {name: Ability(name, refusal, fix) for name, _, refusal, fix in rows}


ABILITIES = _abilities()


def claims() -> dict[str, set[str]]:
    """Return the abilities of each destination in the page's second table, by its title."""
    _, after = PAGE.read_text().split(BLESS)
    (_, *titles), *rows = _rows(after.split(END)[0])
    return {
        title: {name for name, *cells in rows if cells[place] == "yes"}
        for place, title in enumerate(titles)
    }


def page_with(found: dict[str, set[str]]) -> str:
    """Return the page with a second table of these abilities."""
    titles = [kind.title for kind in PLACES]
    rows = [["ability", *titles]]
    rows += [[name, *("yes" if name in found[t] else "" for t in titles)] for name in ABILITIES]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|---" * len(rows[0]) + "|")
    table = "\n".join(lines)
    before, rest = PAGE.read_text().split(BLESS)
    return f"{before}{BLESS}\n{table}\n\n{END}{rest.split(END)[1]}"


@dataclass(frozen=True)
class Asked:
    """Settings that ask for an ability."""

    flow: dict[str, Value] = field(default_factory=dict)
    run: dict[str, Value] = field(default_factory=dict)


ASKED: dict[str, Asked] = {
    "create": Asked({"mode": "create"}),
    "append": Asked({"mode": "append"}),
    "replace": Asked({"mode": "replace"}),
    "replace by rows": Asked({"mode": "replace", "replace": {"by": "rows"}}),
    "replace partitions": Asked({"mode": "replace", "replace": {"scope": "partitions"}}),
    "keep": Asked({"mode": "replace", "replace": {"keep": True}}),
    "upsert": Asked({"mode": "upsert", "key": "id"}),
    "versions": Asked({"mode": "upsert", "key": "id", "scd": {}}),
    "reject refused rows": Asked({"mode": "append", "rejects": {"rows_max": 1}}),
    "partitions": Asked({"partition_by": "id"}),
    "bounds": Asked({"partition_by": "id", "bounds": [0, 5, 10]}),
    "parts": Asked({"partition_by": "id", "bounds": {"parts": 2}}),
    "routing": Asked({"partition_by": "id", "routing": True}),
    "direct writes": Asked({"mode": "append", "atomic": False}),
    "one transaction": Asked({"mode": "append"}, {"staging": False}),
    "user SQL": Asked({"mode": "append", "post_sql": "INSERT INTO seen VALUES (1)"}),
    "skip triggers": Asked({"mode": "append", "triggers": "skip"}),
    "rebuild indexes": Asked({"mode": "append", "indexes": "rebuild"}),
    "analyze": Asked({"mode": "append"}, {"analyze": True}),
    "verify sums": Asked({"verify": "sums"}),
    "verify rows": Asked({"verify": "rows"}),
    "rate limit": Asked({}, {"rate_bytes_max": 200_000, "batch_rows": 500}),
    "replica lag": Asked({}, {"replica_lag_bytes_max": 2_000_000}),
    "slot bytes": Asked({}, {"slot_bytes_max": 1_048_576}),
    "server copy": Asked({}, {"server_copy": "pages"}),
}

# Settings of a flow that reads the table `origin` of a PostgreSQL.
OF_SOURCE = {"source indexes": "indexes", "source partitions": "partitions"}
# Abilities that a flow asks for by reading a table of another database or of the target's database.
OF_TABLES = {*OF_SOURCE, "add members"}

TYPES = ("integer", "text")
OLD: list[Row] = [("1", "old"), ("2", "old")]


class Scene:
    """A destination, and loads of a few rows into its table `t`."""

    def __init__(
        self,
        place: Place,
        inrush: Inrush,
        source: PostgreSql | None = None,
        lacks: frozenset[str] = frozenset(),
    ) -> None:
        self.place = place
        self.inrush = inrush
        # The abilities that the page claims for the destination, except those that its edition
        # lacks.
        self.has = claims()[place.title] - lacks
        # The database of `OF_TABLES`.
        self.source = source

    @property
    def rows(self) -> list[Row] | None:
        """The table's rows, in the order of the columns `id` and `note`."""
        if "t" not in self.place.tables():
            return None
        types = dict(zip(("id", "note"), TYPES, strict=True))
        order = list(self.place.column_types("t"))
        found = self.place.rows("t", [types[name] for name in order])
        return in_order([tuple(row[order.index(name)] for name in types) for row in found or []])

    @property
    def server(self) -> PostgreSql:
        """The destination, if the effect is checked in a PostgreSQL catalog."""
        assert isinstance(self.place, PostgreSql), f"no test shows this of {self.place.title}"
        return self.place

    def package(self, name: str, asked: Asked, *files: Sequence[Row]) -> Path:
        """Write files and the package that loads them."""
        for path in self.inrush.folder.glob(f"{name}.*.csv"):
            path.unlink()
        for number, rows in enumerate(files):
            text = "".join(f"{key},{note}\n" for key, note in rows)
            self.inrush.write(f"{name}.{number}.csv", f"id,note\n{text}")
        columns: list[Value] = ["id integer", "note text"]
        one = flow("t", f"{name}.*.csv", columns=columns, **asked.flow)
        return self.inrush.write(f"{name}.toml", self.place.package(one, name=name, **asked.run))

    def asking(self, ability: str) -> Path:
        """Write a package that loads the row (3, new) and asks for the ability."""
        if ability in OF_SOURCE:
            return self._of_source(OF_SOURCE[ability])
        if ability == "add members":
            return self._adding_members()
        return self.package("new", ASKED[ability], [("3", "new")])

    def _of_source(self, setting: str) -> Path:
        assert self.source is not None
        self.source.execute(
            "CREATE TABLE origin (id integer, note text) PARTITION BY RANGE (id); "
            "CREATE TABLE low PARTITION OF origin FOR VALUES FROM (0) TO (5); "
            "CREATE TABLE high PARTITION OF origin FOR VALUES FROM (5) TO (10); "
            "CREATE INDEX of_note ON origin (note); INSERT INTO origin VALUES (3, 'new')"
        )
        read: Value = {"connection": "source", "table": "origin", setting: True}
        one = "\n[[flow]]\n" + settings({"table": "t", "source": read, "connection": "target"})
        return self._with_source(one)

    def _adding_members(self) -> Path:
        """Write a package that looks up two numbers; the reference has only one of them."""
        assert self.source is not None
        has_it = "add members" in self.has
        place = self.place if has_it else self.source
        place.make_numbered("numbers", "number", "no int UNIQUE")
        place.execute("INSERT INTO numbers (no) VALUES (10)")
        self.inrush.write("new.csv", "id,no\n1,10\n2,20\n3,20\n")
        columns: list[Value] = ["id integer", "no integer"]
        lookup: Value = {"connection": "target" if has_it else "source", "table": "numbers"}
        one = flow("t", "new.csv", columns=columns, mode="append", connection="target")
        take: Value = {"note": "number"}
        return self._with_source(
            one + step(lookup=lookup, on={"no": "no"}, take=take, unmatched="add")
        )

    def _with_source(self, one: str) -> Path:
        assert self.source is not None
        other = "\n[connections.source]\n" + settings({"url": self.source.url})
        return self.inrush.write("new.toml", self.place.package(one) + other)

    def fill(self) -> None:
        """Load the old rows."""
        self.inrush("run", self.package("old", Asked(), OLD)).expect(CLEAN)

    def run(self, ability: str, *files: Sequence[Row], **more: Value) -> Outcome:
        """Load files with the settings of the ability."""
        asked = ASKED[ability]
        path = self.package("new", Asked({**asked.flow, **more}, asked.run), *files)
        return self.inrush("run", path).expect(CLEAN)


def slug(name: str) -> str:
    """Return the ability's name for names of files and runs."""
    return name.replace(" ", "_").lower()


def refuses(scene: Scene, ability: Ability) -> None:
    """Check that a destination without an ability refuses it and changes nothing."""
    scene.fill()
    path = scene.asking(ability.name)
    for command in ("check", "run"):
        scene.inrush(command, path).expect(USAGE, ability.refusal, ability.fix)
    assert scene.rows == OLD
    assert scene.place.tables() == {"t"}


SHOWN: dict[str, Callable[[Scene], None]] = {}


def shows(name: str) -> Callable[[Callable[[Scene], None]], Callable[[Scene], None]]:
    """Register the function that shows an ability."""

    def register(function: Callable[[Scene], None]) -> Callable[[Scene], None]:
        SHOWN[name] = function
        return function

    return register


@shows("create")
def _(scene: Scene) -> None:
    scene.run("create", [("3", "new")])
    assert scene.rows == [("3", "new")]


@shows("append")
def _(scene: Scene) -> None:
    scene.fill()
    scene.run("append", [("3", "new")])
    assert scene.rows == [*OLD, ("3", "new")]


@shows("replace")
def _(scene: Scene) -> None:
    scene.fill()
    scene.run("replace", [("3", "new")])
    assert scene.rows == [("3", "new")]


@shows("replace by rows")
def _(scene: Scene) -> None:
    # After a swap the view would still read the old table.
    scene.fill()
    scene.place.execute("CREATE VIEW shown AS SELECT id, note FROM t")
    scene.run("replace by rows", [("3", "new")])
    assert scene.rows == [("3", "new")]
    assert [tuple(map(str, row)) for row in scene.place.view("shown")] == [("3", "new")]


def _partitioned(scene: Scene) -> dict[str, Value]:
    """Return settings of a table with two partitions."""
    more: dict[str, Value] = {"bounds": [0, 5, 10]} if scene.place.bounds else {}
    return {"partition_by": "id", **more}


@shows("replace partitions")
def _(scene: Scene) -> None:
    settings = _partitioned(scene)
    scene.run("partitions", [("1", "old")], [("5", "old")], **settings)
    scene.run("replace partitions", [("5", "new")], **settings)
    assert scene.rows == [("1", "old"), ("5", "new")]


@shows("keep")
def _(scene: Scene) -> None:
    scene.fill()
    outcome = scene.run("keep", [("3", "new")])
    if isinstance(scene.place, PostgreSql):
        (kept,) = scene.place.tables() - {"t"}
        assert "inrush_staging" in scene.server.schema_of(kept)
        return
    (note,) = [note for note in outcome.report["notes"] if "are kept in" in note]
    said = re.search(r"2 replaced rows of (\S+) are kept in (\S+) until", note)
    assert said, note
    assert [tuple(map(str, row)) for row in scene.place.query(f"SELECT * FROM {said[2]}")] == OLD


@shows("undo")
def _(scene: Scene) -> None:
    scene.fill()
    # In a database table, the rows that a run added cannot be distinguished from other rows.
    by = "keep" if scene.place.speaks_sql else "append"
    scene.run(by, [("3", "new")])
    assert scene.rows != OLD
    _undo(scene).expect(CLEAN)
    assert scene.rows == OLD


def _undo(scene: Scene) -> Outcome:
    newest = max(scene.inrush.folder.glob("runs/*/"), key=lambda path: path.stat().st_mtime_ns)
    return scene.inrush("undo", newest.name, *scene.place.words)


@shows("upsert")
def _(scene: Scene) -> None:
    scene.place.execute("CREATE TABLE t (id integer PRIMARY KEY, note text)")
    scene.place.execute("INSERT INTO t VALUES (1, 'old'), (2, 'old')")
    scene.run("upsert", [("2", "new"), ("3", "new")])
    assert scene.rows == [("1", "old"), ("2", "new"), ("3", "new")]


@shows("versions")
def _(scene: Scene) -> None:
    scene.place.execute(
        "CREATE TABLE t (id integer NOT NULL, note text, valid_from timestamptz NOT NULL, "
        "valid_to timestamptz)"
    )
    if scene.place.partial_indexes:
        scene.place.execute("CREATE UNIQUE INDEX of_current ON t (id) WHERE valid_to IS NULL")
    scene.run("versions", [("1", "old"), ("2", "old")])
    path = scene.package("later", ASKED["versions"], [("2", "new"), ("3", "new")])
    scene.inrush("run", path).expect(CLEAN)
    found = scene.place.query(
        "SELECT a.id, a.note, b.note FROM t a LEFT JOIN t b ON b.id = a.id "
        "AND b.valid_from = a.valid_to ORDER BY a.id, a.valid_from"
    )
    assert found == [(1, "old", None), (2, "old", "new"), (2, "new", None), (3, "new", None)]


@shows("reject refused rows")
def _(scene: Scene) -> None:
    scene.place.execute("CREATE TABLE t (id integer PRIMARY KEY, note text)")
    scene.place.execute("INSERT INTO t VALUES (1, 'old'), (2, 'old')")
    path = scene.package("new", ASKED["reject refused rows"], [("2", "new"), ("3", "new")])
    outcome = scene.inrush("run", path).expect(LOADED_WITH_REJECTS)
    assert scene.rows == [*OLD, ("3", "new")]
    (reject,) = outcome.rejects()
    assert (reject["line"], reject["code"]) == (2, "duplicate_key")


def fails_whole(scene: Scene, ability: Ability) -> None:
    """Check that a destination which cannot reject refused rows fails and changes nothing."""
    if scene.place.speaks_sql:
        scene.place.execute("CREATE TABLE t (id integer PRIMARY KEY, note text)")
    else:
        # Its tables have no constraints.
        scene.fill()
    path = scene.package("new", ASKED[ability.name], [("3", "new"), ("3", "new")])
    scene.inrush("check", path).expect(CLEAN)
    if scene.place.speaks_sql:
        scene.inrush("run", path).expect(FAILED, "constraint")
        assert scene.rows == []
    else:
        scene.inrush("run", path).expect(CLEAN)
        assert scene.rows == [*OLD, ("3", "new"), ("3", "new")]


def _assert_two_partitions(scene: Scene) -> None:
    partitions = scene.place.partitions_of("t")
    assert len(partitions) == 2, partitions


@shows("partitions")
def _(scene: Scene) -> None:
    scene.run("partitions", [("1", "a")], [("5", "b")])
    assert scene.rows == [("1", "a"), ("5", "b")]
    _assert_two_partitions(scene)


@shows("bounds")
def _(scene: Scene) -> None:
    scene.run("bounds", [("1", "a")], [("5", "b")])
    assert tuple(scene.place.partitions_of("t")) == scene.place.bounds


@shows("parts")
def _(scene: Scene) -> None:
    rows = [(str(number), "x" * 100) for number in range(100, 300)]
    scene.run("parts", rows)
    assert scene.rows == rows
    _assert_two_partitions(scene)


@shows("routing")
def _(scene: Scene) -> None:
    # One file has rows of both partitions.
    scene.run("routing", [("1", "a"), ("5", "b")], **_partitioned(scene))
    assert scene.rows == [("1", "a"), ("5", "b")]
    _assert_two_partitions(scene)


@shows("direct writes")
def _(scene: Scene) -> None:
    # Rows of a committed split are visible before the run ends, and stay in the table.
    scene.fill()
    path = scene.package("new", ASKED["direct writes"], [("3", "new")], [("4", "new")])
    died = scene.inrush("run", path, environment={"INRUSH_FAULT": "after_unit_commit"})
    assert died.status == -signal.SIGKILL, died.said
    # The other stream may have committed a split, too.
    assert len(scene.rows or []) > len(OLD)
    scene.inrush("run", path).expect(CLEAN)
    assert scene.rows == [*OLD, ("3", "new"), ("4", "new")]


@shows("one transaction")
def _(scene: Scene) -> None:
    # Nothing is staged when all rows are loaded.
    scene.fill()
    path = scene.package("new", ASKED["one transaction"], [("3", "new")])
    with scene.inrush.stopped_by("stop:before_switch", "run", path) as running:
        assert scene.place.tables() == {"t"}
        assert scene.rows == OLD
        running.resume().wait().expect(CLEAN)
    assert scene.rows == [*OLD, ("3", "new")]


@shows("user SQL")
def _(scene: Scene) -> None:
    scene.fill()
    scene.place.execute("CREATE TABLE seen (n integer)")
    scene.run("user SQL", [("3", "new")])
    assert scene.place.rows("seen", ["integer"]) == [("1",)]


@shows("skip triggers")
def _(scene: Scene) -> None:
    # Attached rows fire no triggers: without the setting such a target is refused.
    scene.server.execute("CREATE TABLE t (id integer NOT NULL, note text) PARTITION BY RANGE (id)")
    scene.server.execute(
        "CREATE FUNCTION upper_note() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN NEW.note := upper(NEW.note); RETURN NEW; END$$"
    )
    scene.server.execute(
        "CREATE TRIGGER upper_note BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION upper_note()"
    )
    path = scene.package("firing", Asked({"mode": "append"}), [("3", "new")])
    scene.inrush("run", path).expect(FAILED, "has INSERT triggers (upper_note)")
    scene.run("skip triggers", [("3", "new")])
    assert scene.rows == [("3", "new")]


@shows("rebuild indexes")
def _(scene: Scene) -> None:
    scene.fill()
    scene.server.execute("CREATE INDEX by_note ON t (note)")
    node = "SELECT relfilenode FROM pg_class WHERE relname = 'by_note'"
    before = scene.server.database.value(node)
    scene.run("rebuild indexes", [("3", "new")])
    assert scene.rows == [*OLD, ("3", "new")]
    assert scene.server.database.value(node) != before


@shows("add members")
def _(scene: Scene) -> None:
    scene.place.execute("CREATE TABLE t (id integer, note integer)")
    scene.inrush("run", scene.asking("add members")).expect(CLEAN)
    numbers = scene.place.rows("t", ("integer", "integer"))
    assert numbers == [("1", "1"), ("2", "2"), ("3", "2")]
    assert scene.place.query("SELECT number, no FROM numbers ORDER BY 1") == [(1, 10), (2, 20)]


@shows("source indexes")
def _(scene: Scene) -> None:
    scene.inrush("run", scene.asking("source indexes")).expect(CLEAN)
    assert scene.rows == [("3", "new")]
    query = "SELECT indexdef FROM pg_indexes WHERE tablename = 't'"
    ((definition,),) = scene.place.query(query)
    assert definition.endswith("(note)")


@shows("source partitions")
def _(scene: Scene) -> None:
    scene.inrush("run", scene.asking("source partitions")).expect(CLEAN)
    assert scene.rows == [("3", "new")]
    assert tuple(scene.place.partitions_of("t")) == scene.place.bounds


@shows("analyze")
def _(scene: Scene) -> None:
    scene.place.execute("CREATE TABLE t (id integer PRIMARY KEY, note text)")
    path = scene.package("old", Asked({"mode": "append"}, {"analyze": False}), OLD)
    assert "after the publish" not in scene.inrush("check", path).expect(CLEAN).output.lower()
    scene.inrush("run", path).expect(CLEAN)
    assert scene.place.rows_analyzed("t") is None
    scene.run("analyze", [("3", "new")])
    assert scene.rows == [*OLD, ("3", "new")]
    assert scene.place.rows_analyzed("t") == 3


def _finds(scene: Scene, ability: str, harm: str) -> None:
    path = scene.package("new", ASKED[ability], [("1", "a"), ("2", "b"), ("3", "c")])
    scene.inrush("run", path, environment={"INRUSH_FAULT": harm}).expect(VERIFICATION)
    assert scene.rows is None
    scene.inrush("cleanup", *scene.place.words).expect(CLEAN)
    scene.inrush("run", path).expect(CLEAN)
    assert scene.rows == [("1", "a"), ("2", "b"), ("3", "c")]


@shows("verify sums")
def _(scene: Scene) -> None:
    # One row comes twice and another is missing: a count cannot detect that.
    _finds(scene, "verify sums", "row_doubled")


@shows("verify rows")
def _(scene: Scene) -> None:
    # Values are exchanged between rows: a column sum cannot detect that.
    _finds(scene, "verify rows", "values_exchanged")


@shows("rate limit")
def _(scene: Scene) -> None:
    rows = [(str(number), "x" * 100) for number in range(6_000)]
    # In Arrow an id has 4 bytes and a note 116: at this rate the load takes over three seconds.
    report = scene.run("rate limit", rows[:3_000], rows[3_000:]).report
    assert scene.rows == in_order(rows)
    # A stream does not wait after its last batch.
    assert report["phases"]["load_s"] > 2.0
    waited_ns = sum(stream["meter"]["pace_wait_ns"] for stream in report["streams"])
    assert waited_ns > 2e9
    assert any("`rate_bytes_max`" in note for note in report["notes"])
    assert report["verdict"]["causes"][0]["cause"] == "pace", report["verdict"]


@shows("replica lag")
def _(scene: Scene) -> None:
    # The suite's servers have no standbys, but a role that may not query them is refused.
    database = scene.server.database
    role = f"blind_{database.name}"
    database.execute(f"CREATE ROLE {role} LOGIN")
    database.execute(f"GRANT CREATE ON DATABASE {database.name} TO {role}")
    database.execute(f"GRANT CREATE ON SCHEMA public TO {role}")
    path = scene.package("new", ASKED["replica lag"], [("3", "new")])
    url = database.server.url(database.name, user=role)
    words = ("run", path, "--connection", f"target={url}")
    scene.inrush(*words).expect(FAILED, "pg_monitor", role)
    database.execute(f"GRANT pg_monitor TO {role}")
    scene.inrush(*words).expect(CLEAN)
    assert scene.rows == [("3", "new")]


@shows("slot bytes")
def _(scene: Scene) -> None:
    # A slot that nobody reads blocks the load until it is dropped.
    server = scene.server
    server.database.value("SELECT pg_create_physical_replication_slot('forgotten', true)::text")
    rows = [(str(number), "x" * 1_000) for number in range(6_000)]
    # Slow enough for the load to run until the slot is checked.
    asked = Asked(run=ASKED["slot bytes"].run | {"rate_bytes_max": 2 << 20})
    path = scene.package("new", asked, rows[:3_000], rows[3_000:])
    with scene.inrush.start("run", path) as running:
        pauses.wait_for_note(scene.inrush, running, "paused: replication slot forgotten")
        server.database.value("SELECT pg_drop_replication_slot('forgotten')::text")
        running.wait().expect(CLEAN)
    assert scene.rows == in_order(rows)


@shows("server copy")
def _(scene: Scene) -> None:
    # `tests/extension` tests loads by the extension; here the database lacks it, so COPY loads.
    rows = [("3", "new"), ("4", "new")]
    outcome = scene.run("server copy", rows)
    assert scene.rows == rows
    (unit,) = outcome.report["units"]
    assert unit.get("server_copy", {}).get("way") in {None, "tuples", "pages"}


@shows("several hosts")
def _(scene: Scene) -> None:
    path = scene.package("new", Asked(), [("1", "one")], [("2", "two")])
    with scene.inrush.start("run", path, "--shares=2") as held:
        pauses.wait_for_note(scene.inrush, held, "waits for 2 shares")
        (plan,) = scene.inrush.folder.glob("runs/*/plan.json")
        for share in (1, 2):
            assert not scene.rows
            scene.inrush("join", path, plan, f"--share={share}").expect(CLEAN)
        held.wait().expect(CLEAN)
    assert scene.rows == [("1", "one"), ("2", "two")]


def no_several_hosts(scene: Scene, ability: Ability) -> None:
    """Fail unless a destination that only one process can fill refuses several processes."""
    scene.fill()
    path = scene.package("new", Asked({"mode": "append"}), [("3", "new")])
    scene.inrush("run", path, "--shares=2").expect(USAGE, ability.refusal, ability.fix)
    joined = scene.inrush("join", path, "plan.json", "--share=1")
    joined.expect(USAGE, ability.refusal, ability.fix)
    assert scene.rows == OLD
    assert scene.place.tables() == {"t"}


@shows("staged bytes")
def _(scene: Scene) -> None:
    told = _stopped(scene)
    assert told is not None
    assert told > 0
    text = scene.inrush("status", *scene.place.words).expect(CLEAN).output
    assert "not known" not in text


def no_staged_bytes(scene: Scene) -> None:
    """Check that a destination which cannot determine the size reports no number."""
    assert _stopped(scene) is None
    scene.inrush("status", *scene.place.words).expect(CLEAN, "not known")


def no_undo(scene: Scene, ability: Ability) -> None:
    """Check that a destination which cannot undo a run refuses it."""
    scene.fill()
    _undo(scene).expect(USAGE, ability.refusal, ability.fix)
    assert scene.rows == OLD


def _stopped(scene: Scene) -> int | None:
    """Stop a run that has committed a unit, and return the reported size."""
    files = [[(str(number), f"note {number}") for number in range(part)] for part in (1_000, 900)]
    path = scene.package("new", Asked(), *files)
    died = scene.inrush("run", path, environment={"INRUSH_FAULT": "after_unit_commit"})
    assert died.status == -signal.SIGKILL, died.said
    outcome = scene.inrush("status", *scene.place.words, "--json").expect(CLEAN)
    (stopped,) = json.loads(outcome.output)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", stopped["started_at"])
    size: int | None = stopped["staging_bytes"]
    return size


def lacking(place: Place, inrush: Inrush, folder: Path) -> set[str]:
    """Return the abilities that the destination lacks according to a plan."""
    (folder / "none.csv").write_text("id,note\n")
    columns: list[Value] = ["id integer", "note text"]
    path = inrush.write("none.toml", place.package(flow("t", "none.csv", columns=columns)))
    plan = inrush("check", path).expect(CLEAN).output
    line = re.search(r"^Cannot +(.*)$", plan, re.M)
    return set(line.group(1).split(", ")) if line else set()

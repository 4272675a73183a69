"""Loads a round with the command, and reads the stored values back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from harness.command import CLEAN, LOADED_WITH_REJECTS, Inrush, Outcome
from harness.packages import Value, flow, package
from harness.servers import Database
from values import locales
from values.binary import decode
from values.roles import RoleSetting, given
from values.rounds import Group, Round

ROWS_MAX = 1_000_000


class LoadError(AssertionError):
    """A load that ended in a way that no value can cause."""


@dataclass
class Loaded:
    """The result of a round: the value of each case that is in the database."""

    values: dict[int, Any] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)
    # Groups with a column that the plan refuses, with the reason.
    refused: dict[int, str] = field(default_factory=dict)
    roles: list[RoleSetting] = field(default_factory=list)
    # Decimal digits of the currency for readers of the database.
    money_digits: int = 2


def table(group: Group) -> str:
    """Return the name of a group's table."""
    return f"t{group.cases[0].number}"


def write_file(group: Group, inrush: Inrush) -> None:
    """Write the file of a group."""
    inrush.write(f"{table(group)}.txt", group.text.encode(group.codec))


def flow_of(group: Group) -> str:
    """Return the flow of a group."""
    columns: list[Value] = [
        {"name": "id", "type": "bigint"},
        {"name": "value", "type": group.column.type_name, **group.column.settings},
    ]
    form: dict[str, Value] = {"preset": "tsv" if group.dialect == "tsv" else "csv", "header": False}
    if group.dialect != "tsv":
        form["delimiter"] = group.separator
    if group.encoding:
        form["encoding"] = group.encoding
    name = table(group)
    return flow(name, f"{name}.txt", columns=columns, format=form, rejects={"rows_max": ROWS_MAX})


def load(chosen: Round, database: Database, inrush: Inrush) -> Loaded:
    """Load a round into an empty database."""
    found = Loaded()
    for statement in sorted({one.column.before for one in chosen.groups if one.column.before}):
        for part in statement.split("; "):
            database.execute(_once(part))
    with database.connect() as connection:
        for group in chosen.groups:
            statement = f"CREATE TABLE {table(group)} (id bigint, value {group.column.type_name})"
            connection.execute(statement.encode())
            write_file(group, inrush)
    with given(database, chosen.roles) as held:
        found.roles = held
        found.money_digits = locales.MONEY_DIGITS.get(database.value("SHOW lc_monetary"), 2)
        outcome = _run(chosen, list(chosen.groups), database, inrush)
        if outcome.status not in (CLEAN, LOADED_WITH_REJECTS):
            _one_by_one(chosen, list(chosen.groups), database, inrush, found, outcome)
        else:
            note_rejects(outcome, list(chosen.groups), inrush, found)
    _read_back(chosen, database, found)
    return found


def _once(statement: str) -> str:
    return f"DO $do$ BEGIN {statement}; EXCEPTION WHEN duplicate_object THEN NULL; END $do$"


def _run(chosen: Round, groups: list[Group], database: Database, inrush: Inrush) -> Outcome:
    settings: dict[str, Value] = {"verify": "rows"} if chosen.verifies else {}
    name = f"values-{groups[0].cases[0].number}-{len(groups)}"
    text = package(database.url, *map(flow_of, groups), name=name, **settings)
    outcome = inrush("run", inrush.write("package.toml", text), seconds=170)
    if "panicked at" in outcome.said:
        raise LoadError(outcome.said)
    return outcome


def _one_by_one(
    chosen: Round,
    groups: list[Group],
    database: Database,
    inrush: Inrush,
    found: Loaded,
    outcome: Outcome,
) -> None:
    """Load the halves of a failed group again, down to the failing column."""
    if len(groups) == 1:
        found.refused[groups[0].cases[0].number] = outcome.errors
        return
    middle = len(groups) // 2
    for half in (groups[:middle], groups[middle:]):
        outcome = _run(chosen, half, database, inrush)
        if outcome.status in (CLEAN, LOADED_WITH_REJECTS):
            note_rejects(outcome, half, inrush, found)
        else:
            _one_by_one(chosen, half, database, inrush, found, outcome)


def note_rejects(outcome: Outcome, groups: list[Group], inrush: Inrush, found: Loaded) -> None:
    """Note which cases are rejects, and why."""
    if outcome.status == CLEAN:
        return
    of_file = {f"{table(group)}.txt": group for group in groups}
    for reject in outcome.rejects():
        name = reject["file"].rsplit("/", 1)[-1]
        group = of_file[name]
        # Line ends in fields give the file more lines than records.
        record = (inrush.folder / name).read_bytes()[reject["byte_offset"] :]
        number = int(record.decode(group.codec).split(group.separator, 1)[0])
        found.reasons[number] = f"{reject['code']}: {reject['reason']}"


def _read_back(chosen: Round, database: Database, found: Loaded) -> None:
    with database.connect() as connection, connection.cursor(binary=True) as cursor:
        for group in chosen.groups:
            cursor.execute(f"SELECT id, value FROM {table(group)}".encode())
            result = cursor.pgresult
            assert result is not None
            for row in range(result.ntuples):
                number = result.get_value(row, 0)
                assert number is not None
                place = int.from_bytes(number, "big")
                if place in found.values:
                    raise LoadError(f"case {place} was loaded twice")
                found.values[place] = decode(result.get_value(row, 1), group.column)

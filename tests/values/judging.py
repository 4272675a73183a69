"""Compares the values of a database with those of the reader, one by one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from values.loads import Loaded
from values.meanings import Column, Meaning, shown
from values.reader import read, same
from values.rounds import Case, Round


@dataclass
class Judgement:
    """The faults, and the number of values that were checked."""

    faults: list[str] = field(default_factory=list)
    # The arguments with which `torture.py` runs one of its cases again.
    again: str = ""
    # Columns that the plan refuses although the reader has values for them, and rejected rows that
    # have a value.
    refusals: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    # The number of cases before the first fault of each kind.
    firsts: dict[str, int] = field(default_factory=dict)

    def add(self, other: Judgement) -> None:
        """Add the faults and numbers of another judgement."""
        for kind, place in other.firsts.items():
            self.firsts.setdefault(kind, self.counts["cases"] + place)
        self.faults += other.faults
        self.refusals += other.refusals
        self.counts += other.counts


def judge(chosen: Round, loaded: Loaded, again: str = "") -> Judgement:
    """Judge a round; `again` is how to run it again."""
    found = Judgement(again=again)
    for group in chosen.groups:
        refused = loaded.refused.get(group.cases[0].number)
        for case in group.cases:
            found.counts["cases"] += 1
            if refused is not None:
                found.counts["refused by the plan"] += 1
                if case.number in loaded.values:
                    _tell(found, chosen, loaded, case, "a refused column has a value")
                continue
            _judge(found, chosen, loaded, case)
        if refused is not None:
            found.counts["columns refused"] += 1
            found.refusals.append(f"{group.column}: {refused.strip()}")
            if not is_allowed(refused, loaded):
                _tell(found, chosen, loaded, group.cases[0], f"the load is refused: {refused}")
    return found


def meant(case: Case, loaded: Loaded) -> Meaning:
    """Return the reader's value of a case, for the database that it was loaded into."""
    return read(case.field, case.column.with_money(loaded.money_digits))


def _judge(found: Judgement, chosen: Round, loaded: Loaded, case: Case) -> None:
    meaning = meant(case, loaded)
    found.counts["plain"] += meaning.plain
    found.counts["without a value"] += meaning.is_none
    if case.number not in loaded.values:
        found.counts["rejects"] += 1
        if case.number not in loaded.reasons:
            _tell(found, chosen, loaded, case, "the row is lost: neither loaded nor a reject")
        elif meaning.plain:
            said = loaded.reasons[case.number]
            _tell(found, chosen, loaded, case, f"a plain value is a reject ({said})")
        elif not meaning.is_none:
            found.counts["rejects of what has a value"] += 1
            found.refusals.append(
                f"{case.column}: {case.field.text!r}: {loaded.reasons[case.number]}"
            )
        return
    value = loaded.values[case.number]
    if case.number in loaded.reasons:
        _tell(found, chosen, loaded, case, "the row is loaded and a reject")
    elif meaning.is_none or not same(meaning.value, value):
        _tell(found, chosen, loaded, case, f"the database has {shown(value)}")
    else:
        found.counts["equal"] += 1


def is_allowed(refused: str, loaded: Loaded) -> bool:
    """Whether a load may be refused for this reason: its formats, or a setting that it names."""
    of_formats = (
        "is one value by this format and another by",
        "cannot be used: a value that it writes",
    )
    if any(reason in refused for reason in of_formats):
        return True
    return any(setting.name.lower() in refused.lower() for setting in loaded.roles)


def kind_of(column: Column) -> str:
    """Return the kind of a fault, by which faults are counted."""
    if column.element is not None:
        return f"{column.kind} of {kind_of(column.element)}"
    kind = column.kind + (" with fields" if column.fields else "")
    kind += " with a format" if column.setting("format") is not None else ""
    return kind + (" lossless" if column.setting("lossless", False) else "")


def _tell(found: Judgement, chosen: Round, loaded: Loaded, case: Case, what: str) -> None:
    meaning = meant(case, loaded)
    roles = "; ".join(map(str, loaded.roles)) or "no settings"
    kind = kind_of(case.column)
    found.firsts.setdefault(kind, found.counts["cases"])
    found.faults.append(
        f"{case.column}: {case.field.text!r} as {case.field.raw!r}: {what}; "
        f"the reader says {meaning}  [{roles}]\n"
        f"    again: tests/values/torture.py {found.again}--seed {chosen.seed} --only {case.number}"
    )

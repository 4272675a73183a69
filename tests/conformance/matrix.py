"""Writes docs/types.md: how each destination stores each type, as measured by the suite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conformance.measured import Measured
from conformance.values import Type, label

HEAD = """\
# Types by destination

The conformance suite writes this page from the values that it has loaded and read back; do not edit
it by hand (`INRUSH_BLESS=1 pytest tests/conformance -k matrix`). The table shows, for each type of
a package, the type of the column in a new table. The suite loaded NULL and the values of the
[last table](#what-was-tried) into every destination. Each value was read back exactly as it was in
the file, or its row was a reject. A number refers to a note below the table, which says what is not
loaded, and why.
"""


def _code(text: str) -> str:
    # If a text has invisible characters, they are shown as escapes.
    shown = text.encode("unicode_escape").decode() if not text.isprintable() else text
    if not shown.strip():
        shown = f'"{shown}"'
    shown = shown.replace("|", "\\|")
    return f"`` {shown} ``" if "`" in shown else f"`{shown}`"


def _table(rows: list[list[str]]) -> Iterator[str]:
    head, *rest = rows
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rest:
        yield "| " + " | ".join(row) + " |"


def page(found: Mapping[str, Mapping[Type, Measured]]) -> str:
    """Return the page with the findings of each destination."""
    titles = list(found)
    types = list(next(iter(found.values())))
    notes: list[str] = []

    def note(text: str) -> str:
        if text not in notes:
            notes.append(text)
        return f"[{notes.index(text) + 1}]"

    def cell(measured: Measured) -> str:
        if measured.refused is not None:
            return "refused " + note(f"The type is refused: {measured.refused}")
        by_reason: dict[str, list[str]] = {}
        for value, reason in measured.rejects.items():
            by_reason.setdefault(reason, []).append(_code(value))
        told = [
            note(f"Rejects: {', '.join(values)}: {reason}") for reason, values in by_reason.items()
        ]
        return " ".join([_code(measured.column_type), *told])

    rows = [["type", *titles]]
    rows += [
        [_code(type_.name), *(cell(found[title][type_]) for title in titles)] for type_ in types
    ]
    lines = [*_table(rows), ""]
    lines += [f"{number}. {text}" for number, text in enumerate(notes, 1)]
    tried = [["type", "values"]]
    tried += [
        [
            _code(type_.name),
            ", ".join(_code(label(value)) for value in type_.values if value is not None),
        ]
        for type_ in types
    ]
    lines += ["", "## What was tried", "", "NULL, and:", "", *_table(tried)]
    return HEAD + "\n" + "\n".join(lines) + "\n"


def refused(text: str, title: str) -> set[str]:
    """Return the names of the types that a destination refuses, from the text of the page."""
    table = text.split("\n\n| type | ")[1].split("\n\n")[0]
    head, _, *rows = [line.strip("| ").split(" | ") for line in table.splitlines()]
    # The first cell of the head, "type", is before the table.
    at = 1 + head.index(title)
    return {cells[0].strip("`") for cells in rows if cells[at].startswith("refused")}

"""The clauses and the suite match: every MUST has a test."""

from __future__ import annotations

import re
from pathlib import Path

from conformance.destinations import PLACES
from harness.checkout import DOCS

SPECIFICATION = DOCS / "specs" / "destination.md"


def clauses() -> dict[str, str]:
    """Return the clauses of the page with their texts."""
    text = SPECIFICATION.read_text().split("\n## Exceptions")[0]
    found = re.findall(r"^- \*\*(D-\d+)\*\* (.*?)(?=\n- \*\*|\n\n|\Z)", text, re.M | re.S)
    return {name: " ".join(clause.split()) for name, clause in found}


def named_by_tests() -> set[str]:
    """Return the clauses that markers name."""
    found: set[str] = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        for marker in re.findall(r"pytest\.mark\.clause\(([^)]*)\)", path.read_text()):
            found |= set(re.findall(r"D-\d+", marker))
    return found


def test_clauses_are_numbered_in_their_order() -> None:
    assert list(clauses()) == [f"D-{number}" for number in range(1, len(clauses()) + 1)]


def test_every_clause_is_a_must_or_a_should() -> None:
    for name, text in clauses().items():
        assert "MUST" in text or "SHOULD" in text, name


def test_every_must_is_tested() -> None:
    untested = {name for name, text in clauses().items() if "MUST" in text} - named_by_tests()
    assert untested == set()


def test_no_test_names_a_clause_that_is_none() -> None:
    assert named_by_tests() <= set(clauses())


def test_exceptions_stand_in_the_page_and_are_of_what_should_be() -> None:
    table = SPECIFICATION.read_text().split("\n## Exceptions")[1]
    rows = {
        tuple(cell.strip() for cell in line.strip("|").split("|"))
        for line in table.splitlines()
        if line.startswith("| D-")
    }
    declared = {
        (clause, kind.title, text) for kind in PLACES for clause, text in kind.exceptions.items()
    }
    assert rows == declared
    for clause, _, _ in declared:
        assert "SHOULD" in clauses()[clause], clause

"""Lookups that ignore case, accents and blanks: the matches are those of plain Python."""

from __future__ import annotations

import os
import random
import re
import unicodedata
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from conformance.canonical import Row
from conformance.destinations import DuckDb, in_order
from harness.command import CLEAN, USAGE, Inrush
from harness.packages import flow, step

WORDS = ["case", "accents", "blanks"]
FOLDS = [list(words) for count in range(4) for words in combinations(WORDS, count)]
# Letters that are equal if case is ignored, such as sharp s and both small sigmas, and letters with
# accents in both forms of Unicode.
LETTERS = [
    *("a", "A", "é", "É", "e\u0301", "e", "ß", "ss", "SS", "\u03c3", "ς", "Σ"),
    *("İ", "\u0131", "i", "ø", "ő"),
]
BLANKS = [" ", "  ", "\t", "\u00a0"]


def folded(text: str, words: list[str]) -> str:
    """Return the form in which a text is compared."""
    if "blanks" in words:
        text = re.sub(r"\s+", " ", text).strip()
    if "accents" in words:
        parts = unicodedata.normalize("NFD", text)
        text = "".join(letter for letter in parts if not "\u0300" <= letter <= "\u036f")
    if "case" in words:
        # Letter by letter, because Python makes another small sigma at the end of a word.
        text = "".join(small for letter in text.upper() for small in letter.lower())
    return text


def word(rng: random.Random) -> str:
    """Return a word of few letters, so that many words are equal in some way."""
    parts = [rng.choice(LETTERS) for _ in range(rng.randint(1, 2))]
    for place in (0, 1, len(parts)):
        if rng.random() < 0.3:
            parts.insert(place, rng.choice(BLANKS))
    return "".join(parts)


def csv(rows: list[tuple[int, str]]) -> str:
    """Return rows as a CSV file. All texts are quoted, so none is NULL."""
    return "id,word\n" + "".join(f'{number},"{text}"\n' for number, text in rows)


@pytest.mark.parametrize("words", FOLDS, ids="+".join)
def test_matches_are_those_of_python(tmp_path: Path, inrush: Inrush, words: list[str]) -> None:
    seed = int(os.environ.get("INRUSH_SEED", "1"))
    print(f"seed {seed}")
    rng = random.Random(seed)  # noqa: S311
    known: dict[str, tuple[int, str]] = {}
    for number in range(200):
        text = word(rng)
        known.setdefault(folded(text, words), (number, text))
    rows = [(number, word(rng)) for number in range(2_000)]
    inrush.write("words.csv", csv(list(known.values())))
    inrush.write("rows.csv", csv(rows))
    reference = {"files": "words.csv", "columns": ["id int", "word text"]}
    place = DuckDb(tmp_path / "results.duckdb")
    lookup = step(
        lookup=reference,
        on={"word": "word"},
        take={"word_id": "id", "known": "word"},
        unmatched="null",
        **({"fold": words[0] if len(words) == 1 else words} if words else {}),
    )
    columns = ["id int", "word text"]
    settings: dict[str, Any] = {
        "columns": columns,
        "format": {"preset": "csv", "header": True},
    }
    loading = flow("loaded", "rows.csv", **settings) + lookup
    path = inrush.write("package.toml", place.package(loading))
    said = inrush("check", path).expect(CLEAN).said
    assert all(each in said for each in words), said
    inrush("run", path).expect(CLEAN)
    matches = [known.get(folded(text, words), (None, None)) for _, text in rows]
    # A new target has the taken columns in the order of their names.
    expected: list[Row] = [
        (str(number), text, match, None if key is None else str(key))
        for (number, text), (key, match) in zip(rows, matches, strict=True)
    ]
    assert place.rows("loaded", ["int", "text", "text", "int"]) == in_order(expected)
    assert any(match is None for _, match in matches)
    differ = [text != match for (_, text), (_, match) in zip(rows, matches, strict=True) if match]
    assert any(differ) == bool(words)


def test_a_reference_whose_keys_are_equal_when_folded_is_refused(
    tmp_path: Path, inrush: Inrush
) -> None:
    inrush.write("rows.csv", "id,word\n1,Ole\n")
    inrush.write("words.csv", "key,word,since\n1,olé,2024-01-01\n2,OLE,2024-02-01\n")
    place = DuckDb(tmp_path / "results.duckdb")

    def loading(reference: dict[str, str], on: dict[str, str]) -> Path:
        lookup = {"files": "words.csv", **reference}
        taken = {"word_key": "key"}
        rows = flow("loaded", "rows.csv", columns=["id int", "word text"])
        rows += step(lookup=lookup, on=on, fold=["case", "accents"], take=taken)
        return inrush.write("package.toml", place.package(rows))

    refused = inrush("check", loading({}, {"word": "word"})).expect(USAGE)
    refused.expect(USAGE, 'the key "OLE" is there twice', "`fold`", "fold less")
    refused = inrush("check", loading({}, {"id": "key"}))
    refused.expect(USAGE, "`fold` is for texts, but no column of the key is a text")
    inrush("run", loading({"first": "since desc"}, {"word": "word"})).expect(CLEAN)
    assert place.rows("loaded", ["int", "text", "int"]) == [("1", "Ole", "2")]

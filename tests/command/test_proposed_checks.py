"""`inrush init` proposes checks, as comments that become steps."""

from __future__ import annotations

import re

from harness.command import CLEAN, Inrush

HEADER = "id,price,change,kind,order,shipped,received,note\n"


def row(number: int) -> str:
    """Return a row whose price is not negative, and whose receipt is not before its shipment."""
    shipped, received = number % 20 + 1, number % 20 + 1 + number % 5
    return (
        f"{number},{number % 50}.25,{number % 7 - 3},{'ABC'[number % 3]},{number % 4},"
        f"2024-03-{shipped:02},2024-03-{received:02},note {number}\n"
    )


def proposed(text: str) -> dict[str, str]:
    """Return the proposed checks of a package by their names."""
    found = re.findall(r'^# check = (".*")\n# name = "(.*)"$', text, re.MULTILINE)
    return {name: check for check, name in found}


def test_checks_are_proposed_as_comments(inrush: Inrush) -> None:
    inrush.write("sales.csv", HEADER + "".join(map(row, range(300))))
    inrush("init", "sales.csv", "--to", "results.duckdb", "--save", "sales.toml").expect(CLEAN)
    path = inrush.folder / "sales.toml"
    text = path.read_text()
    assert proposed(text) == {
        "id is not negative": '"id >= 0"',
        "price is not negative": '"price >= 0"',
        "kind is one of the known words": "\"kind IN ('A', 'B', 'C')\"",
        "order is not negative": r'"\"order\" >= 0"',
        "received is not before shipped": '"received >= shipped"',
    }
    # The proposed checks change nothing while they are comments.
    assert "step 1" not in inrush("check", path).expect(CLEAN).output
    lines = [
        line[2:] if re.match(r"# (\[\[flow\.step\]\]|check = |name = )", line) else line
        for line in text.splitlines()
    ]
    path.write_text("\n".join(lines) + "\n")
    checked = inrush("check", path).expect(CLEAN).output
    assert "step 5: check received is not before shipped" in checked
    outcome = inrush("run", path).expect(CLEAN)
    assert outcome.report["account"]["rows_loaded"] == 300


def test_few_rows_and_many_words_show_nothing(inrush: Inrush) -> None:
    inrush.write("few.csv", HEADER + "".join(map(row, range(40))))
    inrush("init", "few.csv", "--to", "results.duckdb", "--save", "few.toml").expect(CLEAN)
    assert "[[flow.step]]" not in (inrush.folder / "few.toml").read_text()
    rows = "".join(f"word {number}\n" for number in range(400))
    inrush.write("words.csv", "word\n" + rows)
    inrush("init", "words.csv", "--to", "results.duckdb", "--save", "words.toml").expect(CLEAN)
    assert "[[flow.step]]" not in (inrush.folder / "words.toml").read_text()


def test_words_are_written_as_text(inrush: Inrush) -> None:
    """Quotes and braces in a word have no special meaning."""
    words = ["it's", "{day}", "a\\b"]
    rows = "".join(f"{words[number % 3]},{number}\n" for number in range(200))
    inrush.write("odd.csv", "word,n\n" + rows)
    inrush("init", "odd.csv", "--to", "results.duckdb", "--save", "odd.toml").expect(CLEAN)
    path = inrush.folder / "odd.toml"
    text = path.read_text()
    (name,) = [name for name in proposed(text) if "known words" in name]
    lines = [
        line[2:] if re.match(r"# (\[\[flow\.step\]\]|check = |name = )", line) else line
        for line in text.splitlines()
    ]
    path.write_text("\n".join(lines) + "\n")
    assert name in inrush("check", path).expect(CLEAN).output
    outcome = inrush("run", path).expect(CLEAN)
    assert outcome.report["account"]["rows_loaded"] == 200

"""Reads arrays as PostgreSQL writes them; their elements are read as values of their type."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from values.meanings import Column, Meaning, may, must, nothing

BLANKS = " \t\n\r\v\f"
DIMENSIONS_MAX = 6
ReadElement = Callable[[str, Column], Meaning]
# An element without quotes, which may be the word for NULL.
Element = tuple[str, bool]


class ArrayError(ValueError):
    """A text that is not an array."""


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def blanks(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in BLANKS:
            self.at += 1

    def next(self) -> str:
        if self.at >= len(self.text):
            raise ArrayError("it ends too early")
        return self.text[self.at]

    def array(self) -> list[Any]:
        if self.next() != "{":
            raise ArrayError("no { stands where an array begins")
        self.at += 1
        found: list[Any] = []
        self.blanks()
        if self.next() == "}":
            self.at += 1
            return found
        while True:
            self.blanks()
            found.append(self.array() if self.next() == "{" else self.element())
            self.blanks()
            character = self.next()
            self.at += 1
            if character == "}":
                return found
            if character != ",":
                raise ArrayError("elements are separated by commas")

    def element(self) -> Element:
        if self.next() == '"':
            self.at += 1
            out = ""
            while (character := self.next()) != '"':
                if character == "\\":
                    self.at += 1
                    character = self.next()
                out += character
                self.at += 1
            self.at += 1
            return out, True
        out, kept, is_escaped = "", 0, False
        while (character := self.next()) not in ",}":
            if character in '{"':
                raise ArrayError("a quote or a bracket is inside an element")
            if character == "\\":
                self.at += 1
                out += self.next()
                kept, is_escaped = len(out), True
            else:
                out += character
                kept = len(out) if character not in BLANKS else kept
            self.at += 1
        out = out[:kept]
        if not out:
            raise ArrayError("an element is missing")
        return out, is_escaped


def shape(found: list[Any]) -> tuple[int, ...]:
    """Return the dimensions of nested lists, which must be regular."""
    inner = {shape(one) if isinstance(one, list) else None for one in found}
    if len(inner) > 1 or () in inner:
        raise ArrayError("its rows differ in length")
    below = inner.pop() if inner else None
    return (len(found), *(below or ())) if found else ()


def _flat(some: list[Any]) -> list[Element]:
    return [leaf for one in some for leaf in (_flat(one) if isinstance(one, list) else [one])]


def array(text: str, column: Column, read: ReadElement) -> Meaning:
    """Return the dimensions, first indexes and elements that a text means."""
    assert column.element is not None
    body = text.strip(BLANKS)
    lower: tuple[int, ...] | None = None
    lengths: tuple[int, ...] = ()
    if match := re.fullmatch(r"((?:\[[+-]?[0-9]+:[+-]?[0-9]+\])+)\s*=\s*(\{.*)", body, re.S):
        bounds = [
            tuple(map(int, pair)) for pair in re.findall(r"\[([+-]?\d+):([+-]?\d+)\]", match[1])
        ]
        lower, body = tuple(first for first, _ in bounds), match[2]
        lengths = tuple(last - first + 1 for first, last in bounds)
    parser = _Parser(body)
    try:
        found = parser.array()
        dimensions = shape(found)
    except ArrayError as fault:
        return nothing(str(fault))
    if parser.at != len(body):
        return nothing("something follows the array")
    if lower is not None and lengths != dimensions:
        return nothing("its bounds are not its lengths")
    if len(dimensions) > DIMENSIONS_MAX:
        return nothing("it has too many dimensions")
    plain = text == body and lower is None and len(dimensions) <= 1
    elements: list[Any] = []
    for word, is_quoted in _flat(found):
        if not is_quoted and word.upper() == "NULL":
            elements.append(None)
            continue
        meaning = read(word, column.element)
        if meaning.is_none:
            return meaning
        plain = plain and meaning.plain
        elements.append(meaning.value)
    value = (dimensions, lower or (1,) * len(dimensions), tuple(elements))
    return must(value) if plain else may(value)

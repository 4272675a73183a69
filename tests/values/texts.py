"""Reads texts and values that are words: booleans, keys, bytes, JSON, labels and bits."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

from values.amounts import BLANKS
from values.meanings import Column, Meaning, may, must, nothing

NAME_BYTES_MAX = 63


def text(value: str, column: Column) -> Meaning:
    """Return the meaning of a text in a text column: the text itself."""
    if "\0" in value:
        return nothing("no text of a database holds a NUL")
    if column.kind == "name":
        if len(value.encode()) > NAME_BYTES_MAX:
            return nothing("a name keeps 63 bytes")
        return must(value)
    if column.kind == '"char"':
        return _one_byte(value)
    if not column.sizes:
        return must(value.rstrip(" ") if column.kind == "char" else value)
    (length,) = column.sizes
    is_cut = column.setting("on_truncate") == "truncate"
    if column.kind == "char":
        if len(value) <= length:
            return must(value.rstrip(" "))
        if len(value.rstrip(" ")) <= length:
            return may(value.rstrip(" "))
        return must(value[:length].rstrip(" ")) if is_cut else nothing("it is too long")
    if len(value) <= length:
        return must(value)
    return must(value[:length]) if is_cut else nothing("it is too long")


def _one_byte(value: str) -> Meaning:
    if len(value) == 1 and value.isascii():
        return must(value.encode())
    if value == "":
        return may(b"\0")
    if re.fullmatch(r"\\[0-3][0-7]{2}", value):
        # PostgreSQL 16 and later write and read non-ASCII bytes in this form.
        return may(bytes([int(value[1:], 8)]))
    return nothing("it is more than the one byte that the type keeps")


def boolean(value: str, column: Column) -> Meaning:
    """Return true or false."""
    body = value.strip(BLANKS)
    word = body.lower()
    true_words, false_words = column.setting("true_words"), column.setting("false_words")
    if true_words is not None:
        for words, meant in ((true_words, True), (false_words, False)):
            if word in (one.lower() for one in words):
                return must(meant) if body == value and body in words else may(meant)
        return nothing("it is not one of the declared words")
    for words, meant in (("true yes on 1", True), ("false no off 0", False)):
        for full in words.split():
            if word == full and body == value:
                return must(meant)
            # `o` begins both `on` and `off`.
            if word and full.startswith(word) and word != "o":
                return may(meant)
    return nothing("it is not a word for true or false")


def uuid(value: str) -> Meaning:
    """Return the 16 bytes of a UUID."""
    body = value.strip(BLANKS)
    if body.startswith("{") and body.endswith("}"):
        body = body[1:-1]
    if not re.fullmatch(r"[0-9a-fA-F]{4}(-?[0-9a-fA-F]{4}){7}", body):
        return nothing("it is not a UUID")
    found = bytes.fromhex(body.replace("-", ""))
    plain = re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", value, re.I)
    return must(found) if plain else may(found)


def binary(value: str) -> Meaning:
    """Return the bytes that a text of `bytea` means."""
    if value.startswith("\\x"):
        digits = value[2:]
        if re.fullmatch(r"([0-9a-fA-F]{2})*", digits):
            return must(bytes.fromhex(digits))
        if re.fullmatch(r"([ \t\n\r]*[0-9a-fA-F]{2})*[ \t\n\r]*", digits):
            return may(bytes.fromhex(re.sub(r"\s", "", digits)))
        return nothing("it is not hexadecimal")
    out, rest = b"", value.encode()
    while rest:
        if rest[:1] != b"\\":
            out, rest = out + rest[:1], rest[1:]
        elif rest[:2] == b"\\\\":
            out, rest = out + b"\\", rest[2:]
        elif re.match(rb"\\[0-3][0-7]{2}", rest):
            out, rest = out + bytes([int(rest[1:4], 8)]), rest[4:]
        else:
            return nothing("a backslash in it escapes nothing")
    return may(out)


class RepeatedKeyError(ValueError):
    """A key that occurs twice in one object."""


def parsed_json(value: str) -> Any:
    """Return a JSON value with exact numbers; raise ValueError if invalid or a key repeats."""

    def refuse(word: str) -> Any:
        raise ValueError(word)

    repeated = []

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        repeated.append(len(dict(pairs)) < len(pairs))
        return dict(pairs)

    found = json.loads(
        value,
        parse_float=Decimal,
        parse_int=Decimal,
        parse_constant=refuse,
        object_pairs_hook=members,
    )
    # Only now is it certain that all of it is JSON.
    if any(repeated):
        raise RepeatedKeyError
    return found


def json_text(value: str, column: Column) -> Meaning:
    """Return the text of JSON, or what `jsonb` keeps of it."""
    try:
        found = parsed_json(value)
    except RepeatedKeyError:
        if column.kind == "json":
            return must(value)
        return nothing("jsonb keeps one of equal keys only")
    except (ValueError, RecursionError):
        return nothing("it is not JSON")
    escapes = re.search(r"\\u(d[89a-f][0-9a-f]{2}|0000)", value, re.I)
    if column.kind == "json":
        return may(value) if escapes else must(value)
    if re.search(r"(?<!\\)(\\\\)*\\u0000", value):
        return nothing("jsonb holds no \\u0000")
    # Whether surrogates come in pairs is not checked here.
    return may(found) if escapes or re.search(r"[eE][+-]?[0-9]{4}", value) else must(found)


def bits(value: str, column: Column) -> Meaning:
    """Return the bits of a text."""
    length = column.sizes[0] if column.sizes else None
    body, plain = value, True
    if value[:1] in "Xx" and value:
        if not re.fullmatch(r"[0-9a-fA-F]*", value[1:]):
            return nothing("it is not hexadecimal")
        body, plain = "".join(f"{int(digit, 16):04b}" for digit in value[1:]), False
    elif value[:1] in "Bb" and value:
        body, plain = value[1:], False
    if not re.fullmatch(r"[01]*", body):
        return nothing("it is not a row of bits")
    if column.kind == "bit" and len(body) != (length or 1):
        return nothing("its length is not the type's")
    if column.kind == "varbit" and length is not None and len(body) > length:
        return nothing("it is too long")
    return must(body) if plain and body else may(body)


def label(value: str, column: Column) -> Meaning:
    """Return a label of an enum."""
    return must(value) if value in column.labels else nothing("the type has no such label")

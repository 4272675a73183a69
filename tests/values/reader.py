"""An independent reader: the meaning of a file's field in a column, without code of Inrush.

It is plain Python with exact arithmetic, and slow. It must know every way to write a value that a
loader accepts, because for any other text it says that the row must be a reject.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from values import amounts, arrays, declared_formats, intervals, moments, texts
from values.meanings import Column, Meaning, must, nothing


@dataclass(frozen=True)
class Field:
    """A field: its text, and how it is written in the file."""

    text: str
    # True if it is quoted in a CSV file.
    quoted: bool = False
    # True if it is written in COPY's text form, with backslashes.
    escaped: bool = False

    @property
    def raw(self) -> str:
        """The text in the file."""
        if self.quoted:
            return '"' + self.text.replace('"', '""') + '"'
        if self.escaped:
            return escape(self.text)
        return self.text


def escape(text: str) -> str:
    """Write a text as COPY's text form does, except its word for NULL."""
    if text == "\\N":
        return text
    for plain, written in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(plain, written)
    return text


def _cut(text: str, how: str) -> str:
    if how in ("start", "both"):
        text = text.lstrip(" \t")
    return text.rstrip(" \t") if how in ("end", "both") else text


def read(field: Field, column: Column) -> Meaning:
    """Return the meaning of a field in a column."""
    trim = column.setting("trim", "none")
    text = field.text
    if field.quoted:
        is_null = False
        text = _cut(text, trim) if column.setting("trim_quoted", False) else text
    else:
        # Escaped blanks stay; `escape` writes tabs and line ends in this way.
        if field.escaped:
            cut = _cut(field.raw, trim)
            text = _unescaped(cut)
        else:
            cut = text = _cut(text, trim)
        markers = column.setting("null", "\\N" if field.escaped else "")
        markers = [] if markers is False else [markers] if isinstance(markers, str) else markers
        is_null = cut in markers
        if field.escaped and not is_null and field.text == "\\N":
            # `\N` is not NULL here, so it is an escaped letter.
            text = "N"
    if is_null:
        return must(None)
    if "\0" in text:
        return nothing("no text of a database holds a NUL")
    return value(text, column)


def _unescaped(raw: str) -> str:
    out, at = "", 0
    while at < len(raw):
        if raw[at] == "\\" and at + 1 < len(raw):
            out += {"t": "\t", "n": "\n", "r": "\r"}.get(raw[at + 1], raw[at + 1])
            at += 2
        else:
            out += raw[at]
            at += 1
    return out


def value(text: str, column: Column) -> Meaning:
    """Return the meaning of a text as a value of the column's type."""
    match column.kind:
        case "int2" | "int4" | "int8" | "float4" | "float8" | "numeric":
            return amounts.number(text, column)
        case "money":
            return amounts.money(text, column)
        case "date" | "time" | "timestamp" | "timestamptz" | "timetz":
            if column.setting("format") is not None:
                return declared_formats.declared(text, column)
            return moments.default(text, column)
        case "interval":
            return intervals.interval(text, column)
        case "text" | "varchar" | "char" | "name" | '"char"':
            return texts.text(text, column)
        case "bool":
            return texts.boolean(text, column)
        case "uuid":
            return texts.uuid(text)
        case "bytea":
            return texts.binary(text)
        case "json" | "jsonb":
            return texts.json_text(text, column)
        case "bit" | "varbit":
            return texts.bits(text, column)
        case "enum":
            return texts.label(text, column)
        case "array":
            return arrays.array(text, column, value)
        case "domain":
            assert column.element is not None
            return value(text, replace(column.element, settings=column.settings))
    raise AssertionError(f"no reader of {column.kind}")


def same(expected: Any, found: Any) -> bool:
    """Whether two values are equal."""
    return type(expected) is type(found) and bool(expected == found)

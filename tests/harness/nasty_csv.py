"""Makes difficult CSV files from a seed, and says how two readers may differ.

Every file is small, because many of them are loaded at once. Each file gets a random dialect, sound
or faulty records, and random line ends. Sometimes single bytes are damaged, to cover faults that
nobody thought of.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def seed() -> int:
    """Return the seed of this run: `INRUSH_TEST_SEED`, or a fixed one."""
    return int(os.environ.get("INRUSH_TEST_SEED", "3"))


@dataclass(frozen=True)
class Dialect:
    """The dialect of a file, in the terms of both readers."""

    columns: int = 3
    delimiter: str = ","
    quote: str = '"'
    escape: str = '"'
    null: str = ""
    null_quoted: bool = False
    header: bool = False
    returns_only: bool = False

    @property
    def names(self) -> list[str]:
        """The columns."""
        return [f"c{number}" for number in range(self.columns)]

    @property
    def copy_options(self) -> str:
        """The options of COPY."""
        texts = {
            "DELIMITER": self.delimiter,
            "QUOTE": self.quote,
            "ESCAPE": self.escape,
            "NULL": self.null,
        }
        options = ["FORMAT csv", "ENCODING 'UTF8'", f"HEADER {self.header}"]
        options += [f"{name} {_sql_text(text)}" for name, text in texts.items()]
        if self.null_quoted:
            options.append(f"FORCE_NULL ({', '.join(self.names)})")
        return ", ".join(options)

    @property
    def inrush_format(self) -> dict[str, str | int | bool]:
        """The format of Inrush."""
        return {
            "preset": "csv",
            "delimiter": self.delimiter,
            "quote": self.quote,
            "escape": self.escape,
            "null": self.null,
            "null_quoted": self.null_quoted,
            "header": self.header,
            "terminator": "cr" if self.returns_only else "any",
        }


def _sql_text(text: str) -> str:
    doubled = text.replace("\\", "\\\\").replace("'", "''")
    return f"E'{doubled}'"


@dataclass(frozen=True)
class NastyFile:
    """A file and its dialect."""

    number: int
    dialect: Dialect
    text: bytes

    @property
    def name(self) -> str:
        """Its name."""
        return f"{self.number}.csv"

    @property
    def has_mark(self) -> bool:
        """Whether it begins with a byte order mark, which COPY reads as text."""
        return self.text.startswith(BYTE_ORDER_MARK)

    @property
    def inrush_format(self) -> dict[str, str | int | bool]:
        """Its format in the terms of Inrush."""
        found = self.dialect.inrush_format
        # Without a declared encoding, a text that begins with NUL bytes would be taken for UTF-16.
        return found | {"encoding": "utf-8"} if b"\0" in self.text[:4] else found

    def __str__(self) -> str:
        """Show all that is needed to reproduce it."""
        return f"file {self.number} of seed {seed()}, {self.dialect}\n{self.text!r}"


def nasty_files(numbers: random.Random, count: int, *, end_markers: bool) -> list[NastyFile]:
    r"""Return files; `end_markers` is true if COPY reads a line of `\.` as a value."""
    files: list[NastyFile] = []
    while len(files) < count:
        file = _nasty_file(numbers, len(files))
        if end_markers or re.search(rb"(?:^|[\r\n])\\\.(?:[\r\n]|$)", file.text) is None:
            files.append(file)
    return files


def _dialect(numbers: random.Random) -> Dialect:
    quote = numbers.choice('""""\'`')
    delimiter = numbers.choice(",,,;|\t\x01 ^")
    escape = numbers.choice([quote, quote, quote, "\\", "~"])
    nulls = ["", "", "", "\\N", "NULL", "-", " "]
    return Dialect(
        columns=numbers.choice([1, 2, 3, 3, 3, 5]),
        delimiter=delimiter,
        quote=quote,
        escape=escape,
        null=numbers.choice([null for null in nulls if delimiter not in (null or "x")]),
        null_quoted=numbers.random() < 0.2,
        header=numbers.random() < 0.2,
        returns_only=numbers.random() < 0.1,
    )


def _faults(dialect: Dialect) -> list[str]:
    """Return fields that make their records faulty."""
    quote = dialect.quote
    return [
        f"a{quote}b",
        f"a{quote}{quote}b",
        f" {quote}a{quote}",
        f"{quote}a{quote}b",
        f"{quote}a{quote} ",
        f"{quote}a{quote}{quote}",
        f"{quote}{quote}{quote}",
        f"{quote}never closed",
        f"a{quote}{dialect.delimiter}{quote}b",
        f"a{quote}\n{quote}b",
        f"{quote}a{quote}\r",
        "lone \r return",
        "\r",
        "nul \0 byte",
        "\0",
        f"{quote}\0{quote}",
        # These characters stand for bytes that are not UTF-8.
        "latin \udce9",
        f"{quote}\udcff\udcfe{quote}",
    ]


class Writer:
    """Writes the fields and records of one file."""

    def __init__(
        self,
        numbers: random.Random,
        dialect: Dialect,
        *,
        fault_share: float = 0,
        long_words: Sequence[str] = (),
    ) -> None:
        self.numbers = numbers
        self.dialect = dialect
        self.fault_share = fault_share
        # A file has few kinds of faults: with many, COPY would refuse nearly every file.
        self.faults = numbers.choices(_faults(dialect), k=numbers.choice([1, 1, 2, 10]))
        self.ragged_share = fault_share / 2 if numbers.random() < 0.3 else 0.0
        self.words = [
            *("", "", "a", "word", "0", "007", "é", "😀", "\u00a0", "x" * 70, "\x7f", "\x02"),
            *("\\", "\\\\", "\\N", "NULL", "-", "\\.", ".", "#", "\ufeff", "\t", "'", "`", "~"),
            *long_words,
            *(" ", "  ", " before", "behind ", ",", ";", "|", '"', "\\n", "\\t", "x\\.y"),
        ]

    def unquoted(self) -> str:
        """Return a field that needs no quotes."""
        special = {self.dialect.delimiter, self.dialect.quote, "\n", "\r"}
        words = self.numbers.choices(self.words, k=self.numbers.choice([0, 1, 1, 1, 2, 4]))
        return "".join(character for character in "".join(words) if character not in special)

    def quoted(self, counts: Sequence[int] = (0, 1, 1, 2, 4, 8)) -> str:
        """Return a quoted field with one of these numbers of words."""
        words = [
            *self.words,
            *("\n", "\r\n", "\r", "\r\r\n", "\n\n", self.dialect.delimiter, self.dialect.null),
            *(self.dialect.quote, self.dialect.quote * 2, self.dialect.escape),
        ]
        text = "".join(self.numbers.choices(words, k=self.numbers.choice(counts)))
        quote, escape = self.dialect.quote, self.dialect.escape
        if escape != quote:
            text = text.replace(escape, escape * 2)
        return quote + text.replace(quote, escape + quote) + quote

    def faulty(self) -> str:
        """Return a field that makes its record faulty."""
        return self.numbers.choice(self.faults)

    def record(self) -> str:
        """Return a record without its line end."""
        count = self.dialect.columns
        if self.numbers.random() < self.ragged_share:
            count = max(1, count + self.numbers.choice([-1, -1, 1, 2]))
        fields = []
        for _ in range(count):
            if self.numbers.random() < self.fault_share:
                fields.append(self.faulty())
            elif self.numbers.random() < 0.4:
                fields.append(self.quoted())
            else:
                fields.append(self.unquoted())
        return self.dialect.delimiter.join(fields)


def _nasty_file(numbers: random.Random, number: int) -> NastyFile:
    dialect = _dialect(numbers)
    fault_share = numbers.choice([0, 0, 0, 0.05, 0.1])
    if dialect.returns_only:
        fault_share = 0.0
        line_ends = ["\r"]
    else:
        line_ends = numbers.choice([["\n"], ["\n"], ["\r\n"], ["\n", "\r\n"]])
        if numbers.random() < 0.1:
            odd = [["\r"], ["\r\r\n"], ["\n", "\r"], ["\r\n", "\r\r\n"]]
            line_ends = numbers.choice(odd[2:] if dialect.header else odd)
    blank_share = numbers.choice([0, 0, 0, 0.2])
    # The field is longer than the chunks that are read.
    long_words = ["long" * 20_000, "longer" * 40_000] if numbers.random() < 0.05 else []
    writer = Writer(numbers, dialect, fault_share=fault_share, long_words=long_words)
    parts = []
    for _ in range(numbers.choice([0, 1, 2, 5, 12])):
        blanks = 1 if numbers.random() < blank_share else 0
        parts += [numbers.choice(line_ends) for _ in range(blanks)]
        parts += [writer.record(), numbers.choice(line_ends)]
    if parts and numbers.random() < 0.3:
        parts.pop()
    text = "".join(parts).encode("utf-8", "surrogateescape")
    if not dialect.returns_only and numbers.random() < 0.25:
        text = _damaged(numbers, dialect, text)
    head = b""
    if dialect.header:
        # A header is always sound, because otherwise the whole file is refused.
        line_end = line_ends[0] if line_ends[0] != "\r\r\n" else "\r\n"
        head = (dialect.delimiter.join(dialect.names) + line_end).encode()
    if numbers.random() < 0.1:
        head = BYTE_ORDER_MARK + head
    return NastyFile(number, dialect, head + text)


def _damaged(numbers: random.Random, dialect: Dialect, text: bytes) -> bytes:
    """Return a text from which some bytes are removed, and to which others are added."""
    damaged = bytearray(text)
    specials = f"{dialect.delimiter}{dialect.quote}{dialect.quote}{dialect.escape}\n\r\\ a"
    for _ in range(numbers.choice([1, 1, 2, 5])):
        at = numbers.randrange(len(damaged) + 1)
        if numbers.random() < 0.5:
            damaged[at : at + 1] = b""
        else:
            damaged[at:at] = numbers.choice(specials).encode()
    return bytes(damaged)


def mended(file: NastyFile, text: bytes) -> tuple[bytes, set[str]]:
    """Return a text without the parts that only Inrush accepts, and the names of these parts.

    The text must have no byte order mark and no record that Inrush rejects. Quotes are counted as
    COPY counts them.
    """
    dialect = file.dialect
    quote, escape = dialect.quote.encode(), dialect.escape.encode()
    differences = set()
    made = bytearray()
    line_ends = set()
    record_start = 0
    is_quoted = False
    at = 0
    while at < len(text):
        byte = text[at : at + 1]
        if is_quoted:
            if byte == escape != quote:
                # COPY keeps an escape before a byte that needs none; Inrush removes it.
                following = text[at + 1 : at + 2]
                if following in (quote, escape):
                    made += byte
                else:
                    differences.add("escaped_ordinary_byte")
                made += following
                at += 2
                continue
            is_quoted = byte != quote
        elif byte == quote:
            is_quoted = True
        elif not dialect.returns_only and byte in (b"\n", b"\r"):
            line_end = b"\r\n" if text[at : at + 2] == b"\r\n" else byte
            line_ends.add(line_end)
            if len(made) == record_start and dialect.columns > 1:
                differences.add("blank_line")
            else:
                made += b"\n"
            at += len(line_end)
            record_start = len(made)
            continue
        elif byte == b"\r":
            if len(made) == record_start and dialect.columns > 1:
                differences.add("blank_line")
                at += 1
                continue
            made += byte
            at += 1
            record_start = len(made)
            continue
        made += byte
        at += 1
    if len(line_ends) > 1:
        differences.add("mixed_line_ends")
    return bytes(made), differences


def record_end(dialect: Dialect, text: bytes, start: int) -> int:
    """Return where a record of Inrush ends: before the first line end outside of quotes.

    A quote opens a field only as its first byte, whatever is wrong with the record.
    """
    delimiter, quote, escape = (
        part.encode() for part in (dialect.delimiter, dialect.quote, dialect.escape)
    )
    is_quoted = False
    at_field_start = True
    at = start
    while at < len(text):
        byte = text[at : at + 1]
        if is_quoted:
            if byte == escape and (escape != quote or text[at + 1 : at + 2] == quote):
                at += 1
            elif byte == quote:
                is_quoted = False
        elif line_end_at(dialect, text, at):
            return at
        else:
            is_quoted = at_field_start and byte == quote
            at_field_start = byte == delimiter
        at += 1
    return len(text)


def line_end_at(dialect: Dialect, text: bytes, at: int) -> bytes:
    """Return the line end at a position, or nothing."""
    found = (b"\r",) if dialect.returns_only else (b"\n", b"\r\n")
    return next((end for end in found if text.startswith(end, at)), b"")

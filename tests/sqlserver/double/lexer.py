"""The tokens of T-SQL, and a reader that takes them one by one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .errors import SqlError
from .types import SqlType

# Words of conditions that are not names.
_WORDS = (
    "AND",
    "OR",
    "NOT",
    "IN",
    "IS",
    "NULL",
    "BETWEEN",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "AS",
)
_TOKEN = re.compile(
    r"""\s+|--[^\n]*|/\*.*?\*/
    |(?P<text>[Nn]?'(?:[^']|'')*')
    |(?P<quoted>"(?:[^"]|"")*"|\[(?:[^\]]|\]\])*\])
    |(?P<number>\d+(?:\.\d+)?)
    |(?P<word>@{0,2}[A-Za-z_\#\$][\w\#\$]*)
    |(?P<mark><>|<=|>=|!=|[(),.;=<>+*/%-])""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """A token: its kind, and its text without quotes."""

    kind: str
    text: str

    @property
    def written(self) -> str:
        """Return the token as a statement writes it."""
        doubled = self.text.replace("'", "''")
        quoted = self.text.replace("]", "]]")
        # A blank keeps words apart.
        return {"text": f"N'{doubled}'", "quoted": f"[{quoted}]", "word": f" {self.text} "}.get(
            self.kind, self.text
        )

    def is_word(self, *words: str) -> bool:
        """Return whether the token is one of these words, unquoted."""
        return self.kind == "word" and self.text.upper() in words


def tokens(sql: str, *, quoted_identifiers: bool = True) -> list[Token]:
    """Split a batch into its tokens; without QUOTED_IDENTIFIER, double quotes enclose a text."""
    found = []
    at = 0
    while at < len(sql):
        match = _TOKEN.match(sql, at)
        if match is None:
            raise SqlError(102, sql[at : at + 10])
        at = match.end()
        kind = match.lastgroup
        if kind is None:
            continue
        text = match[kind]
        if kind == "text":
            text = text[text.index("'") + 1 : -1].replace("''", "'")
        elif text[0] == '"' and not quoted_identifiers:
            kind, text = "text", text[1:-1].replace('""', '"')
        elif kind == "quoted":
            text = text[1:-1].replace('""' if text[0] == '"' else "]]", text[-1])
        found.append(Token(kind, text))
    return found


@dataclass
class Name:
    """The name of an object: its schema, if one is written, and its own name."""

    schema: str | None
    name: str


class TokenReader:
    """The tokens of a batch, and the place of the next one."""

    def __init__(self, sql: str, *, quoted_identifiers: bool = True) -> None:
        self._tokens = tokens(sql, quoted_identifiers=quoted_identifiers)
        self._at = 0
        self.sql = sql

    def _peek(self, ahead: int = 0) -> Token:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else Token("end", "")

    def _next(self) -> Token:
        token = self._peek()
        self._at += 1
        return token

    def _is(self, *words: str) -> bool:
        return self._peek().is_word(*words)

    def _take(self, *words: str) -> bool:
        """Read these words, one after the other, if they come next."""
        if all(self._peek(at).is_word(word) for at, word in enumerate(words)):
            self._at += len(words)
            return True
        return False

    def _mark(self, mark: str) -> bool:
        if self._peek() == Token("mark", mark):
            self._at += 1
            return True
        return False

    def _must(self, *words: str) -> None:
        for word in words:
            is_mark = not word[0].isalpha()
            if not (self._mark(word) if is_mark else self._take(word)):
                raise SqlError(102, self._peek().text)

    def _identifier(self) -> str:
        token = self._next()
        if token.kind not in ("word", "quoted"):
            raise SqlError(102, token.text)
        return token.text

    def _name(self) -> Name:
        first = self._identifier()
        return Name(first, self._identifier()) if self._mark(".") else Name(None, first)

    def _words_in_parentheses(self) -> list[str]:
        self._must("(")
        found = []
        while not self._mark(")"):
            token = self._next()
            if token.kind == "end":
                raise SqlError(102, "(")
            if token != Token("mark", ","):
                found.append(token.text)
        return found

    def _hints(self) -> set[str]:
        if not self._is("WITH") or self._peek(1) != Token("mark", "("):
            return set()
        self._next()
        return {word.upper() for word in self._words_in_parentheses()}

    def _type(self) -> SqlType:
        name = self._identifier()
        if self._is("VARYING", "PRECISION"):
            name += " " + self._identifier()
        numbers = self._words_in_parentheses() if self._peek() == Token("mark", "(") else []
        collation = self._identifier() if self._take("COLLATE") else None
        return SqlType.parse(name, [number.lower() for number in numbers], collation)

    def _text_since(self, start: int) -> str:
        """Return the tokens since a place as the catalog has them: with names in brackets."""
        found = self._tokens[start : self._at]
        text = ""
        for token, after in zip(found, [*found[1:], Token("end", "")], strict=True):
            is_name = token.kind == "word" and not token.is_word(*_WORDS) and after.text != "("
            text += Token("quoted", token.text).written if is_name else token.written
        return text

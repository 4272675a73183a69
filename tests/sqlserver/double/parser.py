"""Reads the T-SQL that the tests and the destination write: a part of the language, strictly.

An unknown statement raises `NotInDoubleError`, so that no answer is a guess. Expressions and
statements are tuples: their kind, then their parts.
"""

from __future__ import annotations

from typing import Any

from .definition_parser import DefinitionParser
from .errors import NotInDoubleError, SqlError
from .lexer import Token
from .nodes import Node


class Parser(DefinitionParser):
    """Reads a batch statement by statement."""

    def statements(self) -> list[Node]:
        """Return all statements of the batch."""
        found = []
        while self._peek().kind != "end":
            if not self._mark(";"):
                found.append(self.statement())
        return found

    def statement(self) -> Node:
        """Return the next statement."""
        word = self._next()
        known = {
            "SET": self._set,
            "BEGIN": self._begin,
            "COMMIT": lambda: self._end_of_transaction("commit"),
            "ROLLBACK": lambda: self._end_of_transaction("rollback"),
            "IF": self._if,
            "INSERT": self._insert,
            "UPDATE": self._update,
            "DELETE": self._delete,
            "TRUNCATE": self._truncate,
            "CREATE": self._create,
            "DROP": self._drop,
            "ALTER": self._alter,
            "EXEC": self._execute,
            "EXECUTE": self._execute,
        }
        if word.is_word("SELECT"):
            return ("select", self._select())
        if word.kind != "word" or word.text.upper() not in known:
            raise SqlError(102, word.text)
        return known[word.text.upper()]()

    def _set(self) -> Node:
        if self._take("IDENTITY_INSERT"):
            name = self._name()
            return ("identity_insert", name, self._next().text.upper() == "ON")
        if self._take("TRANSACTION", "ISOLATION", "LEVEL"):
            is_snapshot = self._take("SNAPSHOT")
            if not is_snapshot:
                self._must("READ", "COMMITTED")
            return ("isolation", is_snapshot)
        setting = self._identifier().upper()
        value = self._next().text.upper()
        known = ("XACT_ABORT", "ARITHABORT", "NOCOUNT", "LOCK_TIMEOUT", "QUOTED_IDENTIFIER")
        if setting not in known:
            raise NotInDoubleError(f"SET {setting}")
        return ("set", setting, value)

    def _begin(self) -> Node:
        if not (self._take("TRANSACTION") or self._take("TRAN")):
            raise NotInDoubleError("BEGIN without TRANSACTION")
        return ("begin",)

    def _end_of_transaction(self, kind: str) -> Node:
        _ = self._take("TRANSACTION") or self._take("TRAN")
        return (kind,)

    def _if(self) -> Node:
        condition = self.expression()
        return ("if", condition, self.statement())

    def _insert(self) -> Node:
        if self._take("BULK"):
            return self._insert_bulk()
        self._must("INTO")
        name, hints = self._name(), self._hints()
        columns = self._column_list() if self._peek() == Token("mark", "(") else None
        if self._take("VALUES"):
            rows = []
            while True:
                self._must("(")
                rows.append(self._expressions())
                if not self._mark(","):
                    return ("insert", name, hints, columns, rows, None)
        self._must("SELECT")
        return ("insert", name, hints, columns, [], self._select())

    def _insert_bulk(self) -> Node:
        name = self._name()
        self._must("(")
        columns = []
        while True:
            columns.append((self._identifier(), self._type()))
            _ = self._take("NOT", "NULL") or self._take("NULL")
            if not self._mark(","):
                break
        self._must(")")
        return ("insert_bulk", name, columns, self._hints())

    def _update(self) -> Node:
        if self._take("STATISTICS"):
            return ("update_statistics", self._name())
        name, hints = self._name(), self._hints()
        self._must("SET")
        changes = []
        while True:
            column = self._identifier()
            self._must("=")
            changes.append((column, self.expression()))
            if not self._mark(","):
                break
        sources = self._sources() if self._take("FROM") else []
        return ("update", name, hints, changes, sources, self._where())

    def _delete(self) -> Node:
        self._must("FROM")
        name, hints = self._name(), self._hints()
        return ("delete", name, hints, self._where())

    def _truncate(self) -> Node:
        self._must("TABLE")
        name = self._name()
        ranges: list[tuple[int, int]] | None = None
        if self._take("WITH"):
            self._must("(", "PARTITIONS", "(")
            ranges = []
            while True:
                low = high = int(self._next().text)
                if self._take("TO"):
                    high = int(self._next().text)
                ranges.append((low, high))
                if not self._mark(","):
                    break
            self._must(")", ")")
        return ("truncate", name, ranges)

    def _execute(self) -> Node:
        procedure = self._identifier().lower()
        arguments: dict[str, Any] = {}
        number = 0
        while self._peek().kind in ("text", "number") or self._peek().text.startswith("@"):
            key = str(number)
            if self._peek().text.startswith("@"):
                key = self._next().text[1:].lower()
                self._must("=")
            arguments[key] = self._next().text
            number += 1
            if not self._mark(","):
                break
        return ("execute", procedure, arguments)

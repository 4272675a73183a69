"""Reads queries and expressions.

Expressions are tuples: their kind, then their parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from .lexer import Name, Token, TokenReader
from .nodes import Node

# Words that may follow a table and are not an alias.
_AFTER_SOURCES = (
    "WHERE",
    "JOIN",
    "INNER",
    "LEFT",
    "ON",
    "GROUP",
    "HAVING",
    "ORDER",
    "WITH",
    "TABLESAMPLE",
)


@dataclass
class Source:
    """A table or view of a FROM clause."""

    name: Name
    alias: str
    hints: set[str] = field(default_factory=set)
    # The share of its pages that TABLESAMPLE takes; None for all.
    percent: float | None = None
    # The condition of the join; None for the first.
    on: Node | None = None
    # True for LEFT JOIN: a row without a partner is joined with NULLs.
    is_outer: bool = False
    # The query, if it is not a table.
    query: Select | None = None
    # The names and rows of the query, once it was run for a statement that needs them often.
    made: tuple[list[str], list[list[Any]]] | None = None


@dataclass
class Select:
    """A query."""

    top: Node | None
    items: list[tuple[Node, str]]
    sources: list[Source]
    where: Node | None
    order: list[tuple[Node, bool]]
    group: list[Node] = field(default_factory=list)
    distinct: bool = False
    # The table that SELECT ... INTO makes.
    into: Name | None = None
    having: Node | None = None


class QueryParser(TokenReader):
    """Reads the queries and expressions of a batch."""

    # Queries.

    def _select(self) -> Select:
        top = None
        distinct = self._take("DISTINCT")
        if self._take("TOP"):
            self._must("(")
            top = self.expression()
            self._must(")")
        items = []
        while True:
            if self._mark("*"):
                items.append((("star",), ""))
            else:
                node = self.expression()
                alias = node[2] if node[0] == "column" else ""
                if self._take("AS"):
                    alias = self._identifier()
                items.append((node, alias))
            if not self._mark(","):
                break
        into = self._name() if self._take("INTO") else None
        sources = self._sources() if self._take("FROM") else []
        where = self._where()
        group = []
        if self._take("GROUP", "BY"):
            group.append(self.expression())
            while self._mark(","):
                group.append(self.expression())
        having = self.expression() if self._take("HAVING") else None
        order = []
        if self._take("ORDER", "BY"):
            while True:
                node = self.expression()
                order.append((node, self._take("DESC")))
                _ = self._take("ASC")
                if not self._mark(","):
                    break
        return Select(top, items, sources, where, order, group, distinct, into, having)

    def _sources(self) -> list[Source]:
        """Return the tables after FROM."""
        sources = [self._source()]
        while True:
            is_outer = self._take("LEFT", "JOIN")
            if not (is_outer or self._take("JOIN") or self._take("INNER", "JOIN")):
                return sources
            source = self._source()
            self._must("ON")
            source.on, source.is_outer = self.expression(), is_outer
            sources.append(source)

    def _source(self) -> Source:
        if self._mark("("):
            self._must("SELECT")
            query = self._select()
            self._must(")", "AS")
            alias = self._identifier()
            return Source(Name(None, alias), alias, query=query)
        name = self._name()
        hints = self._hints()
        alias = name.name
        _ = self._take("AS")
        if self._peek().kind == "quoted" or (
            self._peek().kind == "word" and not self._is(*_AFTER_SOURCES)
        ):
            alias = self._identifier()
        percent = self._percent()
        return Source(name, alias, hints or self._hints(), percent)

    def _percent(self) -> float | None:
        """Return the share of TABLESAMPLE SYSTEM (n PERCENT) REPEATABLE (seed)."""
        if not self._take("TABLESAMPLE"):
            return None
        _ = self._take("SYSTEM")
        self._must("(")
        percent = float(self._next().text)
        self._must("PERCENT", ")")
        if self._take("REPEATABLE"):
            self._words_in_parentheses()
        return percent

    def _where(self) -> Node | None:
        return self.expression() if self._take("WHERE") else None

    # Expressions, the loosest operator first.

    def expression(self) -> Node:
        """Return the next expression."""
        node = self._conjunction()
        while self._take("OR"):
            node = ("or", node, self._conjunction())
        return node

    def _conjunction(self) -> Node:
        node = self._negation()
        while self._take("AND"):
            node = ("and", node, self._negation())
        return node

    def _negation(self) -> Node:
        if self._take("NOT"):
            return ("not", self._negation())
        return self._comparison()

    def _comparison(self) -> Node:
        node = self._sum()
        if self._take("IS"):
            negated = self._take("NOT")
            self._must("NULL")
            return ("not", ("is_null", node)) if negated else ("is_null", node)
        negated = self._take("NOT")
        if self._take("IN"):
            self._must("(")
            if self._take("SELECT"):
                found: Node = ("in_query", node, self._select())
                self._must(")")
            else:
                found = ("in", node, self._expressions())
            return ("not", found) if negated else found
        if self._take("BETWEEN"):
            low = self._sum()
            self._must("AND")
            return ("and", ("compare", ">=", node, low), ("compare", "<=", node, self._sum()))
        for mark in ("<>", "!=", "<=", ">=", "=", "<", ">"):
            if self._mark(mark):
                return ("compare", "<>" if mark == "!=" else mark, node, self._sum())
        return node

    def _sum(self) -> Node:
        node = self._product()
        while True:
            if self._mark("+"):
                node = ("arithmetic", "+", node, self._product())
            elif self._mark("-"):
                node = ("arithmetic", "-", node, self._product())
            else:
                return node

    def _product(self) -> Node:
        node = self._collated()
        while True:
            if self._mark("*"):
                node = ("arithmetic", "*", node, self._collated())
            elif self._mark("%"):
                node = ("arithmetic", "%", node, self._collated())
            else:
                return node

    def _collated(self) -> Node:
        node = self._value()
        return ("collate", node, self._identifier()) if self._take("COLLATE") else node

    def _expressions(self) -> list[Node]:
        """Return expressions up to a closing parenthesis."""
        found: list[Node] = []
        if self._mark(")"):
            return found
        while True:
            found.append(("star",) if self._mark("*") else self.expression())
            if not self._mark(","):
                break
        self._must(")")
        return found

    def _value(self) -> Node:
        token = self._peek()
        if self._mark("("):
            if self._take("SELECT"):
                node: Node = ("query", self._select())
            else:
                node = self.expression()
            self._must(")")
            return node
        if self._mark("-"):
            return ("arithmetic", "-", ("literal", 0), self._value())
        if token.kind == "text":
            self._next()
            return ("literal", token.text)
        if token.kind == "number":
            self._next()
            text = token.text
            return ("literal", Decimal(text) if "." in text else int(text))
        if self._take("NULL"):
            return ("literal", None)
        if self._take("CASE"):
            return self._case()
        if self._take("EXISTS"):
            self._must("(", "SELECT")
            node = ("exists", self._select())
            self._must(")")
            return node
        if self._is("CAST") and self._peek(1) == Token("mark", "("):
            self._next()
            self._must("(")
            node = self.expression()
            self._must("AS")
            node = ("cast", node, self._type())
            self._must(")")
            return node
        if self._is("CONVERT") and self._peek(1) == Token("mark", "("):
            return self._convert()
        if token.kind == "word" and token.text.startswith("@@"):
            self._next()
            return ("variable", token.text.upper())
        first = self._identifier()
        if self._peek() == Token("mark", "(") and token.kind == "word":
            self._next()
            arguments = self._expressions()
            if self._take("OVER"):
                self._must("(")
                if first.upper() == "ROW_NUMBER":
                    self._must("ORDER", "BY")
                    return ("row_number", self._expressions())
                self._must("PARTITION", "BY")
                return ("over", first.upper(), arguments, self._expressions())
            return ("call", first.upper(), arguments)
        if first.upper() == "$PARTITION":
            self._must(".")
            function = self._identifier()
            self._must("(")
            (value,) = self._expressions()
            return ("partition", function, value)
        if self._mark("."):
            return ("column", first, self._identifier())
        return ("column", None, first)

    def _convert(self) -> Node:
        self._next()
        self._must("(")
        kind = self._type()
        self._must(",")
        node = self.expression()
        style = self.expression() if self._mark(",") else ("literal", 0)
        self._must(")")
        return ("convert", kind, node, style)

    def _case(self) -> Node:
        cases = []
        while self._take("WHEN"):
            condition = self.expression()
            self._must("THEN")
            cases.append((condition, self.expression()))
        otherwise = self.expression() if self._take("ELSE") else ("literal", None)
        self._must("END")
        return ("case", cases, otherwise)

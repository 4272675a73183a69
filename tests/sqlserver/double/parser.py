"""Reads the T-SQL that the tests and the destination write: a part of the language, strictly.

A statement that is not known raises `NotInDoubleError`, so that nothing is answered by guess.
Expressions and statements are tuples: their kind, then their parts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from .errors import NotInDoubleError, SqlError
from .nodes import PRIMARY, Index, Node
from .types import Column, SqlType

# Words of conditions that are no names.
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
# Words that follow a table, and are no alias.
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
        """Return whether it is one of these words, unquoted."""
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
    """The name of an object: its schema, if it is written, and its own."""

    schema: str | None
    name: str


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
    # LEFT JOIN: a row without a partner has NULLs in its place.
    is_outer: bool = False
    # The query, if it is not a table.
    query: Select | None = None


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
    # The table that it makes.
    into: Name | None = None
    having: Node | None = None


class Parser:
    """Reads a batch statement by statement."""

    def __init__(self, sql: str, *, quoted_identifiers: bool = True) -> None:
        self._tokens = tokens(sql, quoted_identifiers=quoted_identifiers)
        self._at = 0
        self.sql = sql

    # Tokens.

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
        """Take these words, one after the other, if they follow."""
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

    # Statements.

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

    def _create(self) -> Node:
        if self._take("SCHEMA"):
            return ("create_schema", self._identifier())
        if self._take("VIEW"):
            name = self._name()
            self._must("AS", "SELECT")
            return ("create_view", name, self._select())
        if self._take("TABLE"):
            return self._create_table()
        if self._take("PARTITION"):
            return self._create_partitions()
        return self._create_index()

    def _create_partitions(self) -> Node:
        if self._take("FUNCTION"):
            name = self._identifier()
            self._must("(")
            kind = self._type()
            self._must(")", "AS", "RANGE")
            is_right = self._take("RIGHT")
            _ = is_right or self._take("LEFT")
            self._must("FOR", "VALUES", "(")
            return ("create_partition_function", name, kind, is_right, self._expressions())
        self._must("SCHEME")
        name = self._identifier()
        self._must("AS", "PARTITION")
        function = self._identifier()
        is_all = self._take("ALL")
        self._must("TO")
        return ("create_partition_scheme", name, function, is_all, self._words_in_parentheses())

    def _create_index(self) -> Node:
        unique = self._take("UNIQUE")
        clustered = self._take("CLUSTERED")
        _ = self._take("NONCLUSTERED")
        columnstore = self._take("COLUMNSTORE")
        self._must("INDEX")
        index = Index(self._identifier(), [], unique, clustered, columnstore=columnstore)
        self._must("ON")
        name = self._name()
        if self._peek() == Token("mark", "("):
            keys = self._key_list()
            columns = [column for column, _ in keys]
            if columnstore:
                index.included = columns
            else:
                index.columns = columns
                index.descending = [is_descending for _, is_descending in keys]
        if self._take("INCLUDE"):
            index.included = self._column_list()
        if self._take("WHERE"):
            start = self._at
            index.where = self.expression()
            index.where_text = self._text_since(start)
        self._options()
        return ("create_index", name, index, self._place())

    def _place(self) -> tuple[str, str | None] | None:
        """Return the filegroup after ON, or the partition scheme with its column."""
        if not self._take("ON"):
            return None
        space = self._identifier()
        if not self._mark("("):
            return space, None
        column = self._identifier()
        self._must(")")
        return space, column

    def _options(self) -> dict[int, str]:
        """Return DATA_COMPRESSION by partition, of the options after WITH; 0 is all of them."""
        compression: dict[int, str] = {}
        if not self._take("WITH"):
            return compression
        self._must("(")
        while True:
            option = self._identifier().upper()
            self._must("=")
            value = self._identifier().upper()
            if option == "DATA_COMPRESSION":
                numbers = [0]
                if self._take("ON", "PARTITIONS"):
                    numbers = [int(word) for word in self._words_in_parentheses()]
                compression |= dict.fromkeys(numbers, value)
            elif option != "IGNORE_DUP_KEY":
                raise NotInDoubleError(f"option {option}")
            if not self._mark(","):
                break
        self._must(")")
        return compression

    def _text_since(self, start: int) -> str:
        """Return the tokens from there to here as the catalog has them: names in brackets."""
        found = self._tokens[start : self._at]
        text = ""
        for token, after in zip(found, [*found[1:], Token("end", "")], strict=True):
            is_name = token.kind == "word" and not token.is_word(*_WORDS) and after.text != "("
            text += Token("quoted", token.text).written if is_name else token.written
        return text

    def _create_table(self) -> Node:
        name = self._name()
        self._must("(")
        columns: list[Column] = []
        constraints: list[Node] = []
        while True:
            if self._is("PRIMARY", "UNIQUE", "CHECK", "CONSTRAINT"):
                constraints.append(self._constraint())
            else:
                columns.append(self._column(constraints))
            if not self._mark(","):
                break
        self._must(")")
        place = self._place() or (PRIMARY, None)
        return ("create_table", name, columns, constraints, place, self._options())

    def _column(self, constraints: list[Node]) -> Column:
        column = Column(self._identifier(), self._type())
        while True:
            if self._take("NOT", "NULL"):
                column.nullable = False
            elif self._take("NULL"):
                pass
            elif self._take("IDENTITY"):
                if self._peek() == Token("mark", "("):
                    self._words_in_parentheses()
                column.identity, column.nullable = True, False
            elif self._take("DEFAULT"):
                column.default = self.expression()
            elif self._is("PRIMARY", "UNIQUE", "CHECK", "CONSTRAINT"):
                constraint = self._constraint(column.name)
                column.nullable = column.nullable and constraint[0] != "primary"
                constraints.append(constraint)
            else:
                return column

    def _constraint(self, column: str | None = None) -> Node:
        name = self._identifier() if self._take("CONSTRAINT") else None
        if self._take("CHECK"):
            start = self._at
            self._must("(")
            condition = self.expression()
            self._must(")")
            return ("check", name or f"CK_{start}", condition, self._text_since(start))
        kind = "primary" if self._take("PRIMARY") else "unique"
        self._must("KEY" if kind == "primary" else "UNIQUE")
        nonclustered = self._take("NONCLUSTERED")
        clustered = self._take("CLUSTERED") or (kind == "primary" and not nonclustered)
        keys = self._key_list() if self._peek() == Token("mark", "(") else [(column, False)]
        at = self._at
        place = None
        # DEFAULT and other words of a column may follow.
        if self._is("WITH", "ON"):
            self._options()
            place = self._place()
        return (kind, name or f"{kind}_{at}", keys, clustered, place)

    def _column_list(self) -> list[str]:
        return [column for column, _ in self._key_list()]

    def _key_list(self) -> list[tuple[str, bool]]:
        """Return columns in parentheses, and whether they are descending."""
        self._must("(")
        columns = []
        while True:
            columns.append((self._identifier(), self._take("DESC")))
            _ = self._take("ASC")
            if not self._mark(","):
                break
        self._must(")")
        return columns

    def _type(self) -> SqlType:
        name = self._identifier()
        if self._is("VARYING", "PRECISION"):
            name += " " + self._identifier()
        numbers = self._words_in_parentheses() if self._peek() == Token("mark", "(") else []
        collation = self._identifier() if self._take("COLLATE") else None
        return SqlType.parse(name, [number.lower() for number in numbers], collation)

    def _drop(self) -> Node:
        if self._take("INDEX"):
            index = self._identifier()
            self._must("ON")
            return ("drop_index", self._name(), index)
        if self._take("PARTITION"):
            kind = self._identifier().upper()
            return ("drop_partition", kind, self._identifier())
        kind = self._identifier().upper()
        if kind not in ("TABLE", "VIEW"):
            raise NotInDoubleError(f"DROP {kind}")
        if_exists = self._take("IF", "EXISTS")
        return ("drop", kind, self._name(), if_exists)

    def _alter(self) -> Node:
        if self._take("PARTITION", "SCHEME"):
            scheme = self._identifier()
            self._must("NEXT", "USED")
            return ("next_used", scheme, self._identifier())
        if self._take("PARTITION", "FUNCTION"):
            function = self._identifier()
            self._must("(", ")", "SPLIT", "RANGE", "(")
            value = self.expression()
            self._must(")")
            return ("split_range", function, value)
        self._must("TABLE")
        name = self._name()
        if self._take("SWITCH"):
            part = int(self._next().text) if self._take("PARTITION") else None
            self._must("TO")
            target = self._name()
            target_part = int(self._next().text) if self._take("PARTITION") else None
            self._low_priority()
            return ("switch", name, part, target, target_part)
        if self._take("DROP", "CONSTRAINT"):
            return ("drop_constraint", name, self._identifier())
        checked = not self._take("WITH", "NOCHECK")
        _ = self._take("WITH", "CHECK")
        self._must("ADD")
        return ("add_constraint", name, self._constraint(), checked)

    def _low_priority(self) -> None:
        """Take the clause of a wait at low priority; the double waits as for every lock."""
        if self._take("WITH"):
            self._must("(", "WAIT_AT_LOW_PRIORITY", "(", "MAX_DURATION", "=")
            self._next()
            _ = self._take("MINUTES")
            self._must(",", "ABORT_AFTER_WAIT", "=")
            if not self._take("SELF"):
                raise NotInDoubleError("ABORT_AFTER_WAIT")
            self._must(")", ")")

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
            return ("literal", float(text) if "." in text else int(text))
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

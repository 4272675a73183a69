"""Reads the statements that define tables, indexes, partitions and constraints."""

from __future__ import annotations

from .errors import NotInDoubleError
from .lexer import Token
from .nodes import PRIMARY, Computed, Index, Node
from .query_parser import QueryParser
from .types import TEXT, Column


class DefinitionParser(QueryParser):
    """Reads the definitions of a batch."""

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
        """Return DATA_COMPRESSION by partition, from the options after WITH; 0 means all."""
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
        large = self._identifier() if self._take("TEXTIMAGE_ON") else None
        return ("create_table", name, columns, constraints, place, large, self._options())

    def _column(self, constraints: list[Node]) -> Column:
        name = self._identifier()
        if self._take("AS"):
            return self._computed_column(name)
        column = Column(name, self._type())
        while True:
            if self._take("NOT", "NULL"):
                column.nullable = False
            elif self._take("NULL"):
                pass
            elif self._take("IDENTITY"):
                if self._peek() == Token("mark", "("):
                    # A sign is a separate token.
                    numbers = " ".join(self._words_in_parentheses()).replace("- ", "-")
                    seed, increment = map(int, numbers.split())
                    column.seed, column.increment = seed, increment
                column.identity, column.nullable = True, False
            elif self._take("DEFAULT"):
                column.default = self.expression()
            elif self._is("PRIMARY", "UNIQUE", "CHECK", "CONSTRAINT"):
                constraint = self._constraint(column.name)
                column.nullable = column.nullable and constraint[0] != "primary"
                constraints.append(constraint)
            else:
                return column

    def _computed_column(self, name: str) -> Column:
        """Return a computed column; the type of its expression is found when the table is made."""
        start = self._at
        self._must("(")
        expression = self.expression()
        self._must(")")
        text = self._text_since(start)
        is_persisted = self._take("PERSISTED")
        # "NULL | NOT NULL" follows only PERSISTED.
        nullable = not (is_persisted and self._take("NOT", "NULL"))
        return Column(name, TEXT, nullable, computed=Computed(expression, text, is_persisted))

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
        """Return columns in parentheses, and whether each is descending."""
        self._must("(")
        columns = []
        while True:
            columns.append((self._identifier(), self._take("DESC")))
            _ = self._take("ASC")
            if not self._mark(","):
                break
        self._must(")")
        return columns

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
        """Read the clause of a wait at low priority; the double waits as for any lock."""
        if self._take("WITH"):
            self._must("(", "WAIT_AT_LOW_PRIORITY", "(", "MAX_DURATION", "=")
            self._next()
            _ = self._take("MINUTES")
            self._must(",", "ABORT_AFTER_WAIT", "=")
            if not self._take("SELF"):
                raise NotInDoubleError("ABORT_AFTER_WAIT")
            self._must(")", ")")

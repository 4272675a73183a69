"""The steps that `inrush check` prints, compared with the statements that a run sent.

Statements that only read are ignored if the plan does not print them. All other statements must be
in the plan, in the same transaction and order, and every statement of the plan must be run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from harness.command import CLEAN, Inrush, Outcome
from harness.servers import Database

END = "\x00"
# A SELECT that locks or changes something is not a read. Neither is a PRAGMA that sets a value.
NO_READ = (
    r"FOR SHARE|FOR UPDATE|REPEATABLEREAD|TABLOCKX|lo_unlink|lo_create\(0|advisory|PRAGMA [a-z_]+ ="
)
# The server plans a statement that it explains, but does not run it.
READ = (
    rf"(?:(?:EXPLAIN|SELECT(?![^{END}]*(?: INTO |{NO_READ}))"
    rf"|(?!{NO_READ})(?:WITH|VALUES|PRAGMA)(?![^{END}]*(?:{NO_READ})))[^{END}]*{END})*"
)

BEGINS = ("BEGIN", "BEGIN TRANSACTION")
COMMITS = ("COMMIT", "COMMIT TRANSACTION")

# Lines that stand for a statement, or that say how often statements are run.
COMMENTS = ("-- for each ", "-- send the rows to ")


@dataclass
class Transaction:
    """Statements of a plan that are run together, as one pattern."""

    lines: list[str]
    # True if it is run one or more times, for example once by each session.
    is_of_many: bool = False
    is_used: bool = False

    @property
    def is_repeated(self) -> bool:
        """Whether it may be run more than once."""
        return self.is_of_many or self.is_optional

    @property
    def is_optional(self) -> bool:
        """Whether it may be run any number of times, including none."""
        return len(self.lines) == 1 and pattern_of(self.lines[0]).endswith("*")

    def holds(self, statements: list[str]) -> bool:
        """Return whether these statements match the pattern."""
        pattern = READ + READ.join(pattern_of(line) for line in self.lines) + READ
        return (
            re.fullmatch(pattern, "".join(one + END for one in statements), re.DOTALL) is not None
        )


def pattern_of(line: str) -> str:
    """Return the pattern of a line of the plan: a statement that is run once, often, or if needed.

    A line that is only a comment stands for something that is not a statement.
    """
    statement, _, comment = line.partition("; -- ")
    if line.startswith("-- "):
        statement, is_conditional, condition = line.partition(", if ")
        comment = f"if {condition}" if is_conditional else ""
    statement = statement.removesuffix(";")
    parts = re.split(r"<[^<>]+>", statement)
    pattern = f"[^{END}]*".join(re.escape(" ".join(part.split(" "))) for part in parts) + END
    if times := re.fullmatch(r"(\d+) times", comment):
        return f"(?:{pattern}){{{times[1]}}}"
    if comment.startswith("if "):
        return f"(?:{pattern}{READ})*"
    if comment.startswith("for each "):
        return f"(?:{pattern}{READ})+"
    assert not comment, line
    return pattern


def transactions_of(lines: list[str]) -> Iterator[Transaction]:
    """Cut the lines of a plan into transactions."""
    times, is_of_many = 1, False
    inside: list[str] | None = None
    for line in lines:
        if each := re.fullmatch(r"-- for each of (\d+) (?:splits|transactions):", line):
            times = int(each[1])
        elif line == "-- for each transaction:":
            is_of_many = True
        elif line.removesuffix(";") in BEGINS:
            inside = [line]
        elif inside is None:
            yield Transaction([line])
        else:
            inside.append(line)
            if line.removesuffix(";") in COMMITS:
                for _ in range(times):
                    yield Transaction(inside, is_of_many)
                inside, times, is_of_many = None, 1, False
    assert inside is None, inside


def planned(output: str) -> list[Transaction]:
    """Return the transactions that `inrush check` printed."""
    sections: dict[str, list[str]] = {}
    section = ""
    for line in output.splitlines():
        if not line.startswith(" "):
            section = line
            continue
        text = line.strip()
        if text.endswith(";") or "; -- " in text or text.startswith(COMMENTS):
            sections.setdefault(section, []).append(text)
    of_sessions = sections.pop("Each session, when it is opened", [])
    lines = [line for own in sections.values() for line in own]
    sessions = [Transaction(of_sessions, is_of_many=True)] if of_sessions else []
    return [*sessions, *transactions_of(lines)]


def transactions_run(sessions: list[list[str]]) -> list[list[str]]:
    """Return the transactions of sessions; a statement outside of a transaction counts as one."""
    found_transactions: list[list[str]] = []
    for own in sessions:
        inside: list[str] | None = None
        for statement in own:
            if statement in BEGINS:
                inside = [statement]
                found_transactions.append(inside)
            elif inside is not None:
                inside.append(statement)
                if statement in COMMITS:
                    inside = None
            elif not re.fullmatch(READ, statement + END, re.DOTALL):
                found_transactions.append([statement])
    return found_transactions


def compare(plan: list[Transaction], sessions: list[list[str]]) -> None:
    """Compare a plan with the statements that the sessions of its run sent."""
    for statements in transactions_run(sessions):
        unused = (one for one in plan if one.is_repeated or not one.is_used)
        # A line that must be run comes before an equal line that is optional.
        left_over = sorted(unused, key=lambda one: one.is_repeated)
        match = next((one for one in left_over if one.holds(statements)), None)
        assert match, "not in the plan:\n" + "\n".join(statements) + "\nleft of it:\n" + left(plan)
        match.is_used = True
    assert not left(plan), left(plan)


def left(plan: list[Transaction]) -> str:
    """Return the transactions of a plan that were not run."""
    return "\n\n".join("\n".join(one.lines) for one in plan if not (one.is_used or one.is_optional))


def logged(database: Database, log: str) -> list[list[str]]:
    """Return the statements that the sessions of a run have executed."""
    sessions: dict[str, list[str]] = {}
    statements: list[str] | None = None
    for line in log.splitlines():
        if line.startswith("\t") and statements is not None:
            statements[-1] += "\n" + line[1:]
            continue
        statements = None
        head = rf"{re.escape(database.name)} (inrush .*?) LOG:  (?:statement|execute [^:]*): (.*)"
        found = re.fullmatch(head, line)
        # The reference of a lookup is read like any source.
        if found and found[1] != "inrush source":
            # The control session has another name until it knows its run. The sessions of streams
            # and of the meter run at the same time.
            is_beside = "stream" in found[1] or found[1].endswith(" meter")
            name = found[1] if is_beside else "control"
            statements = sessions.setdefault(name, [])
            statements.append(found[2])
    return list(sessions.values())


def hold_to_plan(inrush: Inrush, database: Database, text: str) -> Outcome:
    """Load a package, compare the log with its plan, and return the outcome of the load."""
    inrush.write("package.toml", text)
    plan = planned(inrush("check", "package.toml").expect(CLEAN).output)
    database.execute(f"ALTER DATABASE {database.name} SET log_statement = 'all'")
    before = database.server.log.stat().st_size
    outcome = inrush("run", "package.toml").expect(CLEAN)
    with database.server.log.open() as log:
        log.seek(before)
        compare(plan, logged(database, log.read()))
    return outcome

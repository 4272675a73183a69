"""The errors of the double: the rules of SQL Server that it enforces, each with its number.

The numbers and texts are those of the documentation. Where no page describes a rule, the source
that tells of it is named.
"""

from __future__ import annotations

_EVENTS = "https://learn.microsoft.com/sql/relational-databases/errors-events/"
_SWITCH = "https://learn.microsoft.com/sql/t-sql/statements/alter-table-transact-sql#switch"
_BULK = "https://learn.microsoft.com/openspecs/windows_protocols/ms-tds/"

# The number of each rule: its text, and where it is described.
RULES: dict[int, tuple[str, str]] = {
    102: ("Incorrect syntax near '{0}'.", _EVENTS),
    207: ("Invalid column name '{0}'.", _EVENTS),
    208: ("Invalid object name '{0}'.", _EVENTS),
    213: (
        "Column name or number of supplied values does not match table definition.",
        _EVENTS,
    ),
    515: (
        "Cannot insert the value NULL into column '{0}', table '{1}'; column does not allow nulls.",
        _EVENTS,
    ),
    544: (
        "Cannot insert explicit value for identity column in table '{0}' when IDENTITY_INSERT is "
        "set to OFF.",
        _EVENTS,
    ),
    547: ('The INSERT statement conflicted with the CHECK constraint "{0}".', _EVENTS),
    # https://learn.microsoft.com/sql/t-sql/queries/hints-transact-sql-table#readpast
    650: (
        "You can only specify the READPAST lock in the READ COMMITTED or REPEATABLE READ isolation "
        "levels.",
        _EVENTS,
    ),
    1105: (
        "Could not allocate space for object '{0}' in database 'test' because the 'PRIMARY' "
        "filegroup is full.",
        _EVENTS,
    ),
    1205: (
        "Transaction was deadlocked on lock resources with another process and has been chosen as "
        "the deadlock victim. Rerun the transaction.",
        _EVENTS,
    ),
    1222: ("Lock request time out period exceeded.", _EVENTS),
    2601: (
        "Cannot insert duplicate key row in object '{0}' with unique index '{1}'.",
        _EVENTS,
    ),
    2627: ("Violation of constraint '{1}'. Cannot insert duplicate key in object '{0}'.", _EVENTS),
    2628: (
        "String or binary data would be truncated in table '{0}', column '{1}'.",
        _EVENTS,
    ),
    2714: ("There is already an object named '{0}' in the database.", _EVENTS),
    2759: ("CREATE SCHEMA failed: there is already a schema named '{0}'.", _EVENTS),
    3701: ("Cannot drop the table '{0}', because it does not exist.", _EVENTS),
    3902: ("The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.", _EVENTS),
    3903: ("The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.", _EVENTS),
    4060: ('Cannot open database "{0}" requested by the login. The login failed.', _EVENTS),
    # A stream that is cut, or that has tokens which a bulk load must not have ([MS-TDS] 2.2.6.1).
    4804: (
        "While reading current row from host, a premature end-of-message was encountered--an "
        "incoming data stream was interrupted when the server expected to see more data.",
        _BULK,
    ),
    # Reported in issue 1486 of mssql-jdbc.
    4815: ("Received an invalid column length from the bcp client for colid {0}.", _BULK),
    # Reported in issues 234 and 410 of tiberius.
    4816: ("Invalid column type from bcp client for colid {0}.", _BULK),
    4904: ("ALTER TABLE SWITCH statement failed. The target table '{0}' is not empty.", _SWITCH),
    4943: (
        "ALTER TABLE SWITCH statement failed because column '{0}' does not have the same data "
        "type, length, precision, scale, collation or nullability in '{1}' and '{2}'.",
        _SWITCH,
    ),
    4947: (
        "ALTER TABLE SWITCH statement failed. There is no identical index in source table '{1}' "
        "for the index '{0}' in target table '{2}'.",
        _SWITCH,
    ),
    4982: (
        "ALTER TABLE SWITCH statement failed. Check constraints of source table '{0}' allow values "
        "that are not allowed by check constraints of target table '{1}'.",
        _SWITCH,
    ),
    8152: ("String or binary data would be truncated.", _EVENTS),
    8115: ("Arithmetic overflow error converting expression to data type {0}.", _EVENTS),
    15225: ("No item by the name of '{0}' could be found in the current database.", _EVENTS),
    15335: ("Error: The new name '{0}' is already in use as an object name.", _EVENTS),
    18456: ("Login failed for user '{0}'.", _EVENTS),
}


class SqlError(Exception):
    """An error of a statement, as the server reports it."""

    def __init__(self, number: int, *names: object) -> None:
        self.number = number
        self.text = RULES[number][0].format(*names)
        self.severity = 14 if number in (18456, 2627, 2601) else 16
        super().__init__(f"{number}: {self.text}")


class NotInDoubleError(Exception):
    """A statement that the double does not know: the test must be changed, or the double."""

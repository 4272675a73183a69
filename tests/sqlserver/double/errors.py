"""The errors of the double: the rules of SQL Server that it enforces, each with its number.

The numbers and texts are those of the documentation. If no page describes a rule, another source is
named.
"""

from __future__ import annotations

_EVENTS = "https://learn.microsoft.com/sql/relational-databases/errors-events/"
_BABELFISH = "https://babelfishpg.org/docs/usage/limitations-of-babelfish/"
_BULK = "https://learn.microsoft.com/openspecs/windows_protocols/ms-tds/"
_TEMPORAL = (
    "https://learn.microsoft.com/sql/relational-databases/tables/"
    "modifying-data-in-a-system-versioned-temporal-table"
)

# The number of each rule: its text, and where it is described.
RULES: dict[int, tuple[str, str]] = {
    102: ("Incorrect syntax near '{0}'.", _EVENTS),
    207: ("Invalid column name '{0}'.", _EVENTS),
    208: ("Invalid object name '{0}'.", _EVENTS),
    213: (
        "Column name or number of supplied values does not match table definition.",
        _EVENTS,
    ),
    220: ("Arithmetic overflow error for data type {0}, value = {1}.", _EVENTS),
    241: (
        "Conversion failed when converting date and/or time from character string.",
        _EVENTS,
    ),
    245: (
        "Conversion failed when converting the nvarchar value '{0}' to data type {1}.",
        _EVENTS,
    ),
    262: ("{0} permission was denied in database '{1}'.", _EVENTS),
    300: ("{0} permission was denied on object '{1}', database '{2}'.", _EVENTS),
    271: (
        'The column "{0}" cannot be modified because it is either a computed column or is the '
        "result of a UNION operator.",
        _EVENTS,
    ),
    448: ("Invalid collation '{0}'.", _EVENTS),
    515: (
        "Cannot insert the value NULL into column '{0}', table '{1}'; column does not allow nulls.",
        _EVENTS,
    ),
    544: (
        "Cannot insert explicit value for identity column in table '{0}' when IDENTITY_INSERT is "
        "set to OFF.",
        _EVENTS,
    ),
    545: (
        "Explicit value must be specified for identity column in table '{0}' either when "
        "IDENTITY_INSERT is set to ON or when a replication user is inserting into a NOT FOR "
        "REPLICATION identity column.",
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
    1505: (
        "The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for the "
        "object name '{0}' and the index name '{1}'.",
        _EVENTS,
    ),
    1709: (
        "Cannot use TEXTIMAGE_ON when a table has no text, ntext, image, varchar(max), "
        "nvarchar(max), non-FILESTREAM varbinary(max), xml or large CLR type columns.",
        _EVENTS,
    ),
    1759: (
        "Computed column '{0}' in table '{1}' is not allowed to be used in another computed-column "
        "definition.",
        _EVENTS,
    ),
    1908: (
        "Column '{0}' is partitioning column of the index '{1}'. Partition columns for a unique "
        "index must be a subset of the index key.",
        _EVENTS,
    ),
    1913: (
        "The operation failed because an index or statistics with name '{0}' already exists on "
        "table '{1}'.",
        _EVENTS,
    ),
    1921: ("Invalid {0} '{1}' specified.", _EVENTS),
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
    3723: (
        "An explicit DROP INDEX is not allowed on index '{0}'. It is being used for PRIMARY KEY or "
        "UNIQUE KEY constraint enforcement.",
        _EVENTS,
    ),
    3726: (
        "Could not drop object '{0}' because it is referenced by a FOREIGN KEY constraint.",
        _EVENTS,
    ),
    3728: ("'{0}' is not a constraint.", _EVENTS),
    3756: (
        "TRUNCATE TABLE statement failed. Index '{0}' is not partitioned, but table '{1}' uses "
        "partition function '{2}'. Index and table must use an equivalent partition function.",
        _EVENTS,
    ),
    3902: ("The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.", _EVENTS),
    3903: ("The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.", _EVENTS),
    3952: (
        "Snapshot isolation transaction failed accessing database '{0}' because snapshot isolation "
        "is not allowed in this database.",
        _EVENTS,
    ),
    3961: (
        "Snapshot isolation transaction failed in database '{0}' because the object accessed by "
        "the statement has been modified by a DDL statement in another concurrent transaction "
        "since the start of this transaction.",
        _EVENTS,
    ),
    4060: ('Cannot open database "{0}" requested by the login. The login failed.', _EVENTS),
    4711: (
        "Cannot truncate table '{0}' because it is published for replication or enabled for "
        "Change Data Capture.",
        _EVENTS,
    ),
    4712: (
        "Cannot truncate table '{0}' because it is being referenced by a FOREIGN KEY constraint.",
        _EVENTS,
    ),
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
    4900: (
        "The ALTER TABLE SWITCH statement failed for table '{0}'. It is not possible to switch "
        "the partition of a table that has change tracking enabled. Disable change tracking "
        "before using ALTER TABLE SWITCH.",
        _EVENTS,
    ),
    4904: (
        "ALTER TABLE SWITCH statement failed. The specified partition {0} of target table '{1}' "
        "must be empty.",
        _EVENTS,
    ),
    4905: ("ALTER TABLE SWITCH statement failed. The target table '{0}' must be empty.", _EVENTS),
    4911: (
        "Cannot specify a partitioned table without partition number in ALTER TABLE SWITCH "
        "statement. The table '{0}' is partitioned.",
        _EVENTS,
    ),
    4913: (
        "ALTER TABLE SWITCH statement failed. The table '{0}' has clustered index '{1}' while the "
        "table '{2}' does not have clustered index.",
        _EVENTS,
    ),
    4918: (
        "ALTER TABLE SWITCH statement failed because the table '{0}' has fulltext index on it.",
        _EVENTS,
    ),
    4938: (
        "ALTER TABLE SWITCH statement failed. Partition {0} of table '{1}' is in filegroup '{2}' "
        "and partition {3} of table '{4}' is in filegroup '{5}'.",
        _EVENTS,
    ),
    4940: (
        "ALTER TABLE SWITCH statement failed. table '{0}' is in filegroup '{1}' and table '{2}' is "
        "in filegroup '{3}'.",
        _EVENTS,
    ),
    4941: (
        "ALTER TABLE SWITCH statement failed because the table '{0}' is marked for merge "
        "replication.",
        _EVENTS,
    ),
    4942: (
        "ALTER TABLE SWITCH statement failed because column '{0}' at ordinal {1} in table '{2}' "
        "has a different name than the column '{3}' at the same ordinal in table '{4}'.",
        _EVENTS,
    ),
    4943: (
        "ALTER TABLE SWITCH statement failed because table '{0}' has {1} columns and table '{2}' "
        "has {3} columns.",
        _EVENTS,
    ),
    # SQL Server has the number 4945 for the same rule of collations; the double uses 4944 for both.
    4944: (
        "ALTER TABLE SWITCH statement failed because column '{0}' has a data type in source table "
        "'{1}' which is different from its type in target table '{2}'.",
        _EVENTS,
    ),
    4946: (
        "ALTER TABLE SWITCH statement failed because column '{0}' does not have the same "
        "persistent attribute in tables '{1}' and '{2}'.",
        _EVENTS,
    ),
    4947: (
        "ALTER TABLE SWITCH statement failed. There is no identical index in source table '{0}' "
        "for the index '{1}' in target table '{2}' .",
        _EVENTS,
    ),
    4950: (
        "ALTER TABLE SWITCH statement failed because partition number {0} does not exist in table "
        "'{1}'.",
        _EVENTS,
    ),
    4951: (
        "ALTER TABLE SWITCH statement failed because column '{0}' does not have the same "
        "FILESTREAM storage attribute in tables '{1}' and '{2}'.",
        _EVENTS,
    ),
    4952: (
        "ALTER TABLE SWITCH statement failed because column '{0}' does not have the same ANSI "
        "trimming semantics in tables '{1}' and '{2}'.",
        _EVENTS,
    ),
    4953: (
        "ALTER TABLE SWITCH statement failed. The columns set used to partition the table '{0}' is "
        "different from the column set used to partition the table '{1}'.",
        _EVENTS,
    ),
    4954: (
        "ALTER TABLE SWITCH statement failed. The table '{0}' has inline limit for text in row "
        "data which is different from the one used by table '{1}'.",
        _EVENTS,
    ),
    4958: (
        "ALTER TABLE SWITCH statement failed because column '{0}' does not have the same "
        "ROWGUIDCOL property in tables '{1}' and '{2}'.",
        _EVENTS,
    ),
    4959: (
        "ALTER TABLE SWITCH statement failed. table '{0}' has TEXT filegroup '{1}' and table "
        "'{2}' has TEXT filegroup '{3}'.",
        _EVENTS,
    ),
    4960: (
        "ALTER TABLE SWITCH statement failed. Check constraint '{0}' in source table '{1}' is "
        "NOCHECK constraint but the matching check constraint '{2}' in target table '{3}' is "
        "CHECK.",
        _EVENTS,
    ),
    4964: (
        "ALTER TABLE SWITCH statement failed. Table '{0}' has RULE constraint '{1}'. SWITCH is "
        "not allowed on tables with RULE constraints.",
        _EVENTS,
    ),
    4965: (
        "ALTER TABLE SWITCH statement failed. Column '{0}' in table '{1}' is computed column but "
        "the same column in '{2}' is not computed.",
        _EVENTS,
    ),
    4966: (
        "ALTER TABLE SWITCH statement failed. Computed column '{0}' defined as '{1}' in table "
        "'{2}' is different from the same column in table '{3}' defined as '{4}'.",
        _EVENTS,
    ),
    4967: (
        "ALTER TABLE SWITCH statement failed. SWITCH is not allowed because source table '{0}' "
        "contains primary key for constraint '{1}'.",
        _EVENTS,
    ),
    4968: (
        "ALTER TABLE SWITCH statement failed. Target table '{0}' has foreign key for constraint "
        "'{1}' but source table '{2}' does not have corresponding key.",
        _EVENTS,
    ),
    4970: (
        "ALTER TABLE SWITCH statement failed. Target table '{0}' has a table level check "
        "constraint '{1}' but the source table '{2}' does not have a corresponding constraint.",
        _EVENTS,
    ),
    4973: (
        "ALTER TABLE SWITCH statement failed. Range defined by partition {0} in table '{1}' is not "
        "a subset of range defined by partition {2} in table '{3}'.",
        _EVENTS,
    ),
    4975: (
        "ALTER TABLE SWITCH statement failed. Check constraint '{0}' in source table '{1}' and "
        "check constraint '{2}' in target table '{3}' have different 'Not For Replication' "
        "settings.",
        _EVENTS,
    ),
    4985: (
        "ALTER TABLE SWITCH statement failed because column '{0}' does not have the same "
        "nullability attribute in tables '{1}' and '{2}'.",
        _EVENTS,
    ),
    4987: (
        "ALTER TABLE SWITCH statement failed because column '{0}' does not have the same XML "
        "Schema Collection in tables '{1}' and '{2}'.",
        _EVENTS,
    ),
    4993: (
        "ALTER TABLE SWITCH statement failed. The table '{0}' has different setting for Large "
        "Value Types Out Of Row table option as compared to table '{1}'.",
        _EVENTS,
    ),
    7706: ("Partition function '{0}' is being used by one or more partition schemes.", _EVENTS),
    7707: (
        "The associated partition function '{0}' generates more partitions than there are file "
        "groups mentioned in the scheme '{1}'.",
        _EVENTS,
    ),
    7717: (
        'The partition scheme "{0}" is currently being used to partition one or more tables.',
        _EVENTS,
    ),
    7721: (
        "Duplicate range boundary values are not allowed in partition function boundary values "
        "list. The boundary value being added is already present at ordinal {0} of the boundary "
        "value list.",
        _EVENTS,
    ),
    7722: (
        "Invalid partition number {0} specified for table '{1}', partition number can range from 1 "
        "to {2}.",
        _EVENTS,
    ),
    7726: (
        "Partition column '{0}' has data type which is different from the partition function '{1}' "
        "parameter data type.",
        _EVENTS,
    ),
    7729: (
        "Cannot specify partition number in the {0} statement as the table '{1}' is not "
        "partitioned.",
        _EVENTS,
    ),
    7733: (
        "'{0}' statement failed. The table '{1}' is partitioned while index '{2}' is not "
        "partitioned.",
        _EVENTS,
    ),
    8152: ("String or binary data would be truncated.", _EVENTS),
    # https://learn.microsoft.com/sql/t-sql/queries/update-transact-sql: "Identity columns cannot be
    # updated."
    8102: ("Cannot update identity column '{0}'.", _EVENTS),
    # https://learn.microsoft.com/sql/t-sql/statements/set-identity-insert-transact-sql: "At any
    # time, only one table in a session can have the IDENTITY_INSERT property set to ON."
    8107: (
        "IDENTITY_INSERT is already ON for table '{0}'. Cannot perform SET operation for table "
        "'{1}'.",
        _EVENTS,
    ),
    8114: ("Error converting data type {0} to {1}.", _EVENTS),
    8115: ("Arithmetic overflow error converting expression to data type {0}.", _EVENTS),
    11406: (
        "ALTER TABLE SWITCH statement failed. Source and target partitions have different values "
        "for the DATA_COMPRESSION option.",
        _EVENTS,
    ),
    15225: ("No item by the name of '{0}' could be found in the current database.", _EVENTS),
    15335: ("Error: The new name '{0}' is already in use as an object name.", _EVENTS),
    35343: (
        "The statement failed. Column '{0}' has a data type that cannot participate in a "
        "columnstore index.",
        _EVENTS,
    ),
    18452: (
        "Login failed. The login is from an untrusted domain and cannot be used with Integrated "
        "authentication.",
        _EVENTS,
    ),
    13545: (
        "Truncate failed on table '{0}' because it is not a supported operation on "
        "system-versioned tables.",
        _EVENTS,
    ),
    13577: (
        "ALTER TABLE SWITCH statement failed on table '{0}' because target table has SYSTEM_TIME "
        "PERIOD while source table does not have it.",
        _TEMPORAL,
    ),
    18456: ("Login failed for user '{0}'.", _EVENTS),
    # contrib/babelfishpg_tsql of babelfish_extensions: ERRCODE_FEATURE_NOT_SUPPORTED.
    33557097: ("'{0}' is not currently supported in Babelfish", _BABELFISH),
}


class SqlError(Exception):
    """An error of a statement, as the server reports it."""

    def __init__(self, number: int, *names: object) -> None:
        self.number = number
        self.text = RULES[number][0].format(*names)
        self.severity = 14 if number in (18456, 2627, 2601) else 16
        super().__init__(f"{number}: {self.text}")


class NotInDoubleError(Exception):
    """A statement that the double does not know: the test or the double must be changed."""

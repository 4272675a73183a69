"""A strict double of SQL Server for tests: it speaks TDS, keeps tables, and enforces rules.

It is not SQL Server. It knows the part of T-SQL that the destination and the tests write, and
refuses all else (`NotInDoubleError`). It enforces the rules of `errors.py`, which has the number of
each error and the page that describes it. It also enforces these rules, which have no number:

- a transaction and the locks of a session end with its socket;
- locks are compatible as in the table of `locks.py`, so that a plan that serialises waits in a test
  as it would wait for a server, up to its LOCK_TIMEOUT;
- readers wait for the rows of open transactions (READ COMMITTED without snapshots);
- statements run in a transaction are undone with it, definitions as well; values that an insert
  took from an identity column are not given again;
- packets have the size that the login granted, and a message ends with its end mark.

A statement that passes on the double may fail on a server: the double shows only that the
destination keeps these rules. No speed is measured with it.
"""

from .errors import NotInDoubleError, SqlError
from .server import Double
from .session import Session
from .storage import Database, Table

__all__ = ["Database", "Double", "NotInDoubleError", "Session", "SqlError", "Table"]

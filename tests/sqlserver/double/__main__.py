"""The double as a program, for tests in other languages.

It prints the URL of its database, and then answers each line of its input: a JSON object with a
batch (`sql`), with rows for a table (`rows`, `into`), or with attributes of the database to set
(`set`). An answer is a line, too: `ok`, or the error. The program ends when its input ends.
"""

from __future__ import annotations

import json
import sys

from .errors import SqlError
from .server import Double


def main() -> None:
    """Serve until the input ends."""
    with Double() as double:
        print(double.url, flush=True)
        for line in sys.stdin:
            asked = json.loads(line)
            for name, value in asked.get("set", {}).items():
                assert hasattr(double.database, name), name
                setattr(double.database, name, value)
            session = double.session()
            try:
                session.execute(asked.get("sql", ""))
                if "rows" in asked:
                    session.insert(asked["into"], asked["rows"])
                answer = "ok"
            except SqlError as error:
                answer = str(error)
            finally:
                session.close()
            print(answer, flush=True)
        if double.unknown:
            sys.exit("\n".join(double.unknown))


main()

"""Runs that stop while their rows are switched in, and are resumed with more files."""

from __future__ import annotations

import pytest

from harness.command import CLEAN, REJECT_LIMIT
from harness.packages import flow, package
from sqlserver.loads import COLUMNS, Loads

# The constraints of the table, or None if the load makes it, and the options of the load.
TARGETS: dict[str, tuple[str | None, str]] = {
    "heap": ("", ""),
    "key": (", CONSTRAINT pk PRIMARY KEY CLUSTERED (id), CONSTRAINT ck CHECK (id > 0)", ""),
    "keys": (", CONSTRAINT u UNIQUE (id), CONSTRAINT pk PRIMARY KEY CLUSTERED (day, id)", ""),
    "columnstore": (None, "&columnstore=yes"),
}
MORE = {"part.1.csv": "3,2024-01-01,x", "part.2.csv": "4,2024-01-01,x"}


@pytest.mark.parametrize("stop", ["in_switch", "before_switch_commit"])
@pytest.mark.parametrize("kind", TARGETS)
def test_more_files_follow(loads: Loads, kind: str, stop: str) -> None:
    """The staging table has the indexes and CHECKs of the target already."""
    constraints, options = TARGETS[kind]
    if constraints is not None:
        columns = "id int NOT NULL, day date NOT NULL, note nvarchar(20) NULL"
        loads.make(f"CREATE TABLE t ({columns}{constraints})")
    mode = "create" if constraints is None else "append"
    inrush = loads.inrush
    loads.files("1,2024-01-01 2,2024-01-01")
    into = flow("t", "part.*.csv", columns=COLUMNS, mode=mode)
    words = ("run", inrush.write("package.toml", package(loads.double.url + options, into)))
    with inrush.stopped_by(f"stop:{stop}", *words) as running:
        running.process.kill()
    for name, row in MORE.items():
        inrush.write(name, f"id,day,note\n{row}\n")
    if kind == "key":
        inrush.write("part.3.csv", "id,day,note\n-5,2024-01-01,x\n")
        inrush(*words).expect(REJECT_LIMIT, "part.3.csv:2", "it breaks the constraint ck")
        (inrush.folder / "part.3.csv").unlink()
    inrush(*words, "--streams", "2").expect(CLEAN)
    assert loads.ids() == [1, 2, 3, 4]
    loads.nothing_is_left()

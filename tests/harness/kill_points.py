"""The steps at which tests kill the command, or stop it, in the order of a run.

`INRUSH_FAULT` names them; crates/fault/src/lib.rs lists all of them. A step of a unit is reached
once for each unit: `POINT:N` is its Nth time.
"""

from __future__ import annotations

# Before the COMMIT of the switch is sent: readers see nothing yet.
UNSWITCHED = (
    "run_entered",
    "in_copy",
    "before_unit_commit",
    "unit_commit_sent",
    "after_unit_commit",
    "before_switch",
    "in_switch",
    "before_switch_commit",
)
# The COMMIT is in transit when the command dies, so both outcomes are right.
SWITCHED_OR_NOT = "switch_commit_sent"
SWITCHED = ("after_switch_commit", "before_report")
ALL = (*UNSWITCHED, SWITCHED_OR_NOT, *SWITCHED)

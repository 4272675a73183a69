"""Runs a command and writes what it took: `measured.py RESULT COMMAND ARGUMENT...`.

It ends as the command does. A small process of its own, for Linux counts the memory of whoever
starts a program into that program's peak; this one is smaller than anything that is measured.
"""

import os
import sys

result, *command = sys.argv[1:]
child = os.fork()
if child == 0:
    os.execv(command[0], command)  # noqa: S606
_, status, usage = os.wait4(child, 0)
with open(result, "w") as file:  # noqa: PTH123  pathlib would make this process larger
    file.write(f"{usage.ru_utime + usage.ru_stime} {usage.ru_maxrss}")
status = os.waitstatus_to_exitcode(status)
sys.exit(status if status >= 0 else 128 - status)

"""Runs a command and writes its time and memory: `measured.py RESULT COMMAND ARGUMENT...`.

It exits with the command's status. It is a separate small process, because Linux includes the
memory of the process that starts a program in the program's peak. This process is smaller than all
measured programs.
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

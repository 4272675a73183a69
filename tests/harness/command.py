"""Runs the `inrush` command like a user, and reads its files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import polling
from harness.checkout import MEASURED

COMMAND = Path(sys.executable).parent / "inrush"

# The documented exit statuses.
CLEAN = 0
FAILED = 1
USAGE = 2
LOADED_WITH_REJECTS = 3
REJECT_LIMIT = 4
VERIFICATION = 5
INTERRUPTED = 130


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    words: list[str]
    status: int
    output: str
    errors: str
    folder: Path

    @property
    def said(self) -> str:
        """Everything that it printed."""
        return self.output + self.errors

    def expect(self, status: int, *parts: str) -> Outcome:
        """Fail unless it ended with this status and its errors contain these parts."""
        place = f"{self.words} ended with {self.status}\n{self.output}{self.errors}"
        assert self.status == status, place
        for part in parts:
            assert part in self.said, f"{part!r} is not in what {place}"
        # Neither a user's mistake nor a failure of the environment causes a panic.
        assert "panicked at" not in self.said, place
        assert "Traceback" not in self.said, place
        return self

    def expect_one_message(self, status: int, *parts: str) -> Outcome:
        """Fail unless it ended with this status and exactly one error, which has a hint."""
        self.expect(status, *parts)
        lines = self.errors.splitlines()
        for word in ("error: ", "hint: "):
            found = [line for line in lines if line.lstrip().startswith(word)]
            assert len(found) == 1, f"{len(found)} lines begin with {word!r}:\n{self.errors}"
        return self

    def run_folders(self) -> list[Path]:
        """Return the folders of all runs so far, the newest last."""
        return sorted(self.folder.glob("runs/*/"), key=lambda path: path.stat().st_mtime_ns)

    @property
    def report(self) -> dict[str, Any]:
        """The report of the newest run."""
        text = (self.run_folders()[-1] / "report.json").read_text()
        report: dict[str, Any] = json.loads(text)
        return report

    def rejects(self) -> list[dict[str, Any]]:
        """Return the reject lines of the newest run, file by file, in order."""
        found: list[dict[str, Any]] = []
        for path in sorted((self.run_folders()[-1] / "rejects").glob("*.rejects.jsonl")):
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            for line in lines:
                # After the first thousand, a line refers to an earlier line that has the same
                # reason.
                line.setdefault("reason", lines[line.get("reason_line", 1) - 1].get("reason"))
            found += lines
        return sorted(found, key=lambda reject: (reject["file"], reject["byte_offset"]))


class StillRunning(subprocess.TimeoutExpired):
    """Raised if a command does not end, with its output and the waits of its threads."""

    def __init__(self, words: list[str], late: subprocess.TimeoutExpired, process: int) -> None:
        """Record its threads' waits while the threads exist."""
        super().__init__(words, late.timeout, late.output, late.stderr)
        self.threads = "\n".join(
            f"{task.name} {_said(task / 'comm')}: {_state(task)}, in {_said(task / 'wchan')}"
            for task in sorted(Path(f"/proc/{process}/task").glob("*"))
        )

    def __str__(self) -> str:
        """Return all of it as one text."""
        printed = "".join(_text(part) for part in (self.output, self.stderr))
        return f"{super().__str__()}\n{self.threads}\n{printed}"


def _text(printed: bytes | str | None) -> str:
    return printed.decode(errors="replace") if isinstance(printed, bytes) else printed or ""


def _said(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return "?"


def _state(task: Path) -> str:
    lines = _said(task / "status").splitlines()
    return next((line for line in lines if line.startswith("State:")), "State: ?")


@dataclass(frozen=True)
class Running(AbstractContextManager["Running"]):
    """A command that runs."""

    words: list[str]
    process: subprocess.Popen[str]
    folder: Path

    def send(self, which: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(which)

    def wait(self, seconds: float = 60) -> Outcome:
        """Wait until it ends."""
        try:
            output, errors = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as late:
            raise StillRunning(self.words, late, self.process.pid) from None
        return Outcome(self.words, self.process.returncode, output, errors, self.folder)

    def stops(self, seconds: float = 150) -> bool:
        """Wait until a fault point or a signal stops it; return false if it ends instead."""
        changes = os.WSTOPPED | os.WEXITED
        found = polling.until(
            lambda: os.waitid(os.P_PID, self.process.pid, changes | os.WNOWAIT | os.WNOHANG),
            seconds=seconds,
            failing=lambda: "it neither stops nor ends",
        )
        assert found is not None
        return found.si_code == os.CLD_STOPPED

    def wait_until_stopped(self) -> None:
        """Wait until a fault point stops it; fail if it ends instead."""
        assert self.stops(), f"it ended and was never stopped: {self.wait()}"

    def resume(self) -> Running:
        """Let it continue after a stop."""
        self.send(signal.SIGCONT)
        return self

    def __exit__(self, *_: object) -> None:
        """Kill it if it still runs, and discard its output."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


@dataclass(frozen=True)
class Inrush:
    """The command, run in its own folder."""

    folder: Path

    def start(
        self,
        *words: str | Path,
        environment: Mapping[str, str] | None = None,
        before: Sequence[str] = (),
        stdin: int = subprocess.DEVNULL,
    ) -> Running:
        """Start it; the words in `before` are a program that starts it, such as `prlimit`."""
        surroundings = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PG", "INRUSH"))
        }
        command = [*before, str(COMMAND), *map(str, words)]
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=surroundings | dict(environment or {}),
        )
        return Running(command, process, self.folder)

    @contextmanager
    def stopped_by(self, fault: str, *words: str | Path) -> Iterator[Running]:
        """Start it, and enter the block when a fault such as `stop:before_switch` has stopped it.

        It stays stopped until the block resumes it. With `stop_until_asked` it then waits for a
        signal that asks it to end.
        """
        with self.start(*words, environment={"INRUSH_FAULT": fault}) as running:
            running.wait_until_stopped()
            yield running

    def peak_kib(self, *words: str | Path, status: int = CLEAN, says: Sequence[str] = ()) -> int:
        """Run it, expect this status, and return the peak of its resident memory in KiB."""
        result = self.folder / "measured"
        before = [sys.executable, "-I", "-S", str(MEASURED), str(result)]
        with self.start(*words, before=before) as running:
            running.wait(600).expect(status, *says)
        return int(result.read_text().split()[1])

    def __call__(
        self,
        *words: str | Path,
        environment: Mapping[str, str] | None = None,
        seconds: float = 60,
    ) -> Outcome:
        """Run it to its end."""
        with self.start(*words, environment=environment) as running:
            return running.wait(seconds)

    def write(self, name: str, text: str | bytes) -> Path:
        """Write a file into the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

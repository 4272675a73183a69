"""One copy under faults: source, target, package, and their rows while no command runs."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from conformance.destinations import Place, PostgreSql, quoted
from faults.database_sources.copies import CopiedFlow, Copy
from faults.database_sources.history import Rows
from faults.database_sources.origins import Origin, ServerOrigin, keyed
from faults.database_sources.tables import STAMP
from faults.scene import check_ended
from harness import pauses
from harness.command import CLEAN, Inrush, Outcome, Running
from harness.watcher import Digest, Watcher

PACKAGE = "package.toml"
# The command's message if the staged rows of a stopped run are not those of the source any more.
CHANGED = re.compile(r"of the stopped run changed since, and (is|are) loaded again")
# The rows of each target; None if there is no table.
Seen = dict[str, "Rows | None"]


@dataclass
class CopyScene:
    """A copy under faults."""

    copy: Copy
    origin: Origin
    place: Place
    inrush: Inrush
    numbers: random.Random
    before: Seen = field(default_factory=dict)
    # The rows of the targets at times when no command ran.
    last: Seen = field(default_factory=dict)
    # The transactions of the source that were committed when the last command began, and when the
    # command that loaded the targets began.
    began_after: int = 0
    loaded_after: int = 0
    # Rows of the source may have changed since a command staged them.
    may_have_changed: bool = False
    # A command has loaded the rows, or found them loaded. A command that fails later changes
    # nothing.
    _has_ended_well: bool = False
    _watchers: list[Watcher] = field(default_factory=list)
    _at_rest: dict[str, set[Digest | None]] = field(default_factory=dict)

    def prepare(self) -> None:
        """Make targets and package."""
        for flow in self.copy.flows:
            if flow.has_target:
                for statement in flow.made_target.split(";"):
                    self.place.execute(statement)
        self.inrush.write(PACKAGE, self.copy.package(self.origin.words, self.place))
        self.before = self.last = self.look()
        self.may_have_changed = self.copy.has_writers

    @property
    def server(self) -> ServerOrigin:
        """The source, for faults of servers."""
        assert isinstance(self.origin, ServerOrigin)
        return self.origin

    @property
    def answer_bytes(self) -> int:
        """The approximate bytes of rows that the source sends."""
        return self.origin.answer_bytes if isinstance(self.origin, ServerOrigin) else 0

    def start(self, *, fault: str | None = None) -> Running:
        """Start the command, which is the same each time."""
        self.began_after = self.origin.commits()
        return self.start_unseen(fault=fault)

    def start_unseen(self, *, fault: str | None = None) -> Running:
        """Start the command without asking the source which transactions are committed."""
        environment = {"INRUSH_FAULT": fault} if fault else None
        return self.inrush.start("run", PACKAGE, environment=environment)

    def command(self, *, fault: str | None = None) -> Outcome:
        """Run it to its end."""
        with self.start(fault=fault) as running:
            return self._noted(running.wait(90))

    def _noted(self, outcome: Outcome) -> Outcome:
        if CHANGED.search(outcome.said):
            assert self.may_have_changed, f"nothing has changed: {outcome.said}"
        self._has_ended_well |= outcome.status == CLEAN
        return outcome

    def end(self, running: Running) -> Outcome:
        """Wait for the end of a disturbed command; fail if no fault explains it."""
        outcome = running.wait()
        check_ended(outcome, CLEAN)
        return self._noted(outcome)

    def rows(self, flow: CopiedFlow) -> Rows | None:
        """Return the rows of a target; None if there is no table."""
        rows = self.place.rows(flow.target, flow.forms)
        return None if rows is None else keyed(rows)

    def look(self) -> Seen:
        """Return the rows of all targets."""
        return {flow.target: self.rows(flow) for flow in self.copy.flows}

    @property
    def publishes_each(self) -> bool:
        """Whether the targets are published one after the other (D-14)."""
        return not self.place.keeps("D-14") and len(self.copy.flows) > 1

    @property
    def is_loaded(self) -> bool:
        """Whether the rows after the last command show that a run was published in all targets."""
        return all(self.last[name] != self.before[name] for name in self.before)

    def settle(self) -> None:
        """Wait until the source can be read again, and the target runs no old statement."""
        self.origin.settle()
        if isinstance(self.place, PostgreSql):
            database = self.place.database
            pauses.wait_until(database, pauses.sessions_of_inrush(database))

    def rest(self) -> None:
        """Check the targets while no command runs.

        They are unchanged, or show the source as it was at one moment during the command that
        changed them.
        """
        self.settle()
        now = self.look()
        self._note_digests()
        changed = [flow for flow in self.copy.flows if now[flow.target] != self.last[flow.target]]
        if not changed:
            return
        if self.copy.is_incremental:
            self._check_rows_exist(now)
        else:
            is_second = self.last != self.before and self.publishes_each
            if not is_second:
                self.loaded_after = self.began_after
            self._check_one_moment(now)
        self.last = now

    def _check_one_moment(self, now: Seen) -> None:
        history = self.origin.history()
        moments = set(range(self.loaded_after, len(history.transactions) + 1))
        for flow in self.copy.flows:
            rows = now[flow.target]
            if rows == self.before[flow.target] and self.publishes_each:
                continue
            assert rows is not None, f"{flow.target} was not published with the others"
            own = {key: row for key, row in rows.items() if key < 0}
            before = self.before[flow.target] if flow.mode == "append" else {}
            assert own == before, f"{flow.target} had {before}, and now has {own}"
            copied = {key: row for key, row in rows.items() if key >= 0}
            shown = history.moments_of(flow.table.name, flow.view, copied)
            assert shown & moments, (
                f"{flow.target} has {len(copied)} rows, which are those of no moment from "
                f"{self.loaded_after} on: {sorted(shown)[:5]}, of {len(history.transactions)}; "
                f"with other tables: {sorted(moments)[:5]}; {self._difference(flow, copied)}"
            )
            moments &= shown

    def _difference(self, flow: CopiedFlow, copied: Rows) -> str:
        """Describe how a copy differs from the present rows of the source."""
        now = self.origin.now()[flow.table.name].items()
        rows = {key: row for key, row in ((k, flow.view(k, r)) for k, r in now) if row is not None}
        missing = sorted(rows.keys() - copied.keys())
        extra = sorted(copied.keys() - rows.keys())
        other = sorted(key for key in rows.keys() & copied.keys() if rows[key] != copied[key])
        pairs = [(rows[key], copied[key]) for key in other[:2]]
        return (
            f"now {len(rows)} rows: {len(missing)} missing ({missing[:3]}), {len(extra)} more "
            f"({extra[:3]}), {len(other)} others ({str(pairs)[:600]})"
        )

    def _check_rows_exist(self, now: Seen) -> None:
        history = self.origin.history()
        for flow in self.copy.flows:
            known = history.rows_ever(flow.table.name, flow.view)
            before = self.before[flow.target] or {}
            for key, row in (now[flow.target] or {}).items():
                assert (key, row) in known or before.get(key) == row, f"{flow.target}: {row}"

    def finish(self) -> None:
        """Run the same command again: it succeeds at the first try."""
        if self.may_have_changed and self.is_loaded and self._has_ended_well:
            # The source may have changed, so another command might load other rows.
            return
        self.command().expect(CLEAN)
        self.rest()

    def check_status(self) -> None:
        """Fail unless `inrush status` lists at most one stopped run, which nobody holds."""
        outcome = self.inrush("status", *self.place.words, "--json").expect(CLEAN)
        told = json.loads(outcome.output)
        assert len(told) <= 1, outcome.said
        assert not any(run["held"] for run in told), outcome.said

    def clean_up(self) -> None:
        """Remove the leftovers of a stopped run: no target changes."""
        self.inrush("cleanup", *self.place.words).expect(CLEAN)
        if not self.publishes_each:
            assert self.look() == self.last, "cleanup changed a target"
            self.check_nothing_staged()

    def check_nothing_staged(self) -> None:
        """Fail if the target has a table that is not a target."""
        targets = {name for flow in self.copy.flows for name in flow.target_tables}
        assert self.place.tables() <= targets, self.place.tables()

    def check_end(self) -> None:
        """Fail unless everything is loaded and nothing is left behind, also in the source."""
        if self.copy.is_incremental:
            self._load_the_rest()
        else:
            assert self.is_loaded, "nothing was loaded"
        self.origin.check_left()
        self.check_nothing_staged()
        self.check_structure()
        for draft in self.inrush.folder.rglob("*.draft"):
            assert not draft.with_suffix("").exists(), f"{draft} was left behind"
        outcome = self.inrush("status", *self.place.words, "--json").expect(CLEAN)
        assert json.loads(outcome.output) == [], outcome.said
        if not self.may_have_changed:
            # A target with `replace` is loaded again, unless nothing was written on the whole
            # server. Even the server's own housekeeping counts as a write. Other targets are not
            # changed.
            replaces = any(flow.mode == "replace" for flow in self.copy.flows)
            self.command().expect(CLEAN, *([] if replaces else ["already loaded"]))
            assert self.look() == self.last, "the same command after success changed a target"

    def check_structure(self) -> None:
        """Fail unless the targets that are like their sources have the indexes and partitions."""
        if not isinstance(self.place, PostgreSql):
            return
        for flow in self.copy.flows:
            if not flow.is_like_source:
                continue
            name = f"'{quoted(flow.target)}'::regclass"
            valid = f"SELECT count(*) FROM pg_index WHERE indrelid = {name} AND indisvalid"
            parts = f"SELECT count(*) FROM pg_inherits WHERE inhparent = {name}"
            found = self.place.database.rows(f"SELECT ({valid}), ({parts})")
            assert found == [(1 + flow.table.has_key, flow.table.partitions)], flow

    def _load_the_rest(self) -> None:
        """Load the last changes of the writers; then the targets equal the sources."""
        # A leftover session would hold the upper bound back.
        self.server.end_sessions()
        for flow in self.copy.flows:
            old = (
                f"SELECT coalesce(max({STAMP}) < now() - interval '1.1 seconds', true) "
                f"FROM {quoted(flow.table.name)}"
            )
            pauses.wait_until(self.server.database, old)
        self.command().expect(CLEAN)
        self.rest()
        self.command().expect(CLEAN, "nothing new")
        now = self.origin.now()
        for flow in self.copy.flows:
            shown = {key: flow.view(key, row) for key, row in now[flow.table.name].items()}
            wanted = {key: row for key, row in shown.items() if row is not None}
            wanted |= self.before[flow.target] or {}
            copied = self.rows(flow) or {}
            of_source = {key: row for key, row in copied.items() if key >= 0}
            assert copied == wanted, f"{flow.target}: {self._difference(flow, of_source)}"

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch the targets in PostgreSQL all the time.

        Fail if a target ever showed rows that it did not also show when no command ran.
        """
        if not isinstance(self.place, PostgreSql):
            yield
            return
        database = self.place.database
        for flow in self.copy.flows:
            self._watchers.append(Watcher(database, quoted(flow.target), pause_s=0.01))
        self._note_digests()
        with ExitStack() as stack:
            for watcher in self._watchers:
                stack.enter_context(watcher)
            yield
        self._note_digests()
        for watcher in self._watchers:
            allowed = self._at_rest[watcher.table]
            assert watcher.seen <= allowed, (
                f"{watcher.table} was seen half loaded: {watcher.seen}, at rest {allowed}"
            )

    def _note_digests(self) -> None:
        for watcher in self._watchers:
            self._at_rest.setdefault(watcher.table, set()).add(watcher.now())

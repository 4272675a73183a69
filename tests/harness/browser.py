"""Opens report pages in headless Chromium, with the script in the folder `browser`."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from harness.checkout import ROOT

FOLDER = Path(__file__).parent / "browser"
WEB = ROOT / "crates" / "page" / "web"

ALL = "screen,phone,paper,light,dark"


def _missing(reason: str) -> None:
    """Skip the test on a laptop; in CI a missing browser is a failure."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def node(packages: Path) -> str:
    """Return the program `node`, if it and the packages of a folder are installed."""
    program = shutil.which("node")
    if program is None or shutil.which("npm") is None:
        _missing("Node.js and npm are not installed (on Debian: apt-get install nodejs npm)")
    if not (packages / "node_modules").is_dir():
        _missing(f"npm ci --prefix {packages} --ignore-scripts installs the packages it locks")
    assert program is not None
    return program


def chromium() -> str:
    """Return the program `chromium`."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        _missing("Chromium is not installed (on Debian: apt-get install chromium)")
    assert program is not None
    return program


class _Browser:
    """The script with its Chromium: started by the first look, and again after a failed one."""

    _process: subprocess.Popen[str] | None = None
    _errors: IO[str]

    def ask(self, request: dict[str, str | None]) -> dict[str, Any]:
        """Return what the script sees."""
        if self._process is None:
            self._start()
        assert self._process is not None
        to, answers = self._process.stdin, self._process.stdout
        assert to is not None
        assert answers is not None
        line = ""
        try:
            to.write(json.dumps(request) + "\n")
            to.flush()
            if select.select([answers], [], [], 500)[0]:
                line = answers.readline()
        except BrokenPipeError:
            # It ended while it started; it has written why.
            pass
        if not line:
            raise AssertionError(f"no answer about {request}:\n{self.stop(kill=True)}")
        seen: dict[str, Any] = json.loads(line)
        return seen

    def _start(self) -> None:
        words = [node(FOLDER), str(FOLDER / "look.mjs"), chromium()]
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def stop(self, *, kill: bool = False) -> str:
        """End the script, which closes Chromium; return its errors."""
        if self._process is None:
            return ""
        process, self._process = self._process, None
        if kill:
            # With this signal the script closes Chromium, too.
            process.terminate()
        process.communicate(timeout=60)
        with self._errors as errors:
            errors.seek(0)
            return errors.read()


_shared: list[_Browser] = []


@contextmanager
def shared() -> Iterator[None]:
    """Let all looks meanwhile use one Chromium, because it takes seconds to start."""
    browser = _Browser()
    _shared.append(browser)
    try:
        yield
    finally:
        _shared.remove(browser)
        browser.stop()


def _ask(request: dict[str, str | None]) -> dict[str, Any]:
    if not _shared:
        with shared():
            return _ask(request)
    return _shared[-1].ask(request)


def look(page: Path, parts: str = ALL) -> dict[str, Any]:
    """Return the text of a page, after checking that it has no errors and made no requests."""
    request: dict[str, str | None] = {"page": str(page), "parts": parts, "shots": None}
    shots = os.environ.get("INRUSH_TEST_SHOTS")
    if shots:
        folder = Path(shots) / page.stem
        folder.mkdir(parents=True, exist_ok=True)
        request["shots"] = str(folder)
    seen = _ask(request)
    assert seen["told"] == []
    assert seen["requests"] == [seen["url"]]
    for colours in ("light", "dark"):
        if colours in seen:
            assert seen[colours]["violations"] == []
    for screen in ("widths", "phone", "turned"):
        if screen in seen:
            assert seen[screen]["scroll"] <= seen[screen]["client"], screen
            assert seen[screen]["cut"] == [], screen
    if "page" in seen:
        assert_readable(seen)
    if "pdf" in seen:
        assert seen["pdf"]["begin"] == "%PDF-"
        assert seen["pdf"]["pages"] >= 1
        # For paper, pictures are drawn again: each on one sheet, dark on white, without the parts
        # that only a screen needs.
        assert all(width == 680 and height < 900 for width, height in seen["printed"])
        assert seen["paper"] == {
            "ground": "rgb(255, 255, 255)",
            "text": "rgb(26, 29, 33)",
            "hidden": True,
        }
    return seen


def assert_readable(seen: dict[str, Any]) -> None:
    """Check the rules for every page, for people who see it and for people who hear it."""
    page = seen["page"]
    assert page["links"] == page["sections"]
    assert page["headings"][0] == 1
    for before, after in zip(page["headings"], page["headings"][1:], strict=False):
        assert 2 <= after <= before + 1
    for name, chart in page["charts"].items():
        assert not chart["broken"], name
        assert chart["marks"], name
        assert chart["role"] == "img"
        assert chart["name"] == chart["title"] != ""
        assert chart["description"] == chart["says"] != ""
        if chart["numbers"] is not None:
            head, *rows = chart["numbers"]
            assert rows, name
            assert all(len(row) == len(head) for row in rows), name
    assert seen["shifts"] == 0
    # The elements that the Tab key reaches come from top to bottom; each has a name and is visible.
    order = seen["order"]
    assert [one["name"] for one in order[:2]] == ["To the report", "As the system"]
    tops = [one["top"] for one in order]
    assert tops == sorted(tops)
    assert all(one["name"] and one["outlined"] for one in order), order
    names = [one["name"] for one in order]
    assert len(set(names)) == len(names)
    # The background with the system's setting (light here), light, dark, and the system's setting.
    light, same, dark, back = seen["grounds"]
    assert light == same == back != dark

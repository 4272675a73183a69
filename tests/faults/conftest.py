"""The servers, with disks, that all scenarios from seeds share, as in torture.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import FindPrograms
from faults.site import Site


@pytest.fixture(scope="session")
def site(session_folder: Path, find_programs: FindPrograms) -> Iterator[Site]:
    """Return the servers, each started when it is first needed."""
    place = Site(session_folder, find_programs)
    yield place
    place.close()

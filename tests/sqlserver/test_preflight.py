"""Preflight of a load into the double: its findings about the database."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.command import CLEAN
from sqlserver.double.storage import File
from sqlserver.loads import Loads

_ROWS = " ".join(f"{number},2024-01-{number % 28 + 1:02}" for number in range(1_000, 4_000))
_TABLE = "CREATE TABLE t (id int NOT NULL, day date NOT NULL, note nvarchar(20) NULL)"
# The rows have 66,000 bytes of text: more than 8 pages of 8 KiB, and twice as many fill 17.
_PAGES_OF_ROWS = 12


def _told(loads: Loads, options: str = "", **settings: Any) -> dict[str, list[dict[str, str]]]:
    """Return the findings of a preflight, by their weight; the text has them as well."""
    loads.files(_ROWS)
    text = loads("preflight", options, **settings).expect(CLEAN).output
    report = json.loads(loads("preflight", options, "--json", **settings).expect(CLEAN).output)
    told: dict[str, list[dict[str, str]]] = {"stops": [], "hurts": [], "tells": []}
    words = " ".join(text.split())
    for finding in report["findings"]:
        assert finding["what"] in words, (finding, text)
        assert finding.get("hint", "") in words, (finding, text)
        told[finding["weight"]].append(finding)
    return told


def _about(told: list[dict[str, str]], words: str) -> list[str]:
    return [one["what"] for one in told if words in one["what"]]


def test_a_database_with_room_has_no_hazard(loads: Loads) -> None:
    told = _told(loads)
    assert told["stops"] == told["hurts"] == []
    # The service is asked only if files must grow.
    assert not any("dm_server_services" in batch for batch in loads.double.batches)


@pytest.mark.parametrize("model", ["SIMPLE", "BULK_LOGGED", "FULL"])
def test_the_recovery_model_full_is_told(loads: Loads, model: str) -> None:
    loads.double.database.recovery_model = model
    told = _told(loads)
    hurts = [one for one in told["hurts"] if "recovery model" in one["what"]]
    if model != "FULL":
        assert hurts == []
        return
    (hazard,) = hurts
    assert "of test is FULL: all rows (about 66.0 kB) are also written" in hazard["what"]
    assert 'ALTER DATABASE "test" SET RECOVERY BULK_LOGGED before it' in hazard["hint"]


def test_full_that_cannot_be_changed_is_a_note(loads: Loads) -> None:
    database = loads.double.database
    database.recovery_model = "FULL"
    database.replica_id = "C1"
    told = _told(loads)
    assert _about(told["tells"], "as its availability group requires") and told["hurts"] == []
    database.properties |= {"ENGINEEDITION": 5}
    told = _told(loads)
    assert _about(told["tells"], "FULL, as always in Azure") and told["hurts"] == []


def test_too_little_space_is_told(loads: Loads) -> None:
    files = loads.double.database.files
    files[0] = File("test", "PRIMARY", size=100, used=99, max_size=102)
    (said,) = _about(_told(loads)["hurts"], "error 1105")
    assert "the rows have about 66.0 kB; the data files have 8.2 kB free" in said
    assert "may grow by 16.4 kB" in said
    # Another file of the filegroup, and a file of a filegroup that the rows do not use.
    files.append(File("other", "old"))
    assert len(_about(_told(loads)["hurts"], "error 1105")) == 1
    files.append(File("second", "PRIMARY", size=100, used=100, max_size=100 + _PAGES_OF_ROWS))
    assert _about(_told(loads)["hurts"], "error 1105") == []
    # With `growth` 0 the file does not grow.
    files[-1].growth = 0
    assert len(_about(_told(loads)["hurts"], "error 1105")) == 1


def test_rows_that_are_copied_need_their_space_twice(loads: Loads) -> None:
    loads.make(_TABLE)
    room = _PAGES_OF_ROWS
    loads.double.database.files[0] = File("test", "PRIMARY", size=room, used=0, growth=0)
    assert _told(loads)["hurts"] == []
    (said,) = _about(_told(loads, "&switch=no")["hurts"], "error 1105")
    assert "the rows have about 132.0 kB, which are stored twice" in said


def test_partitions_have_the_space_of_their_filegroups(loads: Loads) -> None:
    loads.months()
    database = loads.double.database
    database.files[0] = File("test", "PRIMARY", size=1, used=1, growth=0)
    database.files.append(File("old", "old"))
    assert _told(loads)["hurts"] == []
    database.files[-1].growth = 0
    database.files[-1].size = database.files[-1].used
    assert len(_about(_told(loads)["hurts"], "error 1105")) == 1


@pytest.mark.parametrize("at_once", [True, False])
def test_growth_that_writes_zeros_is_told(loads: Loads, at_once: bool) -> None:
    database = loads.double.database
    database.files[0].used = database.files[0].size
    database.grows_files_at_once = at_once
    told = _told(loads)
    assert _about(told["tells"], "they grow during the load")
    zeros = [one["what"].split(":")[0] for one in told["hurts"]]
    assert zeros == ([] if at_once else ["instant file initialization is off"])


def test_a_missing_right_costs_its_figure_only(loads: Loads) -> None:
    database = loads.double.database
    database.files[0].used = database.files[0].size
    database.shows_server_state = False
    database.recovery_model = "FULL"
    told = _told(loads)
    (said,) = _about(told["tells"], "is not known")
    assert "instant file initialization" in said
    assert "VIEW SERVER STATE permission was denied" in said and "error 300" in said
    assert _about(told["tells"], "they grow during the load")
    assert len(_about(told["hurts"], "recovery model")) == 1
    loads().expect(CLEAN)


def test_a_log_that_fills_up_is_told(loads: Loads) -> None:
    database = loads.double.database
    database.files[1] = File("test_log", None, size=100, used=99, max_size=101)
    assert _told(loads)["hurts"] == []
    database.recovery_model = "FULL"
    (said,) = _about(_told(loads)["hurts"], "error 9002")
    assert "66.0 kB are written to the log, which has 8.2 kB free and may grow by 8.2 kB" in said


def test_indexed_views_are_told(loads: Loads) -> None:
    loads.make(_TABLE, "CREATE TABLE u (id int NOT NULL)")
    loads.double.database.indexed_views = {"days": "t", "others": "u"}
    (hazard,) = _told(loads)["hurts"]
    assert hazard["what"].startswith('indexed views read "dbo"."t"')
    assert hazard["what"].endswith(": days")


def test_babelfish_is_not_asked(loads: Loads) -> None:
    database = loads.double.database
    database.properties |= {"PRODUCTVERSION": "12.0.2000.8", "BABELFISH": 1}
    database.recovery_model = "FULL"
    assert _told(loads)["hurts"] == []
    assert not any("sys.database_files" in batch for batch in loads.double.batches)

"""The record workload's files equal those of dbgen, part for part."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest

from command.etlwr import KEYS, PARTS, SCALE, SMALL, copied, generate, results, run
from harness.command import CLEAN, FAILED, INTERRUPTED, USAGE, Inrush
from harness.servers import Database

# A measurement may take 300 seconds (etlwr.py), and a test makes up to three measurements.
pytestmark = pytest.mark.timeout(900)


def test_parts_made_alone_are_parts_of_the_whole(inrush: Inrush, whole: Path, made: Path) -> None:
    """Three machines make one part each; the parts equal the generator's files, byte for byte."""
    for number in range(1, PARTS + 1):
        words = ("--tables", "all", "--part", str(number))
        generate(inrush, *words, to=f"machine-{number}").expect(CLEAN, "generated TPC-H")
    for table in KEYS:
        files = [
            inrush.folder / f"machine-{part}/{table}.tbl.{part}" for part in range(1, PARTS + 1)
        ]
        assert (
            b"".join(file.read_bytes() for file in files) == (whole / f"{table}.tbl").read_bytes()
        )
    for table in SMALL:
        # Nation and region have one part, which is made with the first one.
        alone = list(inrush.folder.glob(f"machine-*/{table}.tbl*"))
        assert alone == [inrush.folder / f"machine-1/{table}.tbl"]
        assert alone[0].read_bytes() == (whole / f"{table}.tbl").read_bytes()
    for file in sorted(made.glob("*.tbl.*")):
        part = inrush.folder / f"machine-{file.suffix[1:]}" / file.name
        assert part.read_bytes() == file.read_bytes(), file.name


def test_what_is_there_stays_and_the_rest_is_made(inrush: Inrush, made: Path) -> None:
    folder = copied(inrush, made)
    before = {
        file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.glob("*.tbl*")
    }
    (folder / "orders.tbl.2").unlink()
    # The leftovers of a killed generator.
    (folder / "orders.tbl.2.unfinished").write_text("1|half a ro")
    outcome = generate(inrush, "--json").expect(CLEAN)
    events = [json.loads(line) for line in outcome.output.splitlines()]
    anew = [event["path"] for event in events if event["event"] == "file" and event["made"]]
    assert [Path(path).name for path in anew] == ["orders.tbl.2"]
    assert (events[-1]["files"], events[-1]["files_made"]) == (18, 1)
    after = {
        file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in folder.glob("*.tbl*")
    }
    assert after.keys() == before.keys()
    assert after["orders.tbl.2"][0] == before["orders.tbl.2"][0]
    del after["orders.tbl.2"], before["orders.tbl.2"]
    assert after == before
    generate(inrush).expect(CLEAN, "0 files", "18 files there already")


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_generate_goes_on(inrush: Inrush, which: signal.Signals) -> None:
    """The command is stopped long before all files are made; complete files stay."""
    words: tuple[str, ...] = ("bench", "etlwr", "generate", "--scale", "0.5", "--parts", "400")
    words += ("--tables", "lineitem", "--threads", "2")
    folder = inrush.folder / "data"
    with inrush.start(*words, "--to", "data", "--json") as running:
        assert running.process.stdout is not None
        assert json.loads(running.process.stdout.readline())["event"] == "file"
        running.send(which)
        running.wait().expect(INTERRUPTED, "stopped on request", "the same command resumes")
    there = {file: file.stat().st_mtime_ns for file in folder.glob("lineitem.tbl.*")}
    assert 0 < len(there) < 400
    assert not list(folder.glob("*.unfinished"))
    # Only the existing files and two more are made, because all 400 would take long.
    last = max(int(file.suffix[1:]) for file in there)
    some = f"1-{min(last + 2, 400)}"
    inrush(*words, "--to", "data", "--part", some).expect(CLEAN, "there already")
    assert {file: file.stat().st_mtime_ns for file in there} == there
    inrush(*words, "--to", "again", "--part", some).expect(CLEAN)
    for file in (inrush.folder / "again").glob("*.tbl.*"):
        assert (folder / file.name).read_bytes() == file.read_bytes(), file.name


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--part", "4"), ("--part", "no part 4 of 3", "1 to 3")),
        (("--part", "0"), ("no part 0",)),
        (("--part", "2-9"), ("no part 9",)),
        (("--part", "x"), ("1-14",)),
        (("--tables", "lineitems"), ("lineitems", "lineitem")),
        (("--scale", "-1"), ("-1",)),
        (("--scale", "nan"), ("NaN",)),
        (("--parts", "0"), ("--parts",)),
    ],
)
def test_mistakes(inrush: Inrush, words: tuple[str, ...], said: tuple[str, ...]) -> None:
    given = {"--scale": SCALE, "--parts": str(PARTS)} | dict(
        zip(words[::2], words[1::2], strict=True)
    )
    flat = [word for pair in given.items() for word in pair]
    inrush("bench", "etlwr", "generate", "--to", "data", *flat).expect(USAGE, *said)
    assert not (inrush.folder / "data").exists()


def test_two_scales_do_not_mix(inrush: Inrush, newest_database: Database, made: Path) -> None:
    copied(inrush, made)
    other = ("bench", "etlwr", "generate", "--scale", "0.001", "--parts", "3", "--to")
    inrush(*other, "data").expect(USAGE, "scale 0.002", "scale 0.001", "another folder")
    inrush(*other, "other", "--part", "1").expect(CLEAN)
    both = ("--data", "other")
    run(inrush, newest_database.url, *both).expect(USAGE, "scale 0.002", "scale 0.001")
    inrush.write("foreign/part.tbl.1", "1|x|\n")
    inrush(*other, "foreign").expect(USAGE, "part.tbl.1", "its scale is unknown")
    run(inrush, newest_database.url, data="foreign").expect(USAGE, "etlwr.json")


def test_too_little_room_is_refused_with_the_figures(inrush: Inrush) -> None:
    huge = ("--scale", "100000", "--parts", "56")
    refused = inrush("bench", "etlwr", "generate", *huge, "--to", "data").expect(
        FAILED, "not enough space", "for the files", "free", "--no-disk-check"
    )
    assert re.search(r"1\d\d\.\d TB for the files", refused.errors), refused.errors
    # The database is on the disk of the files.
    environment = {"TMPDIR": str(inrush.folder.parent)}
    done = inrush("bench", "etlwr", *huge, "--data", "data", environment=environment).expect(
        FAILED, "for the files and", "for the database"
    )
    assert not list(done.folder.iterdir())
    # A single part of the smallest table fits.
    few = ("--tables", "supplier", "--part", "7", "--parts", "10000", "--to", "data")
    inrush("bench", "etlwr", "generate", "--scale", "1", *few).expect(CLEAN)


def test_a_tenth_lies_beside_the_whole(
    newest_database: Database, inrush: Inrush, made: Path
) -> None:
    whole = ("--scale", "0.02", "--parts", "3", "--to", "data", "--tables", "supplier,part")
    inrush("bench", "etlwr", "generate", *whole).expect(CLEAN)
    tenth = inrush("bench", "etlwr", "generate", *whole, "--ten-percent").expect(CLEAN)
    assert "scale 0.002" in tenth.output
    beside = list((inrush.folder / "data/ten-percent").glob("*.tbl*"))
    assert len(beside) == 6
    for file in beside:
        assert (made / file.name).read_bytes() == file.read_bytes()
    words = ("--tables", "supplier,part", "--ten-percent")
    outcome = run(inrush, newest_database.url, *words).expect(CLEAN, "a tenth of scale 0.02")
    found = results(outcome)
    assert found["data"]["files_of"] == {"scale": 0.002, "parts": 3, "ten_percent": True}
    assert sum(table["rows"] for table in found["runs"][0]["tables"]) == 20 + 400


def test_a_tenth_of_a_scale_is_as_it_would_be_written(inrush: Inrush) -> None:
    """A tenth of 0.7 is 0.07: the quotient 0.06999999999999999 would have one supplier less."""
    words = ("bench", "etlwr", "generate", "--parts", "2", "--tables", "supplier")
    tenth = inrush(*words, "--scale", "0.7", "--ten-percent", "--to", "whole")
    tenth.expect(CLEAN, "scale 0.07 ", "a tenth of scale 0.7)")
    inrush(*words, "--scale", "0.07", "--to", "small").expect(CLEAN)
    folder = inrush.folder / "whole/ten-percent"
    found = json.loads((folder / "etlwr.json").read_text())
    assert found == {"scale": 0.07, "parts": 2, "ten_percent": True}
    files = [sorted(where.glob("*.tbl.*")) for where in (folder, inrush.folder / "small")]
    texts = [b"".join(file.read_bytes() for file in own) for own in files]
    assert texts[0] == texts[1]
    assert len(texts[0].splitlines()) == 700

"""A load into Parquet performs the file steps that `inrush check` printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from harness.command import CLEAN, Inrush
from harness.folder_watch import FolderWatch
from harness.packages import Value, flow, package

COLUMNS: list[Value] = ["id int", "day date"]
HEADER = "id,day\n"
MODES: dict[str, dict[str, Any]] = {
    "create": {},
    "append": {"mode": "append"},
    "replace": {"mode": "replace"},
    "create with sums": {"verify": "sums"},
    "append with sums": {"mode": "append", "verify": "sums"},
    "partitions": {"partition_by": "day"},
    "routed": {"partition_by": "day", "routing": True},
    "append routed": {"mode": "append", "partition_by": "day", "routing": True},
    "partitions with sums": {"partition_by": "day", "verify": "sums"},
    "replace partitions": {
        "mode": "replace",
        "partition_by": "day",
        "replace": {"scope": "partitions"},
    },
}


def sections(output: str) -> dict[str, list[str]]:
    """Return the file steps of a plan: at the start of the run, for a unit, and at the publish."""
    found: dict[str, list[str]] = {"begin": [], "unit": [], "publish": []}
    section = ""
    for line in output.splitlines():
        if line == "Begin of the run":
            section = "begin"
        elif line.startswith(("  -- for each ", "  -- in one transaction")):
            section = "unit"
        elif line == "Publish":
            section = "publish"
        elif section and line.startswith("  -- "):
            found[section].append(line.removeprefix("  -- "))
    assert all(found.values()), output
    return found


def pattern(step: str) -> tuple[str, str, str]:
    """Return a step's word, the pattern of its paths, and how often it is performed."""
    action, _, times = step.partition(", ")
    action = re.sub(r"^make the folder ", "make ", action)
    word, paths = action.split(" ", 1)
    parts = re.split(r"<[^<>]+>", paths.replace(" with ", " to ").replace(" as ", " to "))
    return word, ".+".join(map(re.escape, parts)), times


def seen(steps: list[tuple[str, ...]]) -> list[str]:
    """Return what the run did to the watched folders, in the words of a plan."""
    words = []
    taken: set[int] = set()
    for at, step in enumerate(steps):
        if at in taken:
            continue
        back = (at + 1, ("rename", *step[:0:-1]))
        if step[0] == "rename" and at + 1 < len(steps) and steps[at + 1] == back[1]:
            taken.add(at + 1)
            words.append(f"exchange {step[1]} to {step[2]}")
        elif step[0] == "rename" and step[1] == step[2] + ".tmp":
            words.append(f"write {step[2]}")
        elif step[0] == "make" and step[1].endswith(".tmp"):
            continue
        elif step[0] == "make" and step[1].endswith(".staged"):
            words.append(f"write {step[1]}")
        elif step[0] == "rename":
            words.append(f"rename {step[1]} to {step[2]}")
        elif (
            step[0] == "remove"
            and str(Path(step[1]).parent) != "_inrush/staging"
            and (step[1].startswith("_inrush/staging/"))
        ):
            # This file is removed together with its folder.
            continue
        else:
            words.append(" ".join(step))
    return words


def match(plan: list[str], done: list[str], watched: set[str]) -> None:
    """Fail unless the run did to the watched folders what the plan says, in the same order."""
    expected = ""
    for step in plan:
        word, paths, times = pattern(step)
        last = step.partition(", ")[0].split(" ")[-1]
        if word in ("lock", "link") or str(Path(last).parent).replace("<run>", "1") not in watched:
            # The watch sees no links, and no files in folders that the run has just made.
            continue
        how_often = {"": "", "i": "*", "f": "*" if word == "remove" else "+"}[times[:1]]
        expected += f"(?:{word} {paths}\n){how_often}"
    text = "".join(f"{line}\n" for line in done)
    assert re.fullmatch(expected, text), f"{text}\nexpected:\n{expected}"


@pytest.fixture
def lake(inrush: Inrush) -> Path:
    """Return the folder of tables, with a file of rows to load."""
    inrush.write("rows.csv", HEADER + "1,2024-01-01\n2,2024-01-31\n")
    return inrush.folder / "lake"


def write_package(inrush: Inrush, **settings: Any) -> None:
    """Write a package that loads the file into the table `t`."""
    into = flow("t", "rows.csv", **{"columns": COLUMNS, **settings})
    inrush.write("package.toml", package("parquet:lake", into))


@pytest.mark.clause("D-45")
@pytest.mark.parametrize("mode", MODES)
def test_a_run_performs_its_plan(inrush: Inrush, lake: Path, mode: str) -> None:
    settings = MODES[mode]
    runs = 1
    if settings.get("mode", "create") != "create":
        first = {key: settings[key] for key in settings if key == "partition_by"}
        for more in ("", "3,2024-02-01\n"):
            # The second load retires the generation of the first one.
            (inrush.folder / "rows.csv").write_text(HEADER + "9,2024-01-01\n" + more)
            write_package(inrush, mode="append" if more else "create", **first)
            inrush("run", "package.toml").expect(CLEAN)
            runs += 1
        inrush.write("rows.csv", HEADER + "1,2024-01-01\n2,2024-01-31\n")
    write_package(inrush, **settings)
    plan = sections(inrush("check", "package.toml").expect(CLEAN).output)
    assert len(plan["begin"]) >= 8
    plan = {
        name: [step.replace("<run>", str(runs)) for step in steps] for name, steps in plan.items()
    }
    watch = FolderWatch(lake)
    with inrush.stopped_by("stop:run_entered", "run", "package.toml") as running:
        begun(plan["begin"], lake)
        folders = [lake, lake / "_inrush/runs", lake / "_inrush/staging"]
        folders += [lake / f"_inrush/staging/{runs}", *(lake / f"_inrush/staging/{runs}").iterdir()]
        folders += [path for path in [lake / "_inrush/retired"] if path.exists()]
        for folder in folders:
            watch.add(folder)
        running.resume().wait().expect(CLEAN)
    watched = {str(folder.relative_to(lake)) for folder in folders}
    match(plan["unit"] + plan["publish"], seen(watch.steps()), watched)
    watch.close()


@pytest.mark.clause("D-45")
def test_a_step_that_differs_is_found(inrush: Inrush, lake: Path) -> None:
    """The comparison fails if the plan has one step more, or one step fewer, than the run."""
    write_package(inrush)
    plan = sections(inrush("check", "package.toml").expect(CLEAN).output)
    steps = [step.replace("<run>", "1") for step in plan["unit"] + plan["publish"]]
    watch = FolderWatch(lake)
    with inrush.stopped_by("stop:run_entered", "run", "package.toml") as running:
        folders = [
            lake,
            lake / "_inrush/runs",
            lake / "_inrush/staging",
            lake / "_inrush/staging/1",
        ]
        folders += (lake / "_inrush/staging/1").iterdir()
        for folder in folders:
            watch.add(folder)
        running.resume().wait().expect(CLEAN)
    watched = {str(folder.relative_to(lake)) for folder in folders}
    done = seen(watch.steps())
    watch.close()
    match(steps, done, watched)
    [renamed] = (at for at, step in enumerate(steps) if step.startswith("rename "))
    for differs in (steps[:renamed] + steps[renamed + 1 :], [*steps, steps[renamed]]):
        with pytest.raises(AssertionError):
            match(differs, done, watched)


def begun(steps: list[str], lake: Path) -> None:
    """Once the run is in the ledger, compare the files with the first steps of the plan."""
    made = set()
    for step in steps:
        word, paths, times = pattern(step)
        found = [str(path.relative_to(lake)) for path in lake.rglob("*")]
        matching = [path for path in found if re.fullmatch(paths, path)]
        removed = step.replace("make the folder ", "remove ") in steps and word == "make"
        if word == "remove" or removed:
            assert matching == [], step
        elif not times:
            assert len(matching) == 1, (step, found)
            made.add(matching[0])
    # Apart from these files, `_inrush` has only its folders, staging, locks and earlier runs.
    own = {"_inrush", "_inrush/locks", "_inrush/runs", "_inrush/staging", "_inrush/retired"}
    new = {str(path.relative_to(lake)) for path in lake.rglob("*") if "_inrush" in path.parts}
    staging = {str(Path(one).parent) for one in made if one.startswith("_inrush/staging/")}
    locks = {one for one in new if one.startswith("_inrush/locks/")}
    earlier = {one for one in new if re.match(r"_inrush/runs/\d+\.", one)}
    assert new - own - made - staging - locks - earlier == set()


@pytest.mark.clause("D-45")
@pytest.mark.parametrize("mode", ["append", "replace"])
def test_the_next_generation_is_made_of_links(inrush: Inrush, lake: Path, mode: str) -> None:
    write_package(inrush)
    inrush("run", "package.toml").expect(CLEAN)
    before = {path.name: path.stat().st_ino for path in (lake / "t").glob("*.parquet")}
    (lake / "t" / "_notes").write_text("kept")
    inrush.write("rows.csv", HEADER + "3,2024-02-01\n")
    write_package(inrush, mode=mode)
    steps = sections(inrush("check", "package.toml").expect(CLEAN).output)["publish"]
    links = [step for step in steps if step.startswith("link t/")]
    assert len(links) == {"append": 2, "replace": 1}[mode], steps
    with inrush.stopped_by("stop:before_switch_commit", "run", "package.toml") as running:
        [next_one] = (lake / "_inrush/staging/2").glob("*.next")
        [staging] = (path for path in next_one.parent.iterdir() if path != next_one)
        staged = {path.stat().st_ino for path in staging.glob("*.staged")}
        there = {path.name: path.stat().st_ino for path in next_one.iterdir()}
        assert there.pop("_notes") == (lake / "t" / "_notes").stat().st_ino
        there.pop("_inrush.json")
        kept = {name: inode for name, inode in there.items() if name in before}
        assert kept == (before if mode == "append" else {})
        assert {there[name] for name in there if name not in before} == staged
        running.resume().wait().expect(CLEAN)

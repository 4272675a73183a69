"""The kept results: a JSON file for each, and a page for the newest one of each kind."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import capacity_accuracy
import clients_vs_pgbench
import kernels
import pages
import preflight_accuracy
import readme
import results
from harness.checkout import DOCS

# Benchmarks whose page is made from the JSON alone; the others write page and JSON together.
PAGES: dict[str, Callable[[dict[str, Any], str], str]] = {
    results.BENCHMARK: results.page,
    "capacity_accuracy": lambda facts, _: capacity_accuracy.page(facts),
    "clients_vs_pgbench": lambda facts, _: clients_vs_pgbench.page(facts),
    "kernels": lambda facts, _: kernels.page(facts),
    "preflight_accuracy": lambda facts, _: preflight_accuracy.page(facts),
}


def test_only_the_newest_results_have_pages() -> None:
    assert list(pages.faults(pages.RESULTS)) == [], "run benchmarks/pages.py"


def test_pages_are_made_of_their_results() -> None:
    compared = set()
    for path in pages.RESULTS.glob("*.json"):
        facts = json.loads(path.read_text())
        page = path.with_suffix(".md")
        if facts["benchmark"] in PAGES and page.exists():
            assert page.read_text() == PAGES[facts["benchmark"]](facts, path.stem), path
            compared.add(facts["benchmark"])
    assert compared == set(PAGES)


def test_links_lead_to_results_that_are_there() -> None:
    documents = [readme.README, *DOCS.glob("**/*.md")]
    links = {
        name
        for path in documents
        for name in re.findall(r"benchmarks/results/([^\s)#]+)", path.read_text())
    }
    assert links
    assert sorted(name for name in links if not (pages.RESULTS / name).exists()) == []


DAYS = ("2026-11-21", "2026-11-22", "2026-11-23")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with three days' results of two kinds on two machines, all with pages."""
    for day in DAYS:
        for kind in ("suite", "suite-tls"):
            for machine in ("a-cpu-2-cores", "b-cpu-8-cores"):
                path = tmp_path / f"{day}-{kind}-{machine}.json"
                path.write_text(json.dumps({"plots": [{"name": "ratios", "title": "-"}]}))
                path.with_suffix(".md").touch()
                path.with_name(f"{path.stem}-ratios.svg").touch()
    return tmp_path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_older_pages_are_removed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = names(folder)
    older = {
        name for name in before if not name.startswith(DAYS[-1]) and not name.endswith(".json")
    }
    assert len(older) == 16
    said = list(pages.faults(folder))
    assert {sentence.split(":")[0] for sentence in said} == older
    pages.prune(folder)
    assert names(folder) == before - older
    assert capsys.readouterr().out.count("removed, since a newer result has its page: ") == 16
    assert list(pages.faults(folder)) == []
    pages.prune(folder)
    assert names(folder) == before - older


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ("-suite-a-cpu-2-cores.md", "-suite-a-cpu-2-cores.md is missing: its result is the newest"),
        ("-suite-tls-b-cpu-8-cores-ratios.svg", "-cores-ratios.svg is missing: its result is the"),
        # Now the page of the previous day is expected, and all other files belong to no result.
        ("-suite-a-cpu-2-cores.json", "2026-11-22-suite-a-cpu-2-cores.md is missing"),
    ],
)
def test_what_is_missing_is_named(folder: Path, lost: str, said: str) -> None:
    pages.prune(folder)
    (folder / f"{DAYS[-1]}{lost}").unlink()
    assert said in "\n".join(pages.faults(folder))


@pytest.mark.parametrize(
    "name",
    [
        "2026-11-23-other-a-cpu-2-cores.md",
        "notes.md",
        "notes.json",
        "2026-11-23-suite-a-cpu-2-coresratios.svg",
    ],
)
def test_what_belongs_to_no_result_is_named_and_stays(folder: Path, name: str) -> None:
    pages.prune(folder)
    (folder / name).touch()
    pages.prune(folder)
    said = f"{name} belongs to no result: no DAY-KIND-MACHINE.json has its name"
    assert list(pages.faults(folder)) == [said]


def test_a_plot_that_the_page_does_not_show_is_removed(folder: Path) -> None:
    plot = folder / f"{DAYS[-1]}-suite-a-cpu-2-cores-streams.svg"
    pages.prune(folder)
    plot.touch()
    assert len(list(pages.faults(folder))) == 1
    pages.prune(folder)
    assert not plot.exists()
    assert list(pages.faults(folder)) == []


def test_the_readme_leads_to_the_json_where_a_newer_piece_has_the_page(tmp_path: Path) -> None:
    path = tmp_path / "2026-11-23-suite-a-cpu-2-cores.json"
    usual = readme.newest(pages.RESULTS)
    assert usual is not None
    path.write_text(usual.read_text())
    results.write_page(path)
    page_is_there = readme.section(tmp_path)
    assert f"(benchmarks/results/{path.stem}.md)" in page_is_there
    path.with_suffix(".md").unlink()
    assert readme.section(tmp_path) == page_is_there.replace(f"{path.stem}.md", path.name)

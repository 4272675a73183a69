"""Documents and comments name only existing files and types, and link only to existing pages.

A path in backquotes that begins with a top-level folder is read from the root. A shorter one, such
as `quirks.rs` or `load/careful/isolate.rs`, must be the end of some file's path. If a page for
developers names a type or a function of Rust, the crates must define it.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
from pathlib import Path

import pytest

from harness.checkout import DOCS, ROOT

FOLDERS = (
    "benchmarks", "crates", "docs", "examples", "extensions", "fuzz", "python", "sample-packages",
    "tests",
)  # fmt: skip
# Files that builds and tests make.
MADE = {"node_modules", "target", "decoder-target", "__pycache__"}
# A word in capitals stands for anything: `tests/FOLDER/test_NAME.py`.
PLACEHOLDER = re.compile(r"(?<![a-z])[A-Z]{3,}(?![a-z])")
# Names from elsewhere, such as a type of Arrow or a message of PostgreSQL's protocol.
FOREIGN = {"MonthDayNano", "BackendKeyData", "inrush"}
PATH = re.compile(r"[\w.*{},/-]+")
SOURCE = (".rs", ".py", ".mjs", ".js", ".sh")


@functools.cache
def files() -> list[str]:
    """Return all files at or below FOLDERS, by their paths from the root: `/a/b`."""
    found = [f"/{path.name}" for path in ROOT.iterdir() if path.is_file()]
    for folder in FOLDERS:
        for above, folders, names in os.walk(ROOT / folder):
            folders[:] = [name for name in folders if name not in MADE]
            here = Path(above).relative_to(ROOT)
            found += [f"/{here / name}" for name in names]
    return found


@functools.cache
def paths() -> str:
    """Return the paths of all files and folders, one on each line."""
    all_files = files()
    folders = {str(above) for file in all_files for above in Path(file).parents}
    return "\n".join(["", *all_files, *sorted(folders), ""])


def spelled_out(path: str) -> list[str]:
    """Return the paths that braces mean: `a/{b,c}.rs` is `a/b.rs` and `a/c.rs`."""
    parts = re.split(r"\{([^{}]*)\}", path)
    choices = [part.split(",") if at % 2 else [part] for at, part in enumerate(parts)]
    return ["".join(chosen) for chosen in itertools.product(*choices)]


def exists(path: str) -> bool:
    if path.split("/")[0] in FOLDERS and (ROOT / path).exists():
        return True
    pattern = re.escape(PLACEHOLDER.sub("*", path.rstrip("/"))).replace(r"\*", r"[^/\n]*")
    above = "" if path.split("/")[0] in FOLDERS else r"(?:/[^\n]*)?"
    return re.search(rf"\n{above}/{pattern}\n", paths()) is not None


def named(text: str) -> list[str]:
    """Return the paths that a text names in backquotes, also as parts of commands."""
    found = []
    for quoted in re.findall(r"`([^`\n]+)`", text):
        for word in quoted.split():
            word = word.removeprefix("./").removeprefix("../").rstrip(",.;:")
            if "://" in word or not PATH.fullmatch(word):
                continue
            is_rooted = word.split("/")[0] in FOLDERS and "/" in word
            is_source = word.endswith(SOURCE) and not word.startswith(".")
            if is_rooted or is_source:
                found += spelled_out(word)
    return found


def absent(text: str) -> list[str]:
    return sorted({path for path in named(text) if not exists(path)})


@functools.cache
def defined() -> set[str]:
    """Return the types, functions, constants, modules and fields that the crates define."""
    found: set[str] = set()
    for file in files():
        if file.startswith("/crates/") and file.endswith(".rs"):
            text = (ROOT / file[1:]).read_text()
            found.update(re.findall(r"\b(?:struct|enum|trait|type|mod|fn|const) (\w+)", text))
            found.update(re.findall(r"^ +(?:pub )?(\w+): ", text, re.MULTILINE))
    return found


def undefined(text: str) -> list[str]:
    """Return the names in a text's code, such as `Piece::is_whole`, that no crate defines."""
    quoted = re.findall(r"`([A-Za-z_:]+)`", text)
    types = [name for name in quoted if re.fullmatch(r"[A-Z][a-z]+[A-Z]\w*|\w+(::\w+)+", name)]
    parts = {part for name in types for part in name.split("::")}
    return sorted(parts - defined() - FOREIGN)


def documents() -> list[Path]:
    beside = [ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md")]
    return [*beside, *sorted(DOCS.glob("**/*.md")), ROOT / "fuzz" / "README.md"]


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_document_names_and_links_to_exists(document: Path) -> None:
    text = document.read_text()
    assert absent(text) == []
    links = re.findall(r"\]\((?!\w+:)([^)\s#]+)(?:#[^)]*)?\)", text)
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize(
    "document",
    [ROOT / "ARCHITECTURE.md", DOCS / "adding-a-destination.md", *sorted(DOCS.glob("design/*.md"))],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_the_types_that_a_document_names_are_defined(document: Path) -> None:
    assert undefined(document.read_text()) == []


def test_what_comments_of_sources_name_exists() -> None:
    faults = []
    for file in files():
        if file.startswith("/crates/") and file.endswith(".rs"):
            lines = (ROOT / file[1:]).read_text().splitlines()
            comments = "\n".join(line for line in lines if line.lstrip().startswith("//"))
            # A crate names its own files relative to its own folder.
            own = next(above for above in Path(file).parents if f"{above}/Cargo.toml" in files())
            here = [path for path in absent(comments) if f"{own}/{path}" not in files()]
            faults += [f"{file}: {path}" for path in here]
    assert faults == []


def test_no_file_has_the_marks_of_a_merge() -> None:
    marks = re.compile("^(<{7}|>{7}) ", re.MULTILINE)
    texts = (file for file in files() if file.endswith((*SOURCE, ".md", ".toml", ".json", ".txt")))
    assert [file for file in texts if marks.search((ROOT / file[1:]).read_text())] == []


def test_a_path_that_is_not_there_is_found() -> None:
    text = "`crates/nowhere/src/lib.rs`, `tests/FOLDER/test_NAME.py`, `lib.rs`, `libx.rs`, "
    text += "`tests/harness/{servers,clients}.py`"
    assert absent(text) == ["crates/nowhere/src/lib.rs", "libx.rs", "tests/harness/clients.py"]
    assert absent("`.venv/bin/python tests/values/tortured.py --seed 7`") == [
        "tests/values/tortured.py"
    ]
    assert absent("`s3://tests/x.py`, `src/lib.rs`, `crates/scan`, `crates/scan/`") == []


def test_a_type_that_is_not_there_is_found() -> None:
    text = (
        "`SplitEvidence`, `ShardEvidence`, `Piece::is_whole`, `Piece::is_half`, `FREEZE`, `Reading`"
    )
    assert undefined(text) == ["ShardEvidence", "is_half"]

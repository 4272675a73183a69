"""The extension's packages: their descriptions agree, and `make install-extension` works."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

from harness import extension
from harness.servers import Server

FOLDER = extension.ROOT / "extensions" / "postgres"


def version_in(file: str, pattern: str) -> str:
    """Return the version that a file of the extension names."""
    found = re.search(pattern, (FOLDER / file).read_text(), re.MULTILINE)
    assert found is not None, f"{file} has no {pattern}"
    return found[1]


def test_all_descriptions_name_one_version() -> None:
    description = json.loads((FOLDER / "META.json").read_text())
    provided = description["provides"]["inrush_fastcopy"]
    version = description["version"]
    assert provided["version"] == version
    assert provided["file"] == f"inrush_fastcopy--{version}.sql"
    assert version_in("inrush_fastcopy.control", r"^default_version = '(.+)'$") == version
    assert version_in("Makefile", r"^DATA = inrush_fastcopy--(.+)\.sql$") == version
    assert version_in("src/fastcopy.h", r'^#define INRUSH_FASTCOPY_VERSION "(.+)"$') == version
    assert version_in("debian/changelog", r"^inrush-fastcopy \((.+)-1\) ") == version


def test_the_description_for_pgxn_is_whole() -> None:
    """META.json has the keys that PGXN's specification requires, and names files that exist."""
    description = json.loads((FOLDER / "META.json").read_text())
    required = {"name", "version", "abstract", "maintainer", "license", "provides", "meta-spec"}
    assert required <= description.keys()
    assert description["meta-spec"]["version"] == "1.0.0"
    assert description["name"] == "inrush_fastcopy"
    assert description["name"] in description["provides"]
    for provided in description["provides"].values():
        assert (FOLDER / provided["file"]).is_file()
        assert (FOLDER / provided["docfile"]).is_file()
    needed = description["prereqs"]["runtime"]["requires"]["PostgreSQL"]
    assert int(needed.partition(".")[0]) == min(extension.EXTENSION_VERSIONS)


def test_the_skeleton_for_debian_is_whole() -> None:
    folder = FOLDER / "debian"
    control = (folder / "control.in").read_text()
    assert re.search(r"^Package: postgresql-PGVERSION-inrush-fastcopy$", control, re.MULTILINE)
    first = min(extension.EXTENSION_VERSIONS)
    assert (folder / "pgversions").read_text().split() == [f"{first}+"]
    rules = folder / "rules"
    assert os.access(rules, os.X_OK)
    assert rules.read_text().startswith("#!/usr/bin/make -f\n")
    assert "--with pgxs_loop" in rules.read_text()
    assert (folder / "source" / "format").read_text() == "3.0 (quilt)\n"
    assert "Apache-2.0" in (folder / "copyright").read_text()


def test_install_extension_puts_the_files_where_the_server_looks(
    fast_server: Server, session_folder: Path, tmp_path: Path
) -> None:
    """The files are below DESTDIR, which packagers set."""
    version = fast_server.version
    built = extension.built(version, session_folder)
    config = extension.pg_config(version)
    done = subprocess.run(
        ["make", "--quiet", "install-extension", f"PG_CONFIG={config}", f"DESTDIR={tmp_path}"],
        cwd=extension.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    places = {}
    for kind in ("pkglibdir", "sharedir"):
        asked = subprocess.run(
            [str(config), f"--{kind}"], capture_output=True, text=True, check=True
        )
        places[kind] = tmp_path / asked.stdout.strip().lstrip("/")
    library = places["pkglibdir"] / "inrush_fastcopy.so"
    assert library.read_bytes() == (built / "lib" / "inrush_fastcopy.so").read_bytes()
    installed = {path.name for path in (places["sharedir"] / "extension").iterdir()}
    assert installed == {path.name for path in (built / "extension").iterdir()}
    assert len(installed) == 2
    others = [path for path in tmp_path.rglob("*") if path.is_file() and path != library]
    assert {path.name for path in others} == installed


def test_a_build_without_a_server_says_what_it_needs() -> None:
    done = subprocess.run(
        ["make", "--quiet", "extension", "PG_CONFIG=/nowhere/pg_config"],
        cwd=extension.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "set PG_CONFIG to the pg_config of a server with headers" in done.stderr

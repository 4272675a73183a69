"""Programs that are stored in the data folder of a package run only with trust."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import inrush as inrush_module
from harness.command import CLEAN, USAGE, Inrush, Outcome
from harness.packages import Value, flow, package

numbers = itertools.count(1)

COLUMNS: list[Value] = ["id int", "name text"]
# A trigger that runs the commands in a table, with the rights of the server's user.
AT_LOGIN = [
    "CREATE TABLE commands (command text)",
    "CREATE FUNCTION at_login() RETURNS event_trigger LANGUAGE plpgsql AS $$ DECLARE found text; "
    "BEGIN FOR found IN SELECT command FROM public.commands LOOP "
    "EXECUTE format('COPY (SELECT 1) TO PROGRAM %L', found); END LOOP; END $$",
    "CREATE EVENT TRIGGER at_login ON login EXECUTE FUNCTION at_login()",
]
LOOKS = ["check", "run", "preflight", "status", "cleanup"]


class Place:
    """A folder with a package and its own state folder, as for one user."""

    def __init__(self, folder: Path) -> None:
        """Create the folder so that the server's user can enter it."""
        folder.mkdir(mode=0o777)
        folder.chmod(0o777)
        self.inrush = Inrush(folder)
        self.state = folder / "state"
        self.data = folder / "data"

    def package(self, *, mode: str = "create", pre_sql: list[Value] | None = None) -> Path:
        """Write the package, which loads into `embedded:data`."""
        self.inrush.write("rows.csv", "id,name\n1,a\n")
        more: dict[str, Value] = {} if pre_sql is None else {"pre_sql": pre_sql}
        settings = flow("t", "rows.csv", columns=COLUMNS, mode=mode, **more)
        return self.inrush.write("p.toml", package({"url": "embedded:data"}, settings))

    def __call__(self, *words: str | Path) -> Outcome:
        """Run the command with this user's state."""
        return self.inrush(*words, environment={"XDG_STATE_HOME": str(self.state)})


@pytest.fixture
def place(servers_folder: Path) -> Iterator[Place]:
    folder = servers_folder / f"trusts-{next(numbers)}"
    yield Place(folder)
    shutil.rmtree(folder)


@pytest.fixture
def foreign(servers_folder: Path) -> Iterator[tuple[Place, Path]]:
    """Yield a place whose data folder runs a program at each login, and the program's output."""
    author = Place(servers_folder / f"trusts-author-{next(numbers)}")
    reader = Place(servers_folder / f"trusts-reader-{next(numbers)}")
    witness = reader.inrush.folder / "witness"
    author("run", author.package(pre_sql=[*AT_LOGIN])).expect(CLEAN)
    # The program reads its input to the end, because a broken pipe would make the login fail.
    command = f"cat > {witness}"
    statement = f"INSERT INTO commands VALUES ('{command}')"
    author("run", author.package(mode="append", pre_sql=[statement])).expect(CLEAN)
    witness.unlink(missing_ok=True)
    author.data.rename(reader.data)
    yield reader, witness
    for place in (author, reader):
        shutil.rmtree(place.inrush.folder)


def test_a_folder_that_inrush_made_is_opened_again(place: Place) -> None:
    path = place.package()
    place("run", path).expect(CLEAN)
    for command in LOOKS:
        place(command, path).expect(CLEAN)
    # The record and the ID belong to the user.
    [record] = (place.state / "inrush/embedded").iterdir()
    assert record.name == (place.data / "inrush-folder-id").read_text()
    assert record.read_text() == str(place.data)
    assert record.stat().st_mode & 0o777 == 0o600
    assert record.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("command", LOOKS)
def test_no_command_opens_a_folder_that_came_with_a_package(
    foreign: tuple[Place, Path], command: str
) -> None:
    reader, witness = foreign
    path = reader.package(mode="append")
    before = sorted(reader.data.iterdir())
    outcome = reader(command, path)
    outcome.expect(USAGE, "p.toml:", str(reader.data), "no reliable record", "--trust")
    assert not witness.exists()
    assert sorted(reader.data.iterdir()) == before
    # A folder that was trusted once stays trusted.
    reader("check", path, "--trust").expect(CLEAN)
    assert witness.exists()
    reader("check", path).expect(CLEAN)


def test_a_program_says_trust_for_a_folder_too(
    foreign: tuple[Place, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, witness = foreign
    monkeypatch.setenv("XDG_STATE_HOME", str(reader.state))
    path, runs = reader.package(mode="append"), reader.inrush.folder / "runs"
    with pytest.raises(inrush_module.InrushError) as error:
        inrush_module.run(path, runs_folder=runs)
    assert error.value.exit_status == USAGE
    assert "trust=True" in str(error.value)
    assert not witness.exists()
    assert inrush_module.run(path, runs_folder=runs, again=True, trust=True).exit_status == CLEAN
    assert witness.exists()


def test_a_folder_that_the_command_names_needs_no_trust(foreign: tuple[Place, Path]) -> None:
    reader, _ = foreign
    path = reader.package(mode="append")
    reader("check", path, "--connection", "target=embedded:data").expect(CLEAN)


def test_the_destination_of_a_load_needs_no_trust(foreign: tuple[Place, Path]) -> None:
    reader, _ = foreign
    reader.package(mode="append")
    reader("load", "rows.csv", "--to", "embedded:data", "--table", "u").expect(CLEAN)


def test_rejects_of_a_foreign_run_open_no_folder(foreign: tuple[Place, Path]) -> None:
    reader, witness = foreign
    text = package(
        {"url": f"embedded:{reader.data}"}, flow("t", "rows.csv", name="t", columns=["id int"])
    )
    reader.inrush.write("runs/foreign/package.toml", text)
    reader.inrush.write("runs/foreign/rejects/t.0123456789abcdef.rejects", "id\n1\n")
    reader.inrush.write("runs/foreign/rejects/t.0123456789abcdef.jsonl", "")
    reader("rejects", "replay", "foreign").expect(USAGE, "no reliable record", "--trust")
    assert not witness.exists()


def test_a_folder_that_was_moved_is_asked_for_once(place: Place) -> None:
    path = place.package()
    place("run", path).expect(CLEAN)
    path = place.inrush.write("q.toml", path.read_text().replace("embedded:data", "embedded:moved"))
    place.data.rename(place.inrush.folder / "moved")
    place("check", path).expect(USAGE, f"made it as {place.data}", "moved or copied", "--trust")
    place("check", path, "--trust").expect(CLEAN)
    place("check", path).expect(CLEAN)


def test_records_that_others_may_write_are_worth_nothing(place: Place) -> None:
    path = place.package()
    place("run", path).expect(CLEAN)
    records = place.state / "inrush/embedded"
    records.chmod(0o777)
    place("check", path).expect(
        USAGE, str(records), "can be changed by others (mode 777)", "chmod go-w"
    )


def test_a_folder_without_a_record_says_so(place: Place) -> None:
    path = place.package()
    place.inrush.write("state", "a file, and no folder")
    place("run", path).expect(CLEAN)
    place("check", path).expect(USAGE, "Inrush has no record that it made this folder", "--trust")
    place("check", path, "--trust").expect(CLEAN)

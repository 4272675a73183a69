"""Memory depends on streams and buffers, not on rows; files add no more than the plan says."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from conformance.destinations import Place
from harness.command import Inrush
from harness.packages import Value, flow
from harness.plans import larger_code_kib, promised_kib, write_many_files

LINE = "{},some text that is neither short nor long,12345.67,2024-02-29\n"
COLUMNS = ["id integer not null", "note text", "price numeric(15,2)", "day date"]
PARTS = 2
# The rows are sent more slowly than they are read, so even the smaller number of rows fills all
# buffers of all destinations.
ROWS_OF_A_PART = (400_000, 1_600_000)
FEW_ROWS_RATE = 10_000_000


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Write the files once for all destinations; return a pattern for each number of rows."""
    folder = tmp_path_factory.mktemp("many")
    for rows in ROWS_OF_A_PART:
        for part in range(PARTS):
            with (folder / f"{rows}.{part}.csv").open("w") as file:
                file.write("id,note,price,day\n")
                file.writelines(map(LINE.format, range(part * rows, (part + 1) * rows)))
    return [f"{folder}/{rows}.*.csv" for rows in ROWS_OF_A_PART]


# The time limit is long because hundreds of megabytes are loaded twice.
@pytest.mark.timeout(900)
@pytest.mark.clause("D-35")
def test_it_does_not_grow_with_the_rows(
    place: Place, inrush: Inrush, files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "options", {**place.options, **place.memory_options})
    assert_same_memory(place, inrush, files)


def assert_same_memory(place: Place, inrush: Inrush, files: list[str]) -> None:
    """Load few rows, then many, and compare the peak memory of the loads."""
    peaks = []
    columns: list[Value] = list(COLUMNS)
    for number, pattern in enumerate(files):
        target = flow(f"loaded_{number}", pattern, columns=columns)
        rate = {"rate_bytes_max": FEW_ROWS_RATE} if number == 0 else {}
        path = inrush.write(f"{number}.toml", place.package(target, name=f"n{number}", **rate))
        peaks.append(inrush.peak_kib("run", path))
    small, large = peaks
    print(f"peaks: {small} and {large} KiB")
    assert large < small * place.memory_growth_max, peaks


@pytest.fixture(scope="module")
def compressed(files: list[str]) -> list[str]:
    """Compress one part of the many rows into a file, and all parts into another file.

    Each file feeds all streams. The smaller file has enough text to fill the buffers between the
    reader and the streams.
    """
    parts = [Path(files[-1].replace("*", str(part))) for part in range(PARTS)]
    paths = []
    for count in (1, PARTS):
        path = parts[0].with_name(f"{count}.csv.gz")
        with gzip.open(path, "wb", 1) as file:
            for part in parts[:count]:
                text = part.read_bytes()
                file.write(text if part == parts[0] else text.partition(b"\n")[2])
        paths.append(str(path))
    return paths


@pytest.mark.timeout(900)
@pytest.mark.clause("D-35", "D-36")
def test_it_does_not_grow_with_a_compressed_file(
    place: Place, inrush: Inrush, compressed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "options", {**place.options, **place.memory_options})
    assert_same_memory(place, inrush, compressed)


@pytest.mark.clause("D-35")
def test_many_files_stay_within_the_figure_of_the_plan(
    place: Place, inrush: Inrush, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "options", {**place.options, **place.memory_options})
    # In most destinations each file is a unit.
    write_many_files(inrush.folder / "many", 400)
    target = flow("many", "many/*.csv", columns=["id integer", "note text"])
    path = inrush.write("many.toml", place.package(target))
    promised = promised_kib(inrush("check", path).expect(0).said)
    peak = inrush.peak_kib("run", path)
    assert peak <= promised + place.own_memory_kib + larger_code_kib(inrush), (peak, promised)

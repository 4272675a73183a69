"""TPC-H's tables by tpchgen-cli, which writes dbgen's own bytes; all eight are a workload."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import ground
from workload import Job, Table, Workload, columns
from workloads.made import once

PRICE = "numeric(15,2) not null"
COLUMNS = {
    "lineitem": ground.LINEITEM,
    "orders": (
        "o_orderkey bigint not null",
        "o_custkey bigint not null",
        "o_orderstatus char(1) not null",
        f"o_totalprice {PRICE}",
        "o_orderdate date not null",
        "o_orderpriority char(15) not null",
        "o_clerk char(15) not null",
        "o_shippriority integer not null",
        "o_comment varchar(79) not null",
    ),
    "partsupp": (
        "ps_partkey bigint not null",
        "ps_suppkey bigint not null",
        "ps_availqty integer not null",
        f"ps_supplycost {PRICE}",
        "ps_comment varchar(199) not null",
    ),
    "part": (
        "p_partkey bigint not null",
        "p_name varchar(55) not null",
        "p_mfgr char(25) not null",
        "p_brand char(10) not null",
        "p_type varchar(25) not null",
        "p_size integer not null",
        "p_container char(10) not null",
        f"p_retailprice {PRICE}",
        "p_comment varchar(23) not null",
    ),
    "customer": (
        "c_custkey bigint not null",
        "c_name varchar(25) not null",
        "c_address varchar(40) not null",
        "c_nationkey integer not null",
        "c_phone char(15) not null",
        f"c_acctbal {PRICE}",
        "c_mktsegment char(10) not null",
        "c_comment varchar(117) not null",
    ),
    "supplier": (
        "s_suppkey bigint not null",
        "s_name char(25) not null",
        "s_address varchar(40) not null",
        "s_nationkey integer not null",
        "s_phone char(15) not null",
        f"s_acctbal {PRICE}",
        "s_comment varchar(101) not null",
    ),
    "nation": (
        "n_nationkey integer not null",
        "n_name char(25) not null",
        "n_regionkey integer not null",
        "n_comment varchar(152)",
    ),
    "region": (
        "r_regionkey integer not null",
        "r_name char(25) not null",
        "r_comment varchar(152)",
    ),
}
# dbgen writes these in the order of their keys, so that each part is a range; the others have one
# file.
KEYS = {
    "lineitem": "l_orderkey",
    "orders": "o_orderkey",
    "partsupp": "ps_partkey",
    "part": "p_partkey",
    "customer": "c_custkey",
    "supplier": "s_suppkey",
}
TBL = '{ preset = "tbl" }'


def generate(
    names: Sequence[str], scale: float, parts: int, folder: Path, *, form: str = "tbl"
) -> list[Path]:
    """Return the files of tables at a scale, in parts."""

    def make(place: Path) -> None:
        command: list[str | Path] = [ground.GENERATOR, form, "-s", f"{scale:g}"]
        command += ["-T", ",".join(names), "--parts", str(parts), "-o", place]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        # The generator writes several parts into a folder for each table, but a single part
        # directly.
        for file in sorted(place.glob("*/*")):
            file.rename(place / file.name)
        for name in names:
            if (place / name).is_dir():
                (place / name).rmdir()

    return once(folder / f"{_label(names)}-{form}-scale-{scale:g}-{parts}-parts", make)


def tables(names: Sequence[str], scale: float, parts: int, folder: Path) -> tuple[Table, ...]:
    """Return tables with dbgen's files, and for the peers without the trailing delimiter.

    COPY's text form cannot read that delimiter, and no peer is faster with it.
    """
    files = generate(names, scale, parts, folder)

    def strip(place: Path) -> None:
        for file in files:
            with (place / file.with_suffix(".txt").name).open("wb") as output:
                subprocess.run(["sed", "s/|$//", file], check=True, stdout=output)

    stripped = once(folder / f"{_label(names)}-stripped-scale-{scale:g}-{parts}-parts", strip)

    def of(name: str, some: Sequence[Path]) -> tuple[Path, ...]:
        return tuple(file for file in some if file.name.startswith(f"{name}."))

    return tuple(
        Table(name, columns(COLUMNS[name]), of(name, files), of(name, stripped), KEYS.get(name))
        for name in names
    )


def lineitem(scale: float, parts: int, folder: Path) -> Table:
    """Return lineitem alone."""
    (table,) = tables(["lineitem"], scale, parts, folder)
    return table


def make(scale: float, parts: int, folder: Path) -> Job:
    """Make all eight tables."""
    # The generator takes more than a second to start, so the seven other tables are made in one
    # call; lineitem is shared with other workloads.
    others = [name for name in COLUMNS if name != "lineitem"]
    both = (lineitem(scale, parts, folder), *tables(others, scale, parts, folder))
    return Job("tpch", both, TBL)


def _label(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else "tpch-others"


WORKLOAD = Workload("tpch", "all eight tables of TPC-H, six of them partitioned", make)

"""Makes tables that are partitioned in various ways."""

from __future__ import annotations

from dataclasses import dataclass

from harness.servers import Database

COLUMNS = (
    "id int not null, k int, day date, at timestamp, region text, amount numeric(10,2), "
    "ok boolean, note text"
)


def month(name: str, number: int, key: str = "") -> str:
    """Return a statement for the partition of a month of 2024."""
    ends = [f"2024-{number:02}-01", f"2024-{number + 1:02}-01"]
    return (
        f"CREATE TABLE {name}_m{number} PARTITION OF {name} "
        f"FOR VALUES FROM ('{ends[0]}') TO ('{ends[1]}') {key}; "
    )


def hashes(name: str, modulus: int, key: str = "") -> str:
    """Return statements for all partitions by hash."""
    return "".join(
        f"CREATE TABLE {name}_h{remainder} PARTITION OF {name} "
        f"FOR VALUES WITH (MODULUS {modulus}, REMAINDER {remainder}) {key}; "
        for remainder in range(modulus)
    )


def lists(name: str, values: dict[str, str], key: str = "") -> str:
    """Return statements for partitions by list."""
    return "".join(
        f"CREATE TABLE {name}_{suffix} PARTITION OF {name} FOR VALUES IN ({value}) {key}; "
        for suffix, value in values.items()
    )


REGIONS = {"north": "'north'", "south": "'south', 'it''s, far'", "none": "NULL", "other": "'', 'ö'"}


@dataclass(frozen=True)
class Shape:
    """A way to partition: the key, and the statements of the partitions of `t`."""

    key: str
    partitions: str


# The shapes in which every row of the files has a partition.
SHAPES = {
    "range": Shape("RANGE (day)", "".join(month("t", number) for number in (1, 2, 3))),
    "list": Shape("LIST (region)", lists("t", REGIONS)),
    "list of numbers": Shape(
        "LIST (k)", lists("t", {"a": "0, 2, 4, 6, 8", "b": "1, 3, 5, 7, 9", "n": "NULL"})
    ),
    "list of booleans": Shape("LIST (ok)", lists("t", {"y": "true", "n": "false"})),
    "list, a default": Shape(
        "LIST (region)",
        lists("t", {"north": "'north'"}) + "CREATE TABLE t_rest PARTITION OF t DEFAULT;",
    ),
    "hash": Shape("HASH (id)", hashes("t", 4)),
    "hash of text": Shape("HASH (region, k)", hashes("t", 3)),
    "hash, mixed moduli": Shape(
        "HASH (id)",
        "CREATE TABLE t_a PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0); "
        "CREATE TABLE t_b PARTITION OF t FOR VALUES WITH (MODULUS 4, REMAINDER 1); "
        "CREATE TABLE t_c PARTITION OF t FOR VALUES WITH (MODULUS 8, REMAINDER 3); "
        "CREATE TABLE t_d PARTITION OF t FOR VALUES WITH (MODULUS 8, REMAINDER 7);",
    ),
    "two columns": Shape(
        "RANGE (day, amount)",
        "CREATE TABLE t_a PARTITION OF t FOR VALUES FROM ('2024-01-01', MINVALUE) "
        "TO ('2024-02-01', 500); "
        "CREATE TABLE t_b PARTITION OF t FOR VALUES FROM ('2024-02-01', 500) "
        "TO ('2024-04-01', MAXVALUE);",
    ),
    "an expression": Shape(
        "RANGE (date_trunc('month', at))",
        "CREATE TABLE t_a PARTITION OF t FOR VALUES FROM (MINVALUE) TO ('2024-02-01'); "
        "CREATE TABLE t_b PARTITION OF t FOR VALUES FROM ('2024-02-01') TO (MAXVALUE);",
    ),
    "a list of an expression": Shape(
        "LIST (upper(region))",
        lists("t", {"n": "'NORTH'", "s": "'SOUTH', 'IT''S, FAR'", "z": "NULL", "o": "'', 'Ö'"}),
    ),
    "range, then hash": Shape(
        "RANGE (day)",
        month("t", 1, "PARTITION BY HASH (id)")
        + hashes("t_m1", 2)
        + month("t", 2)
        + month("t", 3, "PARTITION BY HASH (id)")
        + hashes("t_m3", 3),
    ),
    "list, then range": Shape(
        "LIST (region)",
        lists("t", REGIONS, "PARTITION BY RANGE (day)")
        + "".join(
            month(f"t_{suffix}", number) for suffix in REGIONS for number in (1, 2, 3)
        ),
    ),
    "three levels": Shape(
        "LIST (ok)",
        lists("t", {"y": "true"}, "PARTITION BY RANGE (k)")
        + "CREATE TABLE t_y_low PARTITION OF t_y FOR VALUES FROM (0) TO (5) PARTITION BY HASH (id);"
        + hashes("t_y_low", 2)
        + "CREATE TABLE t_y_rest PARTITION OF t_y DEFAULT; "
        + lists("t", {"n": "false"}),
    ),
}  # fmt: skip


def make(database: Database, name: str, shape: Shape, columns: str = COLUMNS) -> None:
    """Make a partitioned table."""
    partitions = shape.partitions.replace("TABLE t_", f"TABLE {name}_")
    for word in ("OF", "TO"):
        partitions = partitions.replace(f" {word} t ", f" {word} {name} ")
        partitions = partitions.replace(f" {word} t_", f" {word} {name}_")
    database.execute(f"CREATE TABLE {name} ({columns}) PARTITION BY {shape.key}; {partitions}")

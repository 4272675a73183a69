"""Makes realistic reports from seeds, for runs that are too large for tests.

They have the form of `RunReport` (crates/engine/src/report/types.rs), and of `Measurements` and
`Verdict` (crates/verdict). Their sums add up: an account is the sum of its units, and the phases of
a stream fit into its steps.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

MIX = {
    "read": 6,
    "decompress": 4,
    "scan": 8,
    "convert": 22,
    "transform": 6,
    "encode": 9,
    "send_wait": 40,
    "server_wait": 8,
}
CODES = {
    "syntax": ("l_quantity", "12,5", "not a number; likely the decimal separator is a comma"),
    "out_of_range": (
        "l_tax",
        "99999.99",
        "the number has 5 digits before the point, but the column holds 4",
    ),
    "duplicate_key": (None, None, "the key (l_orderkey)=(7) stands in a row before it"),
    "null_not_allowed": ("l_shipdate", "", "an empty field means NULL, and the column allows none"),
}


@dataclass(frozen=True)
class Wish:
    """The properties of the run that the report describes."""

    streams: int = 4
    steps: int = 120
    step_ms: int = 100
    flows: int = 3
    units: int = 8
    rejects: int = 0
    # True if two of three rejects have the key of their row, like rejects from a source without
    # lines.
    has_keys: bool = False
    is_tcp: bool = False
    has_tail: bool = False
    has_feed: bool = False
    outcome: str = "loaded"
    exit_status: int | None = None
    error: str | None = None
    is_measured: bool = True
    is_predicted: bool = False
    # This number of flows, beginning with the first, have `atomic = false`.
    straight_flows: int = 0
    # For each unit: the number of rows that a condition removed, and of those that a step added.
    filtered: int = 0
    added: int = 0
    # True if each flow has steps, with a lookup among them.
    has_steps: bool = False
    seed: int = 1


def _account(loaded: int, rejected: int, size: int, wish: Wish) -> dict[str, int]:
    return {
        "rows_read": loaded + rejected + wish.filtered - wish.added,
        "rows_loaded": loaded,
        "rows_rejected": rejected,
        "rows_skipped": 0,
        "rows_filtered": wish.filtered,
        "rows_added": wish.added,
        "bytes_read": size,
    }


def _sum(accounts: list[dict[str, int]]) -> dict[str, int]:
    return {name: sum(account[name] for account in accounts) for name in _account(0, 0, 0, Wish())}


def _steps(chance: random.Random, step_us: int, ended_us: int, steps: int) -> dict[str, list[int]]:
    """Return the phases of a stream in each step until the stream ended."""
    phases: dict[str, list[int]] = {phase: [0] * steps for phase in MIX}
    for index in range(steps):
        there = min(max(ended_us - index * step_us, 0), step_us)
        weights = {phase: part * chance.uniform(0.6, 1.5) for phase, part in MIX.items()}
        whole = sum(weights.values()) / 0.97
        for phase, weight in weights.items():
            phases[phase][index] = int(there * weight / whole)
    return phases


def _tcp(chance: random.Random, step_us: int, ended_us: int, steps: int) -> dict[str, Any]:
    busy = [
        int(min(max(ended_us - index * step_us, 0), step_us) * chance.uniform(0.7, 0.9))
        for index in range(steps)
    ]
    return {
        "busy_us": busy,
        "receiver_limited_us": [int(us * chance.uniform(0.3, 0.6)) for us in busy],
        "send_buffer_limited_us": [int(us * chance.uniform(0, 0.2)) for us in busy],
        "segments_sent_again": [chance.choice([0, 0, 0, 1]) if us else 0 for us in busy],
        "segments_sent": [us // 300 for us in busy],
        "round_trip_us": [int(chance.uniform(400, 900)) for _ in busy],
        "round_trip_min_us": 380,
        "congestion_window_bytes": [int(chance.uniform(100_000, 400_000)) for _ in busy],
        "delivery_rate": [int(chance.uniform(2e7, 6e7)) for _ in busy],
        "is_loopback": False,
    }


def _stream(wish: Wish, chance: random.Random, number: int) -> dict[str, Any]:
    step_us = wish.step_ms * 1000
    load_us = step_us * wish.steps - step_us // 3
    late = not wish.has_tail or number == wish.streams
    ended_us = int(load_us * (chance.uniform(0.985, 1) if late else chance.uniform(0.52, 0.6)))
    if number == wish.streams:
        ended_us = load_us
    phases = _steps(chance, step_us, ended_us, wish.steps)
    if wish.has_tail and number == wish.streams:
        # Figure 14 of 2009: the source is slow, and the load never waits for the server.
        phases["read"] = [
            read + wait for read, wait in zip(phases["read"], phases["send_wait"], strict=True)
        ]
        phases["send_wait"] = [0] * wish.steps
    text = [int(us * chance.uniform(180, 260)) for us in phases["convert"]]
    samples = [
        {"phase": "send_wait", "state": "cpu", "samples": chance.randrange(20, 90)},
        {"phase": "send_wait", "state": "wal", "samples": chance.randrange(5, 40)},
        {"phase": "convert", "state": "client", "samples": chance.randrange(20, 60)},
        {"phase": None, "state": "idle", "samples": chance.randrange(1, 9)},
    ]
    stream: dict[str, Any] = {
        "stream": number,
        "ended_s": ended_us / 1e6,
        "phases_us": {phase: us for phase, us in phases.items() if any(us)},
        "rows": [size // 120 for size in text],
        "text_bytes": text,
        "sent_bytes": [size * 9 // 10 for size in text],
        "cpu_us": [
            sum(parts)
            for parts in zip(*(phases[name] for name in ("scan", "convert", "encode")), strict=True)
        ],
        "cpu_wait_us": [us // 20 for us in phases["convert"]],
        "backend": {
            "process_id": 4000 + number,
            "samples": samples,
            "events": [["CPU", 51], ["IO:WALWrite", 22], ["Client:ClientRead", 40]],
            "cpu_us": [int(us * 0.8) for us in phases["send_wait"]],
        },
    }
    if wish.is_tcp:
        stream["tcp"] = _tcp(chance, step_us, ended_us, wish.steps)
    return stream


def _measurements(wish: Wish, chance: random.Random, names: list[str]) -> dict[str, Any]:
    step_us = wish.step_ms * 1000
    streams = [_stream(wish, chance, number + 1) for number in range(wish.streams)]
    steps = range(wish.steps)
    rows = [sum(stream["rows"][index] for stream in streams) for index in steps]
    size = [sum(stream["text_bytes"][index] for stream in streams) for index in steps]
    loader = [sum(stream["cpu_us"][index] for stream in streams) for index in steps]
    backends = [sum(stream["backend"]["cpu_us"][index] for stream in streams) for index in steps]
    tables = []
    for number, name in enumerate(names):
        # The tables follow one another, each overlapping its neighbours a little.
        centre = (number + 0.5) / len(names)
        width = 0.8 / len(names)
        parts = [max(0.02, 1 - abs((index + 0.5) / wish.steps - centre) / width) for index in steps]
        tables.append((name, parts))
    whole = [sum(parts[index] for _, parts in tables) for index in steps]
    feeds = [
        {
            "file": "orders.csv.gz",
            "read_us": [step_us // 20] * wish.steps,
            "decompress_us": [step_us // 2] * wish.steps,
            "scan_us": [step_us // 10] * wish.steps,
        }
    ]
    return {
        "step_ms": wish.step_ms,
        "steps": wish.steps,
        "load_s": max(stream["ended_s"] for stream in streams),
        "metering_cpu_s": 0.08,
        "streams": streams,
        **({"feeds": feeds} if wish.has_feed else {}),
        "tables": [
            {
                "flow": name,
                "rows": [int(rows[index] * parts[index] / whole[index]) for index in steps],
                "stored_bytes": [int(size[index] * parts[index] / whole[index]) for index in steps],
            }
            for name, parts in tables
        ],
        "server": {
            "is_local": True,
            "sample_ms": 100,
            "wal_bytes": 123_456_789,
            "checkpoints_timed": 0,
            "checkpoints_requested": 2,
        },
        "machine": {
            "cores": wish.streams * 2,
            "cpu_us": [int((one + two) * 1.1) for one, two in zip(loader, backends, strict=True)],
            "cpu_stolen_us": [int(step_us * chance.uniform(0, 0.1)) for _ in steps],
            "loader_cpu_us": loader,
            "backends_cpu_us": backends,
            "disk_read_bytes": [int(chance.uniform(0.8, 1.1) * part) for part in size],
            "disk_written_bytes": [int(chance.uniform(0.6, 1.3) * part) for part in size],
            "disk_busy_ms": [int(wish.step_ms * chance.uniform(0.2, 0.7)) for _ in steps],
            "loader_memory_bytes": [
                min(20_000_000 + index * 900_000, 96_000_000) for index in steps
            ],
        },
    }


def _flow_steps(account: dict[str, Any]) -> list[dict[str, Any]]:
    """Make steps for a flow that filter, reject and look up some of its rows."""
    rows_in = account["rows_read"]
    made = []
    for word, what, filtered, rejected, warned, unmatched in (
        ("derive", "revenue, month", 0, 3, 0, 0),
        ("where", "l_quantity > 0", rows_in // 10, 1, 0, 0),
        ("lookup", "warehouse.dim_customer", 0, 0, 0, 17),
        ("check", "received after shipped", 0, 12, 5, 0),
    ):
        rows_out = rows_in - filtered - rejected
        keys = [{"key": "c_custno = 7", "rows": 11}, {"key": "c_custno = 9", "rows": 6}]
        made.append(
            {
                "step": word,
                "what": what,
                "rows_in": rows_in,
                "rows_out": rows_out,
                "filtered": filtered,
                "rejected": rejected,
                "warned": warned,
                "unmatched": unmatched,
            }
            | ({"unmatched_keys": keys} if unmatched else {})
        )
        rows_in = rows_out
    return made


def _verdict(wish: Wish, measurements: dict[str, Any]) -> dict[str, Any]:
    load_s = measurements["load_s"]
    per_stream = []
    totals: dict[str, float] = {}
    for stream in measurements["streams"]:
        seconds = {name: sum(us) / 1e6 for name, us in stream["phases_us"].items()}
        causes = {
            "source_read": seconds.get("read", 0),
            "decompression": seconds.get("decompress", 0),
            "client_cpu": sum(
                seconds.get(name, 0) for name in ("scan", "convert", "verify", "encode")
            ),
            "transform_cpu": seconds.get("transform", 0),
            "destination_cpu": seconds.get("send_wait", 0) * 0.7,
            "destination_disk": seconds.get("send_wait", 0) * 0.3 + seconds.get("server_wait", 0),
            "coordination": load_s - stream["ended_s"],
        }
        causes["undecided"] = max(load_s - sum(causes.values()), 0)
        per_stream.append({"stream": stream["stream"], "seconds": list(causes.items())})
        for cause, part in causes.items():
            totals[cause] = totals.get(cause, 0) + part
    whole = sum(totals.values())
    ordered = sorted(totals.items(), key=lambda item: -item[1])
    line = "The backends' CPU limited this run: give the server more cores; up to 3.1 s less"
    if wish.has_tail:
        line = f"A long tail limited this run: stream {wish.streams} read its files slowly"
    return {
        "line": line,
        "is_decided": True,
        "causes": [
            {
                "cause": cause,
                "share": part / whole,
                "seconds": part,
                "evidence": [
                    f"{part:.1f} s of stream time",
                    "the backends were on a CPU in 64 of 81 samples",
                ],
            }
            for cause, part in ordered
        ],
        "streams": per_stream,
        "advice": {
            "change": "cut the slow files into more parts, or read them from another disk",
            "gain_s": load_s * 0.3,
        },
    }


def _rejects(wish: Wish) -> list[dict[str, Any]]:
    rejects = []
    for number in range(min(wish.rejects, 100)):
        code = list(CODES)[(number * number) % len(CODES)]
        column, value, reason = CODES[code]
        rejects.append(
            {
                "file": f"lineitem.tbl.{number % 4 + 1}",
                "line": 17 + 311 * number,
                "byte_offset": 1900 + 40_000 * number,
                "key": f"id = {17 + number}" if wish.has_keys and number % 3 else None,
                "column": column,
                "value": value,
                "code": code,
                "reason": reason,
            }
        )
    return rejects


def report(wish: Wish) -> dict[str, Any]:
    """Return the report of a run with these properties."""
    chance = random.Random(wish.seed)  # noqa: S311
    names = ["lineitem", "orders", "partsupp", "part", "customer", "supplier", "nation", "region"]
    names += [f"table_{number}" for number in range(9, wish.flows + 1)]
    names = names[: wish.flows]
    units: list[dict[str, Any]] = []
    for number in range(wish.units):
        rows = chance.randrange(40_000, 90_000)
        rejected = wish.rejects // wish.units + (1 if number < wish.rejects % wish.units else 0)
        busy = rows * chance.randrange(20_000, 40_000)
        units.append(
            {
                "flow": names[number % len(names)],
                "unit": number // len(names) + 1,
                "files": [f"{names[number % len(names)]}.tbl.{number // len(names) + 1}"],
                "staging_table": f'"inrush_staging"."unit_{number:016x}"',
                "shared": False,
                "straight": number % len(names) < wish.straight_flows,
                "kept": False,
                "finished": wish.outcome == "loaded" or number % 3 == 0,
                "careful": rejected > 0,
                "account": _account(rows - rejected, rejected, rows * 124, wish),
                "rows_counted": rows - rejected,
                "meter": {
                    "read_ns": busy // 20,
                    "decompress_ns": 0,
                    "scan_ns": busy // 12,
                    "convert_ns": busy // 4,
                    "transform_ns": busy // 40,
                    "verify_ns": 0,
                    "encode_ns": busy // 10,
                    "send_wait_ns": busy // 3,
                    "verify_wait_ns": 0,
                    "server_wait_ns": busy // 9,
                    "busy_ns": busy,
                    "stored_bytes": rows * 124,
                    "text_bytes": rows * 124,
                    "sent_bytes": rows * 110,
                    "rows": rows - rejected,
                },
            }
        )
    tables: list[dict[str, Any]] = []
    for name in names:
        own = [unit["account"] for unit in units if unit["flow"] == name]
        account = _sum(own)
        tables.append(
            {
                "flow": name,
                "target": f'"public"."{name}"',
                "account": account,
                "stored_bytes": account["bytes_read"],
                "partitions": [
                    {
                        "name": f"{name}_p{number}",
                        "lower": str(number * 1000),
                        "upper": str((number + 1) * 1000),
                    }
                    for number in range(len(own))
                ],
            }
            | ({"steps": _flow_steps(account)} if wish.has_steps else {})
        )
    load_s = wish.steps * wish.step_ms / 1000
    status = {
        "loaded": 3 if wish.rejects else 0,
        "failed": 1,
        "interrupted": 130,
        "already_loaded": 0,
    }[wish.outcome]
    made: dict[str, Any] = {
        "report_version": 1,
        "inrush_version": "0.1.0",
        "run": "20261122T071014Z-etlwr-e41aba",
        "package": "etlwr",
        "package_hash": "9b5d3d72dca2a2e37131a17d7de90bb3dbda917189df305a9a898eeb180b38a7",
        "plan_hash": "5fe2e57d880ec866f1c75910b1437d853e4854470774b1a87c982cef9f6ee66a",
        "outcome": wish.outcome,
        "exit_status": status if wish.exit_status is None else wish.exit_status,
        "error": wish.error,
        "resumed": False,
        "started_at": "2026-11-22T07:10:14.957737707Z",
        "finished_at": "2026-11-22T07:10:35.276960409Z",
        "phases": {
            "plan_s": 0.31,
            "load_s": load_s,
            "switch_s": 0.42,
            "analyze_s": 1.7,
            "total_s": load_s + 2.51,
        },
        "account": _sum([table["account"] for table in tables]),
        "tables": tables,
        "units": units,
        "streams": [
            {
                "stream": number + 1,
                "pieces": wish.units // wish.streams,
                "meter": units[0]["meter"],
                "ended_s": load_s,
            }
            for number in range(wish.streams)
        ],
        "rejects": _rejects(wish),
        "notes": ["the columns are those of the files: all of them were looked at"],
        "destination": "postgresql://etl@dw/tpch",
        "server": {
            "version": "18.4",
            "settings": [
                ["fsync", "on"],
                ["max_wal_size", "1GB"],
                ["shared_buffers", "128MB"],
                ["wal_level", "minimal"],
            ],
        },
        "machine": {
            "cores": wish.streams * 2,
            "processor": "Intel(R) Xeon(R) Processor",
            "memory_bytes": 25_276_502_016,
            "kernel": "6.18.44",
            "loader_memory_peak_bytes": 96_000_000,
            "loader_cpu_s": [14.1, 1.9],
        },
        "embedded": None,
    }
    if wish.is_predicted:
        made["prediction"] = {
            "made_at": "2026-11-22T07:05:00Z",
            "streams": wish.streams,
            "stored_bytes": made["account"]["bytes_read"],
            "predicted_s": made["phases"]["total_s"] * 0.8,
            "plan_s": 0.31,
            "load_s": load_s * 0.8,
            "switch_s": 0.4,
            "analyze_s": 1.2,
            "limiting": "destination_cpu",
            "because": "streams wait for backends that compute",
        }
    if wish.is_measured:
        made["measurements"] = _measurements(wish, chance, names)
        made["verdict"] = _verdict(wish, made["measurements"])
    return made

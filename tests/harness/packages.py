"""Writes packages: the TOML that `inrush run` takes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

Value: TypeAlias = "str | float | bool | Path | Sequence[Value] | Mapping[str, Value]"


def literal(value: Value) -> str:
    """Return a value in TOML; its texts are written like those of JSON."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {literal(one)}" for key, one in value.items()) + " }"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(literal(one) for one in value) + "]"
    if isinstance(value, Path):
        return json.dumps(str(value), ensure_ascii=False)
    # TOML has no surrogate pairs, and does not accept an unescaped DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def settings(values: dict[str, Value]) -> str:
    """Return lines of settings."""
    return "".join(f"{name} = {literal(value)}\n" for name, value in values.items())


def flow(table: str | None, files: str | Path | list[str] | None, **more: Value) -> str:
    """Return a flow. With outputs it has no table; with rows from a database it has no files."""
    said = {name.removesuffix("_"): value for name, value in more.items()}
    target: dict[str, Value] = {} if table is None else {"table": table}
    if files is not None:
        target["files"] = files
    return "\n[[flow]]\n" + settings({**target, **said})


def step(**settings_of_step: Value) -> str:
    """Return a step of the flow before it; `else_` is `else`, which is a word of Python."""
    said = {name.removesuffix("_"): value for name, value in settings_of_step.items()}
    return "\n[[flow.step]]\n" + settings(said)


def output(table: str, **settings_of_output: Value) -> str:
    """Return an output of the flow before it."""
    return "\n[[flow.output]]\n" + settings({"table": table, **settings_of_output})


def package(
    connection: str | Mapping[str, Value],
    *flows: str,
    name: str = "test",
    **run: Value,
) -> str:
    """Return a package with one connection, or its URL; `run` has the settings of the run."""
    said: dict[str, Value]
    said = {"url": connection} if isinstance(connection, str) else dict(connection)
    return (
        settings({"name": name})
        + "\n[connections.target]\n"
        + settings(said)
        + "\n[run]\n"
        + settings({"streams": 2, **run})
        + "".join(flows)
    )

"""Decodes values from PostgreSQL's binary form, which settings of a session do not change."""

from __future__ import annotations

import struct
from fractions import Fraction
from typing import Any

from values.meanings import Column
from values.texts import parsed_json

NUMERIC_WORDS = {0xC000: "nan", 0xD000: "inf", 0xF000: "-inf"}


def decode(data: bytes | None, column: Column) -> Any:
    """Return a value, in the form that the readers give."""
    if data is None:
        return None
    match column.kind:
        case "int2" | "int4" | "int8" | "money":
            return int.from_bytes(data, "big", signed=True)
        case "float4" | "float8":
            code = ">f" if column.kind == "float4" else ">d"
            (value,) = struct.unpack(code, data)
            return (column.kind, "nan" if value != value else data.hex())
        case "numeric":
            return numeric(data)
        case "date":
            return _infinite(int.from_bytes(data, "big", signed=True), 31)
        case "timestamp" | "timestamptz":
            return _infinite(int.from_bytes(data, "big", signed=True), 63)
        case "time":
            return int.from_bytes(data, "big", signed=True)
        case "timetz":
            return struct.unpack(">qi", data)
        case "interval":
            time, days, months = struct.unpack(">qii", data)
            ends = {
                (2**63 - 1, 2**31 - 1, 2**31 - 1): "infinity",
                (-(2**63), -(2**31), -(2**31)): "-infinity",
            }
            return ends.get((time, days, months), (months, days, time))
        case "text" | "varchar" | "name" | "enum" | "json":
            return data.decode()
        case "char":
            return data.decode().rstrip(" ")
        case "bool":
            return data == b"\x01"
        case "uuid" | "bytea" | '"char"':
            return data
        case "jsonb":
            return parsed_json(data[1:].decode())
        case "bit" | "varbit":
            (length,) = struct.unpack_from(">i", data)
            return "".join(f"{byte:08b}" for byte in data[4:])[:length]
        case "array":
            assert column.element is not None
            return _array(data, column.element)
        case "domain":
            assert column.element is not None
            return decode(data, column.element)
    raise AssertionError(f"no decoder of {column.kind}")


def _infinite(number: int, bits: int) -> int | str:
    ends = {2**bits - 1: "infinity", -(2**bits): "-infinity"}
    return ends.get(number, number)


def numeric(data: bytes) -> tuple[Fraction, int] | str:
    """Return the value of a numeric, and the number of digits after its point."""
    count, weight, sign, scale = struct.unpack_from(">hhHH", data)
    if sign in NUMERIC_WORDS:
        return NUMERIC_WORDS[sign]
    whole = 0
    for digit in struct.unpack_from(f">{count}h", data, 8):
        whole = whole * 10_000 + digit
    value = whole * Fraction(10_000) ** (weight - count + 1)
    return (-value if sign else value), scale


def _array(data: bytes, element: Column) -> tuple[Any, ...]:
    dimension_count, _, _ = struct.unpack_from(">iiI", data)
    at = 12
    lengths, lower = [], []
    for _ in range(dimension_count):
        length, first = struct.unpack_from(">ii", data, at)
        lengths.append(length)
        lower.append(first)
        at += 8
    elements: list[Any] = []
    while at < len(data):
        (size,) = struct.unpack_from(">i", data, at)
        at += 4
        if size < 0:
            elements.append(None)
            continue
        elements.append(decode(data[at : at + size], element))
        at += size
    return tuple(lengths), tuple(lower), tuple(elements)

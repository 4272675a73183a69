"""Checks a value against a JSON schema, for the keywords that Inrush's schemas use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def faults(value: Any, schema: Any, root: Any, place: str) -> Iterator[str]:
    """Return the parts of a value that a schema does not allow, for the keywords of our schemas."""
    if schema is True:
        return
    if "$ref" in schema:
        yield from faults(value, root["$defs"][schema["$ref"].split("/")[-1]], root, place)
        return
    known = {"$schema", "title", "description", "type", "properties", "required", "items"}
    known |= {"anyOf", "format", "minimum", "maximum", "prefixItems", "minItems", "maxItems"}
    known |= {"additionalProperties", "default", "$defs", "oneOf", "const"}
    assert set(schema) <= known, f"{place}: this check knows nothing of {set(schema) - known}"
    if "anyOf" in schema:
        tried = [list(faults(value, one, root, place)) for one in schema["anyOf"]]
        if all(tried):
            yield from tried[0]
        return
    if "oneOf" in schema:
        tried = [list(faults(value, one, root, place)) for one in schema["oneOf"]]
        if tried.count([]) != 1:
            yield f"{place} is {value!r}, which is not one of those that it may be"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{place} is {value!r}, and not {schema['const']!r}"
        return
    wanted = schema.get("type", list(TYPES))
    wanted = [wanted] if isinstance(wanted, str) else wanted
    fits = [name for name in wanted if isinstance(value, TYPES[name])]
    if not fits or (isinstance(value, bool) and "boolean" not in wanted):
        yield f"{place} is {value!r}, and no {wanted}"
        return
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        yield from (
            f"{place}.{name} is missing" for name in schema.get("required", ()) if name not in value
        )
        for name, own in value.items():
            one = properties.get(name, schema.get("additionalProperties", False))
            if one is False:
                yield f"{place}.{name} is not in the schema"
            else:
                yield from faults(own, one, root, f"{place}.{name}")
    if isinstance(value, list):
        for index, own in enumerate(value):
            items = schema.get("prefixItems", [])
            one = items[index] if index < len(items) else schema.get("items", True)
            yield from faults(own, one, root, f"{place}[{index}]")

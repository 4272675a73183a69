"""Checks events against the published JSON schemas of OpenLineage and of Inrush's own facets."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

PUBLISHED = Path(__file__).resolve().parent / "open_lineage_schemas"
OWN = Path(__file__).resolve().parents[2] / "docs" / "openlineage-facets.schema.json"


@cache
def _registry() -> Registry[Any]:
    """Return all schemas by their URLs. Nothing is fetched: an unknown URL is an error."""
    resources = []
    for path in PUBLISHED.rglob("*.json"):
        schema = json.loads(path.read_text())
        resources.append((schema["$id"], Resource.from_contents(schema)))
    return Registry().with_resources(resources)


def _validator(url: str) -> Draft202012Validator:
    address, _, pointer = url.partition("#")
    if address.endswith("/docs/" + OWN.name):
        own = Resource.from_contents(json.loads(OWN.read_text()))
        registry = _registry().with_resource(address, own)
    else:
        registry = _registry()
    return Draft202012Validator(
        {"$ref": f"{address}#{pointer}"},
        registry=registry,
        format_checker=Draft202012Validator.FORMAT_CHECKER,
    )


def _facets(event: dict[str, Any]) -> list[dict[str, Any]]:
    """Return all facets of an event."""
    holders = [event["run"].get("facets", {}), event["job"].get("facets", {})]
    for dataset in event["inputs"] + event["outputs"]:
        holders += [dataset.get(name, {}) for name in ("facets", "inputFacets", "outputFacets")]
    return [facet for holder in holders for facet in holder.values()]


def faults(event: dict[str, Any]) -> list[str]:
    """Return what the schemas do not allow in an event and in its facets."""
    found = []
    for value in [event | {"_schemaURL": event["schemaURL"]}, *_facets(event)]:
        for error in _validator(value["_schemaURL"]).iter_errors(value):
            found.append(f"{value['_schemaURL']}: {error.json_path}: {error.message}")
    return found

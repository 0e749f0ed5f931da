"""Writes the generated files of deploy/chart: the schema of its values, and a list of keys.

All else in the chart is written by hand or linked to the manifests.
"""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from scripts.configuration_page import IN_MANIFESTS, is_size
from shared.api.objects import JsonObject
from shared.config.configuration import Configuration
from shared.config.keys import _IGNORED, _SHORT_FORMS, KeyPath
from shared.config.keys import _names as accepted_keys
from shared.config.values import Section

CHART: Final = Path(__file__).resolve().parents[1] / "deploy" / "chart"


class _Values(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ImageValues(_Values):
    """The place of the images."""

    registry: str = "localhost"
    tag: str = ""
    pullSecrets: list[str] = []  # noqa: N815 - the key in values.yaml


class ReplicaValues(_Values):
    """How many pods each program has."""

    webhook: int = Field(default=2, ge=0)
    controller: int = Field(default=2, ge=0)


class MonitoringValues(_Values):
    """The objects of the Prometheus operator and of Grafana."""

    enabled: bool = False
    labels: dict[str, str] = {}
    docs: str = "docs/"


class ChartValues(_Values):
    """The values of the chart. values.yaml describes each."""

    overlay: Literal["default", "mlbatch"] = "default"
    configuration: Configuration = Configuration()
    registration: str = ""
    images: ImageValues = ImageValues()
    replicas: ReplicaValues = ReplicaValues()
    certificates: Literal["self-managed", "cert-manager", "files"] = "self-managed"
    monitoring: MonitoringValues = MonitoringValues()
    teams: bool = False
    crd: bool = True


def chart_files() -> dict[Path, str]:
    """Return the content of each generated file."""
    return {
        CHART / "values.schema.json": json.dumps(values_schema(), indent=2) + "\n",
        CHART / "registration-keys.txt": "".join(f"{key}\n" for key in registration_keys()),
    }


def values_schema() -> JsonObject:
    """Return the JSON schema of values.yaml: it accepts the keys that the programs accept."""
    schema = ChartValues.model_json_schema(by_alias=True)
    definitions = schema["$defs"]
    for section in _sections(Configuration):
        definition = definitions[section.__name__]
        written, by_canonical = definition["properties"], {}
        for key, (canonical, info) in accepted_keys(section).items():
            if info.annotation is timedelta or is_size(info):
                by_canonical[canonical] = {"type": ["string", "integer"]}
            elif key in written:
                by_canonical[canonical] = written[key]
        definition["properties"] = {
            key: by_canonical[canonical] for key, (canonical, _) in accepted_keys(section).items()
        }
    for path in _IGNORED:
        definitions[_section_at(path[:-1]).__name__]["properties"][path[-1]] = {}
    for path, target in _SHORT_FORMS.items():
        there = definitions[_section_at(target[:-1]).__name__]["properties"][target[-1]]
        definitions[_section_at(path[:-1]).__name__]["properties"][path[-1]] = there
    schema["properties"]["global"] = {}  # Helm adds it for charts inside charts
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_plain(schema)}


def registration_keys() -> list[str]:
    """Return the keys, under all their names, that also change the registration."""
    found = []
    for dotted in IN_MANIFESTS:
        *parents, last = dotted.split(".")
        names = accepted_keys(_section_at(tuple(parents)))
        found += [".".join((*parents, key)) for key, (name, _) in names.items() if name == last]
    return found


def _sections(annotation: Any) -> Iterator[type[Section]]:
    """Yield a section and all those below it."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
        for info in annotation.model_fields.values():
            yield from _sections(info.annotation)
    for argument in get_args(annotation):
        yield from _sections(argument)


def _section_at(path: KeyPath) -> type[Section]:
    section: type[Section] = Configuration
    for key in path:
        section = accepted_keys(section)[str(key)][1].annotation  # type: ignore[assignment]
    return section


def _plain(schema: Any) -> Any:
    """Remove what only repeats names and defaults. A property may have these names, too."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _plain(each) for name, each in value.items()}
        if key in ("properties", "$defs")
        else _plain(value)
        for key, value in schema.items()
        if key not in ("title", "default")
    }

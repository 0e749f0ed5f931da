"""The configuration reference has every key, with a meaning and what a change needs."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from scripts.configuration_page import configuration_tables
from shared.api.objects import JsonValue
from shared.config.configuration import Configuration, LabelSelectorRequirement
from shared.config.loading import load_config
from shared.config.values import Section
from tests.support.manifests import ROOT
from webhook.policies import policies_yaml
from webhook.registration import registration_yaml

AnySection = TypeVar("AnySection", bound=Section)
PAGE = configuration_tables()


def rows() -> dict[str, list[str]]:
    """Dotted key -> the cells of its row."""
    found = {}
    section = ""
    for line in PAGE.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ").removesuffix(", an element")
        elif match := re.match(r"\| `(\w+)`[,| ]", line):
            found[f"{section}.{match[1]}"] = [each.strip() for each in line.split("|")[1:-1]]
    return found


def leaves(schema: dict[str, JsonValue], path: str = "") -> set[str]:
    """Every key of the models' JSON schema, also of elements of lists and maps."""
    found = set()
    definitions = Configuration.model_json_schema(by_alias=True, mode="serialization")["$defs"]
    for key, about in schema["properties"].items():
        here = f"{path}.{key}" if path else key
        inner = {
            each for each in definitions if f'"#/$defs/{each}"' in str(about).replace("'", '"')
        }
        for each in inner:
            found |= leaves(definitions[each], here)
        if "$ref" not in about:
            found.add(here)
    return found


def test_it_has_every_key() -> None:
    schema = Configuration.model_json_schema(by_alias=True, mode="serialization")
    assert leaves(schema) == set(rows())


def test_every_key_has_a_meaning() -> None:
    assert [key for key, cells in rows().items() if not cells[3].endswith((".", ".**"))] == []


@pytest.mark.parametrize(
    ("key", "cells"),
    [
        (
            "appwrapper.faultTolerance.resetPause",
            [
                "`resetPause`, also `retryPausePeriod`",
                "duration",
                "`1m30s`",
                "The pause of a reset between the deletion of all components and their next"
                " creation.",
            ],
        ),
        (
            "appwrapper.pauseResets",
            [
                "`pauseResets`",
                "true, false",
                "`false`",
                "Pauses resets and evacuations of all AppWrappers. Suspensions and deletions"
                " continue. **No restart.**",
            ],
        ),
        (
            "appwrapper.maxObjectSize",
            [
                "`maxObjectSize`",
                "size",
                "`1Mi`",
                "The largest AppWrapper that the webhook accepts. At most `3Mi`.",
            ],
        ),
    ],
)
def test_a_row_shows_the_fields_of_the_models(key: str, cells: list[str]) -> None:
    assert rows()[key] == cells


def others(value: Any) -> list[Any]:
    """Other values of the same type."""
    requirement = LabelSelectorRequirement(key="another", operator="Exists")
    makers: dict[type, Callable[[Any], list[Any]]] = {
        bool: lambda it: [not it],
        str: lambda it: [f"{it}x", ""],
        int: lambda it: [it + 1],
        float: lambda it: [it + 1],
        timedelta: lambda it: [it + timedelta(seconds=1)],
        # All but its last element, or the only possible element of an empty list.
        tuple: lambda it: [it[:-1], it[:1]] if it else [(requirement,)],
        dict: lambda it: [{**it, "another": "true"}],
    }
    return makers[type(value)](value)


def changes(section: AnySection, path: str = "") -> Iterator[tuple[str, AnySection]]:
    """Each key below a section, and the section in which its value alone is another one."""
    for attribute, info in type(section).model_fields.items():
        key = f"{path}.{info.serialization_alias or attribute}".lstrip(".")
        value = getattr(section, attribute)
        changed = (
            changes(value, key)
            if isinstance(value, Section)
            else ((key, other) for other in others(value))
        )
        for leaf, new in changed:
            yield leaf, section.model_copy(update={attribute: new})


def manifests(config: Configuration) -> str:
    return registration_yaml(config) + policies_yaml(config)


def test_a_key_is_marked_if_another_value_changes_manifests() -> None:
    """Some keys have an effect only with others, so each overlay is tried."""
    overlays = (ROOT / "deploy" / "manifests" / "overlays").glob("*/config.yaml")
    configs = [load_config(file).config for file in overlays]
    assert len(configs) == 2
    found = set()
    for config in configs:
        unchanged = manifests(config)
        found |= {key for key, changed in changes(config) if manifests(changed) != unchanged}
    marked = {key for key, cells in rows().items() if cells[-1].endswith(" **Manifests.**")}
    assert marked == found

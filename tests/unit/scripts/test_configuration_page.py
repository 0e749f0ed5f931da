"""The configuration reference has every key, with a meaning and what a change needs."""

import re

import pytest

from scripts.configuration_page import configuration_tables
from shared.api.objects import JsonValue
from shared.config.configuration import Configuration

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


def test_it_shows_which_keys_are_in_manifests() -> None:
    """Found by changing each value in each overlay, so new keys need nothing here but a row."""
    found = [key for key, cells in rows().items() if cells[-1].endswith(" **Manifests.**")]
    assert found == [
        "appwrapper.defaultQueueNameOnDirectKinds",
        "appwrapper.faultTolerance.deletionGracePeriod",
        "appwrapper.allowedKinds.direct",
        "appwrapper.teamNamespaceSelector.matchLabels",
        "appwrapper.teamNamespaceSelector.matchExpressions",
        "appwrapper.exemptions.quotaManagers",
        "appwrapper.exemptions.serviceAccountNamespaces",
        "certManagement.namespace",
        "certManagement.mutatingWebhookConfigName",
        "certManagement.validatingWebhookConfigName",
        "certManagement.webhookServiceName",
    ]

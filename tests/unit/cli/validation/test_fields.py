"""Misspelt fields and values of a wrong type around what an AppWrapper wraps."""

from typing import Any

import pytest

from cli.validation.fields import DEFINITIONS, corrected
from shared.api.objects import JsonObject
from tests.support.manifests import CRD_FILE, document, served_schema

QUOTES = "Invalid value: must be a string, but is a number; put it in quotes"
MEANT = "Invalid value: unknown field; did you mean"
LIMIT = "workload.codeflare.dev.appwrapper/retryLimit"


def appwrapper(spec: Any, **metadata: Any) -> JsonObject:
    return {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": {"name": "train", **metadata},
        "spec": spec,
    }


def job(**metadata: Any) -> JsonObject:
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"odd": 1}}


def test_the_fields_are_those_of_the_definition() -> None:
    schema = served_schema(document(CRD_FILE), "v1beta2")["properties"]
    spec = schema["spec"]["properties"]
    component = spec["components"]["items"]["properties"]
    assert set(DEFINITIONS["AppWrapper"]) == set(schema)
    assert set(DEFINITIONS["AppWrapperSpec"]) == set(spec)
    assert set(DEFINITIONS["Component"]) == set(component)
    assert set(DEFINITIONS["PodSet"]) == set(component["podSets"]["items"]["properties"])


@pytest.mark.parametrize(
    ("given", "errors", "meant"),
    [
        (
            appwrapper({"componets": [{"template": job(name="a")}]}),
            ['spec.componets: Invalid value: unknown field; did you mean "components"?'],
            appwrapper({"components": [{"template": job(name="a")}]}),
        ),
        (
            appwrapper({"components": []}, annotations={LIMIT: 5}),
            [f"metadata.annotations[{LIMIT}]: {QUOTES}"],
            appwrapper({"components": []}, annotations={LIMIT: "5"}),
        ),
        (
            appwrapper({"components": []}, labels={"a": True}, lables={"b": "c"}),
            [
                'metadata.lables: Invalid value: unknown field; did you mean "labels"?',
                f"metadata.labels[a]: {QUOTES.replace('a number', 'a boolean')}",
            ],
            appwrapper({"components": []}, labels={"a": "true"}),
        ),
        (
            appwrapper({"components": [], "retries": 5}),
            ["spec.retries: Invalid value: unknown field: AppWrapperSpec has none of that name"],
            appwrapper({"components": []}),
        ),
        (
            appwrapper({"componets": [{"tempalte": job(annotations={"a": 1.5})}]}),
            [
                f'spec.componets: {MEANT} "components"?',
                f'spec.componets[0].tempalte: {MEANT} "template"?',
                f"spec.componets[0].tempalte.metadata.annotations[a]: {QUOTES}",
            ],
            appwrapper({"components": [{"template": job(annotations={"a": "1.5"})}]}),
        ),
        (
            appwrapper({"components": [{"podSets": [{"path": "a", "replicas": "2"}]}]}),
            [
                "spec.components[0].podSets[0].replicas: Invalid value: must be a whole number, but"
                " is a string; write it without quotes"
            ],
            appwrapper({"components": [{"podSets": [{"path": "a", "replicas": "2"}]}]}),
        ),
        (job(labels={"a": 5}), [f"metadata.labels[a]: {QUOTES}"], job(labels={"a": "5"})),
        (job(lables={}), ['metadata.lables: Invalid value: unknown field; did you mean "labels"?'],
         job(labels={})),
    ],
)  # fmt: skip
def test_each_mistake_is_reported_and_corrected(
    given: JsonObject, errors: list[str], meant: JsonObject
) -> None:
    found = corrected(given)
    assert sorted(found.errors) == sorted(errors)
    assert found.value == meant


@pytest.mark.parametrize(
    "sound",
    [
        appwrapper({"components": [{"template": job(labels=None, lables=1)}], "suspend": None}),
        appwrapper({"components": None}, creationTimestamp=None),
        appwrapper(None),
        {"apiVersion": "v1", "kind": "Pod", "metadata": "text"},
        {},
    ],
)
def test_the_rest_is_left_to_the_api_server_and_the_webhook(sound: JsonObject) -> None:
    found = corrected(sound)
    assert (found.errors, found.value) == ([], sound)


def test_places_are_those_of_the_users_own_fields() -> None:
    found = corrected(appwrapper({"componets": [{"tempalte": job()}]}))
    assert found.as_written("spec.components[0].template.spec.odd") == (
        "spec.componets[0].tempalte.spec.odd"
    )
    assert found.as_written("spec.componentsOfSomebody") == "spec.componentsOfSomebody"
    assert found.as_written("metadata.name") == "metadata.name"

"""The new AppWrapper is what the user submitted: nothing of the old one's life is in it."""

import json
from typing import Any

import pytest

from cli.resubmitting.copied import (
    SettingError,
    names_in_use,
    next_name,
    original_name,
    parsed_settings,
    resubmitted,
)
from shared.annotations import TABLE
from shared.api.appwrapper import AppWrapper
from shared.api.objects import JsonObject
from tests.support.builders.explained.objects import appwrapper, condition
from tests.support.manifests import SAMPLES, objects_under
from tests.support.whole_chain import OVERLAYS, admitted, is_for, judged
from webhook.verdicts import Allowed

NAME = "workload.codeflare.dev/appwrapper"
FROM = "workload.codeflare.dev/resubmitted-from"
WRAPPED = [
    each
    for each in objects_under(SAMPLES)
    if each["kind"] == "AppWrapper" and not each["metadata"]["name"].startswith("rejected-")
]


def lived(stored: JsonObject) -> JsonObject:
    """What Kueue, the controller and the API server write into an AppWrapper until its end."""
    old: JsonObject = json.loads(json.dumps(stored))
    old["metadata"] |= {
        "namespace": "team1",
        "uid": "u",
        "resourceVersion": "7",
        "generation": 3,
        "creationTimestamp": "2026-03-02T14:03:10Z",
        "managedFields": [{}],
        "finalizers": ["workload.codeflare.dev/finalizer"],
    }
    old["spec"].pop("suspend", None)
    for component in old["spec"]["components"]:
        component["podSetInfos"] = [{"nodeSelector": {"a": "b"}}]
    old["status"] = {"phase": "Failed", "conditions": []}
    return old


@pytest.mark.parametrize("overlay", OVERLAYS)
@pytest.mark.parametrize("sample", WRAPPED, ids=lambda each: each["metadata"]["name"])
def test_the_webhook_stores_the_same_request_again(sample: JsonObject, overlay: str) -> None:
    if not is_for(sample, overlay):
        return
    sample = json.loads(json.dumps(sample))
    sample["metadata"].setdefault("labels", {})["kueue.x-k8s.io/queue-name"] = "default-queue"
    sample["metadata"]["namespace"] = "team1"
    first = admitted(sample, overlay)
    sent = resubmitted(AppWrapper(lived(first)), "again", {})
    second, verdict = judged(sent, overlay)
    assert isinstance(verdict, Allowed)
    assert verdict.warnings == ()
    assert second["spec"]["suspend"] is True
    old_name = sample["metadata"]["name"]
    text = json.dumps(first["spec"]["components"])
    renamed = json.loads(text.replace(f'"{NAME}": "{old_name}"', f'"{NAME}": "again"'))
    assert without_digests(second["spec"]["components"]) == without_digests(renamed)


def without_digests(components: list[JsonObject]) -> list[JsonObject]:
    for each in components:
        each["annotations"].pop("workload.codeflare.dev.appwrapper/submitted-digest")
    return components


def copy(old: JsonObject, **settings: str) -> JsonObject:
    return resubmitted(AppWrapper(old), "train-2", settings)


def test_the_metadata_is_the_users_own() -> None:
    old = appwrapper("Failed", attempt=3)
    old["metadata"]["labels"] |= {
        "project": "vision",
        "workload.codeflare.dev/user": "alice",
        "workload.codeflare.dev/userid": "1",
    }
    old["metadata"]["annotations"] |= {
        "note": "mine",
        "workload.codeflare.dev/submitted-by": "alice",
        "workload.codeflare.dev.appwrapper/submitted-suspended": "true",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    }
    before = json.dumps(old)
    made = copy(old)
    assert json.dumps(old) == before
    assert [*made] == ["apiVersion", "kind", "metadata", "spec"]
    assert made["metadata"] == {
        "name": "train-2",
        "namespace": "team1",
        "labels": {"kueue.x-k8s.io/queue-name": "default-queue", "project": "vision"},
        "annotations": {"note": "mine", FROM: "train"},
    }


def test_without_a_queue_nothing_would_start_a_suspended_one() -> None:
    old = appwrapper("Succeeded", metadata={"labels": {}}, spec={"suspend": True})
    made = copy(old)
    assert "suspend" not in made["spec"]
    assert "labels" not in made["metadata"]


def test_settings_are_annotations_and_an_empty_one_removes() -> None:
    old = appwrapper("Failed", annotations={"retryLimit": "1", "errorAggregation": "off"})
    settings = parsed_settings(["retryLimit=5", "errorAggregation="])
    assert resubmitted(AppWrapper(old), "train-2", settings)["metadata"]["annotations"] == {
        "workload.codeflare.dev.appwrapper/retryLimit": "5",
        FROM: "train",
    }


def test_every_annotation_of_the_table_can_be_set() -> None:
    assert parsed_settings(f"{each.name}=1" for each in TABLE) == {each.key: "1" for each in TABLE}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("retrylimit=5", "--set retrylimit: unknown key; did you mean retryLimit?"),
        ("retryLimt=5", "--set retryLimt: unknown key; did you mean retryLimit?"),
        ("retryLimit", "--set retryLimit: write KEY=VALUE, as in --set retryLimit=5"),
        ("x=1", f"--set x: unknown key; use {', '.join(each.name for each in TABLE)}"),
    ],
)
def test_an_unknown_setting_names_the_nearest(given: str, message: str) -> None:
    with pytest.raises(SettingError) as refused:
        parsed_settings([given])
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("existing", "name"),
    [
        (["train"], "train-2"),
        (["train", "train-2", "train-10"], "train-11"),
        (["train", "train-x", "retrain-7", "train-2-3", "train-07"], "train-2"),
        ([], "train-2"),
    ],
)
def test_the_name_has_the_next_number(existing: list[str], name: str) -> None:
    assert next_name("train", existing) == name


def test_a_long_name_is_cut_so_that_kueue_accepts_it() -> None:
    long = "a" * 55 + "-" + "b" * 5
    first = next_name(long, [long])
    assert (first, len(first)) == (f"{'a' * 55}-2", 57)
    assert next_name(long, [long, first]) == f"{'a' * 55}-3"
    ninth = f"{'a' * 55}-9"
    assert next_name(long, [ninth]) == f"{'a' * 55}-10"


def test_a_series_keeps_the_first_name() -> None:
    """`resnet-50` is no resubmission of `resnet`, `resnet-50-2` is one of `resnet-50`."""
    old = appwrapper("Failed", metadata={"name": "resnet-50"})
    assert next_name(original_name(AppWrapper(old)), ["resnet-50"]) == "resnet-50-2"
    again = appwrapper(
        "Failed", metadata={"name": "resnet-50-2", "annotations": {FROM: "resnet-50"}}
    )
    assert next_name(original_name(AppWrapper(again)), ["resnet-50-2"]) == "resnet-50-3"
    assert copy(again)["metadata"]["annotations"] == {FROM: "resnet-50"}


@pytest.mark.parametrize(("status", "named"), [("True", ["Job train"]), ("False", [])])
def test_components_that_still_exist_block_those_of_the_same_name(
    status: str, named: list[str]
) -> None:
    old = appwrapper("Failed", condition("ResourcesDeployed", status, "ComponentsCreated"))
    assert list(names_in_use(AppWrapper(old))) == named


@pytest.mark.parametrize("component", [{}, {"template": None}, {"template": {"kind": "Unknown"}}])
def test_a_component_without_known_pods_is_copied(component: Any) -> None:
    old = appwrapper("Failed", spec={"components": [component]})
    assert copy(old)["spec"]["components"] == [component]

"""A spoilt record is replaced by one that finds what was deployed; a sound one is left alone."""

from typing import Any

import pytest

from controller.facts.component_status import with_sound_record
from shared.api.appwrapper import AppWrapper
from shared.injection.component import generated_name

JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train"},
    "spec": {"parallelism": 2, "template": {"spec": {"containers": []}}},
}
DATA = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "data-"}}
GENERATED = generated_name("data-", "u1", 3, 1)
JOB_ENTRY = {"name": "train", "kind": "Job", "apiVersion": "batch/v1", "podSets": []}
DATA_ENTRY = {"name": "data-x", "kind": "ConfigMap", "apiVersion": "v1", "podSets": []}


def appwrapper(*entries: Any, phase: str = "Running", attempt: int = 3) -> AppWrapper:
    status = {"phase": phase, "attempt": attempt, "componentStatus": list(entries)}
    spec = {"components": [{"template": JOB}, {"template": DATA}]}
    return AppWrapper({"metadata": {"uid": "u1"}, "spec": spec, "status": status})


def test_a_sound_record_stays_as_it_is() -> None:
    sound = appwrapper(JOB_ENTRY, DATA_ENTRY)
    assert with_sound_record(sound) is sound


@pytest.mark.parametrize(
    "entries",
    [
        (),
        (JOB_ENTRY,),
        (JOB_ENTRY, DATA_ENTRY, DATA_ENTRY),
        (DATA_ENTRY, JOB_ENTRY),
        (JOB_ENTRY, DATA_ENTRY | {"name": ""}),
        (JOB_ENTRY | {"name": "other"}, DATA_ENTRY),
        (JOB_ENTRY, DATA_ENTRY | {"kind": "Secret"}),
        (JOB_ENTRY | {"apiVersion": "batch/v9"}, DATA_ENTRY),
    ],
    ids=["none", "too few", "too many", "swapped", "no name", "another name", "another Kind",
         "another version"],
)  # fmt: skip
def test_a_spoilt_record_is_replaced(entries: Any) -> None:
    found = with_sound_record(appwrapper(*entries)).component_statuses
    assert [(each["name"], each["kind"], each["apiVersion"]) for each in found] == [
        ("train", "Job", "batch/v1"),
        (GENERATED, "ConfigMap", "v1"),
    ]
    assert [[pod_set["replicas"] for pod_set in each["podSets"]] for each in found] == [[2], []]
    assert [each["conditions"][0]["status"] for each in found] == ["True", "True"]


def test_during_creation_the_record_is_not_replaced() -> None:
    found = with_sound_record(appwrapper(phase="Resuming")).component_statuses
    assert [each["conditions"][0]["status"] for each in found] == ["Unknown", "Unknown"]


@pytest.mark.parametrize("attempt", [0, -1])
def test_a_record_of_another_operator_is_not_replaced(attempt: int) -> None:
    """Another operator records names after it has created components."""
    begun = appwrapper(phase="Resuming", attempt=attempt)
    assert with_sound_record(begun) is begun


@pytest.mark.parametrize("entries", [(), (JOB_ENTRY,)], ids=["none", "too few"])
def test_before_the_first_deployment_pod_set_infos_can_be_compared(
    entries: Any,
) -> None:
    waiting = appwrapper(*entries, phase="Suspended", attempt=0)
    found = with_sound_record(waiting).component_statuses
    assert [[pod_set["replicas"] for pod_set in each["podSets"]] for each in found] == [[2], []]
    assert [each["name"] for each in found] == ["", ""]
    fits = appwrapper(JOB_ENTRY, DATA_ENTRY, phase="Suspended", attempt=0)
    assert with_sound_record(fits) is fits


def test_without_a_phase_the_pod_sets_of_the_spec_count_whatever_is_recorded() -> None:
    new = appwrapper(JOB_ENTRY, DATA_ENTRY, phase="", attempt=0)
    found = with_sound_record(new).component_statuses
    assert [[pod_set["replicas"] for pod_set in each["podSets"]] for each in found] == [[2], []]

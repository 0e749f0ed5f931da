import copy
from typing import Any

import pytest

from tests.support.builders.admission import POD, SERVICE, appwrapper, component, errors_of

USER = "workload.codeflare.dev/user"
USERID = "workload.codeflare.dev/userid"
INSTEAD = ": delete the AppWrapper and create it again, or run `kubectl replace --force -f FILE`"
JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "spec": {"parallelism": 1, "suspend": True, "template": {"spec": {"containers": []}}},
}
INFO = {"labels": {"kueue.x-k8s.io/podset": "job-0"}, "nodeSelector": {"gpu": "a"}}


def job(**changes: Any) -> dict[str, Any]:
    return {**JOB, "spec": {**JOB["spec"], **changes}}


STORED = appwrapper(
    component(JOB, podSets=[{"path": "template.spec.template", "replicas": 1}]),
    labels={USER: "alice", USERID: "42"},
)


def changed(**fields: Any) -> dict[str, Any]:
    new = copy.deepcopy(STORED)
    new["spec"]["components"][0].update(fields)
    return new


def test_the_same_object_is_accepted() -> None:
    assert errors_of(copy.deepcopy(STORED), old=STORED) == []


def test_kueue_may_start_and_stop_it_in_one_patch() -> None:
    suspended = copy.deepcopy(STORED)
    suspended["spec"]["suspend"] = True
    started = copy.deepcopy(STORED)  # the field is gone, not false
    started["spec"]["components"][0]["podSetInfos"] = [INFO]
    assert errors_of(started, old=suspended) == []
    assert errors_of(suspended, old=started) == []


def test_kueue_may_write_pod_sets_its_own_way() -> None:
    new = changed(
        annotations={}, podSets=[{"path": "template.spec.template", "annotations": {"a": "b"}}]
    )
    assert errors_of(new, old=STORED) == []


@pytest.mark.parametrize("podsets", [None, []])
def test_no_pod_sets_and_none_declared_are_the_same(podsets: object) -> None:
    old = appwrapper(component(POD))
    assert errors_of(appwrapper(component(POD, podSets=podsets)), old=old) == []


def test_annotations_of_a_component_may_change() -> None:
    assert errors_of(changed(annotations={"note": "x"}), old=STORED) == []


@pytest.mark.parametrize(
    ("template", "place"),
    [
        (job(parallelism=2), ".spec.parallelism"),
        pytest.param(job(parallelism=True), ".spec.parallelism", id="true is not 1"),
        pytest.param(job(suspend=1), ".spec.suspend", id="1 is not true"),
        (job(new=0), ".spec.new"),
        ({**JOB, "spec": {"parallelism": 1, "suspend": True}}, ".spec.template"),
    ],
)
def test_a_template_cannot_change(template: dict[str, Any], place: str) -> None:
    assert errors_of(changed(template=template), old=STORED) == [
        "spec.components[0].template: Forbidden: cannot change "
        f"(it differs at template{place}){INSTEAD}"
    ]


@pytest.mark.parametrize("template", [None, "x", []])
def test_a_template_cannot_go(template: object) -> None:
    assert errors_of(changed(template=template), old=STORED) == [
        f"spec.components[0].template: Forbidden: cannot change{INSTEAD}"
    ]


@pytest.mark.parametrize("change", [{"parallelism": 1.0}, {"new": None}])
def test_the_same_may_be_written_another_way(change: dict[str, Any]) -> None:
    """Kueue's merge patches drop keys with null and write numbers anew."""
    new, other = changed(template=job(**change)), copy.deepcopy(STORED)
    assert errors_of(new, old=other) == []
    assert errors_of(other, old=new) == []


@pytest.mark.parametrize("count", [0, 2])
def test_components_cannot_be_added_or_removed(count: int) -> None:
    new = copy.deepcopy(STORED)
    new["spec"]["components"] = [STORED["spec"]["components"][0]] * count
    assert errors_of(new, old=STORED) == [
        f"spec.components: Forbidden: cannot change (components before: 1, now: {count}){INSTEAD}"
    ]


def test_components_cannot_change_places() -> None:
    old = appwrapper(component(POD), component(SERVICE))
    new = appwrapper(component(SERVICE), component(POD))
    assert [error.split(":")[0] for error in errors_of(new, old=old)] == [
        "spec.components[0].template",
        "spec.components[1].template",
    ]


@pytest.mark.parametrize(
    ("pod_sets", "path"),
    [
        ([{"path": "template.spec.template", "replicas": 2}], "podSets[0].replicas"),
        ([{"path": "template.spec.template", "replicas": True}], "podSets[0].replicas"),
        ([{"path": "template", "replicas": 1}], "podSets[0].path"),
        ([], "podSets"),
        (None, "podSets"),
        ([{"path": "template.spec.template"}, {"path": "template"}], "podSets"),
        ("x", "podSets"),
    ],
)
def test_pod_sets_cannot_change(pod_sets: object, path: str) -> None:
    assert errors_of(changed(podSets=pod_sets), old=STORED) == [
        f"spec.components[0].{path}: Forbidden: cannot change{INSTEAD}"
    ]


@pytest.mark.parametrize("key", [USER, USERID])
@pytest.mark.parametrize("value", ["mallory", "", None])
def test_user_labels_cannot_change(key: str, value: str | None) -> None:
    new = copy.deepcopy(STORED)
    if value is None:
        del new["metadata"]["labels"][key]
    else:
        new["metadata"]["labels"][key] = value
    assert errors_of(new, old=STORED) == [
        f"metadata.labels[{key}]: Forbidden: cannot change{INSTEAD}"
    ]


@pytest.mark.parametrize("value", ["mallory", "", None])
def test_the_exact_name_cannot_change(value: str | None) -> None:
    """What another webhook makes of it, after ours has put it back."""
    key = "workload.codeflare.dev/submitted-by"
    old, new = copy.deepcopy(STORED), copy.deepcopy(STORED)
    old["metadata"]["annotations"] = {key: "alice"}
    new["metadata"]["annotations"] = {} if value is None else {key: value}
    assert errors_of(new, old=old) == [
        f"metadata.annotations[{key}]: Forbidden: cannot change{INSTEAD}"
    ]


def test_user_labels_cannot_be_added_later() -> None:
    old, new = appwrapper(), appwrapper(labels={USER: "mallory"})
    assert errors_of(new, old=old) == [
        f"metadata.labels[{USER}]: Forbidden: cannot change{INSTEAD}"
    ]


@pytest.mark.parametrize(("before", "after"), [("a", "b"), (None, "a"), ("a", None), ("a", "")])
def test_managed_by_cannot_change(before: str | None, after: str | None) -> None:
    old, new = appwrapper(managedBy=before), appwrapper(managedBy=after)
    assert errors_of(new, old=old) == [f"spec.managedBy: Forbidden: cannot change{INSTEAD}"]


def test_the_next_step_is_named_once() -> None:
    old = appwrapper(component(POD), component(SERVICE))
    new = appwrapper(component(SERVICE), component(POD), managedBy="other")
    first, *others = errors_of(new, old=old)
    assert first.endswith(INSTEAD)
    assert len(others) == 2
    assert not [each for each in others if INSTEAD in each]


def test_other_metadata_may_change() -> None:
    new = copy.deepcopy(STORED)
    new["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "other"
    new["metadata"]["annotations"] = {"workload.codeflare.dev.appwrapper/retryLimit": "5"}
    new["metadata"]["finalizers"] = ["workload.codeflare.dev/finalizer"]
    assert errors_of(new, old=STORED) == []


def test_a_stored_field_that_create_would_refuse_may_stay() -> None:
    """A configuration change must not freeze what runs."""
    old = appwrapper(component({"apiVersion": "v1", "kind": "Node"}))
    assert errors_of(copy.deepcopy(old), old=old) == []


def test_every_change_is_an_error_of_its_own() -> None:
    new = changed(template=POD, podSets=[{"path": "template", "replicas": 5}])
    new["metadata"]["labels"] = {}
    new["spec"]["managedBy"] = "me"
    assert [error.split(": ")[0] for error in errors_of(new, old=STORED)] == [
        "spec.components[0].template",
        "spec.components[0].podSets[0].path",
        "spec.components[0].podSets[0].replicas",
        f"metadata.labels[{USER}]",
        f"metadata.labels[{USERID}]",
        "spec.managedBy",
    ]


@pytest.mark.parametrize("components", [None, "x", {"a": 1}])
def test_components_cannot_become_something_else(components: object) -> None:
    new = copy.deepcopy(STORED)
    new["spec"]["components"] = components
    [error] = errors_of(new, old=STORED)
    assert error.startswith("spec.components: Forbidden: cannot change")

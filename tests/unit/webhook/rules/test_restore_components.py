import copy
from collections.abc import Callable
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.component_digest import component_digest
from tests.support.builders.admission import (
    POD,
    SERVICE,
    appwrapper,
    component,
    errors_of,
    facts,
    patch_of,
    request,
)
from webhook import chain
from webhook.admission_review import User
from webhook.rules.json_patch import is_identical
from webhook.verdicts import Allowed

DIGEST = "workload.codeflare.dev.appwrapper/submitted-digest"
INFOS = [{"nodeSelector": {"gpu": "a"}}]
PATHS = [{"path": "template", "replicas": 1}]
KUEUE = User("system:serviceaccount:kueue-system:kueue-controller-manager", "1")
# A Pod that somebody submitted, and what it became: labelled, scheduled, with its pod set.
INJECTED = {
    **POD,
    "metadata": {"name": "p", "labels": {"workload.codeflare.dev/appwrapper": "job"}},
    "spec": {**POD["spec"], "schedulerName": "s"},
}


def digest(of: dict[str, Any]) -> dict[str, str]:
    found = component_digest(of)
    assert found is not None
    return {DIGEST: found}


def stored(submitted: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """`submitted` as admission and Kueue made it, beside a component without pods."""
    annotations = {**submitted.get("annotations", {}), **digest(submitted)}
    made = {**submitted, "template": INJECTED, "podSets": PATHS, "podSetInfos": INFOS}
    return appwrapper(component(SERVICE), {**made, "annotations": annotations, **fields})


FILE = appwrapper(component(SERVICE), component(POD))
RUNNING = stored(component(POD))
# As under the Go operator: nothing injected, no digest.
FOREIGN = appwrapper(component(SERVICE), component(POD, podSets=PATHS, podSetInfos=INFOS))


def sent_as(sent: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """`sent` with `fields` in its second component."""
    new = copy.deepcopy(sent)
    new["spec"]["components"][1].update(fields)
    return new


def result(new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """What is stored after an UPDATE; it must not be refused."""
    after: dict[str, Any] = jsonpatch.apply_patch(new, patch_of(new, old=old))
    assert errors_of(after, old=old) == []
    return after


def test_the_submitted_file_is_restored_to_the_stored_components() -> None:
    assert patch_of(copy.deepcopy(FILE), old=RUNNING) == [
        {"op": "add", "path": "/spec/components/1/template", "value": INJECTED},
        {"op": "add", "path": "/spec/components/1/podSets", "value": PATHS},
        {
            "op": "add",
            "path": "/spec/components/1/annotations",
            "value": digest(component(POD)),
        },
        {"op": "add", "path": "/spec/components/1/podSetInfos", "value": INFOS},
    ]
    assert result(FILE, RUNNING) == RUNNING


def test_the_stored_object_itself_costs_nothing() -> None:
    assert patch_of(copy.deepcopy(RUNNING), old=RUNNING) == []
    assert patch_of(copy.deepcopy(FOREIGN), old=FOREIGN) == []


@pytest.mark.parametrize("infos", [{}, {"podSetInfos": None}, {"podSetInfos": []}])
def test_without_a_digest_the_comparison_alone_counts(infos: dict[str, Any]) -> None:
    file = sent_as(FILE, podSets=PATHS, **infos)
    assert patch_of(file, old=FOREIGN) == [
        {"op": "add", "path": "/spec/components/1/podSetInfos", "value": INFOS}
    ]


def test_nothing_is_added_that_is_not_stored() -> None:
    assert patch_of(FILE, old=FILE) == []
    assert patch_of(sent_as(FILE, annotations={"a": "b"}), old=FILE) == []


@pytest.mark.parametrize(
    "spelling",
    [
        pytest.param({"a": 1.0, "b": True}, id="a number written another way"),
        pytest.param({"a": 1, "b": True, "c": None}, id="a key with null"),
        pytest.param({"b": True, "a": 1}, id="keys in another order"),
    ],
)
def test_another_spelling_of_the_template_is_restored(spelling: dict[str, Any]) -> None:
    old = appwrapper(component({**SERVICE, "spec": {"a": 1, "b": True}}))
    assert is_identical(result(appwrapper(component({**SERVICE, "spec": spelling})), old), old)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ([{"path": "template"}], PATHS),
        ([{"path": "template", "replicas": None}], PATHS),
        ([{"path": "template", "replicas": 1.0}], PATHS),
        (
            [{"path": "template", "annotations": {"a": "b"}}],
            [{"path": "template", "replicas": 1, "annotations": {"a": "b"}}],
        ),
    ],
)
def test_annotations_of_pod_sets_stay_as_sent(sent: list[Any], kept: list[Any]) -> None:
    new = sent_as(RUNNING, podSets=sent)
    after = result(new, RUNNING)["spec"]["components"][1]["podSets"]
    assert (after, type(after[0]["replicas"])) == (kept, int)


@pytest.mark.parametrize(
    ("stored", "sent"),
    [
        (1, 1),
        ("x", "x"),
        ({"path": "p"}, {"path": "p"}),
        ([1, None, "x"], [1, None, "x"]),
        ([["path", 1]], [{"path": "path"}]),
    ],
)
def test_malformed_pod_sets_of_the_stored_object_are_restored(stored: Any, sent: Any) -> None:
    """Found by fuzzing: the schema keeps them out, but nothing here relies on that."""
    old, new = appwrapper(component(podSets=stored)), appwrapper(component(podSets=sent))
    assert jsonpatch.apply_patch(new, patch_of(new, old=old)) == old


def test_replicas_that_are_not_stored_are_taken_away() -> None:
    old = sent_as(RUNNING, podSets=[{"path": "template"}])
    assert result(sent_as(old, podSets=PATHS), old) == old


@pytest.mark.parametrize("empty", [[], None])
def test_empty_pod_sets_that_are_not_stored_are_taken_away(empty: object) -> None:
    assert patch_of(sent_as(FILE, podSets=empty), old=FILE) == [
        {"op": "remove", "path": "/spec/components/1/podSets"}
    ]


def test_the_users_annotations_stay_as_sent() -> None:
    old = sent_as(RUNNING, annotations={"old": "x", **digest(component(POD))})
    new = sent_as(FILE, annotations={"new": "y"})
    assert result(new, old)["spec"]["components"][1]["annotations"] == {
        "new": "y",
        **digest(component(POD)),
    }


def test_another_digest_is_overwritten() -> None:
    new = sent_as(RUNNING, annotations={DIGEST: "0" * 64})
    assert result(new, RUNNING) == RUNNING


def test_a_digest_that_is_no_text_means_none() -> None:
    old = sent_as(RUNNING, annotations={DIGEST: 7})
    assert patch_of(FILE, old=old) == []


def test_declared_pod_sets_of_the_file_are_those_of_its_digest() -> None:
    """Kueue infers another spelling; what the file says is known by its digest."""
    submitted = component(POD, podSets=[{"path": "template"}])
    old = stored(submitted)
    assert result(appwrapper(component(SERVICE), submitted), old) == old


def test_a_suspension_clears_pod_set_infos_and_nothing_else() -> None:
    suspending = {**FILE, "spec": {**FILE["spec"], "suspend": True}}
    after = result(suspending, RUNNING)
    expected = copy.deepcopy(RUNNING)
    expected["spec"]["suspend"] = True
    del expected["spec"]["components"][1]["podSetInfos"]
    assert after == expected


def test_kueue_clears_pod_set_infos_as_it_likes() -> None:
    cleared = sent_as(RUNNING, podSetInfos=None)
    judged = request(cleared, old=RUNNING, user=KUEUE)
    assert chain.mutate(judged, facts()) == Allowed()


def changed_image(new: dict[str, Any]) -> None:
    new["spec"]["components"][1]["template"]["spec"]["containers"][0]["image"] = "other"


def changed_path(new: dict[str, Any]) -> None:
    new["spec"]["components"][1]["podSets"] = [{"path": "template.other"}]


def changed_replicas(new: dict[str, Any]) -> None:
    new["spec"]["components"][1]["podSets"] = [{"path": "template", "replicas": 2}]


@pytest.mark.parametrize("change", [changed_image, changed_path, changed_replicas])
@pytest.mark.parametrize("sent", [FILE, RUNNING])
def test_a_changed_component_is_left_for_validation_to_refuse(
    sent: dict[str, Any], change: Callable[[dict[str, Any]], None]
) -> None:
    new = sent_as(sent, podSetInfos=None)
    change(new)
    assert patch_of(new, old=RUNNING) == []
    assert errors_of(new, old=RUNNING) != []


def test_the_error_names_what_was_changed_not_what_admission_had_added() -> None:
    new = copy.deepcopy(FILE)
    changed_image(new)
    assert errors_of(new, old=RUNNING)[0] == (
        "spec.components[1].template: Forbidden: cannot change "
        "(it differs at template.spec.containers[0].image): delete the AppWrapper and create it "
        "again, or run `kubectl replace --force -f FILE`"
    )


@pytest.mark.parametrize("components", [None, "x", [], [component(POD)], [component(SERVICE), "x"]])
def test_components_that_validation_will_refuse_are_left_alone(components: object) -> None:
    new: dict[str, Any] = {**FILE, "spec": {"components": components}}
    assert patch_of(new, old=RUNNING) == []
    assert errors_of(new, old=RUNNING) != []


def test_components_in_another_order_are_not_restored() -> None:
    new = appwrapper(component(POD), component(SERVICE))
    assert patch_of(new, old=RUNNING) == []


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(-2, 2, width=16) | st.text("ab"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=1), inner),
    max_leaves=6,
)


@given(_VALUES, _VALUES)
def test_components_are_either_restored_as_stored_or_refused(one: Any, other: Any) -> None:
    old = appwrapper(component({**SERVICE, "spec": one}))
    old["spec"]["components"][0]["annotations"] = digest(component({**SERVICE, "spec": one}))
    new = appwrapper(component({**SERVICE, "spec": other}))
    after = jsonpatch.apply_patch(new, patch_of(new, old=old))
    if errors_of(after, old=old) == []:
        assert is_identical(after, old)
    else:
        assert component_digest(component({**SERVICE, "spec": other})) != component_digest(
            component({**SERVICE, "spec": one})
        )

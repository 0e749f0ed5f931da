from typing import Any

import pytest

from tests.support.builders.admission import (
    POD,
    SERVICE,
    annotated,
    appwrapper,
    component,
    warnings_of,
)
from tests.support.builders.annotations import PREFIX, prefixed

NEAREST = "unknown, so it does nothing; the nearest known one is"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "delectionOnFailureGracePeriodDuration",
            f"{NEAREST} deletionOnFailureGracePeriodDuration",
        ),
        ("retrylimit", f"{NEAREST} retryLimit"),
        ("keepp", f"{NEAREST} keep"),
        ("colour", "unknown, so it does nothing"),
        ("", "unknown, so it does nothing"),
        ("helper", "it does nothing here; it belongs in spec.components[].annotations"),
        (
            "tas-sub-group-count",
            "it does nothing here; it belongs in spec.components[].podSets[].annotations",
        ),
    ],
)
def test_unknown_annotations_of_an_appwrapper_are_warned_of(name: str, says: str) -> None:
    made, expected = annotated(**{name: "x"}), [f"metadata.annotations[{PREFIX}{name}]: {says}"]
    assert warnings_of(made) == expected
    assert warnings_of(made, old=appwrapper()) == expected
    assert warnings_of(made, old=annotated(**{name: "y"})) == expected
    assert warnings_of(made, old=made) == []


def test_known_and_foreign_annotations_cause_no_warning() -> None:
    made = annotated(retryLimit="5", warmupGracePeriodDuration="1h")
    made["metadata"]["annotations"]["example.com/retrylimit"] = "x"
    assert warnings_of(made) == []


def test_unknown_annotations_of_components_and_pod_sets_are_warned_of() -> None:
    digest = {"submitted-digest": "x", "helpr": "true", "retryLimit": "5"}
    counted = {"tas-sub-group-count": "1", "tas-subgroup-count": "1", "keep": "true"}
    pod_sets = [{"path": "template", "annotations": prefixed(**counted)}]
    made = appwrapper(component(POD, annotations=prefixed(**digest), podSets=pod_sets))
    here = "spec.components[0]"
    assert warnings_of(made) == [
        f"{here}.annotations[{PREFIX}helpr]: {NEAREST} helper",
        f"{here}.annotations[{PREFIX}retryLimit]: it does nothing here; "
        "it belongs in metadata.annotations",
        f"{here}.podSets[0].annotations[{PREFIX}tas-subgroup-count]: {NEAREST} tas-sub-group-count",
        f"{here}.podSets[0].annotations[{PREFIX}keep]: it does nothing here; "
        "it belongs in spec.components[].annotations",
    ]


MEANT = f"it does nothing; write {PREFIX}"


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("workload.codeflare.dev/retryLimit", f"{MEANT}retryLimit in metadata.annotations"),
        ("workload.codeflare.dev/retryLimits", f"{MEANT}retryLimit in metadata.annotations"),
        (
            "workload.codeflare.dev/warmupGracePeriod",
            f"{MEANT}warmupGracePeriodDuration in metadata.annotations",
        ),
        (
            "appwrapper.workload.codeflare.dev/retrylimit",
            f"{MEANT}retryLimit in metadata.annotations",
        ),
        ("example.com.appwrapper/helper", f"{MEANT}helper in spec.components[].annotations"),
        ("terminalExitCodes", f"{MEANT}terminalExitCodes in metadata.annotations"),
    ],
)
def test_a_prefix_that_is_nearly_right(key: str, says: str) -> None:
    made = appwrapper()
    made["metadata"]["annotations"] = {key: "x"}
    expected = [f"metadata.annotations[{key}]: {says}"]
    assert warnings_of(made) == expected
    assert warnings_of(made, old=appwrapper()) == expected
    wrapped = component(annotations={key: "x"})
    assert warnings_of(appwrapper(wrapped)) == [f"spec.components[0].annotations[{key}]: {says}"]


OF_OTHERS = (
    "keep",
    "helper",
    "example.com/keep",
    "example.com/retryLimit",
    "workload.codeflare.dev/user",
)


@pytest.mark.parametrize("key", OF_OTHERS)
def test_foreign_keys_of_components_cause_no_warning(key: str) -> None:
    made = appwrapper(component({**POD, "metadata": {"name": "p", "annotations": {key: "x"}}}))
    made["metadata"]["annotations"] = {key: "x"}
    assert warnings_of(made) == []


def test_on_a_wrapped_object_and_on_its_pods() -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "annotations": prefixed(retryLimit="5", helper="true")},
        "spec": {
            "template": {
                "metadata": {
                    "annotations": {"workload.codeflare.dev/retryLimit": "5", PREFIX + "keepp": "x"}
                },
                "spec": POD["spec"],
            }
        },
    }
    of_job = "spec.components[0].template.metadata.annotations"
    of_pods = "spec.components[0].template.spec.template.metadata.annotations"
    elsewhere = "it does nothing here; it belongs in"
    assert warnings_of(appwrapper(component(job))) == [
        f"{of_job}[{PREFIX}retryLimit]: {elsewhere} metadata.annotations of the AppWrapper",
        f"{of_job}[{PREFIX}helper]: {elsewhere} spec.components[].annotations of the AppWrapper",
        f"{of_pods}[workload.codeflare.dev/retryLimit]: {MEANT}retryLimit in "
        "metadata.annotations of the AppWrapper",
        f"{of_pods}[{PREFIX}keepp]: {NEAREST} keep",
    ]


def many(count: int) -> dict[str, Any]:
    return prefixed(**{f"{number}" * 50: "x" for number in range(count)})


@pytest.mark.parametrize(
    "made",
    [
        {**appwrapper(), "metadata": {"annotations": many(9_999)}},
        appwrapper(component(POD, annotations=many(9_999))),
        appwrapper(component(), *[component(SERVICE, annotations=many(1))] * 9_999),
    ],
)
def test_some_of_thousands_are_named(made: dict[str, Any]) -> None:
    """Each comparison takes time, and keys of components may be of any length."""
    assert len([each for each in warnings_of(made) if "unknown" in each]) == 10

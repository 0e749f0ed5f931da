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
def test_of_an_appwrapper(name: str, says: str) -> None:
    made, expected = annotated(**{name: "x"}), [f"metadata.annotations[{PREFIX}{name}]: {says}"]
    assert warnings_of(made) == expected
    assert warnings_of(made, old=appwrapper()) == expected
    assert warnings_of(made, old=annotated(**{name: "y"})) == expected
    assert warnings_of(made, old=made) == []


def test_known_ones_and_those_of_others_are_let_be() -> None:
    made = annotated(retryLimit="5", warmupGracePeriodDuration="1h")
    made["metadata"]["annotations"]["example.com/retrylimit"] = "x"
    assert warnings_of(made) == []


def test_of_components_and_their_pod_sets() -> None:
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
def test_thousands_are_not_all_told(made: dict[str, Any]) -> None:
    """Each comparison takes time, and keys of components may be of any length."""
    assert len([each for each in warnings_of(made) if "unknown" in each]) == 10

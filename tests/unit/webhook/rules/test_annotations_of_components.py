from typing import Any

import pytest

from tests.support.builders.admission import POD, SERVICE, appwrapper, component, errors_of
from tests.support.builders.annotations import PREFIX, prefixed

HELPER = f"spec.components[1].annotations[{PREFIX}helper]"
KEEP = f"spec.components[1].annotations[{PREFIX}keep]"


def beside_a_pod(template: Any, **annotations: Any) -> dict[str, Any]:
    return appwrapper(component(), component(template, annotations=prefixed(**annotations)))


@pytest.mark.parametrize("value", ["true", "false"])
@pytest.mark.parametrize("template", [SERVICE, POD])
def test_any_component_can_be_a_helper(template: Any, value: str) -> None:
    assert errors_of(beside_a_pod(template, helper=value)) == []


@pytest.mark.parametrize("value", ["yes", "True", "1", ""])
def test_other_values_are_refused(value: str) -> None:
    made = beside_a_pod(SERVICE, helper=value, keep=value)
    assert errors_of(made) == [
        f'{HELPER}: Invalid value: "{value}": must be "true" or "false"',
        f'{KEEP}: Invalid value: "{value}": must be "true" or "false"',
    ]


def test_a_component_without_pods_can_be_kept() -> None:
    assert errors_of(beside_a_pod(SERVICE, keep="true")) == []


def test_a_component_with_pods_cannot_be_kept() -> None:
    assert errors_of(beside_a_pod(POD, keep="false")) == []
    assert errors_of(beside_a_pod(POD, keep="true")) == [
        f"{KEEP}: Forbidden: only a component without pods can be kept: "
        "its pods would run without quota"
    ]


@pytest.mark.parametrize("annotations", [None, {}, {f"{PREFIX}helper": 5}])
def test_malformed_annotations_are_refused_by_the_schema(annotations: Any) -> None:
    assert errors_of(appwrapper(component(POD, annotations=annotations))) == []


def test_an_update_checks_only_changed_annotations() -> None:
    stored = beside_a_pod(POD, helper="yes", keep="true")
    assert errors_of(stored, old=stored) == []
    assert errors_of(beside_a_pod(POD), old=stored) == []
    assert errors_of(beside_a_pod(POD, helper="no", keep="true"), old=stored) == [
        f'{HELPER}: Invalid value: "no": must be "true" or "false"'
    ]
    assert errors_of(beside_a_pod(POD, keep="true"), old=beside_a_pod(POD)) == [
        f"{KEEP}: Forbidden: only a component without pods can be kept: "
        "its pods would run without quota"
    ]

from typing import Any

import pytest

from tests.support.builders.admission import POD, appwrapper, component, errors_of, facts, request
from webhook import chain
from webhook.verdicts import Allowed, Denied

NO_DOTS = "must not contain dots: Kueue names pod sets after the AppWrapper (NAME-0), without dots"
SEVERAL: dict[str, Any] = {"max_pod_sets": 18}


def named(pod_sets: int = 1, **metadata: str) -> dict[str, Any]:
    made = appwrapper(*[component(POD)] * pod_sets)
    made["metadata"] = {**metadata, "namespace": "team1"}
    return made


def errors(made: dict[str, Any], name: str, **config: Any) -> list[str]:
    """With the name that the API server put into its request."""
    verdict = chain.validate(request(made, name=name), facts(**config))
    if verdict == Allowed():
        return []
    assert isinstance(verdict, Denied), verdict
    causes = verdict.status["details"]["causes"]
    return [f"{cause['field']}: {cause['message']}" for cause in causes]


@pytest.mark.parametrize(
    ("pod_sets", "most", "last"), [(1, 61, 0), (10, 61, 9), (11, 60, 10), (18, 60, 17)]
)
def test_the_last_pod_sets_name_must_fit(pod_sets: int, most: int, last: int) -> None:
    fits, too_long = "a" * most, "a" * (most + 1)
    assert errors(named(pod_sets, name=fits), fits, **SEVERAL) == []
    assert errors(named(pod_sets, name=too_long), too_long, **SEVERAL) == [
        f"metadata.name: Too long: may have at most {most} characters, but has {most + 1}: "
        f"Kueue names a pod set NAME-{last}, in at most 63"
    ]


def test_dots_are_refused() -> None:
    expected = [f'metadata.name: Invalid value: "job.v2": {NO_DOTS}']
    assert errors(named(name="job.v2"), "job.v2") == expected


def test_an_object_with_another_name_is_checked_by_its_own_name() -> None:
    """Another webhook before us may do that, and the request is named as before."""
    assert errors(named(name="a.b"), "job") == [f'metadata.name: Invalid value: "a.b": {NO_DOTS}']
    assert errors(named(name="job"), "a.b") == []


def test_a_request_without_a_name_is_checked_by_the_object() -> None:
    assert errors(named(name="job.v2"), "") == [
        f'metadata.name: Invalid value: "job.v2": {NO_DOTS}'
    ]


@pytest.mark.parametrize("generated", [True, False])
def test_a_generated_name_is_checked_by_its_prefix(generated: bool) -> None:
    """The API server has made the name by the time of validation."""
    fits, too_long = "a" * 56, "a" * 57
    assert errors(named(generateName=fits), fits + "x7k2p" if generated else "") == []
    assert errors(named(generateName=too_long), too_long + "x7k2p" if generated else "") == [
        "metadata.generateName: Too long: may have at most 56 characters, but has 57: the API "
        "server appends 5 characters, and Kueue names a pod set NAME-0, in at most 63"
    ]
    assert errors(named(generateName="job.v-"), "job.v-x7k2p" if generated else "") == [
        f'metadata.generateName: Invalid value: "job.v-": {NO_DOTS}'
    ]


def test_a_long_prefix_that_the_api_server_has_cut_is_still_known() -> None:
    prefix = "a" * 80
    (error,) = errors(named(generateName=prefix), prefix[:58] + "x7k2p")
    assert error.startswith("metadata.generateName: Too long: may have at most 56 characters, ")


def test_a_name_beside_a_prefix_is_the_name() -> None:
    made = named(name="job", generateName="job.v-")
    assert errors(made, "job") == []


def test_a_name_that_the_api_server_refuses_is_not_refused_twice() -> None:
    assert errors_of(named()) == []
    assert errors(named(name="Job"), "Job") == []

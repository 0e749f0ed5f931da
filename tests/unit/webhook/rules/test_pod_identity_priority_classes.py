"""No team runs as a part of the system, nor names a class that does not exist."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.builders.admission import (
    POD,
    component,
    direct_errors,
    errors_of,
    queued,
    request,
    team_facts,
)
from webhook.chain import validate
from webhook.verdicts import Denied

CRITICAL = "system-node-critical"
REFUSED = (
    f'Invalid value: "{CRITICAL}": system- classes are for the platform\'s own pods: name another '
    "class, or none"
)


def template(priority: Any = CRITICAL) -> dict[str, Any]:
    return {"spec": {**POD["spec"], "priorityClassName": priority}}


def made(kind: str, **spec: Any) -> dict[str, Any]:
    group = {"Job": "batch", "PyTorchJob": "kubeflow.org"}.get(kind, "ray.io")
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "m"}, "spec": spec}


def policy(priority: Any) -> dict[str, Any]:
    return {"schedulingPolicy": {"priorityClass": priority}}


HEAD = {"headGroupSpec": {"template": template()}}
SUBMITTED = {
    "rayClusterSpec": {"headGroupSpec": {"template": template(None)}},
    "submitterPodTemplate": template(),
}
CASES = [
    (
        made("PyTorchJob", pytorchReplicaSpecs={"Worker": {"template": template()}}),
        "spec.pytorchReplicaSpecs.Worker.template.spec.priorityClassName",
    ),
    (
        made("PyTorchJob", runPolicy=policy(CRITICAL),
             pytorchReplicaSpecs={"Master": {"template": template(None)}}),
        "spec.runPolicy.schedulingPolicy.priorityClass",
    ),
    (made("RayCluster", **HEAD), "spec.headGroupSpec.template.spec.priorityClassName"),
    (
        made("RayJob", rayClusterSpec=HEAD),
        "spec.rayClusterSpec.headGroupSpec.template.spec.priorityClassName",
    ),
    (made("RayJob", **SUBMITTED), "spec.submitterPodTemplate.spec.priorityClassName"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "path"), CASES)
def test_in_a_team_system_classes_are_refused(body: Any, path: str) -> None:
    assert direct_errors(body) == [f"{path}: {REFUSED}"]
    assert errors_of(queued(component(body)), known=team_facts()) == [
        f"spec.components[0].template.{path}: {REFUSED}"
    ]
    assert errors_of(queued(component(body))) == []


def test_so_they_are_in_kinds_that_are_only_wrapped() -> None:
    body = made("Job", template=template())
    pod = {**POD, "spec": template("system-cluster-critical")["spec"]}
    assert errors_of(queued(component(body), component(pod)), known=team_facts()) == [
        f"spec.components[0].template.spec.template.spec.priorityClassName: {REFUSED}",
        "spec.components[1].template.spec.priorityClassName: "
        + REFUSED.replace(CRITICAL, "system-cluster-critical"),
    ]


@pytest.mark.parametrize("priority", ["high-priority", "default-priority", "systematic", "", None])
def test_other_classes_are_free(priority: Any) -> None:
    roles = {"Master": {"template": template(priority)}}
    body = made("PyTorchJob", runPolicy=policy(priority), pytorchReplicaSpecs=roles)
    assert direct_errors(body) == []
    assert errors_of(queued(component(body)), known=team_facts()) == []


KNOWN = frozenset({"high-priority", "default-priority", "system-node-critical"})
UNKNOWN = 'Invalid value: "hi-prio": this cluster has no such PriorityClass'
CHOICE = "name default-priority, high-priority or none"


def wrapped_errors(known: frozenset[str] | None, *bodies: Any) -> list[str]:
    facts = replace(team_facts(), priority_classes=known)
    return errors_of(queued(*map(component, bodies)), known=facts)


def test_an_unknown_class_is_refused_and_the_others_are_listed_once() -> None:
    roles = {"Worker": {"template": template("hi-prio")}}
    body = made("PyTorchJob", runPolicy=policy("hi-prio"), pytorchReplicaSpecs=roles)
    place = "spec.components[0].template.spec"
    assert wrapped_errors(KNOWN, body, made("Job", template=template("high-priority"))) == [
        f"{place}.pytorchReplicaSpecs.Worker.template.spec.priorityClassName: {UNKNOWN}: {CHOICE}",
        f"{place}.runPolicy.schedulingPolicy.priorityClass: {UNKNOWN}",
    ]


def test_a_long_list_of_classes_is_cut() -> None:
    known = frozenset(f"class-{number:02}" for number in range(11))
    [error] = wrapped_errors(known, made("Job", template=template("hi-prio")))
    shown = ", ".join(sorted(known)[:10])
    assert error.endswith(
        f"PriorityClass: name one of {shown} and 1 more (kubectl get priorityclasses), or none"
    )


def test_without_a_class_for_teams_there_is_none_to_name() -> None:
    [error] = wrapped_errors(frozenset({CRITICAL}), made("Job", template=template("hi-prio")))
    assert error.endswith("PriorityClass: it has none that a team may use, so name none")


@pytest.mark.parametrize("priority", ["high-priority", "", None, 7])
def test_a_known_class_and_none_are_admitted(priority: Any) -> None:
    errors = wrapped_errors(KNOWN, made("Job", template=template(priority)))
    assert [each for each in errors if "PriorityClass" in each] == []


def test_a_system_class_has_its_own_error_only() -> None:
    [error] = wrapped_errors(frozenset(), made("Job", template=template()))
    assert error.endswith(REFUSED)


def test_nothing_is_refused_without_a_list_of_classes_or_outside_of_teams() -> None:
    body = made("Job", template=template("hi-prio"))
    assert wrapped_errors(None, body) == []
    elsewhere = replace(team_facts(), priority_classes=KNOWN, is_team_namespace=False)
    assert errors_of(queued(component(body)), known=elsewhere) == []


def test_a_directly_created_object_is_checked_too() -> None:
    known = replace(team_facts(), priority_classes=KNOWN)
    body = made("RayCluster", headGroupSpec={"template": template("hi-prio")})
    verdict = validate(request(body, group_kind="ray.io/RayCluster"), known)
    assert isinstance(verdict, Denied)
    assert verdict.reasons == (
        f"spec.headGroupSpec.template.spec.priorityClassName: {UNKNOWN}: {CHOICE}",
    )
    assert verdict.rules == ("direct_unknown_priority_classes",)

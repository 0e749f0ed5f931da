"""Strict decoding of what pod sets point to; how single values are judged is tested beside it."""

from typing import Any

import pytest

from shared.config.configuration import AllowedKinds, AppWrapperConfig
from tests.support.builders.admission import POD, appwrapper, component, request
from tests.support.builders.jobs import bare_job, bare_pytorch_job
from tests.support.builders.pod_schema import POD_SCHEMA
from webhook.rules.pod_templates import check_pod_templates
from webhook.rules.submission import Facts, Submission

WRONG: dict[str, Any] = {"containers": [{"imagee": "i"}]}
UNKNOWN = 'unknown field; did you mean "image"?'


def submission(*components: Any, **known: Any) -> Submission:
    wrapped = request(appwrapper(*components))
    config = AppWrapperConfig(allowed_kinds=AllowedKinds(wrapped=("*",)))
    return Submission(wrapped, Facts(config, **known))


def errors_of(*components: Any) -> list[str]:
    found = check_pod_templates(submission(*components, pod_schema=POD_SCHEMA))
    return [str(error) for error in found]


def spark(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "spec": spec}


def test_good_pod_templates_have_no_errors() -> None:
    good = {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]}
    declared = component(spark(driver=good), podSets=[{"path": "template.spec.driver"}])
    both = bare_pytorch_job(Master=good, Worker=good)
    assert errors_of(component(), component(bare_job(good)), component(both), declared) == []


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        (component({**POD, "spec": WRONG}), "template.spec"),
        (component(bare_job({"spec": WRONG})), "template.spec.template.spec"),
        (
            component(bare_pytorch_job(Master={"spec": {}}, Worker={"spec": WRONG})),
            "template.spec.pytorchReplicaSpecs.Worker.template.spec",
        ),
        (
            component(
                spark(executors=[{}, {"spec": WRONG}]),
                podSets=[{"path": "template.spec.executors[1]"}],
            ),
            "template.spec.executors[1].spec",
        ),
    ],
)
def test_an_unknown_field_is_named_with_its_whole_path(wrong: Any, path: str) -> None:
    assert errors_of(component(), wrong) == [
        f"spec.components[1].{path}.containers[0].imagee: Invalid value: {UNKNOWN}"
    ]


def test_ill_typed_fields_of_all_pod_sets_come_at_once() -> None:
    master = {"spec": {"hostNetwork": "true"}}
    worker = {"metadata": {"labels": {"rank": 0}}, "spec": {"containers": {"name": "c"}}}
    replicas = "spec.components[0].template.spec.pytorchReplicaSpecs"
    assert errors_of(component(bare_pytorch_job(Master=master, Worker=worker))) == [
        f"{replicas}.Master.template.spec.hostNetwork: Invalid value: "
        "must be true or false, but is a string; write it without quotes",
        f"{replicas}.Worker.template.spec.containers: Invalid value: "
        "must be an array, but is an object",
        f"{replicas}.Worker.template.metadata.labels[rank]: Invalid value: "
        "must be a string, but is a number; put it in quotes",
    ]


def test_a_pod_may_have_what_a_pod_template_may_not() -> None:
    pod = {**POD, "status": {"phase": "Running"}}
    assert errors_of(component(pod)) == []
    path = "spec.components[0].template.spec.template"
    assert errors_of(component(bare_job({**pod, "metadata": {}}))) == [
        f"{path}.{field}: Invalid value: unknown field: PodTemplateSpec has none of that name"
        for field in ("apiVersion", "kind", "status")
    ]


def test_in_an_unknown_kind_a_path_may_lead_to_more_than_a_pod_template() -> None:
    driver = {"cores": 1, "metadata": {"labels": {}}, "spec": {}}
    declared = [{"path": "template.spec.driver"}]
    assert errors_of(component(spark(driver=driver), podSets=declared)) == []
    whole = {**spark(), "spec": {"nodeName": "n"}, "status": "of its own"}
    assert errors_of(component(whole, podSets=[{"path": "template"}])) == []


def test_pod_sets_beside_the_inferred_ones_are_another_rules_to_report() -> None:
    other = component(bare_job({"spec": {}}), podSets=[{"path": "template"}])
    assert errors_of(other) == []


def test_a_pod_template_that_is_named_twice_is_checked_once() -> None:
    declared = [{"path": f"template.spec.list[{index}]"} for index in ("0", "00", "0")]
    assert errors_of(component(spark(list=[{"spec": WRONG}]), podSets=declared)) == [
        "spec.components[0].template.spec.list[0].spec.containers[0].imagee: Invalid value: "
        f"{UNKNOWN}"
    ]


@pytest.mark.parametrize(
    "reported_elsewhere",
    [
        component(spark(text="x"), podSets=[{"path": "template.spec.text"}]),
        component(spark(), podSets=[{"path": "template.spec.driver"}]),
        component(spark(), podSets="x"),
        component(bare_job("x")),
        component(bare_job([])),
        component(bare_job({"spec": []})),
        component({**POD, "spec": []}),
    ],
)
def test_a_missing_pod_template_is_reported_by_another_rule(reported_elsewhere: Any) -> None:
    assert errors_of(reported_elsewhere) == []


def unknown_fields(count: int) -> dict[str, Any]:
    return bare_job({"spec": {f"x{number:07}": 1 for number in range(count)}})


@pytest.mark.parametrize(
    ("count", "rest"),
    [
        (20, []),
        (21, ["its pod templates have 1 more fields that cannot be decoded"]),
        (999, ["its pod templates have 979 more fields that cannot be decoded"]),
        (1000, ["its pod templates have at least 980 more fields that cannot be decoded"]),
        (50_000, ["its pod templates have at least 980 more fields that cannot be decoded"]),
    ],
)
def test_the_first_twenty_of_many_errors_are_named_and_the_others_counted(
    count: int, rest: list[str]
) -> None:
    errors = errors_of(component(unknown_fields(count)), component(unknown_fields(1)))
    first, last = "spec.components[0].template", "spec.components[1].template.spec.template.spec"
    assert errors[:20] == [
        f"{first}.spec.template.spec.x{number:07}: Invalid value: "
        "unknown field: PodSpec has none of that name"
        for number in range(20)
    ]
    assert errors[20:] == [
        *(f"{first}: Invalid value: {text}" for text in rest),
        f"{last}.x0000000: Invalid value: unknown field: PodSpec has none of that name",
    ]


def test_without_a_schema_every_request_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="without knowing the schema of pods"):
        list(check_pod_templates(submission(component())))

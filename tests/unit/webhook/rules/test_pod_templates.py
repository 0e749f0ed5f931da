from copy import deepcopy
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.config.configuration import AllowedKinds
from shared.config.fault_tolerance import Autopilot
from tests.support.builders.admission import (
    POD,
    SERVICE,
    appwrapper,
    component,
    facts,
    patch_of,
    request,
)
from tests.support.builders.autopilot import GPU, HEALTH, SEEDS
from tests.support.builders.jobs import bare_pytorch_job
from webhook import chain
from webhook.rules.pod_templates import fill_in_pod_templates
from webhook.rules.submission import Submission
from webhook.verdicts import Patched

LABEL = "workload.codeflare.dev/appwrapper"
AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": HEALTH, "operator": "NotIn", "values": ["ERR", "EVICT"]}
                    ]
                }
            ]
        }
    }
}
MLBATCH: dict[str, Any] = {
    "scheduler_name": "gang",
    "autopilot": Autopilot(resource_taints={GPU: SEEDS}),
}
ROLES = "/spec/components/0/template/spec/pytorchReplicaSpecs"


def pod_template(gpus: object = None, **fields: Any) -> dict[str, Any]:
    limits = {} if gpus is None else {"limits": {GPU: gpus}}
    containers = [{"name": "pytorch", "image": "i", "resources": limits}]
    return {"spec": {"containers": containers, **fields}}


def templates_patch_of(submitted: Any, **config: Any) -> list[dict[str, Any]]:
    """Without the digest and what is written at the AppWrapper's own metadata."""
    patch = patch_of(submitted, under="/spec", **config)
    return [each for each in patch if "/annotations" not in each["path"]]


def add(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def test_each_pod_template_takes_one_operation_a_field() -> None:
    job = bare_pytorch_job(Master=pod_template("8"), Worker=pod_template("8"))
    assert templates_patch_of(appwrapper(component(job)), **MLBATCH) == [
        operation
        for role in ("Master", "Worker")
        for operation in (
            add(f"{ROLES}/{role}/template/metadata", {"labels": {LABEL: "job"}}),
            add(f"{ROLES}/{role}/template/spec/schedulerName", "gang"),
            add(f"{ROLES}/{role}/template/spec/affinity", AFFINITY),
        )
    ]


def test_only_pods_that_ask_for_the_resource_get_the_affinity() -> None:
    job = bare_pytorch_job(Master=pod_template(), Worker=pod_template(1))
    patch = templates_patch_of(appwrapper(component(job)), **MLBATCH)
    affinities = [each for each in patch if "affinity" in each["path"]]
    assert affinities == [add(f"{ROLES}/Worker/template/spec/affinity", AFFINITY)]


def test_fields_that_exist_already_cause_no_operation() -> None:
    pod = {
        **POD,
        "metadata": {"labels": {LABEL: "job"}},
        **pod_template("8", affinity=AFFINITY, schedulerName="mine"),
    }
    assert templates_patch_of(appwrapper(component(pod)), **MLBATCH) == []


def test_another_appwrappers_name_is_replaced() -> None:
    pod = {**POD, "metadata": {"labels": {LABEL: "other"}}}
    label = "/spec/components/0/template/metadata/labels/workload.codeflare.dev~1appwrapper"
    assert templates_patch_of(appwrapper(component(pod))) == [add(label, "job")]


def test_components_without_pods_stay_as_they_are() -> None:
    assert templates_patch_of(appwrapper(component(SERVICE)), **MLBATCH) == []


def test_declared_pod_sets_of_any_kind_are_filled_in() -> None:
    spark = {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "spec": {"list": [{}, pod_template("1")], "other": pod_template("1")},
    }
    wrapped = appwrapper(component(spark, podSets=[{"path": "template.spec.list[1]"}]))
    here = "/spec/components/0/template/spec/list/1"
    allowed = AllowedKinds(wrapped=("*",))
    assert templates_patch_of(wrapped, allowed_kinds=allowed, **MLBATCH) == [
        add(f"{here}/metadata", {"labels": {LABEL: "job"}}),
        add(f"{here}/spec/schedulerName", "gang"),
        add(f"{here}/spec/affinity", AFFINITY),
    ]


def test_pod_sets_that_are_about_to_be_declared_are_filled_in_too() -> None:
    group = {"size": 4, "leaderTemplate": pod_template(), "workerTemplate": pod_template("8")}
    lws = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "spec": {"leaderWorkerTemplate": group},
    }
    here = "/spec/components/0/template/spec/leaderWorkerTemplate"
    leader, worker = f"{here}/leaderTemplate", f"{here}/workerTemplate"
    patch = templates_patch_of(appwrapper(component(lws)), **MLBATCH)
    assert [each for each in patch if each["path"].startswith(here)] == [
        add(f"{leader}/metadata", {"labels": {LABEL: "job"}}),
        add(f"{leader}/spec/schedulerName", "gang"),
        add(f"{worker}/metadata", {"labels": {LABEL: "job"}}),
        add(f"{worker}/spec/schedulerName", "gang"),
        add(f"{worker}/spec/affinity", AFFINITY),
    ]


def labels_for(known: str, **metadata: Any) -> list[Any]:
    submitted = appwrapper()
    submitted["metadata"] = metadata
    verdict = chain.mutate(request(submitted, name=known), facts())
    assert isinstance(verdict, Patched)
    return [each["value"] for each in verdict.patch if each["path"].endswith("metadata/labels")][1:]


def test_a_name_that_is_still_to_be_generated_is_no_label() -> None:
    """Pods with a prefix of the name for a label would be counted nowhere, or elsewhere."""
    assert labels_for("", generateName="job-") == []
    assert labels_for("job-x7k2p", generateName="job-") == [{LABEL: "job-x7k2p"}]
    # Another webhook has chosen one.
    assert labels_for("", generateName="job-", name="job-a") == [{LABEL: "job-a"}]


def test_while_the_name_is_unknown_the_rest_is_injected() -> None:
    submitted = appwrapper(component(bare_pytorch_job(Master=pod_template("8"))))
    submitted["metadata"] = {"generateName": "job-"}
    changes = fill_in_pod_templates(Submission(request(submitted, name=""), facts(**MLBATCH)))
    assert [change.path[-1] for change in changes] == ["schedulerName", "affinity"]


@pytest.mark.parametrize(
    "broken",
    [
        {"metadata": "x", **pod_template("8")},
        {"metadata": {"labels": ["x"]}, **pod_template("8")},
        pod_template("8", affinity="x"),
        {"spec": {"containers": {"a": 1}}},
        {"spec": "x"},
        "x",
        None,
    ],
)
def test_a_template_that_cannot_be_read_is_left_for_validation(broken: Any) -> None:
    """All of it: half an injection would look like a whole one."""
    declared = [{"path": f"template.spec.{role}"} for role in ("good", "bad")]
    kind = {
        "apiVersion": "example.org/v1",
        "kind": "Kind",
        "spec": {"good": pod_template("8"), "bad": broken},
    }
    patch = templates_patch_of(appwrapper(component(kind, podSets=declared)), **MLBATCH)
    fields = {each["path"].removeprefix("/spec/components/0/template/spec/") for each in patch}
    assert fields == {"good/metadata", "good/spec/schedulerName", "good/spec/affinity"}


@pytest.mark.parametrize(
    "element",
    [
        None,
        "x",
        {},
        component("x"),
        component(podSets="x"),
        component(podSets=[{"path": "template.nowhere"}, {"path": ""}, {"path": "template["}]),
        component({"apiVersion": "batch/v1", "kind": "Job", "spec": {}}),
        component({"apiVersion": 1, "kind": ["Pod"], **pod_template("8")}),
    ],
)
def test_malformed_components_are_left_for_validation(element: Any) -> None:
    assert templates_patch_of(appwrapper(element), **MLBATCH) == []


@pytest.mark.parametrize("components", [None, {"a": 1}, "x", []])
def test_no_components_at_all(components: Any) -> None:
    submitted = {"metadata": {"name": "job"}, "spec": {"components": components}}
    assert templates_patch_of(submitted) == []


def test_more_pod_sets_than_allowed_get_nothing_for_they_are_refused() -> None:
    assert len(templates_patch_of(appwrapper(*[component()] * 8))) == 8
    assert templates_patch_of(appwrapper(*[component()] * 9)) == []
    assert templates_patch_of(appwrapper(component(), component()), max_pod_sets=1) == []


def test_neither_the_request_nor_the_configuration_is_written_to() -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    job = bare_pytorch_job(Master=pod_template("8", affinity={"nodeAffinity": required}))
    submitted = appwrapper(component(job), component(bare_pytorch_job(Worker=pod_template("8"))))
    before = deepcopy(submitted)
    first = patch_of(submitted, **MLBATCH)
    for operation in first:
        operation["value"] = None
    assert submitted == before
    assert patch_of(submitted, **MLBATCH) != first
    assert patch_of(submitted, **MLBATCH) == patch_of(submitted, **MLBATCH)


PODS = st.builds(
    lambda gpus, fields, metadata: {**POD, **pod_template(gpus, **fields), "metadata": metadata},
    st.sampled_from((None, "8", 0)),
    st.fixed_dictionaries(
        {},
        optional={
            "schedulerName": st.sampled_from(("", "mine", None)),
            "affinity": st.sampled_from((None, {}, AFFINITY, "x")),
        },
    ),
    st.sampled_from((None, {}, {"labels": None}, {"labels": {"a": "b"}}, "x")),
)


@given(st.lists(PODS, min_size=1, max_size=3))
def test_mutating_what_was_mutated_changes_nothing(pods: list[Any]) -> None:
    submitted = appwrapper(*(component(pod) for pod in pods))
    mutated = jsonpatch.apply_patch(submitted, patch_of(submitted, **MLBATCH))
    assert patch_of(mutated, **MLBATCH) == []

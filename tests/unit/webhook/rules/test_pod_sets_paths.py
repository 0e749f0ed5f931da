"""Declared pod sets against templates: paths, and kinds that Kueue does not infer."""

from typing import Any

import jsonpatch
import pytest

from shared.config.configuration import AllowedKinds
from tests.support.builders.admission import (
    POD,
    appwrapper,
    component,
    errors_of,
    patch_of,
    warnings_of,
)
from tests.support.builders.wrapped_kinds import DEPLOYMENT, GROUP, LEADER_WORKER_SET, SERVICE

ANY_KIND: dict[str, Any] = {"allowed_kinds": AllowedKinds(wrapped=("*",))}
POD_TEMPLATE = {"metadata": {"labels": {}}, "spec": POD["spec"]}
SPARK: dict[str, Any] = {
    "apiVersion": "sparkoperator.k8s.io/v1beta2",
    "kind": "SparkApplication",
    "spec": {"driver": POD_TEMPLATE, "list": [POD_TEMPLATE], "other": [[POD_TEMPLATE]]},
}
NOT_AN_INDEX = "is not a number from 0"
NEITHER = "is neither '.key' nor '[n]'"


@pytest.mark.parametrize(
    "path", ["template.spec.driver", "template.spec.list[0]", "template.spec.other[0][0]"]
)
def test_a_path_that_leads_to_a_pod_template_is_accepted(path: str) -> None:
    wrapped = appwrapper(component(SPARK, podSets=[{"path": path}]))
    assert errors_of(wrapped, **ANY_KIND) == []


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("template.spec.executor", "template.spec has no field 'executor'"),
        ("template.specs.driver", "template has no field 'specs'"),
        (
            "template.spec.driver.metadata",
            "template.spec.driver.metadata has no spec object, so it is not a pod template",
        ),
        ("template.spec.list.driver", "template.spec.list is an array, not an object"),
        ("template.spec.list", "template.spec.list is an array, not a pod template"),
        ("template[0]", "template is an object, not an array"),
        (
            "template.spec.list[10]",
            "template.spec.list has 1 elements, so there is no [10]",
        ),
        ("template.spec.list[-1]", f"after 'template.spec.list': index '-1' {NOT_AN_INDEX}"),
        ("template.spec.list[a10]", f"after 'template.spec.list': index 'a10' {NOT_AN_INDEX}"),
        ("template.spec.list[]", f"after 'template.spec.list': index '' {NOT_AN_INDEX}"),
        ("template.spec.list[0", f"after 'template.spec.list': '[0' {NEITHER}"),
        ("template.spec.list[0]]", f"after 'template.spec.list[0]': ']' {NEITHER}"),
        ("template.spec..driver", f"after 'template.spec': '..driver' {NEITHER}"),
        ("template.spec.", f"after 'template.spec': '.' {NEITHER}"),
        ("templates.spec.driver", f"after 'template': 's.spec.driver' {NEITHER}"),
        ("spec.driver", "the path must start with 'template'"),
        (" template.spec.driver", "the path must start with 'template'"),
    ],
)
def test_any_other_path_is_refused_at_the_place_where_it_breaks(path: str, problem: str) -> None:
    wrapped = appwrapper(component(SPARK, podSets=[{"path": path}]))
    assert errors_of(wrapped, **ANY_KIND) == [
        f'spec.components[0].podSets[0].path: Invalid value: "{path}": '
        f"does not lead to a pod template: {problem}"
    ]


def test_an_empty_path_is_required() -> None:
    wrapped = appwrapper(component(SPARK, podSets=[{"path": ""}]))
    assert errors_of(wrapped, **ANY_KIND) == [
        "spec.components[0].podSets[0].path: Required value: a pod set needs the path of its "
        "pod template, such as template.spec.template"
    ]


def test_one_pod_template_is_one_pod_set_however_its_path_is_spelt() -> None:
    declared = [{"path": "template.spec.list[0]"}, {"path": "template.spec.list[00]"}]
    assert errors_of(appwrapper(component(SPARK, podSets=declared)), **ANY_KIND) == [
        'spec.components[0].podSets[1].path: Duplicate value: "template.spec.list[00]": '
        "each pod template can be declared once"
    ]


def test_more_pod_sets_than_kueue_accepts_are_not_checked() -> None:
    driver = {"path": "template.spec.driver"}
    hundred = errors_of(appwrapper(component(SPARK, podSets=[driver] * 100)), **ANY_KIND)
    assert hundred[-1] == (
        "spec.components: Too many: 100: all components together may have at most 8 pod sets: "
        "spec.components[0] (SparkApplication) has 100"
    )
    more = errors_of(appwrapper(component(SPARK, podSets=[driver] * 101)), **ANY_KIND)
    assert more == [
        "spec.components[0].podSets: Invalid value: podSets has 101 elements, "
        "but at most 100 are read"
    ]
    jobs = [{"template": {"spec": {"template": POD_TEMPLATE}}}] * 101
    job_set = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "spec": {"replicatedJobs": jobs},
    }
    assert errors_of(appwrapper(component(job_set))) == [
        "spec.components[0].template: Invalid value: "
        "template.spec.replicatedJobs has 101 elements, but at most 100 are read"
    ]


# What Kueue could not follow


def declared(*pod_sets: Any, of: Any = LEADER_WORKER_SET) -> dict[str, Any]:
    return component(of, podSets=list(pod_sets))


def path_refused(path: str, problem: str) -> Any:
    error = (
        f'spec.components[0].podSets[0].path: Invalid value: "{path}": '
        f"does not lead to a pod template: {problem}"
    )
    return pytest.param(declared({"path": path}), error, id=path)


OTHER = (
    "spec.components[0].podSets: Invalid value: Kueue infers other pod sets for a Deployment: "
    "template.spec.template x 2; leave podSets out"
)


@pytest.mark.parametrize(
    ("wrapped", "error"),
    [
        pytest.param(
            component(SERVICE),
            "spec.components: Required value: at least one component must have pods, but none does "
            "(Service)",
            id="no pods",
        ),
        path_refused(
            f"{GROUP}.headTemplate",
            f"{GROUP} has no field 'headTemplate'",
        ),
        pytest.param(
            declared({"path": ""}),
            "spec.components[0].podSets[0].path: Required value: a pod set needs the path of its "
            "pod template, such as template.spec.template",
            id="empty path",
        ),
        path_refused(
            f"{GROUP}.workerTemplate.metadata",
            f"{GROUP}.workerTemplate.metadata has no spec object, so it is not a pod template",
        ),
        path_refused("template[0]", "template is an object, not an array"),
        path_refused(
            f"{GROUP}.workerTemplate.spec.containers.spec",
            f"{GROUP}.workerTemplate.spec.containers is an array, not an object",
        ),
        path_refused(
            f"{GROUP}.workerTemplate.spec.containers",
            f"{GROUP}.workerTemplate.spec.containers is an array, not a pod template",
        ),
        path_refused(
            f"{GROUP}.workerTemplate.spec.containers[10]",
            f"{GROUP}.workerTemplate.spec.containers has 1 elements, so there is no [10]",
        ),
        *(
            path_refused(
                f"template.spec[{index}]",
                f"after 'template.spec': index '{index}' is not a number from 0",
            )
            for index in ("-1", "a10")
        ),
        path_refused("template.spec[1", "after 'template.spec': '[1' is neither '.key' nor '[n]'"),
        path_refused(
            "template.spec[1]]", "after 'template.spec[1]': ']' is neither '.key' nor '[n]'"
        ),
        path_refused("spec.template", "the path must start with 'template'"),
        pytest.param(
            declared({"path": "template.spec.template", "replicas": 3}, of=DEPLOYMENT),
            OTHER,
            id="other replicas",
        ),
        pytest.param(
            declared({"path": "template.spec.template"}, of=DEPLOYMENT),
            OTHER,
            id="replicas left out",
        ),
        pytest.param(
            declared(
                {"path": "template.spec.template", "replicas": 2},
                {"path": "template.spec.template", "replicas": 2},
                of=DEPLOYMENT,
            ),
            'spec.components[0].podSets[1].path: Duplicate value: "template.spec.template": '
            "each pod template can be declared once",
            id="the same path twice",
        ),
        pytest.param(
            declared({"path": "template", "replicas": 2}, of=DEPLOYMENT),
            OTHER,
            id="other path",
        ),
    ],
)
def test_pod_sets_that_kueue_could_not_follow_are_refused(
    wrapped: dict[str, Any], error: str
) -> None:
    assert errors_of(appwrapper(wrapped)) == [error]


# Kinds that Kueue does not infer

WORKERS = "template.spec.leaderWorkerTemplate.workerTemplate"
LEADERS = "template.spec.leaderWorkerTemplate.leaderTemplate"
MPI = "template.spec.mpiReplicaSpecs"


def leader_worker_set(**group: Any) -> dict[str, Any]:
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "spec": {
            "replicas": 2,
            "leaderWorkerTemplate": {
                "size": 3,
                "leaderTemplate": POD_TEMPLATE,
                "workerTemplate": POD_TEMPLATE,
                **group,
            },
        },
    }


def mpi_job(version: str = "v2beta1") -> dict[str, Any]:
    roles = {
        "Launcher": {"template": POD_TEMPLATE},
        "Worker": {"template": POD_TEMPLATE, "replicas": 4},
    }
    return {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": "MPIJob",
        "spec": {"mpiReplicaSpecs": roles},
    }


@pytest.mark.parametrize("template", [leader_worker_set(), mpi_job(), mpi_job("v1")])
def test_pod_sets_that_mutation_declared_are_accepted_without_warning(
    template: dict[str, Any],
) -> None:
    submitted = appwrapper(component(template))
    mutated = jsonpatch.apply_patch(submitted, patch_of(submitted))
    assert errors_of(mutated) == []
    assert [text for text in warnings_of(mutated) if "podSets" in text] == []


@pytest.mark.parametrize(
    ("template", "declared", "expected"),
    [
        (
            leader_worker_set(),
            [{"path": LEADERS, "replicas": 2}, {"path": WORKERS, "replicas": 3}],
            f"{LEADERS} x 2, {WORKERS} x 4",
        ),
        (leader_worker_set(), [{"path": WORKERS}], f"{LEADERS} x 2, {WORKERS} x 4"),
        (
            mpi_job(),
            [{"path": f"{MPI}.Worker.template", "replicas": 4}],
            f"{MPI}.Launcher.template x 1, {MPI}.Worker.template x 4",
        ),
    ],
)
def test_another_declaration_of_the_user_is_kept_with_a_warning(
    template: dict[str, Any], declared: Any, expected: str
) -> None:
    submitted = appwrapper(component(template, podSets=declared))
    assert errors_of(submitted) == []
    [warning] = [text for text in warnings_of(submitted) if "podSets" in text]
    assert warning == (
        f"spec.components[0].podSets differ from those of the {template['kind']} itself "
        f"({expected}); quota is reserved for the declared ones"
    )


def test_the_order_and_pod_sets_without_pods_make_no_difference() -> None:
    declared = [{"path": WORKERS, "replicas": 4}, {"path": LEADERS, "replicas": 2}]
    submitted = appwrapper(component(leader_worker_set(), podSets=declared))
    assert [text for text in warnings_of(submitted) if "podSets" in text] == []
    alone = [{"path": LEADERS, "replicas": 2}, {"path": WORKERS, "replicas": 0}]
    submitted = appwrapper(component(leader_worker_set(size=1), podSets=alone))
    assert [text for text in warnings_of(submitted) if "podSets" in text] == []


def test_beside_an_error_no_warning_follows() -> None:
    submitted = appwrapper(component(leader_worker_set(), podSets=[{"path": "template.x"}]))
    assert len(errors_of(submitted)) == 1
    assert [text for text in warnings_of(submitted) if "podSets" in text] == []


def test_without_them_the_pods_would_run_without_quota() -> None:
    """Mutation declares them, so something between it and validation has removed them."""
    assert errors_of(appwrapper(component(), component(leader_worker_set()))) == [
        "spec.components[1].podSets: Required value: Kueue does not infer those of a "
        f"LeaderWorkerSet: {LEADERS} x 2, {WORKERS} x 4"
    ]
    assert errors_of(appwrapper(component(leader_worker_set(size="3")))) == [
        "spec.components[0].template: Invalid value: "
        "template.spec.leaderWorkerTemplate.size must be an integer"
    ]

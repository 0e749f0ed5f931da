"""Pod sets that Kueue could not follow."""

from collections.abc import Iterator
from typing import Any

from shared.api.objects import JsonObject
from tests.support.admission_corpus.case import Case, appwrapper, invalid
from tests.support.builders.wrapped_kinds import (
    DEPLOYMENT,
    GROUP,
    LEADER_WORKER_SET,
    NAME,
    SERVICE,
    pod,
    pytorch_job,
    template,
)

_FIRST = "spec.components[0]"
_ROLES = "template.spec.pytorchReplicaSpecs"


def _declared(*pod_sets: Any, of: JsonObject = LEADER_WORKER_SET) -> JsonObject:
    return {"template": of, "podSets": list(pod_sets)}


_NINE = [pod(name=f"{NAME}-{index}") for index in range(9)]
_REFUSED = {
    "no components -> at least one is required": (
        [],
        "spec.components: Required value: an AppWrapper must contain at least one component",
    ),
    "no component with pods -> refused": (
        [SERVICE],
        "spec.components: Required value: at least one component must have pods, but none does "
        "(Service)",
    ),
    "a path that the template lacks -> refused": (
        [_declared({"path": f"{GROUP}.headTemplate"})],
        f'{_FIRST}.podSets[0].path: Invalid value: "{GROUP}.headTemplate": '
        f"does not lead to a pod template: {GROUP} has no field 'headTemplate'",
    ),
    "other replicas than Kueue infers -> refused": (
        [_declared({"path": "template.spec.template", "replicas": 3}, of=DEPLOYMENT)],
        f"{_FIRST}.podSets: Invalid value: Kueue infers other pod sets for a "
        "Deployment: template.spec.template x 2; leave podSets out",
    ),
    "fewer pods with GPUs than the Kind makes -> refused": (
        [_declared({"path": f"{GROUP}.workerTemplate", "replicas": 3})],
        f"{_FIRST}.podSets: Invalid value: the LeaderWorkerSet makes more pods "
        f"({GROUP}.leaderTemplate x 2, {GROUP}.workerTemplate x 4), and the pods that are not "
        "declared would run without quota; declare these, or leave podSets out",
    ),
    "nine pod sets -> refused": (
        _NINE,
        "spec.components: Too many: 9: all components together may have at most 8 pod sets: "
        + ", ".join(f"spec.components[{index}] (Pod) has 1" for index in range(5))
        + ", and 4 more",
    ),
}


def _refused() -> Iterator[Case]:
    for name, (components, error) in _REFUSED.items():
        sent = appwrapper(*components)
        sent["spec"]["components"] = sent["spec"]["components"] if components else []
        yield Case(name=name, sent=sent, refused=invalid(error))
    yield Case(name="eight pod sets -> accepted", sent=appwrapper(*_NINE[:8]))


def _number_of_pod_sets() -> Iterator[Case]:
    """The worker's template holds another pod template, which Kueue does not see."""
    job = pytorch_job(Master=template(), Worker=template())
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["template"] = template()
    unknown = (
        f"{_FIRST}.{_ROLES}.Worker.template.spec.template: Invalid value: unknown field: PodSpec "
        "has none of that name"
    )
    inferred = (
        f"{_FIRST}.podSets: Invalid value: Kueue infers other pod sets for a PyTorchJob: "
        f"{_ROLES}.Master.template x 1, {_ROLES}.Worker.template x 1; leave podSets out"
    )
    for count, paths in (
        ("master's alone", ("Master",)),
        ("worker's alone", ("Worker",)),
        ("both and one more", ("Master", "Worker", "Worker.template.spec")),
    ):
        pod_sets = [{"path": f"{_ROLES}.{path}.template"} for path in paths]
        yield Case(
            name=f"the pod sets of a PyTorchJob, {count} -> Kueue infers others",
            sent=appwrapper(_declared(*pod_sets, of=job)),
            refused=invalid(inferred, unknown),
        )


CASES = (*_refused(), *_number_of_pod_sets())

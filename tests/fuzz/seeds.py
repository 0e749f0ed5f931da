"""Real AppWrappers, of which fuzzing makes broken ones: the samples, and Kinds that none shows."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from shared.api.names import ANNOTATION_HELPER, ANNOTATION_PREFIX
from tests.support.builders.admission import POD, appwrapper, component

SAMPLES = Path(__file__).resolve().parents[2] / "samples"

_PODS = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
_GPU_PODS = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {
        "nodeSelector": {"zone": "a"},
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
                    ]
                }
            }
        },
        "initContainers": [{"name": "i", "image": "i"}],
        "containers": [
            {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "8"}}}
        ],
    },
}


@cache
def appwrappers() -> tuple[dict[str, Any], ...]:
    """Never change them: they are shared."""
    return (*_samples(), *_others())


def _samples() -> Iterator[dict[str, Any]]:
    """In one order everywhere: programs of edits name a seed by its number."""
    for file in sorted(SAMPLES.rglob("*.yaml")):
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            wrapped = document["kind"] == "AppWrapper"
            made = document if wrapped else appwrapper(component(document))
            yield {**made, "metadata": {**made["metadata"], "name": "job", "namespace": "team1"}}


def _others() -> Iterator[dict[str, Any]]:
    yield appwrapper(component(_of("ray.io/v1", "RayCluster", **_ray())))
    yield appwrapper(component(_of("ray.io/v1", "RayJob", rayClusterSpec=_ray())))
    jobs = [{"name": "a", "replicas": 2, "template": {"spec": {"template": _GPU_PODS}}}]
    yield appwrapper(
        component(_of("jobset.x-k8s.io/v1alpha2", "JobSet", replicatedJobs=jobs)),
        component(_of("batch/v1", "Job", template=_PODS, ttlSecondsAfterFinished=1)),
    )
    replicas = {"Launcher": {"template": _PODS}, "Worker": {"replicas": 2, "template": _GPU_PODS}}
    yield appwrapper(component(_of("kubeflow.org/v2beta1", "MPIJob", mpiReplicaSpecs=replicas)))
    leader = {"size": 2, "leaderTemplate": _PODS, "workerTemplate": _GPU_PODS}
    yield appwrapper(
        component(
            _of("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", leaderWorkerTemplate=leader),
            annotations={ANNOTATION_HELPER: "true"},
        )
    )
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "v"}}
    web = _of("apps/v1", "Deployment", template=_PODS, replicas=2)
    job = _of("batch/v1", "Job", template=_PODS, completions=2, parallelism=2)
    kept = {f"{ANNOTATION_PREFIX}keep": "true"}
    generated = appwrapper(component(web), component(job), component(claim, annotations=kept))
    generated["metadata"] = {"generateName": "job-", "namespace": "team1"}
    yield generated
    claims = {"resourceClaims": [{"name": "c", "resourceClaimName": "d"}]}
    yield appwrapper(component({**POD, "metadata": {**POD["metadata"], "finalizers": ["a/b"]}}))
    yield appwrapper(component({**POD, "spec": {**POD["spec"], **claims}}))
    made = appwrapper(
        component(POD, podSets=[{"path": "template", "replicas": 1}]),
        component({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {}}),
        labels={"kueue.x-k8s.io/queue-name": "q", "team": "a"},
        suspend=True,
        managedBy="workload.codeflare.dev/appwrapper-controller",
    )
    made["metadata"]["annotations"] = {
        f"{ANNOTATION_PREFIX}retryLimit": "5",
        f"{ANNOTATION_PREFIX}successTTLDuration": "7d",
        f"{ANNOTATION_PREFIX}failureGracePeriodDuration": "48h",
        f"{ANNOTATION_PREFIX}terminalExitCodes": "1,2",
    }
    yield made


def _ray() -> dict[str, Any]:
    groups = [{"groupName": "a", "replicas": 2, "numOfHosts": 2, "template": _GPU_PODS}]
    return {"headGroupSpec": {"template": _PODS}, "workerGroupSpecs": groups}


def _of(api_version: str, kind: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}

"""Builds, for each Kind with pods, one ordinary object and variants that its record might misread.

`python -m tests.support.record_kind_shapes` shows them to the real API server and operators.
"""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from shared.api.objects import JsonObject
from shared.kinds.kind import MOST_POD_SETS, elements_of
from shared.kinds.table import BY_GROUP_KIND

GPU: Final = "nvidia.com/gpu"
_PODS: Final[JsonObject] = {
    "metadata": {"annotations": {"simulation.localcluster.dev/hang": "running"}},
    "spec": {
        "containers": [
            # The Training Operator requires this name.
            {"name": "pytorch", "image": "none", "resources": {"limits": {GPU: "1"}}},
        ],
    },
}
_ONCE: Final[JsonObject] = {**_PODS, "spec": {**_PODS["spec"], "restartPolicy": "Never"}}
_MANY: Final = MOST_POD_SETS + 1
_ABOVE: Final = 2**31


def _job(name: str) -> JsonObject:
    return {
        "name": name,
        "replicas": 2,
        "template": {"spec": {"parallelism": 2, "completions": 2, "template": _ONCE}},
    }


def _group(name: str) -> JsonObject:
    counts = {"replicas": 2, "minReplicas": 0, "maxReplicas": 2}
    return {"groupName": name, "rayStartParams": {}, "template": _PODS, **counts}


def _groups(count: int) -> list[JsonObject]:
    least = {"replicas": 1, "maxReplicas": 1}
    return [{**_group(f"g{index}"), **least} for index in range(count)]


_CLUSTER: Final[JsonObject] = {
    "rayVersion": "2.46.0",
    "headGroupSpec": {"rayStartParams": {}, "template": _PODS},
    "workerGroupSpecs": [_group("g")],
}
_ONE_ROLE: Final[JsonObject] = {"replicas": 1, "restartPolicy": "Never", "template": _ONCE}
_TWO: Final[JsonObject] = {**_ONE_ROLE, "replicas": 2}
_NAMELESS: Final[JsonObject] = {"replicas": 2, "restartPolicy": "Never"}


def _runtime_job(name: str, step: str = "", **spec: Any) -> JsonObject:
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": step} if step else {}
    container = {"name": "node", "image": "none", "resources": {"limits": {GPU: "1"}}}
    pods = {**_ONCE, "spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "name": name,
        "template": {"metadata": {"labels": labels}, "spec": {**spec, "template": pods}},
    }


def _runtime(*jobs: JsonObject, **policy: Any) -> JsonObject:
    return {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": list(jobs)}}}


_TRAINS: Final = _runtime_job("node", "trainer", parallelism=5)
_HELPS: Final = {**_runtime_job("extra", parallelism=2, completions=3), "replicas": 2}


# The ordinary object of each Kind: its apiVersion and its spec.
_ORDINARY: Final[dict[str, tuple[str, JsonObject]]] = {
    "Pod": ("v1", _ONCE["spec"]),
    "batch/Job": ("batch/v1", {"parallelism": 2, "completions": 2, "template": _ONCE}),
    "apps/Deployment": (
        "apps/v1",
        {"replicas": 2, "selector": {"matchLabels": {"app": "shape"}}, "template": _PODS},
    ),
    "apps/StatefulSet": (
        "apps/v1",
        {
            "replicas": 2,
            "serviceName": "shape",
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"app": "shape"}},
            "template": _PODS,
        },
    ),
    "jobset.x-k8s.io/JobSet": (
        "jobset.x-k8s.io/v1alpha2",
        {"replicatedJobs": [_job("a")]},
    ),
    "leaderworkerset.x-k8s.io/LeaderWorkerSet": (
        "leaderworkerset.x-k8s.io/v1",
        {"replicas": 2, "leaderWorkerTemplate": {"size": 2, "workerTemplate": _PODS}},
    ),
    "kubeflow.org/PyTorchJob": (
        "kubeflow.org/v1",
        {"pytorchReplicaSpecs": {"Master": _ONE_ROLE, "Worker": _TWO}},
    ),
    "kubeflow.org/MPIJob": (
        "kubeflow.org/v2beta1",
        {"mpiReplicaSpecs": {"Launcher": _ONE_ROLE, "Worker": _TWO}},
    ),
    "trainer.kubeflow.org/TrainingRuntime": (
        "trainer.kubeflow.org/v1alpha1",
        _runtime(_TRAINS, _HELPS, numNodes=2),
    ),
    "ray.io/RayCluster": ("ray.io/v1", _CLUSTER),
    "ray.io/RayJob": (
        "ray.io/v1",
        {
            "entrypoint": "true",
            "submissionMode": "HTTPMode",
            "shutdownAfterJobFinishes": True,
            "rayClusterSpec": _CLUSTER,
        },
    ),
}

# What a count can be instead of a number of pods.
_COUNTS: Final[dict[str, Any]] = {
    "-1": -1,
    "a string": "2",
    "2.0": 2.0,
    "1.5": 1.5,
    "null": None,
    "2147483648": _ABOVE,
}


def _of(path: str, values: Mapping[str, Any] = _COUNTS) -> dict[str, JsonObject]:
    short = path.removeprefix("spec.")
    return {f"{short}: {name}": {path: value} for name, value in values.items()}


def _version(api_version: str) -> dict[str, JsonObject]:
    return {api_version: {"apiVersion": api_version}}


_TEMPLATES: Final = {"null": None, "a string": "x"}
_ROLES: Final[dict[str, Any]] = {"null": None, "a list": [], "without template": _NAMELESS}
_JOBS: Final = "spec.replicatedJobs"
_RUNTIME_JOBS: Final = "spec.template.spec.replicatedJobs"
_LWS: Final = "spec.leaderWorkerTemplate"
_TORCH, _MPI = "spec.pytorchReplicaSpecs", "spec.mpiReplicaSpecs"
_LISTS: Final[dict[str, Any]] = {"null": None, "an object": {}, "[null]": [None], "[{}]": [{}]}


def _of_ray(cluster: str) -> dict[str, JsonObject]:
    groups = f"{cluster}.workerGroupSpecs"
    numbers = {"-1": -1, "a string": "2"}
    return {
        **_of(f"{groups}[0].replicas"),
        **_of(f"{groups}[0].minReplicas", numbers),
        **_of(f"{groups}[0].maxReplicas", {"-1": -1, "1": 1}),
        "minReplicas above replicas": {
            f"{groups}[0].minReplicas": 3,
            f"{groups}[0].maxReplicas": 3,
        },
        **_of(f"{groups}[0].numOfHosts", {**numbers, "0": 0, "3": 3}),
        **_of(f"{groups}[0].template", _TEMPLATES),
        **_of(groups, _LISTS),
        "101 groups": {groups: _groups(_MANY)},
        "two groups of one name": {groups: [_group("g"), _group("g")]},
        **_version("ray.io/v1alpha1"),
        "ray.io/v1alpha1, 101 groups": {
            "apiVersion": "ray.io/v1alpha1",
            groups: _groups(_MANY),
        },
    }


# Changes of the ordinary object, by Kind and name: path -> value.
SHAPES: Final[dict[str, dict[str, JsonObject]]] = {
    "Pod": {"ordinary": {}, **_version("v2")},
    "batch/Job": {
        "ordinary": {},
        **_of("spec.parallelism"),
        **_of("spec.completions", {"-1": -1, "null": None, "0": 0, "1": 1}),
        **_of("spec.template", _TEMPLATES),
        **_version("batch/v1beta1"),
    },
    "apps/Deployment": {
        "ordinary": {},
        **_of("spec.replicas"),
        **_of("spec.template", _TEMPLATES),
        **_version("apps/v1beta1"),
    },
    "apps/StatefulSet": {
        "ordinary": {},
        **_of("spec.replicas"),
        **_of("spec.template", _TEMPLATES),
        **_version("apps/v1beta1"),
    },
    "jobset.x-k8s.io/JobSet": {
        "ordinary": {},
        **_of(f"{_JOBS}[0].replicas"),
        **_of(f"{_JOBS}[0].template.spec.parallelism", {"-1": -1, "a string": "2", "null": None}),
        "both counts -1": {
            f"{_JOBS}[0].replicas": -1,
            f"{_JOBS}[0].template.spec.parallelism": -1,
        },
        **_of(f"{_JOBS}[0].template", _TEMPLATES),
        **_of(_JOBS, _LISTS),
        "two Jobs of one name": {_JOBS: [_job("a"), _job("a")]},
        "101 Jobs": {_JOBS: [{**_job(f"j{index}"), "replicas": 1} for index in range(_MANY)]},
    },
    "leaderworkerset.x-k8s.io/LeaderWorkerSet": {
        "ordinary": {},
        "leaders": {f"{_LWS}.leaderTemplate": _PODS},
        **_of("spec.replicas"),
        **_of(f"{_LWS}.size", {**_COUNTS, "0": 0}),
        **_of(f"{_LWS}.workerTemplate", _TEMPLATES),
        **_of(f"{_LWS}.leaderTemplate", {**_TEMPLATES, "{}": {}}),
        "65536 groups of 65536": {"spec.replicas": 65536, f"{_LWS}.size": 65536},
    },
    "kubeflow.org/PyTorchJob": {
        "ordinary": {},
        **_of(f"{_TORCH}.Worker.replicas"),
        **_of(f"{_TORCH}.Master.replicas", {"-1": -1, "2": 2, "null": None}),
        **_of(f"{_TORCH}.Worker", _ROLES),
        **_of(_TORCH, {"null": None, "a list": [], "{}": {}}),
        "role worker": {_TORCH: {"Master": _ONE_ROLE, "worker": _TWO}},
        "role Chief": {_TORCH: {"Master": _ONE_ROLE, "Chief": _TWO}},
        "roles Worker and worker": {
            _TORCH: {"Master": _ONE_ROLE, "Worker": _ONE_ROLE, "worker": _TWO}
        },
    },
    "kubeflow.org/MPIJob": {
        "ordinary": {},
        **_of(f"{_MPI}.Worker.replicas"),
        **_of(f"{_MPI}.Launcher.replicas", {"-1": -1, "0": 0, "2": 2, "null": None}),
        **_of(f"{_MPI}.Worker", _ROLES),
        **_of(_MPI, {"null": None, "a list": [], "{}": {}}),
        "role worker": {_MPI: {"Launcher": _ONE_ROLE, "worker": _TWO}},
        **_version("kubeflow.org/v1alpha2"),
    },
    "trainer.kubeflow.org/TrainingRuntime": {
        "ordinary": {},
        **_of("spec.mlPolicy.numNodes", {**_COUNTS, "0": 0}),
        **_of("spec.mlPolicy", {"null": None, "{}": {}, "a string": "x"}),
        "torch": {"spec.mlPolicy.torch": {}},
        "mpi": {
            "spec": _runtime(
                {**_runtime_job("launcher", "trainer"), "replicas": 1},
                _runtime_job("node", parallelism=3),
                numNodes=1,
                mpi={"numProcPerNode": 1},
            )
        },
        "two trainers": {_RUNTIME_JOBS: [_TRAINS, _runtime_job("other", "trainer")]},
        "no trainer": {_RUNTIME_JOBS: [_HELPS]},
        **_of(f"{_RUNTIME_JOBS}[1].replicas", {"-1": -1, "a string": "2", "null": None, "0": 0}),
        **_of(
            f"{_RUNTIME_JOBS}[1].template.spec.parallelism",
            {"-1": -1, "a string": "2", "null": None, "0": 0},
        ),
        **_of(f"{_RUNTIME_JOBS}[1].template", _TEMPLATES),
        **_of(_RUNTIME_JOBS, _LISTS),
        "two Jobs of one name": {_RUNTIME_JOBS: [_TRAINS, _HELPS, _HELPS]},
        "101 Jobs": {_RUNTIME_JOBS: [_runtime_job(f"j{index}") for index in range(_MANY)]},
    },
    "ray.io/RayCluster": {"ordinary": {}, **_of_ray("spec")},
    "ray.io/RayJob": {
        "ordinary": {},
        **_of_ray("spec.rayClusterSpec"),
        "without a cluster": {"spec.rayClusterSpec": None},
    },
}


def shaped(kind: str, name: str) -> JsonObject:
    """Returns the object of a Kind (`group/Kind`) in one of its shapes."""
    api_version, spec = _ORDINARY[kind]
    made: JsonObject = {
        "apiVersion": api_version,
        "kind": BY_GROUP_KIND[kind].resource.kind,
        "metadata": {"name": "shape"},
        "spec": spec,
    }
    made = orjson.loads(orjson.dumps(made))
    if kind.startswith("apps/"):
        made["spec"]["template"]["metadata"]["labels"] = {"app": "shape"}
    for path, value in SHAPES[kind][name].items():
        *way, last = elements_of(f"template.{path}")
        place: Any = made
        for each in way:
            place = place[each]
        place[last] = orjson.loads(orjson.dumps(value))
    return made


def beside(template: JsonObject) -> list[JsonObject]:
    """Returns what must be created after the object before it has pods: its TrainJob."""
    if template["kind"] != "TrainingRuntime":
        return []
    name = template["metadata"]["name"]
    ref = {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": name}
    return [
        {
            "apiVersion": template["apiVersion"],
            "kind": "TrainJob",
            "metadata": {"name": name},
            "spec": {"runtimeRef": ref},
        }
    ]

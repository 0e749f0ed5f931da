"""Additions of admission to pod templates."""

import copy
from collections.abc import Iterator
from typing import Any

from shared.api.component_digest import component_digest
from shared.api.names import ANNOTATION_SUBMITTED_DIGEST, LABEL_APPWRAPPER
from shared.api.objects import JsonObject
from tests.support.admission_corpus.case import (
    BY,
    NAME,
    SCHEDULER,
    TEAM,
    USER,
    USERID,
    Case,
    appwrapper,
)
from tests.support.builders import mlbatch
from tests.support.builders.autopilot import BAD, BY_DEFAULT, GPU, PREFERRED, REQUIRED, WORSE
from tests.support.builders.wrapped_kinds import (
    GROUP,
    LEADER_WORKER_SET,
    MPI_ROLES,
    mpi_job,
    pod,
    pytorch_job,
    template,
)

_COMPONENT = "spec.components[0]"
_ROLES = f"{_COMPONENT}.template.spec.pytorchReplicaSpecs"


def _requesting(part: str, kind_of: str, resource: str = GPU, amount: Any = 1) -> JsonObject:
    container = {"name": "c", "image": "i", "resources": {kind_of: {resource: amount}}}
    idle = [{"name": "idle", "image": "i"}]
    spec: JsonObject = {"containers": [container]}
    if part == "initContainers":
        spec = {"containers": idle, "initContainers": [container]}
    return {**pod(), "spec": spec}


_REQUESTS = (
    (_requesting("containers", "requests"), BY_DEFAULT),
    (_requesting("containers", "limits"), BY_DEFAULT),
    (_requesting("initContainers", "requests"), BY_DEFAULT),
    (_requesting("initContainers", "limits"), BY_DEFAULT),
    (_requesting("containers", "limits", amount="1m"), BY_DEFAULT),
    (_requesting("containers", "limits", amount=0), None),
    (_requesting("containers", "limits", amount="0"), None),
    (_requesting("initContainers", "requests", amount="0k"), None),
    (_requesting("containers", "limits", "nvidia.com/roce_gdr"), None),
)


def _affinities() -> Iterator[Case]:
    for number, (requesting, affinity) in enumerate(_REQUESTS, 1):
        kept_off = "an affinity against bad nodes" if affinity else "no affinity"
        yield Case(
            name=f"a pod's resources, number {number} -> {kept_off}",
            sent=appwrapper(requesting),
            stored={f"{_COMPONENT}.template.spec.affinity": affinity},
        )
    for gpus in (0, 8):
        yield Case(
            name=f"master and worker with {gpus} GPUs -> the same affinity in both",
            sent=appwrapper(pytorch_job(Master=template(gpus), Worker=template(gpus))),
            stored={
                f"{_ROLES}.{role}.template.spec.affinity": BY_DEFAULT if gpus else None
                for role in ("Master", "Worker")
            },
        )


def _one_of_two() -> Case:
    job = pytorch_job(Master=template(8), Worker=template())
    digest = component_digest({"template": job})
    stored: JsonObject = {f"{_COMPONENT}.annotations": {ANNOTATION_SUBMITTED_DIGEST: digest}}
    for role, affinity in (("Master", BY_DEFAULT), ("Worker", None)):
        of_role = f"{_ROLES}.{role}.template"
        stored[f"{of_role}.metadata.labels"] = {LABEL_APPWRAPPER: NAME}
        stored[f"{of_role}.spec.schedulerName"] = SCHEDULER
        stored[f"{of_role}.spec.affinity"] = affinity
    return Case(
        name="GPUs in one role -> label and scheduler in both, affinity in one",
        sent=appwrapper(job),
        stored=stored,
    )


def _own_terms() -> Case:
    zone = {"key": "zone", "operator": "In", "values": ["a"]}
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    own = {
        "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [zone]}, here, {}]}}
    }
    extended = [
        {"matchExpressions": [zone, BAD]},
        {**here, "matchExpressions": [BAD]},
        {},  # matches no node, and must not begin to
    ]
    return Case(
        name="a user's own scheduler and node selector terms -> they stay, each term extended",
        sent=appwrapper(pytorch_job(Master=template(8, schedulerName="mine", affinity=own))),
        stored={
            f"{_ROLES}.Master.template.spec.schedulerName": "mine",
            f"{_ROLES}.Master.template.spec.affinity.nodeAffinity": {
                REQUIRED: {"nodeSelectorTerms": extended},
                PREFERRED: [WORSE],
            },
        },
    )


def _injected(made: JsonObject, gpus: bool) -> JsonObject:
    spec = {**made["spec"], "schedulerName": SCHEDULER}
    if gpus:
        spec["affinity"] = BY_DEFAULT
    return {"metadata": {**made["metadata"], "labels": {LABEL_APPWRAPPER: NAME}}, "spec": spec}


def _declared() -> Iterator[Case]:
    leaders = f"{_COMPONENT}.{GROUP}"
    yield Case(
        name="a LeaderWorkerSet without pod sets -> they are declared and injected",
        sent=appwrapper(LEADER_WORKER_SET),
        stored={
            f"{_COMPONENT}.podSets": [
                {"path": f"{GROUP}.leaderTemplate", "replicas": 2},
                {"path": f"{GROUP}.workerTemplate", "replicas": 4},
            ],
            f"{leaders}.leaderTemplate": _injected(template(), gpus=False),
            f"{leaders}.workerTemplate": _injected(template(8), gpus=True),
        },
    )
    roles = f"{_COMPONENT}.{MPI_ROLES}"
    yield Case(
        name="an MPIJob without pod sets -> they are declared and injected",
        sent=appwrapper(mpi_job("v2beta1")),
        stored={
            f"{_COMPONENT}.podSets": [
                {"path": f"{MPI_ROLES}.Launcher.template", "replicas": 1},
                {"path": f"{MPI_ROLES}.Worker.template", "replicas": 4},
            ],
            f"{roles}.Launcher.template": _injected(template(), gpus=False),
            f"{roles}.Worker.template": _injected(template(8), gpus=True),
        },
    )


def _mlbatch() -> Case:
    """Admission adds only the label and the preference for good nodes."""
    file = mlbatch.training()
    file["metadata"]["namespace"] = TEAM
    [component] = copy.deepcopy(file["spec"]["components"])
    for role in component["template"]["spec"]["pytorchReplicaSpecs"].values():
        role["template"]["metadata"]["labels"][LABEL_APPWRAPPER] = mlbatch.NAME
        affinity = role["template"]["spec"]["affinity"]["nodeAffinity"]
        affinity[PREFERRED] = [WORSE]
        assert BAD in affinity[REQUIRED]["nodeSelectorTerms"][0]["matchExpressions"]
    return Case(
        name="the output of MLBatch's generator -> stored as it is, without a warning",
        sent=file,
        stored={
            f"{_COMPONENT}.template": component["template"],
            "spec.components[1]": None,
            "metadata.annotations": file["metadata"]["annotations"] | {BY: "alice"},
            "metadata.labels": {**file["metadata"]["labels"], USER: "alice", USERID: ""},
        },
    )


CASES = (*_affinities(), _one_of_two(), _own_terms(), *_declared(), _mlbatch())

"""Builds the objects of the measurements. Pure: plain JSON, the same for every contender."""

from pathlib import Path

import jsonpatch
import orjson
import yaml

from shared.api import names
from shared.api.objects import JsonObject
from shared.config.configuration import AppWrapperConfig
from webhook.admission_review import LARGEST_BODY, parse_review
from webhook.chain import mutate
from webhook.rules.submission import Facts
from webhook.verdicts import Patched

NAMESPACE = "bench"
CLUSTER_QUEUE = "bench-cluster-queue"
QUEUE = "bench-queue"
HELD_QUEUE = "bench-held-queue"
USER = "bench-user"
# Names an object's run and round; watches and deletes select by it.
BATCH_LABEL = "bench.localcluster.dev/batch"
NOBODY = "bench.localcluster.dev/nobody"

_FOLDER = Path(__file__).parent
_GROUP = "bench-users"
_GPU = "nvidia.com/gpu"
# Objects of `{},` less than fill a body, for the rest of the review.
_ROOM = 2_000
# Makes an AppWrapper of 0.9 MiB.
LARGE_ENVIRONMENT = 6_460
_IMAGE = "quay.io/project-codeflare/busybox:1.36"
# Fields that the API server sets before it calls a webhook.
_FROM_THE_API_SERVER = {
    "uid": "6c8e1f0e-8b0f-4c35-9d0a-6b7f3a9d2c11",
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "generation": 1,
    "managedFields": [
        {
            "manager": "kubectl-create",
            "operation": "Update",
            "apiVersion": names.API_VERSION,
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {".": {}, "f:components": {}}},
        }
    ],
}
_ENDS_AT_ONCE = {"simulation.localcluster.dev/run-for": "0s"}
_RUNS = {"simulation.localcluster.dev/hang": "running"}
_CRASHES_EACH_SECOND = {
    "simulation.localcluster.dev/run-for": "500ms",
    "simulation.localcluster.dev/exit-code": "1",
    "simulation.localcluster.dev/restart-after": "500ms",
}


def surroundings() -> list[JsonObject]:
    """Returns a namespace, its user, and queues whose quota limits nothing."""
    return [*yaml.safe_load_all((_FOLDER / "surroundings.yaml").read_text())]


def job(name: str, batch: str, queue: str | None) -> JsonObject:
    """Returns a Job of two pods that succeed as soon as they run; a wrapped Job has no queue."""
    labels = {BATCH_LABEL: batch} | ({names.LABEL_QUEUE_NAME: queue} if queue else {})
    return _job(name, labels, _pod(batch, _ENDS_AT_ONCE), 2, suspend=bool(queue))


def _job(
    name: str, labels: dict[str, str], template: JsonObject, pods: int, *, suspend: bool = False
) -> JsonObject:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            **({"suspend": True} if suspend else {}),
            "template": template,
        },
    }


def _pod(batch: str, behaviour: dict[str, str], gpus: int = 0) -> JsonObject:
    """Returns a pod template with `behaviour` for docs/maintainers/simulated-pods.md."""
    resources: JsonObject = {"requests": {"cpu": "1m", "memory": "1Mi"}}
    if gpus:
        resources["limits"] = {_GPU: str(gpus)}
    return {
        "metadata": {"annotations": behaviour, "labels": {BATCH_LABEL: batch}},
        "spec": {
            "restartPolicy": "Never",
            "containers": [
                {"name": "main", "image": _IMAGE, "command": ["true"], "resources": resources}
            ],
        },
    }


def appwrapper(name: str, batch: str, queue: str, template: JsonObject) -> JsonObject:
    """Returns an AppWrapper of one component."""
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.KIND,
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {BATCH_LABEL: batch, names.LABEL_QUEUE_NAME: queue},
        },
        "spec": {"components": [{"template": template}]},
    }


def wrapped_job(name: str, batch: str, queue: str) -> JsonObject:
    """Returns an AppWrapper of the Job that the platform is measured with."""
    return appwrapper(name, batch, queue, job(name, batch, None))


def left_alone(name: str, batch: str, queue: str) -> JsonObject:
    """Returns the same AppWrapper for a nonexistent controller: both operators ignore it."""
    document = wrapped_job(name, batch, queue)
    document["spec"]["managedBy"] = NOBODY
    return document


def running(name: str, batch: str, *, pods: int = 2, gpus: int = 0) -> JsonObject:
    """Returns an AppWrapper of a Job whose pods run until deleted; each requests `gpus`.

    It is reset at once after a fault and then stays down, so that no new pods disturb other
    measurements.
    """
    labels = {BATCH_LABEL: batch}
    document = appwrapper(name, batch, QUEUE, _job(name, labels, _pod(batch, _RUNS, gpus), pods))
    document["metadata"]["annotations"] = {
        f"{names.ANNOTATION_PREFIX}failureGracePeriodDuration": "0s",
        f"{names.ANNOTATION_PREFIX}retryPausePeriodDuration": "1h",
    }
    return document


def ended(name: str, batch: str, pods: int) -> JsonObject:
    """Returns an AppWrapper of a Job whose pods succeed as soon as they run."""
    wrapped = _job(name, {BATCH_LABEL: batch}, _pod(batch, _ENDS_AT_ONCE), pods)
    return appwrapper(name, batch, QUEUE, wrapped)


def flapping(name: str, batch: str) -> JsonObject:
    """Returns an AppWrapper of a Job of one pod whose container crashes and starts every second.

    The Job never fails, and the AppWrapper is not reset during its warm-up.
    """
    template = _pod(batch, _CRASHES_EACH_SECOND)
    template["spec"]["restartPolicy"] = "OnFailure"
    wrapped = _job(name, {BATCH_LABEL: batch}, template, 1)
    wrapped["spec"]["backoffLimit"] = 1_000_000
    document = appwrapper(name, batch, QUEUE, wrapped)
    document["metadata"]["annotations"] = {
        f"{names.ANNOTATION_PREFIX}warmupGracePeriodDuration": "1h"
    }
    return document


def pytorchjob() -> JsonObject:
    """Returns one master and three workers at 8 GPUs, as in a usual training job."""
    document: JsonObject = yaml.safe_load((_FOLDER / "pytorchjob.yaml").read_text())
    return document


def review(subject: JsonObject) -> bytes:
    """Returns a CREATE of `subject`, an AppWrapper, as the API server sends it to a webhook."""
    resource = {"group": names.GROUP, "version": names.VERSION, "resource": names.PLURAL}
    subject = subject | {"metadata": subject["metadata"] | _FROM_THE_API_SERVER}
    kind = {"group": names.GROUP, "version": names.VERSION, "kind": names.KIND}
    metadata = subject["metadata"]
    return orjson.dumps(
        {
            "kind": "AdmissionReview",
            "apiVersion": "admission.k8s.io/v1",
            "request": {
                "uid": "0b7a3f60-9d1c-4a8e-8f57-2f6c1f8a1b6e",
                "kind": kind,
                "resource": resource,
                "requestKind": kind,
                "requestResource": resource,
                "name": metadata["name"],
                "namespace": metadata["namespace"],
                "operation": "CREATE",
                "userInfo": {
                    "username": USER,
                    "uid": "4a1f",
                    "groups": [_GROUP, "system:authenticated"],
                },
                "object": subject,
                "oldObject": None,
                "dryRun": False,
                "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
            },
        }
    )


def mutate_review() -> bytes:
    """Returns a review for /mutate: a wrapped PyTorchJob as the user submitted it, about 3.5 KB."""
    return review(appwrapper("training", "review", QUEUE, pytorchjob()))


def validate_review() -> bytes:
    """Returns a review for /validate: the same, after our mutation and Kueue's."""
    return _mutated(appwrapper("training", "review", QUEUE, pytorchjob()))


def large_review() -> bytes:
    """Returns a CREATE of an AppWrapper of 0.9 MiB, after mutation."""
    template = job("large", "review", None)
    container = template["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [
        {"name": f"SETTING_{number:05d}", "value": "x" * 110} for number in range(LARGE_ENVIRONMENT)
    ]
    return _mutated(appwrapper("large", "review", QUEUE, template))


def largest_review() -> bytes:
    """Returns a review of nearly the largest size that our webhook reads.

    Its many empty objects take far more memory decoded than any other text of that size.
    """
    template = job("largest", "review", None)
    container = template["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [{}] * (LARGEST_BODY // 3 - _ROOM)
    return review(appwrapper("largest", "review", QUEUE, template))


def _mutated(subject: JsonObject) -> bytes:
    request = parse_review(review(subject))
    verdict = mutate(request, Facts(AppWrapperConfig()))
    assert isinstance(verdict, Patched), verdict
    mutated = jsonpatch.apply_patch(subject, verdict.patch)
    mutated["spec"]["suspend"] = True
    return review(mutated)

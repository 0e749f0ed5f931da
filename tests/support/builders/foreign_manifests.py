"""Collects manifests that no rule may reject: other tools and well-meaning users write them.

A rule that rejects one of them is too strict. A test adds the Go operator's own samples from its
module, if it has the module.
"""

import copy
from typing import Final

from shared.api.objects import JsonObject
from tests.support.builders import codeflare_sdk, mlbatch_samples, ordinary_manifests
from tests.support.builders.codeflare_sdk import ray_cluster, ray_job, wrapped

_SERVER_FIELDS: Final[JsonObject] = {
    "uid": "0a1b",
    "generation": 2,
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "finalizers": ["workload.codeflare.dev/finalizer"],
}


def foreign_manifests() -> dict[str, JsonObject]:
    """Returns the manifests, by origin and subject."""
    return {
        f"{origin}: {title}": made
        for origin, all_of_it in (
            ("codeflare-sdk", _of_codeflare_sdk()),
            ("mlbatch", mlbatch_samples.samples()),
            ("ordinary", ordinary_manifests.manifests()),
        )
        for title, made in all_of_it.items()
    }


def _of_codeflare_sdk() -> dict[str, JsonObject]:
    """Returns all its ways to submit, with their options."""
    gpus = ray_cluster("gpus", 4, head_gpus=1, worker_gpus=8)
    options = ray_cluster(
        "options",
        2,
        worker_gpus=1,
        annotations={"app.kubernetes.io/managed-by": "/notebook/team"},
        env=[{"name": "A", "value": "b"}],
        volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        volumeMounts=[{"name": "data", "mountPath": "/data"}],
        pod={
            "imagePullSecrets": [{"name": "registry"}],
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        },
    )
    secret = {"valueFrom": {"secretKeyRef": {"name": "redis", "key": "password"}}}
    redis = {"redisAddress": "redis:6379", "redisPassword": secret}
    tolerant = ray_cluster("tolerant", spec={"gcsFaultToleranceOptions": redis})
    with_tls = codeflare_sdk.with_tls_of_its_operator(gpus)
    stored_job = copy.deepcopy(ray_job("script", files="script"))
    stored_job["metadata"]["uid"] = "0a1b"
    return {
        "a raycluster": ray_cluster("plain"),
        "a raycluster whose queue is not found": ray_cluster("queueless", queue=False),
        "a raycluster without workers": ray_cluster("head-only", 0, head_gpus=1),
        "a raycluster of gpus": gpus,
        "a raycluster with options": options,
        "a raycluster with redis": tolerant,
        "a raycluster with tls": with_tls,
        "a wrapped raycluster": wrapped(ray_cluster("plain")),
        "a wrapped raycluster whose queue is not found": wrapped(ray_cluster("q"), queue=False),
        "a wrapped raycluster of gpus": wrapped(gpus),
        "a wrapped raycluster with options": wrapped(options),
        "a wrapped raycluster with redis": wrapped(tolerant),
        "a wrapped raycluster with tls": wrapped(with_tls),
        "a rayjob": ray_job("job", 2, worker_gpus=8),
        "a rayjob whose queue is not found": ray_job("job", queue=False),
        "a rayjob of a script": ray_job("script", files="script"),
        "a rayjob of a folder": ray_job("folder", 1, worker_gpus=1, files="zip"),
        "a rayjob with a deadline and a priority": ray_job(
            "late", spec={"activeDeadlineSeconds": 3600}, priority="high"
        ),
        "a rayjob on a raycluster": ray_job("onto", existing="plain"),
        "a rayjob of a folder on a raycluster": ray_job("onto", existing="plain", files="zip"),
        "a rayjob's files": codeflare_sdk.file_secret(stored_job),
    }


def kinds_of(made: JsonObject) -> set[str]:
    """Returns the wrapped Kinds; its own Kind if it wraps nothing."""
    if made["kind"] != "AppWrapper":
        return {made["kind"]}
    return {each["template"]["kind"] for each in made["spec"]["components"]}


def is_wrapped(made: JsonObject) -> bool:
    return bool(made["kind"] == "AppWrapper")


def copies_of(stored: JsonObject) -> dict[str, JsonObject]:
    """Returns the copies that users and tools make of a stored AppWrapper, to submit it again.

    They remove resourceVersion, which the API server rejects in a create, and the podSetInfos.
    """
    copied: JsonObject = copy.deepcopy(stored)
    copied["metadata"] |= _SERVER_FIELDS
    for key in ("resourceVersion", "managedFields"):
        copied["metadata"].pop(key, None)
    for component in copied["spec"]["components"]:
        component.pop("podSetInfos", None)
    copied["status"] = {"phase": "Running", "retries": 1, "conditions": []}
    renamed = copy.deepcopy(copied)
    renamed["metadata"].pop("generateName", None)
    renamed["metadata"]["name"] = "renamed"
    suspended: JsonObject = copy.deepcopy(copied)
    suspended["spec"]["suspend"] = True
    return {
        "kubectl get -o yaml": copied,
        "the same under another name": renamed,
        "the same while it waited": suspended,
        "codeflare-sdk's get_cluster": codeflare_sdk.fetched(stored),
    }

"""What the webhook warns of and lets pass, as kubectl prints it."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from localcluster.access.running import RunningCluster
from tests.support.builders.admission import SERVICE, component
from tests.support.builders.annotations import PREFIX, prefixed
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.waiting_case import NAME, WAITING, manifest, stored
from tests.support.team import NAMESPACE

USER = "workload.codeflare.dev/user"
BUSY = {"name": "busy", "image": "i", "resources": {"limits": {"cpu": 1}}}
SIDECAR = {**BUSY, "name": "side", "restartPolicy": "Always"}
SPEC = {
    **WAITING["spec"],
    "initContainers": [SIDECAR],
    "containers": [*WAITING["spec"]["containers"], BUSY],
}
# What is warned of, each for a reason of its own.
TEMPLATES: tuple[dict[str, Any], ...] = (
    {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"annotations": prefixed(retryLimit="5")},
        "spec": {
            "ttlSecondsAfterFinished": 5,
            "template": {"spec": {**SPEC, "terminationGracePeriodSeconds": 3600}},
        },
    },
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    },
    {"apiVersion": "v1", "kind": "Secret", "stringData": {"password": "hunter2"}},
    {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    },
    {**SERVICE, "metadata": {"finalizers": ["example.com/hold"]}},
)


def warnings(user: str) -> list[str]:
    """What is printed for an AppWrapper of all that."""
    return [
        f'metadata.labels[{USER}]: remove it from the file: it is overwritten with "{user}"',
        "spec.components[0].template.spec.template.spec.initContainers[0].resources: not counted "
        "against the quota: Kueue counts this sidecar as an init container that ends before the "
        "pod's containers start",
        f"metadata.annotations[{PREFIX}delectionOnFailureGracePeriodDuration]: unknown, so it does "
        "nothing; the nearest known one is deletionOnFailureGracePeriodDuration",
        f"spec.components[0].template.metadata.annotations[{PREFIX}retryLimit]: it does nothing "
        "here; it belongs in metadata.annotations of the AppWrapper",
        "spec.components[3]: every reset and suspension deletes this PersistentVolumeClaim with "
        f'its data: annotate the component {PREFIX}keep: "true", or create it outside the '
        "AppWrapper",
        "spec.components[2]: every user who may read AppWrappers can read this Secret: create "
        "it outside the AppWrapper and refer to it by name",
        "spec.components[4].template.metadata.finalizers: resets and suspensions wait, and the "
        "quota stays reserved, until the owners of these finalizers remove them",
        "spec.components[0].template.spec.ttlSecondsAfterFinished: 5 is short: a Job that is gone "
        "before the controller saw its end counts as lost, and the AppWrapper fails; leave it out, "
        "or use 60 or more",
        "spec.components[0].template.spec.template.spec.terminationGracePeriodSeconds: pods get "
        "600 instead of 3600: the operator's forceful deletion period is 10m",
        "spec.components[1]: a Deployment never completes, so the AppWrapper will never succeed; "
        f'if it only serves the others, annotate the component {PREFIX}helper: "true"',
        "spec.components[0].template.spec.backoffLimit: absent means 6, which lets the Job replace "
        "failed pods first, so terminalExitCodes may never apply: write 0",
    ]


@pytest.fixture
async def kubectl(cluster: RunningCluster) -> AsyncIterator[Kubectl]:
    command = Kubectl(cluster.kubectl, cluster.kubeconfig)
    yield command
    await command("delete", "appwrapper", NAME, "-n", NAMESPACE, "--ignore-not-found")


async def test_every_warning_is_printed_whole(cluster: RunningCluster, kubectl: Kubectl) -> None:
    who = json.loads(await kubectl("auth", "whoami", "-o", "json"))["status"]["userInfo"]
    templates = [
        {**each, "metadata": {"name": NAME, **each.get("metadata", {})}} for each in TEMPLATES
    ]
    file = manifest(
        *map(component, templates),
        name=NAME,
        labels={USER: "somebody-else"},
        annotations=prefixed(delectionOnFailureGracePeriodDuration="1h", terminalExitCodes="42"),
    )
    made = await kubectl.run("create", "-f", "-", stdin=file)
    expected = [f"Warning: {text}" for text in warnings(who["username"].replace(":", "_"))]
    assert (made.code, made.err.splitlines()) == (0, expected)
    assert (await stored(cluster))["metadata"]["labels"][USER] != "somebody-else"

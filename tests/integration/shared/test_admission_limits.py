"""Annotations, names and sizes behind the real API server: what kubectl's users read and get."""

import json
import re
from base64 import b64decode
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from localcluster.access.running import RunningCluster
from localcluster.product import NAMESPACE as OPERATOR
from tests.support.builders.admission import component, review
from tests.support.builders.annotations import PREFIX, prefixed
from tests.support.cluster.kubectl import Completed, Kubectl
from tests.support.cluster.settled import until_settled
from tests.support.cluster.unchanged import assert_same
from tests.support.cluster.waiting_case import NAME, WAITING, manifest, stored, waiting
from tests.support.cluster.webhook_process import client, webhook_process, write_pair
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE

QUEUE = "kueue.x-k8s.io/queue-name"


def annotated(**annotations: str) -> str:
    return manifest(name=NAME, annotations=prefixed(**annotations))


@pytest.fixture
async def kubectl(cluster: RunningCluster) -> AsyncIterator[Kubectl]:
    command = Kubectl(cluster.kubectl, cluster.kubeconfig)
    yield command
    await command("delete", "appwrapper", NAME, "-n", NAMESPACE, "--ignore-not-found")


async def ours(cluster: RunningCluster) -> dict[str, str]:
    """The stored annotations of ours, by their names without the prefix."""
    annotations = (await stored(cluster))["metadata"]["annotations"]
    return {
        key.removeprefix(PREFIX): value
        for key, value in annotations.items()
        if key.startswith(PREFIX)
    }


async def annotate(kubectl: Kubectl, **annotations: str) -> Completed:
    pairs = [f"{key}={value}" for key, value in prefixed(**annotations).items()]
    command = ("annotate", "--overwrite", "appwrapper", NAME, "-n", NAMESPACE)
    return await kubectl.run(*command, *pairs)


async def refused(kubectl: Kubectl, file: str) -> tuple[int, str]:
    done = await kubectl.run("create", "-f", "-", stdin=file)
    return done.code, done.err


# Periods


STORED = {
    "successTTLDuration": "168h",
    "warmupGracePeriodDuration": "24h",
    "failureGracePeriodDuration": "90s",
}


async def test_periods_are_stored_within_their_limits_and_the_same_file_is_a_no_op(
    cluster: RunningCluster, kubectl: Kubectl
) -> None:
    sent = {**STORED, "successTTLDuration": "7d", "warmupGracePeriodDuration": "48h"}
    warmup = f"{PREFIX}warmupGracePeriodDuration"
    first = await waiting(cluster, kubectl, annotated(**sent))
    assert first.err == (
        f"Warning: {warmup}: lowered from 48h to 24h, the most that the operator allows\n"
    )
    assert await ours(cluster) == STORED
    before = (await until_settled(lambda: stored(cluster)))["metadata"]["generation"]
    for command in ("apply", "replace"):
        again = await kubectl.run(command, "-f", "-", stdin=annotated(**sent))
        assert again.code == 0
        # A replacement also says that Kueue's suspend was put back.
        assert again.err.splitlines()[-1] == (
            f"Warning: {warmup}: 48h is more than the operator allows, so it stays 24h"
        )
        assert await ours(cluster) == STORED
        assert (await stored(cluster))["metadata"]["generation"] == before


async def test_applying_the_same_file_changes_nothing(
    cluster: RunningCluster, kubectl: Kubectl
) -> None:
    file = annotated(successTTLDuration="7d", warmupGracePeriodDuration="48h")
    await waiting(cluster, kubectl, file)
    before = await stored(cluster)
    await kubectl("apply", "-f", "-", stdin=file)
    assert_same(await stored(cluster), before)


# Values


# Names


async def test_the_longest_name_is_queued(cluster: RunningCluster, kubectl: Kubectl) -> None:
    """So 61 is not one too many: Kueue's Workload has a pod set of 63 characters."""
    name = "a" * 61
    await kubectl("create", "-f", "-", stdin=manifest(name=name))

    async def pod_sets() -> list[str]:
        query = ["get", "workloads", "-n", NAMESPACE, "-o", "json"]
        found = json.loads(await kubectl(*query))["items"]
        return [
            one["name"]
            for workload in found
            for one in workload["spec"]["podSets"]
            if one["name"].startswith(name)
        ]

    try:
        await comes_to(pod_sets, [f"{name}-0"])
    finally:
        await kubectl("delete", "appwrapper", name, "-n", NAMESPACE)


# Size


async def test_a_large_appwrapper_is_warned_of_and_a_larger_one_refused(kubectl: Kubectl) -> None:
    def file(kibibytes: int) -> str:
        data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}}
        return manifest(
            component(WAITING), component({**data, "data": {"x": "x" * (kibibytes << 10)}})
        )

    made = await kubectl.run("create", "-f", "-", stdin=file(300))
    assert made.code == 0
    assert re.fullmatch(
        r"Warning: the AppWrapper is large: 30[0-2] KiB, of which spec\.components\[1\]\.template "
        r"has 300; every change of its status writes and sends all of it: keep data in an image or "
        r"a volume\n",
        made.err,
    )
    code, error = await refused(kubectl, file(1024))
    assert code == 1
    assert re.fullmatch(
        rf'The AppWrapper "{NAME}" is invalid: spec\.components\[1\]\.template: Too long: the '
        r"AppWrapper has 10[0-9]{5} bytes, of which this component has 104[89][0-9]{3}; at most "
        r"1048576 are allowed \(maxObjectSize\): keep data in an image or a volume\n",
        error,
    )


# Quota


# Under another configuration


async def test_without_a_default_queue_and_under_reject(
    cluster: RunningCluster, tmp_path: Path
) -> None:
    """In a team's namespace; a process of its own, beside the one that serves the cluster."""
    write_pair(tmp_path, 1)
    kubeconfig = await cluster.service_account_kubeconfig(OPERATOR, "appwrapper-webhook")
    config = {"gracePeriodMaximumPolicy": "Reject", "userRBACAdmissionCheck": False}
    made = json.loads(annotated(warmupGracePeriodDuration="48h", failureGracePeriodDuration="24h"))
    flags = ("--cert-dir", str(tmp_path))
    async with (
        webhook_process(tmp_path, kubeconfig, *flags, appwrapper=config) as webhook,
        client(await webhook.ready_port()) as http,
    ):
        asked = review(made, name=NAME, namespace=NAMESPACE)
        mutated = (await http.post("/mutate", json=asked)).json()["response"]
        judged = (await http.post("/validate", json=asked)).json()["response"]
    operations = json.loads(b64decode(mutated["patch"]))
    paths = [each["path"] for each in operations]
    assert not [path for path in paths if "GracePeriodDuration" in path]
    assert "warnings" not in mutated
    assert judged["status"]["message"] == (
        f'AppWrapper.workload.codeflare.dev "{NAME}" is invalid: [metadata.labels[{QUEUE}]: '
        f"Required value: add the label {QUEUE}: LOCALQUEUE (`kubectl get localqueues -n "
        f"{NAMESPACE}` lists them); this cluster has no default queue, "
        f"metadata.annotations[{PREFIX}warmupGracePeriodDuration]: Invalid value: "
        '"48h": must be at most 24h, the operator\'s limit]'
    )

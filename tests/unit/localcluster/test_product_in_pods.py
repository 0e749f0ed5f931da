"""When our Deployments are rolled out, and what is said where they are not."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from localcluster.access.running import OwnedCluster
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.progress import silent
from localcluster.machine.slowness import stretched
from localcluster.product_in_pods import DEFINITION, OVERLAY, ProductInPods, missing_of
from shared.api.objects import JsonObject


def deployment(**status: int) -> JsonObject:
    return {
        "metadata": {"name": "appwrapper-webhook", "generation": 3},
        "spec": {"replicas": 2},
        "status": {"observedGeneration": 3} | status,
    }


@pytest.mark.parametrize(
    ("status", "missing"),
    [
        ({"observedGeneration": 2}, "the controller manager has not seen it yet"),
        ({}, "0 of 2 pods are new"),
        ({"replicas": 3, "updatedReplicas": 1}, "1 of 2 pods are new"),
        ({"replicas": 3, "updatedReplicas": 2}, "1 old pods are not gone"),
        ({"replicas": 2, "updatedReplicas": 2}, "0 of 2 pods are available"),
        (
            {"replicas": 2, "updatedReplicas": 2, "availableReplicas": 1},
            "1 of 2 pods are available",
        ),
    ],
)
def test_obstacles_of_a_rollout_are_reported(status: dict[str, int], missing: str) -> None:
    assert missing_of(deployment(**status)) == f"appwrapper-webhook: {missing}"


def test_a_deployment_that_is_rolled_out() -> None:
    assert missing_of(deployment(replicas=2, updatedReplicas=2, availableReplicas=2)) is None


def test_a_new_deployment() -> None:
    made: JsonObject = {"metadata": {"name": "new", "generation": 1}, "spec": {}}
    assert missing_of(made) == "new: the controller manager has not seen it yet"


def cluster_with(kubectl: Path) -> Any:
    return SimpleNamespace(
        kubectl=kubectl, kubeconfig=Path("/c/kubeconfig"), reporter=silent, client=None
    )


async def test_the_definition_is_applied_as_a_person_does(tmp_path: Path) -> None:
    kubectl, told = tmp_path / "kubectl", tmp_path / "told"
    kubectl.write_text(f'#!/bin/sh\necho "$@" >> {told}\n')
    kubectl.chmod(0o755)
    await ProductInPods(cast(OwnedCluster, cluster_with(kubectl))).apply_definition()
    assert told.read_text().splitlines() == [
        f"--kubeconfig=/c/kubeconfig apply -k {DEFINITION}",
        "--kubeconfig=/c/kubeconfig wait --for=condition=Established"
        f" --timeout={stretched(180.0):.0f}s crd/appwrappers.workload.codeflare.dev",
    ]


async def test_a_refused_overlay_is_named_with_kubectls_message(tmp_path: Path) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text("#!/bin/sh\necho 'error: forbidden' >&2\nexit 1\n")
    kubectl.chmod(0o755)
    with pytest.raises(LocalClusterError) as caught:
        await ProductInPods(cast(OwnedCluster, cluster_with(kubectl))).start()
    assert str(caught.value) == f"`kubectl apply -k {OVERLAY}` failed: error: forbidden"

"""How the product comes into a cluster with a real node, and what is said if it does not."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from localcluster.access.running import OwnedCluster
from localcluster.machine.errors import LocalClusterError, ProcessFailed
from localcluster.machine.progress import silent
from localcluster.machine.slowness import stretched
from localcluster.product_in_pods import DEFINITION, OVERLAY, ProductInPods


def cluster_with(kubectl: Path) -> Any:
    return SimpleNamespace(
        kubectl=kubectl, kubeconfig=Path("/c/kubeconfig"), reporter=silent, client=None
    )


async def test_the_definition_is_applied_as_a_person_does(tmp_path: Path) -> None:
    kubectl, arguments = tmp_path / "kubectl", tmp_path / "arguments"
    kubectl.write_text(f'#!/bin/sh\necho "$@" >> {arguments}\n')
    kubectl.chmod(0o755)
    await ProductInPods(cast(OwnedCluster, cluster_with(kubectl))).apply_definition()
    assert arguments.read_text().splitlines() == [
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


async def test_the_wait_is_as_long_as_the_machine_needs(tmp_path: Path) -> None:
    kubectl, arguments = tmp_path / "kubectl", tmp_path / "arguments"
    kubectl.write_text(f'#!/bin/sh\necho "$@" >> {arguments}\n')
    kubectl.chmod(0o755)
    await ProductInPods(cast(OwnedCluster, cluster_with(kubectl))).start()
    assert arguments.read_text().splitlines() == [
        f"--kubeconfig=/c/kubeconfig apply -k {OVERLAY}",
        "--kubeconfig=/c/kubeconfig wait --for=condition=Available deployments --all"
        f" --namespace=appwrapper-system --timeout={stretched(300.0):.0f}s",
    ]


async def test_deployments_that_do_not_run_are_reported_with_their_pods(tmp_path: Path) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(
        '#!/bin/sh\ncase "$*" in *Available*) echo "error: timed out"; exit 1;; esac\necho "$@"\n'
    )
    kubectl.chmod(0o755)
    with pytest.raises(ProcessFailed) as caught:
        await ProductInPods(cast(OwnedCluster, cluster_with(kubectl))).start()
    message = str(caught.value)
    assert message.startswith("The product does not run: error: timed out\n\n")
    assert "describe pods" in message

"""The overlays as an admin uses them: what kustomize makes of them, what the API server says."""

import json
import os
from pathlib import Path

import pytest
import yaml

from localcluster.access.running import RunningCluster
from shared.api.objects import JsonObject
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.people import admin
from tests.support.manifests import MANIFESTS

CONFIGURATION = "workload.codeflare.dev/configuration"
OVERLAYS = ("default", "mlbatch")


def overlay(name: str) -> Path:
    return MANIFESTS / "overlays" / name


async def deployments(kubectl: Kubectl, folder: Path) -> list[JsonObject]:
    """Of a kustomization, the controller's first."""
    rendered = yaml.safe_load_all(await kubectl("kustomize", str(folder)))
    return [one for one in rendered if one["kind"] == "Deployment"]


def configurations(found: list[JsonObject]) -> list[str]:
    """What their pods' templates say of the configuration."""
    return [one["spec"]["template"]["metadata"]["annotations"][CONFIGURATION] for one in found]


@pytest.mark.parametrize("name", OVERLAYS)
async def test_nothing_is_warned_of(cluster: RunningCluster, name: str) -> None:
    """Fields that no API server knows, and pods that the namespace would not admit."""
    arguments = ("apply", "--server-side", "--force-conflicts", "--dry-run=server",
                 "--validate=strict", "-k", str(overlay(name)))  # fmt: skip
    done = await admin(cluster).run(*arguments)
    assert (done.code, done.err) == (0, "")


async def test_what_the_namespace_does_not_admit_is_warned_of(cluster: RunningCluster) -> None:
    """So the silence above says something."""
    kubectl = admin(cluster)
    for deployment in await deployments(kubectl, overlay("default")):
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        container["securityContext"].pop("capabilities")
        dry = ("create", "--dry-run=server", "-f", "-")
        done = await kubectl.run(*dry, stdin=json.dumps(deployment))
        assert done.code == 0
        assert done.err.startswith(
            'Warning: would violate PodSecurity "restricted:latest": unrestricted capabilities '
        )


@pytest.mark.parametrize("name", OVERLAYS)
async def test_the_pods_say_what_they_were_configured_with(
    cluster: RunningCluster, name: str
) -> None:
    config = (overlay(name) / "config.yaml").read_text()
    assert configurations(await deployments(admin(cluster), overlay(name))) == [config, config]


async def test_an_admins_own_configuration_starts_new_pods(
    cluster: RunningCluster, tmp_path: Path
) -> None:
    """Their template differs, which is when a Deployment replaces pods. Images can be others."""
    registry = "registry.example.com/team"
    config = "appwrapper: {defaultQueueName: other}\n"
    (tmp_path / "config.yaml").write_text(config)
    generator = {
        "name": "appwrapper-operator-config",
        "namespace": "appwrapper-system",
        "behavior": "replace",
        "files": ["config.yaml"],
        "options": {"disableNameSuffixHash": True},
    }
    programs = ("controller", "webhook")
    images = [
        {"name": f"localhost/appwrapper-{one}", "newName": f"{registry}/appwrapper-{one}"}
        for one in programs
    ]
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [os.path.relpath(overlay("default"), tmp_path)],
        "configMapGenerator": [generator],
        "images": images,
        "transformers": [os.path.relpath(MANIFESTS / "configuration-in-pods", tmp_path)],
    }
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))

    stock = await deployments(admin(cluster), overlay("default"))
    own = await deployments(admin(cluster), tmp_path)

    assert configurations(own) == [config, config]
    for before, after, program in zip(stock, own, programs, strict=True):
        template = before["spec"]["template"]
        template["metadata"]["annotations"][CONFIGURATION] = config
        (container,) = template["spec"]["containers"]
        _, _, tag = container["image"].rpartition(":")
        container["image"] = f"{registry}/appwrapper-{program}:{tag}"
        assert after == before

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
from tests.support.manifests import CERTS, MANIFESTS, objects_under

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


async def test_pods_that_the_namespace_refuses_cause_a_warning(cluster: RunningCluster) -> None:
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
async def test_the_pods_report_their_configuration(cluster: RunningCluster, name: str) -> None:
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


def identities(found: list[JsonObject]) -> set[tuple[str, str]]:
    return {(one["kind"], one["metadata"]["name"]) for one in found}


async def rendered_with(
    kubectl: Kubectl, folder: Path, name: str, choice: str | None
) -> dict[tuple[str, str], JsonObject]:
    """An admin's kustomization of an overlay, with a choice of deploy/certs."""
    kustomization = {"resources": [os.path.relpath(overlay(name), folder)]}
    if choice is not None:
        kustomization["components"] = [os.path.relpath(CERTS / choice, folder)]
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    found = [*yaml.safe_load_all(await kubectl("kustomize", str(folder)))]
    return {(one["kind"], one["metadata"]["name"]): one for one in found}


@pytest.mark.parametrize("name", OVERLAYS)
@pytest.mark.parametrize("choice", ["cert-manager", "files"])
async def test_another_choice_of_certificates_is_one_line(
    cluster: RunningCluster, tmp_path: Path, name: str, choice: str
) -> None:
    """It removes what only the default needs, mounts the Secret, and changes nothing else."""
    kubectl = admin(cluster)
    before = await rendered_with(kubectl, tmp_path, name, None)
    after = await rendered_with(kubectl, tmp_path, name, choice)

    only_default = identities(objects_under(CERTS / "self-managed"))
    added = identities(objects_under(CERTS / "cert-manager")) if choice == "cert-manager" else set()
    assert before.keys() - after.keys() == only_default
    assert after.keys() - before.keys() == added
    changed = {each for each in before.keys() & after.keys() if before[each] != after[each]}
    configurations_ = {each for each in before if each[0].endswith("WebhookConfiguration")}
    deployment = ("Deployment", "appwrapper-webhook")
    assert changed == {deployment} | (configurations_ if choice == "cert-manager" else set())
    # With the default's own arguments, mounts and volumes before them.
    old, new = (each[deployment]["spec"]["template"]["spec"] for each in (before, after))
    assert new["volumes"][:-1] == old["volumes"]
    assert new["volumes"][-1]["secret"]["secretName"] == "appwrapper-webhook-tls"
    [old_container], [new_container] = old["containers"], new["containers"]
    assert new_container["args"][:-1] == old_container["args"]
    assert new_container["args"][-1].startswith("--cert-dir=")
    assert new_container["volumeMounts"][:-1] == old_container["volumeMounts"]
    for each in configurations_ & changed:
        annotations = after[each]["metadata"].pop("annotations")
        assert annotations == {
            "cert-manager.io/inject-ca-from": "appwrapper-system/appwrapper-webhook-tls"
        }
        assert after[each] == before[each]

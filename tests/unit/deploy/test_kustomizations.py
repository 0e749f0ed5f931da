"""What kustomize would put together. tests/integration/shared/test_crd.py shows that it renders."""

from pathlib import Path

import pytest

from shared.api.objects import JsonObject
from shared.config.loading import load_config
from tests.support.manifests import (
    CERTS,
    CHART,
    MANIFESTS,
    ROOT,
    TEAM,
    document,
    documents,
    objects_under,
)

OVERLAYS = ("default", "mlbatch")
CHOICES = ("self-managed", "cert-manager", "files")
FOLDERS = (
    "crd",
    "base",
    "slack-queue",
    "configuration-in-pods",
    *(f"overlays/{name}" for name in OVERLAYS),
)


def kustomization(folder: Path) -> JsonObject:
    (file,) = (
        folder / name
        for name in ("Kustomization", "kustomization.yaml")
        if (folder / name).exists()
    )
    return document(file)


FILES = [each for each in (ROOT / "deploy").rglob("*.yaml") if CHART not in each.parents]


@pytest.mark.parametrize("file", sorted(FILES), ids=str)
def test_every_file_holds_objects(file: Path) -> None:
    found = documents(file)
    assert found
    if file.name != "config.yaml":
        assert all(one["apiVersion"] and one["kind"] for one in found)


@pytest.mark.parametrize(
    "folder",
    [*(MANIFESTS / each for each in FOLDERS), *(CERTS / each for each in CHOICES)],
    ids=str,
)
def test_files_named_by_a_kustomization_exist(folder: Path) -> None:
    found = kustomization(folder)
    named = [*found.get("resources", ()), *found.get("components", ())]
    assert named or found["patches"]
    assert [one for one in named if not (folder / one).exists()] == []


def test_the_base_leaves_no_file_out() -> None:
    named = {one for one in kustomization(MANIFESTS / "base")["resources"] if one != "../crd"}
    there = {
        str(file.relative_to(MANIFESTS / "base")) for file in (MANIFESTS / "base").rglob("*.yaml")
    }
    assert named == there


@pytest.mark.parametrize("folder", [MANIFESTS / "crd", MANIFESTS / "base", CERTS, TEAM], ids=str)
def test_a_folder_that_is_applied_whole_holds_nothing_that_is_no_object(folder: Path) -> None:
    """`kubectl apply -f FOLDER` takes every file named .yaml for objects."""
    assert [file.name for file in folder.rglob("kustomization.y*ml")] == []


def test_every_object_of_the_base_has_a_name_of_its_own() -> None:
    identities = [
        (one["apiVersion"], one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"])
        for one in objects_under(MANIFESTS / "base") + objects_under(TEAM)
    ]
    assert sorted(map(str, identities)) == sorted(map(str, set(identities)))


def test_everything_namespaced_of_the_operator_is_in_its_namespace() -> None:
    cluster_wide = {"Namespace", "ClusterRole", "ClusterRoleBinding"}
    namespaces = {
        one["metadata"].get("namespace")
        for one in objects_under(MANIFESTS / "base")
        if one["kind"] not in cluster_wide
    }
    assert namespaces == {"appwrapper-system"}


@pytest.mark.parametrize("name", OVERLAYS)
def test_an_overlay_replaces_the_content_of_the_configuration_and_keeps_its_name(name: str) -> None:
    (generator,) = kustomization(MANIFESTS / "overlays" / name)["configMapGenerator"]
    (config_map,) = documents(MANIFESTS / "base" / "configuration" / "configuration.yaml")
    assert generator == {
        "name": config_map["metadata"]["name"],
        "namespace": config_map["metadata"]["namespace"],
        "behavior": "replace",
        "files": ["config.yaml"],
        "options": {
            "disableNameSuffixHash": True,
            "labels": config_map["metadata"]["labels"],
        },
    }
    assert list(config_map["data"]) == ["config.yaml"]


@pytest.mark.parametrize("name", OVERLAYS)
def test_an_overlay_has_the_rights_for_a_slack_queue_where_it_names_one(name: str) -> None:
    folder = MANIFESTS / "overlays" / name
    named = bool(load_config(folder / "config.yaml").config.appwrapper.slack_queue.name)
    assert kustomization(folder).get("components", []) == ["../../slack-queue"] * named


@pytest.mark.parametrize("name", OVERLAYS)
def test_another_configuration_starts_new_pods(name: str) -> None:
    """That it does is shown by tests/integration/shared/test_deployments.py."""
    transformers = kustomization(MANIFESTS / "overlays" / name)["transformers"]
    assert transformers == ["../../configuration-in-pods"]


@pytest.mark.parametrize("name", OVERLAYS)
def test_an_overlay_registers_the_webhook_by_its_own_configuration(name: str) -> None:
    """That the file is what the configuration asks for: tests/unit/scripts/test_generate.py."""
    folder = MANIFESTS / "overlays" / name
    resources = ["../../base", "webhook-configurations.yaml", "admission-policies.yaml"]
    assert kustomization(folder)["resources"] == resources
    kinds = [one["kind"] for one in documents(folder / "webhook-configurations.yaml")]
    assert kinds == ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]
    assert not [one for one in objects_under(MANIFESTS / "base") if one["kind"] in kinds]

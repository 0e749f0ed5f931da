"""The Helm chart: it renders what kustomize renders, and docs/admins/helm.md works on a cluster.

The simulated nodes run its pods. tests/e2e shows that the same objects work on a real node.
"""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from localcluster.cluster import ClusterOptions, LocalCluster
from localcluster.machine.progress import reporter_for
from shared.api.objects import JsonObject
from tests.support.cluster.checking import check
from tests.support.cluster.helm import NAMESPACE, Helm, Rejected, helm_and_kubectl
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.people import admin
from tests.support.manifests import CERTS, CHART, MANIFESTS, ROOT, TEAM, documents
from tests.support.walkthrough import Person, blocks_of

pytestmark = pytest.mark.long
PAGE = ROOT / "docs" / "admins" / "helm.md"
OVERLAYS = ("default", "mlbatch")
CHOICES = ("self-managed", "cert-manager", "files")
REGISTRY = "registry.example.com/team"
CONFIGURATION = "workload.codeflare.dev/configuration"
POLICY = "helm.sh/resource-policy"
MONITORING = {"enabled": True, "labels": {"release": "kube-prometheus-stack"}, "docs": "docs/"}
AS_CONFIGURED = (
    "configuration",
    "CRD",
    "mutating webhooks",
    "validating webhooks",
    "webhook order",
    "admission policies",
)
Objects = dict[tuple[str, str, str], JsonObject]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def programs() -> tuple[Path, Path]:
    return await helm_and_kubectl()


@pytest.fixture
def helm(programs: tuple[Path, Path], tmp_path: Path) -> Helm:
    (tmp_path / "helm").mkdir()
    return Helm(programs[0], tmp_path / "helm")


@pytest.fixture
def kubectl(programs: tuple[Path, Path]) -> Kubectl:
    """To render, without a cluster."""
    return Kubectl(programs[1], Path(os.devnull))


@pytest_asyncio.fixture
async def site(programs: tuple[Path, Path]) -> AsyncIterator[LocalCluster]:
    """A cluster with Kueue and without the product, the CRD too."""
    options = ClusterOptions(nodes=2, product=False)
    async with LocalCluster(options, reporter_for()) as cluster:
        await admin(cluster)("delete", "-k", "deploy/manifests/crd")
        yield cluster


def by_identity(objects: list[JsonObject]) -> Objects:
    found = {
        (each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each
        for each in objects
    }
    assert len(found) == len(objects)
    return found


def with_parsed_configuration(objects: Objects) -> Objects:
    """Comments and the order of keys do not count."""
    config_map = objects["ConfigMap", "appwrapper-system", "appwrapper-operator-config"]
    places: list[dict[str, Any]] = [config_map["data"]]
    for (kind, _, _), each in objects.items():
        if kind == "Deployment":
            places.append(each["spec"]["template"]["metadata"]["annotations"])
    for place, key in zip(places, ("config.yaml", CONFIGURATION, CONFIGURATION), strict=True):
        place[key] = yaml.safe_load(place[key])
    return objects


async def kustomized(kubectl: Kubectl, folder: Path, overlay: str, choice: str) -> Objects:
    """An admin's kustomization with another registry, a choice of certificates, and monitoring."""
    components = [ROOT / "deploy" / "monitoring"]
    if choice != "self-managed":
        components.append(CERTS / choice)
    kustomization = {
        "resources": [os.path.relpath(MANIFESTS / "overlays" / overlay, folder)],
        "components": [os.path.relpath(each, folder) for each in components],
        "images": [
            {"name": f"localhost/appwrapper-{each}", "newName": f"{REGISTRY}/appwrapper-{each}"}
            for each in ("webhook", "controller")
        ],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    rendered = yaml.safe_load_all(await kubectl("kustomize", str(folder)))
    return with_parsed_configuration(by_identity(list(rendered)))


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("overlay", OVERLAYS)
async def test_both_ways_render_the_same_objects(
    kubectl: Kubectl, helm: Helm, tmp_path: Path, overlay: str, choice: str
) -> None:
    values = {
        "overlay": overlay,
        "certificates": choice,
        "images": {"registry": REGISTRY},
        "monitoring": MONITORING,
    }
    by_helm = with_parsed_configuration(by_identity(await helm.template(values=values)))
    by_kustomize = await kustomized(kubectl, tmp_path, overlay, choice)

    del by_kustomize["Namespace", "", "appwrapper-system"]  # which Helm needs before it begins
    definition = by_helm["CustomResourceDefinition", "", "appwrappers.workload.codeflare.dev"]
    assert definition["metadata"].pop("annotations") == {POLICY: "keep"}
    for (kind, _, _), each in by_helm.items():
        if kind in ("PrometheusRule", "ServiceMonitor") or "grafana_dashboard" in str(each):
            assert each["metadata"]["labels"].pop("release") == "kube-prometheus-stack"
    assert by_helm.keys() == by_kustomize.keys()
    different = [key for key, each in by_helm.items() if each != by_kustomize[key]]
    assert different == []


async def test_the_packaged_chart_renders_the_same(helm: Helm, tmp_path: Path) -> None:
    await helm.run("lint", "--strict", str(CHART), *NAMESPACE)
    await helm.run("package", str(CHART), "--destination", str(tmp_path))
    (package,) = tmp_path.glob("appwrapper-*.tgz")
    values = {"overlay": "mlbatch", "teams": True, "monitoring": MONITORING}
    expected = await helm.template(values=values)
    assert await helm.template(values=values, chart=package) == expected


async def test_the_objects_of_all_teams_are_those_of_deploy_team_and_stay(helm: Helm) -> None:
    with_teams = by_identity(await helm.template(values={"teams": True}))
    without = by_identity(await helm.template(values={}))
    added = {key: each for key, each in with_teams.items() if key not in without}
    for each in added.values():
        assert each["metadata"].pop("annotations") == {POLICY: "keep"}
    files = (TEAM / "cluster.yaml", TEAM / "pod-security.yaml")
    assert added == by_identity([each for file in files for each in documents(file)])


async def test_the_values_change_what_they_name(helm: Helm) -> None:
    values: JsonObject = {
        "crd": False,
        "images": {"tag": "9.9.9", "pullSecrets": ["mine"]},
        "replicas": {"webhook": 3, "controller": 1},
    }
    before = by_identity(await helm.template(values={}))
    after = by_identity(await helm.template(values=values))
    assert {key[0] for key in before.keys() - after.keys()} == {"CustomResourceDefinition"}
    for program, replicas in values["replicas"].items():
        key = ("Deployment", "appwrapper-system", f"appwrapper-{program}")
        expected = before[key]
        expected["spec"]["replicas"] = replicas
        pod = expected["spec"]["template"]["spec"]
        pod["imagePullSecrets"] = [{"name": "mine"}]
        pod["containers"][0]["image"] = f"localhost/appwrapper-{program}:9.9.9"
        assert after[key] == expected


async def test_own_keys_take_precedence_over_those_of_the_overlay(helm: Helm) -> None:
    """Also false, zero and empty ones, and the slack queue's role follows its name."""
    own = {
        "schedulerName": "",
        "userRBACAdmissionCheck": True,
        "allowedKinds": {"wrapped": ["Pod"]},
        "faultTolerance": {"retryLimit": 0},
        "slackQueue": {"name": "reserve"},
        "pauseResets": False,
    }
    values = {"overlay": "mlbatch", "configuration": {"appwrapper": own}}
    found = with_parsed_configuration(by_identity(await helm.template(values=values)))
    config_map = found["ConfigMap", "appwrapper-system", "appwrapper-operator-config"]
    written = config_map["data"]["config.yaml"]["appwrapper"]
    overlay = yaml.safe_load((MANIFESTS / "overlays" / "mlbatch" / "config.yaml").read_text())
    expected = overlay["appwrapper"] | own
    expected["allowedKinds"] = overlay["appwrapper"]["allowedKinds"] | own["allowedKinds"]
    expected["faultTolerance"] = overlay["appwrapper"]["faultTolerance"] | own["faultTolerance"]
    assert written == expected
    role = found["ClusterRole", "", "appwrapper-controller-slack-queue"]
    assert role["rules"][1]["resourceNames"] == ["reserve"]


@pytest.mark.parametrize(
    ("options", "values", "message"),
    [
        ((), {"configuration": {"appwrapper": {"retryLimt": 3}}}, "retryLimt"),
        ((), {"replica": 3}, "replica"),
        ((), {"overlay": "other"}, "overlay"),
        (("--namespace", "default"), {}, "add --namespace appwrapper-system"),
        (
            (),
            {"configuration": {"appwrapper": {"allowedKinds": {"direct": ["Pod"]}}}},
            "configuration.appwrapper.allowedKinds.direct changes the webhook configurations",
        ),
        (("--set-string", "registration=kind: ["), {}, "did not find expected node content"),
    ],
)
async def test_values_that_cannot_work_are_rejected(
    helm: Helm, options: tuple[str, ...], values: JsonObject, message: str
) -> None:
    with pytest.raises(Rejected) as caught:
        await helm.template(*options, values=values)
    assert message in caught.value.message


async def test_the_commands_of_the_page_work_in_order(
    site: LocalCluster, helm: Helm, tmp_path: Path
) -> None:
    environment = helm.environment | {"KUBECONFIG": str(site.kubeconfig)}
    environment["PATH"] = f"{site.kubectl.parent}:{environment['PATH']}"
    folder = tmp_path / "clone"
    folder.mkdir()
    for name in ("deploy", ".venv", "webhook", "shared"):
        (folder / name).symlink_to(ROOT / name)
    person = Person(folder, environment, tmp_path)
    checked = 0
    for block in blocks_of(PAGE):
        await person.types(block)
        if "helm install" in block.commands or "helm upgrade" in block.commands:
            await all_is_as_configured(site)
            checked += 1
    assert checked == 3
    left = await admin(site)("get", "clusterroles,clusterrolebindings,namespaces", "-o", "name")
    ours = [each for each in left.split() if each.partition("/")[2].startswith("appwrapper")]
    assert ours == ["clusterrole.rbac.authorization.k8s.io/appwrapper-queue-viewer"]  # the team's


async def all_is_as_configured(site: LocalCluster) -> None:
    """`appwrapper check --install` understands an installation by Helm. No program runs here."""
    _, out, err = await check(site, "--install", "-o", "json")
    items = {each["title"]: each for each in json.loads(out)["items"]}
    for title in AS_CONFIGURED:
        assert items[title]["verdict"] == "ok", (items[title], err)

"""The AppWrapper resource in a real API server, as people meet it through kubectl."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import yaml

from localcluster.access.running import RunningCluster
from localcluster.machine.progress import silent
from localcluster.programs.build_cache import BuildCache, default_folder
from localcluster.programs.catalogue import CATALOGUE
from localcluster.programs.toolchain import find_go
from shared.api.objects import JsonObject
from tests.support.builders.appwrappers import manifest
from tests.support.builders.pods import pod_of
from tests.support.cluster.another_team import kueue_knows
from tests.support.cluster.kubectl import Kubectl
from tests.support.manifests import ROOT, document, served_schema
from tests.support.patience import comes_to
from tests.support.schema_comparison import without_descriptions
from tests.support.team import claim

GOLDEN = ROOT / "tests" / "golden" / "go-operator-crd-schema.json"
NAMESPACE = "crd-test"
# Nobody runs it: the controller leaves it alone, and the test writes its status.
CONTAINERS = [{"name": "main", "image": "example.com/image"}]
UNMANAGED = manifest(
    pod_of({"spec": {"restartPolicy": "Never", "containers": CONTAINERS}}, name="sample-pod"),
    spec={"managedBy": "example.com/nobody"},
    name="columns",
    namespace=NAMESPACE,
)


@pytest.fixture
def kubectl(cluster: RunningCluster) -> Kubectl:
    return Kubectl(cluster.kubectl, cluster.kubeconfig)


@pytest.fixture
async def namespace(cluster: RunningCluster, kubectl: Kubectl) -> AsyncIterator[str]:
    claim(NAMESPACE)
    await kubectl("create", "namespace", NAMESPACE)
    await comes_to(lambda: kueue_knows(cluster.client, NAMESPACE), True)
    yield NAMESPACE
    await kubectl("delete", "namespace", NAMESPACE)


@pytest.fixture(scope="session")
async def go_operator() -> Path:
    """The folder of the Go operator's module."""
    cache = BuildCache(default_folder(), await find_go(), silent)
    return await cache.module_folder(CATALOGUE["appwrapper"])


async def test_server_side_apply_installs_the_folder(kubectl: Kubectl) -> None:
    out = await kubectl("apply", "--server-side", "-f", "deploy/manifests/crd")
    assert out == (
        "customresourcedefinition.apiextensions.k8s.io/"
        "appwrappers.workload.codeflare.dev serverside-applied\n"
    )


@pytest.mark.parametrize("overlay", ["default", "mlbatch"])
async def test_an_overlay_renders_and_is_valid(kubectl: Kubectl, overlay: str) -> None:
    folder = f"deploy/manifests/overlays/{overlay}"
    rendered = list(yaml.safe_load_all(await kubectl("kustomize", folder)))
    data = {
        one["metadata"]["name"]: one.get("data") for one in rendered if one["kind"] == "ConfigMap"
    }
    assert data == {
        "appwrapper-operator-config": {"config.yaml": (ROOT / folder / "config.yaml").read_text()},
        "appwrapper-node-health": None,
    }
    applied = await kubectl("apply", "--dry-run=server", "--server-side", "-k", folder,
                            "--force-conflicts", "-o", "name")  # fmt: skip
    assert len(applied.splitlines()) == len(rendered)


@pytest.mark.writes_status("columns")
async def test_columns(kubectl: Kubectl, namespace: str) -> None:
    await kubectl("create", "-f", "-", stdin=json.dumps(UNMANAGED))
    rest = {"reason": "Test", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"}
    conditions = [
        {"type": "QuotaReserved", "status": "True", **rest},
        {"type": "ResourcesDeployed", "status": "False", **rest},
        {"type": "Unhealthy", "status": "Unknown", **rest},
        {"type": "PodsReady", "status": "False", **rest},
    ]
    status = {
        "phase": "Resetting",
        "resettingCount": 2,
        "attempt": 3,
        "conditions": conditions,
        "rootCause": {"summary": "worker-3 r3: ValueError: bad shard (non-recoverable)"},
    }
    await kubectl(
        "patch", "aw", "columns", "-n", namespace, "--subresource=status", "--type=merge",
        "-p", json.dumps({"status": status}),
    )  # fmt: skip

    narrow = columns(await kubectl("get", "aw", "-n", namespace))
    wide = columns(await kubectl("get", "appwrappers", "-n", namespace, "-o", "wide"))

    assert [heading for heading, _ in narrow] == [
        "NAME", "STATUS", "QUOTA", "DEPLOYED", "UNHEALTHY", "READY", "AGE",
    ]  # fmt: skip
    assert [cell for _, cell in narrow][:-1] == [
        "columns", "Resetting", "True", "False", "Unknown", "False",
    ]  # fmt: skip
    assert [heading for heading, _ in wide[len(narrow) :]] == ["RETRIES", "ROOT CAUSE"]
    assert [cell for _, cell in wide[len(narrow) :]] == [
        "2",
        "worker-3 r3: ValueError: bad shard (non-recoverable)",
    ]


def columns(table: str) -> list[tuple[str, str]]:
    """Heading and cell of each column of a table of one row."""
    heading, row = table.splitlines()
    headings = [one for one in heading.split("   ") if one.strip()]
    starts = [heading.index(one) for one in headings]
    ends = [*starts[1:], len(row)]
    return [
        (name.strip(), row[start:end].strip())
        for name, start, end in zip(headings, starts, ends, strict=True)
    ]


async def test_unknown_fields_of_the_status_survive_where_they_are_allowed(
    kubectl: Kubectl, namespace: str
) -> None:
    await kubectl("create", "-f", "-", stdin=json.dumps(UNMANAGED))
    status = {
        "timers": {"later": {"began": "2026-01-02T03:04:05.123456Z", "attempt": 1, "more": True}},
        "rootCause": {"signal": "SIGKILL", "runnerUp": {"pod": "a", "gapSeconds": -0.25, "b": 1}},
        "errorHistory": [{"attempt": 1, "gap": 0.5}],
        "componentStatus": [
            {"apiVersion": "v1", "kind": "Pod", "name": "a", "podSets": [], "uid": "u"}
        ],
    }
    await kubectl(
        "patch", "aw", "columns", "-n", namespace, "--subresource=status", "--type=merge",
        "-p", json.dumps({"status": status}),
    )  # fmt: skip
    stored = json.loads(await kubectl("get", "aw", "columns", "-n", namespace, "-o", "json"))
    assert stored["status"] == status


async def test_explain_describes_every_field(cluster: RunningCluster) -> None:
    openapi = await cluster.client.get_path("/openapi/v3/apis/workload.codeflare.dev/v1beta2")
    schema = openapi["components"]["schemas"]["dev.codeflare.workload.v1beta2.AppWrapper"]
    described = {path: field.get("description") for path, field in fields(schema)}
    assert [path for path, description in described.items() if not description] == []
    assert described[".status.errorHistory[].summary"] == "The failure, in one line."


def fields(schema: JsonObject, path: str = "") -> Iterator[tuple[str, JsonObject]]:
    for name, child in schema.get("properties", {}).items():
        yield f"{path}.{name}", child
        yield from fields(child, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        if isinstance(child := schema.get(keyword), dict):
            yield from fields(child, f"{path}[]")


async def test_explain_teaches(kubectl: Kubectl) -> None:
    assert await kubectl("explain", "aw.spec.components.podSets.path") == (
        "GROUP:      workload.codeflare.dev\n"
        "KIND:       AppWrapper\n"
        "VERSION:    v1beta2\n"
        "\n"
        "FIELD: path <string>\n"
        "\n"
        "\n"
        "DESCRIPTION:\n"
        '    Path to the pod template. It starts with "template", the component\'s own,\n'
        "    and goes on with .field and [index], for example template.spec.template for\n"
        "    a Job and template for a Pod.\n"
        "    \n"
        "\n"
    )


async def test_the_recorded_schema_is_the_go_operators(go_operator: Path) -> None:
    """tests/golden holds it for the unit test that compares it with ours."""
    crd = document(go_operator / "config/crd/bases/workload.codeflare.dev_appwrappers.yaml")
    assert json.loads(GOLDEN.read_text()) == without_descriptions(served_schema(crd, "v1beta2"))


async def test_every_sample_of_the_go_operator_is_valid(
    kubectl: Kubectl, namespace: str, go_operator: Path
) -> None:
    samples = sorted((go_operator / "samples").glob("*.yaml"))
    assert len(samples) == 10
    for sample in samples:
        name = document(sample)["metadata"]["name"]
        out = await kubectl("create", "--dry-run=server", "-n", namespace, "-f", str(sample))
        created = f"appwrapper.workload.codeflare.dev/{name} created (server dry run)\n"
        assert out == created, sample.name

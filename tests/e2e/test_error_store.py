"""What an admin configures about errors: a store on a real volume, and the recorder's image."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
import yaml
from flyteidl.core.errors_pb2 import ContainerError, ErrorDocument

from localcluster.cluster import LocalCluster
from localcluster.product import NAMESPACE
from shared.api.objects import JsonObject
from tests.e2e import containers, failing_jobs, product_pods
from tests.e2e.recorded import provide, record_of
from tests.e2e.research_team import REAL_NODE, TEAM, ResearchTeam
from tests.support.builders.annotations import prefixed
from tests.support.builders.appwrappers import AT_ONCE, appwrapper
from tests.support.cluster.explaining import explain
from tests.support.cluster.kubectl import Kubectl

pytestmark = pytest.mark.long

# A program as a user writes it: nothing in it, in its image or in its command knows a recorder.
_PROGRAM = (
    "import time",
    "def read(shard):",
    "    raise ValueError(f'shard {shard} is empty')",
    "time.sleep(2)",
    "read(7)",
)
STORE, CLAIM, MOUNTED = "team-nfs", "errors", "/errors"
CONFIGURATION = ("configmap", "appwrapper-operator-config", "-n", NAMESPACE)
CONTROLLER = ("deployment", "appwrapper-controller", "-n", NAMESPACE)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def store(
    node_cluster: LocalCluster,
    admin: Kubectl,
    research: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Path]:
    """The product with an error store: a folder of the node, which the controller only reads.

    The controller's own image is the recorder's.
    """
    folder = tmp_path_factory.mktemp("errors")
    for each in (folder, *folder.parents[:3]):
        each.chmod(each.stat().st_mode | 0o055)  # the controller is not root
    await provide(node_cluster, TEAM)
    await node_cluster.apply(
        [each for name in (NAMESPACE, TEAM) for each in volume_documents(name, folder)]
    )
    volume = {"name": "errors", "persistentVolumeClaim": {"claimName": CLAIM}}
    mount = {"name": "errors", "mountPath": MOUNTED, "readOnly": True}
    unmount = {"mountPath": MOUNTED, "$patch": "delete"}
    shown = await admin("get", *CONFIGURATION, "-o", "json")
    before = json.loads(shown)["data"]["config.yaml"]
    config = yaml.safe_load(before) or {}
    tolerance = config.setdefault("appwrapper", {}).setdefault("faultTolerance", {})
    (controller, *_) = await product_pods.pods_of(node_cluster, "controller")
    tolerance["errorAggregation"] = {
        "stores": {STORE: f"file://{MOUNTED}"},
        "recorderImage": controller["spec"]["containers"][0]["image"],
    }
    unvolume = {"name": "errors", "$patch": "delete"}
    await _configure(node_cluster, admin, json.dumps(config), _pod(volume, mount))
    yield folder
    await _configure(node_cluster, admin, before, _pod(unvolume, unmount))
    for name in (NAMESPACE, TEAM):
        await admin("delete", "persistentvolumeclaim", CLAIM, "-n", name)
        await admin("delete", "persistentvolume", f"{CLAIM}-{name}")


def volume_documents(namespace: str, folder: Path) -> list[JsonObject]:
    """A volume of the folder, and the claim for it: pods of the product may mount no host path."""
    name = f"{CLAIM}-{namespace}"
    room = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    volume = {
        **room,
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": str(folder)},
        "persistentVolumeReclaimPolicy": "Retain",
        "claimRef": {"namespace": namespace, "name": CLAIM},
    }
    claim = {**room, "volumeName": name, "resources": {"requests": {"storage": "1Gi"}}}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": volume,
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": CLAIM, "namespace": namespace},
            "spec": claim,
        },
    ]


async def _configure(
    cluster: LocalCluster, admin: Kubectl, text: str, controller: JsonObject
) -> None:
    """Both patches, and the product that runs with them."""
    await admin("patch", *CONFIGURATION, "-p", json.dumps({"data": {"config.yaml": text}}))
    await admin("patch", *CONTROLLER, "-p", json.dumps(controller))
    await product_pods.roll(admin, *product_pods.COMPONENTS)
    await product_pods.until_whole(cluster)


def _pod(volume: JsonObject, mount: JsonObject) -> JsonObject:
    containers = [{"name": "controller", "volumeMounts": [mount]}]
    return {"spec": {"template": {"spec": {"volumes": [volume], "containers": containers}}}}


def stored(body: JsonObject) -> JsonObject:
    """The AppWrapper with the error store, which its pods have as a volume."""
    body["metadata"]["annotations"].update(prefixed(errorStore=STORE))
    for component in body["spec"]["components"]:
        spec = component["template"]["spec"]
        spec["volumes"].append({"name": CLAIM, "persistentVolumeClaim": {"claimName": CLAIM}})
        # Containers may share the list of their mounts.
        for container in spec["containers"]:
            mount = {"name": CLAIM, "mountPath": MOUNTED}
            container["volumeMounts"] = [*container["volumeMounts"], mount]
    return body


async def test_each_worker_writes_a_file_that_flyte_reads(
    store: Path, team: ResearchTeam, tmp_path: Path
) -> None:
    """Cases 1, 2 and 3."""
    body = stored(failing_jobs.recoverable(tmp_path, "stored"))
    life = await team.submit(body)
    await failing_jobs.end_of_grace(team, life, body)
    done = await life.until_phase("Succeeded")
    await life.caught_up()
    uid = done["metadata"]["uid"]
    folder = store / TEAM / "stored" / uid
    names = [f"error-stored-{each}.pb" for each in "abcd"]
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*.*")) == [
        f"1/{name}" for name in names
    ]
    for name in names:
        pod = name.removeprefix("error-").removesuffix(".pb")
        read = ErrorDocument.FromString((folder / "1" / name).read_bytes()).error
        recorded = record_of(life, pod)
        assert recorded.time_ns is not None
        assert (read.code, read.worker) == (recorded.code, pod)
        assert read.message.startswith(recorded.message.partition("\n")[0])
        assert (read.kind == ContainerError.RECOVERABLE) == recorded.recoverable
        assert divmod(recorded.time_ns, 10**9) == (read.timestamp.seconds, read.timestamp.nanos)
    found = done["status"]["rootCause"]
    assert (found["pod"], found["source"], found["confidence"], found["records"]) == (
        "stored-c",
        "Store",
        "Recorded",
        4,
    )
    assert found["uri"] == f"file://{MOUNTED}/{TEAM}/stored/{uid}/1/error-stored-c.pb"


async def test_one_annotation_explains_an_exception_without_a_line_of_the_users(
    store: Path, team: ResearchTeam, node_cluster: LocalCluster
) -> None:
    """`recorder: true`: the kubelet copies the recorder from the image of the admin's choice."""
    del store  # the recorder's image is configured with it
    raises = containers.pod("told-b", "")
    raises["spec"]["containers"][0]["command"] = ["python3", "-c", "\n".join(_PROGRAM)]
    body = appwrapper(
        "told",
        containers.pod("told-a", "exec sleep 100000"),
        raises,
        annotations={"recorder": "true", **AT_ONCE},
    )
    life = await team.submit(body)
    failed = await life.until_phase("Failed")
    error = "ValueError: shard 7 is empty"
    assert failed["status"].get("resettingCount", 0) == 0  # the same program raises it again
    found = failed["status"]["rootCause"]
    assert (found["pod"], found["code"], found["source"], found["confidence"]) == (
        "told-b",
        "ValueError",
        "TerminationMessage",
        "Recorded",
    )
    assert found["message"].startswith(f"{error}\n\nTraceback (most recent call last):\n")
    explained = await explain(node_cluster, TEAM, "told")
    assert (explained.code, explained.err) == (0, "")
    assert f"told-b on {REAL_NODE} failed (exit code 1): {error}" in explained.out

"""Wrapped pods whose programs run under the recorder, as a researcher sets it up without an image.

The recorder's folder and the stand-in for torchrun come from ConfigMaps, which are mounted.
"""

from pathlib import Path
from typing import Any

from localcluster.access.running import RunningCluster
from shared.api.objects import JsonObject
from tests.e2e.containers import ATTEMPT, pod
from tests.support.cluster.life import Life
from tests.support.manifests import ROOT
from worker.record import ErrorRecord
from worker.termination_message import find

RECORDER, LAUNCHER = "appwrapper-recorder", "torchrun-stand-in"
TORCHRUN = "python3 /opt/launcher/torchrun.py --nproc"
RECORD = "exec python3 -m worker --"
_PROGRAMS = Path(__file__).parent / "programs"
_SHARED = "/shared"  # a folder of the node that all pods of a test see, as a team's NFS


async def provide(cluster: RunningCluster, namespace: str) -> None:
    """Puts both ConfigMaps into the namespace."""
    await cluster.apply(
        [
            _config_map(RECORDER, namespace, _files(ROOT / "worker")),
            _config_map(LAUNCHER, namespace, _files(_PROGRAMS)),
        ]
    )


def recorded_pod(name: str, script: str, folder: Path | None = None, **options: Any) -> JsonObject:
    """A Pod that finds the recorder, and the stand-in, on its Python path.

    It runs the shell's `script`; `folder` of this machine is its /shared. `options` are those of
    `containers.pod`.
    """
    return with_recorder(pod(name, script, **options), folder)


def with_recorder(body: JsonObject, folder: Path | None = None) -> JsonObject:
    """The same Pod, or pod template, with the recorder in each of its containers."""
    spec = body["spec"]
    spec.setdefault("volumes", []).extend(
        [_volume(RECORDER, _files(ROOT / "worker")), _volume(LAUNCHER, _files(_PROGRAMS))]
    )
    mounts = [
        {"name": RECORDER, "mountPath": "/opt/appwrapper/worker"},
        {"name": LAUNCHER, "mountPath": "/opt/launcher"},
    ]
    for container in spec["containers"]:
        container.setdefault("volumeMounts", []).extend(mounts)
        container.setdefault("env", []).append({"name": "PYTHONPATH", "value": "/opt/appwrapper"})
    return body if folder is None else sharing(body, folder)


def sharing(body: JsonObject, folder: Path) -> JsonObject:
    """The same Pod, or pod template, with a folder of this machine, as /shared."""
    path = {"path": str(folder), "type": "Directory"}
    body["spec"].setdefault("volumes", []).append({"name": "shared", "hostPath": path})
    for container in body["spec"]["containers"]:
        mount = {"name": "shared", "mountPath": _SHARED}
        container.setdefault("volumeMounts", []).append(mount)
    return body


def _files(folder: Path) -> dict[str, str]:
    """The paths of its files below it, by the key that each has in a ConfigMap."""
    return {
        str(path.relative_to(folder)).replace("/", "."): str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def _config_map(name: str, namespace: str, files: dict[str, str]) -> JsonObject:
    folder = ROOT / "worker" if name == RECORDER else _PROGRAMS
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": {key: (folder / path).read_text() for key, path in files.items()},
    }


def _volume(name: str, files: dict[str, str]) -> JsonObject:
    items = [{"key": key, "path": path} for key, path in files.items()]
    return {"name": name, "configMap": {"name": name, "items": items}}


def container_ends(life: Life, *, attempt: int = 1) -> dict[str, dict[str, Any]]:
    """The terminated states of an attempt's containers as they were seen last.

    By pod; by pod and container, as `pod/container`, where a pod has several.
    """
    found = {}
    for event in life.pod_events:
        pod = event.object
        if pod["metadata"]["labels"][ATTEMPT] != str(attempt):
            continue
        statuses = pod["status"].get("containerStatuses", ())
        for status in statuses:
            name = pod["metadata"]["name"]
            key = f"{name}/{status['name']}" if len(statuses) > 1 else name
            if ended := status["state"].get("terminated"):
                found[key] = ended
    return found


def record_of(life: Life, name: str) -> ErrorRecord:
    """What the recorder left in the termination message; `name` as in `container_ends`."""
    ended = container_ends(life)[name]
    record = find(ended["message"])
    assert record is not None, ended
    return record

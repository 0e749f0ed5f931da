"""What is told of pods that do not run."""

from types import SimpleNamespace
from typing import Any, cast

from localcluster.access.running import RunningCluster
from localcluster.pod_diagnostics import keep, last_words
from shared.api.objects import JsonObject
from shared.kube.client import Unreachable

WAITING: JsonObject = {
    "metadata": {"name": "appwrapper-webhook-1", "namespace": "appwrapper-system"},
    "spec": {"nodeName": "real-node"},
    "status": {
        "phase": "Running",
        "conditions": [
            {"type": "Ready", "status": "False", "message": "containers with unready status"},
            {"type": "PodScheduled", "status": "True", "message": "not to be told"},
        ],
        "containerStatuses": [
            {
                "name": "webhook",
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}},
                "lastState": {"terminated": {"reason": "Error", "exitCode": 1}},
            }
        ],
    },
}
PENDING: JsonObject = {"metadata": {"name": "new", "namespace": "a"}, "spec": {}, "status": {}}


class Gone:
    """The client of an API server that has ended."""

    async def pages(self, *_: object) -> Any:
        pages: list[JsonObject] = []
        for page in pages:
            yield page
        raise Unreachable("connection refused")


class PodText:
    """The client of one that has these objects."""

    def __init__(self, **objects: list[JsonObject]) -> None:
        self._objects = objects

    async def pages(self, resource: Any, namespace: str | None = None) -> Any:
        yield SimpleNamespace(items=self._objects.get(resource.plural, []))


def cluster_with(client: object, **others: object) -> RunningCluster:
    return cast(RunningCluster, SimpleNamespace(client=client, **others))


async def test_words_are_what_kubectl_reports_of_a_namespace(tmp_path: Any) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text('#!/bin/sh\necho "$@"\n')
    kubectl.chmod(0o755)
    cluster = cluster_with(None, kubectl=kubectl, kubeconfig="/k")
    asked = "--kubeconfig=/k --request-timeout=10s --namespace=appwrapper-system"
    logs = f"{asked} logs --selector=control-plane --ignore-errors --prefix --tail=20"
    assert await last_words(cluster, "appwrapper-system") == (
        f"\n\n{asked} describe pods --show-events=false\n"
        f"{asked} get events --field-selector=type=Warning --sort-by=.lastTimestamp\n"
        f"{logs} --all-containers --previous\n"
        f"{logs} --all-containers"
    )


async def test_without_an_api_server_its_error_is_the_only_one(tmp_path: Any) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text("#!/bin/sh\necho 'connection refused' >&2\nexit 1\n")
    kubectl.chmod(0o755)
    cluster = cluster_with(None, kubectl=kubectl, kubeconfig="/k")
    assert await last_words(cluster, "appwrapper-system") == "\n\nconnection refused"


async def test_fields_of_pods_that_are_kept(tmp_path: Any) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text("#!/bin/sh\necho it wrote this\n")
    kubectl.chmod(0o755)
    client = PodText(pods=[WAITING, PENDING])
    await keep(cluster_with(client, kubectl=kubectl, kubeconfig="/k", logs=tmp_path))
    kept = {path.name: path.read_text() for path in (tmp_path / "pods").iterdir()}
    assert kept.keys() == {"objects.yaml", "appwrapper-system.appwrapper-webhook-1.log"}
    assert kept["appwrapper-system.appwrapper-webhook-1.log"] == "it wrote this\n"
    assert "CrashLoopBackOff" in kept["objects.yaml"]


async def test_logs_that_cannot_be_kept_are_reported(tmp_path: Any) -> None:
    await keep(cluster_with(Gone(), logs=tmp_path))
    (file,) = (tmp_path / "pods").iterdir()
    assert file.name == "incomplete"
    assert file.read_text() == ("Not everything could be kept: Unreachable('connection refused')\n")

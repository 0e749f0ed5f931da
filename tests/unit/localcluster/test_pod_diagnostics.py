"""What is told of pods that do not run."""

from types import SimpleNamespace
from typing import Any, cast

from localcluster.access.running import RunningCluster
from localcluster.pod_diagnostics import is_ready, keep, last_words, state_of
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


def test_the_state_of_a_pod_that_crashes() -> None:
    assert state_of(WAITING).splitlines() == [
        "Pod appwrapper-webhook-1: Running (real-node)",
        "  Ready: containers with unready status",
        "  webhook: waiting CrashLoopBackOff, back-off 10s",
        "  webhook: before, terminated Error, 1",
    ]


def test_the_state_of_a_new_pod() -> None:
    assert state_of(PENDING) == "Pod new: Unknown (no node yet)"


def test_which_pods_are_ready() -> None:
    assert not is_ready(WAITING)
    assert not is_ready(PENDING)
    assert is_ready({"status": {"conditions": [{"type": "Ready", "status": "True"}]}})


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


async def test_without_an_api_server_there_are_no_words() -> None:
    said = await last_words(cluster_with(Gone()), "appwrapper-system")
    assert said == " The pods cannot be listed: connection refused."


async def test_warnings_explain_a_missing_pod() -> None:
    about = {"kind": "ReplicaSet", "name": "appwrapper-webhook-5d"}
    events = [
        {
            "type": "Warning",
            "involvedObject": about,
            "reason": "FailedCreate",
            "message": "forbidden: violates PodSecurity",
            "lastTimestamp": "2026-11-21T20:00:02Z",
        },
        {"type": "Normal", "involvedObject": about, "reason": "Scaled", "message": "not told"},
        {
            "type": "Warning",
            "involvedObject": about,
            "reason": "Earlier",
            "message": "quota",
            "lastTimestamp": "2026-11-21T20:00:01Z",
        },
    ]
    assert await last_words(cluster_with(PodText(events=events)), "appwrapper-system") == (
        " There is no pod in appwrapper-system.\n"
        "The last warnings:\n"
        "  ReplicaSet appwrapper-webhook-5d: Earlier: quota\n"
        "  ReplicaSet appwrapper-webhook-5d: FailedCreate: forbidden: violates PodSecurity"
    )


async def test_words_of_a_pod_that_crashes_end_with_its_log(tmp_path: Any) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text('#!/bin/sh\necho "$@"\n')
    kubectl.chmod(0o755)
    cluster = cluster_with(PodText(pods=[WAITING]), kubectl=kubectl, kubeconfig="/k")
    assert await last_words(cluster, "appwrapper-system") == (
        f"\n\n{state_of(WAITING)}\n"
        "--kubeconfig=/k --request-timeout=10s --namespace=appwrapper-system"
        " logs appwrapper-webhook-1 --all-containers --tail=20\n"
    )


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
    (said,) = (tmp_path / "pods").iterdir()
    assert said.name == "incomplete"
    assert said.read_text() == ("Not everything could be kept: Unreachable('connection refused')\n")

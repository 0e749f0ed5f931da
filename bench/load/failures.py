"""Fail workers one after the other, with the administrator's rights, as if the recorder ran.

Each worker leaves a record in its termination message, and a file if there is an error store.
"""

import time
from collections.abc import Sequence
from pathlib import Path

from bench.load.faults import pods_of
from bench.load.requests import for_each
from bench.objects import NAMESPACE
from shared.api.objects import PODS, JsonObject
from shared.kube.client import KubeClient, PatchType
from worker import error_document, termination_message
from worker.record import USER, ErrorRecord

_BUDGET = 4096
_TRACEBACK = "Traceback (most recent call last):\n" + '  File "train.py", line 7, in step\n' * 20


def records_of(pods: Sequence[JsonObject], now_ns: int) -> list[ErrorRecord]:
    """Return a record for each pod, a millisecond apart. `now_ns`: nanoseconds since the epoch."""
    return [
        ErrorRecord(
            code="RuntimeError",
            message=f"{_TRACEBACK}RuntimeError: Connection reset by peer, worker {rank}",
            recoverable=True,
            origin=USER,
            time_ns=now_ns + rank * 1_000_000,
            worker=pod["metadata"]["name"],
            pod_uid=pod["metadata"]["uid"],
            attempt=1,
            rank=rank,
            exit_code=1,
            record_id=pod["metadata"]["uid"],
        )
        for rank, pod in enumerate(pods)
    ]


def leave_files(folder: Path, records: Sequence[ErrorRecord]) -> None:
    """Write each record's file, as the recorders do."""
    folder.mkdir(parents=True, exist_ok=True)
    for record in records:
        (folder / f"error-{record.worker}.pb").write_bytes(error_document.encode(record))


async def fail_all(
    client: KubeClient, pods: Sequence[JsonObject], records: Sequence[ErrorRecord]
) -> None:
    """Set all pods to Failed, several at once, as their kubelets would report."""

    async def fail(pair: tuple[JsonObject, ErrorRecord]) -> None:
        await fail_one(client, *pair)

    await for_each(zip(pods, records, strict=True), fail)


async def fail_one(client: KubeClient, pod: JsonObject, record: ErrorRecord) -> float:
    """Set one pod to Failed. Return the moment before that, of `time.perf_counter`."""
    status = {"status": failed_status(pod, record)}
    began = time.perf_counter()
    await client.patch(
        PODS, NAMESPACE, pod["metadata"]["name"], status, PatchType.MERGE, subresource="status"
    )
    return began


async def same_requests(client: KubeClient, name: str) -> float:
    """Return how many seconds the requests of a reset take, for an AppWrapper with one pod.

    They are the pod's failure, the list that proves it, and a write. Here both writes set an
    annotation that no controller reads.
    """
    began = time.perf_counter()
    patch = {"metadata": {"annotations": {"bench.example.com/at": str(began)}}}
    (pod,) = await pods_of(client, name)
    for _ in range(2):
        await client.patch(PODS, NAMESPACE, pod["metadata"]["name"], patch, PatchType.MERGE)
    return time.perf_counter() - began


def failed_status(pod: JsonObject, record: ErrorRecord) -> JsonObject:
    """Return the pod status that the kubelet writes for a container with this record."""
    (container,) = pod["status"]["containerStatuses"]
    started = container["state"]["running"]["startedAt"]
    terminated = {
        "exitCode": record.exit_code,
        "reason": "Error",
        "startedAt": started,
        "finishedAt": started,
        "message": termination_message.encode(record, _BUDGET).decode(),
    }
    ended = {**container, "ready": False, "state": {"terminated": terminated}}
    return {"phase": "Failed", "containerStatuses": [ended]}

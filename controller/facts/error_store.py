"""Where an attempt's error records are, what was read of them, and who may leave more. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from controller.facts.pods import Pod
from shared.api.appwrapper import AppWrapper
from worker.record import ErrorRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRead:
    """`skipped` says of bad files which they are and what is wrong; `problem` why none was read."""

    records: tuple[ErrorRecord, ...] = ()
    skipped: tuple[str, ...] = ()
    problem: str = ""


def records_uri(store: str, appwrapper: AppWrapper, attempt: int) -> str:
    """Return the folder of one attempt's records below the URL of a store.

    The API server allows no slash in any of the names, and no attempt has another's folder.
    """
    names = (appwrapper.namespace, appwrapper.name, appwrapper.uid, str(attempt))
    return "/".join((store.rstrip("/"), *names))


def awaits_records(pods: Iterable[Pod], attempt: int, store: str) -> bool:
    """True if the workload records its failures, and one of its pods may yet leave a record.

    It does if a pod left a record in its termination message, or the AppWrapper names a store. Pods
    that failed without a record, and those that run, may leave one.
    """
    current = [pod for pod in pods if pod.attempt in ("", str(attempt))]
    without = [pod for pod in current if not any(end.record for end in pod.ends)]
    if not store and len(without) == len(current):
        return False
    return any(pod.phase in ("Failed", "Running") for pod in without)

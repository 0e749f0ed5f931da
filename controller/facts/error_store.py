"""An attempt's error records: their folder, those read, and whether more may come. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from controller.facts.pods import Pod
from shared.api.appwrapper import AppWrapper
from worker.record import ErrorRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRead:
    """`skipped`: names of bad files with their error. `problem`: why no file was read."""

    records: tuple[ErrorRecord, ...] = ()
    skipped: tuple[str, ...] = ()
    problem: str = ""


def records_uri(store: str, appwrapper: AppWrapper, attempt: int) -> str:
    """Return the folder of one attempt's records below the URL of a store.

    The API server allows no slash in these names, so each attempt has its own folder.
    """
    names = (appwrapper.namespace, appwrapper.name, appwrapper.uid, str(attempt))
    return "/".join((store.rstrip("/"), *names))


def awaits_records(pods: Iterable[Pod], attempt: int, store: str) -> bool:
    """True if the workload records its failures, and one of its pods may still write a record.

    A workload records if some pod's termination message has a record, or the AppWrapper names a
    store. Running pods, and failed pods without a record, may still write one.
    """
    current = [pod for pod in pods if pod.attempt in ("", str(attempt))]
    without = [pod for pod in current if not any(end.record for end in pod.ends)]
    if not store and len(without) == len(current):
        return False
    return any(pod.phase in ("Failed", "Running") for pod in without)

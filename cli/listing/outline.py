"""Keep the parts of AppWrappers and Workloads that the list needs: their templates are large. Pure.

Each page of a list is projected before the next arrives.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from shared.api.amounts import added_up
from shared.api.appwrapper import AppWrapper
from shared.api.objects import JsonObject, controller_of
from shared.waits.component_requests import component_requests
from shared.waits.queueing import pending_text
from shared.waits.workload import LABEL_OWNER, priority_of

_METADATA: Final = (
    "namespace",
    "name",
    "uid",
    "labels",
    "annotations",
    "creationTimestamp",
    "deletionTimestamp",
)
_SPEC: Final = ("suspend", "managedBy")
_STATUS: Final = (
    "phase",
    "conditions",
    "attempt",
    "resettingCount",
    "quotaSeconds",
    "rootCause",
)


@dataclass(frozen=True, slots=True)
class AppWrapperOutline:
    """An AppWrapper without its components. `requests`: of all pod sets together."""

    appwrapper: AppWrapper
    requests: Mapping[str, Decimal]


@dataclass(frozen=True, slots=True)
class WorkloadOutline:
    """A Workload. `pending`: Kueue's reason why it waits, "" without one."""

    name: str
    owner_uid: str
    created: str
    priority: int
    priority_class: str
    pending: str


def appwrapper_outline(raw: JsonObject) -> AppWrapperOutline:
    """Project an AppWrapper."""
    full = AppWrapper(raw)
    kept = {
        "metadata": _some(full.metadata, _METADATA),
        "spec": _some(full.spec, _SPEC),
        "status": _some(full.status, _STATUS),
    }
    asks = component_requests(full.components)
    return AppWrapperOutline(AppWrapper(kept), added_up(each.total for each in asks))


def appwrapper_outlines(page: Iterable[JsonObject]) -> Iterator[AppWrapperOutline]:
    return map(appwrapper_outline, page)


def workload_outline(raw: JsonObject) -> WorkloadOutline:
    """Project a Workload."""
    metadata, owner = raw["metadata"], controller_of(raw)
    priority, priority_class = priority_of(raw)
    labelled = (metadata.get("labels") or {}).get(LABEL_OWNER) or ""
    return WorkloadOutline(
        name=metadata["name"],
        owner_uid=owner.uid if owner else labelled,
        created=metadata.get("creationTimestamp") or "",
        priority=priority,
        priority_class=priority_class,
        pending=pending_text(raw),
    )


def workload_outlines(page: Iterable[JsonObject]) -> Iterator[WorkloadOutline]:
    return map(workload_outline, page)


def by_owner(workloads: Iterable[WorkloadOutline]) -> dict[str, WorkloadOutline]:
    """Index the newest Workload of each owner by the owner's UID."""
    ordered = sorted(workloads, key=lambda each: each.created)
    return {each.owner_uid: each for each in ordered}


def _some(holder: Mapping[str, Any], keys: Iterable[str]) -> JsonObject:
    return {key: holder[key] for key in keys if key in holder}

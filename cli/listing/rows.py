"""One row of the list for each AppWrapper: composed, filtered and sorted. Pure."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from cli.creators import creator_of
from cli.listing.outline import AppWrapperOutline, WorkloadOutline
from cli.listing.why import why
from cli.phases import shown_phase
from shared.api.appwrapper import AppWrapper
from shared.api.times import parse_time
from shared.waits.gpus import gpus_in


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedAppWrapper:
    """One AppWrapper. `position`: from 1, in the ClusterQueue's order. None: unknown, or none.

    `user`: who created it. `why`: why it is not running, "" if nothing is wrong.
    """

    namespace: str
    name: str
    user: str
    status: str
    gpus: Decimal
    priority: int | None
    priority_class: str | None
    queue: str
    position: int | None
    created: datetime
    attempt: int
    retries: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListContext:
    """The facts besides the AppWrappers: Kueue's view, and the resources of GPUs.

    `workloads`: by the UID of the owner. `positions`: by namespace and name of the Workload.
    """

    workloads: Mapping[str, WorkloadOutline] = field(default_factory=dict)
    positions: Mapping[tuple[str, str], int] = field(default_factory=dict)
    gpu_resources: Collection[str] = ()


def may_wait(appwrapper: AppWrapper) -> bool:
    """True if Kueue may show a position for the AppWrapper."""
    return shown_phase(appwrapper) in ("", "Suspended") and bool(appwrapper.queue_name)


def listed(outline: AppWrapperOutline, context: ListContext, now: datetime) -> ListedAppWrapper:
    """Compose one row."""
    appwrapper = outline.appwrapper
    created = parse_time(appwrapper.metadata["creationTimestamp"])
    workload = context.workloads.get(appwrapper.uid)
    place = None
    if workload is not None and may_wait(appwrapper):
        place = context.positions.get((appwrapper.namespace, workload.name))
    return ListedAppWrapper(
        namespace=appwrapper.namespace,
        name=appwrapper.name,
        user=creator_of(appwrapper),
        status=shown_phase(appwrapper),
        gpus=gpus_in(outline.requests, context.gpu_resources),
        priority=workload.priority if workload else None,
        priority_class=(workload.priority_class or None) if workload else None,
        queue=appwrapper.queue_name,
        position=place,
        created=created,
        attempt=appwrapper.attempt,
        retries=appwrapper.retries,
        why=why(appwrapper, workload.pending if workload else "", created, now),
    )


# The order of the default sort: what runs, what waits, what has ended.
_ORDER: Final = (
    "Running",
    "Resuming",
    "Resetting",
    "Suspending",
    "",
    "Suspended",
    "Terminating",
    "Failed",
    "Succeeded",
)
_LAST: Final = 1 << 40
_Key = Callable[[ListedAppWrapper], Any]
SORT_KEYS: Final[dict[str, _Key]] = {
    "status": lambda row: (_rank(row.status), row.position or _LAST),
    "name": lambda row: row.name,
    "user": lambda row: row.user,
    "gpus": lambda row: -row.gpus,
    "priority": lambda row: _LAST if row.priority is None else -row.priority,
    "queue": lambda row: row.queue,
    "position": lambda row: row.position or _LAST,
    "age": lambda row: -row.created.timestamp(),
}


def _rank(status: str) -> int:
    return next((place for place, each in enumerate(_ORDER) if each == status), len(_ORDER))


def in_order(rows: Iterable[ListedAppWrapper], key: str) -> list[ListedAppWrapper]:
    """Sort: large numbers and new AppWrappers first, positions and texts ascending.

    Rows that are equal so far: by namespace and name.
    """
    by_name = sorted(rows, key=lambda row: (row.namespace, row.name))
    return sorted(by_name, key=SORT_KEYS[key])

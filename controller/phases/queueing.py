"""Facts about one AppWrapper in Kueue's objects."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Queueing:
    """The state of a queued AppWrapper as Kueue's objects show it.

    `workload`: a Workload exists. `considered`: Kueue has considered it. `trouble`: why the queue
    admits nothing. `unmanaged`: why Kueue creates no Workload; empty if nothing proves that, None
    if unknown. `certain`: `trouble` or `unmanaged` is reported at once. `pending`: Kueue's reason
    for the wait. `evicted`: why the Workload lost its quota before. `deactivated`: the controller
    deactivated the Workload because of a hold.
    """

    workload: bool
    trouble: str = ""
    certain: bool = False
    pending: str = ""
    evicted: str = ""
    considered: bool = False
    deactivated: bool = False
    unmanaged: str | None = None


@dataclass(frozen=True, slots=True)
class OwnWorkload:
    """The AppWrapper's Workload as read from the API server, in the version `version`.

    `active`: its spec's. `deactivated`: the controller set that to false because of a hold.
    """

    name: str
    uid: str
    version: str
    active: bool
    deactivated: bool = False
    has_quota: bool = False

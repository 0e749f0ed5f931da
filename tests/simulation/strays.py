"""Objects that nothing can prevent: late writes, and pods that a stalled controller makes.

A write is late if its sender crashed or gave up before. A pod is made too late if the object that
controls it has been gone for 3 seconds: the product waits that long for the other controllers.
"""

from collections.abc import Callable
from typing import Final

from shared.api.objects import controller_of
from tests.simulation.api.kinds import BY_OBJECT
from tests.simulation.api.store import Write
from tests.simulation.cluster import Cluster
from tests.simulation.faults import Faults

PATIENCE: Final = 30.0
"""After so many seconds without a fault a stray must be gone."""
_SETTLES: Final = 3.0


class Strays:
    """Knows which AppWrappers may have strays now.

    `late` returns whether any write of the run may come from a process that is behind.
    """

    def __init__(self, cluster: Cluster, faults: Faults, late: Callable[[], bool]) -> None:
        self._cluster = cluster
        self._faults = faults
        self._late = late
        self._made_at: dict[
            str, float
        ] = {}  # by the AppWrapper's UID: when its last stray was made
        self._gone_at: dict[str, float] = {}  # by UID: when an object was removed

    def see(self, write: Write, uid: str) -> None:
        """Record a write to an object of the AppWrapper with this UID."""
        if write.type == "DELETED":
            self._gone_at[write.item["metadata"]["uid"]] = write.at
        elif write.type == "ADDED" and (self._faults.is_landing or self._is_orphan(write)):
            self._made_at[uid] = write.at

    def may_be_there(self, uid: str) -> bool:
        """True if the AppWrapper may have a stray that is not gone yet."""
        made_at = self._made_at.get(uid)
        now = self._cluster.loop.now
        return self._late() or (made_at is not None and now < made_at + PATIENCE)

    def check_later(self, check: Callable[..., None], *args: object) -> None:
        """Check after 30 seconds without a fault."""

        def later() -> None:
            left = self._faults.over_at + PATIENCE - self._cluster.loop.now
            if left > 0:
                self._cluster.loop.outside(left, later)
            else:
                check(*args)

        self._cluster.loop.outside(PATIENCE, later)

    def _is_orphan(self, write: Write) -> bool:
        """True if the object that controls the new one has been gone for long."""
        owner = controller_of(write.item)
        if owner is None:
            return False
        namespace = write.item["metadata"]["namespace"]
        resource = BY_OBJECT[owner.api_version, owner.kind]
        found = self._cluster.store.get(resource, namespace, owner.name)
        if found is not None and found["metadata"]["uid"] == owner.uid:
            return False
        return write.at >= self._gone_at.get(owner.uid, 0.0) + _SETTLES

"""What a component owns, by a fresh list: for the proof that nothing is left of it.

Background deletion gives up the component before what it owns. So it is asked only for one of which
it is proved that it owns nothing any more that is a pod, or could make one.
"""

from dataclasses import dataclass
from typing import Final

from controller.gather.unserved_kinds import UnservedKinds
from shared.api.resource import PODS, Resource
from shared.kinds.pod import POD
from shared.kinds.scaled import REPLICA_SETS
from shared.kinds.table import BY_GROUP_KIND, KINDS
from shared.kinds.without_pods import CLAIMS, POD_GROUPS, SERVICES
from shared.kube.client import KubeClient
from shared.kube.errors import Forbidden, NotFound

# Of a Kind without a record nobody knows what it makes: all that the controller may list.
_ANYTHING: Final = (
    PODS,
    REPLICA_SETS,
    *(each.resource for each in KINDS if each.pod_sets is not None and each is not POD),
    SERVICES,
    CLAIMS,
    POD_GROUPS,
)


def _owned_by(resource: Resource) -> tuple[Resource, ...]:
    kind = BY_GROUP_KIND.get(resource.gvk.group_kind)
    return _ANYTHING if kind is None else kind.owns


@dataclass(frozen=True, slots=True)
class Dependants:
    """`names` are Kind and name of what was found, `unproved` what could not be listed, and why."""

    names: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()

    @property
    def are_gone(self) -> bool:
        """It is proved that there are none."""
        return not self.names and not self.unproved


class DependantSearch:
    """Lists metadata in the component's namespace, and nothing else."""

    def __init__(self, client: KubeClient, unserved: UnservedKinds) -> None:
        self._client = client
        self._unserved = unserved

    async def of(self, resource: Resource, namespace: str, uid: str) -> Dependants:
        """What the object of that UID owns. Raises KubeError, save where listing is forbidden."""
        names: list[str] = []
        unproved: list[str] = []
        for kind in _owned_by(resource):
            try:
                names += [f"{kind.kind} {name}" for name in await self._owned(kind, namespace, uid)]
            except Forbidden:
                unproved.append(f"{kind.plural} may not be listed")
            except NotFound:
                if obstacle := await self._unserved.obstacle(kind.gvk):
                    unproved.append(f"{kind.kind}: {obstacle}")
        return Dependants(tuple(names), tuple(unproved))

    async def _owned(self, kind: Resource, namespace: str, uid: str) -> list[str]:
        pages = self._client.list_pages(kind, namespace, metadata_only=True)
        return [
            item["metadata"]["name"]
            async for page in pages
            for item in page.items
            if any(owner["uid"] == uid for owner in item["metadata"].get("ownerReferences") or ())
        ]

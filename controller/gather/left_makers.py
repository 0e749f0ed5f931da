"""What is left between a component that is gone and pods that it may yet come to.

Somebody may delete a Deployment in the background, or orphan what it owns: its ReplicaSet stays and
goes on making pods that carry our labels. With foreground deletion, ours, nothing is ever left.
"""

from collections.abc import Iterable, Sequence

from controller.facts.component_facts import Located
from controller.facts.observation import Deployed
from controller.gather.unserved_kinds import UnservedKinds, recorded_kind
from shared.api.appwrapper import AppWrapper
from shared.api.json import JsonObject
from shared.api.labels import is_label_value
from shared.api.names import LABEL_UID
from shared.api.resource import Resource
from shared.kinds.table import BY_GROUP_KIND
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError, NotFound


class LeftMakers:
    """Lists by label, live."""

    def __init__(self, client: KubeClient, unserved: UnservedKinds) -> None:
        self._client = client
        self._unserved = unserved

    async def find(
        self, appwrapper: AppWrapper, located: Sequence[Located]
    ) -> tuple[Deployed, ...]:
        """Of components without an object: what is left that makes their pods. Raises KubeError."""
        found: dict[str, Deployed] = {}
        for index, each in enumerate(located):
            if each.facts is None and each.component.name:
                kind = BY_GROUP_KIND.get(recorded_kind(appwrapper, index).group_kind)
                for maker in () if kind is None else kind.makers:
                    name = each.component.name
                    value = appwrapper.uid if maker.label == LABEL_UID else name
                    selector = f"{maker.label}={value}"
                    for left in await self._listed(appwrapper, maker.resource, selector, value):
                        found[left.uid] = left
        return tuple(found.values())

    async def _listed(
        self, appwrapper: AppWrapper, resource: Resource, selector: str, value: str
    ) -> list[Deployed]:
        if not is_label_value(value):
            return []
        pages = self._client.list_pages(resource, appwrapper.namespace, label_selector=selector)
        found: list[Deployed] = []
        try:
            async for page in pages:
                if not page.resource_version:
                    raise ApiError(200, "NotAList", f"no list of {resource.plural}")
                found += [
                    _deployed(resource, item)
                    for item in page.items
                    if appwrapper.uid in _labels_of_pods(item)
                ]
        except NotFound as error:
            if not error.of_resource or await self._unserved.obstacle(resource.gvk):
                raise
        return found


def _deployed(resource: Resource, item: JsonObject) -> Deployed:
    metadata = item["metadata"]
    return Deployed(resource, metadata["name"], metadata["uid"], "deletionTimestamp" in metadata)


def _labels_of_pods(item: JsonObject) -> Iterable[str]:
    """The UIDs of the AppWrappers whose pods it makes: another's may have the same name."""
    spec = item.get("spec") or {}
    holders = [spec, spec.get("headGroupSpec") or {}, *(spec.get("workerGroupSpecs") or ())]
    for holder in holders:
        labels = ((holder.get("template") or {}).get("metadata") or {}).get("labels") or {}
        if uid := labels.get(LABEL_UID):
            yield uid

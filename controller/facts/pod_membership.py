"""Whose a pod is: which AppWrapper's, which attempt's and which component's. Pure."""

from dataclasses import dataclass

from controller.facts.pod import Pod
from controller.phases.snapshot import Component


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """What one AppWrapper's pods are told by.

    `uids` are those of the components' objects, parallel to `components`; empty where no object is
    there. `taken_over`: it was deployed under the Go operator, so its pods lack most of our labels.
    """

    appwrapper_uid: str
    attempt: int
    components: tuple[Component, ...]
    uids: tuple[str, ...]
    taken_over: bool = False

    def is_own(self, pod: Pod) -> bool:
        """The pod is of this AppWrapper, of whatever attempt.

        The name label alone proves nothing: anybody may copy it, and somebody else's pod must be
        neither waited for nor deleted. Without a UID label the pod's owner decides. Under the Go
        operator that may be an object that we do not know, a ReplicaSet for instance.
        """
        if pod.appwrapper_uid:
            return pod.appwrapper_uid == self.appwrapper_uid
        if not pod.owner_uid:
            return False
        known = pod.owner_uid == self.appwrapper_uid or pod.owner_uid in self.uids
        return known or self.taken_over

    def is_current(self, pod: Pod) -> bool:
        """It is own, and of this attempt; the Go operator knew of one attempt only."""
        return self.is_own(pod) and pod.attempt in ("", str(self.attempt))

    def index_of(self, pod: Pod) -> int | None:
        """The component that an own pod is, or comes from; None when nothing tells."""
        if pod.component is not None and pod.component < len(self.components):
            return pod.component
        for uid in (pod.owner_uid, pod.uid):
            if uid and uid in self.uids:
                return self.uids.index(uid)
        with_pods = [i for i, component in enumerate(self.components) if component.expected_pods]
        return with_pods[0] if len(with_pods) == 1 else None

    def component_of(self, pod: Pod) -> Component | None:
        """The same, as the component itself."""
        index = self.index_of(pod)
        return None if index is None else self.components[index]

"""Report when a command's pod and attempt have ended."""

from cli.cluster.connection import Cluster
from cli.cluster.watched import WatchedObjects
from cli.logs.choosing import LogPod, log_pod
from cli.logs.ranks import PodRanks
from cli.phases import ENDED, shown_phase
from cli.reaching.target import Target
from shared.api.appwrapper import AppWrapper
from shared.api.objects import APPWRAPPERS, PODS, JsonObject

_STOPS = frozenset({*ENDED, "Resetting", "Suspending", "Terminating"})


def why_over(present: JsonObject | None, pod: LogPod | None, target: Target) -> str:
    """Return the sentence about the end; "" while the pod runs. Pure.

    `present`, `pod`: as they are now, None if they are gone.
    """
    asked = target.appwrapper
    if present is None or (now := AppWrapper(present)).uid != asked.uid:
        return f"{asked.name} was deleted"
    phase = shown_phase(now)
    if now.attempt != asked.attempt or phase in _STOPS:
        return f"attempt {asked.attempt} has ended: {asked.name} is {phase}"
    if pod is None or pod.uid != target.pod.uid:
        return f"{target.pod.name} was deleted"
    if pod.is_over:
        return f"{target.pod.name} has ended"
    return ""


class EndWatch:
    """Watches the AppWrapper and the pod of a target."""

    def __init__(self, cluster: Cluster, target: Target) -> None:
        self._target = target
        self.watched = WatchedObjects(cluster)
        namespace, pod = target.appwrapper.namespace, target.pod
        self._own = self.watched.add(
            APPWRAPPERS,
            lambda item: item,
            namespace,
            field_selector=f"metadata.name={target.appwrapper.name}",
        )
        self._pods = self.watched.add(
            PODS,
            lambda item: log_pod(item, PodRanks({}, 0), pod.container),
            namespace,
            field_selector=f"metadata.name={pod.name}",
        )

    def why_over(self) -> str:
        """Return the sentence about the end; "" while the pod runs. Raises Forbidden."""
        self.watched.raise_refusal()
        if not (self._own.synced and self._pods.synced):
            return ""
        namespace = self._target.appwrapper.namespace
        present = self._own.get(namespace, self._target.appwrapper.name)
        return why_over(present, self._pods.get(namespace, self._target.pod.name), self._target)

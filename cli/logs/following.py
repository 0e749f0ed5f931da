"""Follow the logs of one attempt (`appwrapper logs -f`), pods that start later included."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from cli.cluster.connection import Cluster
from cli.cluster.watched import WatchedObjects
from cli.logs.choosing import LogChoice, LogPod, LogState, log_pod, order
from cli.logs.output import LogOutput
from cli.logs.pumps import LogPumps
from cli.logs.ranks import pod_ranks
from cli.logs.streams import LogReader
from cli.phases import ENDED
from controller.phases.phase import Phase
from shared.api.appwrapper import AppWrapper
from shared.api.names import LABEL_APPWRAPPER
from shared.api.objects import APPWRAPPERS, PODS, JsonObject

# Each stream is a connection to the API server, which holds one to the pod's kubelet.
MOST_STREAMS: Final = 256
# Seconds that a line waits for earlier ones of other pods.
_PATIENCE: Final = 0.3
# Seconds for the last lines after the end of the AppWrapper. Some pods may be kept, and run.
_LAST_LINES: Final = 2.0
# Seconds in which a Job makes its next pod, after all pods have ended.
_NEXT_POD: Final = 15.0
_STOPS: Final = frozenset({Phase.RESETTING.value, Phase.SUSPENDING.value, Phase.TERMINATING.value})


def ends_within(
    present: JsonObject | None, asked: AppWrapper, attempt: int, pods: Sequence[LogPod]
) -> float | None:
    """Return the seconds for which an attempt that ends is still followed; None if it goes on.

    `present`: the AppWrapper now, None if it is gone. `pods`: the attempt's pods. Pure.
    """
    if present is None or (now := AppWrapper(present)).uid != asked.uid or now.attempt > attempt:
        return _LAST_LINES
    phase = now.status.get("phase")
    if phase in ENDED or (phase in _STOPS and now.attempt == attempt and not pods):
        return _LAST_LINES
    # Pods of unknown number count as all.
    if pods and all(each.is_over for each in pods) and len(pods) >= pod_ranks(asked).expected:
        return _NEXT_POD
    return None


class AttemptFollower:
    """Prints the logs of the attempt's chosen pods until the attempt has ended.

    `attempt`: its number. If it has not begun, it is awaited.
    """

    def __init__(
        self,
        cluster: Cluster,
        raw: JsonObject,
        attempt: int,
        choice: LogChoice,
        container: str,
        reader: LogReader,
        output: LogOutput,
    ) -> None:
        self._clock, self._reader, self._output = cluster.clock, reader, output
        self._asked, self._attempt, self._choice = AppWrapper(raw), attempt, choice
        ranks = pod_ranks(self._asked)
        self._known: set[str] = set()  # the UIDs of pods with a stream
        # The rule that ends the attempt, and when it began to hold.
        self._ending: tuple[float | None, float] = (None, 0.0)
        self._is_first_look = True
        self._watched = WatchedObjects(cluster)
        self._pods = self._watched.add(
            PODS,
            lambda item: log_pod(item, ranks, container),
            self._asked.namespace,
            label_selector=f"{LABEL_APPWRAPPER}={self._asked.name}",
        )
        self._own = self._watched.add(
            APPWRAPPERS,
            lambda item: item,
            self._asked.namespace,
            field_selector=f"metadata.name={self._asked.name}",
        )

    async def run(self) -> JsonObject | None:
        """Return the AppWrapper as it is at the end; None if it is gone. Raises KubeError."""
        async with self._watched.running() as tasks:
            pumps = LogPumps(
                tasks,
                self._clock,
                self._output,
                patience=_PATIENCE,
                changed=self._watched.changed,
            )
            try:
                while True:
                    self._start_new(pumps)
                    ready = pumps.print_ready()
                    if self._is_over(pumps):
                        break
                    waits = [each for each in (ready, self._seconds_left()) if each is not None]
                    await pumps.wait(min(waits, default=None))
            finally:
                for task in pumps.tasks:
                    task.cancel()
        return self._present

    def _is_over(self, pumps: LogPumps) -> bool:
        self._watched.raise_refusal()
        if not self._synced:
            return False
        rule = ends_within(self._present, self._asked, self._attempt, self._of_attempt)
        if rule != self._ending[0]:
            self._ending = (rule, self._clock.monotonic())
        if rule == _LAST_LINES and pumps.is_over:
            return True
        left = self._seconds_left()
        return left is not None and left <= 0 and (rule == _LAST_LINES or pumps.is_over)

    def _seconds_left(self) -> float | None:
        rule, began = self._ending
        return None if rule is None else max(0.0, began + rule - self._clock.monotonic())

    def _start_new(self, pumps: LogPumps) -> None:
        """Follow the chosen pods whose container has started since."""
        if not self._synced:
            return
        for pod in sorted(self._of_attempt, key=order):
            if pod.uid in self._known or not pod.container or not self._choice.has(pod):
                continue
            if pod.state is LogState.NONE:
                if self._is_first_look:
                    self._output.about(pod, f"it has no log yet: {pod.reason}")
                continue
            if pumps.open >= MOST_STREAMS:
                self._output.note(
                    f"more than {MOST_STREAMS} pods run, and only {MOST_STREAMS} are followed:"
                    " choose with --rank or --pod"
                )
                break
            self._known.add(pod.uid)
            pumps.start(pod, partial(self._reader.follow, pod, from_start=not self._is_first_look))
        self._is_first_look = False

    @property
    def _synced(self) -> bool:
        return self._pods.synced and self._own.synced

    @property
    def _present(self) -> JsonObject | None:
        return self._own.get(self._asked.namespace, self._asked.name)

    @property
    def _of_attempt(self) -> list[LogPod]:
        pods = (pod for _, pod in self._pods.items())
        return [each for each in pods if each.is_of(self._asked, self._attempt)]

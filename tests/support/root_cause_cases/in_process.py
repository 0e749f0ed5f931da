"""Fails the workers of a case in process: the controller gathers, decides, and reports."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path
from typing import Any, Final

from prometheus_client import CollectorRegistry

from controller.apply.events import Teller
from controller.apply.status import status_after
from controller.facts.observe import Observation
from controller.facts.pods import project_pod
from controller.gather.error_store_reader import ErrorStores
from controller.phases import decide
from controller.phases.actions import Actions
from controller.phases.phase import Phase
from shared.api.objects import JsonObject
from shared.api.times import format_time
from shared.config.configuration import AppWrapperConfig
from shared.config.fault_tolerance import ErrorAggregation, FaultToleranceConfig
from shared.process.clock import SystemClock
from tests.support.builders.annotations import prefixed
from tests.support.builders.appwrappers import phase
from tests.support.builders.autopilot import GPU
from tests.support.builders.gathering import Gathering, appwrapper, facts, raw_pod
from tests.support.fakes.fake_clock import fake_sources
from tests.support.fakes.fake_kube import listed
from tests.support.root_cause_cases.case import STORE, Case, expected, reports_in
from tests.support.root_cause_cases.workers import Workers

_BEGAN: Final = datetime(2026, 1, 1, 10, tzinfo=UTC)
_HOUR: Final = timedelta(hours=1)


def orders(case: Case) -> Sequence[tuple[int, ...]]:
    """Returns the orders in which the controller may list the pods: all, or two with a store."""
    indices = tuple(range(case.workers))
    return (indices, indices[::-1]) if case.has_store else tuple(permutations(indices))


class InProcess:
    """The controller's parts around one AppWrapper. `root` is the folder of the error store."""

    def __init__(self, case: Case, root: Path) -> None:
        self._case = case
        self._root = root
        self._events: list[tuple[str, str]] = []
        self._was_read = asyncio.Event()
        aggregation = ErrorAggregation(stores={STORE: f"file://{root}"})
        self._behaviour = AppWrapperConfig(
            fault_tolerance=FaultToleranceConfig(error_aggregation=aggregation)
        )
        recorder: Any = self
        self._stores = ErrorStores(
            aggregation,
            lambda _key: self._was_read.set(),
            recorder,
            CollectorRegistry(),
            fake_sources(SystemClock()),
        )
        self._teller = Teller(recorder, recorder)
        self._logged: list[str] = []

    # The recorder of Events, and the meter.

    def warning(self, _about: Any, reason: str, message: str) -> None:
        self._events.append((reason, message))

    normal = warning

    def measure(self, observation: Observation, actions: Actions) -> None:
        pass

    async def fails(self, order: Sequence[int]) -> None:
        """Fails all attempts, whose pods are listed in this order; asserts what is reported."""
        status: JsonObject = {}
        attempts: list[Workers] = []
        for number, failure in enumerate(self._case.failures, 1):
            folder = self._root / "team1" / "train" / "u1" / str(number)
            pods = [self._pod(index, number) for index in range(self._case.workers)]
            workers = Workers(pods)
            attempts.append(workers)
            if failure.stored:
                folder.mkdir(parents=True)
                failure.stored(folder, workers)
            ended = [
                pods[index] | {"status": workers.ended(index, failure.ends[index])}
                for index in order
            ]
            status = await self._decided(number, status, ended, workers.base)
            wanted = expected(self._case, attempts, folder)
            messages = [message for reason, message in self._events if reason == "RootCause"]
            warnings = {why: text for why, text in self._events if why in wanted.warnings}
            assert reports_in({"status": status}, messages, warnings) == wanted, order
        assert [text for text in self._logged if "SECRET" in text] == []

    def _pod(self, index: int, attempt: int) -> JsonObject:
        pod = raw_pod(f"w{index}", "Running", str(attempt))
        base = _BEGAN + (attempt - 1) * _HOUR
        pod["metadata"] |= {"uid": f"u-{index}-{attempt}", "creationTimestamp": format_time(base)}
        resources = {"limits": {GPU: "8"}}
        container = {"name": "main", "resources": resources if self._case.bad_nodes else {}}
        pod["spec"] = {"nodeName": f"n{index}", "restartPolicy": "Never", "containers": [container]}
        running = {"startedAt": format_time(base + timedelta(seconds=1))}
        pod["status"]["containerStatuses"] = [{"name": "main", "state": {"running": running}}]
        return pod

    async def _decided(
        self, attempt: int, status: JsonObject, pods: list[JsonObject], base: datetime
    ) -> JsonObject:
        """Returns the status after the passes that decide about the failure, the grace over."""
        item = self._appwrapper(attempt, status)
        now = base + timedelta(minutes=5)
        while phase(item) == Phase.RUNNING:
            gathering = Gathering(
                item,
                known=facts(attempt=str(attempt)),
                pods=tuple(map(project_pod, pods)),
                lists=[[listed(9, *pods)]],
                behaviour=self._behaviour,
                stores=self._stores,
                flagged={f"n{index}": (GPU,) for index in self._case.bad_nodes},
            )
            observation = await gathering.gather(now=now)
            assert observation is not None
            snapshot, config = observation.snapshot, observation.config
            actions = decide(snapshot, now, config)
            self._teller.tell(observation, actions)
            self._logged += [logged for each in actions if (logged := getattr(each, "logged", ""))]
            after = status_after(observation.appwrapper, snapshot.timers, actions, now)
            if phase({"status": after}) == Phase.RUNNING:
                assert snapshot.reads_store, "it waits for nothing else"
                await self._was_read.wait()
                self._was_read.clear()
            item = self._appwrapper(attempt, after)
        result: JsonObject = item["status"]
        return result

    def _appwrapper(self, attempt: int, status: JsonObject) -> JsonObject:
        """Builds the AppWrapper with this status; in the next attempt, which runs by now."""
        annotations = self._case.effective_annotations | {"failureGracePeriodDuration": "0s"}
        item = appwrapper("Running", "QuotaReserved", "ResourcesDeployed", "PodsReady")
        item["metadata"]["annotations"] = prefixed(**annotations)
        item["status"]["componentStatus"][0]["podSets"][0]["replicas"] = self._case.workers
        kept = dict(status)
        if status.get("attempt") != attempt:
            for each in ("phase", "conditions", "timers", "componentStatus"):
                kept.pop(each, None)
        item["status"] |= kept | {"attempt": attempt}
        return item

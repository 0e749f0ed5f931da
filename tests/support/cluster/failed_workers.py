"""Ends workers as their kubelets would report it, and collects all reports about them."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlparse

import yaml

from localcluster.access.running import RunningCluster
from shared.api.objects import PODS, JsonObject
from tests.support.builders.appwrappers import appwrapper, version_of
from tests.support.builders.pods import pod
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.life import Life, listed
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.patience import comes_to
from tests.support.root_cause_cases.case import (
    STORE,
    Case,
    FailureReports,
    expected,
    reports_in,
)
from tests.support.root_cause_cases.workers import End, Workers

LABEL: Final = "workload.codeflare.dev/uid"


class RunningWorkers(Workers):
    """Workers whose pods are on a cluster."""

    def __init__(self, lives: Lives, pods: list[JsonObject]) -> None:
        super().__init__(pods)
        self._lives = lives

    async def end(self, ends: Mapping[int, End], *, order: Sequence[int] = ()) -> None:
        """Ends workers, by index, in this order of arrival; by default in the order of the
        index.
        """
        for index in order or sorted(ends):
            await self._lives.patch_pod(self.name(index), self.ended(index, ends[index]))


async def running(lives: Lives, life: Life, number: int, attempt: int = 1) -> RunningWorkers:
    """Waits until that many pods of the attempt run."""
    uid = life.events[0].object["metadata"]["uid"]
    selector = f"{LABEL}={uid},workload.codeflare.dev/attempt={attempt}"

    found: list[JsonObject] = []

    async def number_running() -> int:
        pods = await listed(lives.client, PODS, NAMESPACE, selector)
        found[:] = [each for each in pods if each["status"].get("phase") == "Running"]
        return len(found)

    await comes_to(number_running, number)
    return RunningWorkers(lives, sorted(found, key=lambda each: str(each["metadata"]["name"])))


async def decided(lives: Lives, life: Life, wanted: str, *, after: int = 0) -> JsonObject:
    """Ends the grace. Returns the first state of the wanted phase, which is the decision's
    write.
    """
    name = life.events[0].object["metadata"]["name"]
    await lives.annotate(name, failureGracePeriodDuration="0s")
    return await life.until_phase(wanted, after=after)


async def world_of(
    lives: Lives, item: JsonObject, events: int = 1, warnings: Iterable[str] = ()
) -> FailureReports:
    """Collects the reports about this state of the AppWrapper, in the status and elsewhere.

    `warnings`: the reasons of other Events, each of which is awaited.
    """
    name = item["metadata"]["name"]
    messages = await _root_cause_events(lives, name, events)
    others = {reason: "\n".join(await lives.event_messages(name, reason)) for reason in warnings}
    return reports_in(item, messages, others)


async def _root_cause_events(lives: Lives, name: str, number: int) -> list[str]:
    """Returns the messages of its Events RootCause, oldest first, once there are that many.

    Each Event is one occurrence.
    """

    async def look() -> list[str]:
        found = await lives.events_about(name, "RootCause")
        assert {each["type"] for each in found} <= {"Warning"}
        assert {each.get("count") or 1 for each in found} <= {1}
        return [each["message"] for each in sorted(found, key=version_of)]

    if number:
        await comes_to(lambda: _length(look()), number)
    return await look()


async def _length(found: Any) -> int:
    return len(await found)


async def column(cluster: RunningCluster, name: str) -> str:
    """Returns the cell ROOT CAUSE as kubectl prints it."""
    kubectl = Kubectl(cluster.kubectl, cluster.kubeconfig)
    table = await kubectl("get", "appwrapper", name, "-n", NAMESPACE, "-o", "wide")
    heading, row = table.splitlines()
    return row[heading.index("ROOT CAUSE") :].strip()


def operators_log(cluster: RunningCluster) -> str:
    """Returns the controller's whole log; its last line may be in the middle of a character."""
    return (cluster.logs / "controller.log").read_text(errors="replace")


async def fails_as(
    lives: Lives,
    case: Case,
    name: str,
    *wrapped: JsonObject,
    before: Callable[[RunningWorkers], Awaitable[None]] | None = None,
) -> FailureReports:
    """Fails the case's workers in an AppWrapper of this name, and asserts what is reported.

    `wrapped`: the workers' pods, if they need more than the usual ones. `before` is awaited while
    the workers run. Returns the last reports.
    """
    pods = wrapped or [pod(f"{name}-{index}", hang="running") for index in range(case.workers)]
    life = await lives.begin(appwrapper(name, *pods, annotations=case.effective_annotations))
    attempts: list[Workers] = []
    seen = 0
    for number, failure in enumerate(case.failures, 1):
        workers = await running(lives, life, case.workers, attempt=number)
        attempts.append(workers)
        folder = folder_of(lives.cluster, life, number) if case.has_store else None
        if folder is not None and failure.stored:
            failure.stored(folder, workers)
        if before is not None:
            await before(workers)
        await workers.end(failure.ends, order=case.order)
        state = await decided(lives, life, failure.phase, after=seen)
        seen = version_of(state)
        wanted = expected(case, attempts, folder)
        found = await world_of(lives, state, len(wanted.events), wanted.warnings)
        assert found == wanted, case.name
        if number < len(case.failures):
            await lives.annotate(name, failureGracePeriodDuration="1h")
    return found


def store_of(cluster: RunningCluster) -> Path:
    """Returns the folder of the local cluster's error store."""
    settings = yaml.safe_load((cluster.directory / "product" / "controller.yaml").read_text())
    stores = settings["appwrapper"]["faultTolerance"]["errorAggregation"]["stores"]
    return Path(urlparse(stores[STORE]).path)


def folder_of(cluster: RunningCluster, life: Life, attempt: int = 1) -> Path:
    """Returns the folder of one attempt's record files; makes it if it is missing."""
    metadata = life.events[0].object["metadata"]
    folder = store_of(cluster).joinpath(
        metadata["namespace"], metadata["name"], metadata["uid"], str(attempt)
    )
    folder.mkdir(parents=True, exist_ok=True)
    return folder

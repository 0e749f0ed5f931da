"""A keeper of the slack queue over a scripted Kueue, with its clock and its reports."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry

from controller.slack.keeper import SlackKeeper
from controller.slack.reports import show_slack_quota
from shared.api.objects import JsonObject
from shared.config.fault_tolerance import SlackQueue
from shared.kube.client import NotFound, PatchType
from tests.support.builders.autopilot import GPU
from tests.support.builders.nodes import change
from tests.support.builders.slack import (
    FLAVOR,
    SLACK,
    gpu_queue,
    index_of,
    labelled_node,
    raw_flavor,
)
from tests.support.fakes.fake_clock import START, FakeClock, fake_sources
from tests.support.fakes.fake_kube import FakeKube, WatchFeed, listed

LIMIT = "/spec/resourceGroups/0/flavors/0/resources/0/lendingLimit"
TEAMS = (gpu_queue("code", 8), gpu_queue("platform", 8))


@dataclass
class SlackEvents:
    """Records the Events on the slack queue."""

    emitted: list[tuple[str, str, str]] = field(default_factory=list)

    def normal(self, about: Any, reason: str, message: str) -> None:
        self._tell("Normal", about, reason, message)

    def warning(self, about: Any, reason: str, message: str) -> None:
        self._tell("Warning", about, reason, message)

    def _tell(self, kind: str, about: Any, reason: str, message: str) -> None:
        named = (about.kind, about.namespace, about.name, about.uid)
        assert named == ("ClusterQueue", "", SLACK, f"uid-{SLACK}")
        self.emitted.append((kind, reason, message))


class ScriptedKueue(FakeKube):
    """Serves ClusterQueues and flavors, and applies patches of limits."""

    def __init__(self, queues: Iterable[JsonObject], flavors: Iterable[JsonObject]) -> None:
        super().__init__()
        self.queues = {each["metadata"]["name"]: each for each in queues}
        self.feeds = {"clusterqueues": WatchFeed(), "resourceflavors": WatchFeed()}
        self._served = {"clusterqueues": self.queues.values(), "resourceflavors": list(flavors)}
        self.asked: set[str] = set()
        self.fails: list[Exception] = []
        self.unserved = False
        self.version = 10

    async def pages(self, resource: Any, *_: Any, **__: Any) -> Any:
        self.asked.add(f"{resource.version}/{resource.plural}")
        if self.unserved:
            raise NotFound(404, "NotFound", "the server could not find the requested resource")
        yield listed(7, *self._served[resource.plural])

    async def watch(self, resource: Any, *_: Any, **__: Any) -> Any:
        async for event in self.feeds[resource.plural].events():
            yield event

    async def patch(
        self, resource: Any, namespace: Any, name: str, body: Any, patch_type: Any, **more: Any
    ) -> Any:
        del namespace
        assert (resource.plural, name, patch_type) == ("clusterqueues", SLACK, PatchType.JSON)
        assert more == {"field_manager": "appwrapper-slack-quota"}
        self.calls.append(body)
        if self.fails:
            raise self.fails.pop(0)
        stored = self.queues[name]
        assert body[1]["value"] == stored["spec"]["resourceGroups"]
        [operation] = body[2:]
        assert operation["path"] == LIMIT
        return self.store(name, operation.get("value"), "appwrapper-slack-quota")

    def store(self, name: str, limit: str | None, manager: str) -> JsonObject:
        """Sets the queue's limit and returns the queue."""
        nominal = self.queues[name]["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]
        self.version += 1
        self.queues[name] = gpu_queue(
            name, nominal["nominalQuota"], limit, version=self.version, manager=manager
        )
        return self.queues[name]

    def edit(self, limit: str | None) -> None:
        """Writes the limit as an admin."""
        self.feeds["clusterqueues"].send("MODIFIED", self.store(SLACK, limit, "kubectl-edit"))

    @property
    def writes(self) -> list[str | None]:
        """Returns the limits that were sent."""
        return [each[2].get("value") for each in self.calls if isinstance(each, list)]


class SlackWorld:
    """The seeds' example: three nodes of 8 GPUs, two teams of 8 and a slack queue of 8."""

    def __init__(
        self,
        *,
        slack: JsonObject | None = None,
        queues: Iterable[JsonObject] = TEAMS,
        flavors: Iterable[JsonObject] = (raw_flavor(),),
        **settings: Any,
    ) -> None:
        self.clock = FakeClock()
        self.nodes = index_of([])
        self.events = SlackEvents()
        self.kueue = ScriptedKueue([*queues, slack or gpu_queue(SLACK, 8)], flavors)
        client: Any = self.kueue
        recorder: Any = self.events
        section = SlackQueue.model_validate({"name": SLACK} | settings)
        self.certain = True
        self.keeper = SlackKeeper(
            client, fake_sources(self.clock), self.nodes, section, recorder, lambda: self.certain
        )
        self.registry = CollectorRegistry()
        show_slack_quota(self.registry, lambda: self.keeper.rows)
        self.have(8, 8, 8)

    def have(self, *gpus: int) -> None:
        """Gives the nodes that many GPUs."""
        for number, amount in enumerate(gpus):
            made = labelled_node(f"n{number}", allocatable={GPU: str(amount)})
            self.nodes.update(change(None, made), START)
        self.keeper.changed()

    async def seconds(self, seconds: float) -> list[str | None]:
        """Advances the clock; returns all limits that were sent by then."""
        await self.clock.advance(seconds)
        return self.kueue.writes

    def value(self, name: str) -> float | None:
        labels = {"flavor": FLAVOR, "resource": GPU}
        return self.registry.get_sample_value(name, labels)

    @property
    def reasons(self) -> list[str]:
        return [reason for _, reason, _ in self.events.emitted]

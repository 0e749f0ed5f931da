"""The facts about one AppWrapper at one moment: what the controller and Kueue would see. Pure.

The controller's view is made of the controller's functions, so it is the one on which it decides.
Missing are facts that only its memory holds: deleted pods, for example pods that succeeded.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import Final

from cli.cluster.unread import One, Unread, objects
from cli.durations import when
from cli.explaining.appwrapper_objects import AppWrapperObjects
from cli.explaining.forecast import Step, forecast
from cli.explaining.queue_view import QueueView, queue_view
from cli.explaining.report import CommandHint, Next, Situation
from controller.facts.component_status import (
    deployed_condition,
    deployed_status,
    kind_of,
    with_sound_record,
)
from controller.facts.components import project_component
from controller.facts.effective_fault_tolerance import effective_fault_tolerance
from controller.facts.nodes import NodeProjection
from controller.facts.observe import (
    Observation,
    Reads,
    counts_for,
    locate_from,
    membership_of,
    observe,
    presence_of,
)
from controller.facts.own_status import read_status
from controller.facts.pods import Pod, project_pod
from controller.facts.unreachable import removed_nodes_in, silent_nodes_in
from controller.facts.unschedulable import MEMORY, NoNode, RecentNodes, no_node_for
from controller.fleet.reset_holds import PAUSED
from controller.phases.ask import Need
from controller.phases.phase import Phase
from controller.phases.reset_or_fail import HELD
from controller.phases.snapshot import (
    Component,
    ConditionText,
    CreateProblem,
    FaultTolerance,
    HoldReason,
    Presence,
    ResetHold,
    Snapshot,
)
from controller.reports.reason import Reason
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import transition_time
from shared.api.names import (
    CONDITION_PODS_READY,
    CONDITION_RESOURCES_DEPLOYED,
    CONDITION_UNHEALTHY,
)
from shared.api.objects import JsonObject, Resource
from shared.api.times import parse_time

_FAR: Final = timedelta(days=1)
# A user cannot read the error store. The nodes that Kueue assigned are taken for usable ones.
_UNREADABLE: Final = frozenset({Need.RECORDS})
_DELETING: Final = frozenset({Phase.RESETTING, Phase.SUSPENDING, Phase.TERMINATING})


@dataclass(frozen=True, slots=True, kw_only=True)
class SituationAnswer:
    """An answer. `sentence` begins with the AppWrapper's name. `details`: whole sentences."""

    situation: Situation
    sentence: str
    details: tuple[str, ...] = ()
    next: tuple[Next, ...] = ()
    commands: tuple[CommandHint, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Case:
    """`pods` and `raw_pods`: the pods of the current attempt. `steps`: the controller's next steps.

    `sees_all`: all pods and components could be read, so the controller decides the same.
    """

    seen: AppWrapperObjects
    appwrapper: AppWrapper
    config: FaultTolerance
    snapshot: Snapshot
    pods: tuple[Pod, ...] = ()
    raw_pods: tuple[JsonObject, ...] = ()
    sees_all: bool = True
    steps: tuple[Step, ...] = ()

    @cached_property
    def queue(self) -> QueueView:
        """Kueue's view."""
        return queue_view(self.appwrapper, self.seen)

    @property
    def now(self) -> datetime:
        """The API server's time of the read."""
        return self.seen.now

    @property
    def name(self) -> str:
        return self.appwrapper.name

    @property
    def namespace(self) -> str:
        return self.appwrapper.namespace

    @property
    def phase(self) -> Phase:
        """The phase that the controller acts on."""
        return self.snapshot.phase

    @property
    def created(self) -> datetime:
        return parse_time(self.appwrapper.metadata["creationTimestamp"])

    def is_true(self, condition: str) -> bool:
        return condition in self.snapshot.conditions

    def changed(self, condition: str) -> datetime | None:
        """Return when the condition changed last, None if unknown."""
        return transition_time(self.appwrapper.conditions, condition)

    def reported(self, condition: str) -> ConditionText:
        """Return the reason and message of a condition; both are empty if there is none."""
        return self.snapshot.text_of(condition)

    def when(self, moment: datetime) -> str:
        """Return `14:03:10 UTC, in 42 s`."""
        return when(moment, self.now)

    def command(self, name: str, why: str, options: str = "") -> CommandHint:
        """Return a command of our own about the AppWrapper."""
        more = f" {options}" if options else ""
        return CommandHint(f"appwrapper {name} {self.snapshot.arguments}{more}", why)

    def kubectl(self, rest: str, why: str) -> CommandHint:
        """Return a command of kubectl in the AppWrapper's namespace."""
        return CommandHint(f"kubectl {rest} -n {self.namespace}", why)


def case_of(seen: AppWrapperObjects) -> Case:
    """Build the view of one AppWrapper."""
    appwrapper = with_sound_record(AppWrapper(seen.appwrapper))
    config = effective_fault_tolerance(appwrapper, seen.world.settings.behaviour)
    snapshot = read_status(appwrapper, seen.now)
    recorded = appwrapper.component_statuses
    items = [*seen.components, *[None] * len(recorded)][: len(recorded)]
    components = tuple(_locate(appwrapper, index, item) for index, item in enumerate(items))
    pods = [project_pod(each) for each in objects(seen.pods)]
    membership = membership_of(appwrapper, components)
    current = {pod.uid for pod in pods if membership.is_current(pod)}
    blank = Observation(appwrapper, snapshot, config)
    # A user may not be allowed to read nodes: the controller's conditions name the silent ones.
    texts = (snapshot.text_of(each).message for each in (CONDITION_PODS_READY, CONDITION_UNHEALTHY))
    silent, removed = silent_nodes_in(text := "; ".join(texts)), removed_nodes_in(text)
    unheld = partial(_no_node_for, seen, snapshot)
    reads = Reads(
        blank, seen.now, components, pods, silent=silent, removed=removed, no_node_for=unheld
    )
    observed = observe(reads).snapshot
    sees_all = not any(isinstance(each, Unread) for each in (seen.pods, *seen.components))
    found = Case(
        seen=seen,
        appwrapper=appwrapper,
        config=config,
        snapshot=_as_reported(observed, seen, sees_all=sees_all),
        pods=tuple(pod for pod in pods if pod.uid in current),
        raw_pods=tuple(each for each in objects(seen.pods) if each["metadata"]["uid"] in current),
        sees_all=sees_all,
    )
    # Without the pods no step is known, except of phases in which only time passes.
    timed = found.phase in (Phase.RESETTING, Phase.SUCCEEDED, Phase.FAILED)
    if not (found.sees_all or timed) or found.phase in (Phase.EMPTY, Phase.SUSPENDED):
        return found
    return replace(found, steps=forecast(found.snapshot, found.now, found.config))


def _no_node_for(
    seen: AppWrapperObjects, snapshot: Snapshot, pods: Iterable[Pod], now: datetime
) -> NoNode:
    """Return which of the pods no node can hold, if the controller has found one.

    Only the controller knows the nodes of the last 24 hours, and its timer shows what it found.
    """
    if snapshot.timers.unschedulable is None:
        return NoNode()
    if isinstance(seen.world.nodes, Unread) or not seen.world.nodes:
        return NoNode(f"no node can hold pod {min(pod.name for pod in pods)}")
    taints = seen.world.settings.behaviour.autopilot.resource_taints
    health = {taint.key for each in taints.values() for taint in each}
    nodes = [NodeProjection().project(each) for each in seen.world.nodes]
    return no_node_for(pods, RecentNodes(nodes, {}, now - MEMORY, health), now)


def _as_reported(snapshot: Snapshot, seen: AppWrapperObjects, *, sees_all: bool) -> Snapshot:
    """Add facts that only the controller knows, if its conditions report them."""
    unhealthy = snapshot.text_of(CONDITION_UNHEALTHY)
    deployed = snapshot.text_of(CONDITION_RESOURCES_DEPLOYED)
    is_unhealthy = CONDITION_UNHEALTHY in snapshot.conditions
    held = next((hold for hold, each in HELD.items() if each == unhealthy.reason), None)
    if held is not None and is_unhealthy:
        snapshot = _held(snapshot, ResetHold(held, unhealthy.message))
    elif seen.world.settings.pause_resets:
        snapshot = _held(snapshot, PAUSED)
    if deployed.reason == Reason.CREATE_FAILED:
        problem = CreateProblem(False, deployed.message, retry_at=seen.now + _FAR)
        snapshot = replace(snapshot, create_problem=problem)
    if deployed.reason == Reason.NAMESPACE_ENDING:
        snapshot = replace(snapshot, namespace_ending=True)
    ends = snapshot.phase in _DELETING or snapshot.deletion_requested
    left = snapshot.labelled_pods or any(each.exists for each in snapshot.components)
    return replace(snapshot, gone=bool(ends and sees_all and not left), unread=_UNREADABLE)


def _held(snapshot: Snapshot, hold: ResetHold) -> Snapshot:
    """Add a hold. The breaker holds only evacuations."""
    if hold.reason is HoldReason.BREAKER:
        return replace(snapshot, evacuation_hold=hold)
    return replace(snapshot, evacuation_hold=hold, reset_hold=hold)


def _locate(appwrapper: AppWrapper, index: int, item: One) -> Component:
    recorded = appwrapper.component_statuses[index]
    gvk = kind_of(recorded)
    # Only the Kind is used: no request is sent with this resource.
    resource = Resource(gvk.group, gvk.version, "", gvk.kind)
    if isinstance(item, Unread):
        unknown = locate_from(appwrapper, index, Presence.UNKNOWN, resource, None)
        return replace(unknown, unreadable=item.why)
    facts = None if item is None else project_component(gvk.group_kind, item)
    if facts and facts.owner_uid == appwrapper.uid and counts_for(facts, appwrapper, index):
        return locate_from(appwrapper, index, presence_of(facts), resource, facts)
    made = deployed_status(recorded) == "True" and bool(deployed_condition(recorded))
    presence = Presence.GONE if made else Presence.PLANNED
    return locate_from(appwrapper, index, presence, resource, None)

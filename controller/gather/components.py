"""Where each component of an AppWrapper is in its life."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from controller.facts.components import ComponentFacts, Located, is_kept, is_lost, project_component
from controller.gather.component_watches import ComponentWatches
from controller.memory import Memory
from controller.phases.actions import Reason
from controller.phases.phase import Phase
from controller.phases.snapshot import Component, Presence
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import Terminal, condition
from shared.api.names import (
    ANNOTATION_HELPER,
    CONDITION_RESOURCES_DEPLOYED,
    CONDITION_SUCCEEDED,
)
from shared.api.objects import GroupVersionKind, JsonObject, Resource
from shared.api.times import parse_time
from shared.kinds.table import is_outlived, says_how_it_ended, says_something
from shared.kube.client import Forbidden, Invalid, KubeClient, NotFound
from shared.kube.discovery import Discovery, UnknownKind

READ_AT_ONCE: Final = 8  # components of one AppWrapper
_LONGEST_NAME: Final = 253  # of any object; status may hold anything


class _NotServed(Exception):
    """The API server does not know the resource (any more)."""


class ComponentLocator:
    """Answers from watches where these are certain, and by live reads where they are not."""

    def __init__(
        self,
        client: KubeClient,
        discovery: Discovery,
        watches: ComponentWatches,
        memory: Memory,
    ) -> None:
        self._client = client
        self._discovery = discovery
        self._watches = watches
        self._creations = memory.creations
        self._sightings = memory.sightings

    async def locate(
        self, appwrapper: AppWrapper, *, proof_follows: bool = False, fresh: bool = False
    ) -> tuple[Located, ...]:
        """Every component of `status.componentStatus`. Raises KubeError if it cannot see.

        With `proof_follows` what a watch no longer shows is not read live: `locate_live` does that
        before anything is concluded. With `fresh` it is not believed from memory that a Kind is not
        served: for whoever concludes something from a component that is not shown.
        """
        since = self._discovery.moment() if fresh else None
        return tuple(
            [
                await self._locate(
                    appwrapper, index, recorded, proof_follows=proof_follows, since=since
                )
                for index, recorded in enumerate(appwrapper.component_statuses)
            ]
        )

    async def locate_live(
        self, appwrapper: AppWrapper, located: Sequence[Located]
    ) -> tuple[Located, ...]:
        """The same by live reads alone: for the proof that nothing is left."""
        slots = asyncio.Semaphore(READ_AT_ONCE)

        async def one(index: int, each: Located) -> Located:
            async with slots:
                return await self._locate_live(appwrapper, index, each)

        reads = [one(index, each) for index, each in enumerate(located)]
        return tuple(await asyncio.gather(*reads))

    async def _locate(
        self,
        appwrapper: AppWrapper,
        index: int,
        recorded: JsonObject,
        *,
        proof_follows: bool,
        since: int | None,
    ) -> Located:
        name = recorded.get("name") or ""
        resource = await self._resource(recorded, since)
        if not name or resource is None or not resource.namespaced:
            return self._vanished(appwrapper, index, recorded, name)
        await self._watches.ensure(resource)
        try:
            located = await self._locate_watched(
                appwrapper, index, recorded, name, resource, proof_follows=proof_follows
            )
        except _NotServed:
            return self._vanished(appwrapper, index, recorded, name)
        labelled = located.facts is None or located.facts.labelled
        return replace(located, watched=labelled and self._watches.is_watched(resource))

    def _vanished(
        self, appwrapper: AppWrapper, index: int, recorded: JsonObject, name: str
    ) -> Located:
        """Its Kind is not served; but a watch may have said that the object went before that."""
        located = self._unseen(appwrapper, index, recorded)
        last = self._watches.last_seen(_kind_of(recorded).group_kind, name, appwrapper.uid)
        unknown = located.component.presence is Presence.UNKNOWN
        if unknown and last and _is_current(last, appwrapper):
            return _located(appwrapper, index, Presence.GONE, None, None, last)
        return located

    def _unseen(self, appwrapper: AppWrapper, index: int, recorded: JsonObject) -> Located:
        """Of a Kind that is not served there is nothing to be seen, which proves nothing.

        Its CRD may be changing. Only what was never made is not there; nor can anything of ours be
        of a Kind without namespaces, which is never created.
        """
        created = recorded.get("name") and self._was_created(appwrapper, index, recorded)
        presence = Presence.UNKNOWN if created else Presence.PLANNED
        located = _located(appwrapper, index, presence, None, None)
        return replace(located, watched=False)

    async def _locate_watched(
        self,
        appwrapper: AppWrapper,
        index: int,
        recorded: JsonObject,
        name: str,
        resource: Resource,
        *,
        proof_follows: bool,
    ) -> Located:
        facts = self._watches.known(resource, appwrapper.namespace, name, appwrapper.uid)
        if facts and _counts(facts, appwrapper, index):
            return self._found(appwrapper, index, resource, facts)
        if not self._was_created(appwrapper, index, recorded):
            return _located(appwrapper, index, Presence.PLANNED, resource, None)
        if proof_follows and self._watches.is_watched(resource):
            return _located(appwrapper, index, Presence.GONE, resource, None)
        # It was made, and no watch shows it. Only the API server knows whether it is gone.
        facts = await self._read(resource, appwrapper, name)
        if facts and _counts(facts, appwrapper, index):
            return self._found(appwrapper, index, resource, facts)
        if self._is_to_be_made_anew(appwrapper, index, recorded):
            return _located(appwrapper, index, Presence.PLANNED, resource, None)
        last = self._watches.last_seen(resource.gvk.group_kind, name, appwrapper.uid)
        if last and not _is_current(last, appwrapper):
            last = None  # how an earlier attempt ended says nothing of this one
        return _located(appwrapper, index, Presence.GONE, resource, None, last)

    def _found(
        self, appwrapper: AppWrapper, index: int, resource: Resource, facts: ComponentFacts
    ) -> Located:
        """There is an object of ours under the component's name."""
        presence = _presence(facts)
        running = appwrapper.status.get("phase") == Phase.RUNNING
        recorded = appwrapper.component_statuses
        if running and self._is_another(appwrapper, index, facts):
            presence = Presence.GONE  # it was; this one was put in its place
        elif facts.deleting and self._is_to_be_made_anew(appwrapper, index, recorded[index]):
            presence = Presence.PLANNED
        return _located(appwrapper, index, presence, resource, facts)

    def _is_another(self, appwrapper: AppWrapper, index: int, facts: ComponentFacts) -> bool:
        """Not what this process created; where another process did, not what was seen first."""
        uid, attempt = appwrapper.uid, appwrapper.attempt
        made = self._creations.object_uid(uid, attempt, index)
        if made is not None:
            return made != facts.uid
        return self._sightings.is_another(uid, attempt, index, facts.uid)

    async def _locate_live(self, appwrapper: AppWrapper, index: int, located: Located) -> Located:
        component, resource = located.component, located.resource
        if not component.name or resource is None:
            return located
        recorded = appwrapper.component_statuses[index]
        try:
            facts = await self._read(resource, appwrapper, component.name)
        except _NotServed:
            return self._unseen(appwrapper, index, recorded)
        except Forbidden:
            # No right to read it. There may have been none to create it, and then nothing is there.
            if not self._was_refused(appwrapper, index, recorded):
                raise
            facts = None
        presence = _presence(facts) if facts else Presence.GONE
        found = Component(
            name=component.name,
            kind=component.kind,
            presence=presence,
            keep=component.keep,
            announced=component.announced,
        )
        return Located(found, resource, facts)

    async def _read(
        self, resource: Resource, appwrapper: AppWrapper, name: str
    ) -> ComponentFacts | None:
        """The AppWrapper's own object of that name, live; None for 404 and for another's object.

        Raises _NotServed where it is the resource that is not found.
        """
        if len(name) > _LONGEST_NAME:
            return None
        group_kind = resource.gvk.group_kind
        try:
            item = await self._client.get(
                resource,
                appwrapper.namespace,
                name,
                metadata_only=not says_something(group_kind),
            )
        except NotFound as error:
            if error.of_resource:
                self._discovery.forget(resource.gvk)
                self._watches.not_served(resource.gvk)
                raise _NotServed from error
            return None
        except Invalid:
            return None  # no object can have that name
        self._watches.observe(resource, item)
        facts = project_component(group_kind, item)
        return facts if facts and facts.owner_uid == appwrapper.uid else None

    async def _resource(self, recorded: JsonObject, since: int | None) -> Resource | None:
        gvk = _kind_of(recorded)
        try:
            return await self._discovery.resource_for(gvk, since=since)
        except UnknownKind:
            self._watches.not_served(gvk)
            return None

    def _was_created(self, appwrapper: AppWrapper, index: int, recorded: JsonObject) -> bool:
        return _deployed_status(recorded) == "True" or self._creations.created(
            appwrapper.uid, appwrapper.attempt, index
        )

    def _is_to_be_made_anew(self, appwrapper: AppWrapper, index: int, recorded: JsonObject) -> bool:
        """A kept component of an earlier attempt, as long as this one has not made sure of it."""
        return (
            appwrapper.status.get("phase") == Phase.RESUMING
            and _is_kept(appwrapper, index)
            and _deployed_condition(recorded).get("reason") == Reason.CREATION_INITIATED
            and not self._creations.created(appwrapper.uid, appwrapper.attempt, index)
        )

    def _was_refused(self, appwrapper: AppWrapper, index: int, recorded: JsonObject) -> bool:
        """It, or one before it; by the record, or by what this process has yet to record."""
        problem = self._creations.problem(appwrapper.uid, appwrapper.attempt)
        just_now = problem is not None and problem.refused is not None and index >= problem.refused
        return just_now or _deployed_status(recorded) == "False"


def _deployed_condition(recorded: JsonObject) -> JsonObject:
    """May be empty."""
    return condition(recorded.get("conditions") or (), CONDITION_RESOURCES_DEPLOYED) or {}


def _deployed_status(recorded: JsonObject) -> str:
    """Unknown while it is being created, False when it could not be or is gone; may be empty."""
    return str(_deployed_condition(recorded).get("status") or "")


def _kind_of(recorded: JsonObject) -> GroupVersionKind:
    return GroupVersionKind.of(recorded.get("apiVersion") or "", recorded.get("kind") or "")


def _counts(facts: ComponentFacts, appwrapper: AppWrapper, index: int) -> bool:
    """It is the component: of this attempt, or kept from an earlier one."""
    return _is_current(facts, appwrapper) or _is_kept(appwrapper, index)


def _is_current(facts: ComponentFacts, appwrapper: AppWrapper) -> bool:
    """Of this attempt, or made by the Go operator, which did not count attempts.

    Where the number is lost, whatever is there is of the only attempt that can be under way.
    """
    return is_lost(appwrapper) or facts.attempt in ("", str(appwrapper.attempt))


def _presence(facts: ComponentFacts) -> Presence:
    return Presence.DELETING if facts.deleting else Presence.PRESENT


def _located(
    appwrapper: AppWrapper,
    index: int,
    presence: Presence,
    resource: Resource | None,
    facts: ComponentFacts | None,
    last: ComponentFacts | None = None,
) -> Located:
    recorded = appwrapper.component_statuses[index]
    group_kind = _kind_of(recorded).group_kind
    seen = facts or last
    succeeded = condition(recorded.get("conditions") or (), CONDITION_SUCCEEDED) or {}
    end_recorded = succeeded.get("status") == "True"
    failure_recorded = succeeded.get("status") == "False"
    terminal = seen.terminal if seen else None
    message = seen.message if seen else ""
    if failure_recorded and seen is None:  # nobody remembers its own words
        terminal, message = Terminal.FAILED, succeeded.get("message") or ""
    component = Component(
        name=recorded.get("name") or "",
        kind=recorded.get("kind") or "",
        presence=presence,
        expected_pods=sum(
            1 if (replicas := pod_set.get("replicas")) is None else max(0, replicas)
            for pod_set in recorded.get("podSets") or ()
        ),
        reports=says_how_it_ended(group_kind),
        outlived=is_outlived(group_kind),
        helper=_is_helper(appwrapper, index),
        keep=_is_kept(appwrapper, index),
        terminal=terminal or (Terminal.SUCCEEDED if end_recorded else None),
        end_recorded=end_recorded,
        failure_recorded=failure_recorded,
        message=message,
        leaves=parse_time(facts.leaves) if facts and facts.leaves else None,
        announced=_deployed_status(recorded) == "Unknown",
    )
    return Located(component, resource, facts)


def _is_helper(appwrapper: AppWrapper, index: int) -> bool:
    """Marked so by its user. Annotations survive what Kueue does to components (kueue.md 0.2)."""
    components = appwrapper.components
    annotations = components[index].get("annotations") or {} if index < len(components) else {}
    return annotations.get(ANNOTATION_HELPER) == "true"


def _is_kept(appwrapper: AppWrapper, index: int) -> bool:
    components = appwrapper.components
    return index < len(components) and is_kept(components[index])

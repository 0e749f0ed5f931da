"""Determine the presence and state of each component of an AppWrapper."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from controller.facts.component_status import deployed_condition, deployed_status, kind_of
from controller.facts.components import ComponentFacts, project_component
from controller.facts.kept_components import is_kept_at
from controller.facts.observe import (
    counts_for,
    is_current,
    locate_from,
    presence_of,
)
from controller.facts.unexpected_objects import Owned
from controller.gather.component_watches import ComponentWatches
from controller.memory.memory import Memory
from controller.phases.actions import Reason
from controller.phases.phase import Phase
from controller.phases.snapshot import Component, Presence
from shared.api.appwrapper import AppWrapper
from shared.api.objects import JsonObject, Resource
from shared.kinds.table import record_of
from shared.kube.client import (
    ApiError,
    Forbidden,
    Invalid,
    KubeClient,
    NotFound,
    TooManyRequests,
    Unauthorized,
)
from shared.kube.discovery import Discovery, UnknownKind
from shared.process.clock import Clock

READ_AT_ONCE: Final = 8  # concurrent reads for one AppWrapper
_LONGEST_NAME: Final = 253  # of any object; a name in status may be longer
# A conversion webhook that hangs delays a read by half a minute; a pass waits less.
_READ_SECONDS: Final = 5.0
_NO_ANSWER: Final = f"no answer within {_READ_SECONDS:.0f} s"


class _NotServed(Exception):
    """The API server does not serve the resource."""


class _Unreadable(Exception):
    """The API server did not return this object; the text explains why."""

    def __init__(self, why: str, *, forbidden: bool = False) -> None:
        super().__init__(why)
        self.forbidden = forbidden


def concerns_all(error: ApiError) -> bool:
    """True if other requests would get the same error, so the whole pass is retried."""
    return isinstance(error, (TooManyRequests, Unauthorized))


class ComponentLocator:
    """Uses watches if they are reliable, otherwise live reads."""

    def __init__(
        self,
        client: KubeClient,
        clock: Clock,
        discovery: Discovery,
        watches: ComponentWatches,
        memory: Memory,
    ) -> None:
        self._client = client
        self._clock = clock
        self._discovery = discovery
        self._watches = watches
        self._creations = memory.creations
        self._deletions = memory.deletions

    async def locate(
        self, appwrapper: AppWrapper, *, proof_follows: bool = False, fresh: bool = False
    ) -> tuple[Component, ...]:
        """Locate every component of `status.componentStatus`. Raises KubeError.

        A component that cannot be read is marked as unreadable and does not stop the others.
        With `proof_follows`, a component missing from its watch is not read live: the caller uses
        `locate_live` before it concludes anything. With `fresh`, a cached "Kind is not served" is
        not trusted: for callers that conclude something from a missing component.
        """
        since = self._discovery.moment() if fresh else None
        one = partial(self._locate, appwrapper, proof_follows=proof_follows, since=since)
        return tuple([await one(index) for index in range(len(appwrapper.component_statuses))])

    def owned(self, appwrapper_uid: str) -> list[Owned]:
        """Return the cached objects of watched Kinds that the AppWrapper controls."""
        return self._watches.owned(appwrapper_uid)

    async def watch_kinds(self, appwrapper: AppWrapper) -> None:
        """Watch the Kinds of components that may exist although none should.

        Usually other AppWrappers use them too. Raises KubeError.
        """
        for recorded in appwrapper.component_statuses:
            with suppress(_Unreadable):
                resource = await self._resource(recorded, None) if recorded.get("name") else None
                if resource is not None and resource.namespaced:
                    await self._watches.ensure(resource)

    async def locate_live(
        self, appwrapper: AppWrapper, components: Sequence[Component]
    ) -> tuple[Component, ...]:
        """Locate the components by live reads: for the proof that all are gone.

        A component needs no read if its own watch reported that the deleted object is gone.
        """
        slots = asyncio.Semaphore(READ_AT_ONCE)

        async def one(index: int, each: Component) -> Component:
            async with slots:
                return await self._locate_live(appwrapper, index, each)

        reads = [one(index, each) for index, each in enumerate(components)]
        return tuple(await asyncio.gather(*reads))

    async def _locate(
        self,
        appwrapper: AppWrapper,
        index: int,
        *,
        proof_follows: bool,
        since: int | None,
    ) -> Component:
        recorded = appwrapper.component_statuses[index]
        try:
            resource = await self._resource(recorded, since)
        except _Unreadable as problem:
            return _unreadable(self._unseen(appwrapper, index), problem)
        if not recorded.get("name") or resource is None or not resource.namespaced:
            return self._unseen(appwrapper, index)
        await self._watches.ensure(resource)
        try:
            located = await self._locate_watched(
                appwrapper, index, resource, proof_follows=proof_follows
            )
        except _NotServed:
            return self._unseen(appwrapper, index)
        watched = located.watched and not located.unreadable
        return replace(located, watched=watched and self._watches.is_watched(resource))

    def _unseen(self, appwrapper: AppWrapper, index: int) -> Component:
        """Locate a component that no read can show: UNKNOWN if it was created, else PLANNED.

        An unserved Kind proves nothing, because its CRD may be changing. A DELETED event proves
        nothing either: the object may only have lost its label. Components of cluster-scoped Kinds
        are never created.
        """
        recorded = appwrapper.component_statuses[index]
        if recorded.get("name") and self._was_created(appwrapper, index):
            last = self._last_seen(appwrapper, index)
            located = locate_from(appwrapper, index, Presence.UNKNOWN, None, None, last)
        else:
            located = locate_from(appwrapper, index, Presence.PLANNED, None, None)
        return replace(located, watched=False)

    async def _locate_watched(
        self, appwrapper: AppWrapper, index: int, resource: Resource, *, proof_follows: bool
    ) -> Component:
        name = appwrapper.component_statuses[index]["name"]
        known = self._watches.known(resource, appwrapper.namespace, name, appwrapper.uid)
        if known and not counts_for(known, appwrapper, index):
            known = None
        doubted = known is not None and self._may_be_of_the_past(appwrapper, index, known)
        replaced = known is not None and not doubted and self._is_replaced(appwrapper, index, known)
        if known and not (doubted or replaced or self._watches.is_refused(resource)):
            return self._found(appwrapper, index, resource, known)
        if known is None and not self._was_created(appwrapper, index):
            return locate_from(appwrapper, index, Presence.PLANNED, resource, None)
        if proof_follows and self._watches.is_watched(resource):
            return locate_from(appwrapper, index, Presence.GONE, resource, None)
        # It was created, and no reliable watch shows it. Only a live read proves that it is gone.
        try:
            facts = await self._read(resource, appwrapper, name)
        except _Unreadable as problem:
            located = locate_from(appwrapper, index, Presence.UNKNOWN, resource, None)
            if known and not (doubted or replaced):  # its last known state is enough to delete it
                located = self._found(appwrapper, index, resource, known)
            return _unreadable(located, problem)
        if facts and counts_for(facts, appwrapper, index):
            return self._found(appwrapper, index, resource, facts)
        if self._is_to_be_made_anew(appwrapper, index):
            return locate_from(appwrapper, index, Presence.PLANNED, resource, None)
        last = self._last_seen(appwrapper, index)
        return locate_from(appwrapper, index, Presence.GONE, resource, None, last)

    def _last_seen(self, appwrapper: AppWrapper, index: int) -> ComponentFacts | None:
        """Return the object's state in its last DELETED event, which may show how it ended."""
        recorded = appwrapper.component_statuses[index]
        group_kind, name = kind_of(recorded).group_kind, recorded["name"]
        last = self._watches.last_seen(group_kind, name, appwrapper.uid)
        # The end of an earlier attempt is no evidence for this one.
        return last if last and is_current(last, appwrapper) else None

    def _found(
        self, appwrapper: AppWrapper, index: int, resource: Resource, facts: ComponentFacts
    ) -> Component:
        """Locate a component for which an object of the AppWrapper was found."""
        presence = presence_of(facts)
        if self._is_replaced(appwrapper, index, facts):
            presence = Presence.GONE  # another client replaced the component by this object
        elif facts.deleting and self._is_to_be_made_anew(appwrapper, index):
            presence = Presence.PLANNED
        return locate_from(appwrapper, index, presence, resource, facts)

    def _is_replaced(self, appwrapper: AppWrapper, index: int, facts: ComponentFacts) -> bool:
        """True if it runs, and this object is not the one that the controller created."""
        runs = appwrapper.status.get("phase") == Phase.RUNNING
        place = appwrapper.uid, appwrapper.attempt, index
        return runs and self._creations.is_replaced(*place, facts.uid)

    def _may_be_of_the_past(
        self, appwrapper: AppWrapper, index: int, facts: ComponentFacts
    ) -> bool:
        """True if another attempt may have made this object, and no read confirmed it since.

        The cache is older than this term, and may lag behind what the last leader did.
        """
        runs = appwrapper.status.get("phase") == Phase.RUNNING
        other = appwrapper.attempt > 1 and facts.attempt != str(appwrapper.attempt)
        known = self._creations.known(appwrapper.uid, appwrapper.attempt)
        return runs and other and index not in known.created and index not in known.seen

    async def _locate_live(
        self, appwrapper: AppWrapper, index: int, component: Component
    ) -> Component:
        resource = component.resource
        if not component.name or resource is None:
            return component
        if self._is_seen_gone(appwrapper, component, resource):
            return component
        try:
            facts = await self._read(resource, appwrapper, component.name)
        except _NotServed:
            return self._unseen(appwrapper, index)
        except _Unreadable as problem:
            # Without a right to read it, the create may have been refused: then it does not exist.
            if not (problem.forbidden and self._was_refused(appwrapper, index)):
                unseen = component.presence if component.uid else Presence.UNKNOWN
                return _unreadable(replace(component, presence=unseen), problem)
            facts = None
        presence = presence_of(facts) if facts else Presence.GONE
        return Component(
            name=component.name,
            kind=component.kind,
            presence=presence,
            keep=component.keep,
            announced=component.announced,
            uid=facts.uid if facts else "",
            attempt=facts.attempt if facts else "",
            deleting=presence is Presence.DELETING,
            idle=bool(facts and facts.idle),
            resource=resource,
        )

    def _is_seen_gone(
        self, appwrapper: AppWrapper, component: Component, resource: Resource
    ) -> bool:
        """True if this process deleted the object and then received its DELETED event.

        Without that delete the event proves nothing: the object may only have lost its label.
        """
        last = self._watches.last_seen(resource.gvk.group_kind, component.name, appwrapper.uid)
        deleted = self._deletions.known(appwrapper.uid).accepted
        return component.presence is Presence.GONE and last is not None and last.uid in deleted

    async def _read(
        self, resource: Resource, appwrapper: AppWrapper, name: str
    ) -> ComponentFacts | None:
        """Read the AppWrapper's object of that name; None for 404 and another owner's object.

        Raises _NotServed if the resource does not exist, and _Unreadable.
        """
        if len(name) > _LONGEST_NAME:
            return None
        group_kind = resource.gvk.group_kind
        if self._watches.is_silent(resource):
            raise _Unreadable(_NO_ANSWER)
        try:
            async with self._clock.timeout(_READ_SECONDS):
                item = await self._client.get(
                    resource,
                    appwrapper.namespace,
                    name,
                    metadata_only=record_of(group_kind).report is None,
                )
        except NotFound as error:
            if error.of_resource:
                self._discovery.forget(resource.gvk)
                self._watches.not_served(resource.gvk)
                raise _NotServed from error
            return None
        except Invalid:
            return None  # no object can have that name
        except ApiError as error:
            raise _of(error) from error
        except TimeoutError as error:
            self._watches.fall_silent(resource)
            raise _Unreadable(_NO_ANSWER) from error
        self._watches.assume(resource, item)
        facts = project_component(group_kind, item)
        return facts if facts and facts.owner_uid == appwrapper.uid else None

    async def _resource(self, recorded: JsonObject, since: int | None) -> Resource | None:
        gvk = kind_of(recorded)
        try:
            return await self._discovery.in_any_version(gvk, since=since)
        except UnknownKind:
            self._watches.not_served(gvk)
            return None
        except ApiError as error:
            raise _of(error) from error

    def _was_created(self, appwrapper: AppWrapper, index: int) -> bool:
        recorded = appwrapper.component_statuses[index]
        known = self._creations.known(appwrapper.uid, appwrapper.attempt)
        return deployed_status(recorded) == "True" or index in known.created

    def _is_to_be_made_anew(self, appwrapper: AppWrapper, index: int) -> bool:
        """True for a kept component that this attempt has not yet adopted or created."""
        recorded = appwrapper.component_statuses[index]
        return (
            appwrapper.status.get("phase") == Phase.RESUMING
            and is_kept_at(appwrapper, index)
            and deployed_condition(recorded).get("reason") == Reason.CREATION_INITIATED
            and index not in self._creations.known(appwrapper.uid, appwrapper.attempt).created
        )

    def _was_refused(self, appwrapper: AppWrapper, index: int) -> bool:
        """True if the create of this component or an earlier one was refused.

        Uses the status and the problems that this process has not yet written to status.
        """
        problem = self._creations.known(appwrapper.uid, appwrapper.attempt).problem
        just_now = problem is not None and problem.refused is not None and index >= problem.refused
        return just_now or deployed_status(appwrapper.component_statuses[index]) == "False"


def _of(error: ApiError) -> _Unreadable:
    """Return the error as _Unreadable; raise it if it concerns more than one object."""
    if concerns_all(error):
        raise error
    return _Unreadable(str(error), forbidden=isinstance(error, Forbidden))


def _unreadable(component: Component, problem: _Unreadable) -> Component:
    return replace(component, unreadable=str(problem))

"""Where each component of an AppWrapper is in its life."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from controller.facts.components import ComponentFacts, Located, project_component
from controller.facts.observe import (
    counts_for,
    deployed_condition,
    deployed_status,
    is_current,
    is_kept_at,
    kind_of,
    locate_from,
    presence_of,
)
from controller.gather.component_watches import ComponentWatches
from controller.memory import Memory
from controller.phases.actions import Reason
from controller.phases.phase import Phase
from controller.phases.snapshot import Component, Presence
from shared.api.appwrapper import AppWrapper
from shared.api.objects import JsonObject, Resource
from shared.kinds.table import says_something
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

READ_AT_ONCE: Final = 8  # components of one AppWrapper
_LONGEST_NAME: Final = 253  # of any object; status may hold anything
# A conversion webhook that hangs keeps a read for half a minute. Nothing else waits so long for it.
_READ_SECONDS: Final = 5.0
_NO_ANSWER: Final = f"no answer within {_READ_SECONDS:.0f} s"


class _NotServed(Exception):
    """The API server does not know the resource (any more)."""


class _Unreadable(Exception):
    """The API server does not let us see this one, or cannot. The text says why."""

    def __init__(self, why: str, *, forbidden: bool = False) -> None:
        super().__init__(why)
        self.forbidden = forbidden


def concerns_all(error: ApiError) -> bool:
    """Whatever else is asked for now gets the same answer, so the pass has to wait."""
    return isinstance(error, (TooManyRequests, Unauthorized))


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
        """Every component of `status.componentStatus`. Raises KubeError if it cannot see any.

        A single one that cannot be read is told of as such, and holds nothing else up.
        With `proof_follows` what a watch no longer shows is not read live: `locate_live` does that
        before anything is concluded. With `fresh` it is not believed from memory that a Kind is not
        served: for whoever concludes something from a component that is not shown.
        """
        since = self._discovery.moment() if fresh else None
        one = partial(self._locate, appwrapper, proof_follows=proof_follows, since=since)
        recorded = enumerate(appwrapper.component_statuses)
        return tuple([await one(index, each) for index, each in recorded])

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
        try:
            resource = await self._resource(recorded, since)
        except _Unreadable as problem:
            return _unreadable(self._unseen(appwrapper, index, recorded), problem)
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
        watched = labelled and not located.component.unreadable
        return replace(located, watched=watched and self._watches.is_watched(resource))

    def _vanished(
        self, appwrapper: AppWrapper, index: int, recorded: JsonObject, name: str
    ) -> Located:
        """Its Kind is not served; but a watch may have said that the object went before that."""
        located = self._unseen(appwrapper, index, recorded)
        last = self._watches.last_seen(kind_of(recorded).group_kind, name, appwrapper.uid)
        unknown = located.component.presence is Presence.UNKNOWN
        if unknown and last and is_current(last, appwrapper):
            return locate_from(appwrapper, index, Presence.GONE, None, None, last)
        return located

    def _unseen(self, appwrapper: AppWrapper, index: int, recorded: JsonObject) -> Located:
        """Of a Kind that is not served there is nothing to be seen, which proves nothing.

        Its CRD may be changing. Only what was never made is not there; nor can anything of ours be
        of a Kind without namespaces, which is never created.
        """
        created = recorded.get("name") and self._was_created(appwrapper, index, recorded)
        presence = Presence.UNKNOWN if created else Presence.PLANNED
        located = locate_from(appwrapper, index, presence, None, None)
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
        known = self._watches.known(resource, appwrapper.namespace, name, appwrapper.uid)
        if known and not counts_for(known, appwrapper, index):
            known = None
        if known and not self._watches.is_refused(resource):
            return self._found(appwrapper, index, resource, known)
        if known is None and not self._was_created(appwrapper, index, recorded):
            return locate_from(appwrapper, index, Presence.PLANNED, resource, None)
        if proof_follows and self._watches.is_watched(resource):
            return locate_from(appwrapper, index, Presence.GONE, resource, None)
        # It was made, and no watch shows it now. Only the API server knows whether it is gone.
        try:
            facts = await self._read(resource, appwrapper, name)
        except _Unreadable as problem:
            located = locate_from(appwrapper, index, Presence.UNKNOWN, resource, None)
            if known:  # as it was last seen: enough to ask for its deletion
                located = self._found(appwrapper, index, resource, known)
            return _unreadable(located, problem)
        if facts and counts_for(facts, appwrapper, index):
            return self._found(appwrapper, index, resource, facts)
        if self._is_to_be_made_anew(appwrapper, index, recorded):
            return locate_from(appwrapper, index, Presence.PLANNED, resource, None)
        last = self._watches.last_seen(resource.gvk.group_kind, name, appwrapper.uid)
        if last and not is_current(last, appwrapper):
            last = None  # how an earlier attempt ended says nothing of this one
        return locate_from(appwrapper, index, Presence.GONE, resource, None, last)

    def _found(
        self, appwrapper: AppWrapper, index: int, resource: Resource, facts: ComponentFacts
    ) -> Located:
        """There is an object of ours under the component's name."""
        presence = presence_of(facts)
        running = appwrapper.status.get("phase") == Phase.RUNNING
        recorded = appwrapper.component_statuses
        if running and self._is_another(appwrapper, index, facts):
            presence = Presence.GONE  # it was; this one was put in its place
        elif facts.deleting and self._is_to_be_made_anew(appwrapper, index, recorded[index]):
            presence = Presence.PLANNED
        return locate_from(appwrapper, index, presence, resource, facts)

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
        except _Unreadable as problem:
            # No right to read it. There may have been none to create it, and then nothing is there.
            if not (problem.forbidden and self._was_refused(appwrapper, index, recorded)):
                unseen = Presence.UNKNOWN if located.facts is None else component.presence
                unknown = replace(located, component=replace(component, presence=unseen))
                return _unreadable(unknown, problem)
            facts = None
        presence = presence_of(facts) if facts else Presence.GONE
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

        Raises _NotServed where it is the resource that is not found, and _Unreadable.
        """
        if len(name) > _LONGEST_NAME:
            return None
        group_kind = resource.gvk.group_kind
        if self._watches.is_silent(resource):
            raise _Unreadable(_NO_ANSWER)
        try:
            async with asyncio.timeout(_READ_SECONDS):
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
            return await self._discovery.resource_for(gvk, since=since)
        except UnknownKind:
            self._watches.not_served(gvk)
            return None
        except ApiError as error:
            raise _of(error) from error

    def _was_created(self, appwrapper: AppWrapper, index: int, recorded: JsonObject) -> bool:
        return deployed_status(recorded) == "True" or self._creations.created(
            appwrapper.uid, appwrapper.attempt, index
        )

    def _is_to_be_made_anew(self, appwrapper: AppWrapper, index: int, recorded: JsonObject) -> bool:
        """A kept component of an earlier attempt, as long as this one has not made sure of it."""
        return (
            appwrapper.status.get("phase") == Phase.RESUMING
            and is_kept_at(appwrapper, index)
            and deployed_condition(recorded).get("reason") == Reason.CREATION_INITIATED
            and not self._creations.created(appwrapper.uid, appwrapper.attempt, index)
        )

    def _was_refused(self, appwrapper: AppWrapper, index: int, recorded: JsonObject) -> bool:
        """It, or one before it; by the record, or by what this process has yet to record."""
        problem = self._creations.problem(appwrapper.uid, appwrapper.attempt)
        just_now = problem is not None and problem.refused is not None and index >= problem.refused
        return just_now or deployed_status(recorded) == "False"


def _of(error: ApiError) -> _Unreadable:
    """Raises the error itself where it is about more than one Kind."""
    if concerns_all(error):
        raise error
    return _Unreadable(str(error), forbidden=isinstance(error, Forbidden))


def _unreadable(located: Located, problem: _Unreadable) -> Located:
    return replace(located, component=replace(located.component, unreadable=str(problem)))

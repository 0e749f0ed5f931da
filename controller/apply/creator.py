"""Create the components of an AppWrapper, in order, each at most once per attempt."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final, Protocol

from controller.apply.component_body import Additions, component_body, with_runtime_jobs
from controller.apply.fence import OutOfDate, is_later, read_unchanged
from controller.facts.component_status import fixed_name, kind_of
from controller.facts.kept_components import is_kept
from controller.facts.recorder_environment import recording_of
from controller.facts.refused_creates import is_definite
from controller.memory.memory import Creations
from controller.phases.snapshot import CreateProblem, FaultTolerance
from shared.api.appwrapper import AppWrapper
from shared.api.names import LABEL_ATTEMPT, LABEL_COMPONENT
from shared.api.objects import JsonObject, Resource, controller_of
from shared.config.fault_tolerance import ErrorAggregation
from shared.injection.avoided_hosts import AvoidedHosts
from shared.injection.fields import InjectionConflict
from shared.injection.pod_template import PodDefaults
from shared.kinds.kind import PodSetError
from shared.kube.client import AlreadyExists, ApiError, KubeClient, KubeError, NotFound, Propagation
from shared.kube.discovery import Discovery, UnknownKind
from shared.process.logs import object_fields

logger = logging.getLogger(__name__)

# 4xx status codes after which the object may exist: a timeout, a conflict, too many requests.
_INDEFINITE: Final = frozenset({408, 409, 429})
_LONGEST_PAUSE: Final = timedelta(seconds=15)


class ComponentObserver(Protocol):
    """Receives created objects before the watch reports them."""

    async def ensure(self, resource: Resource) -> None:
        """Watch `resource`: objects of it are about to be created."""
        ...

    def assume(self, resource: Resource, written: JsonObject) -> None:
        """Update the cache with an object that the API server returned."""
        ...


class CreateFailed(Exception):
    """Why a component cannot be created. `fatal`: a retry cannot help.

    `refused`: the component certainly was not created. Either no request was sent, or the API
    server rejected it. `taken`: the name from generateName that another object has.
    """

    def __init__(
        self,
        message: str,
        *,
        fatal: bool,
        refused: bool = True,
        retry_after: float | None = None,
        taken: str = "",
    ) -> None:
        super().__init__(message)
        self.fatal = fatal
        self.refused = refused
        self.retry_after = retry_after
        self.taken = taken


class ComponentCreator:
    """Creates components and records the outcomes in `creations` for the next decision.

    `avoided` returns the nodes that the attempt's pods avoid. `errors` is the operator's
    configuration of error records.
    """

    def __init__(
        self,
        client: KubeClient,
        discovery: Discovery,
        observer: ComponentObserver,
        creations: Creations,
        defaults: PodDefaults,
        avoided: Callable[[AppWrapper], AvoidedHosts],
        errors: ErrorAggregation,
    ) -> None:
        self._client = client
        self._discovery = discovery
        self._observer = observer
        self._creations = creations
        self._defaults = defaults
        self._avoided = avoided
        self._errors = errors

    async def create_missing(
        self,
        appwrapper: AppWrapper,
        texts: Sequence[bytes],
        now: datetime,
        config: FaultTolerance,
    ) -> None:
        """Create the components that status names and that do not exist; stop at a problem.

        `appwrapper` is the version whose status was just written with the components' names.
        `texts` are its complete components as JSON. Raises OutOfDate if another process works on
        a later attempt.
        """
        uid, attempt = appwrapper.uid, appwrapper.attempt
        additions = Additions(
            self._avoided(appwrapper),
            recording_of(appwrapper, config, self._errors),
            config.longest_pod_grace,
        )
        for index, text in enumerate(texts):
            if index in self._creations.known(uid, attempt).created:
                continue
            try:
                object_uid = await self._create(
                    appwrapper, index, text, additions, before=texts[index - 1] if index else b""
                )
            except CreateFailed as problem:
                self._record(appwrapper, index, problem, now)
                return
            self._creations.record_success(uid, attempt, index, object_uid)

    async def _create(
        self,
        appwrapper: AppWrapper,
        index: int,
        text: bytes,
        additions: Additions,
        before: bytes,
    ) -> str:
        """Return the UID of the created or existing object. Raises CreateFailed.

        `before`: the component before it, as JSON.
        """
        entry = appwrapper.component_statuses[index]
        if (twin := _twin(appwrapper, index)) is not None:
            message = f"{entry['kind']} {entry['name']} is also spec.components[{twin}]"
            if not fixed_name(appwrapper.components[index]):
                raise CreateFailed(message, fatal=False, refused=False, taken=entry["name"])
            raise CreateFailed(f"{message}: give each component its own name", fatal=True)
        resource = await self._resource(entry)
        await self._observer.ensure(resource)
        kept = await self._kept(appwrapper, resource, index, entry["name"])
        if kept is not None:
            return kept
        try:
            # Not in a variable: the body may be large and is not needed after encoding.
            created = await self._client.create(
                resource,
                appwrapper.namespace,
                self._body(appwrapper, index, text, additions, before),
            )
        except AlreadyExists:
            return await self._find_out(appwrapper, resource, index, entry["name"])
        except ApiError as error:
            if isinstance(error, NotFound):  # the Kind may have moved to another resource
                self._discovery.forget(resource.gvk)
            raise CreateFailed(
                str(error),
                fatal=is_definite(error.status, error.message),
                refused=400 <= error.status < 500 and error.status not in _INDEFINITE,
                retry_after=error.retry_after,
            ) from error
        except KubeError as error:  # whether the object was created is unknown until the retry
            raise CreateFailed(str(error), fatal=False, refused=False) from error
        self._observer.assume(resource, created)
        return str(created["metadata"]["uid"])

    def _body(
        self,
        appwrapper: AppWrapper,
        index: int,
        text: bytes,
        additions: Additions,
        before: bytes,
    ) -> JsonObject:
        try:
            body = component_body(appwrapper, index, text, self._defaults, additions)
            return with_runtime_jobs(body, before)
        except (PodSetError, InjectionConflict) as error:
            raise CreateFailed(str(error), fatal=True) from error

    async def _resource(self, recorded: JsonObject) -> Resource:
        gvk = kind_of(recorded)
        try:
            # Its CRD may be newer than a cached "unknown Kind", and that answer is fatal.
            resource = await self._discovery.resource_for(gvk, since=self._discovery.moment())
        except UnknownKind as error:
            raise CreateFailed(str(error), fatal=True) from error
        except KubeError as error:  # for example, an aggregated API server is unavailable
            raise CreateFailed(str(error), fatal=False, refused=False) from error
        if not resource.namespaced:
            raise CreateFailed(
                f"{resource.kind} is not namespaced, so no AppWrapper can own it", fatal=True
            )
        return resource

    async def _kept(
        self, appwrapper: AppWrapper, resource: Resource, index: int, name: str
    ) -> str | None:
        """Return the UID of a kept component from an earlier attempt; None if there is none.

        A read costs the API server less than a rejected create.
        """
        if appwrapper.attempt == 1 or not is_kept(appwrapper.components[index]):
            return None
        return await self._adopted(appwrapper, resource, index, name, "")

    async def _find_out(
        self, appwrapper: AppWrapper, resource: Resource, index: int, name: str
    ) -> str:
        unread = f"{resource.kind} {name} exists already, and its owner cannot be read: "
        found = await self._adopted(appwrapper, resource, index, name, unread)
        if found is None:
            raise _just_going(resource, name)
        return found

    async def _adopted(
        self, appwrapper: AppWrapper, resource: Resource, index: int, name: str, unread: str
    ) -> str | None:
        """Adopt the object of that name; None if there is none.

        Raises CreateFailed, which begins with `unread` if a read failed, and OutOfDate.
        """
        try:
            return await self._adopt(appwrapper, resource, index, name)
        except NotFound:  # another client deleted it
            return None
        except OutOfDate:
            raise
        except KubeError as error:
            raise CreateFailed(f"{unread}{error}", fatal=False, refused=False) from error

    async def _adopt(
        self, appwrapper: AppWrapper, resource: Resource, index: int, name: str
    ) -> str:
        """Return the UID of the existing object if it is this component.

        It may be the result of a create whose answer was lost, or a kept component of any attempt.
        Raises CreateFailed if it is another object, NotFound and KubeError. Raises OutOfDate if
        another process created it for a later attempt.
        """
        item = await self._client.get(resource, appwrapper.namespace, name)
        metadata = item["metadata"]
        going = "deletionTimestamp" in metadata
        owner = controller_of(item)
        generated = not fixed_name(appwrapper.components[index])
        if owner is None or owner.uid != appwrapper.uid:
            if going and not generated:
                raise _just_going(resource, name)
            whose = f"is owned by {owner.kind} {owner.name}" if owner else "has no owner"
            raise _taken(resource, name, whose, generated=generated)
        labels = metadata.get("labels") or {}
        attempt = labels.get(LABEL_ATTEMPT, "")
        if is_later(attempt, appwrapper):
            await read_unchanged(self._client, appwrapper, "create its components")
        if is_kept(appwrapper.components[index]):
            if going:
                raise _just_going(resource, name)
        elif attempt not in ("", str(appwrapper.attempt)):
            await self._client.delete(
                resource,
                appwrapper.namespace,
                name,
                uid=metadata["uid"],
                propagation=Propagation.FOREGROUND,
            )
            text = f"{resource.kind} {name} is left over from attempt {attempt}"
            raise CreateFailed(text, fatal=False, refused=False)
        elif labels.get(LABEL_COMPONENT, str(index)) != str(index):
            whose = f"is spec.components[{labels[LABEL_COMPONENT]}]"
            raise _taken(resource, name, whose, generated=generated)
        self._observer.assume(resource, item)
        return str(metadata["uid"])

    def _record(
        self, appwrapper: AppWrapper, index: int, problem: CreateFailed, now: datetime
    ) -> None:
        uid, attempt = appwrapper.uid, appwrapper.attempt
        failures = self._creations.known(uid, attempt).failures
        pause = min(timedelta(seconds=2 ** min(failures, 10)), _LONGEST_PAUSE)
        if problem.taken and not failures:
            pause = timedelta(0)
        if problem.retry_after is not None:
            pause = max(pause, timedelta(seconds=problem.retry_after))
        retry_at = None if problem.fatal else now + pause
        known = self._creations.known(uid, attempt).problem if failures else None
        first_at = None if problem.fatal else (known and known.first_at) or now
        message = f"spec.components[{index}]: {problem}"
        logger.warning(
            "cannot create a component: %s",
            message,
            extra=object_fields(appwrapper.namespace, appwrapper.name, uid),
        )
        self._creations.record_problem(
            uid,
            attempt,
            CreateProblem(
                fatal=problem.fatal,
                message=message,
                retry_at=retry_at,
                refused=index if problem.refused else None,
                taken=(index, problem.taken) if problem.taken else None,
                first_at=first_at,
            ),
        )


def _twin(appwrapper: AppWrapper, index: int) -> int | None:
    """Return the index of an earlier component with the same Kind and name; None without one.

    Two such components would be one object.
    """
    entries = appwrapper.component_statuses
    wanted = _identity(entries[index])
    return next((i for i in range(index) if _identity(entries[i]) == wanted), None)


def _identity(entry: JsonObject) -> tuple[str, str]:
    """Return group, Kind and name. The version is left out: all versions show the same object."""
    return kind_of(entry).group_kind, entry["name"]


def _just_going(resource: Resource, name: str) -> CreateFailed:
    text = f"{resource.kind} {name} is still being deleted"
    return CreateFailed(text, fatal=False, refused=False)


def _taken(resource: Resource, name: str, whose: str, *, generated: bool) -> CreateFailed:
    """Return the problem of a name that another object has; another generated name helps."""
    text = f"{resource.kind} {name} exists already and {whose}"
    return CreateFailed(text, fatal=not generated, refused=False, taken=name if generated else "")

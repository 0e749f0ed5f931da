"""Read objects under the user's rights. I/O only.

An object or list that the API server refuses becomes `Unread`, so that a report never confuses an
unreadable object with a missing one. Long lists are read page by page.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from cli.cluster.operator_configuration import (
    CONFIG_KEY,
    CONFIG_NAME,
    OPERATOR_NAMESPACES,
    OperatorConfiguration,
    parsed,
)
from cli.cluster.unread import Many, One, Unread
from cli.command import CommandError
from shared.api.objects import CONFIGMAPS, JsonObject, Resource
from shared.kube.client import ApiError, Forbidden, KubeClient, NotFound, Unauthorized
from shared.waits.quota import CLUSTER_QUEUES

T = TypeVar("T")

_PAGE_SIZE: Final = 500
NO_APPWRAPPERS: Final = (
    "this cluster has no AppWrappers: their CustomResourceDefinition is not installed"
)


def needed(found: T | Unread, command: str) -> T:
    """Return what was read. Raises CommandError for Unread: `command` cannot do without it."""
    if not isinstance(found, Unread):
        return found
    if found.forbidden:
        raise CommandError(
            f"you lack a right that {command} needs, to read {found.what}. Ask a cluster admin"
        )
    raise CommandError(f"{command} needs to read {found.what}, which failed: {found.why}")


def as_they_are(page: list[JsonObject]) -> list[JsonObject]:
    """Keep whole objects."""
    return page


def _described(resource: Resource, namespace: str | None) -> str:
    return f"{resource.plural} of {f'namespace {namespace}' if namespace else 'the cluster'}"


@dataclass(slots=True)
class Reader:
    """`unread`: the failed reads, each once. `only_forbidden`: raise all other failures.

    Raises Unauthorized, and KubeError if the API server does not answer.
    """

    client: KubeClient
    only_forbidden: bool = False
    unread: list[Unread] = field(default_factory=list)

    async def one(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        *,
        what: str = "",
        metadata_only: bool = False,
    ) -> One:
        """Return the object, None if it does not exist. `what`: for people, default Kind name."""
        try:
            return await self.client.get(resource, namespace, name, metadata_only=metadata_only)
        except NotFound:
            return None
        except ApiError as error:
            return self.note(what or f"{resource.kind} {name}", error, "no right to get it")

    async def many(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        what: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> Many | None:
        """Return all objects, None if the API server does not serve the resource."""
        return await self.projected(
            resource,
            as_they_are,
            namespace,
            what=what,
            label_selector=label_selector,
            field_selector=field_selector,
        )

    async def projected(
        self,
        resource: Resource,
        project: Callable[[list[JsonObject]], Iterable[T]],
        namespace: str | None = None,
        *,
        what: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> tuple[T, ...] | Unread | None:
        """Like `many`, but keep only the projections of each page."""
        found: list[T] = []
        pages = self.client.pages(
            resource,
            namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            page_size=_PAGE_SIZE,
        )
        try:
            async for page in pages:
                found.extend(project(list(page.items)))
        except NotFound:
            return None
        except ApiError as error:
            return self.note(
                what or _described(resource, namespace), error, "no right to list them"
            )
        return tuple(found)

    async def every(
        self,
        resource: Resource,
        project: Callable[[list[JsonObject]], Iterable[T]],
        namespace: str | None = None,
        *,
        what: str = "",
        field_selector: str = "",
    ) -> tuple[T, ...] | None:
        """Like `projected`, but note a resource that is not served too. None: it is unread."""
        found = await self.projected(
            resource, project, namespace, what=what, field_selector=field_selector
        )
        if found is None:
            hint = ": is Kueue installed?" if resource.group == CLUSTER_QUEUES.group else ""
            why = f"the API server does not serve them{hint}"
            self.unread.append(Unread(what or _described(resource, namespace), why))
        return found if isinstance(found, tuple) else None

    async def operator_configuration(self) -> OperatorConfiguration:
        """Read the first ConfigMap of the operator that exists, else return the defaults."""
        for namespace in OPERATOR_NAMESPACES:
            what = f"ConfigMap {namespace}/{CONFIG_NAME} (defaults are assumed)"
            found = await self.one(CONFIGMAPS, namespace, CONFIG_NAME, what=what)
            if isinstance(found, Unread):
                problem = "you may not read the operator's configuration"
                if not found.forbidden:
                    problem = f"the operator's configuration cannot be read: {found.why}"
                return OperatorConfiguration(problem=problem, unread=found)
            if found is not None:
                return parsed((found.get("data") or {}).get(CONFIG_KEY), namespace)
        places = ", ".join(OPERATOR_NAMESPACES)
        return OperatorConfiguration(problem=f"there is no ConfigMap {CONFIG_NAME} in {places}")

    def note(self, what: str, error: ApiError, no_right: str) -> Unread:
        """Note that `what` could not be read. Raises `error` if it ends the command."""
        forbidden = isinstance(error, Forbidden)
        if isinstance(error, Unauthorized) or (self.only_forbidden and not forbidden):
            raise error
        found = Unread(what, no_right if forbidden else error.message, forbidden)
        self.unread.append(found)
        return found

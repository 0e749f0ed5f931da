"""Read the objects for `team`. Note the objects that the user may not read."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from cli.cluster import Cluster
from cli.command import CommandError
from cli.operator_settings import CONFIG_KEY, CONFIG_NAME, find_settings
from cli.teams.manifests import (
    CLUSTER_ROLE_BINDINGS,
    KUEUE,
    LOCAL_QUEUE,
    ROLE_BINDINGS,
    binding_name,
    cluster_queues,
    local_queues,
    queue_name,
    viewer_binding_name,
)
from cli.teams.plan import Live
from shared.api.objects import NAMESPACES, JsonObject, Resource
from shared.config.configuration import Configuration
from shared.config.loading import ConfigError, load_config, parse_config
from shared.kube.client import Forbidden, NotFound

_SPEAKS: Final = ("v1beta2", "v1beta1")  # the versions of Kueue's API that this command knows


@dataclass
class Reader:
    """Reads objects under the user's rights. `unread`: the API server's refusals."""

    cluster: Cluster
    kueue: str = ""
    unread: list[str] = field(default_factory=list)

    async def one(self, resource: Resource, namespace: str | None, name: str) -> JsonObject | None:
        """Return the object, None if it does not exist. Raises Forbidden."""
        try:
            return await self.cluster.client.get(resource, namespace, name)
        except NotFound:
            return None

    async def items(self, resource: Resource, namespace: str | None = None) -> list[JsonObject]:
        """Return all objects, read page by page. Raises Forbidden."""
        pages = self.cluster.client.pages(resource, namespace)
        return [item async for page in pages for item in page.items]

    async def one_if_allowed(
        self, resource: Resource, namespace: str | None, name: str
    ) -> JsonObject | None:
        """Return the object; None, noted in `unread`, if the API server refuses it."""
        try:
            return await self.one(resource, namespace, name)
        except Forbidden as error:
            self.unread.append(error.message)
            return None

    async def items_if_allowed(
        self, resource: Resource, namespace: str | None = None, *, instead: str | None = None
    ) -> list[JsonObject] | None:
        """Return all objects; None, noted in `unread`, if the API server refuses them.

        `instead`: the namespace to try if the first list is refused.
        """
        try:
            return await self.items(resource, namespace)
        except Forbidden as error:
            if instead is not None:
                return await self.items_if_allowed(resource, instead)
            self.unread.append(error.message)
        return None

    async def items_if_served(self, resource: Resource, namespace: str) -> list[JsonObject]:
        """Return all objects, none if the Kind is not installed. Raises Forbidden."""
        try:
            return await self.items(resource, namespace)
        except NotFound as error:
            if error.of_resource:
                return []
            raise


async def reader_of(cluster: Cluster) -> Reader:
    """Return a Reader for the cluster's preferred version of Kueue's API, if known.

    Otherwise for the newest known version that is served. Raises CommandError.
    """
    try:
        found = await cluster.client.get_path(f"/apis/{KUEUE}")
    except NotFound as error:
        raise CommandError(
            "this cluster has no Kueue: a team's quota and queue are Kueue's objects."
            " Install Kueue first (docs/admins/install.md)"
        ) from error
    served = [each["version"] for each in found["versions"]]
    for version in (found["preferredVersion"]["version"], *_SPEAKS):
        if version in _SPEAKS and version in served:
            return Reader(cluster, version)
    raise CommandError(
        f"Kueue serves {KUEUE} in {', '.join(served)}, and this command knows"
        f" {' and '.join(_SPEAKS)}"
    )


async def configuration(reader: Reader, file: str | None) -> Configuration:
    """Read the operator's configuration: from the file, else the cluster, else the defaults."""
    try:
        if file is not None:
            return load_config(file).config
        found = await find_settings(reader.cluster.client)
        if found is None:
            return Configuration()
        namespace, text = found
        origin = f"ConfigMap {namespace}/{CONFIG_NAME}"
        return parse_config(text, f"{origin}, {CONFIG_KEY}").config
    except Forbidden as error:
        reader.unread.append(error.message)
        return Configuration()
    except ConfigError as error:
        raise CommandError(f"the operator's configuration cannot be used:\n{error}") from error


async def live_objects(reader: Reader, team: str) -> Live:
    """Return the team's existing objects by Kind and name. Raises Forbidden."""
    asked = (
        (NAMESPACES, None, team),
        (cluster_queues(reader.kueue), None, queue_name(team)),
        (local_queues(reader.kueue), team, LOCAL_QUEUE),
        (ROLE_BINDINGS, team, binding_name(team)),
        (CLUSTER_ROLE_BINDINGS, None, viewer_binding_name(team)),
    )
    found = {}
    for resource, namespace, name in asked:
        if item := await reader.one(resource, namespace, name):
            found[resource.kind, name] = item
    return found


@dataclass(frozen=True, slots=True)
class Right:
    """A right that a command needs, for a SelfSubjectAccessReview."""

    verb: str
    resource: Resource
    namespace: str | None = None
    name: str = ""

    def __str__(self) -> str:
        where = f" in namespace {self.namespace}" if self.namespace else " of the cluster"
        return f"{self.verb} {self.resource.plural}{where}"


async def missing_rights(cluster: Cluster, needed: Iterable[Right]) -> tuple[str, ...]:
    """Describe the rights that the user lacks."""
    missing = []
    for each in dict.fromkeys(needed):
        attributes = {
            "verb": each.verb,
            "group": each.resource.group,
            "resource": each.resource.plural,
            "name": each.name,
            **({"namespace": each.namespace} if each.namespace else {}),
        }
        answer = await cluster.client.post(
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SelfSubjectAccessReview",
                "spec": {"resourceAttributes": attributes},
            },
        )
        if not answer["status"]["allowed"]:
            missing.append(str(replace(each, name="")))
    return tuple(dict.fromkeys(missing))


@asynccontextmanager
async def needed(what: str) -> AsyncIterator[None]:
    """Raise CommandError if the API server refuses a request of the block."""
    try:
        yield
    except Forbidden as error:
        raise CommandError(
            f"you lack a right that {what} needs: {error.message}. Ask a cluster admin"
        ) from error

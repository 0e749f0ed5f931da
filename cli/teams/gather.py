"""Read the objects for `team`, and the rights that it needs."""

from collections.abc import Iterable, Sequence

from cli.cluster.connection import Cluster
from cli.cluster.operator_configuration import OperatorConfiguration
from cli.cluster.reader import Reader, needed
from cli.cluster.unread import Many
from cli.command import CommandError
from cli.teams.manifests import (
    CLUSTER_ROLE_BINDINGS,
    LOCAL_QUEUE,
    RESOURCES,
    ROLE_BINDINGS,
    binding_name,
    creators_binding_name,
    queue_name,
    viewer_binding_name,
)
from cli.teams.plan import Live
from shared.api.objects import NAMESPACES, JsonObject, Resource
from shared.config.loading import ConfigError, load_config
from shared.kube.client import Forbidden
from shared.waits.quota import CLUSTER_QUEUES, LOCAL_QUEUES


async def all_of_kueue(reader: Reader, resource: Resource) -> Many:
    """Return all objects of a Kind of Kueue. Raises CommandError without Kueue."""
    found = await reader.many(resource)
    if found is None:
        raise CommandError(
            f"this cluster has no Kueue that serves {resource.group}/{resource.version}: a team's"
            " quota and queue are Kueue's objects. Install Kueue first (docs/admins/install.md)"
        )
    return found


async def configuration(
    reader: Reader, file: str | None, *, needs_right: bool = False
) -> OperatorConfiguration:
    """Read the operator's configuration: from the file, else the cluster.

    Return the defaults if there is none; if the user may not read it, too, unless `needs_right`.
    Raises CommandError.
    """
    mistakes = ""
    try:
        if file is not None:
            return OperatorConfiguration(load_config(file).config)
        found = await Reader(reader.client).operator_configuration()
        mistakes = found.mistakes
    except ConfigError as error:
        mistakes = str(error)
    if mistakes:
        raise CommandError(f"the operator's configuration cannot be used:\n{mistakes}")
    if found.unread is not None:
        if not found.unread.forbidden:
            raise CommandError(f"{found.problem}. Give it with --config FILE")
        if needs_right:
            raise CommandError(
                "you lack a right that team delete needs, to read the operator's configuration"
                " (or give it with --config FILE). Ask a cluster admin"
            )
        reader.unread.append(found.unread)
    return found


async def live_objects(reader: Reader, team: str) -> Live:
    """Return the team's existing objects by Kind and name. Raises CommandError."""
    wanted: Sequence[tuple[Resource, str | None, str]] = (
        (NAMESPACES, None, team),
        (CLUSTER_QUEUES, None, queue_name(team)),
        (LOCAL_QUEUES, team, LOCAL_QUEUE),
        (ROLE_BINDINGS, team, binding_name(team)),
        (ROLE_BINDINGS, team, creators_binding_name(team)),
        (CLUSTER_ROLE_BINDINGS, None, viewer_binding_name(team)),
    )
    found: dict[tuple[str, str], JsonObject] = {}
    for resource, namespace, name in wanted:
        if item := needed(await reader.one(resource, namespace, name), "team create"):
            found[resource.kind, name] = item
    return found


Right = tuple[str, str, str | None, str]  # verb, Kind, namespace, name


async def missing_rights(cluster: Cluster, needed: Iterable[Right]) -> list[str]:
    """Describe the rights that the user lacks: a command without them stops half-way."""
    missing = []
    for verb, kind, namespace, name in needed:
        resource = RESOURCES[kind]
        attributes = {
            "verb": verb,
            "group": resource.group,
            "resource": resource.plural,
            "namespace": namespace or "",
            "name": name,
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
            where = f" in namespace {namespace}" if namespace else " of the cluster"
            missing.append(f"{verb} {resource.plural}{where}")
    return missing


def lacks_right(command: str, error: Forbidden) -> CommandError:
    """Return the end of a command whose write the API server refuses."""
    return CommandError(
        f"you lack a right that {command} needs: {error.message}. Ask a cluster admin"
    )

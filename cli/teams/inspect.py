"""Run `team list` and `team show`: read the objects that the user may read, note all others."""

from dataclasses import dataclass, replace

from cli.cluster import Cluster
from cli.command import CommandError, ExitCode
from cli.teams.gather import Reader, configuration, needed, reader_of
from cli.teams.manifests import (
    CLUSTER_ROLE_BINDINGS,
    ROLE_BINDINGS,
    cluster_queues,
    local_queues,
    viewer_binding_name,
)
from cli.teams.standing import Seen, TeamStanding, team_standing, teams_of
from shared.api.objects import APPWRAPPERS, NAMESPACES, JsonObject, Resource
from shared.kube.client import NotFound

RESOURCE_QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")


@dataclass(frozen=True, slots=True)
class TeamList:
    """The report of `team list`. `resources`: the resources with a column in the table."""

    teams: tuple[TeamStanding, ...]
    resources: tuple[str, ...]
    unread: tuple[str, ...]


async def list_teams(cluster: Cluster, config_file: str | None) -> TeamList:
    """Report every team. Raises CommandError if the user may not list namespaces."""
    reader = await reader_of(cluster)
    config = await configuration(reader, config_file)
    async with needed("team list"):
        namespaces = await reader.items(NAMESPACES)
    queues = await reader.items_if_allowed(cluster_queues(reader.kueue))
    feeding = await reader.items_if_allowed(local_queues(reader.kueue))
    bindings = await reader.items_if_allowed(ROLE_BINDINGS)
    viewers = await reader.items_if_allowed(CLUSTER_ROLE_BINDINGS)
    known = {each["metadata"]["name"]: each for each in namespaces}
    seen = [
        Seen(
            team=team,
            kueue=reader.kueue,
            config=config,
            namespace=known.get(team),
            queues=queues,
            local_queues=feeding,
            bindings=None if bindings is None else _in(team, bindings),
            viewer_binding=_named(viewer_binding_name(team), viewers or ()),
            unread=tuple(reader.unread),
        )
        for team in teams_of(namespaces, queues or (), config)
    ]
    return TeamList(
        tuple(replace(team_standing(each), unread=()) for each in seen),
        tuple(config.appwrapper.autopilot.resource_taints),
        tuple(reader.unread),
    )


async def show_team(cluster: Cluster, team: str, config_file: str | None) -> TeamStanding:
    """Report one team from objects that the user may read. Raises CommandError if none exists."""
    reader = await reader_of(cluster)
    config = await configuration(reader, config_file)
    namespace = await reader.one_if_allowed(NAMESPACES, None, team)
    queues = await reader.items_if_allowed(cluster_queues(reader.kueue))
    if namespace is None and not reader.unread and team not in teams_of([], queues or (), config):
        raise CommandError(
            f"there is no team {team}: namespace {team} does not exist."
            " `appwrapper team list` shows all teams"
        )
    return team_standing(
        Seen(
            team=team,
            kueue=reader.kueue,
            config=config,
            namespace=namespace,
            queues=queues,
            local_queues=await reader.items_if_allowed(local_queues(reader.kueue), instead=team),
            bindings=await reader.items_if_allowed(ROLE_BINDINGS, team),
            viewer_binding=await reader.one_if_allowed(
                CLUSTER_ROLE_BINDINGS, None, viewer_binding_name(team)
            ),
            appwrappers=await _if_served(reader, APPWRAPPERS, team),
            resource_quotas=await reader.items_if_allowed(RESOURCE_QUOTAS, team),
            unread=tuple(reader.unread),
        )
    )


def exit_code(standing: TeamStanding) -> ExitCode:
    """Return WANTING if the report has warnings."""
    return ExitCode.WANTING if standing.warnings else ExitCode.FINE


async def _if_served(reader: Reader, resource: Resource, namespace: str) -> list[JsonObject] | None:
    try:
        return await reader.items_if_allowed(resource, namespace)
    except NotFound:
        return None


def _in(namespace: str, items: list[JsonObject]) -> list[JsonObject]:
    return [each for each in items if each["metadata"]["namespace"] == namespace]


def _named(name: str, items: tuple[JsonObject, ...] | list[JsonObject]) -> JsonObject | None:
    return next((each for each in items if each["metadata"]["name"] == name), None)

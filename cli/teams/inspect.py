"""Run `team list` and `team show`: read the objects that the user may read, note all others."""

from dataclasses import dataclass, replace

from cli.cluster.connection import Cluster
from cli.cluster.reader import Reader, needed
from cli.cluster.unread import Many, Unread, named, objects
from cli.command import CommandError
from cli.teams.gather import all_of_kueue, configuration
from cli.teams.manifests import CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS, viewer_binding_name
from cli.teams.team_report import TeamObjects, TeamReport, team_report, teams_of
from shared.api.objects import APPWRAPPERS, NAMESPACES, Resource
from shared.waits.quota import CLUSTER_QUEUES, LOCAL_QUEUES

RESOURCE_QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")


@dataclass(frozen=True, slots=True)
class TeamList:
    """The report of `team list`. `resources`: the resources with a column in the table."""

    teams: tuple[TeamReport, ...]
    resources: tuple[str, ...]
    unread: tuple[str, ...]


async def list_teams(cluster: Cluster, config_file: str | None) -> TeamList:
    """Report every team. Raises CommandError if the user may not list namespaces."""
    reader = Reader(cluster.client, only_forbidden=True)
    queues = await all_of_kueue(reader, CLUSTER_QUEUES)
    config = (await configuration(reader, config_file)).config
    namespaces = needed(await reader.many(NAMESPACES), "team list") or ()
    local_queues = await all_of_kueue(reader, LOCAL_QUEUES)
    bindings = await reader.many(ROLE_BINDINGS)
    viewers = await reader.many(CLUSTER_ROLE_BINDINGS) or ()
    found = [
        TeamObjects(
            team=team,
            config=config,
            namespace=named(namespaces, team),
            queues=queues,
            local_queues=local_queues,
            bindings=_in(team, bindings),
            viewer_binding=named(viewers, viewer_binding_name(team)),
        )
        for team in teams_of(namespaces, objects(queues), config)
    ]
    return TeamList(
        tuple(map(team_report, found)),
        tuple(config.appwrapper.autopilot.resource_taints),
        tuple(map(str, reader.unread)),
    )


async def show_team(cluster: Cluster, team: str, config_file: str | None) -> TeamReport:
    """Report one team from objects that the user may read. Raises CommandError if none exists."""
    reader = Reader(cluster.client, only_forbidden=True)
    queues = await all_of_kueue(reader, CLUSTER_QUEUES)
    config = (await configuration(reader, config_file)).config
    namespace = await reader.one(NAMESPACES, None, team)
    if (
        namespace is None
        and not reader.unread
        and team not in teams_of([], objects(queues), config)
    ):
        raise CommandError(
            f"there is no team {team}: namespace {team} does not exist."
            " `appwrapper team list` shows all teams"
        )
    found = TeamObjects(
        team=team,
        config=config,
        namespace=namespace,
        queues=queues,
        local_queues=await _local_queues(reader, team),
        bindings=await reader.many(ROLE_BINDINGS, team),
        viewer_binding=await reader.one(CLUSTER_ROLE_BINDINGS, None, viewer_binding_name(team)),
        appwrappers=await reader.many(APPWRAPPERS, team),
        resource_quotas=await reader.many(RESOURCE_QUOTAS, team),
    )
    return replace(team_report(found), unread=tuple(map(str, reader.unread)))


async def _local_queues(reader: Reader, team: str) -> Many:
    """Read the LocalQueues of all namespaces; of the team's if the user may not read others."""
    found = await all_of_kueue(reader, LOCAL_QUEUES)
    if isinstance(found, Unread) and found.forbidden:
        reader.unread.remove(found)
        found = await reader.many(LOCAL_QUEUES, team) or ()
    return found


def _in(namespace: str, items: Many | None) -> Many | None:
    if not isinstance(items, tuple):
        return items
    return tuple(each for each in items if each["metadata"]["namespace"] == namespace)

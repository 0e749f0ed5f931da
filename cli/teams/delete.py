"""Run `team delete`: refuse while workloads run, then delete in an order that can be resumed."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from cli.cluster.connection import Cluster
from cli.cluster.reader import Reader, needed
from cli.command import CommandError, ExitCode
from cli.teams.gather import all_of_kueue, configuration, lacks_right, missing_rights
from cli.teams.manifests import (
    CLUSTER_ROLE_BINDINGS,
    RESOURCES,
    queue_name,
    viewer_binding_name,
)
from cli.teams.plan import never_a_team_because
from cli.teams.removal import ExistingObjects, Removal, remaining, removal
from shared.api.objects import (
    APPWRAPPERS,
    NAMESPACES,
    PODS,
    JsonObject,
    Resource,
    is_being_deleted,
    labels,
)
from shared.config.configuration import Configuration
from shared.kube.client import Conflict, Forbidden, NotFound, Propagation
from shared.waits.quota import CLUSTER_QUEUES, LOCAL_QUEUES
from shared.waits.workload import WORKLOADS

CLAIMS: Final = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
_READ_EVERY: Final = 0.5  # seconds


# Shows the plan and returns if the admin confirms it; raises CommandError otherwise.
Confirm = Callable[[Removal], None]


async def delete_team(
    cluster: Cluster,
    team: str,
    confirm: Confirm,
    *,
    config_file: str | None,
    dry_run: bool,
    seconds: float,
) -> Removal:
    """Delete the team unless there are `blockers`; return the plan. Raises CommandError.

    `seconds`: the longest wait for the deletion.
    """
    reader = Reader(cluster.client, only_forbidden=True)
    config = (await configuration(reader, config_file, needs_right=True)).config
    found = removal(await _held(reader, team, config), dry_run=dry_run)
    if not dry_run:
        # Without these rights it would stop half-way, when the namespace and its data are gone.
        rights = [("delete", each.kind, None, each.name) for each in found.targets]
        if lacking := await missing_rights(cluster, rights):
            raise CommandError(
                f"nothing was deleted: you lack the right to {', '.join(lacking)}. Teams are"
                " deleted by cluster admins: ask one"
            )
    if found.blockers or dry_run:
        return found
    confirm(found)
    # The confirmation may take minutes, and another user may have submitted a workload meanwhile.
    if (again := removal(await _held(reader, team, config), dry_run=dry_run)).blockers:
        return again
    await _delete(cluster, found, seconds)
    return found


async def _held(reader: Reader, team: str, config: Configuration) -> ExistingObjects:
    """Read the objects of the team. Raises CommandError if it is none."""

    async def one(resource: Resource, name: str) -> JsonObject | None:
        return needed(await reader.one(resource, None, name), "team delete")

    async def many(resource: Resource) -> tuple[JsonObject, ...]:
        return needed(await reader.many(resource, team), "team delete") or ()

    held = ExistingObjects(
        team,
        await one(NAMESPACES, team),
        await one(CLUSTER_QUEUES, queue_name(team)),
        await one(CLUSTER_ROLE_BINDINGS, viewer_binding_name(team)),
        others_queues=needed(await all_of_kueue(reader, LOCAL_QUEUES), "team delete"),
    )
    if held.namespace is not None:
        held = replace(
            held,
            appwrappers=await many(APPWRAPPERS),
            workloads=await many(WORKLOADS),
            pods=await many(PODS),
            claims=await many(CLAIMS),
        )
    _check(held, config)
    return held


def _check(held: ExistingObjects, config: Configuration) -> None:
    """Raise CommandError if this is not a team."""
    if why := never_a_team_because(held.team, config.appwrapper):
        raise CommandError(f"{why}: nothing was deleted", ExitCode.WANTING)
    if held.namespace is None:
        if held.queue is None and held.viewer_binding is None:
            raise CommandError(
                f"there is no team {held.team}: neither namespace {held.team} nor ClusterQueue"
                f" {queue_name(held.team)} exists. `appwrapper team list` shows all teams"
            )
        return
    selector = config.appwrapper.team_namespace_selector
    if not selector.matches(labels(held.namespace)) and not is_being_deleted(held.namespace):
        raise CommandError(
            f"namespace {held.team} is not a team's: it lacks the label of teams. Nothing was"
            " deleted",
            ExitCode.WANTING,
        )


async def _delete(cluster: Cluster, found: Removal, seconds: float) -> None:
    """Delete the objects in order. Wait until each is gone before the next deletion."""
    ends_at = cluster.clock.monotonic() + seconds
    for each in found.targets:
        resource = RESOURCES[each.kind]
        try:
            with suppress(NotFound):
                await cluster.client.delete(
                    resource, None, each.name, uid=each.uid, propagation=Propagation.BACKGROUND
                )
        except Forbidden as error:
            raise lacks_right("team delete", error) from error
        except Conflict as error:
            raise CommandError(
                f"{each.kind} {each.name} was changed or replaced a moment ago: check it, then run"
                " this again"
            ) from error
        await _until_gone(cluster, resource, each.name, each.uid, ends_at)


async def _until_gone(
    cluster: Cluster, resource: Resource, name: str, uid: str, ends_at: float
) -> None:
    while True:
        try:
            item = await cluster.client.get(resource, None, name)
        except NotFound:
            return
        if item["metadata"]["uid"] != uid:
            return
        if cluster.clock.monotonic() >= ends_at:
            raise CommandError(_still_there(resource, name, item))
        await cluster.clock.sleep(_READ_EVERY)


def _still_there(resource: Resource, name: str, item: JsonObject) -> str:
    reasons: Sequence[str] = remaining(item) or [
        f"finalizer {each}" for each in item["metadata"].get("finalizers") or ()
    ]
    why = f": {'; '.join(reasons)}" if reasons else ""
    return (
        f"{resource.kind} {name} is still being deleted{why}."
        " Run this again to wait for it and finish"
    )

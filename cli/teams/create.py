"""Run `team create`: read, plan, and apply missing objects and requested changes.

Objects are written in order, the users' rights last. A second run finishes an interrupted one,
because it keeps existing objects.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from cli.checks.gather import read_latches
from cli.checks.nodes import Latches
from cli.cluster.connection import Cluster
from cli.cluster.operator_configuration import OperatorConfiguration
from cli.cluster.reader import Reader, needed
from cli.cluster.unread import readable
from cli.command import CommandError, ExitCode
from cli.pod_security import POLICY, PodSecurity
from cli.teams.gather import (
    Right,
    all_of_kueue,
    configuration,
    lacks_right,
    live_objects,
    missing_rights,
)
from cli.teams.manifests import (
    CLUSTER_ROLES,
    DEFAULT_ROLE,
    RESOURCES,
    VIEWER_ROLE,
    TeamSettings,
    queue_name,
    selected_labels,
)
from cli.teams.plan import (
    Action,
    Live,
    ObjectPlan,
    TeamPlan,
    not_covered,
    not_creatable,
    object_plans,
    over_capacity,
    planned_queues,
    refusals,
)
from cli.teams.quotas import CapacityRow, capacities, capacity_rows, summed
from cli.teams.security import pod_security_needed, pod_security_warnings
from shared.api.objects import NODES, POLICIES, POLICY_BINDINGS, JsonObject, is_dns_label
from shared.config.configuration import AppWrapperConfig, Configuration
from shared.kube.client import AlreadyExists, Conflict, Forbidden, PatchType
from shared.waits.quota import CLUSTER_QUEUES, RESOURCE_FLAVORS, written_quotas

FIELD_MANAGER: Final = "appwrapper-team"


async def create_team(
    cluster: Cluster,
    settings: TeamSettings,
    *,
    config_file: str | None,
    allows_excess: bool,
    dry_run: bool,
) -> TeamPlan:
    """Create or change the team, unless the plan has `refused`; return the plan.

    `settings` has no labels yet: they come from the operator's configuration. Raises CommandError.
    """
    team = settings.name
    if not is_dns_label(team):
        raise CommandError(
            f"{team} cannot be the name of a namespace: write up to 63 lower-case letters, digits"
            " and hyphens"
        )
    reader = Reader(cluster.client, only_forbidden=True)
    installed = await configuration(reader, config_file)
    config = installed.config
    settings = _configured(settings, installed)
    live = await live_objects(reader, team)
    queues = needed(await all_of_kueue(reader, CLUSTER_QUEUES), "team create")
    found = needed(await all_of_kueue(reader, RESOURCE_FLAVORS), "team create")
    flavors = {each["metadata"]["name"]: each for each in found}
    _check(settings, live, flavors, config)
    await _check_policy(reader, settings, live)
    objects = object_plans(settings, live)
    planned = planned_queues(queues, objects)
    latches = await read_latches(reader, config, cluster.now())
    capacity = await _capacity(reader, queues, planned, flavors, config, latches)
    # Quotas that were too high before are only a warning.
    raised = [each for each in capacity if each.is_raised]
    refused = () if allows_excess else tuple(over_capacity(raised))
    warnings = [each for each in over_capacity(capacity) if each not in refused]
    warnings += await _warnings(reader, settings, planned, live, config.appwrapper)
    if installed.problem and installed.unread is None:
        assumed = "defaults are assumed. Give it with --config FILE"
        warnings.append(f"not checked: {installed.problem}: {assumed}")
    lacking = await missing_rights(cluster, _rights(objects))
    if lacking and not dry_run:
        raise CommandError(
            f"nothing was changed: you lack the right to {', '.join(lacking)}. Teams are made by"
            " cluster admins: ask one"
        )
    warnings += [f"you lack the right to {each}" for each in lacking]
    plan = TeamPlan(
        team=team,
        dry_run=dry_run,
        objects=objects,
        capacity=capacity,
        warnings=tuple(warnings),
        refused=refused,
    )
    if not (plan.refused or dry_run):
        await _apply(cluster, plan)
    return plan


def _configured(settings: TeamSettings, installed: OperatorConfiguration) -> TeamSettings:
    """Add what the installed configuration asks for. Raises CommandError.

    The default role is that of overlay mlbatch, where users may wrap what they may not create.
    """
    config = installed.config
    is_checked = config.appwrapper.user_rbac_admission_check and not installed.problem
    binds_creators = is_checked and settings.role == DEFAULT_ROLE
    return replace(settings, labels=_labels(config), binds_creators=binds_creators)


def _labels(config: Configuration) -> dict[str, str]:
    labels = selected_labels(config.appwrapper.team_namespace_selector)
    if not labels:
        raise CommandError(
            "appwrapper.teamNamespaceSelector of the operator's configuration requires no label"
            " that this command could set: let it select team namespaces by matchLabels"
        )
    return labels


def _check(
    settings: TeamSettings,
    live: Live,
    flavors: dict[str, JsonObject],
    config: Configuration,
) -> None:
    """Raise CommandError if this team cannot be created."""
    for reason in refusals(settings, live, config.appwrapper):
        raise CommandError(reason, ExitCode.WANTING)
    if settings.flavor not in flavors:
        raise CommandError(
            f"there is no ResourceFlavor {settings.flavor}: Kueue would not use the team's queue."
            " Name one with --flavor, or create it: kubectl apply -f deploy/team/cluster.yaml."
            f" Existing ResourceFlavors: {', '.join(sorted(flavors)) or 'none'}"
        )
    if ("ClusterQueue", queue_name(settings.name)) not in live and not settings.quotas:
        raise CommandError(
            f"team {settings.name} needs a quota: give --quota RESOURCE=AMOUNT for each resource"
            " that its workloads ask for, as --quota nvidia.com/gpu=16 --quota cpu=160 --quota"
            " memory=2200Gi"
        )
    if why := pod_security_needed(settings, live):
        raise CommandError(why)


async def _check_policy(reader: Reader, settings: TeamSettings, live: Live) -> None:
    """Raise CommandError if a new namespace needs a policy that does not exist."""
    if settings.pod_security is not PodSecurity.BASELINE_IPC_LOCK:
        return
    if ("Namespace", settings.name) in live:
        return
    for resource in (POLICIES, POLICY_BINDINGS):
        if needed(await reader.one(resource, None, POLICY), "team create") is None:
            raise CommandError(
                f"there is no {resource.kind} {POLICY}: without it --pod-security"
                f" {settings.pod_security} would allow every pod. Create it: kubectl apply -f"
                " deploy/team/pod-security.yaml (Kubernetes 1.30 or newer)"
            )


async def _capacity(
    reader: Reader,
    queues: Sequence[JsonObject],
    planned: Sequence[JsonObject],
    flavors: dict[str, JsonObject],
    config: Configuration,
    latches: Latches | None,
) -> tuple[CapacityRow, ...]:
    """Compare for each quota of the team the sum of all quotas with the nodes' capacity."""
    keys = [key for key, _ in written_quotas(planned[-1])]
    slack, taints = config.appwrapper.slack_queue.name, config.appwrapper.autopilot.resource_taints
    nodes = await reader.many(NODES)
    known = capacities(keys, flavors, nodes, taints, latches) if isinstance(nodes, tuple) else None
    return capacity_rows(keys, summed(queues, slack), summed(planned, slack), known)


async def _warnings(
    reader: Reader,
    settings: TeamSettings,
    planned: Sequence[JsonObject],
    live: Live,
    config: AppWrapperConfig,
) -> list[str]:
    """Return the warnings, which do not depend on whether the plan is applied."""
    named = (settings.role, VIEWER_ROLE)
    roles = {each: await reader.one(CLUSTER_ROLES, None, each) for each in named}
    missing = [each for each in named if roles[each] is None]
    chosen = readable(roles[settings.role]) if settings.role != DEFAULT_ROLE else None
    return [
        *(not_creatable(chosen, config) if chosen else ()),
        *not_covered(planned[-1], planned),
        *pod_security_warnings(settings, live, planned[-1]),
        *(
            f"there is no ClusterRole {each}: its binding grants nothing until the role exists."
            " Create it: kubectl apply -f deploy/team/cluster.yaml"
            for each in missing
        ),
        *(f"not checked: {each}" for each in reader.unread),
    ]


def _rights(objects: Sequence[ObjectPlan]) -> Iterator[Right]:
    """Yield the needed rights. A server-side apply needs `patch`, and `create` for a new object."""
    for each in objects:
        if each.action is Action.CREATE:
            yield "create", each.kind, each.namespace, ""
        if each.action is not Action.KEEP:
            yield "patch", each.kind, each.namespace, each.name


async def _apply(cluster: Cluster, plan: TeamPlan) -> None:
    """Write the planned objects in order. Raises CommandError."""
    for each in plan.objects:
        if each.action is Action.KEEP:
            continue
        body = {**each.manifest, "metadata": dict(each.manifest["metadata"])}
        if each.resource_version is not None:
            body["metadata"]["resourceVersion"] = each.resource_version
        try:
            await cluster.client.patch(
                RESOURCES[each.kind],
                each.namespace,
                each.name,
                body,
                PatchType.APPLY,
                field_manager=FIELD_MANAGER,
                # The admin asked for the change, so another field manager does not matter.
                force=each.action is Action.CHANGE,
            )
        except Forbidden as error:
            raise lacks_right("team create", error) from error
        except (Conflict, AlreadyExists) as error:
            raise CommandError(
                f"another client is changing {each.kind} {each.name}: run this again."
                f" The API server reports: {error.message}"
            ) from error

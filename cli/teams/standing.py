"""Report a team's state: its queue, quota, usage, users and problems. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from cli.teams.manifests import (
    LOCAL_QUEUE,
    VIEWER_ROLE,
    binding_name,
    cohort_key,
    queue_name,
    viewer_binding_name,
)
from cli.teams.plan import described_subject, subject_key
from shared.api.amounts import read_amount
from shared.api.conditions import condition
from shared.api.objects import JsonObject, is_being_deleted, labels
from shared.config.configuration import Configuration
from shared.waits.quota import quota_entries

_NOT_STOPPED: Final = (None, "None")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The objects that were read for one team. None: not read, not readable, or not existing.

    `queues`, `local_queues`: of all teams.
    """

    team: str
    kueue: str
    config: Configuration
    namespace: JsonObject | None
    queues: Sequence[JsonObject] | None
    local_queues: Sequence[JsonObject] | None
    bindings: Sequence[JsonObject] | None
    viewer_binding: JsonObject | None = None
    appwrappers: Sequence[JsonObject] | None = None
    resource_quotas: Sequence[JsonObject] | None = None
    unread: tuple[str, ...] = ()

    @property
    def own_queues(self) -> list[JsonObject]:
        """The LocalQueues in the team's namespace."""
        return [each for each in self.local_queues or () if _namespace(each) == self.team]

    @property
    def queue(self) -> JsonObject | None:
        """The ClusterQueue of `default-queue`, else of another LocalQueue, else by the name."""
        fed = {
            each["metadata"]["name"]: (each.get("spec") or {}).get("clusterQueue")
            for each in self.own_queues
        }
        name = fed.get(LOCAL_QUEUE) or next(iter(fed.values()), None) or queue_name(self.team)
        found = (each for each in self.queues or () if each["metadata"]["name"] == name)
        return next(found, None)


@dataclass(frozen=True, slots=True)
class QuotaUse:
    """One quota of the ClusterQueue. `used`: by admitted workloads. `borrowed`: part of `used`."""

    flavor: str
    resource: str
    quota: Decimal
    used: Decimal
    borrowed: Decimal
    borrowing_limit: Decimal | None
    lending_limit: Decimal | None


@dataclass(frozen=True, slots=True)
class QueueStanding:
    """A LocalQueue with the numbers of admitted and pending workloads."""

    name: str
    cluster_queue: str
    stop_policy: str
    admitted: int
    pending: int


@dataclass(frozen=True, slots=True)
class Member:
    """A subject (`group a`, `user b`) with its role in the namespace."""

    subject: str
    role: str
    binding: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamStanding:
    """The report of `team show`, and one entry of `team list`. None: unknown or not existing."""

    team: str
    labelled: bool | None
    cluster_queue: str | None
    cohort: str | None
    stop_policy: str | None
    quotas: tuple[QuotaUse, ...] | None
    local_queues: tuple[QueueStanding, ...] | None
    users: tuple[Member, ...] | None
    app_wrappers: Mapping[str, int] | None
    warnings: tuple[str, ...]
    unread: tuple[str, ...]


def team_standing(seen: Seen) -> TeamStanding:
    """Build the report about one team."""
    queue = seen.queue
    spec = (queue or {}).get("spec") or {}
    members = None if seen.bindings is None else tuple(_members(seen.bindings))
    return TeamStanding(
        team=seen.team,
        labelled=None if seen.namespace is None else _is_labelled(seen),
        cluster_queue=queue["metadata"]["name"] if queue else None,
        cohort=spec.get(cohort_key(seen.kueue)),
        stop_policy=(spec.get("stopPolicy") or "None") if queue else None,
        quotas=None if seen.queues is None else tuple(_quota_uses(queue)),
        local_queues=None
        if seen.local_queues is None
        else tuple(_queue_standing(each) for each in seen.own_queues),
        users=members,
        app_wrappers=None if seen.appwrappers is None else _phases(seen.appwrappers),
        warnings=tuple(_warnings(seen)),
        unread=seen.unread,
    )


def teams_of(
    namespaces: Iterable[JsonObject], queues: Iterable[JsonObject], config: Configuration
) -> list[str]:
    """Name all teams: labelled namespaces, and ClusterQueues whose team's namespace is gone."""
    selector, slack = config.appwrapper.team_namespace_selector, config.appwrapper.slack_queue.name
    known = {each["metadata"]["name"]: each for each in namespaces}
    found = {name for name, each in known.items() if selector.matches(labels(each))}
    suffix = queue_name("")
    for queue in queues:
        name = queue["metadata"]["name"]
        team = name.removesuffix(suffix)
        if name.endswith(suffix) and name != slack and team and team not in known:
            found.add(team)
    return sorted(found)


def _members(bindings: Iterable[JsonObject]) -> Iterator[Member]:
    for binding in bindings:
        for subject in binding.get("subjects") or ():
            yield Member(
                described_subject(subject), binding["roleRef"]["name"], binding["metadata"]["name"]
            )


def _quota_uses(queue: JsonObject | None) -> Iterator[QuotaUse]:
    used = {
        (flavor["name"], each["name"]): each
        for flavor in ((queue or {}).get("status") or {}).get("flavorsUsage") or ()
        for each in flavor.get("resources") or ()
    }
    for (flavor, resource), quota in quota_entries(queue or {}):
        usage = used.get((flavor, resource), {})
        borrowing, lending = quota.get("borrowingLimit"), quota.get("lendingLimit")
        yield QuotaUse(
            flavor,
            resource,
            read_amount(quota["nominalQuota"]),
            read_amount(usage.get("total") or 0),
            read_amount(usage.get("borrowed") or 0),
            None if borrowing is None else read_amount(borrowing),
            None if lending is None else read_amount(lending),
        )


def _queue_standing(item: JsonObject) -> QueueStanding:
    spec, status = item.get("spec") or {}, item.get("status") or {}
    return QueueStanding(
        item["metadata"]["name"],
        spec.get("clusterQueue") or "",
        spec.get("stopPolicy") or "None",
        status.get("admittedWorkloads") or 0,
        status.get("pendingWorkloads") or 0,
    )


def _phases(appwrappers: Iterable[JsonObject]) -> dict[str, int]:
    counted = Counter((each.get("status") or {}).get("phase") or "New" for each in appwrappers)
    return dict(sorted(counted.items()))


def _is_labelled(seen: Seen) -> bool:
    return seen.config.appwrapper.team_namespace_selector.matches(labels(seen.namespace))


def _namespace(item: JsonObject) -> str:
    return str(item["metadata"].get("namespace") or "")


def _warnings(seen: Seen) -> Iterator[str]:
    """Yield problems that prevent the team's workloads from being queued, counted or admitted."""
    yield from _of_namespace(seen)
    if seen.local_queues is not None and seen.namespace is not None:
        yield from _of_local_queues(seen)
    if seen.queue is not None:
        yield from _of_queue(seen, seen.queue)
    if seen.bindings is not None and seen.namespace is not None:
        yield from _of_users(seen, seen.bindings)
    for each in seen.resource_quotas or ():
        yield (
            f"ResourceQuota {each['metadata']['name']} limits the namespace: a workload that Kueue"
            " has admitted may fail to create its pods. Delete the ResourceQuota: Kueue limits the"
            " team"
        )


def _of_namespace(seen: Seen) -> Iterator[str]:
    team = seen.team
    if seen.namespace is None:
        if not any(f'namespaces "{team}"' in each for each in seen.unread):
            yield (
                f"namespace {team} does not exist: finish its deletion with `appwrapper team delete"
                f" {team}`, or make it with `appwrapper team create {team}`"
            )
    elif is_being_deleted(seen.namespace):
        yield f"namespace {team} is being deleted: `appwrapper team delete {team}` finishes it"
    elif not _is_labelled(seen):
        yield (
            f"namespace {team} lacks the label of teams: Kueue does not queue its workloads."
            f" `appwrapper team create {team} --adopt` sets it"
        )


def _of_local_queues(seen: Seen) -> Iterator[str]:
    names = {each["metadata"]["name"] for each in seen.own_queues}
    if LOCAL_QUEUE not in names:
        what = "no LocalQueue" if not names else f"no LocalQueue {LOCAL_QUEUE}"
        yield (
            f"the namespace has {what}: workloads that name no queue are never admitted."
            f" `appwrapper team create {seen.team}` makes it"
        )
    known = {each["metadata"]["name"] for each in seen.queues or ()}
    for each in map(_queue_standing, seen.own_queues):
        if seen.queues is not None and each.cluster_queue not in known:
            yield (
                f"LocalQueue {each.name} feeds ClusterQueue {each.cluster_queue}, which does not"
                " exist"
            )
        if each.stop_policy not in _NOT_STOPPED:
            yield (
                f"LocalQueue {each.name} is stopped ({each.stop_policy}): Kueue admits nothing from"
                " it. Set spec.stopPolicy to None to resume"
            )


def _of_queue(seen: Seen, queue: JsonObject) -> Iterator[str]:
    name = queue["metadata"]["name"]
    stopped = (queue.get("spec") or {}).get("stopPolicy")
    if stopped not in _NOT_STOPPED:
        yield (
            f"ClusterQueue {name} is stopped ({stopped}): Kueue admits nothing."
            " Set spec.stopPolicy to None to resume"
        )
    active = condition((queue.get("status") or {}).get("conditions") or [], "Active")
    if stopped in _NOT_STOPPED and active is not None and active.get("status") != "True":
        yield f"ClusterQueue {name} is not active: {active.get('message') or active.get('reason')}"
    for other in seen.local_queues or ():
        fed = (other.get("spec") or {}).get("clusterQueue")
        if fed == name and _namespace(other) != seen.team:
            yield (
                f"LocalQueue {_namespace(other)}/{other['metadata']['name']} feeds ClusterQueue"
                f" {name} too: another namespace uses this team's quota"
            )


def _of_users(seen: Seen, bindings: Sequence[JsonObject]) -> Iterator[str]:
    edit = next((one for one in bindings if one["metadata"]["name"] == binding_name(seen.team)), {})
    users = {subject_key(each): each for each in edit.get("subjects") or ()}
    if not any(each.get("subjects") for each in bindings):
        yield (
            "no role is bound in the namespace: only cluster admins can use it."
            f" `appwrapper team create {seen.team} --user NAME` adds a user"
        )
    if seen.viewer_binding is None:
        if users and not any("clusterrolebindings" in each for each in seen.unread):
            yield (
                f"there is no ClusterRoleBinding {viewer_binding_name(seen.team)}: users cannot see"
                f" quota and priorities. `appwrapper team create {seen.team}` binds {VIEWER_ROLE}"
            )
        return
    bound = {subject_key(each) for each in seen.viewer_binding.get("subjects") or ()}
    for missing in (each for key, each in users.items() if key not in bound):
        yield (
            f"{described_subject(missing)} is not in ClusterRoleBinding"
            f" {viewer_binding_name(seen.team)}, and cannot see quota and priorities"
        )

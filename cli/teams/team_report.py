"""Report a team's state: its queue, quota, usage, users and problems. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cli.cluster.kueue import LocalQueue, Quota, cluster_queue_of, local_queue_of, queue_trouble
from cli.cluster.unread import Many, One, Unread, named, objects, readable
from cli.teams.manifests import (
    LOCAL_QUEUE,
    VIEWER_ROLE,
    binding_name,
    queue_name,
    viewer_binding_name,
)
from cli.teams.plan import described_subject, subject_key
from shared.api.objects import JsonObject, is_being_deleted, labels
from shared.config.configuration import Configuration
from shared.waits import queueing


@dataclass(frozen=True, kw_only=True)
class TeamObjects:
    """The objects that were read for one team. `queues`, `local_queues`: of all teams.

    The defaults: not read, or not served.
    """

    team: str
    config: Configuration
    namespace: One
    queues: Many
    local_queues: Many
    bindings: Many | None
    viewer_binding: One = None
    appwrappers: Many | None = None
    resource_quotas: Many | None = None

    @cached_property
    def own_queues(self) -> tuple[LocalQueue, ...]:
        """The LocalQueues in the team's namespace."""
        own = map(local_queue_of, objects(self.local_queues))
        return tuple(each for each in own if each.namespace == self.team)

    @cached_property
    def queue(self) -> JsonObject | None:
        """The ClusterQueue of `default-queue`, else of another LocalQueue, else by the name."""
        fed = {each.name: each.cluster_queue for each in self.own_queues}
        name = fed.get(LOCAL_QUEUE) or next(iter(fed.values()), None) or queue_name(self.team)
        return readable(named(self.queues, name))


@dataclass(frozen=True, slots=True)
class Member:
    """A subject (`group a`, `user b`) with its role in the namespace."""

    subject: str
    role: str
    binding: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamReport:
    """The report of `team show`, and one entry of `team list`. None: unknown or not existing."""

    team: str
    labelled: bool | None
    cluster_queue: str | None
    cohort: str | None
    stop_policy: str | None
    quotas: tuple[Quota, ...] | None
    local_queues: tuple[LocalQueue, ...] | None
    users: tuple[Member, ...] | None
    app_wrappers: Mapping[str, int] | None
    warnings: tuple[str, ...]
    unread: tuple[str, ...] = ()


def team_report(seen: TeamObjects) -> TeamReport:
    queue = cluster_queue_of(seen.queue) if seen.queue else None
    bindings = seen.bindings if isinstance(seen.bindings, tuple) else None
    phases = None
    if isinstance(seen.appwrappers, tuple):
        phases = [(each.get("status") or {}).get("phase") or "New" for each in seen.appwrappers]
    return TeamReport(
        team=seen.team,
        labelled=_is_labelled(seen) if isinstance(seen.namespace, dict) else None,
        cluster_queue=queue.name if queue else None,
        cohort=(queue.cohort or None) if queue else None,
        stop_policy=queue.stop_policy if queue else None,
        quotas=None if isinstance(seen.queues, Unread) else queue.quotas if queue else (),
        local_queues=None if isinstance(seen.local_queues, Unread) else seen.own_queues,
        users=None if bindings is None else tuple(_members(bindings)),
        app_wrappers=None if phases is None else dict(sorted(Counter(phases).items())),
        warnings=tuple(dict.fromkeys(_warnings(seen))),
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


def _is_labelled(seen: TeamObjects) -> bool:
    return seen.config.appwrapper.team_namespace_selector.matches(labels(readable(seen.namespace)))


def _warnings(seen: TeamObjects) -> Iterator[str]:
    """Yield problems that prevent the team's workloads from being queued, counted or admitted."""
    yield from _of_namespace(seen)
    yield from _of_local_queues(seen)
    if seen.queue is not None:
        yield from _of_queue(seen, seen.queue)
    if isinstance(seen.bindings, tuple) and isinstance(seen.namespace, dict):
        yield from _of_users(seen, seen.bindings)
    for each in objects(seen.resource_quotas):
        yield (
            f"ResourceQuota {each['metadata']['name']} limits the namespace: a workload that Kueue"
            " has admitted may fail to create its pods. Delete the ResourceQuota: Kueue limits the"
            " team"
        )


def _of_namespace(seen: TeamObjects) -> Iterator[str]:
    team = seen.team
    if seen.namespace is None:
        yield (
            f"namespace {team} does not exist: finish its deletion with `appwrapper team delete"
            f" {team}`, or make it with `appwrapper team create {team}`"
        )
    elif isinstance(seen.namespace, Unread):
        return
    elif is_being_deleted(seen.namespace):
        yield f"namespace {team} is being deleted: `appwrapper team delete {team}` finishes it"
    elif not _is_labelled(seen):
        yield (
            f"namespace {team} lacks the label of teams: Kueue does not queue its workloads."
            f" `appwrapper team create {team} --adopt` sets it"
        )


def _of_local_queues(seen: TeamObjects) -> Iterator[str]:
    names = {each.name for each in seen.own_queues}
    is_known = isinstance(seen.local_queues, tuple) and isinstance(seen.namespace, dict)
    if is_known and LOCAL_QUEUE not in names:
        what = "no LocalQueue" if not names else f"no LocalQueue {LOCAL_QUEUE}"
        yield (
            f"the namespace has {what}: workloads that name no queue are never admitted."
            f" `appwrapper team create {seen.team}` makes it"
        )
    for item in objects(seen.local_queues):
        each = local_queue_of(item)
        if each.namespace == seen.team:
            feeds = named(seen.queues, each.cluster_queue)
            if trouble := queue_trouble(seen.team, each.name, item, feeds):
                yield trouble.text


def _of_queue(seen: TeamObjects, item: JsonObject) -> Iterator[str]:
    queue = queueing.cluster_queue(item)
    if why := queueing.stopped_text(queue) or queueing.inactive_text(queue):
        yield why
    for other in map(local_queue_of, objects(seen.local_queues)):
        if other.cluster_queue == queue.name and other.namespace != seen.team:
            yield (
                f"LocalQueue {other.namespace}/{other.name} feeds ClusterQueue"
                f" {queue.name} too: another namespace uses this team's quota"
            )


def _of_users(seen: TeamObjects, bindings: Sequence[JsonObject]) -> Iterator[str]:
    edit = next((one for one in bindings if one["metadata"]["name"] == binding_name(seen.team)), {})
    users = {subject_key(each): each for each in edit.get("subjects") or ()}
    if not any(each.get("subjects") for each in bindings):
        yield (
            "no role is bound in the namespace: only cluster admins can use it."
            f" `appwrapper team create {seen.team} --user NAME` adds a user"
        )
    if seen.viewer_binding is None and users:
        yield (
            f"there is no ClusterRoleBinding {viewer_binding_name(seen.team)}: users cannot see"
            f" quota and priorities. `appwrapper team create {seen.team}` binds {VIEWER_ROLE}"
        )
    if not isinstance(seen.viewer_binding, dict):
        return
    bound = {subject_key(each) for each in seen.viewer_binding.get("subjects") or ()}
    for missing in (each for key, each in users.items() if key not in bound):
        yield (
            f"{described_subject(missing)} is not in ClusterRoleBinding"
            f" {viewer_binding_name(seen.team)}, and cannot see quota and priorities"
        )

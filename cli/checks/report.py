"""Report quota, usage and capacity of the whole cluster for `appwrapper check`. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from functools import cached_property

from cli.checks.findings import CheckFinding, FindingSeverity
from cli.checks.nodes import NodeShape, NodeState, node_findings, shapes
from cli.checks.workload_rules import Surroundings, workload_findings
from cli.checks.workloads import GPU, HoldingPod, WorkloadFacts
from cli.cluster.kueue import ClusterQueue, LocalQueue, Quota, cluster_queue_of
from cli.cluster.unread import Unread
from shared.api.amounts import ZERO, amount_text, resource_text
from shared.api.objects import JsonObject
from shared.config.configuration import AppWrapperConfig


@dataclass(frozen=True, kw_only=True)
class Observed:
    """The objects that were read. `unread`: the failed reads, and why. None: could not be read."""

    config: AppWrapperConfig = field(default_factory=AppWrapperConfig)
    nodes: tuple[NodeState, ...] | None = None
    cluster_queues: tuple[JsonObject, ...] | None
    local_queues: tuple[LocalQueue, ...] | None
    workloads: tuple[WorkloadFacts, ...] | None
    pods: tuple[HoldingPod, ...] | None = None
    default_priority: int | None
    tolerations: tuple[JsonObject, ...] = ()  # of all flavors
    unread: tuple[Unread, ...] = ()

    @cached_property
    def queues(self) -> list[ClusterQueue]:
        """The ClusterQueues, none if they could not be read."""
        return [cluster_queue_of(each) for each in self.cluster_queues or ()]

    @property
    def slack(self) -> ClusterQueue | None:
        """The slack queue if there is one."""
        name = self.config.slack_queue.name
        return next((each for each in self.queues if each.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLine:
    name: str
    gpu_quota: Decimal
    gpu_usage: Decimal
    admitted_workloads: int
    pending_workloads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The totals of one resource. None if the nodes or the queues could not be read."""

    resource: str
    total: Decimal | None
    unschedulable: Decimal | None
    schedulable: Decimal | None
    nominal_quota: Decimal | None
    slack_quota: Decimal | None
    total_quota: Decimal | None
    usage: Decimal | None
    borrowed: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlavorLine:
    """One resource of one flavor of one ClusterQueue, for the wide table."""

    cluster_queue: str
    cohort: str
    quota: Quota


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterReport:
    """The report. `gpus`: the totals of the table. `resources`: totals of all that has quota."""

    queues: tuple[QueueLine, ...]
    gpus: Totals
    resources: tuple[Totals, ...]
    flavors: tuple[FlavorLine, ...]
    node_shapes: tuple[NodeShape, ...]
    findings: tuple[CheckFinding, ...]
    unread: tuple[str, ...]


def cluster_report(seen: Observed, now: datetime) -> ClusterReport:
    slack = seen.config.slack_queue.name
    queues = sorted(seen.queues, key=lambda each: each.name)
    names = dict.fromkeys([GPU, *(name for each in queues for name in each.resources)])
    totals = tuple(_totals(name, seen) for name in names)
    return ClusterReport(
        queues=tuple(
            QueueLine(
                name=each.name,
                gpu_quota=each.total(GPU).nominal,
                gpu_usage=each.total(GPU).used,
                admitted_workloads=each.admitted,
                pending_workloads=each.pending,
            )
            for each in queues
            if each.name != slack
        ),
        gpus=totals[0],
        resources=totals,
        flavors=tuple(
            FlavorLine(cluster_queue=each.name, cohort=each.cohort, quota=quota)
            for each in queues
            for quota in each.quotas
        ),
        node_shapes=shapes(seen.nodes or ()),
        findings=tuple(_findings(seen, totals, now)),
        unread=tuple(map(str, seen.unread)),
    )


def _totals(resource: str, seen: Observed) -> Totals:
    total = unschedulable = schedulable = None
    if seen.nodes is not None:
        total = sum((each.allocatable.get(resource, ZERO) for each in seen.nodes), ZERO)
        unschedulable = sum((each.unschedulable.get(resource, ZERO) for each in seen.nodes), ZERO)
        schedulable = total - unschedulable
    nominal = lendable = usage = borrowed = None
    if seen.cluster_queues is not None:
        amounts = [each.total(resource) for each in seen.queues]
        lendable = seen.slack.total(resource).lendable if seen.slack else ZERO
        own = seen.slack.total(resource).nominal if seen.slack else ZERO
        nominal = sum((each.nominal for each in amounts), ZERO) - own
        usage = sum((each.used for each in amounts), ZERO)
        borrowed = sum((each.borrowed for each in amounts), ZERO)
    return Totals(
        resource=resource,
        total=total,
        unschedulable=unschedulable,
        schedulable=schedulable,
        nominal_quota=nominal,
        slack_quota=lendable,
        total_quota=None if nominal is None or lendable is None else nominal + lendable,
        usage=usage,
        borrowed=borrowed,
    )


def _findings(seen: Observed, totals: Sequence[Totals], now: datetime) -> Iterator[CheckFinding]:
    if seen.nodes is not None:
        yield from node_findings(seen.nodes, seen.tolerations)
    for each in totals:
        if each.total and each.total_quota is not None and each.resource != "pods":
            yield from _quota_sum(each, seen.slack)
    for queue in seen.queues:
        if queue.inactive:
            yield CheckFinding(
                about=f"ClusterQueue {queue.name}", message=f"it admits nothing: {queue.inactive}"
            )
    yield from _unnamed_slack_queues(seen)
    yield from _orchestrated(seen.queues)
    yield from _of_workloads(seen, now)
    yield from _uncounted_pods(seen)


def _unnamed_slack_queues(seen: Observed) -> Iterator[CheckFinding]:
    """Report queues that only lend, if the configuration names no slack queue."""
    if seen.slack is not None or seen.local_queues is None:
        return
    fed = {each.cluster_queue for each in seen.local_queues}
    borrowing = {each.cohort for each in seen.queues if each.cohort and each.name in fed}
    for queue in seen.queues:
        lends = queue.cohort in borrowing and any(each.nominal for each in queue.quotas)
        if lends and queue.name not in fed:
            yield CheckFinding(
                severity=FindingSeverity.NOTE,
                about=f"ClusterQueue {queue.name}",
                message="no LocalQueue feeds it, so it only lends, as a slack queue does, but"
                " slackQueue.name does not name it: it goes on lending what nodes lose",
                advice=f"Set slackQueue.name: {queue.name} in the operator's configuration, or"
                " create a LocalQueue for its team",
            )


def _orchestrated(queues: Sequence[ClusterQueue]) -> Iterator[CheckFinding]:
    """Report quotas that are not those of the spec, once for each object that sets them."""
    for orchestrator in dict.fromkeys(each.orchestrator for each in queues if each.orchestrator):
        names = ", ".join(each.name for each in queues if each.orchestrator == orchestrator)
        yield CheckFinding(
            severity=FindingSeverity.NOTE,
            about=orchestrator,
            message=f"it sets the quota of {names}: this report shows status.effectiveQuotas,"
            " not spec.resourceGroups",
            advice="Kueue uses these quotas only with its feature gate DynamicQuotaOrchestration",
        )


def _quota_sum(each: Totals, slack: ClusterQueue | None) -> Iterator[CheckFinding]:
    """Compare the quota of one resource with the nodes' capacity."""
    name = each.resource
    lent = slack.total(name) if slack else None
    total, schedulable = each.total or ZERO, each.schedulable or ZERO
    nominal, available = each.nominal_quota or ZERO, each.total_quota or ZERO
    most = nominal + (lent.nominal if lent else ZERO)

    if nominal > schedulable:
        yield CheckFinding(
            about=f"quota of {name}",
            message=f"the teams' ClusterQueues promise {resource_text(nominal, name)}, and only"
            f" {resource_text(schedulable, name)} can be scheduled",
            advice=f"Reduce their nominalQuota by {amount_text(nominal - schedulable, name)}"
            " together, or bring nodes back",
        )
    elif slack and lent and available != schedulable and len(slack.of(name)) == 1:
        # With several flavors the controller sets a limit for each; their sum is not this one.
        wanted = min(max(schedulable - nominal, ZERO), lent.nominal)
        if lent.lendable != wanted:
            yield CheckFinding(
                about=f"quota of {name}",
                message=f"{resource_text(available, name)} can be lent or used, and"
                f" {resource_text(schedulable, name)} can be scheduled",
                advice=f"The controller sets lendingLimit: {amount_text(wanted, name)} in"
                f" ClusterQueue {slack.name} within a minute; if it does not, read the Events"
                " there",
            )
    if most < total:
        yield CheckFinding(
            about=f"quota of {name}",
            message=f"no ClusterQueue has quota for {resource_text(total - most, name)} of the"
            f" nodes' {amount_text(total, name)}",
            advice="Give it to a team" + (f" or to {slack.name}" if slack else ""),
        )
    elif most > total and slack is not None:
        yield CheckFinding(
            about=f"quota of {name}",
            message=f"the nominal quotas, {slack.name} included, are {resource_text(most, name)},"
            f" and the nodes have {resource_text(total, name)}",
            advice=f"Reduce the nominalQuota of {slack.name} by {amount_text(most - total, name)}",
        )


def _of_workloads(seen: Observed, now: datetime) -> Iterator[CheckFinding]:
    if seen.workloads is None or seen.local_queues is None:
        return
    by_namespace: dict[str, set[str]] = {}
    for queue in seen.local_queues:
        by_namespace.setdefault(queue.namespace, set()).add(queue.name)
        if queue.inactive:
            yield CheckFinding(
                about=f"LocalQueue {queue.namespace}/{queue.name}",
                message=f"its workloads wait: {queue.inactive}",
            )
    around = surroundings(seen, frozenset(), now)  # once: it groups all nodes
    for workload in seen.workloads:
        # OpenShift's own namespaces belong to no team.
        if workload.namespace in by_namespace and not workload.namespace.startswith("openshift-"):
            queues = frozenset(by_namespace[workload.namespace])
            yield from workload_findings(workload, replace(around, queues=queues))


def surroundings(seen: Observed, queues: frozenset[str], now: datetime) -> Surroundings:
    """Return the criteria for workloads of a namespace with these LocalQueues."""
    return Surroundings(
        queues=queues,
        default_priority=seen.default_priority,
        nodes=tuple(each.amounts for each in shapes(seen.nodes or ())),
        scheduler=seen.config.scheduler_name,
        warmup=seen.config.fault_tolerance.warmup_grace_period,
        now=now,
    )


def _uncounted_pods(seen: Observed) -> Iterator[CheckFinding]:
    """Report pods with GPUs in namespaces whose pods Kueue does not count."""
    if seen.pods is None or seen.local_queues is None:
        return
    counted = {each.namespace for each in seen.local_queues}
    flags = {each.name: each.flags for each in seen.nodes or ()}
    for pod in seen.pods:
        if pod.namespace in counted or pod.namespace.startswith("openshift-"):
            continue
        where = "; ".join((pod.node, *flags.get(pod.node, ())))
        yield CheckFinding(
            about=f"pod {pod.namespace}/{pod.name}",
            message=f"it holds {resource_text(pod.amounts[GPU], GPU)} on its node"
            f" ({where}) without quota: its namespace has no LocalQueue",
            advice="Move it into a team's namespace, or take its GPUs out of the quotas",
        )

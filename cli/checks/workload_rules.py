"""Rules about a workload: its queue, its priority, its state, its shape. Pure.

One rule is one function; `RULES` lists them. The rules about shapes compare with the cluster's
nodes. A team may not read nodes; without nodes these rules report nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from cli.checks.findings import CheckFinding, FindingSeverity
from cli.checks.workloads import DEFAULT_SCHEDULER, GPU, WorkloadFacts
from cli.durations import span
from shared.api.amounts import ZERO, Amounts, amount_text, resource_text
from shared.kinds.uncounted_pods import is_extended
from shared.waits.quota import fits, largest_by_node


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The criteria for workloads. None or empty: could not be read."""

    queues: frozenset[str]  # of its namespace
    default_priority: int | None
    nodes: tuple[Amounts, ...]  # what each shape of node has
    scheduler: str  # the configured scheduler; "": any
    warmup: timedelta
    now: datetime


def workload_findings(workload: WorkloadFacts, around: Surroundings) -> list[CheckFinding]:
    """Return the findings of all rules, none for a finished workload."""
    if workload.finished:
        return []
    return [found for rule in RULES for found in rule(workload, around)]


def _queue(workload: WorkloadFacts, around: Surroundings) -> Iterator[CheckFinding]:
    there = ", ".join(sorted(around.queues))
    if not workload.queue:
        yield _warning(
            workload,
            "it names no LocalQueue, so Kueue never admits it",
            f"Set the label kueue.x-k8s.io/queue-name to one of: {there}",
        )
    elif workload.queue not in around.queues:
        yield _warning(
            workload,
            f"there is no LocalQueue {workload.queue} in its namespace, so Kueue never admits it",
            f"Create it again with the label kueue.x-k8s.io/queue-name of one of: {there}",
        )


def _priority(workload: WorkloadFacts, around: Surroundings) -> Iterator[CheckFinding]:
    usual = around.default_priority
    if usual is not None and workload.priority is not None and workload.priority > usual:
        yield CheckFinding(
            severity=FindingSeverity.NOTE,
            about=workload.about,
            message=f"its priority is {workload.priority}"
            + (f" ({workload.priority_class})" if workload.priority_class else "")
            + f", above the default of {usual}: it may preempt others of its ClusterQueue",
        )


def _unready(workload: WorkloadFacts, around: Surroundings) -> Iterator[CheckFinding]:
    since = workload.unready_since
    if since is not None and around.now - since > around.warmup:
        yield _warning(
            workload,
            f"Kueue admitted it, and its pods have not been ready for {span(around.now - since)}",
            f"See why: appwrapper explain -n {workload.namespace} {workload.submitted}",
        )


def _evicted(workload: WorkloadFacts, _: Surroundings) -> Iterator[CheckFinding]:
    if workload.evicted:
        yield CheckFinding(
            severity=FindingSeverity.NOTE if workload.preempted else FindingSeverity.WARNING,
            about=workload.about,
            message=f"Kueue evicted it ({workload.evicted})",
        )


def _inactive(workload: WorkloadFacts, _: Surroundings) -> Iterator[CheckFinding]:
    if workload.gave_up:
        yield _warning(
            workload,
            "Kueue took it out of the queue for good",
            "Kueue makes a new Workload, and queues it, after: kubectl delete workload"
            f" -n {workload.namespace} {workload.name} --wait=false",
        )
    elif not (workload.active or workload.held):
        yield _warning(
            workload,
            "it is deactivated (spec.active: false), so Kueue does not admit it",
            "An admin queues it again: kubectl patch workload"
            f" -n {workload.namespace} {workload.name} --type merge"
            ' --patch \'{"spec":{"active":true}}\'',
        )


def _too_large(workload: WorkloadFacts, around: Surroundings) -> Iterator[CheckFinding]:
    """Report pods that fit on no node, not even on an empty one: no quota starts them."""
    for each in workload.pod_sets if around.nodes else ():
        if why := largest_by_node(around.nodes, [each]):
            yield _warning(workload, f"pod set {each.name}: {why}", "Ask for less")


def _ratios(workload: WorkloadFacts, around: Surroundings) -> Iterator[CheckFinding]:
    """Report more of a resource for each GPU than nodes have: some of their GPUs then lie idle."""
    for each in workload.pod_sets:
        wanted = each.each.get(GPU, ZERO)
        fitting = [node for node in around.nodes if fits(each.each, node) and node.get(GPU)]
        if not wanted or not fitting:
            continue
        offered = max(fitting, key=lambda node: node[GPU])
        gpus = offered[GPU]
        for name, value in each.each.items():
            share = offered.get(name, ZERO) / gpus
            # A node divides these among its GPU pods, but not `pods` and disks.
            is_shared_out = name in ("cpu", "memory") or is_extended(name)
            if name == GPU or not is_shared_out or value / wanted <= share:
                continue
            idle = gpus - offered.get(name, ZERO) // value * wanted
            yield _warning(
                workload,
                f"pod set {each.name} asks for {resource_text(value / wanted, name)} for each"
                f" {GPU}, and nodes have {amount_text(share, name)}: on a node full of such"
                f" pods {amount_text(idle, GPU)} of {amount_text(gpus, GPU)} GPUs lie"
                " idle",
                f"Ask for at most {resource_text(share * wanted, name)}",
            )


def _lonely_network(workload: WorkloadFacts, _: Surroundings) -> Iterator[CheckFinding]:
    """Report GPUDirect RDMA in a workload of one pod: it connects several pods."""
    if sum(each.count for each in workload.pod_sets) != 1:
        return
    for name in sorted(name for name, amount in workload.amounts.items() if amount):
        if name.endswith("roce_gdr"):
            yield _warning(
                workload,
                f"it asks for {name} and has one pod: that resource connects pods on several nodes",
                f"Leave {name} out",
            )


def _scheduler(workload: WorkloadFacts, around: Surroundings) -> Iterator[CheckFinding]:
    """Report GPU pods with the default scheduler if the operator is configured for another one."""
    if around.scheduler in ("", DEFAULT_SCHEDULER) or workload.owner.startswith("AppWrapper "):
        return  # the controller sets the configured scheduler in components that it creates
    for each in workload.pod_sets:
        if each.each.get(GPU) and each.name in workload.by_default_scheduler:
            yield _warning(
                workload,
                f"pods of pod set {each.name} use GPUs and {DEFAULT_SCHEDULER}, which does not"
                f" start them together as {around.scheduler} does",
                f"Wrap it in an AppWrapper, or set schedulerName: {around.scheduler}",
            )


WorkloadRule = Callable[[WorkloadFacts, Surroundings], Iterator[CheckFinding]]
RULES: Final[tuple[WorkloadRule, ...]] = (
    _queue,
    _priority,
    _inactive,
    _evicted,
    _unready,
    _too_large,
    _ratios,
    _lonely_network,
    _scheduler,
)


def _warning(workload: WorkloadFacts, message: str, advice: str = "") -> CheckFinding:
    return CheckFinding(about=workload.about, message=message, advice=advice)

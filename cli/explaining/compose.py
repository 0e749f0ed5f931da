"""Compose the report from the objects that were read. Pure."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from cli.cluster.unread import Unread
from cli.explaining.answers.chain import answer
from cli.explaining.answers.queue import is_waiting
from cli.explaining.appwrapper_objects import AppWrapperObjects
from cli.explaining.case import Case, case_of
from cli.explaining.gpu_hours import gpu_hours
from cli.explaining.history import attempts, phase_since, timeline
from cli.explaining.report import (
    ExplainReport,
    Periods,
    PodLine,
    PodsReport,
    QueueReport,
    QuotaAmount,
    Situation,
)
from cli.explaining.root_cause import root_cause
from cli.explaining.suspects import suspect_nodes
from controller.facts.pods import Pod
from shared.api.amounts import ZERO
from shared.api.objects import JsonObject
from shared.waits.pods import pod_trouble
from shared.waits.quota import Demand, FlavorQuota
from shared.waits.workload import priority_of

_MOST_HOLDERS: Final = 20
# The situations in which other workloads' quota matters.
_FOR_QUOTA: Final = frozenset(
    {
        Situation.WAITS_FOR_QUOTA,
        Situation.WAITS_FOR_TURN,
        Situation.BACKS_OFF,
        Situation.NOT_READABLE,
    }
)


def explain(seen: AppWrapperObjects) -> ExplainReport:
    """Compose the report about one AppWrapper."""
    case = case_of(seen)
    found = answer(case)
    appwrapper = case.appwrapper
    is_queued = appwrapper.is_ours and bool(appwrapper.queue_name) and is_waiting(case)
    return ExplainReport(
        namespace=case.namespace,
        name=case.name,
        seen_at=case.now,
        situation=found.situation,
        answer=found.sentence,
        phase=str(case.appwrapper.status.get("phase") or ""),
        since=phase_since(case),
        attempt=case.appwrapper.attempt,
        retries=case.snapshot.retries,
        retry_limit=case.config.retry_limit,
        details=tuple(dict.fromkeys(found.details)),
        next=found.next,
        queue=_queue(case, found.situation) if is_queued else None,
        pods=_pods(case),
        root_cause=root_cause(case),
        attempts=attempts(case),
        suspect_nodes=suspect_nodes(case),
        timeline=timeline(case),
        gpu_hours=gpu_hours(case),
        periods=_periods(case),
        commands=found.commands,
        not_readable=tuple(f"{each.what} ({each.why})" for each in seen.unread),
    )


def _queue(case: Case, situation: Situation) -> QueueReport:
    view = case.queue
    # A workload that holds its quota lacks nothing, however little quota is free.
    short = {each.resource for each in (*view.short, *view.impossible) if not view.holds}
    asked = [each.resource for each in view.demands]
    # Report the holders of the short resources; if none is short, of all requested resources.
    of = [name for name in asked if name in short] or asked
    priority, priority_class = priority_of(view.workload) if view.workload else (None, None)
    holding = [each for each in view.holders if any(each.amounts.get(name) for name in of)]
    if situation not in _FOR_QUOTA:
        holding = []
    return QueueReport(
        local_queue=case.appwrapper.queue_name,
        cluster_queue=view.cluster_queue_name or None,
        cohort=view.cohort.name or None,
        workload=view.workload["metadata"]["name"] if view.workload else None,
        priority=priority,
        priority_class=priority_class or None,
        kueue_reason=view.pending_reason.reason or None if view.pending_reason else None,
        kueue_message=view.pending_message or None,
        position=view.position,
        pending=view.pending,
        amounts=tuple(line for each in view.demands for line in _amounts(each, short)),
        holders=tuple(
            replace(
                each, amounts={name: each.amounts[name] for name in of if each.amounts.get(name)}
            )
            for each in holding[:_MOST_HOLDERS]
        ),
        holders_are_all=view.holders_are_all and len(holding) <= _MOST_HOLDERS,
    )


# A resource that the ClusterQueue does not cover has this quota.
_NOT_COVERED: Final = FlavorQuota(
    flavor="", resource="", nominal=ZERO, used=ZERO, free=ZERO, most=ZERO
)


def _amounts(demand: Demand, short: set[str]) -> Iterable[QuotaAmount]:
    for each in demand.flavors or (_NOT_COVERED,):
        yield QuotaAmount(
            resource=demand.resource,
            flavor=each.flavor,
            asked=demand.asked,
            nominal=each.nominal,
            used=each.used,
            free=each.free,
            most=each.most,
            is_short=demand.resource in short,
        )


def _pods(case: Case) -> PodsReport | None:
    if isinstance(case.seen.pods, Unread):
        return None
    counts = case.snapshot.pods
    if not counts.expected and not case.pods:
        return None
    lines = [_line(pod, raw) for pod, raw in zip(case.pods, case.raw_pods, strict=True)]
    if not lines and is_waiting(case):
        return None
    return PodsReport(
        expected=counts.expected,
        wanted=counts.wanted,
        running=counts.running,
        pending=counts.pending,
        succeeded=counts.succeeded,
        failed=counts.failed,
        deleting=counts.deleting,
        pods=tuple(sorted(lines, key=lambda each: (not each.node, each.node, each.name))),
    )


def _line(pod: Pod, raw: JsonObject) -> PodLine:
    status = raw.get("status") or {}
    restarts = sum(
        int(each.get("restartCount") or 0) for each in status.get("containerStatuses") or ()
    )
    trouble = pod_trouble(raw)
    state, why = pod.phase, ""
    if pod.deleting:
        state = "Terminating"
    elif trouble is not None:
        _, reason, why = trouble
        state = reason or pod.phase
    elif pod.phase == "Failed":
        codes = ", ".join(f"exit code {code}" for code in pod.exit_codes)
        why = ", ".join(filter(None, [codes, pod.cause]))
    return PodLine(name=pod.name, node=pod.node, state=state, restarts=restarts, trouble=why)


def _periods(case: Case) -> Periods:
    config = case.config
    return Periods(
        admission_grace=config.admission_grace,
        warmup_grace=config.warmup_grace,
        failure_grace=config.failure_grace,
        retry_pause=config.asked_retry_pause,
        deletion_on_failure_grace=config.deletion_on_failure_grace,
        forceful_deletion_grace=config.forceful_deletion_grace,
        success_ttl=config.success_ttl,
        assumed=case.seen.world.settings.problem or None,
    )

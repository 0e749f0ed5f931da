"""Answers for an AppWrapper that waits in a working queue. Pure."""

from typing import Final

from cli.cluster.unread import Unread
from cli.explaining.answers.kueue_messages import evictions, kueue_messages, queue_commands
from cli.explaining.case import Case, SituationAnswer
from cli.explaining.report import Next, Situation
from shared.api.amounts import amount_text, resource_text
from shared.api.names import CONDITION_QUOTA_RESERVED
from shared.waits.quota import Demand
from shared.waits.words import joined, ordinal
from shared.waits.workload import fits_no_flavor, has_quota, last_eviction, requeued_at

_ASK_FOR_LESS: Final = Next(
    "To request less, delete the AppWrapper, change the file, and create it again."
)
_UNTIL_IT_ASKS_FOR_LESS: Final = (
    Next("Nothing happens until an admin changes the queue."),
    _ASK_FOR_LESS,
)


def no_flavor_matches(case: Case) -> SituationAnswer | None:
    """Apply if Kueue reports that no flavor matches the pods."""
    pending = case.queue.pending_reason
    if pending is None or not fits_no_flavor(pending):
        return None
    name = case.queue.cluster_queue_name
    return SituationAnswer(
        situation=Situation.NO_FLAVOR,
        sentence=f"{case.name} can never start: no flavor of ClusterQueue {name} matches its pods'"
        " node selectors, affinities and tolerations.",
        details=kueue_messages(case),
        next=_UNTIL_IT_ASKS_FOR_LESS,
        commands=queue_commands(case),
    )


def never_fits(case: Case) -> SituationAnswer | None:
    """Apply if the request exceeds the largest possible quota, or has a resource without quota."""
    impossible = case.queue.impossible
    if not impossible:
        return None
    name = case.queue.cluster_queue_name
    missing = [each.resource for each in impossible if not each.flavors]
    if missing:
        sentence = (
            f"{case.name} can never start: it asks for {joined(missing)}, and ClusterQueue {name}"
            f" has no quota for {'it' if len(missing) == 1 else 'them'}."
        )
    else:
        sentence = (
            f"{case.name} can never start: {joined([_beyond(each, name) for each in impossible])}."
        )
    return SituationAnswer(
        situation=Situation.NEVER_FITS,
        sentence=sentence,
        details=kueue_messages(case),
        next=_UNTIL_IT_ASKS_FOR_LESS,
        commands=(case.command("cancel", "then create it with smaller requests"),),
    )


def _beyond(demand: Demand, queue: str) -> str:
    most = max((each.most for each in demand.flavors), default=demand.most)
    if demand.asked > demand.most:
        what, limit = f"it asks for {resource_text(demand.asked, demand.resource)}", demand.most
    else:
        asked, limit = resource_text(demand.largest, demand.resource), most
        what = f"one of its pod sets asks for {asked} of one flavor"
    return (
        f"{what}, and ClusterQueue {queue} can have {amount_text(limit, demand.resource)} at most"
    )


def larger_than_any_node(case: Case) -> SituationAnswer | None:
    """Apply if no node is large enough for a pod. An autoscaler may still add a larger node."""
    why = case.queue.too_large_for_nodes
    if not why:
        return None
    return SituationAnswer(
        situation=Situation.NO_SUCH_NODE,
        sentence=f"{case.name} cannot run on any node that the cluster has now: {why}.",
        details=kueue_messages(case),
        next=(Next("Nothing happens until a larger node joins the cluster."), _ASK_FOR_LESS),
        commands=(case.command("cancel", "then create it with smaller requests"),),
    )


def backs_off(case: Case) -> SituationAnswer | None:
    """Apply if Kueue evicted the Workload and waits before it queues it again."""
    workload = case.queue.workload
    at = requeued_at(workload) if workload else None
    if workload is None or at is None or at <= case.now or has_quota(workload):
        return None
    eviction = last_eviction(workload)
    why = f" ({eviction.reason})" if eviction else ""
    return SituationAnswer(
        situation=Situation.BACKS_OFF,
        sentence=f"{case.name} was evicted by Kueue{why}, and is queued again at {case.when(at)}.",
        details=evictions(case),
        next=(Next("Kueue queues it again.", at),),
    )


def waits_for_quota(case: Case) -> SituationAnswer | None:
    """Apply if too little quota is free, or if only Kueue's message is known."""
    short, queue = case.queue.short, case.queue.cluster_queue_name
    preempted = evictions(case)
    waits = f"waits for quota{' again' if preempted else ''}"
    if short:
        cohort = case.queue.cohort.name if case.queue.cohort.lends else ""
        lacking = joined([_lacking(each, cohort) for each in short])
        lent = f", including what cohort {cohort} can lend" if cohort else ""
        sentence = f"{case.name} {waits}: it asks for {lacking} in ClusterQueue {queue}{lent}."
    elif case.queue.pending_reason is None or case.queue.demands:
        return None
    else:
        sentence = f"{case.name} {waits} in LocalQueue {case.appwrapper.queue_name}."
    lends, whole = case.queue.cohort.name, case.queue.cohort.is_whole
    unseen = () if whole else (f"Cohort {lends} may have more to lend than can be seen here.",)
    return SituationAnswer(
        situation=Situation.WAITS_FOR_QUOTA,
        sentence=sentence + _place(case),
        details=(*preempted, *kueue_messages(case), *unseen),
        next=(
            Next(
                "It starts when enough quota is free, in the order of priority and age. Kueue does"
                " not predict when."
            ),
        ),
        commands=queue_commands(case),
    )


def _lacking(demand: Demand, cohort: str) -> str:
    asked = amount_text(demand.asked, demand.resource)
    free = amount_text(demand.free, demand.resource)
    nominal = amount_text(demand.nominal, demand.resource)
    if demand.asked <= demand.free:
        return f"{asked} {demand.resource}, more than any one flavor has free"
    of = "" if cohort else f" of {nominal}"
    return f"{asked} {demand.resource}, and {free}{of} {'is' if free == '1' else 'are'} free"


def _place(case: Case) -> str:
    """Return a sentence after a blank, "" if the place is unknown."""
    position, pending = case.queue.position, case.queue.pending
    if position is None:
        return ""
    of = f" of {pending}" if pending and pending >= position else ""
    return f" It is {ordinal(position)}{of} in the queue."


def cannot_be_seen(case: Case) -> SituationAnswer | None:
    """Apply if Workloads could not be read: the AppWrapper's condition has Kueue's reason."""
    unread = case.seen.world.own_workloads
    if not isinstance(unread, Unread) or case.queue.short:
        return None
    message = case.reported(CONDITION_QUOTA_RESERVED).message
    failed = "you may not read Workloads" if unread.forbidden else f"reading failed: {unread.why}"
    why = f": {message.rstrip('.')}" if message else f". Its Workload has the reason, but {failed}"
    return SituationAnswer(
        situation=Situation.NOT_READABLE,
        sentence=f"{case.name} waits in LocalQueue {case.appwrapper.queue_name}{why}.",
        next=(Next("It starts when Kueue admits it."),),
    )


def waits_for_its_turn(case: Case) -> SituationAnswer:
    """Answer if quota is free: other workloads come first, or this one has just been queued."""
    pending, queue = case.queue.pending_reason, case.appwrapper.queue_name
    reason = f" (Kueue reports {pending.reason})" if pending and pending.reason else ""
    return SituationAnswer(
        situation=Situation.WAITS_FOR_TURN,
        sentence=f"{case.name} waits for its turn in LocalQueue {queue}{reason}.{_place(case)}",
        details=kueue_messages(case),
        next=(Next("It starts when Kueue admits it."),),
        commands=queue_commands(case),
    )

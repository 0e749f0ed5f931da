"""Answers for a suspended AppWrapper whose queue, Workload or Kueue does not work. Pure."""

from datetime import timedelta
from typing import Final

from cli.cluster.unread import Unread, objects
from cli.explaining.answers.case import Answer, Case
from cli.explaining.answers.kueues_words import evictions, kueue_says, kueues_words
from cli.explaining.moment import created_at
from cli.explaining.report import CommandHint, Next, Situation
from controller.phases.phase import Phase
from shared.api.conditions import condition
from shared.waits.kueue_settings import NAME, refuses, unmanaged_because
from shared.waits.queueing import Queue, cluster_queue, inactive_text, local_queue, stopped_text
from shared.waits.words import few
from shared.waits.workload import (
    NEW_WORKLOAD,
    gave_up,
    is_active,
    is_finished,
)

# Kueue usually creates a Workload within a second.
_KUEUES_PATIENCE: Final = timedelta(seconds=15)


def is_waiting(case: Case) -> bool:
    """True if the AppWrapper is suspended and not being deleted."""
    return case.phase is Phase.SUSPENDED and not case.moment.appwrapper.deletion_requested


def suspended_by_its_user(case: Case) -> Answer | None:
    """Apply without queue and Workload: only a user can start the AppWrapper."""
    appwrapper = case.moment.appwrapper
    if appwrapper.queue_name or not appwrapper.suspend or case.queue.workload:
        return None
    patch = '{"spec":{"suspend":false}}'
    return Answer(
        situation=Situation.SUSPENDED,
        sentence=f"{case.name} is suspended (spec.suspend: true) and in no queue: it starts when"
        " you set spec.suspend to false.",
        next=(Next("Nothing happens until then."),),
        commands=(
            case.kubectl(f"patch appwrapper {case.name} --type merge --patch '{patch}'", "start"),
        ),
    )


def about_to_start(case: Case) -> Answer | None:
    """Apply if the AppWrapper is no longer suspended: the controller creates its components."""
    appwrapper = case.moment.appwrapper
    if appwrapper.suspend or (appwrapper.queue_name and case.queue.workload is None):
        return None
    if appwrapper.queue_name and not any(each.get("podSetInfos") for each in appwrapper.components):
        return None
    return Answer(
        situation=Situation.STARTING,
        sentence=f"{case.name} is about to start: its components are created next.",
    )


def kueue_is_missing(case: Case) -> Answer | None:
    """Apply if the API server does not serve Kueue's Workloads."""
    if case.seen.world.has_kueue:
        return None
    return Answer(
        situation=Situation.NO_KUEUE,
        sentence=f"{case.name} waits for Kueue, which is not installed in this cluster.",
        next=(Next("Nothing happens until an admin installs Kueue, or spec.suspend is false."),),
    )


def no_workload(case: Case) -> Answer | None:
    """Apply without a Workload: Kueue does not manage the AppWrapper, or has not processed it."""
    if case.queue.workload is not None or isinstance(case.seen.world.own_workloads, Unread):
        return None
    why = unmanaged_because(case.seen.world.kueue_settings, case.seen.world.namespace)
    age = case.now - created_at(case.moment.appwrapper)
    if why:
        return Answer(
            situation=Situation.NOT_MANAGED,
            sentence=f"{case.name} is not managed by Kueue, so nothing starts it: {why}.",
            next=(Next("Nothing happens until an admin changes that."),),
            commands=_look_at_kueue(case),
        )
    if age < _KUEUES_PATIENCE:
        return Answer(
            situation=Situation.NO_WORKLOAD,
            sentence=f"{case.name} was created {case.span(age)} ago, and Kueue is about to make a"
            " Workload of it.",
        )
    return Answer(
        situation=Situation.NOT_MANAGED,
        sentence=f"{case.name} has no Workload {case.span(age)} after its creation: Kueue does not"
        " seem to manage it.",
        details=(
            *_no_such_queue(case),
            f"Namespace {case.namespace} may lack a label that Kueue's"
            " managedJobsNamespaceSelector requires.",
            "Kueue's integrations.frameworks may lack workload.codeflare.dev/appwrapper, or Kueue"
            " may not run.",
        ),
        next=(Next("Nothing happens until an admin changes that."),),
        commands=_look_at_kueue(case),
    )


def _no_such_queue(case: Case) -> tuple[str, ...]:
    queue = case.moment.appwrapper.queue_name
    if case.queue.local_queue is not None or not queue:
        return ()
    return (f"LocalQueue {queue}, which it names, does not exist in namespace {case.namespace}.",)


def _look_at_kueue(case: Case) -> tuple[CommandHint, ...]:
    return (
        CommandHint(
            f"kubectl get namespace {case.namespace} --show-labels", "the labels of the namespace"
        ),
        CommandHint(
            f"kubectl get configmap {NAME} -n {_kueue_namespace(case)} -o yaml",
            "Kueue's configuration (for admins)",
        ),
    )


def _kueue_namespace(case: Case) -> str:
    found = case.seen.world.kueue_settings
    if isinstance(found, dict):
        return str(found["metadata"]["namespace"])
    return case.seen.world.settings.kueue_namespaces[0]


def deactivated(case: Case) -> Answer | None:
    """Apply if spec.active of the Workload is false, or a limit of Kueue deactivated it."""
    workload = case.queue.workload
    if workload is None:
        return None
    name = workload["metadata"]["name"]
    if gave_up(workload):
        return Answer(
            situation=Situation.DEACTIVATED,
            sentence=f"{case.name} is out of the queue for good: Kueue deactivated its Workload.",
            details=evictions(case),
            next=(Next(f"{NEW_WORKLOAD}."),),
            # Kueue makes the next one under the same name: kubectl could wait for its end.
            commands=(
                case.kubectl(f"delete workload {name} --wait=false", "queue it again (for admins)"),
            ),
        )
    if is_active(workload):
        return None
    patch = '{"spec":{"active":true}}'
    return Answer(
        situation=Situation.DEACTIVATED,
        sentence=f"{case.name} was taken out of the queue: spec.active of its Workload is false.",
        details=evictions(case),
        next=(Next("Kueue does not admit it until its Workload's spec.active is true."),),
        commands=(
            case.kubectl(f"patch workload {name} --type merge --patch '{patch}'", "queue it again"),
        ),
    )


def finished(case: Case) -> Answer | None:
    """Apply if Kueue regards the Workload as finished: Kueue never starts it."""
    workload = case.queue.workload
    if workload is None or not is_finished(workload):
        return None
    conditions = (workload.get("status") or {}).get("conditions") or []
    found = condition(conditions, "Finished") or {}
    return Answer(
        situation=Situation.DEACTIVATED,
        sentence=f"{case.name} never starts: Kueue regards its Workload as finished"
        f" ({found.get('reason')}).",
        details=kueue_says(found.get("reason"), found.get("message")),
        next=(Next("Delete the AppWrapper and create it again."),),
        commands=(case.kubectl(f"delete appwrapper {case.name}", "then create it again"),),
    )


def queue_is_missing(case: Case) -> Answer | None:
    """Apply if the LocalQueue or its ClusterQueue does not exist."""
    queue = case.moment.appwrapper.queue_name
    if queue and case.queue.local_queue is None:
        names = [each["metadata"]["name"] for each in objects(case.seen.world.local_queues)]
        has = f"Namespace {case.namespace} has {few(names)}." if names else ""
        return Answer(
            situation=Situation.NO_QUEUE,
            sentence=f"{case.name} waits for LocalQueue {queue}, which does not exist in namespace"
            f" {case.namespace}.",
            details=(*filter(None, [has]), *kueues_words(case)),
            next=(
                Next(
                    "It is queued when the LocalQueue exists, or when the label"
                    " kueue.x-k8s.io/queue-name names another one."
                ),
            ),
            commands=(
                case.kubectl("get localqueues", "the queues that exist"),
                case.kubectl(
                    f"label appwrapper {case.name} --overwrite kueue.x-k8s.io/queue-name=QUEUE",
                    "move it to another queue",
                ),
            ),
        )
    if case.queue.cluster_queue is None and (name := case.queue.cluster_queue_name):
        return Answer(
            situation=Situation.QUEUE_INACTIVE,
            sentence=f"{case.name} waits for ClusterQueue {name} (of LocalQueue {queue}), which"
            " does not exist.",
            details=kueues_words(case),
            next=(Next("Nothing happens until an admin creates the ClusterQueue."),),
        )
    return None


def queue_is_stopped(case: Case) -> Answer | None:
    """Apply if an admin stopped the LocalQueue or the ClusterQueue (stopPolicy)."""
    for queue in _queues(case):
        if why := stopped_text(queue):
            return Answer(
                situation=Situation.QUEUE_STOPPED,
                sentence=f"{case.name} waits because {why}.",
                details=kueues_words(case),
                next=(
                    Next(
                        f"It is queued again when an admin sets stopPolicy of {queue.name} to None."
                    ),
                ),
                commands=(_show(case, queue),),
            )
    return None


def queue_is_inactive(case: Case) -> Answer | None:
    """Apply if Kueue reports that the queue cannot admit workloads."""
    for queue in reversed(_queues(case)):
        if why := inactive_text(queue):
            return Answer(
                situation=Situation.QUEUE_INACTIVE,
                sentence=f"{case.name} waits because {why}.",
                details=kueues_words(case),
                next=(Next(f"Nothing happens until an admin repairs {queue.kind} {queue.name}."),),
                commands=(_show(case, queue),),
            )
    return None


def namespace_is_refused(case: Case) -> Answer | None:
    """Apply if the ClusterQueue accepts no workloads of this namespace."""
    words, queue = case.queue.words, case.queue.cluster_queue
    said = words is not None and "namespace doesn't match" in words.message
    if not (said or refuses(queue, case.seen.world.namespace)):
        return None
    name = case.queue.cluster_queue_name
    return Answer(
        situation=Situation.NAMESPACE_REFUSED,
        sentence=f"{case.name} waits because ClusterQueue {name} accepts no workloads of namespace"
        f" {case.namespace} (its namespaceSelector).",
        details=kueues_words(case),
        next=(Next("Nothing happens until an admin changes the selector or the labels."),),
        commands=_look_at_kueue(case)[:1],
    )


def _show(case: Case, queue: Queue) -> CommandHint:
    if queue.kind == "LocalQueue":
        return case.kubectl(f"describe localqueue {queue.name}", "the queue's state")
    return CommandHint(f"kubectl describe clusterqueue {queue.name}", "the queue's state")


def _queues(case: Case) -> tuple[Queue, ...]:
    """Return the LocalQueue and the ClusterQueue, without missing and unreadable ones."""
    local, cluster = case.queue.local_queue, case.queue.cluster_queue
    return (
        *((local_queue(local),) if isinstance(local, dict) else ()),
        *((cluster_queue(cluster),) if isinstance(cluster, dict) else ()),
    )

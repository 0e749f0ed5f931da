"""Answers for a suspended AppWrapper whose queue, Workload or Kueue does not work. Pure."""

from datetime import timedelta
from typing import Final

from cli.cluster.unread import Unread
from cli.durations import span
from cli.explaining.answers.kueue_messages import evictions, kueue_messages, kueue_warning
from cli.explaining.case import Case, SituationAnswer
from cli.explaining.report import CommandHint, Next, Situation
from cli.holds import held_text, release_command
from controller.phases.phase import Phase
from controller.reports.reason import Reason
from shared.api.names import CONDITION_QUOTA_RESERVED
from shared.waits.kueue_settings import NAME, unmanaged_because
from shared.waits.queueing import pending_text
from shared.waits.workload import (
    gave_up,
    has_quota,
    is_active,
    is_finished,
    is_held,
    unready_checks,
)

# Kueue usually creates a Workload within a second.
_KUEUES_PATIENCE: Final = timedelta(seconds=15)


def is_waiting(case: Case) -> bool:
    """True if the AppWrapper is suspended and not being deleted."""
    return case.phase is Phase.SUSPENDED and not case.appwrapper.deletion_requested


def held_by_its_user(case: Case) -> SituationAnswer | None:
    """Apply if a user holds the AppWrapper, or if the controller has not ended the hold yet."""
    if case.appwrapper.held:
        return SituationAnswer(
            situation=Situation.HELD,
            sentence=f"{case.name} is {held_text(case.appwrapper)}: it is out of the queue, and"
            " nothing starts until a user releases it.",
            next=(Next("Nothing happens until then."),),
            commands=(CommandHint(release_command(case.appwrapper), "let it run again"),),
        )
    if case.reported(CONDITION_QUOTA_RESERVED).reason != Reason.HELD:
        return None
    return SituationAnswer(
        situation=Situation.HELD,
        sentence=f"{case.name} was held and is released: the controller is about to queue it"
        " again.",
    )


def suspended_by_its_user(case: Case) -> SituationAnswer | None:
    """Apply without queue and Workload: only a user can start the AppWrapper."""
    appwrapper = case.appwrapper
    if appwrapper.queue_name or not appwrapper.suspend or case.queue.workload:
        return None
    patch = '{"spec":{"suspend":false}}'
    return SituationAnswer(
        situation=Situation.SUSPENDED,
        sentence=f"{case.name} is suspended (spec.suspend: true) and in no queue: it starts when"
        " you set spec.suspend to false.",
        next=(Next("Nothing happens until then."),),
        commands=(
            case.kubectl(f"patch appwrapper {case.name} --type merge --patch '{patch}'", "start"),
        ),
    )


def about_to_start(case: Case) -> SituationAnswer | None:
    """Apply if the AppWrapper is no longer suspended: the controller creates its components."""
    appwrapper = case.appwrapper
    if appwrapper.suspend or (appwrapper.queue_name and case.queue.workload is None):
        return None
    if appwrapper.queue_name and not any(each.get("podSetInfos") for each in appwrapper.components):
        return None
    return SituationAnswer(
        situation=Situation.STARTING,
        sentence=f"{case.name} is about to start: its components are created next.",
    )


def kueue_is_missing(case: Case) -> SituationAnswer | None:
    """Apply if the API server does not serve Kueue's Workloads."""
    if case.seen.world.has_kueue:
        return None
    return SituationAnswer(
        situation=Situation.NO_KUEUE,
        sentence=f"{case.name} waits for Kueue, which is not installed in this cluster.",
        next=(Next("Nothing happens until an admin installs Kueue, or spec.suspend is false."),),
    )


def queue_has_trouble(case: Case) -> SituationAnswer | None:
    """Apply if the LocalQueue or its ClusterQueue is missing, stopped or inactive."""
    trouble, name = case.queue.trouble, case.appwrapper.queue_name
    if trouble is None:
        return None
    missing = trouble.missing[0] if trouble.missing else ""
    shown = case.kubectl(f"describe localqueue {name}", "the queue's state")
    if missing == "LocalQueue":
        situation = Situation.NO_QUEUE
        shown = case.kubectl("get localqueues", "the queues that exist")
    else:
        stopped = trouble.by_admin and not missing
        situation = Situation.QUEUE_STOPPED if stopped else Situation.QUEUE_INACTIVE
    return SituationAnswer(
        situation=situation,
        sentence=f"{case.name} waits: {trouble.text}.",
        details=kueue_messages(case),
        next=(Next("Nothing happens until that changes."),),
        commands=(shown, *_describe_cluster_queue(case)),
    )


def _describe_cluster_queue(case: Case) -> tuple[CommandHint, ...]:
    name = case.queue.cluster_queue_name
    if not isinstance(case.queue.cluster_queue, dict):
        return ()
    return (CommandHint(f"kubectl describe clusterqueue {name}", "the ClusterQueue's state"),)


def no_workload(case: Case) -> SituationAnswer | None:
    """Apply without a Workload: Kueue does not manage the AppWrapper, or has not processed it."""
    if case.queue.workload is not None or isinstance(case.seen.world.own_workloads, Unread):
        return None
    warning = kueue_warning(case)
    why = unmanaged_because(case.seen.world.kueue_settings, case.seen.world.namespace)
    reported = case.reported(CONDITION_QUOTA_RESERVED)
    age = case.now - case.created
    if warning:
        sentence = f"{case.name} has no Workload, and Kueue reports ({warning.rstrip('.')})."
    elif why:
        sentence = f"{case.name} is not managed by Kueue, so nothing starts it: {why}."
    elif reported.reason == Reason.NO_WORKLOAD:
        sentence = f"{case.name} waits: {reported.message}."
    elif age < _KUEUES_PATIENCE:
        return SituationAnswer(
            situation=Situation.NO_WORKLOAD,
            sentence=f"{case.name} was created {span(age)} ago, and Kueue is about to make a"
            " Workload of it.",
        )
    else:
        sentence = (
            f"{case.name} has no Workload {span(age)} after its creation: Kueue does not seem to"
            " manage it."
        )
    return SituationAnswer(
        situation=Situation.NOT_MANAGED,
        sentence=sentence,
        details=(f"{case.queue.trouble.text}.",) if case.queue.trouble else (),
        next=(Next("Nothing happens until an admin changes that."),),
        commands=(
            CommandHint(
                f"kubectl get namespace {case.namespace} --show-labels",
                "the labels of the namespace",
            ),
            CommandHint(
                f"kubectl get configmap {NAME} -n {_kueue_namespace(case)} -o yaml",
                "Kueue's configuration (for admins)",
            ),
        ),
    )


def _kueue_namespace(case: Case) -> str:
    found = case.seen.world.kueue_settings
    if isinstance(found, dict):
        return str(found["metadata"]["namespace"])
    return case.seen.world.settings.kueue_namespaces[0]


def workload_is_stuck(case: Case) -> SituationAnswer | None:
    """Apply if the Workload is finished or deactivated, or waits for admission checks."""
    workload = case.queue.workload
    if workload is None:
        return None
    name = workload["metadata"]["name"]
    situation, then = Situation.DEACTIVATED, "Nothing happens until then."
    commands: tuple[CommandHint, ...] = ()
    if is_finished(workload):
        commands = (case.command("cancel", "then create it again"),)
    elif gave_up(workload):
        # Kueue makes the next one under the same name: kubectl could wait for its end.
        command = f"delete workload {name} --wait=false"
        commands = (case.kubectl(command, "queue it again (for admins)"),)
    elif not (is_active(workload) or is_held(workload)):
        patch = '{"spec":{"active":true}}'
        command = f"patch workload {name} --type merge --patch '{patch}'"
        commands = (case.kubectl(command, "queue it again (for admins)"),)
    elif has_quota(workload) and unready_checks(workload):
        situation = Situation.ADMISSION_CHECKS
        then = "It starts when all admission checks are Ready."
    else:
        return None
    return SituationAnswer(
        situation=situation,
        sentence=f"{case.name} waits: {pending_text(workload)}.",
        details=evictions(case),
        next=(Next(then),),
        commands=commands,
    )


def namespace_is_refused(case: Case) -> SituationAnswer | None:
    """Apply if the ClusterQueue accepts no workloads of this namespace."""
    if "namespace doesn't match" not in case.queue.pending_message:
        return None
    name = case.queue.cluster_queue_name
    return SituationAnswer(
        situation=Situation.NAMESPACE_REFUSED,
        sentence=f"{case.name} waits because ClusterQueue {name} accepts no workloads of namespace"
        f" {case.namespace} (its namespaceSelector).",
        details=kueue_messages(case),
        next=(Next("Nothing happens until an admin changes the selector or the labels."),),
        commands=_describe_cluster_queue(case),
    )

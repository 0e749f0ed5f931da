"""The report as a whole: what programs read, and that nothing odd ends the command."""

import copy
from dataclasses import replace
from decimal import Decimal

import pytest

from cli.cluster.unread import Unread, objects
from cli.explaining.appwrapper_objects import AppWrapperObjects
from cli.explaining.compose import explain
from cli.explaining.report import (
    AttemptReport,
    ExplainReport,
    Happened,
    Next,
    Situation,
)
from cli.reports import as_json
from controller.phases.phase import Phase
from tests.support.builders.annotations import prefixed
from tests.support.builders.explained import deployed, ending, waiting
from tests.support.builders.explained.objects import NOW, ago, cluster_queue, workload
from tests.support.explain_captures import SITUATIONS


def report(seen: AppWrapperObjects) -> ExplainReport:
    return explain(seen)


def test_who_holds_what_is_short_by_priority() -> None:
    queue = report(waiting.waits_for_quota()).queue
    assert queue is not None
    assert [(each.name, each.priority, each.amounts) for each in queue.holders] == [
        ("llm-pretrain", 10, {"nvidia.com/gpu": Decimal(32)}),
        ("sweep", 5, {"nvidia.com/gpu": Decimal(16)}),
        ("notebook", 1, {"nvidia.com/gpu": Decimal(12)}),
    ]
    assert (queue.position, queue.pending, queue.holders_are_all) == (2, 3, True)


def test_holders_outside_the_cohort_are_not_reported() -> None:
    seen = waiting.waits_for_quota()
    others = copy.deepcopy(objects(seen.world.all_workloads))
    others[1]["status"]["admission"]["clusterQueue"] = "another"
    queue = report(replace(seen, world=replace(seen.world, all_workloads=others))).queue
    assert queue is not None
    assert [each.name for each in queue.holders] == ["sweep", "notebook"]


def test_who_may_not_list_all_workloads_sees_those_of_the_namespace() -> None:
    seen = waiting.waits_for_quota()
    hidden = waiting.not_readable().world.all_workloads
    queue = report(replace(seen, world=replace(seen.world, all_workloads=hidden))).queue
    assert queue is not None
    assert [each.name for each in queue.holders] == ["llm-pretrain", "sweep"]
    assert not queue.holders_are_all


def test_attempts_and_what_ended_each() -> None:
    attempts = report(ending.failed()).attempts
    assert [(each.number, each.reason) for each in attempts] == [
        (1, "FoundFailedPods"),
        (2, "FailedComponent"),
        (3, "InsufficientPodsReady"),
        (4, "FoundFailedPods"),
    ]
    assert attempts[1].message == "Job train: BackoffLimitExceeded"


def test_attempts_without_events_are_listed_without_a_cause() -> None:
    attempts = report(replace(ending.failed(), events=())).attempts
    assert attempts[:3] == tuple(AttemptReport(number=each) for each in (1, 2, 3))
    assert attempts[3].reason == "FoundFailedPods"


def test_recorded_root_causes_are_shown() -> None:
    seen = ending.retry_pause()
    seen.appwrapper["status"]["rootCause"] = {"attempt": 1, "message": "rank 3: CUDA error"}
    assert report(seen).attempts[0].root_cause == "rank 3: CUDA error"


def test_while_kueue_is_asked_for_other_nodes_the_pause_is_over() -> None:
    seen = ending.retry_pause()
    (unhealthy,) = (
        each for each in seen.appwrapper["status"]["conditions"] if each["type"] == "Unhealthy"
    )
    unhealthy |= {"reason": "NodesReassigned", "message": "its pods are assigned to node n1"}
    found = report(seen)
    assert found.situation == "RetryPause"
    assert found.answer == "train was reset, and waits for Kueue to assign other nodes."
    assert found.details[0] == "Its next attempt waits: its pods are assigned to node n1."
    assert [each.what for each in found.next] == [
        "Kueue suspends it. It keeps its place in the queue."
    ]


def test_events_of_an_earlier_appwrapper_of_that_name_are_left_out() -> None:
    seen = deployed.runs()
    old = copy.deepcopy(deployed.STARTED)
    old["involvedObject"]["uid"] = "another"
    assert all(
        "admitted" not in each.what for each in report(replace(seen, events=(old,))).timeline
    )


def test_the_timeline_counts_what_came_several_times() -> None:
    again = copy.deepcopy(deployed.STARTED) | {"count": 3}
    found = report(replace(deployed.runs(), events=(again,))).timeline
    assert [each.what for each in found if "admitted" in each.what] == [
        "admitted: its components are created (3 times)"
    ]
    assert all(isinstance(each, Happened) for each in found)


def test_json_has_whole_numbers_and_times() -> None:
    found = as_json(report(deployed.unhealthy()))
    assert found["seenAt"] == "2026-03-02T14:03:10Z"
    assert found["next"] == [
        {
            "what": "It is reset (retry 2 of 3): all of it is deleted, and 1 min 34 s after that"
            " the next attempt begins, with the same quota.",
            "at": "2026-03-02T14:03:50Z",
        }
    ]
    assert found["pods"]["pods"][1] == {
        "name": "train-1-x7k2p",
        "node": "gpu-2",
        "state": "Failed",
        "restarts": 0,
        "trouble": "exit code 139",
    }


@pytest.mark.parametrize("phase", [*(each.value for each in Phase), "Unheard"])
def test_every_phase_with_every_other_circumstance_has_an_answer(phase: str) -> None:
    """Statuses may be written by others, and reads are not of one moment."""
    for build in SITUATIONS.values():
        seen = build()
        seen.appwrapper["status"]["phase"] = phase
        assert report(seen).answer.startswith("train ")
        seen.appwrapper["metadata"]["deletionTimestamp"] = ago(5)
        assert report(seen).answer.startswith("train ")
        del seen.appwrapper["status"]
        assert report(seen).seen_at == NOW


@pytest.mark.parametrize("name", ["larger-than-any-node", "never-fits", "deactivated"])
def test_holders_of_quota_are_shown_to_waiting_users(name: str) -> None:
    seen = SITUATIONS[name]()
    holder = waiting.waits_for_quota().world.own_workloads
    everybody = (*objects(seen.world.own_workloads), *objects(holder)[1:])
    queue = report(replace(seen, world=replace(seen.world, all_workloads=everybody))).queue
    assert queue is not None
    assert queue.amounts
    assert queue.holders == ()


def test_an_admitted_appwrapper_lacks_nothing() -> None:
    seen = waiting.admission_check()
    full = cluster_queue({"cpu": "640", "nvidia.com/gpu": "64"})
    found = report(replace(seen, world=replace(seen.world, cluster_queues=(full,))))
    assert found.situation is Situation.ADMISSION_CHECKS
    assert found.queue is not None
    assert [(each.resource, each.free, each.is_short) for each in found.queue.amounts] == [
        ("cpu", Decimal(0), False),
        ("nvidia.com/gpu", Decimal(0), False),
    ]
    assert found.queue.holders == ()


FLAVORS = "flavor default-flavor doesn't match node affinity"


def test_that_no_flavor_fits_is_seen_without_a_reason_of_its_own() -> None:
    """Kueue 0.19 gives the reason only with the feature gate UnadmittedWorkloadsObservability."""
    says = waiting.pending("Pending", f"couldn't assign flavors to pod set train-0: {FLAVORS}")
    seen = waiting.no_flavor()
    mine = workload(says)
    found = report(replace(seen, world=replace(seen.world, own_workloads=(mine,))))
    assert found.situation is Situation.NO_FLAVOR


def reporting(seen: AppWrapperObjects, kind: str, **changes: str) -> AppWrapperObjects:
    """Returns the same with a changed condition."""
    item = copy.deepcopy(seen.appwrapper)
    [found] = [each for each in item["status"]["conditions"] if each["type"] == kind]
    found |= changes
    return replace(seen, appwrapper=item)


def test_the_condition_of_a_failed_appwrapper_is_the_answer() -> None:
    message = "no retry: exit code 42 of train-1 is in terminalExitCodes; 1 failed pod"
    found = report(reporting(ending.failed(), "Unhealthy", message=message))
    assert found.answer == f"train failed at 14:02:30 UTC, 40 s ago: {message}."
    assert found.details == ()


def test_the_condition_has_the_reason_for_a_user_who_may_not_read_workloads() -> None:
    message = "Kueue reports: insufficient unused quota for cpu."
    found = report(reporting(waiting.not_readable(), "QuotaReserved", message=message))
    assert found.situation is Situation.NOT_READABLE
    assert found.answer == f"train waits in LocalQueue default-queue: {message}"


def test_the_condition_has_the_reason_why_there_is_no_workload() -> None:
    changed = {"reason": "NoWorkload", "message": "Kueue makes no Workload for it"}
    found = report(reporting(waiting.no_workload(), "QuotaReserved", **changed))
    assert found.situation is Situation.NOT_MANAGED
    assert found.answer == "train waits: Kueue makes no Workload for it."


def test_force_that_was_used_is_announced_no_more() -> None:
    seen = ending.terminating()
    item = copy.deepcopy(seen.appwrapper)
    item["metadata"]["annotations"] = prefixed(forcefulDeletionGracePeriodDuration="1s")
    assert report(replace(seen, appwrapper=item)).next == (
        Next("Nothing happens until the cause is removed."),
    )


def test_a_first_crash_is_no_trouble_yet() -> None:
    seen = deployed.crashing()
    pods = copy.deepcopy(objects(seen.pods))
    pods[1]["status"]["containerStatuses"][0]["restartCount"] = 0
    found = report(replace(seen, pods=pods))
    assert found.situation is Situation.CRASHING
    assert found.next == (
        Next(
            "The kubelet restarts the container. If it soon crashes again, the grace periods begin."
        ),
    )


def test_the_last_of_similar_events_is_shown() -> None:
    seen = deployed.pods_missing()
    [event] = objects(seen.component_events)
    events = []
    for second, name in ((7, "train-1-aaaaa"), (9, "train-1-bbbbb"), (8, "train-1-ccccc")):
        each = copy.deepcopy(event)
        each["lastTimestamp"] = f"2026-03-02T14:02:0{second}Z"
        each["message"] = f'Error creating: pods "{name}" is forbidden'
        events.append(each)
    assert report(replace(seen, component_events=tuple(events))).details == (
        'Job train (FailedCreate): Error creating: pods "train-1-bbbbb" is forbidden',
    )


def test_a_cleanup_job_that_kueue_suspended_comes_with_the_command_that_ends_the_wait() -> None:
    seen = ending.terminating()
    item = copy.deepcopy(seen.appwrapper)
    [deleting] = [
        each for each in item["status"]["conditions"] if each["type"] == "DeletingResources"
    ]
    deleting["reason"] = "DeletionBlocked"
    suspended = "Job train-redis-cleanup (suspended by Kueue: see appwrapper explain)"
    deleting["message"] = f"Job train waits for {suspended}"
    [component] = copy.deepcopy(seen.components)
    assert isinstance(component, dict)
    component["metadata"]["finalizers"] = ["ray.io/gcs-ft-redis-cleanup-finalizer"]
    found = report(replace(seen, appwrapper=item, components=(component,)))
    assert (
        found.answer
        == f"train is being deleted, and its deletion is blocked: {deleting['message']}."
    )
    assert found.details == (
        "Job train has the finalizer ray.io/gcs-ft-redis-cleanup-finalizer",
        "The controller never removes another program's finalizer: the program that set"
        " ray.io/gcs-ft-redis-cleanup-finalizer must do so, or an admin.",
        "Kueue suspends the Jobs of an AppWrapper that is being deleted, so Job"
        " train-redis-cleanup cannot end. No forced deletion ends this wait. KubeRay 1.6.2 and"
        " later remove their finalizer 5 minutes after the deletion; the data in Redis remain"
        " then.",
        "When all of it is gone, the AppWrapper itself is removed.",
    )
    assert found.next == (Next("Nothing happens until the cause is removed."),)
    assert [each.command for each in found.commands] == [
        "kubectl patch raycluster train --type=json"
        """ --patch='[{"op": "remove", "path": "/metadata/finalizers"}]' -n team1""",
        "kubectl describe appwrapper train -n team1",
    ]


REMEDIES = (
    "Remove these settings from the pod template, delete the AppWrapper and create it again.",
    "If the pods need them, ask an admin for another level of the namespace"
    " (docs/admins/pod-security.md).",
)


def test_a_refusal_by_pod_security_is_named_with_what_to_do() -> None:
    found = report(deployed.refused_by_pod_security())
    assert found.situation is Situation.PODS_MISSING
    assert found.answer == (
        "train has its quota, but Pod Security in namespace team1 refuses its pods: violates"
        ' PodSecurity "baseline:latest": privileged (container "main" must not set'
        " securityContext.privileged=true)."
    )
    assert found.details == REMEDIES
    assert found.commands[0].command == "kubectl get namespace team1 --show-labels"


def test_an_old_refusal_is_not_named_once_all_pods_exist() -> None:
    seen = replace(
        deployed.unschedulable(),
        component_events=(objects(deployed.refused_by_pod_security().component_events)),
    )
    assert report(seen).situation is Situation.UNSCHEDULABLE


def test_an_appwrapper_that_failed_by_pod_security_shows_what_to_do() -> None:
    found = report(ending.pod_refused_by_policy())
    assert found.situation is Situation.FAILED
    assert found.details == (
        "The API server refuses it for good, so no retry can help.",
        *REMEDIES,
    )


@pytest.mark.parametrize(
    ("reason", "annotations", "details"),
    [
        (
            "MissingComponent",
            {},
            (
                "The controller never recreates a component that another client deleted: delete the"
                " AppWrapper and create it again.",
            ),
        ),
        ("CreateFailed", {}, ("The API server refuses it for good, so no retry can help.",)),
        ("CreateFailed", {"retryLimit": "0"}, ("It may not be retried (retryLimit 0).",)),
        ("FoundFailedPods", {}, ()),
    ],
)
def test_a_failed_appwrapper_shows_why_no_retry_follows_unless_its_message_does(
    reason: str, annotations: dict[str, str], details: tuple[str, ...]
) -> None:
    seen = reporting(ending.pod_refused_by_policy(), "Unhealthy", message="")
    (unhealthy,) = (
        each for each in seen.appwrapper["status"]["conditions"] if each["type"] == "Unhealthy"
    )
    unhealthy["reason"] = reason
    seen.appwrapper["metadata"].setdefault("annotations", {}).update(prefixed(**annotations))
    assert report(seen).details == details


@pytest.mark.parametrize(
    ("unread", "why"),
    [
        (Unread("workloads", "no right", forbidden=True), "you may not read Workloads"),
        (Unread("workloads", "etcd has no leader"), "reading failed: etcd has no leader"),
    ],
)
def test_only_a_forbidden_read_is_a_lack_of_rights(unread: Unread, why: str) -> None:
    seen = reporting(waiting.not_readable(), "QuotaReserved", message="")
    seen = replace(seen, world=replace(seen.world, own_workloads=unread))
    assert report(seen).answer == (
        f"train waits in LocalQueue default-queue. Its Workload has the reason, but {why}."
    )

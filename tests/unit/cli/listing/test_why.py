"""WHY is the shortest true reason, in the controller's and Kueue's own texts."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from cli.cluster.unread import objects
from cli.commands.list import STATES
from cli.explaining.appwrapper_objects import AppWrapperObjects
from cli.listing.outline import appwrapper_outline, by_owner, workload_outlines
from cli.listing.rows import ListContext, ListedAppWrapper, listed
from controller.phases.phase import Phase
from controller.reports.pods_ready import attempt_announced, attempt_follows
from shared.api.objects import JsonObject
from tests.support.builders.explained import deployed, ending, waiting
from tests.support.builders.explained.objects import NOW, appwrapper, condition, held

NOTHING = ListContext()
GONE = "its components are being deleted"
FAILED_POD = "1 failed pod: train-1-x7k2p on gpu-2 (exit code 139)"


def row_of(seen: AppWrapperObjects) -> ListedAppWrapper:
    workloads = by_owner(workload_outlines(objects(seen.world.own_workloads)))
    context = replace(NOTHING, workloads=workloads)
    return listed(appwrapper_outline(seen.appwrapper), context, NOW)


def why_of(item: JsonObject) -> str:
    return listed(appwrapper_outline(item), NOTHING, NOW).why


@pytest.mark.parametrize(
    ("situation", "status", "why"),
    [
        (
            waiting.waits_for_quota,
            "Suspended",
            "insufficient unused quota for nvidia.com/gpu in flavor default-flavor, 12 more needed",
        ),
        (waiting.no_local_queue, "Suspended", "LocalQueue defualt-queue doesn't exist"),
        (
            waiting.deactivated,
            "Suspended",
            "its Workload appwrapper-train-4f2d1 is out of the queue, because its spec.active is"
            " false. Kueue queues it again once that is true",
        ),
        (
            waiting.held_by_user,
            "Suspended",
            "held by alice",
        ),
        (waiting.no_workload, "Suspended", "waits for Kueue"),
        (waiting.suspended_by_user, "Suspended", "suspended by its user (spec.suspend: true)"),
        (waiting.admitted, "Suspended", ""),
        (deployed.creating, "Resuming", "its components are being created"),
        (
            deployed.cannot_create,
            "Resuming",
            'Job train: jobs.batch "train" is forbidden: exceeded quota: jobs, used: jobs=4',
        ),
        (
            deployed.namespace_ends,
            "Running",
            "its namespace is being deleted, and everything in it",
        ),
        (deployed.starting, "Running", "its pods start"),
        (deployed.runs, "Running", ""),
        (deployed.unhealthy, "Running", FAILED_POD),
        (ending.resetting, "Resetting", GONE),
        (ending.reset_blocked, "Resetting", "Job train has the finalizer audit.example.com/keep"),
        (ending.suspending, "Suspending", GONE),
        (
            ending.pod_on_a_dead_node,
            "Suspending",
            "Pod train-0-x7k2p on node gpu-1, which is unreachable",
        ),
        (ending.terminating, "Terminating", GONE),
        (ending.failed, "Failed", FAILED_POD),
        (ending.succeeded, "Succeeded", ""),
        (ending.not_ours, "Suspended", "managed by kueue.x-k8s.io/multikueue"),
    ],
)
def test_it_is_the_reason_of_the_phase(
    situation: Callable[[], AppWrapperObjects], status: str, why: str
) -> None:
    row = row_of(situation())
    assert (row.status, row.why) == (status, why)


def quota(message: str) -> JsonObject:
    return condition("QuotaReserved", "False", "Suspended", message)


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (
            "Its pods were not ready in time. Kueue reports: insufficient unused quota for cpu",
            "insufficient unused quota for cpu",
        ),
        (
            "LocalQueue batch does not exist in namespace team1",
            "LocalQueue batch does not exist in namespace team1",
        ),
        (
            "Kueue reports: couldn't assign flavors to pod set a: no quota; couldn't assign flavors"
            " to pod set b: no quota",
            "couldn't assign flavors to pod set a: no quota; couldn't assign flavors to pod set b:"
            " no quota",
        ),
    ],
)
def test_kueues_reason_comes_without_what_precedes_it(message: str, why: str) -> None:
    assert why_of(appwrapper("Suspended", quota(message))) == why


def resetting(message: str, *more: JsonObject) -> JsonObject:
    text = condition("PodsReady", "False", "Resetting", message)
    return appwrapper("Resetting", text, *more, attempt=1, retries=1)


def test_a_coming_attempt_has_its_time() -> None:
    begins = NOW + timedelta(seconds=65)
    pause = timedelta(minutes=1)
    message = attempt_follows(1, 3, pause, begins).text()
    assert attempt_announced(message) == ("1 of 3", begins)
    assert why_of(resetting(message)) == "attempt 2 begins in 1 min 5 s; 1 of 3 retries spent"
    late = attempt_follows(1, 1, pause, NOW).text()
    assert why_of(resetting(late)) == "attempt 2 begins now; 1 of 1 retries spent"


def test_before_the_time_is_known_the_controllers_text_remains() -> None:
    message = attempt_follows(1, 3, timedelta(minutes=1)).text()
    assert attempt_announced(message) is None
    assert why_of(resetting(message)) == message
    assert why_of(resetting("")) == "another attempt follows"


def test_missing_pods_are_counted_in_the_controllers_text() -> None:
    *others, _ = held()
    missing = condition("PodsReady", "False", "InsufficientPodsReady", "1 of 2 pods run")
    assert why_of(appwrapper("Running", *others, missing, attempt=1)) == "1 of 2 pods run"


def test_a_failure_shows_the_first_line_of_its_root_cause() -> None:
    failed = appwrapper("Failed", condition("Unhealthy", "True", "FoundFailedPods", "1 failed pod"))
    failed["status"]["rootCause"] = {"summary": "train-3 r3: ValueError: bad shard\nmore"}
    assert why_of(failed) == "train-3 r3: ValueError: bad shard"
    failed["status"]["rootCause"] = {"message": "CUDA error\nat line 3"}
    assert why_of(failed) == "CUDA error"
    failed["status"]["rootCause"] = {}
    assert why_of(failed) == "1 failed pod"


def test_a_new_one_needs_no_reason_at_once() -> None:
    assert why_of(appwrapper("", created=19)) == ""
    assert why_of(appwrapper("", created=20)) == "no controller has seen it"


def test_a_reason_is_one_printable_line() -> None:
    failed = appwrapper(
        "Failed", condition("Unhealthy", "True", "FailedComponent", "a\n\tb\x1b[2J")
    )
    assert why_of(failed) == "a b?[2J"


def test_the_states_are_the_phases() -> None:
    """`--state` and WHY know them as texts: the import of all phases takes long."""
    assert sorted(STATES) == sorted(each for each in Phase if each)

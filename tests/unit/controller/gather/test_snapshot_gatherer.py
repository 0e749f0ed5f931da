"""What is taken for true, and what only the API server may say."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.facts.components import project_component
from controller.facts.deployed import DeployedObject
from controller.facts.pods import project_pod
from controller.phases import decide
from controller.phases.ask import Need
from controller.phases.health import NAMESPACE_ENDING
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    Component,
    ConditionText,
    FaultTolerance,
    PodCounts,
    PodSetInfos,
    Presence,
    Snapshot,
    TerminalExit,
    Timers,
)
from controller.phases.success_and_stragglers import has_succeeded
from shared.api.conditions import Terminal
from shared.api.objects import PODS
from shared.kube.client import Forbidden, Unreachable
from tests.support.builders.gathering import (
    COMPLETE,
    CREATED,
    KEY,
    NOT_FOUND,
    NOW,
    RUNNING_PODS,
    TEMPLATE,
    Gathering,
    appwrapper,
    facts,
    job,
    raw_pod,
)
from tests.support.cluster.resources import JOBS
from tests.support.fakes.fake_kube import listed


@pytest.mark.parametrize(
    "item", [None, appwrapper("Running", spec={"managedBy": "kueue.x-k8s.io/multikueue"})]
)
async def test_no_component_and_no_pod_exists(item: Any) -> None:
    bench = Gathering(item)
    assert await bench.gather(KEY, NOW) is None
    assert bench.methods() == []


async def test_a_waiting_appwrapper_costs_nothing() -> None:
    item = appwrapper(
        "Suspended",
        spec={"suspend": True},
        metadata={"labels": {"kueue.x-k8s.io/queue-name": "q"}, "finalizers": []},
    )
    bench = Gathering(item)
    assert (await bench.observe()).snapshot == Snapshot(
        phase=Phase.SUSPENDED, suspend=True, queued=True, arguments="train -n team1"
    )
    assert bench.methods() == []


async def test_everything_from_caches() -> None:
    bench = Gathering(
        appwrapper("Running", "QuotaReserved", resettingCount=1), known=facts(), pods=RUNNING_PODS
    )
    observation = await bench.observe()
    assert observation.snapshot == Snapshot(
        phase=Phase.RUNNING,
        arguments="train -n team1",
        finalizer=True,
        conditions=frozenset({"QuotaReserved"}),
        condition_texts={"QuotaReserved": ConditionText("")},
        components=(
            Component(
                name="train",
                kind="Job",
                presence=Presence.PRESENT,
                expected_pods=2,
                reports=True,
                uid="j1",
                attempt="1",
                resource=JOBS,
            ),
        ),
        pods=PodCounts(expected=2, running=2),
        labelled_pods=2,
        retries=1,
    )
    assert observation.deployed == (DeployedObject(JOBS, "train", "j1", False, attempt="1"),)
    assert observation.pods == (
        DeployedObject(PODS, "a", "a", False, attempt="1"),
        DeployedObject(PODS, "b", "b", False, attempt="1"),
    )
    assert bench.methods() == []


async def test_an_unwatched_component_is_read_again() -> None:
    bench = Gathering(appwrapper("Running"), known=facts(), pods=RUNNING_PODS)
    assert (await bench.observe()).look_again is None
    bench.watches.watched = False
    assert (await bench.observe()).look_again == timedelta(seconds=30)
    stripped = job()
    stripped["metadata"]["labels"].pop("workload.codeflare.dev/appwrapper")
    unlabelled = Gathering(appwrapper("Running"), pods=RUNNING_PODS, get=[stripped])
    assert (await unlabelled.observe()).look_again == timedelta(seconds=30)
    kept_for_its_logs = Gathering(appwrapper("Succeeded", "ResourcesDeployed"), known=facts())
    kept_for_its_logs.watches.watched = False
    assert (await kept_for_its_logs.observe()).look_again is None


@pytest.mark.parametrize(
    ("infos", "expected"),
    [
        ([{}], PodSetInfos.COMPLETE),
        ([{}, {}], PodSetInfos.MISMATCHED),
        (None, PodSetInfos.ABSENT),
    ],
)
async def test_pod_set_infos(infos: Any, expected: PodSetInfos) -> None:
    components = [{"template": TEMPLATE, "podSetInfos": infos}]
    bench = Gathering(appwrapper("Suspended", spec={"components": components}))
    assert (await bench.observe()).snapshot.pod_set_infos is expected


async def test_who_asks_for_live_pods_gets_them() -> None:
    failed = tuple(replace(pod, phase="Failed") for pod in RUNNING_PODS)
    live = listed(9, raw_pod("a", "Running"), raw_pod("b", "Running"))
    bench = Gathering(appwrapper("Running"), known=facts(), pods=failed, lists=[[live]])
    assert (await bench.observe()).snapshot.pods.failed == 2
    observation = await bench.gather(KEY, NOW, {Need.LIVE_PODS})
    assert observation is not None
    assert observation.snapshot.pods == PodCounts(expected=2, running=2)


async def test_by_when_a_component_should_have_gone() -> None:
    item = job()
    item["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:05Z"
    leaving = project_component("batch/Job", item)
    observation = await Gathering(appwrapper("Running"), known=leaving, pods=RUNNING_PODS).observe()
    (component,) = observation.snapshot.components
    assert (component.presence, component.deletion_deadline) == (
        Presence.DELETING,
        NOW + timedelta(seconds=5),
    )


async def test_absence_from_a_cache_is_no_proof() -> None:
    bench = Gathering(appwrapper("Running"), pods=RUNNING_PODS, get=[job()])
    assert await bench.presence() is Presence.PRESENT
    assert bench.watches.observed == [job()]


@pytest.mark.parametrize("answer", [NOT_FOUND, job(owner="u2")], ids=["404", "another's"])
async def test_a_live_read_is(answer: Any) -> None:
    namespace = {"metadata": {"name": "team1"}}
    bench = Gathering(appwrapper("Running"), pods=RUNNING_PODS, get=[answer, namespace])
    assert await bench.presence() is Presence.GONE


async def test_an_error_is_never_absence() -> None:
    bench = Gathering(appwrapper("Running"), get=[Unreachable("timed out")])
    with pytest.raises(Unreachable):
        await bench.observe()


async def test_a_component_created_by_this_process_is_missed_before_status_records_it() -> None:
    item = appwrapper("Resuming", created=False)
    assert await Gathering(item).presence() is Presence.PLANNED
    namespace = {"metadata": {"name": "team1"}}
    bench = Gathering(item, created=True, get=[NOT_FOUND, namespace])
    assert await bench.presence() is Presence.GONE


@pytest.mark.parametrize(
    ("attempt", "expected"),
    [("1", Presence.PRESENT), ("", Presence.PRESENT), ("2", Presence.PLANNED)],
    ids=["of this attempt", "made by the Go operator", "of another attempt"],
)
async def test_attempts(attempt: str, expected: Presence) -> None:
    bench = Gathering(appwrapper("Resuming", created=False), known=facts(attempt=attempt))
    assert await bench.presence() is expected


async def test_how_it_ended_is_read_from_its_last_state() -> None:
    bench = Gathering(
        appwrapper("Running"),
        last=facts(**COMPLETE),
        pods=RUNNING_PODS,
        get=[NOT_FOUND, {"metadata": {}}],
        lists=[[listed(9)]],
    )
    component = (await bench.observe()).snapshot.components[0]
    assert (component.presence, component.terminal) == (Presence.GONE, Terminal.SUCCEEDED)


async def test_how_it_ended_is_read_from_the_record() -> None:
    item = appwrapper("Running")
    ended = {"type": "Succeeded", "status": "True"}
    item["status"]["componentStatus"][0]["conditions"] = [CREATED, ended]
    gone = [NOT_FOUND, {"metadata": {}}]
    bench = Gathering(item, pods=RUNNING_PODS, get=gone, lists=[[listed(9)]])
    component = (await bench.observe()).snapshot.components[0]
    assert (component.terminal, component.end_recorded) == (Terminal.SUCCEEDED, True)


@pytest.mark.parametrize(
    ("answer", "ending"),
    [
        ({"metadata": {}}, False),
        ({"metadata": {"deletionTimestamp": "now"}}, True),
    ],
)
async def test_the_end_of_a_namespace(answer: Any, ending: bool) -> None:
    bench = Gathering(appwrapper("Running"), pods=RUNNING_PODS, get=[NOT_FOUND, answer])
    assert (await bench.observe()).snapshot.namespace_ending is ending


async def test_whether_a_namespace_ends_is_never_guessed() -> None:
    no = Forbidden(403, "Forbidden", "no")
    bench = Gathering(appwrapper("Running"), pods=RUNNING_PODS, get=[NOT_FOUND, no])
    with pytest.raises(Forbidden):
        await bench.observe()


ENDED_PODS = tuple(project_pod(raw_pod(name, "Succeeded")) for name in ("a", "b"))


FAILED = {"conditions": [{"type": "Failed", "status": "True"}]}
STAYING = {"metadata": {"name": "team1"}}  # a namespace that nobody deletes


@pytest.mark.parametrize("listed_codes", ["terminalExitCodes", "retryableExitCodes"])
async def test_exit_codes_are_read_live_where_they_decide(listed_codes: str) -> None:
    """The pod watch may lag behind the Job's, and a retry is not to be spent on a hopeless code."""
    failed = raw_pod("a", "Failed")
    failed["status"]["containerStatuses"] = [{"state": {"terminated": {"exitCode": 42}}}]
    codes = "42" if listed_codes == "terminalExitCodes" else "1"
    annotations = {f"workload.codeflare.dev.appwrapper/{listed_codes}": codes}
    bench = Gathering(
        appwrapper("Running", metadata={"annotations": annotations}),
        known=facts(**FAILED),
        pods=RUNNING_PODS,
        get=[STAYING],
        lists=[[listed(9, failed)]],
    )
    assert (await bench.observe()).snapshot.pods == PodCounts(
        expected=2,
        failed=1,
        failed_named="a (exit code 42)",
        terminal=TerminalExit("a", 42),
    )


async def test_a_component_that_fails_by_the_end_of_its_namespace_is_no_failure() -> None:
    """Its pods may be deleted before the AppWrapper is."""
    ending = {"metadata": {"deletionTimestamp": "now"}}
    live = listed(9, raw_pod("a", "Running"), raw_pod("b", "Running"))
    bench = Gathering(
        appwrapper("Running"),
        known=facts(**FAILED),
        pods=RUNNING_PODS,
        get=[ending],
        lists=[[live]],
    )
    snapshot = (await bench.observe()).snapshot
    assert snapshot.namespace_ending
    assert decide(snapshot, NOW, FaultTolerance()) == NAMESPACE_ENDING


async def test_a_pod_with_a_copied_name_label_is_not_counted() -> None:
    foreign = raw_pod("theirs", "Running")
    foreign["metadata"]["labels"] = {"workload.codeflare.dev/appwrapper": "train"}
    foreign["metadata"]["ownerReferences"][0]["uid"] = "their-job"
    pods = (*ENDED_PODS, project_pod(foreign))
    live = listed(9, raw_pod("a", "Succeeded"), raw_pod("b", "Succeeded"), foreign)
    bench = Gathering(appwrapper("Running"), known=facts(**COMPLETE), pods=pods, lists=[[live]])
    observation = await bench.observe()
    assert has_succeeded(observation.snapshot)
    assert [pod.name for pod in observation.pods] == ["a", "b"]


async def test_under_the_go_operator_pods_of_a_replica_set_count() -> None:
    pods = []
    for name in ("a", "b"):
        item = raw_pod(name, "Running")
        item["metadata"]["labels"] = {"workload.codeflare.dev/appwrapper": "train"}
        item["metadata"]["ownerReferences"][0]["uid"] = "replica-set"
        pods.append(project_pod(item))
    for attempt, known in ((0, facts(attempt="")), (1, facts(attempt=""))):
        bench = Gathering(appwrapper("Running", attempt=attempt), known=known, pods=tuple(pods))
        assert (await bench.observe()).snapshot.pods == PodCounts(expected=2, running=2)


async def test_pods_that_outlive_their_component_are_stragglers() -> None:
    live = listed(9, raw_pod("a", "Succeeded"), raw_pod("b", "Running"))
    known = facts(**COMPLETE)
    bench = Gathering(appwrapper("Running"), known=known, pods=RUNNING_PODS, lists=[[live]])
    observation = await bench.observe()
    assert observation.stragglers == (DeployedObject(PODS, "b", "b", False, attempt="1"),)
    assert observation.deleted_with_pods == (
        DeployedObject(JOBS, "train", "j1", False, attempt="1", idle=True),
    )
    assert observation.helpers == ()


async def test_helpers_are_marked_by_their_annotation() -> None:
    annotations = {"workload.codeflare.dev.appwrapper/helper": "true"}
    components = [{"template": TEMPLATE, "annotations": annotations}]
    bench = Gathering(
        appwrapper("Running", spec={"components": components}), known=facts(), pods=RUNNING_PODS
    )
    observation = await bench.observe()
    assert observation.snapshot.components[0].helper
    job = DeployedObject(JOBS, "train", "j1", False, attempt="1")
    assert observation.helpers == observation.deployed == (job,)


async def test_timers_of_another_moment_are_missing() -> None:
    stored = {
        "failure": {
            "began": "2025-12-31T23:59:00Z",
            "phase": "Running",
            "attempt": 1,
            "resettingCount": 0,
        }
    }
    item = appwrapper("Running", timers=stored)
    bench = Gathering(item, known=facts(), pods=RUNNING_PODS)
    began = NOW - timedelta(minutes=1)
    assert (await bench.observe()).snapshot.timers == Timers(failure=began)
    other = Gathering(appwrapper("Failed", timers=stored), known=facts(), pods=RUNNING_PODS)
    assert (await other.observe()).snapshot.timers == Timers()


async def test_the_ttl_of_a_success_under_the_go_operator() -> None:
    item = appwrapper("Succeeded")
    item["status"]["conditions"] = [{**CREATED, "lastTransitionTime": "2025-12-31T00:00:00Z"}]
    bench = Gathering(item, known=facts(**COMPLETE))
    snapshot = (await bench.observe()).snapshot
    assert snapshot.timers == Timers(success=NOW - timedelta(days=1))
    assert not snapshot.gone


async def test_an_unknown_phase_deletes_everything(
    caplog: pytest.LogCaptureFixture,
) -> None:
    began = {"began": "2025-12-31T23:59:31Z", "phase": "Zombie", "attempt": 1, "resettingCount": 0}
    item = appwrapper("Zombie", "ResourcesDeployed", timers={"forcefulDeletion": began})
    snapshot = (await Gathering(item, known=facts(), pods=RUNNING_PODS).observe()).snapshot
    assert (snapshot.phase, snapshot.gone) == (Phase.SUSPENDING, False)
    assert snapshot.timers == Timers(forceful_deletion=NOW - timedelta(seconds=29))
    (record,) = caplog.records
    assert record.getMessage() == (
        "unknown phase 'Zombie': deleting all components and starting again"
    )
    assert record.__dict__["object_name"] == "train"


@pytest.mark.parametrize(
    ("status", "planned"),
    [
        pytest.param({}, True, id="as recorded"),
        pytest.param({"componentStatus": []}, True, id="fewer components than the spec"),
        pytest.param({"componentStatus": [{"name": "a"}] * 2}, True, id="more than the spec"),
        pytest.param({"componentStatus": [], "attempt": 0}, False, id="begun by another operator"),
        pytest.param({"resettingCount": -5, "timers": {"failure": {"began": "then"}}}, True,
                     id="values without meaning"),
    ],
)  # fmt: skip
async def test_no_status_keeps_the_controller_from_looking(
    status: dict[str, Any], planned: bool
) -> None:
    item = appwrapper("Resuming", **status)
    bench = Gathering(item, known=facts(), pods=RUNNING_PODS)
    snapshot = (await bench.observe()).snapshot
    assert (snapshot.phase, snapshot.planned) == (Phase.RESUMING, planned)


async def test_the_end_of_an_earlier_attempt_is_ignored() -> None:
    bench = Gathering(
        appwrapper("Running"),
        last=facts(attempt="7", **COMPLETE),
        pods=RUNNING_PODS,
        get=[NOT_FOUND, {"metadata": {}}],
    )
    component = (await bench.observe()).snapshot.components[0]
    assert (component.presence, component.terminal) == (Presence.GONE, None)

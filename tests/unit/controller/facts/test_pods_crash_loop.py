"""When containers crash again and again in place, and when they do not."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controller.facts.pods import NOT_RUNNING, crash_loop, project_pod, stable_in
from shared.api.objects import JsonObject

STARTED = "2026-01-01T10:00:00Z"
BACK_OFF = {"waiting": {"reason": "CrashLoopBackOff"}}
RUNNING = {"running": {"startedAt": STARTED}}


def ended(after: str, code: int = 1) -> JsonObject:
    """A run that began at 09:00 and ended at 09:`after`."""
    times = {"startedAt": "2026-01-01T09:00:00Z", "finishedAt": f"2026-01-01T09:{after}Z"}
    return {"terminated": {"exitCode": code, **times}}


SHORT, LONG = ended("09:59"), ended("10:00")


def container(
    restarts: int, state: JsonObject, last: JsonObject | None = None, name: str = "main"
) -> JsonObject:
    return {"name": name, "restartCount": restarts, "state": state, "lastState": last or {}}


def of(*statuses: JsonObject, policy: str = "OnFailure", **spec: Any) -> str | None:
    return crash_loop({"restartPolicy": policy, **spec}, {"containerStatuses": list(statuses)})


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(container(0, RUNNING), None, id="never crashed"),
        pytest.param(container(0, SHORT), None, id="crashed just now"),
        pytest.param(container(0, BACK_OFF, SHORT), None, id="about to be restarted"),
        pytest.param(
            container(0, {"waiting": {"reason": "ContainerCreating"}}, SHORT),
            None,
            id="being restarted",
        ),
        pytest.param(container(1, RUNNING, SHORT), None, id="restarted once"),
        pytest.param(container(1, SHORT), NOT_RUNNING, id="crashed again"),
        pytest.param(container(1, BACK_OFF, SHORT), NOT_RUNNING, id="backing off"),
        pytest.param(container(5, BACK_OFF, LONG), NOT_RUNNING, id="the kubelet says so"),
        pytest.param(
            container(1, {"waiting": {}}, SHORT), NOT_RUNNING, id="being restarted once more"
        ),
        pytest.param(container(1, {}, SHORT), NOT_RUNNING, id="no state means waiting"),
        pytest.param(container(2, RUNNING, SHORT), STARTED, id="restarted twice"),
        pytest.param(container(9, RUNNING), STARTED, id="nobody knows how it last ended"),
        pytest.param(
            container(9, RUNNING, {"terminated": {"exitCode": 137}}), STARTED, id="nor when"
        ),
        pytest.param(container(9, RUNNING, LONG), None, id="after a run of ten minutes"),
        pytest.param(container(9, LONG), None, id="crashed after ten minutes"),
        pytest.param(
            container(9, {"waiting": {}}, LONG), None, id="restarted after ten minutes"
        ),
        pytest.param(container(2, ended("01:00", code=0)), None, id="ended well at last"),
    ],
)  # fmt: skip
def test_one_container(status: JsonObject, expected: str | None) -> None:
    assert of(status) == expected


@pytest.mark.parametrize(
    ("policy", "code", "expected"),
    [
        ("OnFailure", 0, None),
        ("OnFailure", 1, NOT_RUNNING),
        ("Always", 0, NOT_RUNNING),
        ("Never", 1, None),
    ],
)
def test_a_pod_that_ended_has_no_crash_loop(policy: str, code: int, expected: str | None) -> None:
    again = container(3, ended("00:05", code))
    assert of(again, policy=policy) == expected
    own = [{"name": "other"}, {"name": "main", "restartPolicy": policy}]
    assert of(again, policy="Bogus", containers=own) == expected


def test_a_liveness_probe_that_kills_again_and_again_is_a_loop_even_at_exit_code_zero() -> None:
    assert of(container(2, RUNNING, ended("00:40", code=0))) == STARTED


@pytest.mark.parametrize(
    "reason",
    [
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "CreateContainerConfigError",
        "CreateContainerError",
    ],
)
def test_a_pod_that_cannot_restart_does_not_count_as_running(reason: str) -> None:
    assert of(container(0, {"waiting": {"reason": reason}}, LONG)) == NOT_RUNNING


def test_the_first_failure_to_pull_an_image_again_proves_nothing() -> None:
    assert of(container(0, {"waiting": {"reason": "ErrImagePull"}}, SHORT)) is None


def test_the_last_start_of_several_containers_counts() -> None:
    later = {"running": {"startedAt": "2026-01-01T10:00:01Z"}}
    fine = container(0, {"running": {"startedAt": "2026-01-01T11:00:00Z"}})
    loops = [container(2, later, SHORT), container(3, RUNNING, SHORT)]
    assert of(fine, *loops) == "2026-01-01T10:00:01Z"
    assert of(fine, *loops, container(4, BACK_OFF, SHORT)) == NOT_RUNNING
    assert of(fine, container(0, ended("01:00", code=0))) is None


def test_init_containers_and_sidecars_do_not_count() -> None:
    status = {
        "containerStatuses": [container(0, RUNNING)],
        "initContainerStatuses": [container(9, BACK_OFF, SHORT)],
    }
    assert crash_loop({"restartPolicy": "Always"}, status) is None


REMOVED = {"exitCode": 137, "reason": "RestartingAllContainers", "startedAt": None}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param(container(1, {"waiting": REMOVED}, {"terminated": REMOVED}), None, id="now"),
        pytest.param(container(5, BACK_OFF, SHORT), None, id="the agent restarts its program"),
        pytest.param(container(9, RUNNING, {"terminated": REMOVED}), None, id="once more"),
        pytest.param(container(9, SHORT), None, id="it failed just now"),
        pytest.param(
            container(2, {"waiting": {"reason": "CreateContainerError"}}, SHORT),
            NOT_RUNNING,
            id="it cannot restart",
        ),
    ],
)
def test_a_job_set_counts_its_restarts_in_place(status: JsonObject, expected: str | None) -> None:
    """What the kubelet of Kubernetes 1.37 writes while JobSet 0.12 restarts all pods in step."""
    annotations = {"jobset.sigs.k8s.io/in-place-restart-attempt": "2"}
    item: JsonObject = {
        "metadata": {"namespace": "n", "name": "p", "uid": "u", "annotations": annotations},
        "spec": {"restartPolicy": "OnFailure"},
        "status": {"phase": "Running", "containerStatuses": [status]},
    }
    assert project_pod(item).crash_loop == expected
    del item["metadata"]["annotations"]
    assert project_pod(item).crash_loop is not None


def test_a_pod_without_container_statuses() -> None:
    assert crash_loop({}, {}) is None


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
PERIOD = timedelta(seconds=30)


@pytest.mark.parametrize(
    ("started", "expected"),
    [
        (NOT_RUNNING, None),
        ("2026-01-01T11:59:29Z", timedelta(0)),
        ("2026-01-01T11:59:30Z", timedelta(0)),
        ("2026-01-01T11:59:31Z", timedelta(seconds=1)),
        ("2026-01-01T12:59:31+01:00", timedelta(seconds=1)),
        ("2026-01-01T13:00:00Z", PERIOD),
    ],
)
def test_how_long_until_it_counts_as_running(started: str, expected: timedelta | None) -> None:
    assert stable_in(started, NOON, PERIOD) == expected

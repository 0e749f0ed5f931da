"""Each annotation in a whole life: what it changes, to the moment."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.facts.effective_fault_tolerance import effective_fault_tolerance
from controller.phases.actions import DeleteComponents, DeletionMode
from controller.phases.phase import Phase
from controller.phases.snapshot import Component, CreateProblem, FaultTolerance, PodCounts, Presence
from shared.api.appwrapper import AppWrapper
from shared.config.configuration import AppWrapperConfig
from tests.support.builders.annotations import prefixed
from tests.support.decisions import EXIT_42
from tests.support.fakes.virtual_life import NO_PODS, START, VirtualLife

FAILED = PodCounts(expected=4, running=3, failed=1)
LOST = PodCounts(expected=4, running=3)
PENDING = PodCounts(expected=4, running=3, pending=1)
GONE: tuple[Component, ...] = ()


def effective(**annotations: str) -> FaultTolerance:
    raw = {"metadata": {"uid": "u1", "annotations": prefixed(**annotations)}}
    return effective_fault_tolerance(AppWrapper(raw), AppWrapperConfig())


def until(life: VirtualLife, happened: Callable[[VirtualLife], bool]) -> timedelta:
    """How long it takes, to the millisecond: the moment before nothing had happened yet."""
    began = life.now
    for _ in range(3000):
        if happened(life):
            return life.now - began
        assert life.due is not None, "it waits for nothing"
        life.wait(life.due - life.now - timedelta(milliseconds=1))
        assert not happened(life), "too early"
        life.wait(timedelta(milliseconds=1))
    raise AssertionError("it never happens")


def cannot_create(config: FaultTolerance) -> VirtualLife:
    refused = CreateProblem(
        fatal=False,
        message="403 Forbidden: exceeded quota",
        retry_at=START + timedelta(days=1),
    )
    job = Component(name="train", kind="Job", presence=Presence.PLANNED, expected_pods=4)
    life = VirtualLife(
        config, phase=Phase.RESUMING, components=(job,), pods=NO_PODS, create_problem=refused
    )
    life.look()
    return life


def with_a_pod_lost(config: FaultTolerance) -> VirtualLife:
    """Which may warm up for longer than it may take to come."""
    life = VirtualLife(replace(config, warmup_grace=timedelta(days=1)))
    life.look(pods=LOST)
    return life


def with_pods(pods: PodCounts) -> Callable[[FaultTolerance], VirtualLife]:
    def begin(config: FaultTolerance) -> VirtualLife:
        life = VirtualLife(config)
        life.look(pods=pods)
        return life

    return begin


def paused(config: FaultTolerance) -> VirtualLife:
    life = VirtualLife(config, phase=Phase.RESETTING, components=GONE, gone=True)
    life.look()
    life.snapshot = replace(life.snapshot, gone=False)
    return life


def failed(config: FaultTolerance) -> VirtualLife:
    life = VirtualLife(
        config,
        pods=PodCounts(
            expected=4,
            running=3,
            failed=1,
            terminal=EXIT_42,
        ),
    )
    life.look()
    life.wait(60)
    assert life.phase is Phase.FAILED
    return life


def suspended(config: FaultTolerance) -> VirtualLife:
    life = VirtualLife(config, labelled_pods=4)
    life.look(suspend=True)
    going = Component(name="train", kind="Job", presence=Presence.DELETING, expected_pods=4)
    life.look(components=(going,))
    return life


def succeeded(config: FaultTolerance) -> VirtualLife:
    life = VirtualLife(config, phase=Phase.SUCCEEDED, conditions=frozenset({"ResourcesDeployed"}))
    life.look()
    return life


def entered(phase: Phase) -> Callable[[VirtualLife], bool]:
    return lambda life: phase in [each for _, each in life.moves]


def is_unhealthy(life: VirtualLife) -> bool:
    return "Unhealthy" in life.conditions


def deletes(life: VirtualLife) -> bool:
    return "DeletingResources" in life.conditions


def forces(life: VirtualLife) -> bool:
    return DeleteComponents(DeletionMode.FORCE_PODS, keep=True) in life.deletes


@pytest.mark.parametrize(
    ("annotation", "default", "begin", "happened"),
    [
        pytest.param(
            "admissionGracePeriodDuration",
            timedelta(minutes=1),
            cannot_create,
            entered(Phase.RESETTING),
            id="admission: a component that cannot be created",
        ),
        pytest.param(
            "admissionGracePeriodDuration",
            timedelta(minutes=1),
            with_a_pod_lost,
            is_unhealthy,
            id="admission: a pod that does not come",
        ),
        pytest.param(
            "warmupGracePeriodDuration",
            timedelta(minutes=5),
            with_pods(PENDING),
            is_unhealthy,
            id="warm-up: a pod that does not run",
        ),
        pytest.param(
            "failureGracePeriodDuration",
            timedelta(minutes=1),
            with_pods(FAILED),
            entered(Phase.RESETTING),
            id="failure: a pod that failed",
        ),
        pytest.param(
            "retryPausePeriodDuration",
            None,
            paused,
            entered(Phase.RESUMING),
            id="retry pause: the next attempt",
        ),
        pytest.param(
            "deletionOnFailureGracePeriodDuration",
            timedelta(0),
            failed,
            deletes,
            id="deletion on failure: what failed goes",
        ),
        pytest.param(
            "forcefulDeletionGracePeriodDuration",
            timedelta(minutes=10),
            suspended,
            forces,
            id="forceful deletion: pods without grace",
        ),
        pytest.param(
            "successTTLDuration",
            timedelta(days=7),
            succeeded,
            deletes,
            id="success TTL: what succeeded goes",
        ),
    ],
)
@pytest.mark.parametrize("value", [None, "90s", "3h"])
def test_periods(
    annotation: str,
    default: timedelta | None,
    begin: Callable[[FaultTolerance], VirtualLife],
    happened: Callable[[VirtualLife], bool],
    value: str | None,
) -> None:
    config = effective(**({} if value is None else {annotation: value}))
    lengths: dict[str | None, Any] = {
        None: default,
        "90s": timedelta(seconds=90),
        "3h": timedelta(hours=3),
    }
    length = lengths[value]
    took = until(begin(config), happened)
    if annotation.startswith("retryPause"):
        assert took == config.retry_pause, "up to a tenth longer than was asked for"
        assert timedelta(0) <= took - (length or timedelta(seconds=90)) <= took / 10
    else:
        assert took == length


@pytest.mark.parametrize(("value", "limit"), [(None, 3), ("0", 0), ("1", 1), ("7", 7)])
def test_retry_limit(value: str | None, limit: int) -> None:
    life = VirtualLife(effective(**({} if value is None else {"retryLimit": value})))
    for _ in range(limit):
        life.fail_and_reset()
        life.come_back()
    life.step(pods=FAILED)
    life.step()
    assert life.phase is Phase.FAILED
    assert life.snapshot.retries == limit


@pytest.mark.parametrize(
    ("annotations", "code", "phase"),
    [
        ({}, 42, Phase.RESETTING),
        ({"terminalExitCodes": "3,42"}, 42, Phase.FAILED),
        ({"terminalExitCodes": "3,42"}, 43, Phase.RESETTING),
        ({"retryableExitCodes": "3,42"}, 42, Phase.RESETTING),
        ({"retryableExitCodes": "3,42"}, 43, Phase.FAILED),
        ({"terminalExitCodes": "42", "retryableExitCodes": "42"}, 42, Phase.FAILED),
    ],
)
def test_exit_codes(annotations: dict[str, str], code: int, phase: Phase) -> None:
    config = effective(**annotations)
    life = VirtualLife(config)
    life.step(
        pods=PodCounts(
            expected=4,
            running=3,
            failed=1,
            terminal=EXIT_42 if config.forbids(code) else None,
        )
    )
    life.step()
    assert life.phase is phase

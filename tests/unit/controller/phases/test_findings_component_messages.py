"""Messages about pods quote what those that make the pods say of themselves."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controller.phases.findings import first_finding
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    Component,
    PodCounts,
    Presence,
    Snapshot,
    Timers,
)
from shared.api.conditions import Terminal
from tests.support.decisions import CONFIG
from tests.support.moments import NOW

QUOTA = Component(
    name="serve",
    kind="Deployment",
    presence=Presence.PRESENT,
    expected_pods=2,
    message="FailedCreate: exceeded quota",
)
JOB = Component(name="train", kind="Job", presence=Presence.PRESENT, expected_pods=2)
LONG_AGO = NOW - timedelta(hours=1)


def finding_with(pods: PodCounts, *components: Component) -> str:
    snapshot = Snapshot(
        phase=Phase.RUNNING,
        components=components,
        pods=pods,
        timers=Timers(admission=LONG_AGO, warmup=LONG_AGO),
    )
    finding = first_finding(snapshot, NOW, CONFIG)
    assert finding is not None
    return finding.message


FEW = PodCounts(expected=4, running=1)


@pytest.mark.parametrize(
    ("pods", "components", "message"),
    [
        (FEW, (JOB,), "1 of 4 pods exist"),
        (
            FEW,
            (JOB, QUOTA),
            "1 of 4 pods exist; Deployment serve: FailedCreate: exceeded quota",
        ),
        (
            FEW,
            (replace(JOB, message="JobSuspended"), QUOTA),
            "1 of 4 pods exist; Job train: JobSuspended; "
            "Deployment serve: FailedCreate: exceeded quota",
        ),
        (
            PodCounts(expected=4, running=1, pending=3, unstable=1),
            (QUOTA,),
            "1 of 4 pods run or succeeded; 1 pod crashes again and again; "
            "Deployment serve: FailedCreate: exceeded quota",
        ),
        (FEW, (replace(QUOTA, helper=True), JOB), "1 of 4 pods exist"),
        (FEW, (replace(QUOTA, terminal=Terminal.SUCCEEDED), JOB), "1 of 4 pods exist"),
    ],
)
def test_messages_of_awaited_components_are_quoted(
    pods: PodCounts, components: tuple[Component, ...], message: str
) -> None:
    assert finding_with(pods, *components) == message

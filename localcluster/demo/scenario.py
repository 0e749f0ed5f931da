"""Lists the samples that the demo submits, in order, and how each must end."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class ExpectedEnd(StrEnum):
    SUCCEEDS = "runs and succeeds"
    FAILS_THEN_SUCCEEDS = "fails, is retried and succeeds"
    WAITS_THEN_SUCCEEDS = "waits for quota, then runs and succeeds"
    STAYS_SUSPENDED = "stays suspended"
    REJECTED = "is rejected by the webhook"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One manifest of samples/. `name` is the AppWrapper's.

    It is submitted once the AppWrapper `after` has reached `after_phase`. A WAITS_THEN_SUCCEEDS
    sample needs the quota of the AppWrapper `waits_for`. `root_cause` is the pod that the status of
    a FAILS_THEN_SUCCEEDS sample must name. The message of a REJECTED sample must contain `error`.
    `explained`: the demo runs `explain` once it waits, as a user would.
    """

    file: str
    name: str
    shows: str
    ending: ExpectedEnd
    after: str = ""
    after_phase: str = "Succeeded"
    waits_for: str = ""
    root_cause: str = ""
    error: str = ""
    explained: bool = False


SCENARIO: Final = (
    Sample(
        file="samples/wrapped-pod.yaml",
        name="wrapped-pod",
        shows="a pod",
        ending=ExpectedEnd.SUCCEEDS,
    ),
    Sample(
        file="samples/job-with-podgroup.yaml",
        name="sample-job",
        shows="a Job of two pods, gang-scheduled through its PodGroup",
        ending=ExpectedEnd.SUCCEEDS,
    ),
    Sample(
        file="samples/demo/wrapped-pytorchjob.yaml",
        name="wrapped-pytorchjob",
        shows="a PyTorchJob: one master, three workers, 8 GPUs each, gang-scheduled",
        ending=ExpectedEnd.SUCCEEDS,
    ),
    Sample(
        file="samples/demo/failing-pytorchjob.yaml",
        name="failing-pytorchjob",
        shows="a PyTorchJob whose second worker fails first, and takes the others with it",
        ending=ExpectedEnd.FAILS_THEN_SUCCEEDS,
        root_cause="failing-pytorchjob-worker-1",
    ),
    Sample(
        file="samples/demo/too-big-pytorchjob.yaml",
        name="too-big-pytorchjob",
        shows="a PyTorchJob that asks for one GPU more than the quota",
        ending=ExpectedEnd.STAYS_SUSPENDED,
        explained=True,
    ),
    Sample(
        file="samples/demo/rejected-daemonset.yaml",
        name="rejected-daemonset",
        shows="a Kind that may not be wrapped",
        ending=ExpectedEnd.REJECTED,
        error="spec.components[0].template: Forbidden",
    ),
    Sample(
        file="samples/demo/fills-the-quota.yaml",
        name="fills-the-quota",
        shows="a Job that takes every GPU of the team",
        ending=ExpectedEnd.SUCCEEDS,
        after="wrapped-pytorchjob",
    ),
    Sample(
        file="samples/demo/waits-for-quota.yaml",
        name="waits-for-quota",
        shows="a Job that finds no GPU left",
        ending=ExpectedEnd.WAITS_THEN_SUCCEEDS,
        after="fills-the-quota",
        after_phase="Running",
        waits_for="fills-the-quota",
        explained=True,
    ),
)

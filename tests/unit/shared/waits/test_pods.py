"""Why pods do not run, in the words of the scheduler and the kubelet."""

import pytest

from shared.api.objects import JsonObject
from shared.waits.pods import PodTrouble, PodWait, pod_trouble, pod_troubles
from tests.support.builders.explained.objects import RUNS, condition, container, pod

UNSCHEDULABLE = condition(
    "PodScheduled",
    "False",
    "Unschedulable",
    "0/8 nodes are available: 8 Insufficient cpu. no new claims to deallocate, preemption: 0/8"
    " nodes are available: none",
)


def waiting(reason: str, message: str = "", **fields: object) -> JsonObject:
    return container({"waiting": {"reason": reason, "message": message}}, **fields)


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (pod(0, containers=[RUNS]), None),
        (pod(0, "Succeeded"), None),
        (pod(0, "Failed"), None),
        (
            pod(0, "Pending", node="-", conditions=[UNSCHEDULABLE]),
            (
                PodWait.SCHEDULER,
                "Unschedulable",
                "0/8 nodes are available: 8 Insufficient cpu.",
            ),
        ),
        (pod(0, "Pending", node="-"), (PodWait.SCHEDULER, "", "")),
        (
            pod(0, "Pending", node="-", spec={"schedulingGates": [{"name": "x/topology"}]}),
            (PodWait.GATED, "SchedulingGated", "x/topology"),
        ),
        (pod(0, "Pending"), (PodWait.START, "", "")),
        (
            pod(0, "Pending", containers=[waiting("ContainerCreating")]),
            (PodWait.START, "", ""),
        ),
        (
            pod(0, "Pending", containers=[waiting("ImagePullBackOff", "Back-off")]),
            (PodWait.IMAGE, "ErrImagePull", "image quay.io/team/train:1"),
        ),
        (
            pod(0, "Pending", containers=[waiting("ErrImagePull", "not found")]),
            (PodWait.IMAGE, "ErrImagePull", "image quay.io/team/train:1"),
        ),
        (
            pod(0, "Pending", containers=[waiting("CreateContainerConfigError", "no secret")]),
            (PodWait.CONFIGURATION, "CreateContainerConfigError", "no secret"),
        ),
        (
            pod(
                0,
                containers=[
                    waiting(
                        "CrashLoopBackOff",
                        restartCount=1,
                        lastState={"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
                    )
                ],
            ),
            (
                PodWait.CRASHES,
                "CrashLoopBackOff",
                "container main ended with exit code 137 (OOMKilled), 1 restart",
            ),
        ),
    ],
)
def test_one_pod(item: JsonObject, expected: object) -> None:
    assert pod_trouble(item) == expected


def test_a_pod_of_init_containers_that_run() -> None:
    item = pod(0, "Pending", containers=[waiting("PodInitializing")])
    item["spec"]["initContainers"] = [
        {"name": "proxy", "restartPolicy": "Always"},
        {"name": "fetch"},
    ]
    running = {"started": True, "state": {"running": {}}}
    item["status"]["initContainerStatuses"] = [
        {"name": "proxy", **running},
        {"name": "fetch", **running},
    ]
    assert pod_trouble(item) == (PodWait.INIT, "", "init container fetch runs")
    item["status"]["initContainerStatuses"].pop()
    assert pod_trouble(item) == (PodWait.START, "", "")


def test_pods_that_wait_for_the_same_are_one_trouble() -> None:
    going = {"deletionTimestamp": "2026-03-02T14:03:10Z"}
    pods = [
        pod(0, containers=[RUNS]),
        pod(1, "Pending", node="-", conditions=[UNSCHEDULABLE]),
        pod(2, "Pending", containers=[waiting("ErrImagePull")]),
        pod(3, "Pending", node="-", conditions=[UNSCHEDULABLE]),
        pod(4, "Pending", node="-", conditions=[UNSCHEDULABLE], metadata=going),
    ]
    pods[4]["metadata"]["name"] = "train-4"
    assert pod_troubles(pods) == (
        PodTrouble(
            PodWait.SCHEDULER,
            "Unschedulable",
            "0/8 nodes are available: 8 Insufficient cpu.",
            ("train-1-x7k2p", "train-3-x7k2p"),
        ),
        PodTrouble(PodWait.IMAGE, "ErrImagePull", "image quay.io/team/train:1", ("train-2-x7k2p",)),
    )

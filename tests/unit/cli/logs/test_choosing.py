"""Which pods and containers are shown, and what a pod without a log reports."""

from typing import Any

import pytest

from cli.logs.choosing import LogChoice, LogPod, LogState, UnknownChoice, chosen, log_pod
from cli.logs.ranks import pod_ranks
from shared.api.appwrapper import AppWrapper
from shared.api.objects import JsonObject
from tests.support.builders.explained.objects import RUNS, appwrapper, container, pod

TRAIN = AppWrapper(appwrapper("Running", attempt=1, deployed="True"))
RANKS = pod_ranks(TRAIN)
ENDED = container({"terminated": {"exitCode": 1}})
INIT = {"initContainers": [{"name": "fetch"}]}


def seen(item: JsonObject, wanted: str = "") -> LogPod:
    return log_pod(item, RANKS, wanted)


def spec(**fields: Any) -> JsonObject:
    return {"containers": [{"name": "main"}, {"name": "proxy"}], **fields}


@pytest.mark.parametrize(
    ("item", "state", "reason"),
    [
        (pod(0, containers=[RUNS]), LogState.GROWING, ""),
        (pod(0, "Failed", containers=[ENDED]), LogState.WHOLE, ""),
        (pod(0, containers=[ENDED]), LogState.WHOLE, ""),  # a sidecar still runs
        (pod(0, containers=[ENDED], spec={"restartPolicy": "OnFailure"}), LogState.GROWING, ""),
        (
            pod(
                0,
                containers=[
                    container({"waiting": {"reason": "CrashLoopBackOff"}}) | {"restartCount": 2}
                ],
            ),
            LogState.GROWING,
            "",
        ),
        (
            pod(0, "Pending", containers=[container({"waiting": {"reason": "ContainerCreating"}})]),
            LogState.NONE,
            "ContainerCreating",
        ),
        (
            pod(
                0,
                "Pending",
                conditions=[{"type": "PodScheduled", "status": "False", "message": "0/8 nodes"}],
            ),
            LogState.NONE,
            "no node: 0/8 nodes",
        ),
        (pod(0, "Pending"), LogState.NONE, "Pending"),
        (pod(0, "Failed", reason="Evicted"), LogState.NONE, "Evicted"),
    ],
)
def test_the_state_of_a_log(item: JsonObject, state: LogState, reason: str) -> None:
    found = seen(item)
    assert (found.state, found.reason, found.rank, found.container) == (state, reason, 0, "main")


def test_the_default_container_is_kubectls() -> None:
    annotated = {"annotations": {"kubectl.kubernetes.io/default-container": "proxy"}}
    assert seen(pod(0, metadata=annotated, spec=spec())).container == "proxy"
    other = {"annotations": {"kubectl.kubernetes.io/default-container": "gone"}}
    assert seen(pod(0, metadata=other, spec=spec())).container == "main"


def test_an_init_container_is_shown_on_request() -> None:
    item = pod(0, spec=spec(**INIT))
    item["status"]["initContainerStatuses"] = [{"name": "fetch", "state": {"running": {}}}]
    item["status"]["initContainerStatuses"][0]["state"] = {"terminated": {"exitCode": 0}}
    found = seen(item, "fetch")
    assert (found.container, found.state) == ("fetch", LogState.WHOLE)
    assert seen(item, "nothing").container == ""


def test_the_attempt_of_a_pod() -> None:
    second = seen(pod(0, attempt=2))
    assert [second.is_of(TRAIN, each) for each in (1, 2)] == [False, True]
    of_go_operator = seen(pod(0, metadata={"labels": {}}))
    assert of_go_operator.is_of(TRAIN, 1)
    foreign = pod(0)
    foreign["metadata"]["labels"]["workload.codeflare.dev/uid"] = "another"
    assert not seen(foreign).is_of(TRAIN, 1)


PODS = [seen(pod(index, containers=[RUNS])) for index in (1, 0)]
HELPER = seen(pod(7, metadata={"name": "board", "uid": "b", "labels": {}}, containers=[RUNS]))


def names(choice: LogChoice, *pods: LogPod) -> list[str]:
    return [each.name for each in chosen(pods or (HELPER, *PODS), choice, "", "train")]


def test_pods_are_in_the_order_of_their_ranks() -> None:
    assert names(LogChoice()) == ["train-0-x7k2p", "train-1-x7k2p", "board"]
    assert names(LogChoice(frozenset({1}))) == ["train-1-x7k2p"]
    assert names(LogChoice(frozenset({0}), frozenset({"board"}))) == ["train-0-x7k2p", "board"]
    assert [each.tag for each in (*PODS, HELPER)] == ["r1", "r0", "board"]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (LogChoice(frozenset({5})), "train has no pod of rank 5. Its pods have ranks 0 to 1"),
        (
            LogChoice(pods=frozenset({"x"})),
            "train has no pod x. It has board, train-0-x7k2p and train-1-x7k2p",
        ),
    ],
)
def test_a_pod_that_does_not_exist_is_refused(choice: LogChoice, message: str) -> None:
    with pytest.raises(UnknownChoice) as refused:
        names(choice)
    assert str(refused.value) == message


def test_pods_without_ranks_are_chosen_by_name() -> None:
    with pytest.raises(UnknownChoice) as refused:
        names(LogChoice(frozenset({0})), HELPER)
    assert str(refused.value) == "the pods of train have no ranks: choose with --pod NAME"


def test_a_container_that_no_pod_has_is_refused() -> None:
    items = [pod(0, spec=spec(**INIT)), pod(1)]
    with pytest.raises(UnknownChoice) as refused:
        chosen([seen(each, "x") for each in items], LogChoice(), "x", "train")
    assert str(refused.value) == (
        "no chosen pod of train has a container x. The containers are fetch, main and proxy"
    )
    found = chosen([seen(each, "proxy") for each in items], LogChoice(), "proxy", "train")
    assert [each.name for each in found] == ["train-0-x7k2p"]

"""Which pod `appwrapper shell` and `port-forward` reach into, and what they report otherwise."""

import pytest

from cli.logs.choosing import LogChoice, LogPod, UnknownChoice
from cli.reaching.choosing import described, running_pod
from shared.api.appwrapper import AppWrapper
from tests.support.fakes.log_session import train
from tests.support.fakes.reached_pods import reachable as pod


def chosen(*pods: LogPod, ranks: set[int] | None = None, names: set[str] | None = None) -> LogPod:
    choice = LogChoice(frozenset(ranks or ()), frozenset(names or ()))
    return running_pod(pods, choice, "", AppWrapper(train()))


def refusal(*pods: LogPod, ranks: set[int] | None = None, names: set[str] | None = None) -> str:
    with pytest.raises(UnknownChoice) as caught:
        chosen(*pods, ranks=ranks, names=names)
    return str(caught.value)


def test_the_lowest_rank_that_runs_is_the_default() -> None:
    assert chosen(pod(1), pod(0)).name == "train-0"
    assert chosen(pod(1), pod(0, runs=False), pod(None)).name == "train-1"


def test_a_rank_and_a_name_choose() -> None:
    assert chosen(pod(0), pod(1), ranks={1}).name == "train-1"
    assert chosen(pod(0), pod(None, name="side"), names={"side"}).name == "side"
    assert described(pod(1)) == "train-1 (rank 1)"
    assert described(pod(None, name="side")) == "side"


def test_one_pod_without_a_rank_needs_no_choice() -> None:
    assert chosen(pod(None, name="a"), pod(None, name="b", runs=False)).name == "a"


def test_several_pods_without_ranks_need_a_choice() -> None:
    assert refusal(pod(None, name="a"), pod(None, name="b")) == (
        "train has 2 running pods, which have no ranks. Choose one with --pod: a and b"
    )


def test_an_absent_rank_names_the_ranks() -> None:
    assert refusal(pod(0), pod(1), ranks={7}) == (
        "train has no pod of rank 7. Its pods have ranks 0 to 1"
    )


def test_without_pods_the_phase_is_named() -> None:
    assert refusal() == (
        "train has no pods now: it is Running. This shows why: appwrapper explain train -n team1"
    )


def test_a_pod_that_waits_is_named_with_its_reason() -> None:
    waiting = pod(3, runs=False, reason="ContainerCreating")
    assert refusal(pod(0), waiting, ranks={3}) == (
        "train-3 (rank 3) does not run: its container main has not started (ContainerCreating)."
        " This shows more: appwrapper explain train -n team1"
    )


def test_pods_that_have_ended_lead_to_their_logs() -> None:
    assert refusal(pod(0, runs=False), pod(1, runs=False), pod(2, runs=False)) == (
        "train-0 (rank 0) does not run: its container main has ended, and 2 others do not run"
        " either. This shows more: appwrapper logs train -n team1 --pod train-0 -c main"
    )

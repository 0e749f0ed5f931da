"""Which pods failed, or do not run, in the words of a condition."""

from controller.gather.named_pods import name_failed, name_waiting
from tests.builders.pods import pod


def test_a_failed_pod_is_named_with_its_node_and_its_exit_codes() -> None:
    named = pod("train-1", "Failed", node="gpu-node-7", exit_codes=(3,))
    assert name_failed([named]) == "train-1 on gpu-node-7 (exit code 3)"


def test_what_is_not_known_of_a_failed_pod_is_left_out() -> None:
    pods = [pod("b", "Failed", exit_codes=(1, 139)), pod("a", "Failed")]
    assert name_failed(pods) == "a, b (exit codes 1, 139)"


def test_of_many_failed_pods_three_are_named() -> None:
    pods = [pod(name, "Failed") for name in "edcba"]
    assert name_failed(pods[:3]) == "c, d, e"
    assert name_failed(pods) == "a, b, c and 2 more"
    assert name_failed([]) == ""


def test_a_pod_that_does_not_run_is_named_with_its_node_or_with_the_lack_of_one() -> None:
    pods = [pod("b", "Pending"), pod("a", "Pending", node="gpu-node-1"), pod("c"), pod("d")]
    assert name_waiting(pods[:2]) == "a on gpu-node-1, b without a node"
    assert name_waiting(pods) == "a on gpu-node-1, b without a node, c without a node and 1 more"

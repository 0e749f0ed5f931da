"""Which pods failed, or do not run, in the words of a condition."""

from controller.facts.pod_names import name_failed, name_waiting
from tests.support.builders.remembered_pods import pod


def test_a_failed_pod_is_named_with_its_node_and_its_exit_codes() -> None:
    named = pod("train-1", "Failed", node="gpu-node-7", exit_codes=(3,))
    assert name_failed([named]) == "train-1 on gpu-node-7 (exit code 3)"


def test_the_reason_of_kubernetes_is_named_beside_the_exit_codes() -> None:
    killed = pod("train-0", "Failed", node="gpu-1", exit_codes=(137,), cause="OOMKilled")
    evicted = pod("train-1", "Failed", node="gpu-2", cause="Evicted")
    assert name_failed([killed, evicted]) == (
        "train-0 on gpu-1 (exit code 137, OOMKilled), train-1 on gpu-2 (Evicted)"
    )
    unpulled = pod("train-2", "Pending", node="gpu-3", cause="ErrImagePull")
    assert name_waiting([unpulled]) == "train-2 on gpu-3 (ErrImagePull)"


def test_unknown_details_of_a_failed_pod_are_omitted() -> None:
    pods = [pod("b", "Failed", exit_codes=(1, 139)), pod("a", "Failed")]
    assert name_failed(pods) == "a, b (exit codes 1, 139)"


def test_three_of_many_failed_pods_are_named() -> None:
    pods = [pod(name, "Failed") for name in "edcba"]
    assert name_failed(pods[:3]) == "c, d, e"
    assert name_failed(pods) == "a, b, c and 2 more"
    assert name_failed([]) == ""


def test_a_pod_that_does_not_run_is_named_with_its_node_or_with_the_lack_of_one() -> None:
    pods = [pod("b", "Pending"), pod("a", "Pending", node="gpu-node-1"), pod("c"), pod("d")]
    assert name_waiting(pods[:2]) == "a on gpu-node-1, b without a node"
    assert name_waiting(pods) == "a on gpu-node-1, b without a node, c without a node and 1 more"

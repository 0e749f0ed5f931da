"""Each reason of Kubernetes for a failed pod has one meaning for suspects and for root causes."""

import pytest

from controller.facts.pod_reasons import PROOFS, Proof, proof_of
from controller.facts.pods import Pod
from controller.facts.root_cause_evidence import Attempt, gather_evidence
from controller.phases.root_cause import RootCause
from tests.support.builders.failed_pods import (
    NOW,
    clock,
    failed_pod,
    found,
    record,
    sure,
    termination_message,
)
from worker.record import SYSTEM

NCCL = "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1333"

# The reasons that Kubernetes 1.37 writes into a pod's condition DisruptionTarget, and JobSet's.
DISRUPTIONS = {
    "DeletionByDeviceTaintManager",
    "DeletionByPodGC",
    "DeletionByTaintManager",
    "EvictionByEvictionAPI",
    "ExclusivePlacementViolation",
    "PreemptionByScheduler",
    "TerminationByKubelet",
}
ROWS = [*PROOFS.items(), ("OutOfnvidia.com/gpu", proof_of("OutOfcpu"))]


def with_reason(reason: str, *, failed_second: int = 10, deleted_second: int = 15) -> Pod:
    """Builds a pod that recorded a non-recoverable error of the platform, with that reason."""
    text = termination_message(record(failed_second, origin=SYSTEM, record_id="r"))
    metadata = {"deletionTimestamp": clock(deleted_second + 30), "deletionGracePeriodSeconds": 30}
    if reason in DISRUPTIONS:
        disrupted = {"type": "DisruptionTarget", "status": "True", "reason": reason}
        status = {"conditions": [{**disrupted, "lastTransitionTime": clock(deleted_second)}]}
        return failed_pod("w0", 1, failed_second, text, metadata=metadata, status=status)
    if reason == "OOMKilled":
        return failed_pod("w0", 137, failed_second, text, metadata=metadata, reason=reason)
    return failed_pod("w0", 1, failed_second, text, metadata=metadata, status={"reason": reason})


def root(*pods: Pod) -> RootCause:
    return sure(found(list(pods)))


def test_the_table_has_every_reason_of_a_disruption() -> None:
    assert set(PROOFS) >= DISRUPTIONS


def test_each_reason_has_its_meaning() -> None:
    users = {"OOMKilled", "DeadlineExceeded"}
    rejected = {"NodeAffinity", "TopologyAffinityError", "UnexpectedAdmissionError"}
    gone = {"DeletionByDeviceTaintManager", "DeletionByPodGC", "DeletionByTaintManager"}
    assert {each for each, proof in PROOFS.items() if not proof.infrastructure} == users
    assert {each for each, proof in PROOFS.items() if proof.blames_node} == {*rejected, "NodeLost"}
    deleting = {each for each, proof in PROOFS.items() if proof.deletes}
    assert deleting == DISRUPTIONS - {"TerminationByKubelet"}
    assert {each for each, proof in PROOFS.items() if proof.late} == {*gone, "NodeLost"}
    assert proof_of("OutOfcpu") == proof_of("NodeAffinity")


@pytest.mark.parametrize(("reason", "proof"), ROWS)
def test_a_reason_blames_the_node_or_not(reason: str, proof: Proof) -> None:
    pod = with_reason(reason)
    assert pod.cause == reason
    assert root(pod).points_at_node is proof.blames_node


@pytest.mark.parametrize(("reason", "proof"), ROWS)
def test_a_recorded_error_forbids_a_retry_unless_the_infrastructure_failed(
    reason: str, proof: Proof
) -> None:
    cause = root(with_reason(reason))
    assert cause.recoverable is False
    assert cause.infrastructure == (reason if proof.infrastructure else "")
    assert cause.forbids_retry is not proof.infrastructure


@pytest.mark.parametrize(("reason", "proof"), ROWS)
def test_only_a_deletion_may_come_too_late_to_be_the_cause(reason: str, proof: Proof) -> None:
    at_the_limit = with_reason(reason, deleted_second=15)
    assert root(at_the_limit).infrastructure == (reason if proof.infrastructure else "")
    beyond = with_reason(reason, deleted_second=16)
    excuses = proof.infrastructure and not proof.deletes
    assert root(beyond).infrastructure == (reason if excuses else "")


@pytest.mark.parametrize(("reason", "proof"), ROWS)
def test_a_reason_that_comes_late_explains_lost_peers_at_any_time(
    reason: str, proof: Proof
) -> None:
    attempt = Attempt.at(NOW, 1, ())
    by_pod, _ = gather_evidence([with_reason(reason)], [], [], attempt)
    assert [each.is_reported_late for each in by_pod[0]] == [proof.late]


@pytest.mark.parametrize("reason", ["", "Error", "StartError", "DeletionBySomebodyNew"])
def test_an_unknown_reason_leaves_the_node_a_suspect_and_the_error_final(reason: str) -> None:
    assert proof_of(reason) == Proof(
        infrastructure=False, blames_node=True, deletes=False, late=False
    )


def test_a_device_taint_after_the_loss_of_peers_is_the_root_cause() -> None:
    pod = with_reason("DeletionByDeviceTaintManager", failed_second=200, deleted_second=200)
    cause = root(failed_pod("w1", 1, 12, NCCL), pod)
    assert (cause.pod, cause.infrastructure) == ("w0", "DeletionByDeviceTaintManager")
    assert (cause.forbids_retry, cause.points_at_node) == (False, False)

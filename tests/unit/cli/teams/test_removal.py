"""What forbids the deletion of a team, and what goes with it."""

from cli.teams.removal import Claim, DeletionTarget, ExistingObjects, removal
from shared.api.objects import JsonObject
from tests.support.builders.teams import GPU, team

NAMESPACE, QUEUE, _, _, VIEWERS = (
    {**each, "metadata": {**each["metadata"], "uid": f"uid-{index}"}}
    for index, each in enumerate(team("team1"))
)


def appwrapper(name: str, phase: str) -> JsonObject:
    return {"metadata": {"name": name}, "status": {"phase": phase} if phase else {}}


def workload(name: str, kind: str, owner: str, *conditions: str) -> JsonObject:
    reference = {"kind": kind, "name": owner, "uid": f"uid-{owner}", "controller": True}
    return {
        "metadata": {"name": name, "ownerReferences": [reference]},
        "status": {"conditions": [{"type": each, "status": "True"} for each in conditions]},
    }


def pod(
    name: str, phase: str = "Running", *, owner: str = "", of: str = "", **asked: str
) -> JsonObject:
    metadata: JsonObject = {"name": name}
    if owner:
        reference = {"kind": "Job", "name": owner, "uid": f"uid-{owner}", "controller": True}
        metadata["ownerReferences"] = [reference]
    if of:
        metadata["labels"] = {"workload.codeflare.dev/appwrapper": of}
    requests = {key.replace("gpu", GPU): value for key, value in asked.items()}
    containers = [{"name": "main", "resources": {"requests": requests}}]
    return {"metadata": metadata, "spec": {"containers": containers}, "status": {"phase": phase}}


def held(**changes: object) -> ExistingObjects:
    return ExistingObjects("team1", NAMESPACE, QUEUE, VIEWERS, **changes)  # type: ignore[arg-type]


def blockers(found: ExistingObjects) -> tuple[str, ...]:
    return removal(found, dry_run=False).blockers


def test_an_empty_team_goes_in_an_order_that_can_be_finished() -> None:
    found = removal(held(), dry_run=False)
    assert found.blockers == ()
    assert found.targets == (
        DeletionTarget("ClusterRoleBinding", "team1-queue-viewer", "uid-4"),
        DeletionTarget("Namespace", "team1", "uid-0"),
        DeletionTarget("ClusterQueue", "team1-cluster-queue", "uid-1"),
    )


def test_a_second_run_finds_what_the_first_left() -> None:
    found = removal(ExistingObjects("team1", None, QUEUE, None), dry_run=False)
    assert [each.kind for each in found.targets] == ["ClusterQueue"]


def test_appwrappers_block_until_they_have_ended() -> None:
    all_phases = [appwrapper(phase.lower() or "new", phase) for phase in
                  ("", "Suspended", "Running", "Resetting", "Succeeded", "Failed")]  # fmt: skip
    found = removal(held(appwrappers=all_phases), dry_run=False)
    assert found.blockers == (
        "AppWrapper new (not begun)",
        "AppWrapper suspended (Suspended)",
        "AppWrapper running (Running)",
        "AppWrapper resetting (Resetting)",
    )
    assert found.ended_app_wrappers == 2


def test_workloads_block_until_they_have_finished_and_each_is_named_once() -> None:
    found = held(
        appwrappers=[
            appwrapper("train", "Running"),
            appwrapper("old", "Succeeded"),
            appwrapper("debugged", "Failed"),
        ],
        workloads=[
            workload("w1", "AppWrapper", "train", "Admitted"),
            workload("w2", "AppWrapper", "old", "Admitted", "Finished"),
            workload("w3", "PyTorchJob", "direct", "Admitted"),
            workload("w4", "RayJob", "waiting"),
            {"metadata": {"name": "w5"}},
            workload("w6", "AppWrapper", "debugged", "Admitted"),
            workload("w7", "AppWrapper", "deleted", "Admitted"),
        ],
        pods=[pod("p", owner="direct", gpu="8"), pod("q", of="train", gpu="8")],
    )
    assert blockers(found) == (
        "AppWrapper train (Running)",
        "PyTorchJob direct (admitted by Kueue)",
        "RayJob waiting (waits in the queue)",
        "Workload w5 (waits in the queue)",
        "AppWrapper debugged (admitted by Kueue)",
    )


def test_pods_block_while_they_hold_devices() -> None:
    found = held(
        appwrappers=[appwrapper("kept", "Failed")],
        pods=[
            pod("notebook", gpu="1"),
            pod("debugged", of="kept", gpu="1"),
            pod("ended", "Succeeded", gpu="1"),
            pod("broken", "Failed", gpu="1"),
            pod("server", cpu="4"),
            pod("none", gpu="0"),
        ],
    )
    text = removal(found, dry_run=False)
    assert text.blockers == (
        f"Pod notebook (uses {GPU})",
        f"Pod debugged (uses {GPU})",
    )
    assert text.pods == 4


def test_nothing_blocks_what_is_being_deleted_already() -> None:
    going = {**NAMESPACE, "metadata": {**NAMESPACE["metadata"], "deletionTimestamp": "now"}}
    found = ExistingObjects("team1", going, QUEUE, None, [appwrapper("train", "Running")])
    assert blockers(found) == ()


def test_data_are_named() -> None:
    bound = {
        "metadata": {"name": "bound"},
        "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"capacity": {"storage": "2Gi"}},
    }
    pending = {
        "metadata": {"name": "pending"},
        "spec": {"resources": {"requests": {"storage": "1Gi"}}},
    }
    found = removal(held(claims=[bound, pending]), dry_run=False)
    assert found.claims == (Claim("bound", "2Gi", "fast"), Claim("pending", "1Gi", ""))


def test_a_queue_that_another_namespace_feeds_stays() -> None:
    own = {
        "metadata": {"name": "default-queue", "namespace": "team1"},
        "spec": {"clusterQueue": "team1-cluster-queue"},
    }
    other = {**own, "metadata": {"name": "theirs", "namespace": "team2"}}
    found = removal(held(others_queues=[own, other]), dry_run=False)
    assert [each.kind for each in found.targets] == ["ClusterRoleBinding", "Namespace"]
    assert found.kept == (
        "ClusterQueue team1-cluster-queue stays: LocalQueue team2/theirs feeds it",
    )
    alone = removal(held(others_queues=[own]), dry_run=False)
    assert alone.kept == ()


def test_a_binding_of_another_role_stays() -> None:
    foreign = {**VIEWERS, "roleRef": {**VIEWERS["roleRef"], "name": "admin"}}
    found = removal(ExistingObjects("team1", NAMESPACE, QUEUE, foreign), dry_run=False)
    assert [each.kind for each in found.targets] == ["Namespace", "ClusterQueue"]
    assert found.kept == (
        "ClusterRoleBinding team1-queue-viewer stays: it binds admin, which this command does not",
    )

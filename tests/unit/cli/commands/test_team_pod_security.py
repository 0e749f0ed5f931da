"""`appwrapper team create` and Pod Security: the level of a new namespace, and of an old one."""

import pytest

from cli.command import ExitCode
from shared.api.objects import JsonObject
from tests.support.builders.teams import GPU, gpu_nodes
from tests.support.fakes.cluster_objects import ClusterObjects
from tests.support.fakes.team_session import empty, with_team
from tests.support.fakes.team_session import team as runs
from tests.support.manifests import TEAM, documents

SMALL = ("--quota", "cpu=8", "--quota", "memory=1Gi", "--quota", f"{GPU}=8")
ENFORCE = "pod-security.kubernetes.io/enforce"
OWN = "workload.codeflare.dev/pod-security"
TEAMS = {"mlbatch-team-namespace": "true"}


def labels_in(client: ClusterObjects, name: str) -> JsonObject:
    labels: JsonObject = client.one("Namespace", name)["metadata"]["labels"]
    return labels


def namespace(name: str, **labels: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


@pytest.mark.parametrize(
    ("words", "level"),
    [
        ((), {ENFORCE: "baseline"}),
        (("--pod-security", "baseline"), {ENFORCE: "baseline"}),
        (("--pod-security", "restricted"), {ENFORCE: "restricted"}),
        (("--pod-security", "privileged"), {ENFORCE: "privileged"}),
        (
            ("--pod-security", "baseline-ipc-lock"),
            {ENFORCE: "privileged", OWN: "baseline-ipc-lock"},
        ),
    ],
)
async def test_a_new_namespace_gets_the_level_and_baseline_without_a_choice(
    words: tuple[str, ...], level: dict[str, str]
) -> None:
    client = empty()
    ended = await runs(client, "create", "team1", *SMALL, *words)
    assert (ended.code, labels_in(client, "team1")) == (ExitCode.FINE, TEAMS | level)
    client.writes.clear()
    again = await runs(client, "create", "team1", *SMALL, *words)
    assert again.out.startswith("Team team1: nothing to change.\n")
    assert (again.code, client.writes) == (ExitCode.FINE, [])


@pytest.mark.parametrize(
    "rdma", ["nvidia.com/roce_gdr", "rdma/hca_shared_devices_a", "nvidia.com/mlnxnics"]
)
async def test_a_quota_with_rdma_needs_a_choice_even_in_a_dry_run(rdma: str) -> None:
    client = empty()
    for words in ((), ("--dry-run",)):
        ended = await runs(client, "create", "team1", *SMALL, "--quota", f"{rdma}=0", *words)
        assert (ended.code, ended.out, client.writes) == (ExitCode.UNABLE, "", [])
        assert ended.error == (
            f"the quota has {rdma}, and pods with RDMA usually need the capability IPC_LOCK, which"
            " Pod Security's level baseline forbids. Choose: --pod-security baseline-ipc-lock"
            " allows it and keeps the rest of baseline, --pod-security baseline (or restricted) is"
            " for pods without IPC_LOCK, --pod-security privileged allows everything"
        )
    chosen = await runs(
        client, "create", "team1", *SMALL, "--quota", f"{rdma}=0", "--pod-security", "baseline"
    )
    assert (chosen.code, labels_in(client, "team1")[ENFORCE]) == (ExitCode.FINE, "baseline")


@pytest.mark.parametrize(
    "missing", ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]
)
async def test_the_level_with_ipc_lock_is_refused_without_its_policy(missing: str) -> None:
    policy = [each for each in documents(TEAM / "pod-security.yaml") if each["kind"] != missing]
    client = ClusterObjects([*documents(TEAM / "cluster.yaml"), *policy, *gpu_nodes(8)])
    ended = await runs(client, "create", "team1", *SMALL, "--pod-security", "baseline-ipc-lock")
    assert (ended.code, ended.out, client.writes) == (ExitCode.UNABLE, "", [])
    assert ended.error == (
        f"there is no {missing} appwrapper-baseline-ipc-lock: without it --pod-security"
        " baseline-ipc-lock would allow every pod. Create it: kubectl apply -f"
        " deploy/team/pod-security.yaml (Kubernetes 1.30 or newer)"
    )


async def test_an_adopted_namespace_gets_no_level_and_a_warning() -> None:
    client = empty()
    client.put(namespace("team1", owner="me"))
    ended = await runs(client, "create", "team1", *SMALL, "--adopt")
    assert labels_in(client, "team1") == {"owner": "me"} | TEAMS
    assert ended.code == ExitCode.FINE
    assert ended.out.endswith(
        "\nWARNING: namespace team1 has no label pod-security.kubernetes.io/enforce, so its users"
        " may run privileged pods, and this command changes no existing namespace. Set it by"
        " kubectl label namespace team1 pod-security.kubernetes.io/enforce=baseline (add"
        " --dry-run=server to see which pods violate it).\n"
    )


@pytest.mark.parametrize("level", ["privileged", "restricted"])
async def test_another_level_of_an_existing_namespace_stays_and_is_shown(level: str) -> None:
    client = empty()
    client.put(namespace("team1", **{ENFORCE: level}))
    ended = await runs(client, "create", "team1", *SMALL, "--adopt", "--pod-security", "baseline")
    assert labels_in(client, "team1") == {ENFORCE: level} | TEAMS
    assert ended.code == ExitCode.WANTING
    assert f"differs: metadata.labels[{ENFORCE}] is {level}, not baseline\n" in ended.out
    assert (
        f"\nNamespace team1, metadata.labels[{ENFORCE}]: set it by kubectl label --overwrite"
        f" namespace team1 {ENFORCE}=baseline\n" in ended.out
    )
    unasked = await runs(client, "create", "team1", *SMALL)
    assert (unasked.code, "WARNING" in unasked.out) == (ExitCode.FINE, False)


async def test_the_teams_label_is_restored_and_the_level_stays() -> None:
    """A server-side apply removes what its earlier run set and this one leaves out."""
    client = with_team()
    del client.one("Namespace", "team1")["metadata"]["labels"]["mlbatch-team-namespace"]
    ended = await runs(client, "create", "team1", "--adopt", "--dry-run", "-o", "yaml")
    assert f"{ENFORCE}: privileged\n    {OWN}: baseline-ipc-lock\n" in ended.out


async def test_rdma_in_the_quota_of_a_namespace_with_baseline_is_a_warning() -> None:
    client = empty()
    await runs(client, "create", "team1", *SMALL)
    rdma = ("--quota", "nvidia.com/roce_gdr=2", "--change-quota")
    ended = await runs(client, "create", "team1", *rdma)
    assert ended.code == ExitCode.FINE
    assert ended.out.endswith(
        "\nWARNING: the quota has nvidia.com/roce_gdr, and the Pod Security level baseline of"
        " namespace team1 forbids the capability IPC_LOCK, which pods with RDMA usually need."
        " docs/admins/pod-security.md describes the level baseline-ipc-lock.\n"
    )

"""`appwrapper team create` from its words to what people read, and what is written."""

import json
from pathlib import Path

import pytest
import yaml

from cli.command import ExitCode
from shared.api.objects import JsonObject
from tests.support.builders.teams import GPU, TEAM1_QUOTA, gpu_nodes, team, what_teams_share
from tests.support.fakes.cluster_objects import ClusterObjects
from tests.support.fakes.team_session import empty, with_team
from tests.support.fakes.team_session import team as runs
from tests.support.manifests import MANIFESTS, TEAM, documents

LOCKS = ("--pod-security", "baseline-ipc-lock")
QUOTA = (*(word for each in TEAM1_QUOTA for word in ("--quota", each)), *LOCKS)
SMALL = ("--quota", "cpu=80", "--quota", "memory=1100Gi", "--quota", f"{GPU}=8",
         "--quota", "nvidia.com/roce_gdr=2", *LOCKS)  # fmt: skip
LEVEL = {
    "pod-security.kubernetes.io/enforce": "privileged",
    "workload.codeflare.dev/pod-security": "baseline-ipc-lock",
}
ALL_WRITES = [
    "apply Namespace team1",
    "apply ClusterQueue team1-cluster-queue",
    "apply LocalQueue default-queue",
    "apply RoleBinding team1-edit",
    "apply ClusterRoleBinding team1-queue-viewer",
]

CREATED = """\
Team team1 was created.

OBJECT                                  WHAT HAPPENS   DETAIL
Namespace team1                         created        mlbatch-team-namespace=true,\
 pod-security.kubernetes.io/enforce=privileged,\
 workload.codeflare.dev/pod-security=baseline-ipc-lock
ClusterQueue team1-cluster-queue        created        cpu 640, memory 8800Gi, nvidia.com/gpu 64,\
 nvidia.com/roce_gdr 16, pods 800
LocalQueue default-queue                created        feeds team1-cluster-queue
RoleBinding team1-edit                  created        mlbatch-edit for group team1-edit-group
ClusterRoleBinding team1-queue-viewer   created        appwrapper-queue-viewer for group\
 team1-edit-group

All quotas of flavor default-flavor and what pods can have of its nodes:
RESOURCE              SCHEDULABLE   QUOTAS BEFORE   QUOTAS AFTER   LEFT
cpu                           640               0            640      0
memory                     8800Gi               0         8800Gi      0
nvidia.com/gpu                 64               0             64      0
nvidia.com/roce_gdr            16               0             16      0
pods                          880               0            800     80
"""
UNCHANGED = """\
Team team1: nothing to change.

OBJECT                                  WHAT HAPPENS   DETAIL
Namespace team1                         unchanged
ClusterQueue team1-cluster-queue        unchanged
LocalQueue default-queue                unchanged
RoleBinding team1-edit                  unchanged
ClusterRoleBinding team1-queue-viewer   unchanged
"""


async def test_create_makes_the_team_and_a_second_run_changes_nothing() -> None:
    client = empty()
    ended = await runs(client, "create", "team1", *QUOTA)
    assert (ended.code, ended.out) == (ExitCode.FINE, CREATED)
    assert client.writes == ALL_WRITES
    client.writes.clear()
    for words in (QUOTA, ()):
        again = await runs(client, "create", "team1", *words)
        assert again.code == ExitCode.FINE
        assert again.out.startswith(UNCHANGED)
    assert client.writes == []


async def test_a_team_of_the_deploy_folder_needs_no_additions() -> None:
    client = with_team()
    ended = await runs(client, "create", "team1", *QUOTA)
    assert ended.out.startswith(UNCHANGED)
    assert client.writes == []


@pytest.mark.parametrize("written", range(len(ALL_WRITES)))
async def test_a_run_that_was_killed_is_finished_by_another(written: int) -> None:
    made = team("team1")[:written]
    client = ClusterObjects([*what_teams_share(), *gpu_nodes(8), *made])
    ended = await runs(client, "create", "team1", *QUOTA)
    assert (ended.code, client.writes) == (ExitCode.FINE, ALL_WRITES[written:])


async def test_the_manifests_of_a_dry_run_are_those_of_deploy() -> None:
    client = empty()
    ended = await runs(client, "create", "team1", *QUOTA, "--dry-run", "-o", "yaml")
    wanted = documents(TEAM / "team1.yaml")
    assert list(yaml.safe_load_all(ended.out)) == wanted
    assert (ended.code, client.writes) == (ExitCode.FINE, [])


async def test_a_dry_run_shows_what_would_happen_and_writes_nothing() -> None:
    client = with_team()
    ended = await runs(
        client, "create", "team1", "--quota", "cpu=320", "--change-quota", "--user", "bob",
        "--dry-run",
    )  # fmt: skip
    assert ended.out.startswith("""\
Team team1: a dry run, nothing was changed.

OBJECT                                  WHAT HAPPENS   DETAIL
Namespace team1                         unchanged
ClusterQueue team1-cluster-queue        change         quota of cpu in flavor default-flavor:\
 320 (was 640)
LocalQueue default-queue                unchanged
RoleBinding team1-edit                  change         subjects: user bob
ClusterRoleBinding team1-queue-viewer   change         subjects: user bob

All quotas of flavor default-flavor and what pods can have of its nodes:
RESOURCE              SCHEDULABLE   QUOTAS BEFORE   QUOTAS AFTER   LEFT
cpu                           640             640            320    320
""")
    assert (ended.code, client.writes) == (ExitCode.FINE, [])


async def test_a_quota_is_changed_only_where_that_is_asked_for() -> None:
    client = with_team()
    shown = await runs(client, "create", "team1", "--quota", f"{GPU}=32")
    assert shown.code == ExitCode.WANTING
    assert shown.out.splitlines()[0] == (
        "Team team1 was not changed, and differs from what was asked for."
    )
    assert (
        "unchanged      differs: quota of nvidia.com/gpu in flavor default-flavor is 64, not 32:"
        " --change-quota sets it\n" in shown.out
    )
    assert client.writes == []
    done = await runs(client, "create", "team1", "--quota", f"{GPU}=32", "--change-quota")
    assert (done.code, client.writes) == (ExitCode.FINE, ALL_WRITES[1:2])
    assert done.out.splitlines()[0] == "Team team1 was changed."
    queue = client.one("ClusterQueue", "team1-cluster-queue")
    assert queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][2] == {
        "name": GPU,
        "nominalQuota": 32,
    }


async def test_more_than_there_is_is_refused_unless_it_is_asked_for() -> None:
    client = with_team()
    problem = f"all quotas of {GPU} in flavor default-flavor add up to 72, and pods can have 64"
    words = ("create", "team2", "--quota", f"{GPU}=8", "--quota", "cpu=0", "--quota", "memory=0",
             "--quota", "nvidia.com/roce_gdr=0", *LOCKS)  # fmt: skip
    refused = await runs(client, *words)
    assert (refused.code, refused.error) == (
        ExitCode.WANTING,
        f"{problem}. Ask for less, or give --over-capacity to promise more than there is",
    )
    assert refused.out.startswith("Team team2 is refused. Nothing was changed.\n")
    assert refused.out.endswith("""\
RESOURCE              SCHEDULABLE   QUOTAS BEFORE   QUOTAS AFTER   LEFT
nvidia.com/gpu                 64              64             72     -8
cpu                           640             640            640      0
memory                     8800Gi          8800Gi         8800Gi      0
nvidia.com/roce_gdr            16              16             16      0
""")
    assert client.writes == []
    allowed = await runs(client, *words, "--over-capacity")
    assert allowed.code == ExitCode.FINE
    assert allowed.out.endswith(f"\nWARNING: {problem}.\n")
    assert len(client.writes) == 5


async def test_excess_quota_of_other_teams_is_only_a_warning() -> None:
    client = with_team(nodes=7)
    ended = await runs(client, "create", "team1", "--user", "bob")
    assert ended.code == ExitCode.FINE
    assert (
        f"WARNING: all quotas of {GPU} in flavor default-flavor add up to 64, and pods can have 56."
        in ended.out.splitlines()
    )
    assert client.writes == ALL_WRITES[3:]


async def test_unschedulable_capacity_is_none() -> None:
    nodes = gpu_nodes(2)
    nodes[0]["spec"] = {"unschedulable": True}
    client = ClusterObjects([*what_teams_share(), *nodes])
    ended = await runs(client, "create", "team1", *SMALL)
    assert ended.code == ExitCode.FINE
    assert ended.out.endswith("""\
RESOURCE              UNSCHEDULABLE   SCHEDULABLE   QUOTAS BEFORE   QUOTAS AFTER   LEFT
cpu                              80            80               0             80      0
memory                       1100Gi        1100Gi               0         1100Gi      0
nvidia.com/gpu                    8             8               0              8      0
nvidia.com/roce_gdr               2             2               0              2      0
""")


async def test_gpus_that_a_latch_withholds_are_no_capacity() -> None:
    nodes = gpu_nodes(2)
    nodes[0]["metadata"]["uid"] = "u1"
    tag = {"uid": "u1", "label": "autopilot.ibm.com/gpuhealth=EVICT"}
    times = {"since": "2026-01-01T09:00:00Z", "goneAt": "2026-01-01T10:00:00Z"}
    where = {"namespace": "appwrapper-system"}
    record = {
        "kind": "ConfigMap",
        "metadata": {**where, "name": "appwrapper-node-health", "uid": "u", "resourceVersion": "7"},
        "data": {"latches": json.dumps({GPU: {"node-1": tag | times}})},
    }
    configured = {
        "kind": "ConfigMap",
        "metadata": {**where, "name": "appwrapper-operator-config"},
        "data": {"config.yaml": "appwrapper: {nodeHealth: {latch: 12h}}"},
    }
    client = ClusterObjects([*what_teams_share(), *nodes, record, configured])
    ended = await runs(client, "create", "team1", *SMALL)
    assert "nvidia.com/gpu                    8             8               0" in ended.out


async def test_without_reading_nodes_capacity_is_not_checked() -> None:
    client = empty(forbidden=[("list", "nodes")])
    ended = await runs(client, "create", "team1", *SMALL)
    assert ended.code == ExitCode.FINE
    assert "nvidia.com/gpu                  ?               0              8      ?\n" in ended.out
    assert ended.out.endswith(
        "\nWARNING: not checked: nodes of the cluster: no right to list them.\n"
    )


async def test_the_report_is_data() -> None:
    ended = await runs(empty(), "create", "team1", *SMALL, "--dry-run", "-o", "json")
    report = json.loads(ended.out)
    assert (report["team"], report["dryRun"], report["warnings"]) == ("team1", True, [])
    assert [each["action"] for each in report["objects"]] == ["create"] * 5
    assert report["objects"][0]["manifest"]["metadata"]["name"] == "team1"
    assert report["capacity"][1] == {
        "flavor": "default-flavor",
        "resource": "memory",
        "schedulable": 8800 * 2**30,
        "unschedulable": 0,
        "quotasBefore": 0,
        "quotasAfter": 1100 * 2**30,
    }


async def test_without_kueue_nothing_is_created() -> None:
    client = empty(has_kueue=False)
    ended = await runs(client, "create", "team1", *SMALL)
    assert (ended.code, ended.error, client.writes) == (
        ExitCode.UNABLE,
        "this cluster has no Kueue that serves kueue.x-k8s.io/v1beta2: a team's quota and queue are"
        " Kueue's objects. Install Kueue first (docs/admins/install.md)",
        [],
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("Team_1",),
            "Team_1 cannot be the name of a namespace: write up to 63 lower-case letters, digits"
            " and hyphens",
        ),
        (
            ("team1",),
            "team team1 needs a quota: give --quota RESOURCE=AMOUNT for each resource that its"
            " workloads ask for, as --quota nvidia.com/gpu=16 --quota cpu=160 --quota"
            " memory=2200Gi",
        ),
        (
            ("team1", *SMALL, "--flavor", "h100"),
            "there is no ResourceFlavor h100: Kueue would not use the team's queue. Name one with"
            " --flavor, or create it: kubectl apply -f deploy/team/cluster.yaml. Existing"
            " ResourceFlavors: default-flavor",
        ),
        (("team1", "--quota", "cpu"), "--quota cpu: write RESOURCE=AMOUNT, as nvidia.com/gpu=64"),
    ],
)
async def test_an_impossible_team_is_refused_with_a_message(
    words: tuple[str, ...], message: str
) -> None:
    client = empty()
    ended = await runs(client, "create", *words)
    assert (ended.code, ended.out, ended.error) == (ExitCode.UNABLE, "", message)
    assert client.writes == []


async def test_a_role_that_is_not_there_is_a_warning() -> None:
    ended = await runs(empty(), "create", "team1", *SMALL, "--role", "none")
    assert ended.out.endswith(
        "\nWARNING: there is no ClusterRole none: its binding grants nothing until the role exists."
        " Create it: kubectl apply -f deploy/team/cluster.yaml.\n"
    )


async def test_nothing_is_written_where_a_right_is_missing() -> None:
    client = empty(forbidden=[("create", "clusterqueues"), ("patch", "rolebindings")])
    ended = await runs(client, "create", "team1", *SMALL)
    lacking = ["create clusterqueues of the cluster", "patch rolebindings in namespace team1"]
    assert (ended.code, ended.error) == (
        ExitCode.UNABLE,
        f"nothing was changed: you lack the right to {', '.join(lacking)}. Teams are made by"
        " cluster admins: ask one",
    )
    dry = await runs(client, "create", "team1", *SMALL, "--dry-run")
    assert dry.code == ExitCode.FINE
    assert dry.out.endswith("".join(f"WARNING: you lack the right to {it}.\n" for it in lacking))
    assert client.writes == []


async def test_changes_of_another_client_are_not_overwritten() -> None:
    client = with_team()
    client.before_apply = lambda: client.put(client.one("RoleBinding", "team1-edit", "team1"))
    ended = await runs(client, "create", "team1", "--user", "bob")
    assert (ended.code, ended.error) == (
        ExitCode.UNABLE,
        "another client is changing RoleBinding team1-edit: run this again. The API server reports:"
        " the object has been modified",
    )
    assert client.writes == []


async def test_a_user_without_read_rights_gets_a_message() -> None:
    client = empty(forbidden=[("get", "namespaces")])
    ended = await runs(client, "create", "team1", *SMALL)
    assert (ended.code, ended.error) == (
        ExitCode.UNABLE,
        "you lack a right that team create needs, to read Namespace team1. Ask a cluster admin",
    )


async def test_the_label_is_that_of_the_operators_configuration(tmp_path: Path) -> None:
    text = "appwrapper: {teamNamespaceSelector: {matchLabels: {kind: team}}}"
    client = empty()
    client.put(operator_configuration(text))
    await runs(client, "create", "team1", *SMALL)
    assert client.one("Namespace", "team1")["metadata"]["labels"] == {"kind": "team", **LEVEL}
    file = tmp_path / "config.yaml"
    file.write_text(text.replace("team}", "other}"))
    await runs(client, "create", "team2", *SMALL, "--config", str(file))
    assert client.one("Namespace", "team2")["metadata"]["labels"] == {"kind": "other", **LEVEL}


def operator_configuration(text: str) -> JsonObject:
    return {
        "kind": "ConfigMap",
        "metadata": {"name": "appwrapper-operator-config", "namespace": "appwrapper-system"},
        "data": {"config.yaml": text},
    }


@pytest.mark.parametrize("overlay", ["default", "mlbatch"])
async def test_users_may_create_what_the_installed_overlay_lets_them_wrap(overlay: str) -> None:
    """Overlay default asks for the user's own right, which the default role withholds."""
    text = (MANIFESTS / "overlays" / overlay / "config.yaml").read_text()
    client = empty()
    client.put(operator_configuration(text))
    ended = await runs(client, "create", "team1", *SMALL)
    more = ["apply RoleBinding team1-may-create"] if overlay == "default" else []
    assert client.writes == [*ALL_WRITES[:-1], *more, ALL_WRITES[-1]]
    shown = "RoleBinding team1-may-create            created        edit for group team1-edit-group"
    assert (shown in ended.out) is (overlay == "default")
    client.writes.clear()
    again = await runs(client, "create", "team1")
    assert (again.code, client.writes) == (ExitCode.FINE, [])


async def test_with_a_role_of_the_admins_choice_the_missing_rights_are_named() -> None:
    client = empty()
    client.put(operator_configuration(""))
    client.put({"kind": "ClusterRole", "metadata": {"name": "none"}, "rules": []})
    ended = await runs(client, "create", "team1", *SMALL, "--role", "none")
    assert client.writes == ALL_WRITES
    assert "WARNING: ClusterRole none lets no user create " in ended.out


async def test_an_unread_configuration_ends_the_command_and_a_forbidden_one_is_a_warning() -> None:
    """The team's label would be the default one."""
    client = empty(failing=[("get", "configmaps")])
    ended = await runs(client, "create", "team1", *SMALL)
    assert (ended.code, ended.error) == (
        ExitCode.UNABLE,
        "the operator's configuration cannot be read: etcd has no leader. Give it with --config"
        " FILE",
    )
    assert client.writes == []
    client = empty(forbidden=[("get", "configmaps")])
    ended = await runs(client, "create", "team1", *SMALL)
    assert client.writes == ALL_WRITES
    assert (
        "WARNING: not checked: ConfigMap appwrapper-system/appwrapper-operator-config (defaults are"
        " assumed): no right to get it" in ended.out
    )
    without = [each for each in what_teams_share() if each["kind"] != "ConfigMap"]
    ended = await runs(ClusterObjects([*without, *gpu_nodes(8)]), "create", "team1", *SMALL)
    assert "WARNING: not checked: there is no ConfigMap appwrapper-operator-config in" in ended.out
    assert " mlbatch-system: defaults are assumed. Give it with --config FILE" in ended.out

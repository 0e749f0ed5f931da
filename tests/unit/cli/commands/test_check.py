"""`appwrapper check` as it prints: the seeds' example to the character, warnings, exit codes."""

import json
import re
from typing import Any

import pytest

from tests.support.builders.queues import (
    GPU,
    bound_pod,
    cluster_queue,
    default_priority,
    gpu_node,
    local_queue,
    workload,
)
from tests.support.checked_cluster import SOUND, checked
from tests.support.fakes.read_only_cluster import ReadOnlyCluster
from tests.support.manifests import ROOT
from tests.support.walkthrough import blocks_of

# The example of MLBatch's guide.
EXAMPLE = """\
CLUSTER QUEUE            GPU QUOTA   GPU USAGE   ADMITTED WORKLOADS   PENDING WORKLOADS
code-cluster-queue               8          16                    1                   0
platform-cluster-queue           8           4                    4                   0

Total GPU count in cluster:        24
Unschedulable GPU count:         -  0
Schedulable GPU count:           = 24

Nominal GPU quota:                 16
Slack GPU quota:                 +  8
Total GPU quota:                 = 24

GPU usage by admitted workloads:   20
Borrowed GPU count:                 8
"""
TROUBLED = [
    *SOUND[:-1],
    gpu_node("gpu-3", labels={"autopilot.ibm.com/gpuhealth": "ERR"}),
    default_priority(),
    local_queue("code", "code-cluster-queue"),
    workload("lost", "code", queueName="nowhere"),
    workload("urgent", "code", priority=10, priorityClassRef={"name": "high-priority"}),
    bound_pod("scratch", "notebook", "gpu-3", 2),
]
AT_160 = """\

WARNING: node gpu-3: 8 nvidia.com/gpu cannot be scheduled (autopilot.ibm.com/gpuhealth=ERR, \
NoSchedule)
WARNING: quota of nvidia.com/gpu: no ClusterQueue has quota for 8 nvidia.com/gpu of the nodes' 32. \
Give it to a team or to slack-cluster-queue
WARNING: workload code/AppWrapper lost: there is no LocalQueue nowhere in its namespace, so Kueue \
never admits it. Create it again with the label
kueue.x-k8s.io/queue-name of one of: default-queue
WARNING: pod scratch/notebook: it holds 2 nvidia.com/gpu on its node (gpu-3; \
autopilot.ibm.com/gpuhealth=ERR, NoSchedule) without quota: its namespace has no
LocalQueue. Move it into a team's namespace, or take its GPUs out of the quotas
NOTE: workload code/AppWrapper urgent: its priority is 10 (high-priority), above the default of 5: \
it may preempt others of its ClusterQueue
"""
AT_80 = """\

WARNING: node gpu-3: 8 nvidia.com/gpu cannot be scheduled
(autopilot.ibm.com/gpuhealth=ERR, NoSchedule)
WARNING: quota of nvidia.com/gpu: no ClusterQueue has quota for 8 nvidia.com/gpu
of the nodes' 32. Give it to a team or to slack-cluster-queue
WARNING: workload code/AppWrapper lost: there is no LocalQueue nowhere in its
namespace, so Kueue never admits it. Create it again with the label
kueue.x-k8s.io/queue-name of one of: default-queue
WARNING: pod scratch/notebook: it holds 2 nvidia.com/gpu on its node (gpu-3;
autopilot.ibm.com/gpuhealth=ERR, NoSchedule) without quota: its namespace has no
LocalQueue. Move it into a team's namespace, or take its GPUs out of the quotas
NOTE: workload code/AppWrapper urgent: its priority is 10 (high-priority), above
the default of 5: it may preempt others of its ClusterQueue
"""


def test_the_seeds_example_comes_out_to_the_character(monkeypatch: pytest.MonkeyPatch) -> None:
    assert checked(monkeypatch, ReadOnlyCluster(SOUND)) == (0, EXAMPLE, "")


@pytest.mark.parametrize(("columns", "warnings"), [("160", AT_160), ("80", AT_80)])
def test_warnings_follow_folded_to_the_window(
    monkeypatch: pytest.MonkeyPatch, columns: str, warnings: str
) -> None:
    client = ReadOnlyCluster(TROUBLED)
    code, out, err = checked(monkeypatch, client, COLUMNS=columns)
    table = EXAMPLE.replace("cluster:        24", "cluster:        32").replace("-  0", "-  8")
    # rich leaves the spaces at which it folds.
    assert (code, re.sub(" +\n", "\n", out), err) == (1, table + warnings, "")


def test_a_command_is_a_line_of_its_own_that_never_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    off = workload("a-long-name", "code", active=False)
    queue = local_queue("code", "code-cluster-queue")
    out = checked(monkeypatch, ReadOnlyCluster([*SOUND, queue, off]), COLUMNS="40")[1]
    assert (
        "again:\n  kubectl patch workload -n code appwrapper-a-long-name --type merge --patch"
        ' \'{"spec":{"active":true}}\'\n' in out
    )


def test_unreadable_parts_are_named_and_the_rest_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    forbidden = ("nodes", "pods", "workloads", "localqueues", "configmaps")
    client = ReadOnlyCluster([*SOUND, local_queue("code", "x")], forbidden=forbidden)
    code, out, _ = checked(monkeypatch, client)
    assert code == 2
    # Without the configuration nothing says which queue is the slack queue.
    assert (
        out
        == """\
CLUSTER QUEUE            GPU QUOTA   GPU USAGE   ADMITTED WORKLOADS   PENDING WORKLOADS
code-cluster-queue               8          16                    1                   0
platform-cluster-queue           8           4                    4                   0
slack-cluster-queue              8           0                    0                   0

Total GPU count in cluster:         ?
Unschedulable GPU count:         -  ?
Schedulable GPU count:           =  ?

Nominal GPU quota:                 24
Slack GPU quota:                 +  0
Total GPU quota:                 = 24

GPU usage by admitted workloads:   20
Borrowed GPU count:                 8

UNKNOWN: ConfigMap appwrapper-system/appwrapper-operator-config (defaults are assumed): no \
right to get it
UNKNOWN: localqueues of the cluster: no right to list them
UNKNOWN: nodes of the cluster: no right to list them
UNKNOWN: workloads of the cluster: no right to list them
UNKNOWN: pods of the cluster: no right to list them

This is the admins' view. A team sees its own part with: appwrapper check --mine
"""
    )


def test_a_cluster_without_kueue(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = ("clusterqueues", "localqueues", "workloads", "resourceflavors")
    client = ReadOnlyCluster(SOUND, missing=missing)
    code, out, _ = checked(monkeypatch, client)
    assert code == 2
    absent = "the API server does not serve them: is Kueue installed?"
    assert f"UNKNOWN: clusterqueues of the cluster: {absent}\n" in out
    assert "Nominal GPU quota:                  ?\n" in out


def test_wide_shows_all_resources_flavors_and_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = checked(monkeypatch, ReadOnlyCluster(SOUND), "-o", "wide")
    assert code == 0
    assert (
        out
        == EXAMPLE
        + """
RESOURCE         TOTAL   UNSCHEDULABLE   SCHEDULABLE   NOMINAL QUOTA   SLACK QUOTA   USED   BORROWED
nvidia.com/gpu      24               0            24              16             8     20          8

CLUSTER QUEUE            COHORT           FLAVOR           RESOURCE         NOMINAL   \
BORROWING LIMIT   LENDING LIMIT   USED   BORROWED
code-cluster-queue       default-cohort   default-flavor   nvidia.com/gpu         8   \
              -               -     16          8
platform-cluster-queue   default-cohort   default-flavor   nvidia.com/gpu         8   \
              -               -      4          0
slack-cluster-queue      default-cohort   default-flavor   nvidia.com/gpu         8   \
              -               -      0          0

NODES   EACH OFFERS
3       80 cpu, 1100Gi memory, 8 nvidia.com/gpu, 2 nvidia.com/roce_gdr
"""
    )


def test_json_holds_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = checked(monkeypatch, ReadOnlyCluster(TROUBLED), "-o", "json")
    report = json.loads(out)
    assert code == 1
    assert report["queues"][0] == {
        "name": "code-cluster-queue",
        "gpuQuota": 8,
        "gpuUsage": 16,
        "admittedWorkloads": 1,
        "pendingWorkloads": 0,
    }
    gpus = {
        "resource": GPU,
        "total": 32,
        "unschedulable": 8,
        "schedulable": 24,
        "nominalQuota": 16,
        "slackQuota": 8,
        "totalQuota": 24,
        "usage": 20,
        "borrowed": 8,
    }
    assert (report["gpus"], report["resources"]) == (gpus, [gpus])
    assert report["findings"][0] == {
        "severity": "warning",
        "about": "node gpu-3",
        "message": "8 nvidia.com/gpu cannot be scheduled"
        " (autopilot.ibm.com/gpuhealth=ERR, NoSchedule)",
        "advice": "",
    }
    assert [each["severity"] for each in report["findings"]].count("note") == 1
    assert (len(report["findings"]), report["unread"]) == (5, [])


def test_lists_are_asked_for_once_and_pods_only_as_far_as_they_hold_something(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = ReadOnlyCluster(SOUND)
    checked(monkeypatch, client)
    assert sorted(client.listed) == [
        ("clusterqueues", None, ""),
        ("localqueues", None, ""),
        ("nodes", None, ""),
        ("pods", None, "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"),
        ("priorityclasses", None, ""),
        ("resourceflavors", None, ""),
        ("workloads", None, ""),
    ]


def test_watch_reads_again_until_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    client = ReadOnlyCluster(SOUND)
    assert checked(monkeypatch, client, "--watch", rounds=2) == (130, EXAMPLE * 2, "")


def test_mine_needs_no_right_beyond_a_teams(monkeypatch: pytest.MonkeyPatch) -> None:
    forbidden = ("nodes", "pods", "configmaps", "resourceflavors", "namespaces")
    objects = [
        *SOUND,
        local_queue("code", "code-cluster-queue"),
        workload("waits", "code", conditions={"QuotaReserved": "False"}),
        workload("runs", "code", priority=1, conditions={"Admitted": "True"}),
        workload("over", "code", conditions={"Finished": "True"}),
        workload("theirs", "platform"),
    ]
    client = ReadOnlyCluster(objects, forbidden=forbidden)
    code, out, _ = checked(monkeypatch, client, "--mine")
    assert (code, out) == (
        0,
        """\
Namespace code

LOCAL QUEUE     CLUSTER QUEUE        ADMITTED   PENDING
default-queue   code-cluster-queue          1         2

RESOURCE         QUOTA   USED   FREE   BORROWED   MAY BORROW
nvidia.com/gpu       8     16      0          8            4

WORKLOAD           STATE      PRIORITY   ASKS FOR
AppWrapper runs    admitted   1          8 nvidia.com/gpu
AppWrapper waits   pending    5          8 nvidia.com/gpu
""",
    )
    assert {each[:2] for each in client.listed} == {
        ("clusterqueues", None),
        ("localqueues", "code"),
        ("workloads", "code"),
        ("priorityclasses", None),
    }


def test_mine_in_a_namespace_that_is_no_teams(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = checked(monkeypatch, ReadOnlyCluster(SOUND), "--mine", "-n", "elsewhere")
    assert (code, out) == (
        1,
        """\
Namespace elsewhere

No workload waits or runs.

WARNING: namespace elsewhere: it has no LocalQueue, so Kueue admits nothing here. Ask an admin to \
set up the team (appwrapper team create), or name another namespace with -n
""",
    )


@pytest.mark.parametrize("flag", ["--mine", "--install"])
def test_wide_is_about_the_whole_cluster(monkeypatch: pytest.MonkeyPatch, flag: str) -> None:
    code, out, err = checked(monkeypatch, ReadOnlyCluster(SOUND), flag, "-o", "wide")
    assert (code, out) == (2, "")
    assert err == "error: -o wide is about the whole cluster: leave out --mine and --install\n"


TEAM1 = [
    cluster_queue("team1-cluster-queue", 8, 8),
    cluster_queue("other-cluster-queue", 8, 4),
    local_queue("team1", "team1-cluster-queue"),
    workload("waits", created="2026-01-02T01:00:00Z"),
    workload("lost", queueName="nowhere"),
    workload("runs", conditions={"Admitted": "True"}),
    default_priority(),
]


@pytest.mark.parametrize(
    ("page", "objects", "code"),
    [("docs/admins/check.md", SOUND, 0), ("docs/users/check.md", TEAM1, 1)],
)
def test_the_pages_show_what_it_prints(
    monkeypatch: pytest.MonkeyPatch, page: str, objects: list[Any], code: int
) -> None:
    block = blocks_of(ROOT / page)[0]
    name, command, *argv = block.commands.split()
    assert (name, command) == ("appwrapper", "check")
    assert checked(monkeypatch, ReadOnlyCluster(objects), *argv) == (code, block.shown, "")

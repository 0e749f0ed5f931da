"""`appwrapper check` as it prints: the seeds' example to the character, warnings, exit codes."""

import io
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from cli import main as program
from cli.cluster import Cluster
from cli.terminal import Terminal
from shared.api.names import LABEL_USER
from shared.kube.client import KubeClient
from shared.kube.discovery import Discovery
from shared.process.clock import SystemClock
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.queues import (
    GPU,
    bound_pod,
    cluster_queue,
    default_priority,
    gpu_node,
    local_queue,
    operator_config,
    workload,
)
from tests.support.fakes.read_only_cluster import ReadOnlyCluster
from tests.support.manifests import ROOT
from tests.support.walkthrough import blocks_of

NOW = datetime(2026, 1, 2, 3, 20, tzinfo=UTC)
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
SOUND = [
    operator_config("appwrapper:\n  slackQueueName: slack-cluster-queue\n"),
    # Not in the order of their names.
    cluster_queue("platform-cluster-queue", 8, 4, admitted=4),
    cluster_queue("slack-cluster-queue", 8),
    cluster_queue("code-cluster-queue", 8, 16, admitted=1, borrowed=8),
    *(gpu_node(f"gpu-{number}") for number in range(3)),
    default_priority(),
]
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
never admits it. Submit it anew with the label
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
namespace, so Kueue never admits it. Submit it anew with the label
kueue.x-k8s.io/queue-name of one of: default-queue
WARNING: pod scratch/notebook: it holds 2 nvidia.com/gpu on its node (gpu-3;
autopilot.ibm.com/gpuhealth=ERR, NoSchedule) without quota: its namespace has no
LocalQueue. Move it into a team's namespace, or take its GPUs out of the quotas
NOTE: workload code/AppWrapper urgent: its priority is 10 (high-priority), above
the default of 5: it may preempt others of its ClusterQueue
"""


class _Clock(SystemClock):
    def __init__(self, rounds: int = 0) -> None:
        self.rounds = rounds

    def now(self) -> datetime:
        return NOW

    async def sleep(self, seconds: float) -> None:
        """Somebody presses Ctrl-C after some rounds."""
        assert seconds == 5.0
        self.rounds -= 1
        if self.rounds <= 0:
            raise KeyboardInterrupt


def checked(
    monkeypatch: pytest.MonkeyPatch,
    client: KubeClient,
    *argv: str,
    rounds: int = 0,
    namespace: str = "code",
    **environment: str,
) -> tuple[int, str, str]:
    """Exit code, output and errors of `appwrapper check ARGV`."""

    @asynccontextmanager
    async def reached(arguments: Any) -> AsyncIterator[Cluster]:
        yield Cluster(client, Discovery(client), _Clock(rounds), arguments.namespace or namespace)

    monkeypatch.setattr("cli.cluster.reached", reached)
    out, err = io.StringIO(), io.StringIO()
    code = program.main(["check", *argv], Terminal(io.StringIO(), out, err, environment))
    return code, out.getvalue(), err.getvalue()


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


def test_what_may_not_be_read_is_said_and_the_rest_is_shown(
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

CANNOT TELL: ConfigMap appwrapper-system/appwrapper-operator-config (defaults are assumed): you \
have no right to read this
CANNOT TELL: LocalQueues: you have no right to read this
CANNOT TELL: Nodes: you have no right to read this
CANNOT TELL: Workloads: you have no right to read this
CANNOT TELL: Pods: you have no right to read this

This is the admins' view. A team sees its own part with: appwrapper check --mine
"""
    )


def test_a_cluster_without_kueue(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = ("clusterqueues", "localqueues", "workloads", "resourceflavors")
    client = ReadOnlyCluster(SOUND, missing=missing)
    code, out, _ = checked(monkeypatch, client)
    assert code == 2
    absent = "the API server does not serve them: is Kueue installed?"
    assert f"CANNOT TELL: ClusterQueues: {absent}\n" in out
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
        ("appwrappers", None, ""),
        ("clusterqueues", None, ""),
        ("localqueues", None, ""),
        ("nodes", None, ""),
        ("pods", None, "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"),
        ("priorityclasses", None, ""),
        ("resourceflavors", None, ""),
        ("workloads", None, ""),
    ]


LATCHES = (
    '{"nvidia.com/gpu": {"gpu-1": {"uid": "gpu-1", "label": "autopilot.ibm.com/gpuhealth=EVICT", '
    '"since": "2026-01-02T02:00:00Z", "goneAt": "2026-01-02T03:00:00Z"}}}'
)


def latching(record: str) -> ReadOnlyCluster:
    """The example's cluster with a latch of 12 h."""
    config_map = {
        "kind": "ConfigMap",
        "metadata": {
            "name": "appwrapper-node-health",
            "namespace": "appwrapper-system",
            "uid": "u",
            "resourceVersion": "7",
        },
        "data": {"latches": record},
    }
    configured = operator_config(
        "appwrapper:\n  slackQueueName: slack-cluster-queue\n  nodeHealth: {latch: 12h}\n"
    )
    return ReadOnlyCluster([configured, config_map, *SOUND[1:]])


def test_a_latched_node_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = checked(monkeypatch, latching(LATCHES), COLUMNS="160")
    assert (code, err) == (1, "")
    assert "Unschedulable GPU count:         -  8\n" in out
    told = (
        "8 nvidia.com/gpu cannot be scheduled (autopilot.ibm.com/gpuhealth=EVICT is gone, latched)"
    )
    assert f"WARNING: node gpu-1: {told}\n" in out


def test_latches_that_cannot_be_read_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = checked(monkeypatch, latching("["), COLUMNS="160")
    place = "ConfigMap appwrapper-system/appwrapper-node-health (latched nodes)"
    assert code == 2
    assert f"CANNOT TELL: {place}: JSONDecodeError" in out


@pytest.mark.parametrize(("users", "code"), [(("alice", "bob"), 1), (("alice", "alice"), 0)])
def test_a_node_that_several_users_suspect_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, users: tuple[str, str], code: int
) -> None:
    entry = {"node": "gpu-2", "since": "2026-01-02T03:00:00Z", "pod": "p", "attempt": 1}
    suspecting = [
        appwrapper(f"train-{index}", namespace="code", labels={LABEL_USER: user})
        | {"status": {"suspectNodes": [entry]}}
        for index, user in enumerate(users)
    ]
    found, out, _ = checked(monkeypatch, ReadOnlyCluster([*SOUND, *suspecting]))
    warning = (
        "WARNING: node gpu-2: AppWrappers of 2 users failed first on it within a day"
        " (code/train-0, code/train-1): check its hardware\n"
    )
    assert (found, warning in out.replace("check its\nhardware", "check its hardware")) == (
        code,
        code == 1,
    )


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (
            {"forbidden": ("appwrappers",)},
            "CANNOT TELL: AppWrappers (suspect nodes): you have no right to read this\n",
        ),
        ({"missing": ("appwrappers",)}, ""),
    ],
)
def test_appwrappers_that_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, refusal: dict[str, Any], said: str
) -> None:
    code, out, _ = checked(monkeypatch, ReadOnlyCluster(SOUND, **refusal))
    assert (code, "AppWrappers" in out) == ((2, True) if said else (0, False))
    assert said in out


def test_watch_looks_again_until_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
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
    ("page", "objects", "code"), [("docs/check.md", SOUND, 0), ("docs/users/check.md", TEAM1, 1)]
)
def test_the_pages_show_what_it_prints(
    monkeypatch: pytest.MonkeyPatch, page: str, objects: list[Any], code: int
) -> None:
    block = blocks_of(ROOT / page)[0]
    name, command, *argv = block.commands.split()
    assert (name, command) == ("appwrapper", "check")
    assert checked(monkeypatch, ReadOnlyCluster(objects), *argv) == (code, block.shown, "")

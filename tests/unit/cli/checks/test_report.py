"""Quota sums against what nodes have, and pods without quota."""

from datetime import UTC, datetime
from typing import Any

import pytest

from cli.checks.findings import FindingSeverity
from cli.checks.nodes import node_of
from cli.checks.report import ClusterReport, Observed, cluster_report
from cli.checks.workloads import holding_pods, workload_facts
from cli.cluster.kueue import local_queue_of
from shared.api.objects import JsonObject
from shared.config.configuration import AppWrapperConfig
from tests.support.builders.effective_quotas import orchestrated
from tests.support.builders.queues import (
    GPU,
    bound_pod,
    cluster_queue,
    gpu_node,
    local_queue,
    workload,
)

NOW = datetime(2026, 1, 2, tzinfo=UTC)
SLACK = "slack-cluster-queue"


def report(
    queues: list[JsonObject],
    nodes: list[JsonObject] | None = None,
    *,
    slack: str = SLACK,
    local_queues: list[JsonObject] | None = None,
    **lists: list[JsonObject],
) -> ClusterReport:
    config = AppWrapperConfig.model_validate({"slackQueue": {"name": slack}})
    taints = config.autopilot.resource_taints
    nodes = nodes if nodes is not None else [gpu_node(f"n{each}") for each in range(3)]
    seen = Observed(
        config=config,
        nodes=tuple(node_of(each, taints) for each in nodes),
        cluster_queues=tuple(queues),
        local_queues=tuple(map(local_queue_of, local_queues or [])),
        workloads=tuple(map(workload_facts, lists.get("workloads", []))),
        pods=tuple(holding_pods(lists.get("pods", []))),
        default_priority=5,
        tolerations=(),
    )
    return cluster_report(seen, NOW)


def lines_of(*arguments: Any, **options: Any) -> list[str]:
    return [each.line for each in report(*arguments, **options).findings]


def closed(name: str) -> JsonObject:
    return gpu_node(name, spec={"unschedulable": True})


@pytest.mark.parametrize(
    ("team", "slack", "nodes", "expected"),
    [
        pytest.param(16, {}, None, [], id="nominal and slack are what the nodes have"),
        pytest.param(
            16,
            {"lendingLimit": 0},
            [gpu_node("a"), gpu_node("b"), closed("c")],
            [f"node c: 8 {GPU} cannot be scheduled (cordoned)"],
            id="the slack queue lends what can be scheduled",
        ),
        pytest.param(
            16,
            {},
            [gpu_node("a"), gpu_node("b"), closed("c")],
            [
                f"node c: 8 {GPU} cannot be scheduled (cordoned)",
                f"quota of {GPU}: 24 {GPU} can be lent or used, and 16 {GPU} can be scheduled."
                f" The controller sets lendingLimit: 0 in ClusterQueue {SLACK}"
                " within a minute; if it does not, read the Events there",
            ],
            id="the slack queue lends too much",
        ),
        pytest.param(
            16,
            {"lendingLimit": 0},
            None,
            [
                f"quota of {GPU}: 16 {GPU} can be lent or used, and 24 {GPU} can be scheduled."
                f" The controller sets lendingLimit: 8 in ClusterQueue {SLACK}"
                " within a minute; if it does not, read the Events there"
            ],
            id="the slack queue lends too little",
        ),
        pytest.param(
            16,
            {"lendingLimit": 0},
            [gpu_node("a"), closed("b"), closed("c")],
            [
                f"node b: 8 {GPU} cannot be scheduled (cordoned)",
                f"node c: 8 {GPU} cannot be scheduled (cordoned)",
                f"quota of {GPU}: the teams' ClusterQueues promise 16 {GPU}, and only 8 {GPU} can"
                " be scheduled. Reduce their nominalQuota by 8 together, or bring nodes back",
            ],
            id="the teams' quota is more than can be scheduled",
        ),
        pytest.param(
            8,
            {},
            None,
            [
                f"quota of {GPU}: no ClusterQueue has quota for 8 {GPU} of the nodes' 24."
                f" Give it to a team or to {SLACK}"
            ],
            id="too little quota",
        ),
        pytest.param(
            24,
            {"lendingLimit": 0},
            None,
            [
                f"quota of {GPU}: the nominal quotas, {SLACK} included, are 32 {GPU}, and the nodes"
                f" have 24 {GPU}. Reduce the nominalQuota of {SLACK} by 8"
            ],
            id="too much slack",
        ),
    ],
)
def test_quota_against_capacity(
    team: int, slack: dict[str, Any], nodes: list[JsonObject] | None, expected: list[str]
) -> None:
    assert (
        lines_of([cluster_queue("team", team), cluster_queue(SLACK, 8, **slack)], nodes) == expected
    )


def test_quotas_that_an_orchestrator_sets_count_and_are_named_once() -> None:
    teams = [orchestrated(cluster_queue(name, 5), of=cluster_queue("", 8)) for name in ("a", "b")]
    slack = cluster_queue(SLACK, 8)
    found = report([*teams, slack])
    assert found.gpus.nominal_quota == 16
    [note] = found.findings
    assert note.severity is FindingSeverity.NOTE
    assert note.line == (
        "DynamicQuotaOrchestrator production-capacity: it sets the quota of a, b: this report"
        " shows status.effectiveQuotas, not spec.resourceGroups. Kueue uses these quotas only with"
        " its feature gate DynamicQuotaOrchestration"
    )


def test_sums_of_several_flavors_are_not_judged_as_one() -> None:
    """A flavor that teams have too much of takes nothing from what another lends."""
    slack = cluster_queue(SLACK, 8, lendingLimit=0)
    [group] = slack["spec"]["resourceGroups"]
    group["flavors"].append({**group["flavors"][0], "name": "other"})
    assert lines_of([cluster_queue("team", 8), slack]) == []


def test_without_a_slack_queue_only_the_teams_count() -> None:
    found = report([cluster_queue("team", 24), cluster_queue(SLACK, 0)], slack="")
    assert [each.name for each in found.queues] == [SLACK, "team"]
    assert found.gpus.nominal_quota == 24
    assert found.gpus.slack_quota == 0
    assert found.findings == ()


def test_the_slack_queue_is_in_usage_but_not_in_the_table() -> None:
    queues = [cluster_queue("team", 16, 4), cluster_queue(SLACK, 8, 2, borrowed=1)]
    found = report(queues)
    assert [each.name for each in found.queues] == ["team"]
    assert found.gpus.usage == 6
    assert found.gpus.borrowed == 1


def test_queues_that_admit_nothing() -> None:
    local = local_queue("team1", "team")
    local["status"]["conditions"] = [{"type": "Active", "status": "False", "message": "no queue"}]
    assert lines_of(
        [cluster_queue("team", 24, active="it is held")], slack="", local_queues=[local]
    ) == [
        "ClusterQueue team: it admits nothing: it is held",
        "LocalQueue team1/default-queue: its workloads wait: no queue",
    ]


def test_pods_without_quota_are_those_in_namespaces_without_a_local_queue() -> None:
    pods = [
        bound_pod("team1", "counted", "n0", 8),
        bound_pod("notebooks", "idle", "n0", 1),
        bound_pod("openshift-monitoring", "theirs", "n0", 1),
        bound_pod("notebooks", "none", "n0", 0),
    ]
    pods[1]["spec"]["initContainers"] = [{"resources": {"limits": {GPU: "2"}}}]
    ended = bound_pod("notebooks", "over", "n0", 1)
    ended["status"]["phase"] = "Succeeded"
    found = lines_of(
        [cluster_queue("team", 24)],
        slack="",
        local_queues=[local_queue("team1", "team")],
        pods=[*pods, ended],
    )
    assert found == [
        f"pod notebooks/idle: it holds 2 {GPU} on its node (n0) without quota: its namespace has no"
        " LocalQueue. Move it into a team's namespace, or take its GPUs out of the quotas"
    ]


def test_workloads_of_namespaces_without_local_queues_and_of_openshift_are_not_judged() -> None:
    workloads = [
        workload("a", namespace, queueName="nowhere")
        for namespace in ("team1", "elsewhere", "openshift-x")
    ]
    found = lines_of(
        [cluster_queue("team", 24)],
        slack="",
        local_queues=[local_queue("team1", "team"), local_queue("openshift-x", "team")],
        workloads=workloads,
    )
    assert [each.split(":")[0] for each in found] == ["workload team1/AppWrapper a"]


def test_a_queue_that_only_lends_without_being_the_slack_queue_is_a_note() -> None:
    teams, fed = cluster_queue("team", 16, 0), [local_queue("team1", "team")]
    lends = cluster_queue(SLACK, 8)
    expected = [
        f"ClusterQueue {SLACK}: no LocalQueue feeds it, so it only lends, as a slack queue does,"
        " but slackQueue.name does not name it: it goes on lending what nodes lose. Set"
        f" slackQueue.name: {SLACK} in the operator's configuration, or create a LocalQueue for"
        " its team"
    ]
    for slack, found in (("", expected), ("other", expected), (SLACK, [])):
        assert lines_of([teams, lends], slack=slack, local_queues=fed) == found
    (note,) = report([teams, lends], slack="", local_queues=fed).findings
    assert note.severity is FindingSeverity.NOTE
    both = [*fed, local_queue("team2", SLACK)]
    assert lines_of([teams, lends], slack="", local_queues=both) == []
    alone = {**lends, "spec": {**lends["spec"], "cohort": "", "cohortName": ""}}
    assert lines_of([teams, alone], slack="", local_queues=fed) == []

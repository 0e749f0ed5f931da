"""The report about a team, and each problem that it names."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from cli.cluster.kueue import LocalQueue, Quota
from cli.cluster.unread import Unread, objects
from cli.teams.team_report import Member, TeamObjects, team_report, teams_of
from shared.api.objects import JsonObject
from shared.config.configuration import AppWrapperConfig, Configuration
from shared.config.fault_tolerance import SlackQueue
from tests.support.builders.teams import GPU, team

CONFIG = Configuration()
UNREAD = Unread("objects of the cluster", "no right to list them")


def seen(**changes: Any) -> TeamObjects:
    by_kind = {each["kind"]: each for each in team("team1")}
    whole = TeamObjects(
        team="team1",
        config=CONFIG,
        namespace=by_kind["Namespace"],
        queues=(by_kind["ClusterQueue"], *(one for one in team("team2") if _is_queue(one))),
        local_queues=(by_kind["LocalQueue"],),
        bindings=(by_kind["RoleBinding"],),
        viewer_binding=by_kind["ClusterRoleBinding"],
        appwrappers=(),
        resource_quotas=(),
    )
    return replace(whole, **changes)


def _is_queue(item: JsonObject) -> bool:
    return bool(item["kind"] == "ClusterQueue")


def test_a_team_in_order() -> None:
    whole = seen()
    queue, (local,) = objects(whole.queues)[0], objects(whole.local_queues)
    quota = queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    quota[2] |= {"borrowingLimit": 8, "lendingLimit": 0}
    usage = {"name": GPU, "total": "72", "borrowed": "8"}
    queue["status"] = {"flavorsUsage": [{"name": "default-flavor", "resources": [usage]}]}
    local["status"] = {"admittedWorkloads": 3, "pendingWorkloads": 2}
    phases = ["Running", "Succeeded", "Running", None]
    appwrappers = tuple({"status": {"phase": each} if each else {}} for each in phases)
    found = team_report(replace(whole, appwrappers=appwrappers))
    assert (found.labelled, found.cluster_queue, found.cohort) == (
        True,
        "team1-cluster-queue",
        "default-cohort",
    )
    assert found.quotas is not None
    assert found.quotas[2] == Quota(
        flavor="default-flavor",
        resource=GPU,
        nominal=Decimal(64),
        used=Decimal(72),
        borrowed=Decimal(8),
        borrowing_limit=Decimal(8),
        lending_limit=Decimal(0),
    )
    queues = (LocalQueue("team1", "default-queue", "team1-cluster-queue", "", 3, 2),)
    assert found.local_queues == queues
    assert found.users == (Member("group team1-edit-group", "mlbatch-edit", "team1-edit"),)
    assert found.app_wrappers == {"New": 1, "Running": 2, "Succeeded": 1}
    assert found.warnings == ()


def test_unreadable_parts_are_neither_missing_nor_wrong() -> None:
    blind = TeamObjects(
        team="team1",
        config=CONFIG,
        namespace=UNREAD,
        queues=UNREAD,
        local_queues=UNREAD,
        bindings=UNREAD,
        viewer_binding=UNREAD,
    )
    found = team_report(blind)
    assert (found.quotas, found.local_queues, found.users, found.app_wrappers) == (None,) * 4
    assert (found.labelled, found.stop_policy, found.warnings) == (None, None, ())


def changed(kind: str, change: Callable[[JsonObject], None]) -> TeamObjects:
    """With another object of that Kind."""
    whole = seen()
    field = {
        "Namespace": "namespace",
        "ClusterQueue": "queues",
        "LocalQueue": "local_queues",
        "RoleBinding": "bindings",
    }[kind]
    value = deepcopy(getattr(whole, field))
    change(value[0] if isinstance(value, tuple) else value)
    return replace(whole, **{field: value})


def _other_feeder() -> TeamObjects:
    whole = seen()
    [own] = objects(whole.local_queues)
    other = deepcopy(own)
    other["metadata"] |= {"namespace": "team2"}
    return replace(whole, local_queues=(own, other))


WRONG: dict[str, tuple[TeamObjects, list[str]]] = {
    "no namespace": (
        seen(namespace=None, local_queues=(), bindings=(), viewer_binding=None),
        [
            "namespace team1 does not exist: finish its deletion with `appwrapper team delete"
            " team1`, or make it with `appwrapper team create team1`"
        ],
    ),
    "being deleted": (
        changed("Namespace", lambda it: it["metadata"].update(deletionTimestamp="now")),
        ["namespace team1 is being deleted: `appwrapper team delete team1` finishes it"],
    ),
    "no label": (
        changed("Namespace", lambda it: it["metadata"].pop("labels")),
        [
            "namespace team1 lacks the label of teams: Kueue does not queue its workloads."
            " `appwrapper team create team1 --adopt` sets it"
        ],
    ),
    "no LocalQueue": (
        seen(local_queues=()),
        [
            "the namespace has no LocalQueue: workloads that name no queue are never admitted."
            " `appwrapper team create team1` makes it"
        ],
    ),
    "another LocalQueue only": (
        changed("LocalQueue", lambda it: it["metadata"].update(name="own")),
        [
            "the namespace has no LocalQueue default-queue: workloads that name no queue are"
            " never admitted. `appwrapper team create team1` makes it"
        ],
    ),
    "a LocalQueue that leads nowhere": (
        changed("LocalQueue", lambda it: it["spec"].update(clusterQueue="gone")),
        ["ClusterQueue gone of LocalQueue default-queue does not exist. An admin must create it"],
    ),
    "a stopped LocalQueue": (
        changed("LocalQueue", lambda it: it["spec"].update(stopPolicy="HoldAndDrain")),
        [
            "an admin stopped LocalQueue default-queue (stopPolicy: HoldAndDrain). Kueue admits"
            " from it again when stopPolicy is None"
        ],
    ),
    "a stopped ClusterQueue": (
        changed("ClusterQueue", lambda it: it["spec"].update(stopPolicy="Hold")),
        [
            "an admin stopped ClusterQueue team1-cluster-queue (stopPolicy: Hold). Kueue admits"
            " from it again when stopPolicy is None"
        ],
    ),
    "an inactive ClusterQueue": (
        changed(
            "ClusterQueue",
            lambda it: it.update(
                status={
                    "conditions": [
                        {"type": "Active", "status": "False", "reason": "R", "message": "Why."}
                    ]
                }
            ),
        ),
        ["ClusterQueue team1-cluster-queue is inactive (R): Why"],
    ),
    "a stopped ClusterQueue without a LocalQueue": (
        replace(
            changed("ClusterQueue", lambda it: it["spec"].update(stopPolicy="Hold")),
            local_queues=Unread("localqueues", "no right to list them"),
        ),
        [
            "an admin stopped ClusterQueue team1-cluster-queue (stopPolicy: Hold). Kueue admits"
            " from it again when stopPolicy is None"
        ],
    ),
    "both queues stopped": (
        replace(
            changed("ClusterQueue", lambda it: it["spec"].update(stopPolicy="Hold")),
            local_queues=changed(
                "LocalQueue", lambda it: it["spec"].update(stopPolicy="Hold")
            ).local_queues,
        ),
        [
            "an admin stopped LocalQueue default-queue (stopPolicy: Hold). Kueue admits from it"
            " again when stopPolicy is None",
            "an admin stopped ClusterQueue team1-cluster-queue (stopPolicy: Hold). Kueue admits"
            " from it again when stopPolicy is None",
        ],
    ),
    "a LocalQueue that feeds nothing": (
        changed("LocalQueue", lambda it: it["spec"].clear()),
        ["LocalQueue default-queue names no ClusterQueue. An admin must set spec.clusterQueue"],
    ),
    "another namespace": (
        _other_feeder(),
        [
            "LocalQueue team2/default-queue feeds ClusterQueue team1-cluster-queue too: another"
            " namespace uses this team's quota"
        ],
    ),
    "no users": (
        seen(bindings=()),
        [
            "no role is bound in the namespace: only cluster admins can use it."
            " `appwrapper team create team1 --user NAME` adds a user"
        ],
    ),
    "no view of quota": (
        seen(viewer_binding=None),
        [
            "there is no ClusterRoleBinding team1-queue-viewer: users cannot see quota and"
            " priorities. `appwrapper team create team1` binds appwrapper-queue-viewer"
        ],
    ),
    "a user without a view of quota": (
        changed("RoleBinding", lambda it: it["subjects"].append({"kind": "User", "name": "bob"})),
        [
            "user bob is not in ClusterRoleBinding team1-queue-viewer, and cannot see quota and"
            " priorities"
        ],
    ),
    "a ResourceQuota": (
        seen(resource_quotas=({"metadata": {"name": "limits"}},)),
        [
            "ResourceQuota limits limits the namespace: a workload that Kueue has admitted may fail"
            " to create its pods. Delete the ResourceQuota: Kueue limits the team"
        ],
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_problem_is_reported_with_the_next_step(case: str) -> None:
    observed, message = WRONG[case]
    assert list(team_report(observed).warnings) == message


def test_a_queue_without_an_active_condition_is_no_problem() -> None:
    whole = changed("ClusterQueue", lambda it: it.update(status={"conditions": []}))
    assert team_report(whole).warnings == ()


def test_teams_are_labelled_namespaces_and_what_was_left_of_some() -> None:
    namespaces = [
        *(one for name in ("team1", "team2") for one in team(name) if one["kind"] == "Namespace"),
        {"metadata": {"name": "default"}},
    ]
    queues = [
        {"metadata": {"name": name}}
        for name in (
            "team2-cluster-queue",
            "gone-cluster-queue",
            "slack-cluster-queue",
            "default-cluster-queue",
            "-cluster-queue",
            "other",
        )
    ]
    slack = SlackQueue(name="slack-cluster-queue")
    config = Configuration(appwrapper=AppWrapperConfig(slack_queue=slack))
    assert teams_of(namespaces, queues, config) == ["gone", "team1", "team2"]

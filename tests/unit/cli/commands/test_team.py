"""`appwrapper team list|show|delete`: what people read, and what is deleted."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from cli.command import ExitCode
from shared.api.objects import JsonObject
from shared.kube.client import ApiError, Forbidden
from tests.support.builders.teams import team
from tests.support.fakes.team_session import HastyClock, empty, with_team
from tests.support.fakes.team_session import team as runs

UNREAD_CONFIGURATION = (
    "the operator's configuration cannot be read: etcd has no leader. Give it with --config FILE"
)


async def test_list_shows_every_team() -> None:
    other = deepcopy(team("team2", gpus=0)[0])
    client = with_team(other)
    ended = await runs(client, "list")
    assert (ended.code, ended.out) == (
        ExitCode.FINE,
        """\
TEAM    CLUSTERQUEUE          nvidia.com/gpu USED/QUOTA   ADMITTED   PENDING   USERS
team1   team1-cluster-queue                        0/64          0         0   group\
 team1-edit-group
team2   none                                          -          0         0   none

WARNING: team2: the namespace has no LocalQueue: workloads that name no queue are never admitted.\
 `appwrapper team create team2` makes it.
WARNING: team2: no role is bound in the namespace: only cluster admins can use it.\
 `appwrapper team create team2 --user NAME` adds a user.
""",
    )
    wide = await runs(client, "list", "-o", "wide")
    assert "memory USED/QUOTA" in wide.out
    assert "0/8800Gi" in wide.out
    report = json.loads((await runs(client, "list", "-o", "json")).out)
    assert [each["team"] for each in report["teams"]] == ["team1", "team2"]


@pytest.mark.parametrize("columns", ["60", "80", "120"])
async def test_a_narrow_terminal_cuts_off_no_number(columns: str) -> None:
    client = with_team()
    for words in (["list", "-o", "wide"], ["show", "team1"]):
        whole = await runs(client, *words)
        folded = await runs(client, *words, COLUMNS=columns)
        assert sorted("".join(folded.out.split())) == sorted("".join(whole.out.split()))


async def test_list_reports_unreadable_parts() -> None:
    ended = await runs(with_team(forbidden=[("list", "rolebindings")]), "list")
    assert (
        ended.out
        == """\
TEAM    CLUSTERQUEUE          nvidia.com/gpu USED/QUOTA   ADMITTED   PENDING   USERS
team1   team1-cluster-queue                        0/64          0         0   ?

WARNING: not shown: rolebindings of the cluster: no right to list them.
"""
    )


async def test_list_without_a_team() -> None:
    ended = await runs(empty(), "list")
    assert ended.out == "There is no team. `appwrapper team create NAME` makes one.\n"


SHOWN = """\
Team:          team1
Namespace:     labelled as a team's
ClusterQueue:  team1-cluster-queue
Cohort:        default-cohort
AppWrappers:   1 Running

FLAVOR           RESOURCE               QUOTA   USED   BORROWED
default-flavor   cpu                      640      0          0
default-flavor   memory                8800Gi      0          0
default-flavor   nvidia.com/gpu            64      0          0
default-flavor   nvidia.com/roce_gdr       16      0          0
default-flavor   pods                     800      0          0

LOCALQUEUE      FEEDS                 STOPPED   ADMITTED   PENDING
default-queue   team1-cluster-queue   no               0         0

USER OR GROUP            ROLE           BOUND BY
group team1-edit-group   mlbatch-edit   team1-edit
"""
TRAIN = {
    "kind": "AppWrapper",
    "metadata": {"name": "train", "namespace": "team1"},
    "status": {"phase": "Running"},
}


async def test_show() -> None:
    ended = await runs(with_team(TRAIN), "show", "team1")
    assert (ended.code, ended.out) == (ExitCode.FINE, SHOWN)


async def test_show_warns_with_an_exit_code_of_its_own() -> None:
    client = with_team(TRAIN)
    client.one("ClusterQueue", "team1-cluster-queue")["spec"]["stopPolicy"] = "Hold"
    ended = await runs(client, "show", "team1")
    assert (ended.code, ended.out) == (
        ExitCode.WANTING,
        SHOWN
        + "\nWARNING: an admin stopped ClusterQueue team1-cluster-queue (stopPolicy: Hold). Kueue"
        " admits from it again when stopPolicy is None.\n",
    )


async def test_show_of_no_team() -> None:
    ended = await runs(with_team(), "show", "nobody")
    assert (ended.code, ended.error) == (
        ExitCode.UNABLE,
        "there is no team nobody: namespace nobody does not exist. `appwrapper team list` shows"
        " all teams",
    )


WITH_DATA = {
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "checkpoints", "namespace": "team1"},
    "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "2Ti"}}},
}
ENDED = {**TRAIN, "status": {"phase": "Succeeded"}}
TO_BE_DELETED = """\
To be deleted, in this order:
  ClusterRoleBinding team1-queue-viewer
  Namespace team1
    with everything in it
    AppWrappers that have ended: 1
    DATA in PersistentVolumeClaim checkpoints: 2Ti of storage class fast
  ClusterQueue team1-cluster-queue
"""
DELETIONS = [
    "delete ClusterRoleBinding team1-queue-viewer",
    "delete Namespace team1",
    "delete ClusterQueue team1-cluster-queue",
]


async def test_delete_asks_a_person_for_the_teams_name() -> None:
    client = with_team(ENDED, WITH_DATA)
    wrong = await runs(client, "delete", "team1", typed="yes\n")
    assert (wrong.code, wrong.out, wrong.error) == (
        ExitCode.WANTING,
        TO_BE_DELETED,
        "team team1 was not deleted",
    )
    assert client.writes == []
    right = await runs(client, "delete", "team1", typed="team1\n")
    assert (right.code, right.out) == (
        ExitCode.FINE,
        f"{TO_BE_DELETED}Team team1 was deleted.\n",
    )
    assert client.writes == DELETIONS


async def test_delete_asks_no_question_in_a_pipe() -> None:
    client = with_team()
    for output in ("text", "json"):
        ended = await runs(client, "delete", "team1", "-o", output)
        assert (ended.code, ended.error) == (
            ExitCode.UNABLE,
            "team team1 was not deleted: you must confirm it in a terminal, with -o text. Or add"
            " --yes to delete it without confirmation",
        )
    assert client.writes == []
    ended = await runs(client, "delete", "team1", "--yes", "-o", "json")
    assert ended.code == ExitCode.FINE
    assert [each["kind"] for each in json.loads(ended.out)["targets"]] == [
        "ClusterRoleBinding",
        "Namespace",
        "ClusterQueue",
    ]
    assert client.writes == DELETIONS


async def test_delete_is_refused_while_something_runs() -> None:
    client = with_team(TRAIN)
    ended = await runs(client, "delete", "team1", "--yes")
    assert (ended.code, ended.out, ended.error) == (
        ExitCode.WANTING,
        "Team team1 has workloads that run or wait:\n  AppWrapper train (Running)\n",
        "team team1 was not deleted: end its workloads first, as with `kubectl delete appwrappers"
        " --all -n team1`",
    )
    assert client.writes == []


async def test_objects_submitted_before_the_confirmation_are_not_deleted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = with_team()

    def types(*_: object) -> None:
        client.put(TRAIN)

    monkeypatch.setattr("cli.commands.team._ask", types)
    ended = await runs(client, "delete", "team1")
    assert ended.code == ExitCode.WANTING
    assert ended.out.endswith("that run or wait:\n  AppWrapper train (Running)\n")
    assert client.writes == []


async def test_a_dry_run_of_delete() -> None:
    client = with_team(ENDED, WITH_DATA)
    ended = await runs(client, "delete", "team1", "--dry-run")
    assert (ended.code, ended.out, client.writes) == (ExitCode.FINE, TO_BE_DELETED, [])


@pytest.mark.parametrize("gone", range(3))
async def test_a_deletion_that_was_killed_is_finished_by_another(gone: int) -> None:
    client = with_team()
    places = [("ClusterRoleBinding", "team1-queue-viewer"), ("Namespace", "team1")]
    for kind, name in places[:gone]:
        del client.objects[kind, "", name]
    ended = await runs(client, "delete", "team1", "--yes")
    assert (ended.code, client.writes) == (ExitCode.FINE, DELETIONS[gone:])


async def test_nothing_left_is_no_team() -> None:
    ended = await runs(empty(), "delete", "team1", "--yes")
    assert (ended.code, ended.error) == (
        ExitCode.UNABLE,
        "there is no team team1: neither namespace team1 nor ClusterQueue team1-cluster-queue"
        " exists. `appwrapper team list` shows all teams",
    )


async def test_a_namespace_that_is_no_teams_is_not_deleted() -> None:
    client = empty()
    client.put({"kind": "Namespace", "metadata": {"name": "monitoring"}})
    ended = await runs(client, "delete", "monitoring", "--yes")
    assert (ended.code, ended.error) == (
        ExitCode.WANTING,
        "namespace monitoring is not a team's: it lacks the label of teams. Nothing was deleted",
    )
    assert client.writes == []


def configured(text: str) -> JsonObject:
    return {
        "kind": "ConfigMap",
        "metadata": {"name": "appwrapper-operator-config", "namespace": "appwrapper-system"},
        "data": {"config.yaml": text},
    }


@pytest.mark.parametrize("name", ["kube-system", "kueue-system", "default"])
async def test_cluster_scoped_objects_are_never_deleted(
    name: str,
) -> None:
    client = empty()
    client.put(configured("appwrapper: {teamNamespaceSelector: {}}"))
    client.put({"kind": "Namespace", "metadata": {"name": name}})
    ended = await runs(client, "delete", name, "--yes")
    assert (ended.code, ended.error) == (
        ExitCode.WANTING,
        f"namespace {name} belongs to the cluster: nothing was deleted",
    )
    assert client.writes == []


async def test_the_slack_queue_is_not_deleted_as_what_a_team_left() -> None:
    client = empty()
    client.put(configured("appwrapper: {slackQueue: {name: slack-cluster-queue}}"))
    client.put({"kind": "ClusterQueue", "metadata": {"name": "slack-cluster-queue"}})
    ended = await runs(client, "delete", "slack", "--yes")
    assert (ended.code, ended.error) == (
        ExitCode.WANTING,
        "ClusterQueue slack-cluster-queue is the slack queue: nothing was deleted",
    )
    assert client.writes == []


async def test_a_namespace_that_stays_is_awaited_and_its_obstacle_reported() -> None:
    client = with_team()
    content = {"type": "NamespaceContentRemaining", "status": "True", "message": "Some pods remain"}

    def stays(item: JsonObject) -> None:
        if item["kind"] == "Namespace":
            meta = {**item["metadata"], "deletionTimestamp": "now"}
            client.put({**item, "metadata": meta, "status": {"conditions": [content]}})

    client.on_delete = stays
    clock = HastyClock()
    ended = await runs(client, "delete", "team1", "--yes", "--timeout", "10", clock=clock)
    assert (ended.code, ended.error) == (
        ExitCode.UNABLE,
        "Namespace team1 is still being deleted: Some pods remain. Run this again to wait for it"
        " and finish",
    )
    assert clock.monotonic() == 10
    assert client.writes == DELETIONS[:2]


async def test_delete_needs_rights() -> None:
    client = with_team(forbidden=[("delete", "clusterqueues")])
    ended = await runs(client, "delete", "team1", "--yes")
    assert (ended.code, ended.error) == (
        ExitCode.UNABLE,
        "nothing was deleted: you lack the right to delete clusterqueues of the cluster. Teams are"
        " deleted by cluster admins: ask one",
    )
    assert client.writes == []


@pytest.mark.parametrize(
    ("cluster", "problem"),
    [
        ({"failing": [("get", "configmaps")]}, UNREAD_CONFIGURATION),
        (
            {"forbidden": [("get", "configmaps")]},
            "you lack a right that team delete needs, to read the operator's configuration"
            " (or give it with --config FILE). Ask a cluster admin",
        ),
    ],
)
async def test_nothing_is_deleted_without_the_operators_configuration(
    cluster: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    """Otherwise the slack queue would have its default name."""
    client = empty(**cluster)
    client.put({"kind": "ClusterQueue", "metadata": {"name": "slack-cluster-queue"}})
    ended = await runs(client, "delete", "slack", "--yes")
    assert (ended.code, ended.error) == (ExitCode.UNABLE, problem)
    assert client.writes == []
    file = tmp_path / "config.yaml"
    file.write_text("appwrapper: {slackQueue: {name: slack-cluster-queue}}")
    ended = await runs(client, "delete", "slack", "--yes", "--config", str(file))
    assert "is the slack queue" in ended.error
    assert client.writes == []


@pytest.mark.parametrize("words", [("list",), ("show", "team1")])
async def test_an_unread_configuration_ends_a_report(words: tuple[str, ...]) -> None:
    ended = await runs(with_team(failing=[("get", "configmaps")]), *words)
    assert (ended.code, ended.error) == (ExitCode.UNABLE, UNREAD_CONFIGURATION)
    assert (await runs(with_team(forbidden=[("get", "configmaps")]), *words)).error == ""


@pytest.mark.parametrize("words", [("list",), ("show", "team1"), ("delete", "team1", "--yes")])
@pytest.mark.parametrize("plural", ["localqueues", "namespaces"])
async def test_a_failure_of_the_api_server_ends_the_command(
    words: tuple[str, ...], plural: str
) -> None:
    client = with_team(failing=[("list", plural), ("get", plural)])
    with pytest.raises(ApiError, match="etcd has no leader"):
        await runs(client, *words)
    assert client.writes == []


async def test_a_user_who_may_list_no_other_teams_queues_sees_the_own_ones() -> None:
    client = with_team()

    def only_of_a_namespace(verb: str, path: str) -> None:
        if path == "/apis/kueue.x-k8s.io/v1beta2/localqueues":
            raise Forbidden(403, "Forbidden", "")

    client._permit = only_of_a_namespace  # type: ignore[method-assign]
    ended = await runs(client, "show", "team1")
    assert "default-queue   team1-cluster-queue" in ended.out
    assert "not shown" not in ended.out

"""`appwrapper team` as admins and users type it: docs/admins/team.md."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from cli.command import ExitCode
from localcluster.access.probes import node_is_ready
from localcluster.access.running import RunningCluster
from localcluster.installers import kwok
from shared.api.conditions import is_true
from shared.api.objects import NAMESPACES, NODES, JsonObject
from tests.support.cluster.another_team import another_team, team_documents
from tests.support.cluster.life import exists
from tests.support.cluster.people import admin
from tests.support.cluster.removed import removed
from tests.support.cluster.resources import (
    CLUSTER_QUEUES,
    CLUSTER_ROLE_BINDINGS,
    RESOURCE_FLAVORS,
)
from tests.support.cluster.typed_command import environment_with_command
from tests.support.command import Ended, appwrapper
from tests.support.manifests import ROOT
from tests.support.manifests import TEAM as TEAM_FOLDER
from tests.support.patience import comes_to
from tests.support.team import FIRST_NODE, claim, own
from tests.support.walkthrough import Person, blocks_of

PAGE = blocks_of(ROOT / "docs" / "admins" / "team.md")
SECOND = [each for each in PAGE if each.heading.endswith(" the second team")]
TEAM = own("onboarded")
FIRST = own("first")
FLAVOR = own("onboarded-flavor")
COHORT = own("onboarded-cohort")
USERS = own("readers")
NODE_LABEL = "tests.localcluster.dev/team-command"
OURS, FIRSTS = (
    (
        (NAMESPACES, team),
        (CLUSTER_QUEUES, f"{team}-cluster-queue"),
        (CLUSTER_ROLE_BINDINGS, f"{team}-queue-viewer"),
    )
    for team in (TEAM, FIRST)
)


def node(number: int) -> JsonObject:
    """Of this file alone: a taint keeps all others' pods away."""
    made = kwok.node(FIRST_NODE + 40 + number, 8)
    made["metadata"]["labels"][NODE_LABEL] = FLAVOR
    made["spec"] = {"taints": [{"key": NODE_LABEL, "value": FLAVOR, "effect": "NoSchedule"}]}
    return made


@pytest_asyncio.fixture
async def two_nodes(cluster: RunningCluster) -> AsyncIterator[None]:
    """A flavor of two nodes, whose quotas are this test's alone."""
    claim(TEAM)
    claim(FIRST)
    nodes = [node(0), node(1)]
    flavor = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": FLAVOR},
        "spec": {"nodeLabels": {NODE_LABEL: FLAVOR}},
    }
    await cluster.apply([flavor, *nodes])
    names = [each["metadata"]["name"] for each in nodes]

    async def ready() -> list[bool]:
        return [node_is_ready(await cluster.client.get(NODES, None, each)) for each in names]

    await comes_to(ready, [True, True])
    yield
    for resource, name in (*OURS, *FIRSTS, (RESOURCE_FLAVORS, FLAVOR)):
        await removed(cluster.client, resource, None, name)
    for each in nodes:
        await removed(cluster.client, NODES, None, each["metadata"]["name"])


async def typed(cluster: RunningCluster, *words: str) -> Ended:
    """`appwrapper team WORDS`."""
    whom = ("--kubeconfig", str(cluster.kubeconfig))
    return await asyncio.to_thread(appwrapper, "team", *words, *whom)


async def versions(cluster: RunningCluster) -> list[str]:
    """Of the team's objects: they change with every write."""
    found = []
    for resource, name in OURS:
        item = await cluster.client.get(resource, None, name, metadata_only=True)
        found.append(item["metadata"]["resourceVersion"])
    return found


async def is_active(cluster: RunningCluster, team: str) -> bool:
    """True once Kueue admits from the team's ClusterQueue."""
    queue = await cluster.client.get(CLUSTER_QUEUES, None, f"{team}-cluster-queue")
    return is_true(queue.get("status", {}).get("conditions", ()), "Active")


async def gpus(cluster: RunningCluster) -> str:
    queue = await cluster.client.get(CLUSTER_QUEUES, None, f"{TEAM}-cluster-queue")
    gpu = queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][2]
    return str(gpu["nominalQuota"])  # kept as it is written: a number or a text


@pytest.mark.kueue
async def test_objects_applied_by_kubectl_are_changed_only_on_request(
    cluster: RunningCluster, two_nodes: None
) -> None:
    """From deploy/team's file, by another field manager, to the team's end."""
    text = (TEAM_FOLDER / "team1.yaml").read_text()
    for template, ours in (("team1", TEAM), ("default-flavor", FLAVOR), ("default-cohort", COHORT),
                           ("nominalQuota: 64", "nominalQuota: 8")):  # fmt: skip
        text = text.replace(template, ours)
    await admin(cluster)("apply", "--filename", "-", stdin=text)
    await comes_to(lambda: is_active(cluster, TEAM), True)  # Kueue writes no more
    create = ("create", TEAM, "--flavor", FLAVOR, "--cohort", COHORT)
    before = await versions(cluster)
    # Overlay default needs one binding more than the file has.
    code, out, err = await typed(cluster, *create, "--quota", "nvidia.com/gpu=8")
    assert (code, err) == (ExitCode.FINE, "")
    assert out.startswith(f"Team {TEAM} was changed.\n")
    assert f"RoleBinding {TEAM}-may-create" in out
    assert await versions(cluster) == before
    code, out, err = await typed(cluster, *create, "--quota", "nvidia.com/gpu=8")
    assert (code, err) == (ExitCode.FINE, "")
    assert out.startswith(f"Team {TEAM}: nothing to change.\n")
    more = ("--quota", "nvidia.com/gpu=12")
    code, out, err = await typed(cluster, *create, *more)
    assert (code, err) == (ExitCode.WANTING, "")
    assert await versions(cluster) == before
    assert await gpus(cluster) == "8"

    code, out, err = await typed(cluster, *create, *more, "--change-quota")
    assert (code, err) == (ExitCode.FINE, "")
    assert out.startswith(f"Team {TEAM} was changed.\n")
    assert await gpus(cluster) == "12"
    code, out, err = await typed(cluster, "delete", TEAM, "--yes")
    assert (code, err) == (ExitCode.FINE, "")
    assert out.endswith(f"\nTeam {TEAM} was deleted.\n")
    left = [name for resource, name in OURS if await exists(cluster.client, resource, None, name)]
    assert left == []


@pytest.mark.long
@pytest.mark.kueue
async def test_the_commands_of_the_page_work_for_an_admin(
    cluster: RunningCluster, two_nodes: None, tmp_path: Path
) -> None:
    """Long: nine programs start one after the other, each for a second of CPU time."""
    defaults = ("--flavor", FLAVOR, "--cohort", COHORT)
    environment = environment_with_command(cluster, tmp_path, of_team_create=defaults)
    instead = {"team2": TEAM, "default-flavor": FLAVOR, "default-cohort": COHORT}
    person = Person(ROOT, environment, tmp_path, instead)
    for block in PAGE:
        if block in SECOND:
            continue
        await person.types(block)
    left = [name for resource, name in OURS if await exists(cluster.client, resource, None, name)]
    assert left == []


@pytest.mark.long
async def test_a_second_team_shares_the_hardware(
    cluster: RunningCluster, two_nodes: None, tmp_path: Path
) -> None:
    """Long: six programs, each for a second of CPU time."""
    defaults = ("--flavor", FLAVOR, "--cohort", COHORT)
    environment = environment_with_command(cluster, tmp_path, of_team_create=defaults)
    instead = {
        "team1": FIRST,
        "team2": TEAM,
        "default-flavor": FLAVOR,
        "default-cohort": COHORT,
    }
    person = Person(ROOT, environment, tmp_path, instead)
    for block in SECOND:
        await person.types(block)
    queues = [f"{team}-cluster-queue" for team in (FIRST, TEAM)]
    assert [await exists(cluster.client, CLUSTER_QUEUES, None, each) for each in queues] == [
        True,
        False,
    ]


async def test_a_user_of_a_team_sees_it_and_is_refused_the_rest_with_messages(
    cluster: RunningCluster,
) -> None:
    whom = ("--as", "alice", "--as-group", f"{USERS}-edit-group")
    async with another_team(cluster, USERS, team_documents(USERS)):
        await comes_to(lambda: is_active(cluster, USERS), True)
        code, out, err = await typed(cluster, "show", USERS, *whom)
        assert err == ""
        assert code == ExitCode.FINE
        assert f"ClusterQueue:  {USERS}-cluster-queue\n" in out
        refused = (
            f"rolebindings of namespace {USERS}",
            f"ClusterRoleBinding {USERS}-queue-viewer",
            f"resourcequotas of namespace {USERS}",
        )
        assert sum(out.count(f"WARNING: not shown: {each}") for each in refused) == 3

        create = ("create", own("mine"), "--quota", "cpu=1")
        needs_get = (
            "error: you lack a right that team create needs, to read Namespace"
            f" {own('mine')}. Ask a cluster admin\n"
        )
        assert await typed(cluster, *create, *whom) == (ExitCode.UNABLE, "", needs_get)
        code, out, err = await typed(cluster, "delete", USERS, "--yes", *whom)
        assert (code, out) == (ExitCode.UNABLE, "")
        assert err.startswith("error: you lack a right that team delete needs, to read ")
        assert err.endswith(". Ask a cluster admin\n")
        assert await exists(cluster.client, NAMESPACES, None, USERS)

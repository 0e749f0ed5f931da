"""`appwrapper history` and `nodes` as a member of a team types them, on the real cluster."""

import asyncio
import json
from typing import Any

from localcluster.access.running import RunningCluster
from shared.api.objects import NODES
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import job
from tests.support.cluster.controller_log import entries_about
from tests.support.cluster.life import listed
from tests.support.cluster.lives import NAMESPACE, Lives, requesting
from tests.support.command import Ended
from tests.support.command import appwrapper as appwrapper_command
from tests.support.patience import comes_to

MEMBER = ("--as", "alice", "--as-group", f"{NAMESPACE}-edit-group")


async def typed(cluster: RunningCluster, *words: str, **environment: str) -> Ended:
    """`appwrapper WORDS`."""
    command = (*words, "--kubeconfig", str(cluster.kubeconfig))
    return await asyncio.to_thread(appwrapper_command, *command, **environment)


async def test_an_ended_one_has_the_figures_of_the_log_line(
    cluster: RunningCluster, lives: Lives
) -> None:
    ends = await lives.begin(appwrapper("counted", requesting("500m", job("counted"))))
    await ends.until_phase("Succeeded")
    words = ("history", *MEMBER, "-n", NAMESPACE)
    code, out, err = await typed(cluster, *words, "-o", "json")
    assert (code, err) == (0, "")
    (row,) = [each for each in json.loads(out) if each["name"] == "counted"]

    async def lines() -> list[dict[str, Any]]:
        return [each for each in entries_about(cluster, ends) if each["logger"] == "accounting"]

    async def how_many() -> int:
        return len(await lines())

    await comes_to(how_many, 1)
    (logged,) = await lines()
    assert logged["uid"] == row["uid"]
    common = set(row) & set(logged)
    assert common == set(row) - {"why"}
    assert {key: row[key] for key in common} == {key: logged[key] for key in common}

    code, out, _ = await typed(cluster, *words, COLUMNS="80")
    heading, *rows = out.splitlines()
    assert (code, heading.split()[:3]) == (0, ["NAME", "USER", "STATUS"])
    assert max(map(len, (heading, *rows))) <= 80


async def test_a_member_sees_the_nodes_and_an_admin_what_is_free(
    cluster: RunningCluster, lives: Lives
) -> None:
    names = {each["metadata"]["name"] for each in await listed(cluster.client, NODES, None)}
    code, out, err = await typed(cluster, "nodes", *MEMBER, "-o", "json")
    assert (code, {each["name"] for each in json.loads(out)["nodes"]}) == (0, names)
    what = "USED, FREE, BLOCK (pods of all namespaces): no right to list them"
    what += ". An admin can grant it: docs/users/nodes.md"
    assert err == f"warning: not known: {what}\n"
    code, out, err = await typed(cluster, "nodes", "-o", "json")
    assert (code, err) == (0, "")
    assert all("free" in each for each in json.loads(out)["nodes"])

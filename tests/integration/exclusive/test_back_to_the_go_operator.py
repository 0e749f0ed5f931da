"""The Go operator 1.2.2, as a process, carries on with what our controller left half done.

Its role is the one of its manifests, and what docs/admins/from-the-go-operator.md adds to it.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import yaml

from bench.peer import Peer
from localcluster.cluster import LocalCluster
from shared.api.objects import APPWRAPPERS, CONFIGMAPS, JsonObject, Resource
from shared.kinds.table import KINDS
from tests.support.builders.appwrappers import appwrapper, true_conditions
from tests.support.builders.jobs import job
from tests.support.cluster.crashes import controller_away
from tests.support.cluster.followed import until_reported
from tests.support.cluster.life import exists, listed
from tests.support.cluster.lives import NAMESPACE, Lives, config_map
from tests.support.cluster.resources import JOBS
from tests.support.life_record import DEPLOYED, READY
from tests.support.manifests import ROOT
from tests.support.walkthrough import blocks_of

pytestmark = pytest.mark.long

PATIENT = {"admissionGracePeriodDuration": "1h", "warmupGracePeriodDuration": "1h"}
# Where it runs beside ours: other names than those of its manifests.
BESIDE = {"name": "peer-controller-manager", "namespace": "peer-system"}
CLUSTER_ROLES = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False
)


def role_of_the_page() -> list[JsonObject]:
    """What docs/admins/from-the-go-operator.md has an admin apply before the way back."""
    (block,) = (
        each
        for each in blocks_of(ROOT / "docs" / "admins" / "from-the-go-operator.md")
        if "appwrapper-manager-wrapped-kinds" in each.commands and "<<END" in each.commands
    )
    return list(yaml.safe_load_all(block.commands.partition("<<END\n")[2].partition("\nEND")[0]))


@pytest.fixture(scope="module")
async def peer(cluster: LocalCluster) -> AsyncIterator[Peer]:
    """Prepared, under the names that it has beside ours."""
    made = await Peer.build(cluster)
    await made.prepare()
    yield made
    await made.stop()


def granted(rules: list[JsonObject]) -> set[tuple[str, str, str]]:
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


async def test_the_page_grants_what_the_go_operators_role_lacks_and_no_more(
    cluster: LocalCluster, peer: Peer
) -> None:
    has = await cluster.client.get(CLUSTER_ROLES, None, "peer-manager-role")
    added = granted(role_of_the_page()[0]["rules"])
    needed = {
        (kind.resource.group, kind.resource.plural, verb)
        for kind in KINDS
        for verb in ("create", "delete", "get", "list", "watch")
    }
    assert added == needed - granted(has["rules"])


def parts(name: str) -> tuple[JsonObject, JsonObject]:
    """A Job whose name is made up for it, and what cannot be created."""
    generated = job(name, pods=1, hang="running")
    generated["metadata"] = {"generateName": f"{name}-"}
    return generated, config_map(name)


def recorded(item: JsonObject) -> list[tuple[str, str]]:
    """Status and reason of each component's first condition."""
    return [
        (each["conditions"][0]["status"], each["conditions"][0]["reason"])
        for each in (item.get("status") or {}).get("componentStatus") or ()
        if each.get("conditions")
    ]


async def test_existing_objects_are_not_created_again(
    cluster: LocalCluster, lives: Lives, peer: Peer
) -> None:
    """A later component could not be created, so the AppWrapper was never seen to run."""

    async def jobs() -> list[str]:
        label = "workload.codeflare.dev/appwrapper=once"
        return [
            each["metadata"]["name"] for each in await listed(lives.client, JOBS, NAMESPACE, label)
        ]

    role, binding = role_of_the_page()
    await cluster.apply([role, binding | {"subjects": [binding["subjects"][0] | BESIDE]}])
    async with AsyncExitStack() as refusing:
        await refusing.enter_async_context(lives.forbidden("count/configmaps"))
        life = await lives.begin(appwrapper("once", *parts("once"), annotations=PATIENT))
        held = await until_reported(life, DEPLOYED, "CreateFailed")
        made = await jobs()
        assert len(made) == 1
        assert recorded(held) == [
            ("True", "ComponentCreatedSuccessfully"),
            ("False", "CreateFailed"),
        ]
        async with controller_away(cluster):
            await peer.start()
            try:
                await life.until(
                    lambda item: ("False", "ComponentCreationErrored") in recorded(item),
                    "what the Go operator says of it",
                )
                await refusing.aclose()
                await life.until(lambda item: READY in true_conditions(item), "all pods ready")
                assert await jobs() == made
                assert await exists(lives.client, CONFIGMAPS, NAMESPACE, "once")
                await lives.delete(APPWRAPPERS, "once")
                await life.until_deleted()
                assert await jobs() == []
            finally:
                await peer.stop()

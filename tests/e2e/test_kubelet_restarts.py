"""The kubelet restarts, as in an update of the node: workloads go on, and so does the product."""

import base64
import json
from typing import Any

import pytest

from localcluster.cluster import LocalCluster
from localcluster.product import MANIFESTS
from shared.api.objects import JsonObject
from tests.e2e.containers import job
from tests.e2e.node_processes import processes_of
from tests.e2e.product_pods import SYSTEM, all_pods, identities, process_of
from tests.e2e.research_team import ResearchTeam, container_of
from tests.support.builders.appwrappers import appwrapper, phase, true_conditions
from tests.support.cluster.kubectl import Kubectl
from tests.support.life_record import DEPLOYED, QUOTA, READY
from tests.support.patience import comes_to

pytestmark = pytest.mark.long

# In the image /var/run is a link to /run, and from outside it would lead to the machine's own /run.
TOKEN = "run/secrets/kubernetes.io/serviceaccount/token"
ACCOUNTS = ("appwrapper-webhook", "appwrapper-controller")


async def test_nothing_is_reset_and_nothing_is_started_again(
    node_cluster: LocalCluster, team: ResearchTeam
) -> None:
    assert node_cluster.node is not None
    life = await team.submit(appwrapper("goes-on", job("goes-on", "exec sleep 100000")))
    ready = await life.until(lambda item: READY in true_conditions(item), "ready")
    container = container_of(await team.running_pod("goes-on"))
    processes = processes_of(container)
    product = identities(await all_pods(node_cluster))

    await node_cluster.node.restart_kubelet()
    # The kubelet of now runs what comes, and the controller sees it.
    after = await team.submit(appwrapper("comes-later", job("comes-later", "exit 0")))
    await after.until_phase("Succeeded")

    now = await team.stored("goes-on")
    assert now == ready
    assert (phase(now), true_conditions(now)) == ("Running", {QUOTA, DEPLOYED, READY})
    assert (now["status"]["attempt"], now["status"].get("resettingCount")) == (1, None)
    assert container_of(await team.running_pod("goes-on")) == container
    assert processes_of(container) == processes
    assert identities(await all_pods(node_cluster)) == product
    await life.check_the_promise_to_kueue()


async def test_both_go_on_with_new_tokens_when_the_old_ones_are_void(
    node_cluster: LocalCluster, team: ResearchTeam, admin: Kubectl
) -> None:
    """ServiceAccounts that are deleted and made again void all their tokens at once.

    A kubelet asks for new ones when the old ones are nearly an hour old, or when it starts: then
    it replaces the files in the running pods.
    """
    assert node_cluster.node is not None
    pods = await all_pods(node_cluster)
    product, old = identities(pods), [token_of(pod) for pod in pods]
    await admin("delete", "serviceaccount", "-n", SYSTEM, *ACCOUNTS)
    await admin("apply", "-k", str(MANIFESTS / "overlays" / "default"))

    async def accepted() -> list[bool]:
        return [await is_accepted(node_cluster, each) for each in old]

    await comes_to(accepted, [False] * len(pods))
    await node_cluster.node.restart_kubelet()

    async def replaced() -> list[bool]:
        return [token_of(pod) not in old for pod in pods]

    await comes_to(replaced, [True] * len(pods))
    new = [token_of(pod) for pod in pods]

    async def new_accepted() -> list[bool]:
        return [await is_accepted(node_cluster, each) for each in new]

    await comes_to(new_accepted, [True] * len(pods))
    assert [account_of(each) for each in new] == [account_of(each) for each in old]
    # The webhook asks the API server whether this researcher may; the controller makes the Job.
    life = await team.submit(appwrapper("renewed", job("renewed", "exit 0")))
    await life.until_phase("Succeeded")
    assert identities(await all_pods(node_cluster)) == product
    assert [token_of(pod) for pod in pods] == new


def token_of(pod: JsonObject) -> str:
    """What its process finds in the file now."""
    return (process_of(pod).root / TOKEN).read_text()


def account_of(token: str) -> Any:
    """The name of the ServiceAccount that the token is for."""
    payload = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return claims["kubernetes.io"]["serviceaccount"]["name"]


async def is_accepted(cluster: LocalCluster, token: str) -> bool:
    """By the API server, as whose token ever."""
    review = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": {"token": token},
    }
    answer = await cluster.client.post("/apis/authentication.k8s.io/v1/tokenreviews", review)
    return bool(answer["status"].get("authenticated", False))

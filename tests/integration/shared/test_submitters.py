"""Who submitted an AppWrapper, and how many parts it may have: tried as the team's users."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, JsonObject
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import pytorch_job
from tests.support.builders.pods import pod_template
from tests.support.cluster.another_team import member_of
from tests.support.cluster.answers import ApiResponse, created
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.removed import removed
from tests.support.cluster.unchanged import assert_same
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE

pytestmark = pytest.mark.kueue

NAME = "submitter"
USER = "workload.codeflare.dev/user"
USERID = "workload.codeflare.dev/userid"
BY = "workload.codeflare.dev/submitted-by"
# As an identity provider names people: what tells them apart comes last.


def training(**metadata: Any) -> JsonObject:
    """It waits for more GPUs than there are, so that only its user changes it."""
    template = pod_template(container="pytorch", hang="running")
    [container] = template["spec"]["containers"]
    container["resources"] = {"limits": {"nvidia.com/gpu": 1000}}
    return appwrapper(NAME, pytorch_job(NAME, Master=template), namespace=NAMESPACE, **metadata)


@pytest_asyncio.fixture(loop_scope="session")
async def alice(cluster: RunningCluster) -> AsyncIterator[Kubectl]:
    yield member_of(cluster, NAMESPACE)
    await removed(cluster.client, APPWRAPPERS, NAMESPACE, NAME)


async def stored(cluster: RunningCluster) -> JsonObject:
    return await cluster.client.get(APPWRAPPERS, NAMESPACE, NAME)


async def submitted(cluster: RunningCluster, alice: Kubectl, body: JsonObject) -> str:
    """What kubectl warns of; then the AppWrapper is queued."""
    done = await alice.run("apply", "-f", "-", stdin=json.dumps(body))
    assert done.code == 0, done.err

    async def phase() -> Any:
        return (await stored(cluster)).get("status", {}).get("phase")

    await comes_to(phase, "Suspended")
    return done.err


async def test_a_file_that_names_its_user_can_be_applied_again(
    cluster: RunningCluster, alice: Kubectl
) -> None:
    file = training(labels={USER: "somebody-else", USERID: "7"})
    file["metadata"]["annotations"][BY] = "somebody else"
    output = await submitted(cluster, alice, file)
    for place, true in (
        (f"labels[{USER}]", "alice"),
        (f"labels[{USERID}]", ""),
        (f"annotations[{BY}]", "alice"),
    ):
        remove = f'remove it from the file: it is overwritten with "{true}"'
        assert f"Warning: metadata.{place}: {remove}\n" in output
    before = await stored(cluster)
    assert before["metadata"]["labels"][USER] == before["metadata"]["annotations"][BY] == "alice"
    for _ in range(2):
        again = await alice.run("apply", "-f", "-", stdin=json.dumps(file))
        never = "who submitted an AppWrapper never changes; remove it from the file"
        assert (again.code, again.err) == (
            0,
            f'Warning: metadata.labels[{USER}]: reset to "alice": {never}\n'
            f'Warning: metadata.labels[{USERID}]: reset to "": {never}\n'
            f'Warning: metadata.annotations[{BY}]: reset to "alice": {never}\n',
        )
        assert_same(await stored(cluster), before)


def config_map(number: int) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"part-{number}"}}


def of(components: int) -> JsonObject:
    made = training()
    parts = ({"template": config_map(number)} for number in range(components - 1))
    made["spec"]["components"] += parts
    return made


def too_many(response: ApiResponse) -> list[str]:
    assert response.code == 422, response
    return response.errors


async def test_a_too_large_appwrapper_is_refused_with_the_next_step(
    cluster: RunningCluster, alice: Kubectl
) -> None:
    body = of(2)
    body["spec"]["components"][1]["template"]["data"] = {"part": "x" * (1 << 20)}
    [error] = too_many(await created(alice, body, NAMESPACE))
    assert error.startswith("spec.components[1].template: Too long: the AppWrapper has 10")
    assert error.endswith(
        "; at most 1048576 are allowed (maxObjectSize): keep data in an image or a volume"
    )

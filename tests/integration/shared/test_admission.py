"""The webhook behind the real API server and beside the real Kueue, as kubectl's users meet it."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, JsonObject
from tests.support.builders import appwrappers
from tests.support.builders.admission import POD, SERVICE, component
from tests.support.cluster.kubectl import Kubectl
from tests.support.team import NAMESPACE

QUEUE = "kueue.x-k8s.io/queue-name"
USER = "workload.codeflare.dev/user"
USERID = "workload.codeflare.dev/userid"


def manifest(*components: Any, name: str = "admission", **fields: Any) -> str:
    """A file that a user would have, as JSON."""
    wrapped = components or [POD]
    return json.dumps(appwrappers.manifest(*wrapped, name=name, namespace=NAMESPACE, **fields))


@pytest.fixture
async def kubectl(cluster: RunningCluster) -> AsyncIterator[Kubectl]:
    command = Kubectl(cluster.kubectl, cluster.kubeconfig)
    yield command
    await command("delete", "appwrapper", "admission", "-n", NAMESPACE, "--ignore-not-found")


async def stored(cluster: RunningCluster) -> JsonObject:
    return await cluster.client.get(APPWRAPPERS, NAMESPACE, "admission")


async def test_queue_and_user_are_written_over_what_the_user_wrote(
    cluster: RunningCluster, kubectl: Kubectl
) -> None:
    labels = {USER: "somebody-else", USERID: "0", "team": "a"}
    await kubectl("create", "-f", "-", stdin=manifest(labels=labels))
    found = (await stored(cluster))["metadata"]["labels"]
    who = json.loads(await kubectl("auth", "whoami", "-o", "json"))["status"]["userInfo"]
    assert found == {
        "team": "a",
        QUEUE: "default-queue",
        USER: who["username"].replace(":", "_"),
        USERID: who.get("uid", "").replace(":", "_"),
    }


async def test_every_error_is_shown_at_once(cluster: RunningCluster, kubectl: Kubectl) -> None:
    foreign = {**POD, "metadata": {"name": "p", "namespace": "kube-system"}}
    declared = [{"path": "template.spec"}]
    wrong = manifest(component(foreign), component(SERVICE, podSets=declared))
    refused = await kubectl.run("create", "-f", "-", stdin=wrong)
    assert (refused.code, refused.err) == (
        1,
        'The AppWrapper "admission" is invalid: \n'
        "* spec.components[0].template.metadata.namespace: Forbidden: an AppWrapper in namespace "
        f"{NAMESPACE} cannot create resources in another namespace\n"
        '* spec.components[1].podSets[0].path: Invalid value: "template.spec": does not lead to a '
        "pod template: template has no field 'spec'\n",
    )


async def test_a_generated_name_is_in_the_error(cluster: RunningCluster, kubectl: Kubectl) -> None:
    made = appwrappers.manifest(SERVICE, generateName="admission-", namespace=NAMESPACE)
    refused = await kubectl.run("create", "-f", "-", stdin=json.dumps(made))
    assert re.fullmatch(
        r'The AppWrapper "admission-[a-z0-9]+" is invalid: spec\.components: Required value: at '
        r"least one component must have pods, but none does \(Service\)\n",
        refused.err,
    )


async def test_a_dry_run_is_checked_and_changed_like_any_other_request(
    cluster: RunningCluster, kubectl: Kubectl
) -> None:
    made = json.loads(
        await kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", stdin=manifest())
    )
    assert made["metadata"]["labels"][QUEUE] == "default-queue"
    refused = await kubectl.run(
        "create", "--dry-run=server", "-f", "-", stdin=manifest(component(SERVICE))
    )
    assert refused.code == 1

"""A webhook answers when a dry-run create is judged, whatever the judgement. A node takes pods."""

from typing import Any

import pytest

from localcluster.access.probes import admits, both, node_is_ready
from localcluster.machine.waiting import Probe
from shared.api.objects import JsonObject, Resource
from shared.kube.client import AlreadyExists, ApiError, Forbidden, Invalid, KubeError, Unreachable
from tests.support.cluster.resources import JOB_SETS

DOCUMENT = {"metadata": {"name": "probe", "namespace": "there"}}


class Answers:
    """A client that answers every create alike, and remembers the last one."""

    def __init__(self, failure: KubeError | None) -> None:
        self.failure = failure
        self.asked: tuple[object, ...] = ()

    async def create(self, *arguments: object, dry_run: bool) -> dict[str, object]:
        self.asked = (*arguments, dry_run)
        if self.failure is not None:
            raise self.failure
        return {}


def admitted(answers: Answers, resource: Resource, document: JsonObject) -> Probe:
    client: Any = answers
    return admits(client, resource, document)


@pytest.mark.parametrize(
    "failure",
    [
        None,
        AlreadyExists(409, "AlreadyExists", "there"),
        Invalid(422, "Invalid", "spec"),
        Forbidden(403, "Forbidden", "denied the request"),
    ],
)
async def test_a_judgement_is_an_answer(failure: KubeError | None) -> None:
    client = Answers(failure)
    assert await admitted(client, JOB_SETS, DOCUMENT)() is None
    assert client.asked == (JOB_SETS, "there", DOCUMENT, True)


async def test_a_webhook_that_cannot_be_called_is_not_ready() -> None:
    failure = ApiError(500, "InternalError", 'failed calling webhook "vjobset.kb.io"')
    assert await admitted(Answers(failure), JOB_SETS, DOCUMENT)() == (
        "a dry-run create of a JobSet fails:"
        ' 500 InternalError: failed calling webhook "vjobset.kb.io"'
    )


async def test_an_api_server_that_does_not_answer_is_not_ready() -> None:
    probe = admitted(Answers(Unreachable("refused")), JOB_SETS, DOCUMENT)
    assert await probe() == "a dry-run create of a JobSet fails: refused"


async def test_the_second_probe_waits_for_the_first() -> None:
    asked = []

    def probe(name: str, answer: str | None) -> Probe:
        async def ask() -> str | None:
            asked.append(name)
            return answer

        return ask

    assert await both(probe("a", "not yet"), probe("b", None))() == "not yet"
    assert asked == ["a"]
    assert await both(probe("c", None), probe("d", "missing"))() == "missing"
    assert await both(probe("e", None), probe("f", None))() is None


READY = {"type": "Ready", "status": "True"}


def test_a_node_is_ready_once_pods_can_go_there() -> None:
    assert node_is_ready({"spec": {}, "status": {"conditions": [READY]}})
    assert not node_is_ready({"spec": {}, "status": {}})
    silent = READY | {"status": "Unknown"}
    assert not node_is_ready({"spec": {}, "status": {"conditions": [silent]}})
    tainted = {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}
    assert not node_is_ready({"spec": tainted, "status": {"conditions": [READY]}})
    cordoned = {"taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]}
    assert node_is_ready({"spec": cordoned, "status": {"conditions": [READY]}})

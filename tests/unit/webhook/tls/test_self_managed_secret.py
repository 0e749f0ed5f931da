"""What a replica reads of the Secret, and what a write keeps."""

import pytest

from shared.api.names import ANNOTATION_ROTATE
from shared.api.objects import SECRETS
from shared.kube.client import NotFound
from tests.support.fakes.fake_clock import settle
from tests.support.fakes.tls_cluster import ROUNDS, SECRET, Cluster, empty_secret


async def test_a_write_keeps_foreign_data_type_and_annotations() -> None:
    cluster = Cluster()
    annotations = {ANNOTATION_ROTATE: "leaf", "theirs": "stays"}
    foreign = {"type": "Opaque", "data": {"theirs": "eA=="}}
    cluster.put(SECRETS, empty_secret(annotations=annotations) | foreign)
    async with cluster.replica():
        found = cluster.one(SECRETS, SECRET)
    assert (found["type"], found["data"]["theirs"]) == ("Opaque", "eA==")
    assert found["metadata"]["annotations"] == {"theirs": "stays"}
    assert cluster.contents.leaf is not None


@pytest.mark.parametrize("data", [{}, {"data": None}, {"data": {}}])
async def test_a_secret_without_data_is_filled(data: dict[str, None]) -> None:
    cluster = Cluster()
    cluster.put(SECRETS, empty_secret() | data)
    async with cluster.replica():
        assert cluster.contents.leaf is not None


@pytest.mark.parametrize("requested", ["CA", "", "x" * 50])
async def test_an_unknown_request_is_shown_shortened(requested: str) -> None:
    cluster = Cluster()
    async with cluster.replica() as source:
        cluster.annotate(requested)
        await settle(ROUNDS)
        assert f"asks for {requested[:40]!r};" in str(source.warning())


async def test_an_api_that_is_not_served_is_no_absent_secret() -> None:
    cluster = Cluster()

    def fail(verb: str, plural: str) -> None:
        if (verb, plural) == ("get", "secrets"):
            raise NotFound(404, "NotFound", "the server could not find the requested resource")

    cluster.fail = fail
    async with cluster.replica() as source:
        assert "can be managed only in part" in str(source.warning())

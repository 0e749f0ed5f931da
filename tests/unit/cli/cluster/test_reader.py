"""Each read: what it finds, what is missing, and what the API server refuses."""

import asyncio
from typing import Any

import pytest

from cli.cluster.operator_configuration import OperatorConfiguration
from cli.cluster.reader import Reader, needed
from cli.cluster.unread import Unread
from cli.command import CommandError
from shared.api.objects import CONFIGMAPS, PODS, Resource
from shared.config.configuration import Configuration
from shared.kube.client import ApiError, Unauthorized
from tests.support.fakes.served_objects import ServedObjects

POD = {"metadata": {"name": "a", "namespace": "team1"}}
PAUSED = {
    "metadata": {"name": "appwrapper-operator-config", "namespace": "mlbatch-system"},
    "data": {"config.yaml": "appwrapper: {pauseResets: true}"},
}


class Failing(ServedObjects):
    def __init__(self, error: ApiError) -> None:
        super().__init__({})
        self.error = error

    async def send(self, *_args: Any, **_options: Any) -> Any:
        raise self.error


def test_a_missing_object_is_none_and_a_forbidden_one_is_unread() -> None:
    reader = Reader(ServedObjects({"pods": [POD], "configmaps": []}, forbidden=["configmaps"]))
    assert asyncio.run(reader.one(PODS, "team1", "a")) == POD
    assert asyncio.run(reader.one(PODS, "team1", "b")) is None
    refused = asyncio.run(reader.one(CONFIGMAPS, "team1", "c"))
    assert refused == Unread("ConfigMap c", "no right to get it", forbidden=True)
    assert reader.unread == [refused]


def test_a_list_that_is_not_served_is_none_and_a_forbidden_one_is_unread() -> None:
    reader = Reader(ServedObjects({"pods": [POD], "configmaps": []}, forbidden=["configmaps"]))
    assert asyncio.run(reader.many(PODS)) == (POD,)
    assert asyncio.run(reader.many(Resource("example.com", "v1", "things", "Thing"))) is None
    refused = asyncio.run(reader.many(CONFIGMAPS, "team1"))
    assert refused == Unread("configmaps of namespace team1", "no right to list them", True)


def test_a_failure_of_the_api_server_is_unread_with_its_message() -> None:
    reader = Reader(Failing(ApiError(500, "InternalError", "conversion webhook failed")))
    assert asyncio.run(reader.one(PODS, "team1", "a")) == Unread(
        "Pod a", "conversion webhook failed"
    )


def test_a_reader_for_forbidden_objects_only_raises_other_failures() -> None:
    failure = ApiError(503, "ServiceUnavailable", "etcd has no leader")
    reader = Reader(Failing(failure), only_forbidden=True)
    with pytest.raises(ApiError) as error:
        asyncio.run(reader.one(PODS, "team1", "a"))
    assert error.value is failure
    refused = ServedObjects({"pods": []}, forbidden=["pods"])
    found = asyncio.run(Reader(refused, only_forbidden=True).one(PODS, "team1", "a"))
    assert found == Unread("Pod a", "no right to get it", forbidden=True)


def test_an_unread_configuration_differs_from_none_at_all() -> None:
    failing = Failing(ApiError(503, "ServiceUnavailable", "etcd has no leader"))
    found = asyncio.run(Reader(failing).operator_configuration())
    assert found.unread is not None
    assert found.problem == "the operator's configuration cannot be read: etcd has no leader"
    missing = asyncio.run(Reader(ServedObjects({"configmaps": []})).operator_configuration())
    assert missing.unread is None


def test_a_user_without_identity_ends_the_command() -> None:
    reader = Reader(Failing(Unauthorized(401, "Unauthorized", "")))
    with pytest.raises(Unauthorized):
        asyncio.run(reader.one(PODS, "team1", "a"))


@pytest.mark.parametrize(
    ("unread", "text"),
    [
        (
            Unread("Pod a", "no right to get it", forbidden=True),
            "you lack a right that team create needs, to read Pod a. Ask a cluster admin",
        ),
        (Unread("Pod a", "timeout"), "team create needs to read Pod a, which failed: timeout"),
    ],
)
def test_an_unreadable_object_that_a_command_needs_ends_the_command(
    unread: Unread, text: str
) -> None:
    assert needed(POD, "team create") == POD
    with pytest.raises(CommandError) as error:
        needed(unread, "team create")
    assert str(error.value) == text


def test_the_operators_configuration_is_read_where_it_is_first_found() -> None:
    client = ServedObjects({"configmaps": [PAUSED]})
    found = asyncio.run(Reader(client).operator_configuration())
    assert (found.namespace, found.pause_resets, found.problem) == ("mlbatch-system", True, "")


def test_a_wrong_configuration_is_named_with_its_mistakes() -> None:
    item = {**PAUSED, "data": {"config.yaml": "appwrapper: {pauseRests: true}"}}
    found = asyncio.run(Reader(ServedObjects({"configmaps": [item]})).operator_configuration())
    assert (found.config, found.pause_resets) == (Configuration(), None)
    assert found.problem == "the operator's configuration has mistakes"
    assert "ConfigMap mlbatch-system/appwrapper-operator-config, config.yaml" in found.mistakes


def test_without_a_configuration_the_defaults_are_assumed() -> None:
    found = asyncio.run(Reader(ServedObjects({"configmaps": []})).operator_configuration())
    assert found == OperatorConfiguration(
        problem="there is no ConfigMap appwrapper-operator-config in appwrapper-system,"
        " mlbatch-system"
    )

from dataclasses import replace
from typing import Any

import pytest

from shared.api.names import ANNOTATION_ROTATE
from shared.api.objects import SECRETS
from shared.kube.client import NotFound
from tests.support.fakes.fake_kube import FakeKube, kube_object
from tests.support.fakes.tls import contents
from webhook.tls.cluster_objects import SecretStore
from webhook.tls.decisions.secret_data import Contents, encode
from webhook.tls.decisions.steps import Request

CONTENTS = contents()


def store(*answers: Any, **more: list[Any]) -> tuple[SecretStore, FakeKube]:
    client = FakeKube(answers={"get": list(answers), **more})
    return SecretStore(client, "appwrapper-system", "certs"), client


def secret(annotations: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    raw = kube_object("certs", 7, namespace="appwrapper-system", **fields)
    if annotations is not None:
        raw["metadata"]["annotations"] = annotations
    return raw


@pytest.mark.parametrize("fields", [{}, {"data": None}, {"data": {}}])
async def test_an_empty_secret_has_empty_contents(fields: dict[str, Any]) -> None:
    stored = await store(secret(**fields))[0].read()
    assert stored is not None
    assert (stored.contents, stored.request, stored.unknown_request) == (Contents(), None, None)


@pytest.mark.parametrize(
    ("asked", "request_", "unknown"),
    [
        ("leaf", Request.LEAF, None),
        ("ca", Request.CA, None),
        ("CA", None, "CA"),
        ("", None, ""),
        ("x" * 50, None, "x" * 40),
    ],
)
async def test_the_request_of_an_admin_is_read(
    asked: str, request_: Request | None, unknown: str | None
) -> None:
    stored = await store(secret({ANNOTATION_ROTATE: asked}))[0].read()
    assert stored is not None
    assert (stored.request, stored.unknown_request) == (request_, unknown)


async def test_no_secret_is_none_but_an_api_that_is_not_served_is_an_error() -> None:
    assert await store(NotFound(404, "NotFound", 'secrets "certs" not found'))[0].read() is None
    of_resource = NotFound(404, "NotFound", "the server could not find the requested resource")
    with pytest.raises(NotFound):
        await store(of_resource)[0].read()


@pytest.mark.parametrize("answered", [True, False])
async def test_a_write_keeps_foreign_data_and_the_read_version(answered: bool) -> None:
    annotations = {ANNOTATION_ROTATE: "leaf", "theirs": "stays"}
    raw = secret(annotations, type="Opaque", data={"theirs": "eA==", "rotation.json": "e30="})
    found, client = store(raw, update=[{}])
    stored = await found.read()
    assert stored is not None
    await found.write(stored, replace(CONTENTS, problems=()), answered=answered)
    (call,) = client.called("update")
    assert call.args[3]["metadata"]["resourceVersion"] == "7"
    left = {"theirs": "stays"} if answered else annotations
    assert call.args == (
        SECRETS,
        "appwrapper-system",
        "certs",
        {
            "metadata": {**raw["metadata"], "annotations": left},
            "type": "Opaque",
            "data": {"theirs": "eA==", **encode(CONTENTS)},
        },
    )


def test_it_is_named_in_messages() -> None:
    assert str(store()[0]) == "Secret appwrapper-system/certs"

import pytest

from shared.api.objects import MUTATING_WEBHOOK_CONFIGURATIONS as MUTATING
from shared.api.objects import VALIDATING_WEBHOOK_CONFIGURATIONS as VALIDATING
from shared.kube.client import Forbidden, NotFound, PatchType
from tests.support.fakes.fake_kube import FakeKube
from webhook.tls.cluster_objects import CaInjector
from webhook.tls.decisions.ca_bundle import ServiceName, patch

SERVICE = ServiceName("ns", "service")
RAW = {
    "metadata": {"resourceVersion": "7"},
    "webhooks": [
        {"name": "a", "clientConfig": {"service": {"namespace": "ns", "name": "service"}}}
    ],
}
GONE = NotFound(404, "NotFound", 'x "m" not found')


def keeper(**answers: list[object]) -> tuple[CaInjector, FakeKube]:
    client = FakeKube(answers=answers)
    return CaInjector(client, mutating="m", validating="v", service=SERVICE), client


async def test_both_are_read_and_what_is_missing_is_named() -> None:
    found, client = keeper(get=[RAW, GONE])
    configurations = await found.read()
    assert [call.args for call in client.called("get")] == [
        (MUTATING, None, "m"),
        (VALIDATING, None, "v"),
    ]
    assert configurations.found == ((found.names[0], RAW),)
    assert [str(one) for one in configurations.missing] == ["ValidatingWebhookConfiguration v"]
    assert configurations.published == (b"",)


@pytest.mark.parametrize(
    "error",
    [
        Forbidden(403, "Forbidden", "no"),
        NotFound(404, "NotFound", "the server could not find the requested resource"),
    ],
)
async def test_a_read_that_fails_is_never_a_missing_configuration(error: Exception) -> None:
    found, _ = keeper(get=[RAW, error])
    with pytest.raises(type(error)):
        await found.read()


async def test_both_are_patched_though_one_fails() -> None:
    found, client = keeper(get=[RAW, RAW], patch=[Forbidden(403, "Forbidden", "no"), {}])
    configurations = await found.read()
    with pytest.raises(Forbidden):
        await found.publish(configurations.found, b"bundle")
    operations = patch(RAW, SERVICE, b"bundle")
    assert [call.args for call in client.called("patch")] == [
        (MUTATING, None, "m", operations, PatchType.JSON),
        (VALIDATING, None, "v", operations, PatchType.JSON),
    ]


async def test_a_correct_configuration_is_not_patched() -> None:
    found, client = keeper()
    await found.publish([(found.names[0], {"webhooks": []})], b"bundle")
    assert client.calls == []

import pytest

from shared.api.json import JsonObject
from tests.manifests import MANIFESTS, document, objects_under

WEBHOOK = MANIFESTS / "base" / "webhook"
MUTATING = document(WEBHOOK / "mutating-webhook-configuration.yaml")
VALIDATING = document(WEBHOOK / "validating-webhook-configuration.yaml")
BOTH = pytest.mark.parametrize(
    "configuration", [MUTATING, VALIDATING], ids=["mutating", "validating"]
)


def the_webhook(configuration: JsonObject) -> JsonObject:
    (webhook,) = configuration["webhooks"]
    found: JsonObject = webhook
    return found


def test_names() -> None:
    assert [
        (one["kind"], one["metadata"]["name"], the_webhook(one)["name"])
        for one in (MUTATING, VALIDATING)
    ] == [
        (
            "MutatingWebhookConfiguration",
            "appwrapper-mutating-webhook-configuration",
            "mappwrapper.workload.codeflare.dev",
        ),
        (
            "ValidatingWebhookConfiguration",
            "appwrapper-validating-webhook-configuration",
            "vappwrapper.workload.codeflare.dev",
        ),
    ]


def test_the_queue_name_is_there_before_kueue_looks() -> None:
    """The API server calls mutating webhooks in the order of their configurations' names."""
    kueue = "kueue-mutating-webhook-configuration"
    assert sorted([kueue, MUTATING["metadata"]["name"]])[0] == MUTATING["metadata"]["name"]


@BOTH
def test_registered_for_what_users_write_and_for_no_subresource(configuration: JsonObject) -> None:
    assert the_webhook(configuration)["rules"] == [
        {
            "apiGroups": ["workload.codeflare.dev"],
            "apiVersions": ["v1beta2"],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["appwrappers"],
            "scope": "Namespaced",
        }
    ]


@BOTH
def test_how_it_is_called(configuration: JsonObject) -> None:
    webhook = the_webhook(configuration)
    path = "/mutate" if configuration is MUTATING else "/validate"
    assert webhook["clientConfig"] == {
        "service": {
            "namespace": "appwrapper-system",
            "name": "appwrapper-webhook-service",
            "path": path,
            "port": 443,
        }
    }
    expected = {
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": 10,
    }
    assert {key: webhook[key] for key in expected} == expected


def test_the_service_is_the_one_that_is_called() -> None:
    services = [one for one in objects_under(WEBHOOK) if one["kind"] == "Service"]
    (service,) = services
    called = the_webhook(MUTATING)["clientConfig"]["service"]
    assert service["metadata"]["name"] == called["name"]
    assert service["metadata"]["namespace"] == called["namespace"]
    assert [port["port"] for port in service["spec"]["ports"]] == [called["port"]]


@BOTH
def test_what_never_waits_for_the_webhook(configuration: JsonObject) -> None:
    account = "system:serviceaccount"
    assert the_webhook(configuration)["matchConditions"] == [
        {
            "name": "not-being-deleted",
            "expression": "request.operation == 'CREATE' || "
            "!has(oldObject.metadata.deletionTimestamp)",
        },
        {
            "name": "not-updated-by-the-controller",
            "expression": "request.operation == 'CREATE' || request.userInfo.username != "
            f"'{account}:appwrapper-system:appwrapper-controller'",
        },
        {
            "name": "not-updated-by-kueue",
            "expression": "request.operation == 'CREATE' || request.userInfo.username != "
            f"'{account}:kueue-system:kueue-controller-manager'",
        },
    ]

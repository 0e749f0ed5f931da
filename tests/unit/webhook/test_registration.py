"""When the API server asks the webhook. That it does so is shown by tests/integration."""

from typing import Any

import pytest
import yaml

from shared.api.objects import JsonObject
from shared.config.configuration import Configuration
from shared.config.loading import parse_config
from tests.support.builders.admission import appwrapper, request
from tests.support.manifests import MANIFESTS, document
from webhook import chain, registration
from webhook.rules.submission import Facts
from webhook.verdicts import Patched

EVERYTHING = "appwrapper: {defaultQueueNameOnDirectKinds: true, defaultQueueName: q}"
NAMES = ["mappwrapper", "mdirectkinds", "mleftpods", "vappwrapper", "vdirectkinds"]


def made(text: str = EVERYTHING) -> tuple[JsonObject, JsonObject]:
    return registration.registration(parse_config(text).config)


def webhooks(text: str = EVERYTHING) -> dict[str, JsonObject]:
    """By the first part of their names."""
    return {
        webhook["name"].partition(".")[0]: webhook
        for configuration in made(text)
        for webhook in configuration["webhooks"]
    }


def test_both_configurations_are_named_and_labelled() -> None:
    labels = {"app.kubernetes.io/name": "appwrapper", "app.kubernetes.io/component": "webhook"}
    assert [(one["kind"], one["metadata"]) for one in made()] == [
        (
            "MutatingWebhookConfiguration",
            {"name": "appwrapper-mutating-webhook-configuration", "labels": labels},
        ),
        (
            "ValidatingWebhookConfiguration",
            {"name": "appwrapper-validating-webhook-configuration", "labels": labels},
        ),
    ]


def test_the_queue_name_is_there_before_kueue_looks() -> None:
    """The API server calls mutating webhooks in the order of their configurations' names."""
    ours = made()[0]["metadata"]["name"]
    assert sorted(["kueue-mutating-webhook-configuration", ours])[0] == ours


def test_names_are_those_that_the_configuration_gives() -> None:
    text = (
        "certManagement: {namespace: ops, webhookServiceName: s, "
        "mutatingWebhookConfigName: m, validatingWebhookConfigName: v}"
    )
    assert [one["metadata"]["name"] for one in made(text)] == ["m", "v"]
    webhook = webhooks(text)["vappwrapper"]
    service = {"namespace": "ops", "name": "s", "path": "/validate", "port": 443}
    assert webhook["clientConfig"] == {"service": service}
    controller = "system:serviceaccount:ops:appwrapper-controller"
    assert controller in webhook["matchConditions"][1]["expression"]


@pytest.mark.parametrize("name", NAMES)
def test_how_each_is_called(name: str) -> None:
    webhook = webhooks()[name]
    # The Go operator's are replaced in place only where ours have their names.
    replacing = name in ("mappwrapper", "vappwrapper")
    assert webhook["name"] == f"{name}.{'kb.io' if replacing else 'workload.codeflare.dev'}"
    assert webhook["clientConfig"] == {
        "service": {
            "namespace": "appwrapper-system",
            "name": "appwrapper-webhook-service",
            "path": "/mutate" if name.startswith("m") else "/validate",
            "port": 443,
        }
    }
    assert webhook.get("reinvocationPolicy") == ("Never" if name.startswith("m") else None)
    assert {key: webhook[key] for key in _ALIKE} == _ALIKE
    assert webhook["timeoutSeconds"] == (10 if "appwrapper" in name else 6)
    assert len(webhook["matchConditions"]) <= 64


_ALIKE = {
    "admissionReviewVersions": ["v1"],
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "sideEffects": "None",
}


def test_the_service_is_the_one_that_is_called() -> None:
    service = document(MANIFESTS / "base" / "webhook" / "service.yaml")
    called = webhooks()["mappwrapper"]["clientConfig"]["service"]
    assert service["metadata"]["name"] == called["name"]
    assert service["metadata"]["namespace"] == called["namespace"]
    assert [port["port"] for port in service["spec"]["ports"]] == [called["port"]]


def rule(groups: str, version: str, operations: list[str], *resources: str) -> JsonObject:
    return {
        "apiGroups": [groups],
        "apiVersions": [version],
        "operations": operations,
        "resources": list(resources),
        "scope": "Namespaced",
    }


OURS = [rule("workload.codeflare.dev", "v1beta2", ["CREATE", "UPDATE"], "appwrappers")]


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("mappwrapper", OURS),
        ("vappwrapper", OURS),
        ("vdirectkinds", [rule("*", "*", ["CREATE"], "*")]),
        ("mleftpods", [rule("kubeflow.org", "*", ["CREATE"], "pytorchjobs")]),
        (
            "mdirectkinds",
            [
                rule("kubeflow.org", "*", ["CREATE"], "pytorchjobs"),
                rule("ray.io", "*", ["CREATE"], "rayjobs", "rayclusters"),
                rule("trainer.kubeflow.org", "*", ["CREATE"], "trainjobs"),
            ],
        ),
    ],
)
def test_registered_for_what_users_write_and_for_no_subresource(
    name: str, rules: list[JsonObject]
) -> None:
    assert webhooks()[name]["rules"] == rules


@pytest.mark.parametrize("kind", ["kubeflow.org/PyTorchJob", "ray.io/RayJob", "ray.io/RayCluster"])
def test_kinds_with_a_default_queue_are_registered_for_mutation(kind: str) -> None:
    config = parse_config(EVERYTHING).config.appwrapper
    created = request({"metadata": {"name": "x"}}, group_kind=kind)
    verdict = chain.mutate(created, Facts(config, is_team_namespace=True))
    assert isinstance(verdict, Patched)


def test_appwrappers_are_registered_everywhere_direct_kinds_in_team_namespaces() -> None:
    team = {"matchLabels": {"mlbatch-team-namespace": "true"}}
    assert {name: one.get("namespaceSelector") for name, one in webhooks().items()} == {
        "mappwrapper": None,
        "vappwrapper": None,
        "mdirectkinds": team,
        "mleftpods": team,
        "vdirectkinds": team,
    }


def test_another_selector_of_teams() -> None:
    text = (
        "appwrapper: {teamNamespaceSelector: {matchExpressions: ["
        "{key: team, operator: Exists}, {key: tier, operator: NotIn, values: [a, b]}]}}"
    )
    assert webhooks(text)["vdirectkinds"]["namespaceSelector"] == {
        "matchExpressions": [
            {"key": "team", "operator": "Exists"},
            {"key": "tier", "operator": "NotIn", "values": ["a", "b"]},
        ],
    }


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{}", ["mappwrapper", "mleftpods", "vappwrapper", "vdirectkinds"]),
        (
            "appwrapper: {allowedKinds: {direct: [ray.io/RayJob]}}",
            ["mappwrapper", "vappwrapper", "vdirectkinds"],
        ),
        (
            "appwrapper: {allowedKinds: {direct: ['*', kubeflow.org/PyTorchJob]}}",
            ["mappwrapper", "vappwrapper"],
        ),
        (EVERYTHING, NAMES),
    ],
)
def test_a_feature_that_is_off_is_not_registered(text: str, names: list[str]) -> None:
    assert list(webhooks(text)) == names


@pytest.mark.parametrize("user", ["o'brien", 'a"b\\c', "two  spaces", "# : {", "täm\n", " x "])
def test_the_shipped_file_has_the_same_registration_for_any_user_names(user: str) -> None:
    text = yaml.safe_dump({"appwrapper": {"exemptions": {"quotaManagers": [user]}}})
    config = parse_config(text).config
    written = registration.registration_yaml(config)
    assert list(yaml.safe_load_all(written)) == list(registration.registration(config))
    assert "&id" not in written


def test_the_default_configuration_is_registered_as_it_is() -> None:
    config = Configuration()
    documents: list[Any] = list(yaml.safe_load_all(registration.registration_yaml(config)))
    assert documents == list(registration.registration(config))
    assert chain.is_checked(request(appwrapper()))

"""Is a cluster set up right: the sound one is, and what cannot be told is said."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from cli.checks.installation import installation_report, installation_text
from cli.checks.items import Item, ItemResult
from cli.checks.setup_facts import Activity
from cli.cluster.operator_configuration import OperatorConfiguration
from shared.config.configuration import Configuration
from shared.config.loading import load_config, parse_config
from tests.support.builders.installations import (
    KUEUES_WEBHOOKS,
    NOW,
    SOUND,
    kueue,
    kueue_config,
    with_bundle,
    wrong,
)
from tests.support.manifests import MANIFESTS, ROOT, documents
from tests.support.walkthrough import blocks_of

GOLDEN = """\
WHAT                    IS   FOUND
Kubernetes              ok   v1.37.0
configuration           ok   ConfigMap appwrapper-system/appwrapper-operator-config is valid
CRD                     ok   as shipped
mutating webhooks       ok   appwrapper-mutating-webhook-configuration, as configured
validating webhooks     ok   appwrapper-validating-webhook-configuration, as configured
webhook order           ok   appwrapper-mutating-webhook-configuration before \
kueue-mutating-webhook-configuration
certificate authority   ok   the caBundle is valid until 2027-01-02T00:00:00Z
serving certificate     ok   Secret appwrapper-system/appwrapper-webhook-server-cert is valid \
until 2027-01-02T00:00:00Z
admission policies      ok   10 policies and bindings, as configured
webhook                 ok   it validated an AppWrapper (dry run); 1 of 1 replicas of Deployment \
appwrapper-webhook are ready
controller              ok   1 of 1 replicas of Deployment appwrapper-controller are ready
lease                   ok   appwrapper-controller-5f-x_1a leads since 2026-01-01T08:00:00Z
Pod Security            ok   each of 1 team namespaces enforces a level
Kueue                   ok   0.19
pod sets                ok   maxPodSets is 8, and this Kueue holds 18
Kueue's identity        ok   system:serviceaccount:kueue-system:kueue-controller-manager is in \
exemptions.quotaManagers
Kueue's integrations    ok   enabled: workload.codeflare.dev/appwrapper, kubeflow.org/pytorchjob
team namespaces         ok   the operator and Kueue agree about 1 of them
waitForPodsReady        ok   timeout is 1h20m, recoveryTimeout 1h20m; the operator's periods and \
retries add up to 1h17m57s
"""


def test_a_sound_installation() -> None:
    report = installation_report(SOUND, NOW)
    assert (installation_text(report), report.findings, report.unread) == (GOLDEN, (), ())


def test_the_objects_that_ship_are_what_it_asks_for() -> None:
    """Overlay default, from its own files and with its own configuration."""
    folder = MANIFESTS / "overlays" / "default"
    text = (folder / "config.yaml").read_text()
    config = parse_config(text).config
    stored = documents(folder / "admission-policies.yaml")
    hooks = documents(folder / "webhook-configurations.yaml")
    seen = replace(
        SOUND,
        configuration=OperatorConfiguration(config, "appwrapper-system"),
        policies=tuple(e for e in stored if e["kind"] == "ValidatingAdmissionPolicy"),
        bindings=tuple(e for e in stored if e["kind"] != "ValidatingAdmissionPolicy"),
        mutating=(with_bundle(hooks[0], port=9443), KUEUES_WEBHOOKS),
        validating=(with_bundle(hooks[1]),),
    )
    assert wrong(seen) == []


@pytest.mark.parametrize(
    ("changes", "version"),
    [
        ({"waitForPodsReady": None}, "v0.18.6"),
        ({"waitForPodsReady": None, "featureGates": {"DisableWaitForPodsReady": True}}, "v0.19.2"),
        (
            {
                "apiVersion": "config.kueue.x-k8s.io/v1beta1",
                "waitForPodsReady": {"timeout": "5m"},
            },
            "v0.19.2",
        ),
    ],
)
def test_wait_for_pods_ready_that_is_off(changes: dict[str, Any], version: str) -> None:
    seen = replace(SOUND, kueue=kueue(f"kueue:{version}"), kueue_config=kueue_config(**changes))
    items = {each.title: each for each in installation_report(seen, NOW).items}
    assert items["waitForPodsReady"] == Item("waitForPodsReady", ItemResult.OK, "it is off")


@pytest.mark.parametrize(("image", "counts"), [("v0.17.4", False), ("v0.18.0", True)])
def test_an_old_kueue_counts_no_resource_claims(image: str, counts: bool) -> None:
    config = parse_config("appwrapper: {resourceClaims: Count}").config
    known = OperatorConfiguration(config, "appwrapper-system")
    seen = replace(SOUND, configuration=known, kueue=kueue(f"kueue:{image}"))
    items = {each.title: each for each in installation_report(seen, NOW).items}
    expected = Item(
        "Kueue",
        ItemResult.WARNING,
        "0.17, and resourceClaims is Count: Kueue before 0.18 counts no ResourceClaims, so devices "
        "are used without quota",
        "Set resourceClaims: Reject in the operator's configuration",
    )
    assert items["Kueue"] == (Item("Kueue", ItemResult.OK, "0.18") if counts else expected)


OUTSIDE = replace(SOUND, webhook=None, controller=None, kueue=None)


def test_outside_the_cluster_the_webhook_and_kueue_are_recognised_by_their_effects() -> None:
    """As on the local cluster: processes, and no Deployment."""
    recent = Activity(NOW - timedelta(minutes=9), ())
    items = {
        each.title: each
        for each in installation_report(replace(OUTSIDE, activity=recent), NOW).items
    }
    assert {each.verdict for each in items.values()} == {ItemResult.OK}
    assert items["webhook"].found == (
        "it validated an AppWrapper (dry run); there is no Deployment appwrapper-webhook: it runs"
        " elsewhere, or not at all"
    )
    assert items["controller"].found == (
        "there is no Deployment appwrapper-controller: it runs elsewhere, or not at all; it wrote a"
        " status at 2026-01-01T23:51:00Z, so it runs"
    )
    assert items["Kueue"].found == (
        "0.19, by its CRD: there is no Deployment kueue-controller-manager in kueue-system"
    )


def test_with_mlbatchs_configuration_kueue_in_mlbatch_system_is_no_finding() -> None:
    config = load_config(MANIFESTS / "overlays" / "mlbatch" / "config.yaml").config
    seen = replace(
        SOUND,
        configuration=OperatorConfiguration(config, "appwrapper-system"),
        kueue_namespace="mlbatch-system",
    )
    items = {each.title: each for each in installation_report(seen, NOW).items}
    assert items["Kueue's identity"] == Item(
        "Kueue's identity",
        ItemResult.OK,
        "system:serviceaccount:mlbatch-system:kueue-controller-manager is in"
        " exemptions.quotaManagers",
    )


def test_an_identity_that_nothing_shows_is_unknown() -> None:
    items = {
        each.title: each
        for each in installation_report(replace(OUTSIDE, kueue_config=None), NOW).items
    }
    assert items["Kueue's identity"] == Item(
        "Kueue's identity",
        ItemResult.UNKNOWN,
        "neither Deployment kueue-controller-manager nor ConfigMap kueue-manager-config exists in"
        " kueue-system",
        "If Kueue runs elsewhere, name its ServiceAccount in exemptions.quotaManagers",
    )


@pytest.mark.parametrize("last", [None, NOW - timedelta(minutes=10)])
def test_a_controller_without_any_trace(last: datetime | None) -> None:
    seen = replace(OUTSIDE, activity=Activity(last, ()))
    assert wrong(seen, ItemResult.UNKNOWN) == [
        (
            "controller",
            "there is no Deployment appwrapper-controller: it runs elsewhere, or not at all; no"
            " AppWrapper was written in the last 10 min",
        )
    ]


def test_unreadable_parts_are_unknown() -> None:
    no = "you have no right to read this"
    names = ("definition", "secret", "policies", "leases", "kueue_config", "namespaces")
    seen = replace(
        SOUND,
        definition=None,
        secret=None,
        policies=None,
        leases=None,
        kueue_config=None,
        namespaces=None,
        refused={**dict.fromkeys(names, no), "answer": "you may not create appwrappers"},
    )
    assert wrong(seen, ItemResult.UNKNOWN) == [
        ("CRD", no),
        ("serving certificate", no),
        ("admission policies", no),
        ("webhook", "you may not create appwrappers"),
        ("lease", no),
        ("Pod Security", no),
        ("Kueue's configuration", f"ConfigMap kueue-system/kueue-manager-config: {no}"),
    ]


def test_a_configuration_that_cannot_be_used() -> None:
    found = OperatorConfiguration(
        Configuration(), "appwrapper-system", "config.yaml:3: no such key"
    )
    assert wrong(replace(SOUND, configuration=found), ItemResult.UNKNOWN) == [
        ("configuration", "config.yaml:3: no such key")
    ]


def test_the_page_shows_what_it_prints() -> None:
    seen = replace(SOUND, controller=None, kueue_config=kueue_config(waitForPodsReady=None))
    report = installation_report(seen, NOW)
    lines = [
        *(f"WARNING: {each.line}" for each in report.findings),
        *(f"UNKNOWN: {each}" for each in report.unread),
    ]
    block = blocks_of(ROOT / "docs" / "admins" / "check.md")[1]
    assert block.commands == "appwrapper check --install\n"
    assert block.shown == "\n".join([installation_text(report), *lines]) + "\n"

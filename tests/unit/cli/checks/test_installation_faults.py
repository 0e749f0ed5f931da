"""Each planted fault of an installation is found, and nothing else."""

import copy
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import yaml

from cli.checks.installation import installation_report
from cli.checks.items import ItemResult
from cli.checks.setup_facts import Activity
from cli.cluster.operator_configuration import OperatorConfiguration
from shared.api.names import GO_OPERATORS_LEASE, LEASE_NAME
from shared.api.objects import JsonObject
from shared.config.loading import parse_config
from tests.support.builders.installations import (
    KUEUES_WEBHOOKS,
    MUTATING,
    NOW,
    SOUND,
    TEAM,
    VALIDATING,
    certificate,
    deployment,
    held,
    holding,
    kueue,
    kueue_config,
    namespace,
    with_bundle,
    wrong,
)


def changed(item: JsonObject, change: Callable[[JsonObject], Any]) -> JsonObject:
    copied = copy.deepcopy(item)
    change(copied)
    return copied


def with_config(**changes: Any) -> OperatorConfiguration:
    config = parse_config(yaml.safe_dump({"appwrapper": changes})).config
    return OperatorConfiguration(config, "appwrapper-system")


NO_HOLDER = "no replica of the controller holds the Lease appwrapper-controller: no controller acts"
WITHOUT_LEASE = parse_config("controllerManager:\n  leaderElection: false\n").config
MUTATING_NAME = MUTATING["metadata"]["name"]
FAULTS: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "old Kubernetes": (
        {"kubernetes": "v1.29.4"},
        [("Kubernetes", "v1.29.4")],
    ),
    "no CRD": (
        {"definition": None},
        [("CRD", "the API server does not know AppWrappers")],
    ),
    "another CRD": (
        {
            "definition": changed(
                SOUND.shipped_definition,
                lambda crd: crd["spec"]["versions"][0].update(subresources={}),
            )
        },
        [
            (
                "CRD",
                "version v1beta2 of appwrappers.workload.codeflare.dev is not the one that this"
                " command came with",
            )
        ],
    ),
    "a webhook that fails open": (
        {
            "mutating": (
                changed(MUTATING, lambda each: each["webhooks"][0].update(failurePolicy="Ignore")),
                KUEUES_WEBHOOKS,
            )
        },
        [
            (
                "mutating webhooks",
                "these do not match the configuration: failurePolicy of mappwrapper.kb.io in"
                f" {MUTATING_NAME}",
            )
        ],
    ),
    "a webhook too many, and one too few": (
        {
            "mutating": (
                changed(MUTATING, lambda each: each["webhooks"][0].update(name="other")),
                KUEUES_WEBHOOKS,
            )
        },
        [
            (
                "mutating webhooks",
                f"missing: mappwrapper.kb.io in {MUTATING_NAME}; these are not configured: other in"
                f" {MUTATING_NAME}",
            )
        ],
    ),
    "no webhook configuration": (
        {"mutating": (KUEUES_WEBHOOKS,)},
        [("mutating webhooks", f"there is no MutatingWebhookConfiguration {MUTATING_NAME}")],
    ),
    "Kueue is asked first": (
        {"mutating": (MUTATING, KUEUES_WEBHOOKS | {"metadata": {"name": "a-kueue"}})},
        [
            (
                "webhook order",
                f"the API server calls a-kueue before {MUTATING_NAME}: Kueue does not see the"
                " default queue",
            )
        ],
    ),
    "Kueue is not asked": (
        {"mutating": (MUTATING,)},
        [
            (
                "webhook order",
                "no webhook of Kueue handles AppWrappers: Kueue suspends none of them",
            )
        ],
    ),
    "no caBundle": (
        {"validating": (with_bundle(VALIDATING, ""),)},
        [("certificate authority", "the caBundle holds no certificate")],
    ),
    "a certificate that ends soon": (
        {"secret": {"data": {"tls.crt": certificate(timedelta(days=13))}}},
        [
            (
                "serving certificate",
                "Secret appwrapper-system/appwrapper-webhook-server-cert expires on"
                " 2026-01-15T00:00:00Z",
            )
        ],
    ),
    "a certificate that has ended": (
        {"secret": {"data": {"tls.crt": certificate(timedelta(0))}}},
        [
            (
                "serving certificate",
                "Secret appwrapper-system/appwrapper-webhook-server-cert has expired on"
                " 2026-01-02T00:00:00Z",
            )
        ],
    ),
    "a binding is missing": (
        {"bindings": SOUND.bindings[1:] if SOUND.bindings else ()},
        [
            (
                "admission policies",
                "missing: ValidatingAdmissionPolicyBinding "
                + (SOUND.bindings or ())[0]["metadata"]["name"],
            )
        ],
    ),
    "policies of another configuration": (
        {"configuration": with_config(exemptions={"serviceAccountNamespaces": ["mine"]})},
        [],
    ),
    "the webhook refuses": (
        {"answer": "connection refused"},
        [("webhook", "a dry run of an AppWrapper failed: connection refused")],
    ),
    "the webhook is not ready": (
        {"webhook": deployment(0)},
        [
            (
                "webhook",
                "it answers, but 0 of 1 replicas of Deployment appwrapper-webhook are ready",
            )
        ],
    ),
    "the controller is not ready": (
        {"controller": deployment(0)},
        [("controller", "0 of 1 replicas of Deployment appwrapper-controller are ready")],
    ),
    "nobody acts on AppWrappers": (
        {"activity": Activity(None, (("team1/a", NOW - timedelta(minutes=3)),))},
        [
            (
                "controller",
                "1 AppWrapper(s) have no status, such as team1/a: no controller acts on them;"
                " 1 of 1 replicas of Deployment appwrapper-controller are ready",
            )
        ],
    ),
    "the Go operator runs": (
        {
            "leases": (
                *(SOUND.leases or ()),
                held(GO_OPERATORS_LEASE, timedelta(seconds=59), "other_1"),
            )
        },
        [
            (
                "lease",
                "other_1 renews the Go operator's lease f134c674.codeflare.dev: that operator runs,"
                " and this controller waits for it",
            )
        ],
    ),
    "the leader does not renew its Lease": (
        {"leases": (held(LEASE_NAME, timedelta(minutes=1)),)},
        [
            (
                "lease",
                "appwrapper-controller-5f-x_1a holds the Lease appwrapper-controller, and renewed"
                " it last at 2026-01-01T23:59:00Z: no controller acts",
            )
        ],
    ),
    "no replica leads": (
        {"leases": (held(LEASE_NAME, timedelta(seconds=2), holder=""),)},
        [("lease", NO_HOLDER)],
    ),
    "there is no Lease": ({"leases": ()}, [("lease", NO_HOLDER)]),
    "two replicas without a Lease": (
        {
            "configuration": OperatorConfiguration(WITHOUT_LEASE, "appwrapper-system"),
            "controller": deployment(2, replicas=2),
            "leases": (),
        },
        [
            (
                "lease",
                "controllerManager.leaderElection is false, and Deployment appwrapper-controller"
                " has 2 replicas: each one acts",
            )
        ],
    ),
    "an old Kueue": (
        {"kueue": kueue("kueue:v0.15.3")},
        [("Kueue", "0.15")],
    ),
    "a Kueue that is not ready": (
        {"kueue": kueue("kueue:v0.19.2", 0)},
        [("Kueue", "0.19, and no replica of Deployment kueue-controller-manager is ready")],
    ),
    "more pod sets than Kueue holds": (
        {"configuration": with_config(maxPodSets=10), "workload_definition": holding(8)},
        [
            (
                "pod sets",
                "maxPodSets is 10, and this Kueue holds 8: AppWrappers with more than 8 would never"
                " be admitted",
            )
        ],
    ),
    "another identity of Kueue": (
        {"kueue": kueue("kueue:v0.19.2", account="mine")},
        [
            (
                "Kueue's identity",
                "system:serviceaccount:kueue-system:mine is not in exemptions.quotaManagers: the"
                " webhook undoes what Kueue writes",
            )
        ],
    ),
    "a Kueue elsewhere than in the namespace of its manager": (
        {"kueue_namespace": "mlbatch-system"},
        [
            (
                "Kueue's identity",
                "system:serviceaccount:mlbatch-system:kueue-controller-manager is not in"
                " exemptions.quotaManagers: the webhook undoes what Kueue writes",
            )
        ],
    ),
    "integrations that are off": (
        {"kueue_config": kueue_config(integrations={"frameworks": ["batch/job"]})},
        [
            (
                "Kueue's integrations",
                "not enabled: workload.codeflare.dev/appwrapper, kubeflow.org/pytorchjob. Kueue"
                " counts none of their pods",
            )
        ],
    ),
    "jobs without a queue run": (
        {"kueue_config": kueue_config(manageJobsWithoutQueueName=None)},
        [
            (
                "team namespaces",
                "manageJobsWithoutQueueName is off: in teams' namespaces jobs that name no queue"
                " run without quota",
            )
        ],
    ),
    "no selector": (
        {"kueue_config": kueue_config(managedJobsNamespaceSelector=None)},
        [
            (
                "team namespaces",
                "Kueue has no managedJobsNamespaceSelector: it suspends jobs in every namespace"
                " except its own and kube-system",
            )
        ],
    ),
    "a selector with expressions": (
        {
            "kueue_config": kueue_config(
                managedJobsNamespaceSelector={
                    "matchExpressions": [{"key": "team", "operator": "In", "values": ["true"]}]
                }
            ),
            "namespaces": (TEAM, namespace("other", team="true"), namespace("default")),
        },
        [
            (
                "team namespaces",
                "the operator (teamNamespaceSelector) and Kueue (managedJobsNamespaceSelector)"
                " disagree about other, team1",
            )
        ],
    ),
    "another selector": (
        {
            "kueue_config": kueue_config(
                managedJobsNamespaceSelector={"matchLabels": {"team": "true"}}
            ),
            "namespaces": (TEAM, namespace("other", team="true"), namespace("default")),
        },
        [
            (
                "team namespaces",
                "the operator (teamNamespaceSelector) and Kueue (managedJobsNamespaceSelector)"
                " disagree about other, team1",
            )
        ],
    ),
    "timeouts that are too short": (
        {
            "kueue_config": kueue_config(
                waitForPodsReady={"timeout": "1h20m", "recoveryTimeout": "3m"}
            )
        },
        [
            (
                "waitForPodsReady",
                "timeout is 1h20m, recoveryTimeout 3m, and the operator's periods and retries add"
                " up to 1h17m57s: Kueue evicts AppWrappers that the operator still retries",
            )
        ],
    ),
    "the default timeouts of 0.19": (
        {"kueue_config": kueue_config(waitForPodsReady=None)},
        [
            (
                "waitForPodsReady",
                "timeout is 30m, recoveryTimeout 30m, and the operator's periods and retries add"
                " up to 1h17m57s: Kueue evicts AppWrappers that the operator still retries",
            )
        ],
    ),
    "one blocks all": (
        {
            "kueue_config": kueue_config(
                waitForPodsReady={"timeout": "1h20m", "blockAdmission": True}
            )
        },
        [
            (
                "waitForPodsReady",
                "blockAdmission is on: one AppWrapper that is not ready keeps all others from"
                " starting",
            )
        ],
    ),
}
DIFFERENT = FAULTS.pop("policies of another configuration")


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_and_nothing_else(name: str) -> None:
    changes, expected = FAULTS[name]
    seen = replace(SOUND, **changes)
    assert wrong(seen) == expected
    report = installation_report(seen, NOW)
    assert all(each.advice for each in report.items if each.verdict is ItemResult.WARNING)


def test_registrations_of_another_configuration_are_found() -> None:
    seen = replace(SOUND, **DIFFERENT[0])
    titles = [title for title, _ in wrong(seen)]
    assert titles == ["validating webhooks", "admission policies"] or titles == [
        "mutating webhooks",
        "validating webhooks",
        "admission policies",
    ]

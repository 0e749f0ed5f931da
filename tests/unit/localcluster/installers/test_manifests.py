"""Manifests of a module become those of an installation on this machine."""

import base64
from pathlib import Path

from localcluster.installers.manifests import (
    HostWebhook,
    directed_webhooks,
    placed,
    rbac,
    with_conversion,
)

SERVER = HostWebhook("kueue-system", "kueue-webhook-service", 20443, b"PEM")
BUNDLE = base64.b64encode(b"PEM").decode()


def binding(role: str, *subjects: dict[str, str], **metadata: str) -> dict[str, object]:
    kind = "RoleBinding" if metadata else "ClusterRoleBinding"
    return {
        "kind": kind,
        "metadata": {"name": "bind", **metadata},
        "roleRef": {"kind": "ClusterRole", "name": role},
        "subjects": list(subjects),
    }


ACCOUNT = {"kind": "ServiceAccount", "metadata": {"name": "manager", "namespace": "system"}}
ROLE = {"kind": "ClusterRole", "metadata": {"name": "manager-role"}, "rules": []}


def test_names_get_the_prefix_and_references_follow() -> None:
    subject = {"kind": "ServiceAccount", "name": "manager", "namespace": "system"}

    account, role, bound = placed(
        [ACCOUNT, ROLE, binding("manager-role", subject)], namespace="there", prefix="x-"
    )

    assert account["metadata"] == {"name": "x-manager", "namespace": "there"}
    assert role == {"kind": "ClusterRole", "metadata": {"name": "x-manager-role"}, "rules": []}
    assert bound == {
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "x-bind"},
        "roleRef": {"kind": "ClusterRole", "name": "x-manager-role"},
        "subjects": [{"kind": "ServiceAccount", "name": "x-manager", "namespace": "there"}],
    }


def test_references_to_what_is_not_among_the_documents_keep_their_name() -> None:
    stranger = {"kind": "ServiceAccount", "name": "other", "namespace": "system"}
    user = {"kind": "User", "name": "manager"}

    (bound,) = placed([binding("view", stranger, user)], namespace="there", prefix="x-")

    assert bound["roleRef"]["name"] == "view"
    assert bound["subjects"] == [
        {"kind": "ServiceAccount", "name": "other", "namespace": "there"},
        user,
    ]


def test_a_binding_in_kube_system_stays_there() -> None:
    here = binding("view", namespace="kube-system")
    there = binding("view", namespace="system")

    stays, moves = placed([here, there], namespace="there")

    assert stays["metadata"]["namespace"] == "kube-system"
    assert moves["metadata"]["namespace"] == "there"


def test_only_roles_accounts_and_bindings_are_taken_from_a_folder(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("resources: [a.yaml]\n")
    (tmp_path / "role.yaml").write_text("kind: ClusterRole\nmetadata: {name: role}\n")
    (tmp_path / "service.yaml").write_text("kind: Service\nmetadata: {name: service}\n")

    assert rbac(tmp_path, namespace="there") == [
        {"kind": "ClusterRole", "metadata": {"name": "role"}}
    ]


def test_a_webhook_is_reached_through_a_service_that_leads_to_this_machine() -> None:
    assert SERVER.host == "kueue-webhook-service.kueue-system.svc"
    assert SERVER.service_document == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kueue-webhook-service", "namespace": "kueue-system"},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }


def webhook(name: str, path: str) -> dict[str, object]:
    service = {"name": "webhook-service", "namespace": "system", "path": path}
    return {"name": name, "clientConfig": {"service": service}, "failurePolicy": "Fail"}


def test_webhooks_are_directed_to_the_server_and_chosen_by_name() -> None:
    shipped = {
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "mutating", "labels": {"a": "b"}},
        "webhooks": [webhook("mjob.kb.io", "/job"), webhook("mpod.kb.io", "/pod")],
    }

    directed = directed_webhooks(shipped, "kueue-mutating", SERVER, ["mjob.kb.io"])

    service = {
        "name": "kueue-webhook-service",
        "namespace": "kueue-system",
        "port": 20443,
        "path": "/job",
    }
    assert directed == {
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "kueue-mutating"},
        "webhooks": [
            {
                "name": "mjob.kb.io",
                "clientConfig": {"service": service, "caBundle": BUNDLE},
                "failurePolicy": "Fail",
            }
        ],
    }
    assert len(directed_webhooks(shipped, "all", SERVER)["webhooks"]) == 2


def test_a_definition_is_converted_by_the_server() -> None:
    converted = with_conversion({"metadata": {"name": "a"}, "spec": {"group": "g"}}, SERVER)

    assert converted == {
        "metadata": {"name": "a"},
        "spec": {
            "group": "g",
            "conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": {
                        "service": {
                            "name": "kueue-webhook-service",
                            "namespace": "kueue-system",
                            "port": 20443,
                            "path": "/convert",
                        },
                        "caBundle": BUNDLE,
                    },
                    "conversionReviewVersions": ["v1"],
                },
            },
        },
    }

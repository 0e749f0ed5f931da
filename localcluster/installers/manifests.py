"""Reads a component's manifests from its Go module and fits them to a program on this machine.

The manifests are written for kustomize: names have no prefix and no namespace, and webhooks lead to
a pod. All functions here are pure except `rbac`, which reads files.
"""

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from localcluster.access.apply import read_documents
from shared.api.objects import JsonObject

_NAMESPACED = frozenset({"Role", "RoleBinding", "ServiceAccount"})
_ROLES = frozenset({"Role", "ClusterRole"})
_RBAC = _ROLES | {"RoleBinding", "ClusterRoleBinding", "ServiceAccount"}


@dataclass(frozen=True, slots=True)
class HostWebhook:
    """A webhook server on this machine, which the API server reaches through its own Service.

    `authority` is the PEM certificate that signed its certificate for NAME.NAMESPACE.svc.
    """

    namespace: str
    service: str
    port: int
    authority: bytes

    @property
    def host(self) -> str:
        """Returns the name that the API server expects in the server's certificate."""
        return f"{self.service}.{self.namespace}.svc"

    @property
    def service_document(self) -> JsonObject:
        """Returns its Service."""
        return host_service(self.namespace, self.service)

    def client_config(self, path: str) -> JsonObject:
        """Returns the `clientConfig` of a webhook that is served under `path`."""
        reference = {
            "namespace": self.namespace,
            "name": self.service,
            "port": self.port,
            "path": path,
        }
        bundle = base64.b64encode(self.authority).decode()
        return {"service": reference, "caBundle": bundle}


def host_service(namespace: str, name: str) -> JsonObject:
    """Returns a Service that leads to this machine; its users name the port."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }


def namespace_document(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def binding(
    name: str, role: str, account: str, namespace: str, *, within: str | None = None
) -> JsonObject:
    """Returns the binding of a ClusterRole, or of the Role in namespace `within`, to an account."""
    group, kind = "rbac.authorization.k8s.io", "Role" if within else "ClusterRole"
    return {
        "apiVersion": f"{group}/v1",
        "kind": f"{kind}Binding",
        "metadata": {"name": name, **({"namespace": within} if within else {})},
        "roleRef": {"apiGroup": group, "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }


def rbac(*paths: Path, namespace: str, prefix: str = "") -> list[JsonObject]:
    """Returns the placed ServiceAccounts, roles and bindings of manifest files and folders."""
    documents = [each for each in read_documents(*paths) if each.get("kind") in _RBAC]
    return placed(documents, namespace=namespace, prefix=prefix)


def placed(
    documents: Sequence[JsonObject], *, namespace: str, prefix: str = ""
) -> list[JsonObject]:
    """Places RBAC objects as kustomize does: adds `prefix` to their names, sets `namespace`.

    A reference changes if it names one of the documents; built-in roles keep their names. A
    RoleBinding with its own namespace keeps it.
    """
    roles = {each["metadata"]["name"] for each in documents if each["kind"] in _ROLES}
    accounts = {each["metadata"]["name"] for each in documents if each["kind"] == "ServiceAccount"}
    return [_placed(each, namespace, prefix, roles, accounts) for each in documents]


def _placed(
    document: JsonObject, namespace: str, prefix: str, roles: set[str], accounts: set[str]
) -> JsonObject:
    metadata = document["metadata"] | {"name": prefix + document["metadata"]["name"]}
    if document["kind"] in _NAMESPACED and metadata.get("namespace") != "kube-system":
        metadata["namespace"] = namespace
    result = document | {"metadata": metadata}
    if "roleRef" in document:
        role = document["roleRef"]
        own = prefix if role["name"] in roles else ""
        result["roleRef"] = role | {"name": own + role["name"]}
        result["subjects"] = [
            _subject(each, namespace, prefix if each["name"] in accounts else "")
            for each in document["subjects"]
        ]
    return result


def _subject(subject: JsonObject, namespace: str, prefix: str) -> JsonObject:
    if subject["kind"] != "ServiceAccount":
        return subject
    return subject | {"name": prefix + subject["name"], "namespace": namespace}


def directed_webhooks(
    configuration: JsonObject, name: str, server: HostWebhook, keep: Iterable[str] | None = None
) -> JsonObject:
    """Returns a webhook configuration `name`, with all webhooks served by `server`.

    `keep` names the webhooks to keep; None keeps all.
    """
    names = None if keep is None else frozenset(keep)
    webhooks = [
        each | {"clientConfig": server.client_config(each["clientConfig"]["service"]["path"])}
        for each in configuration["webhooks"]
        if names is None or each["name"] in names
    ]
    return configuration | {"metadata": {"name": name}, "webhooks": webhooks}


def with_conversion(definition: JsonObject, server: HostWebhook) -> JsonObject:
    """Returns a CRD whose versions `server` converts, under /convert."""
    webhook = {
        "clientConfig": server.client_config("/convert"),
        "conversionReviewVersions": ["v1"],
    }
    spec = definition["spec"] | {"conversion": {"strategy": "Webhook", "webhook": webhook}}
    return definition | {"spec": spec}

"""Installs cert-manager: it issues and renews certificates, and writes caBundles.

It has its own ServiceAccount. One program runs its controllers and its injector
(localcluster/components/cert-manager). The module's roles are Helm templates, which no code here
renders, so the role below grants the requests of these controllers. cert-manager's webhook does not
run: it rejects malformed objects, and the tests' objects are well-formed.
"""

from localcluster.access.apply import read_documents
from localcluster.access.probes import http_ok
from localcluster.access.running import OwnedCluster
from localcluster.installers import manifests
from localcluster.machine.ports import HOST
from localcluster.machine.processes import ProcessSpec
from shared.api.objects import JsonObject

NAMESPACE, ACCOUNT = "cert-manager", "cert-manager"
_GROUP = "rbac.authorization.k8s.io"
_READ = ("get", "list", "watch")
_WRITE = (*_READ, "create", "update", "patch", "delete")


async def install(cluster: OwnedCluster) -> None:
    """Starts cert-manager; returns when its caches are filled."""
    definitions = read_documents(cluster.modules["cert-manager"] / "deploy" / "crds")
    await cluster.apply([manifests.namespace_document(NAMESPACE), *definitions, *rights()])
    account = await cluster.service_account_kubeconfig(NAMESPACE, ACCOUNT)
    health = f"{HOST}:{cluster.ports.reserve()}"
    command = (
        str(cluster.programs["cert-manager"]),
        f"--kubeconfig={account}",
        f"--namespace={NAMESPACE}",
        f"--health={health}",
    )
    ready = http_ok(f"http://{health}/readyz")
    spec = ProcessSpec("cert-manager", command, ready, address=f"http://{health}")
    await cluster.processes.start(spec)


def rights() -> list[JsonObject]:
    """Returns the role and its binding."""
    kinds = ("certificates", "certificaterequests", "issuers", "clusterissuers")
    parts = [f"{kind}/{part}" for kind in kinds for part in ("status", "finalizers")]
    rules = (
        _rule("cert-manager.io", (*kinds, *parts), _WRITE),
        # In all namespaces: any of them may contain a Certificate.
        _rule("", ("secrets",), _WRITE),
        _rule("", ("events",), ("create", "patch")),
        _rule(
            "admissionregistration.k8s.io",
            ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
            (*_READ, "update", "patch"),
        ),
    )
    metadata = {"name": ACCOUNT}
    role = {"apiVersion": f"{_GROUP}/v1", "kind": "ClusterRole", "metadata": metadata}
    binding = {"apiVersion": f"{_GROUP}/v1", "kind": "ClusterRoleBinding", "metadata": metadata}
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}
    return [
        role | {"rules": list(rules)},
        binding
        | {
            "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": ACCOUNT},
            "subjects": [subject],
        },
    ]


def _rule(group: str, resources: tuple[str, ...], verbs: tuple[str, ...]) -> JsonObject:
    return {"apiGroups": [group], "resources": [*resources], "verbs": [*verbs]}

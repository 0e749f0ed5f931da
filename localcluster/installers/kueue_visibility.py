"""Installs Kueue's visibility server: its own API, which lists the waiting workloads of a queue.

It is a part of Kueue's process. By the APIServices the API server proxies requests for its group,
with a client certificate and the user's name.
"""

from pathlib import Path

from localcluster.access.apply import read_documents
from localcluster.access.running import OwnedCluster
from localcluster.installers import manifests
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.ports import HOST
from localcluster.machine.slowness import stretched
from localcluster.machine.waiting import still_missing
from shared.api.conditions import is_true
from shared.api.objects import CONFIGMAPS, JsonObject, Resource
from shared.kube.client import NotFound

NAMESPACE = "kueue-system"
_SERVICE = "visibility-server"
_READER = "extension-apiserver-authentication-reader"
_API_SERVICES = Resource(
    "apiregistration.k8s.io", "v1", "apiservices", "APIService", namespaced=False
)
_PATIENCE_SECONDS = stretched(120.0)
# The ConfigMap with the authorities that an API server's extensions must trust.
_TRUST = "extension-apiserver-authentication"


def is_offered(module: Path) -> bool:
    """True if this Kueue's configuration can set the port, which 0.19 introduced.

    With the fixed port only one cluster could run on this machine.
    """
    types = module / "apis" / "config" / "v1beta2" / "configuration_types.go"
    return types.is_file() and '`json:"visibilityServer,omitempty"`' in types.read_text()


def settings(port: int) -> JsonObject:
    """Returns the server's part of Kueue's configuration."""
    return {"visibilityServer": {"bindAddress": HOST, "bindPort": port}}


def rights(account: str) -> list[JsonObject]:
    """Returns the server's rights beside Kueue's roles: to read the API server's authority."""
    name = f"kueue-{_SERVICE}-auth-reader"
    return [manifests.binding(name, _READER, account, NAMESPACE, within="kube-system")]


def documents(module: Path, port: int) -> list[JsonObject]:
    """Returns the Service, which leads to this machine, and the APIServices that name it."""
    folder = module / "config" / "components" / "visibility"
    shipped = [
        each for file in sorted(folder.glob("apiservice_*.yaml")) for each in read_documents(file)
    ]
    return [manifests.host_service(NAMESPACE, _SERVICE), *(_at(each, port) for each in shipped)]


def _at(api_service: JsonObject, port: int) -> JsonObject:
    spec = api_service["spec"]
    return api_service | {"spec": spec | {"service": spec["service"] | {"port": port}}}


async def readable_trust(cluster: OwnedCluster, account: str) -> None:
    """Waits until the server may read the API server's authority; start the server after that.

    After one refusal it retries ever more rarely, and answers 403 to all users until then.
    """
    question: JsonObject = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{NAMESPACE}:{account}",
            "groups": ["system:serviceaccounts", "system:authenticated"],
            "resourceAttributes": {
                "verb": "get",
                "resource": CONFIGMAPS.plural,
                "namespace": "kube-system",
                "name": _TRUST,
            },
        },
    }

    async def ask() -> str | None:
        try:
            await cluster.client.get(CONFIGMAPS, "kube-system", _TRUST)
        except NotFound:
            return "it is not there"
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        answer = await cluster.client.post(path, question)
        return None if answer["status"].get("allowed") is True else "it is forbidden"

    missing = await still_missing(ask, _PATIENCE_SECONDS)
    if missing is not None:
        raise LocalClusterError(
            f"{account} of {NAMESPACE} may not read ConfigMap {_TRUST} of kube-system after"
            f" {_PATIENCE_SECONDS:.0f} s: {missing}."
        )


async def publish(cluster: OwnedCluster, port: int) -> None:
    """Registers the server as an API; returns when the API server gets answers from it.

    Kueue must serve before: after one refusal the API server retries an APIService ever more
    rarely. Until it answers kubectl complains and no namespace can be deleted.
    """
    applied = documents(cluster.modules["kueue"], port)
    await cluster.apply(applied)

    async def ask() -> str | None:
        for document in applied:
            if document["kind"] == _API_SERVICES.kind:
                name = document["metadata"]["name"]
                found = await cluster.client.get(_API_SERVICES, None, name)
                conditions = found.get("status", {}).get("conditions") or []
                if not is_true(conditions, "Available"):
                    return str(conditions)
        return None

    missing = await still_missing(ask, _PATIENCE_SECONDS)
    if missing is not None:
        raise LocalClusterError(f"Kueue's visibility server does not answer: {missing}")

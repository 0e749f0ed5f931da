"""One table of the operators that a cluster has on request, and one installer for all of them.

Each operator runs as a process on this machine, under its own ServiceAccount and its module's roles
(cert-manager: the role below). Its webhooks lead to this machine.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from localcluster.access.apply import read_documents
from localcluster.access.probes import admits, both, http_ok
from localcluster.access.running import OwnedCluster
from localcluster.installers import coscheduler, manifests
from localcluster.installers.manifests import HostWebhook
from localcluster.installers.marker import remove_marker, with_marker
from localcluster.installers.rotated_certificate import RotatedCertificate
from localcluster.machine.ports import HOST
from localcluster.machine.processes import ProcessSpec
from shared.api.objects import JsonObject, Resource
from shared.process.clock import SystemClock


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorWebhooks:
    """The webhooks of an operator. `path` is their manifest in the module.

    `pods_with` is the label of the pods that its pod webhooks see. `keep` names the webhooks to
    keep, None keeps all; `name` is the configuration's, if it is not the prefix and the module's
    name. The operator serves if it answers to a create of `example`, an object of its first Kind.
    With `rotated` it manages its certificate by cert-controller, and finds it below TMPDIR.
    """

    path: str
    service: str
    example: JsonObject
    pods_with: str = ""
    name: str = ""
    keep: tuple[str, ...] | None = None
    rotated: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """How one operator is installed. Paths are in its module.

    `arguments` and values of `environment` may contain {health}, {health_port}, {kubeconfig},
    {webhook_port} and {settings}: the last is the file of `settings`, the module's configuration
    changed for a process outside a pod. `frameworks` are Kueue's names of its Kinds. `gang_option`
    names Coscheduler, if the cluster has it. `marker` is a file without which it does not start.
    """

    namespace: str
    account: str
    crds: str
    arguments: tuple[str, ...]
    resources: tuple[Resource, ...] = ()
    frameworks: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    own_roles: tuple[JsonObject, ...] = ()
    prefix: str = ""
    settings: str = ""
    webhooks: OperatorWebhooks | None = None
    health: str = "/readyz"
    environment: Mapping[str, str] = field(default_factory=lambda: {"KUBECONFIG": "{kubeconfig}"})
    gang_option: str = ""
    marker: Path | None = None


def _role(account: str, namespace: str, rules: tuple[JsonObject, ...]) -> tuple[JsonObject, ...]:
    """Return a ClusterRole with the account's name, and its binding."""
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": account},
        "rules": list(rules),
    }
    return (role, manifests.binding(account, account, account, namespace))


def _rule(group: str, resources: tuple[str, ...], *verbs: str) -> JsonObject:
    return {"apiGroups": [group], "resources": [*resources], "verbs": [*verbs]}


def _example(resource: Resource, namespace: str, spec: JsonObject) -> JsonObject:
    metadata = {"name": "probe", "namespace": namespace}
    return {
        "apiVersion": resource.gvk.api_version,
        "kind": resource.kind,
        "metadata": metadata,
        "spec": spec,
    }


_READ: Final = ("get", "list", "watch")
_CONTAINER: Final = {"name": "pytorch", "image": "probe"}
_POD: Final = {"spec": {"restartPolicy": "Never", "containers": [_CONTAINER]}}
_JOB: Final = {"spec": {"template": _POD}}
_WRITE: Final = (*_READ, "create", "update", "patch", "delete")
_ISSUED: Final = ("certificates", "certificaterequests", "issuers", "clusterissuers")
_PARTS: Final = tuple(f"{kind}/{part}" for kind in _ISSUED for part in ("status", "finalizers"))
_JOBSETS: Final = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
_SETS: Final = Resource("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet")
_TRAINJOBS: Final = Resource("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob")
_RUNTIMES: Final = Resource(
    "trainer.kubeflow.org", "v1alpha1", "trainingruntimes", "TrainingRuntime"
)
_PYTORCHJOBS: Final = Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob")

OPERATORS: Final[Mapping[str, Operator]] = {
    # It issues and renews certificates, and writes caBundles. One program runs its controllers and
    # its injector (localcluster/components/cert-manager); its webhook, which rejects malformed
    # objects, does not run. The module's roles are Helm templates, so the rules are here.
    "cert-manager": Operator(
        namespace="cert-manager",
        account="cert-manager",
        crds="deploy/crds",
        own_roles=_role(
            "cert-manager",
            "cert-manager",
            (
                _rule("cert-manager.io", (*_ISSUED, *_PARTS), *_WRITE),
                # In all namespaces: any of them may contain a Certificate.
                _rule("", ("secrets",), *_WRITE),
                _rule("", ("events",), "create", "patch"),
                _rule(
                    "admissionregistration.k8s.io",
                    ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
                    *_READ,
                    "update",
                    "patch",
                ),
            ),
        ),
        arguments=("--kubeconfig={kubeconfig}", "--namespace=cert-manager", "--health={health}"),
        environment={},
    ),
    "jobset": Operator(
        namespace="jobset-system",
        account="jobset-controller-manager",
        crds="config/components/crd/bases",
        resources=(_JOBSETS,),
        frameworks=("jobset.x-k8s.io/jobset",),
        roles=("config/components/rbac",),
        prefix="jobset-",
        settings="config/components/manager/controller_manager_config.yaml",
        arguments=("--config={settings}",),
        webhooks=OperatorWebhooks(
            path="config/components/webhook/manifests.yaml",
            service="jobset-webhook-service",
            pods_with="jobset.sigs.k8s.io/jobset-name",
            example=_example(
                _JOBSETS,
                "jobset-system",
                {"replicatedJobs": [{"name": "a", "template": _JOB}]},
            ),
        ),
    ),
    # Without webhooks, as in its default installation.
    "kuberay": Operator(
        namespace="ray-system",
        account="kuberay-operator",
        crds="config/crd/bases",
        resources=(
            Resource("ray.io", "v1", "rayclusters", "RayCluster"),
            Resource("ray.io", "v1", "rayjobs", "RayJob"),
        ),
        frameworks=("ray.io/raycluster", "ray.io/rayjob"),
        roles=("config/rbac",),
        arguments=(
            "--metrics-addr=0",
            "--health-probe-bind-address={health}",
            "--enable-leader-election=false",
            "--qps=1000",
            "--burst=2000",
        ),
    ),
    # Kueue adds the integration of pods itself. The API server does not call it for pods: Kueue
    # ignores wrapped ones, and users of teams create no LeaderWorkerSets directly.
    "leaderworkerset": Operator(
        namespace="lws-system",
        account="lws-controller-manager",
        crds="config/crd/bases",
        resources=(_SETS,),
        frameworks=("leaderworkerset.x-k8s.io/leaderworkerset",),
        roles=("config/rbac",),
        prefix="lws-",
        settings="config/manager/controller_manager_config.yaml",
        arguments=("--config={settings}",),
        webhooks=OperatorWebhooks(
            path="config/webhook/manifests.yaml",
            service="lws-webhook-service",
            pods_with="leaderworkerset.sigs.k8s.io/name",
            example=_example(
                _SETS,
                "lws-system",
                {"leaderWorkerTemplate": {"workerTemplate": _POD}},
            ),
        ),
    ),
    # Its CRD serves kubeflow.org/v2beta1 alone. The Training Operator has a CRD of the same name
    # for v1, which a local cluster never gets.
    "mpi-operator": Operator(
        namespace="mpi-operator",
        account="mpi-operator",
        crds="manifests/base/kubeflow.org_mpijobs.yaml",
        resources=(Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob"),),
        frameworks=("kubeflow.org/mpijob",),
        roles=tuple(
            f"manifests/base/{name}.yaml"
            for name in ("service-account", "cluster-role", "cluster-role-binding")
        ),
        health="/healthz",
        arguments=(
            "-lock-namespace=mpi-operator",
            "-health-port={health_port}",
            "-threadiness=5",
            "-kube-api-qps=1000",
            "-kube-api-burst=2000",
            "-controller-queue-rate-limit=1000",
            "-controller-queue-burst=2000",
        ),
    ),
    # Kubeflow Trainer. It needs JobSet beside it.
    "trainer": Operator(
        namespace="kubeflow-system",
        account="kubeflow-trainer-controller-manager",
        crds="manifests/base/crds",
        resources=(_RUNTIMES, _TRAINJOBS),
        frameworks=("trainer.kubeflow.org/trainjob",),
        roles=("manifests/base/rbac",),
        settings="manifests/base/manager/controller_manager_config.yaml",
        arguments=("--config={settings}",),
        webhooks=OperatorWebhooks(
            path="manifests/base/webhook/manifests.yaml",
            service="kubeflow-trainer-controller-manager",
            name="trainer.kubeflow.org",
            example=_example(
                _RUNTIMES,
                "kubeflow-system",
                {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": _JOB}]}}},
            ),
        ),
    ),
    "training-operator": Operator(
        namespace="kubeflow",
        account="training-operator",
        crds="manifests/base/crds/kubeflow.org_pytorchjobs.yaml",
        resources=(_PYTORCHJOBS,),
        frameworks=("kubeflow.org/pytorchjob",),
        roles=("manifests/base/rbac",),
        arguments=(
            "--enable-scheme=pytorchjob",
            "--metrics-bind-address=0",
            "--health-probe-bind-address={health}",
            "--webhook-server-port={webhook_port}",
            "--controller-threads=5",
            "--kube-api-qps=1000",
            "--kube-api-burst=2000",
        ),
        environment={"KUBECONFIG": "{kubeconfig}", "MY_POD_NAMESPACE": "kubeflow"},
        gang_option="--gang-scheduler-name",
        # It reads its certificate below TMPDIR, but waits until this fixed path exists.
        marker=Path("/tmp/k8s-webhook-server/serving-certs/tls.crt"),
        webhooks=OperatorWebhooks(
            path="manifests/base/webhook/manifests.yaml",
            service="training-operator",
            name="validator.training-operator.kubeflow.org",
            keep=("validator.pytorchjob.training-operator.kubeflow.org",),
            rotated="training-operator-ca",
            example=_example(
                _PYTORCHJOBS,
                "kubeflow",
                {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": _POD}}},
            ),
        ),
    ),
}


def definitions(name: str, module: Path) -> list[JsonObject]:
    """Return the CRDs of an operator, from the folder of its module."""
    found = read_documents(module / OPERATORS[name].crds)
    return [each for each in found if each["kind"] == "CustomResourceDefinition"]


async def install(name: str, cluster: OwnedCluster) -> None:
    """Start the operator; return when it is healthy and its webhooks answer."""
    operator, module = OPERATORS[name], cluster.modules[name]
    gangs = bool(operator.gang_option) and "coscheduler" in cluster.options.components
    await cluster.apply(
        [
            manifests.namespace_document(operator.namespace),
            *definitions(name, module),
            *(coscheduler.definitions(cluster.modules["coscheduler"]) if gangs else ()),
        ]
    )
    roles = [module / each for each in operator.roles]
    objects = manifests.rbac(*roles, namespace=operator.namespace, prefix=operator.prefix)
    objects += operator.own_roles
    folder = cluster.directory / name
    folder.mkdir()
    health_port = cluster.ports.reserve()
    health = f"{HOST}:{health_port}"
    values = {"health": health, "health_port": str(health_port)}
    environment = dict(operator.environment)
    probe = http_ok(f"http://{health}{operator.health}")
    if operator.webhooks is not None:
        server, certificates, secrets = _server(cluster, name, operator.webhooks)
        objects += [*secrets, server.service_document]
        objects += webhooks(operator.webhooks, operator.prefix, module, server)
        values["webhook_port"] = str(server.port)
        # controller-runtime's default folder of certificates is below TMPDIR.
        environment["TMPDIR"] = str(certificates.parents[1])
        if operator.settings:
            (default,) = read_documents(module / operator.settings)
            changed = settings(default, server.port, certificates, health)
            file = folder / "configuration.yaml"
            file.write_text(yaml.safe_dump(changed))
            values["settings"] = str(file)
        example = admits(cluster.client, operator.resources[0], operator.webhooks.example)
        probe = both(probe, example)
    await cluster.apply(objects)
    account = await cluster.service_account_kubeconfig(operator.namespace, operator.account)
    values["kubeconfig"] = str(account)
    gang = (f"{operator.gang_option}={coscheduler.SCHEDULER}",) if gangs else ()
    arguments = [each.format(**values) for each in (*operator.arguments, *gang)]
    spec = ProcessSpec(
        name,
        (str(cluster.programs[name]), *arguments),
        with_marker(probe, operator.marker) if operator.marker else probe,
        address=f"http://{health}",
        environment={key: value.format(**values) for key, value in environment.items()},
    )
    try:
        await cluster.processes.start(spec)
    finally:
        if operator.marker:
            remove_marker(operator.marker)


def _server(
    cluster: OwnedCluster, name: str, hooks: OperatorWebhooks
) -> tuple[HostWebhook, Path, list[JsonObject]]:
    """Return the webhook server, the folder of its certificate, and the Secret of a rotated one."""
    namespace, port = OPERATORS[name].namespace, cluster.ports.reserve()
    host = f"{hooks.service}.{namespace}.svc"
    if hooks.rotated:
        certificate = RotatedCertificate.make(hooks.rotated, host, SystemClock().now())
        server = HostWebhook(namespace, hooks.service, port, certificate.authority)
        # controller-runtime's folder below TMPDIR.
        folder = cluster.directory / name / "k8s-webhook-server" / "serving-certs"
        certificate.write_to(folder)
        return server, folder, [certificate.secret(namespace, f"{hooks.service}-webhook-cert")]
    # The cluster's authority signs: `settings` stops the operator from managing its certificate.
    # Kubeflow Trainer has no option for the folder: it is controller-runtime's.
    files = f"{name}/k8s-webhook-server/serving-certs/tls"
    pair = cluster.authority.serving(files, (host, "localhost", HOST))
    authority = cluster.authority.certificate.read_bytes()
    return HostWebhook(namespace, hooks.service, port, authority), pair.key.parent, []


def webhooks(
    hooks: OperatorWebhooks, prefix: str, module: Path, server: HostWebhook
) -> list[JsonObject]:
    """Return the webhook configurations; pod webhooks see the pods of the operator's Kind only."""
    configurations = []
    selector = {"matchExpressions": [{"key": hooks.pods_with, "operator": "Exists"}]}
    for each in read_documents(module / hooks.path):
        name = hooks.name or prefix + each["metadata"]["name"]
        directed = manifests.directed_webhooks(each, name, server, hooks.keep)
        for webhook in directed["webhooks"]:
            if hooks.pods_with and webhook["name"] in ("mpod.kb.io", "vpod.kb.io"):
                webhook["objectSelector"] = selector
        configurations.append(directed)
    return configurations


def settings(default: JsonObject, port: int, certificates: Path, health: str) -> JsonObject:
    """Return the module's configuration, changed for a process outside a pod."""
    changed = default | {
        "leaderElection": {"leaderElect": False},
        "health": {"healthProbeBindAddress": health},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": HOST, "port": port},
        "clientConnection": {"qps": 1000, "burst": 2000},
    }
    if "certManagement" in default:  # Kubeflow Trainer's, which has no certDir
        return changed | {"certManagement": {"enable": False}}
    own = {"webhook": {**changed["webhook"], "certDir": str(certificates)}}
    return changed | {"internalCertManagement": {"enable": False}} | own

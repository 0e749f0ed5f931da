"""The whole configuration of both binaries: ConfigMap key `config.yaml`.

Keys are the Go operator's, so that its ConfigMap works unchanged; what this project adds stands
beside them. A key is its attribute's name in camel case, or what the field says.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final, Literal

from pydantic import Field

from shared.config.fault_tolerance import (
    Autopilot,
    EvacuationBreaker,
    FaultTolerance,
    NodeHealth,
    ResetRateLimit,
    SlackQueue,
)
from shared.config.values import GoDuration, Section, Size
from shared.kinds.table import KINDS

# `certManagement`: where the webhook's certificate comes from, and how long certificates live.


class CertManagement(Section):
    """`certManagement`. The names are the Go operator's; what this project adds stands below."""

    namespace: str = "appwrapper-system"
    # Read with source Files only. The Go operator's default, where its manifests mount the Secret.
    certificate_dir: str = "/tmp/k8s-webhook-server/serving-certs"
    certificate_name: str = "appwrapper-ca"
    certificate_org: str = "appwrapper"
    mutating_webhook_config_name: str = "appwrapper-mutating-webhook-configuration"
    validating_webhook_config_name: str = "appwrapper-validating-webhook-configuration"
    webhook_service_name: str = "appwrapper-webhook-service"
    webhook_secret_name: str = "appwrapper-webhook-server-cert"
    # Added by this project from here on.
    # SelfManaged: the webhook makes its certificates, keeps them in the Secret, and keeps the
    # caBundle of both configurations. Files: it serves tls.crt and tls.key of certificateDir, and
    # whoever writes those (cert-manager) keeps the caBundle.
    source: Literal["SelfManaged", "Files"] = "SelfManaged"
    # Both are replaced after two thirds of their life.
    ca_lifetime: GoDuration = timedelta(days=3650)
    leaf_lifetime: GoDuration = timedelta(days=90)
    # How long both configurations must have carried a CA before a certificate of it is served: the
    # API servers learn of a change by their watches.
    settle_period: GoDuration = timedelta(seconds=30)
    # How long a CA stays trusted that an admin had replaced (its key may be in foreign hands).
    revocation_period: GoDuration = timedelta(minutes=10)


# Who may create what: `appwrapper.allowedKinds`, `teamNamespaceSelector`, `exemptions`.

# The seeds' lists. An entry is `group/Kind`, `Kind` in the core group, or '*' for every Kind.
_DIRECT: Final = (
    "workload.codeflare.dev/AppWrapper",
    "kubeflow.org/PyTorchJob",
    "ray.io/RayJob",
    "ray.io/RayCluster",
    "Service",
    "Secret",
    "ConfigMap",
    "PersistentVolumeClaim",
    "scheduling.x-k8s.io/PodGroup",
)
_WRAPPED: Final = tuple(each.group_kind for each in KINDS)


class AllowedKinds(Section):
    """Checked on CREATE: `direct` in team namespaces, `wrapped` inside every AppWrapper."""

    direct: tuple[str, ...] = _DIRECT
    wrapped: tuple[str, ...] = _WRAPPED


class LabelSelectorRequirement(Section):
    """As in Kubernetes."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """As the API server evaluates it: NotIn also matches where the label is absent."""
        match self.operator:
            case "In":
                return self.key in labels and labels[self.key] in self.values
            case "NotIn":
                return self.key not in labels or labels[self.key] not in self.values
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels


class LabelSelector(Section):
    """As in Kubernetes; an empty one selects everything."""

    match_labels: dict[str, str] = Field(default_factory=dict)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether everything that it requires holds of an object with these labels."""
        return all(labels.get(key) == value for key, value in self.match_labels.items()) and all(
            requirement.matches(labels) for requirement in self.match_expressions
        )


def team_namespaces() -> LabelSelector:
    """The label that the seeds put on a team's namespace."""
    return LabelSelector(match_labels={"mlbatch-team-namespace": "true"})


class Exemptions(Section):
    """Identities that some rules leave alone."""

    # May start a suspended AppWrapper and write its podSetInfos.
    quota_managers: tuple[str, ...] = (
        "system:serviceaccount:kueue-system:kueue-controller-manager",
    )
    # Their service accounts create pods and jobs on behalf of what was admitted.
    service_account_namespaces: tuple[str, ...] = (
        "kube-system",
        "kueue-system",
        "appwrapper-system",
        "kubeflow",
        "ray-system",
        "jobset-system",
        "lws-system",
        "mpi-operator",
    )


class AppWrapperConfig(Section):
    """`appwrapper`: the behaviour."""

    autopilot: Autopilot = Autopilot()
    user_rbac_admission_check: bool = Field(
        default=True,
        validation_alias="userRBACAdmissionCheck",
        serialization_alias="userRBACAdmissionCheck",
    )
    fault_tolerance: FaultTolerance = FaultTolerance()
    # Empty: pods keep the scheduler their template names.
    scheduler_name: str = ""
    # Empty: an AppWrapper without queue name stays without one.
    default_queue_name: str = ""
    # Added by this project from here on.
    # Whether that holds for the PyTorchJobs, RayJobs and RayClusters that users of teams create
    # themselves, too.
    default_queue_name_on_direct_kinds: bool = False
    allowed_kinds: AllowedKinds = AllowedKinds()
    team_namespace_selector: LabelSelector = team_namespaces()
    exemptions: Exemptions = Exemptions()
    slack_queue: SlackQueue = SlackQueue()
    # What happens to an annotation above its limit.
    grace_period_maximum_policy: Literal["Clamp", "Reject"] = "Clamp"
    # Of which no pod of a team may use any that Kueue does not count, beside the resources of
    # `resourceTaints` and whatever else device plugins serve.
    counted_resources: tuple[str, ...] = ()
    # What becomes of resource claims in team namespaces. Kueue counts none of what is wrapped.
    resource_claims: Literal["Reject", "Warn"] = "Reject"
    max_pod_sets: int = 8
    node_health: NodeHealth = NodeHealth()
    # Whether the next attempts avoid the node on which a pod of the last one failed first: where
    # they can, whenever enough other nodes are free, or not at all.
    suspect_nodes: Literal["Preferred", "Required", "Off"] = "Preferred"
    reset_rate_limit: ResetRateLimit = ResetRateLimit()
    evacuation_breaker: EvacuationBreaker = EvacuationBreaker()
    # Stops resets and evacuations, never suspensions and deletions. Read again while running.
    pause_resets: bool = False
    # How long a pod that crashed in place must run before it counts as running again.
    stability_period: GoDuration = timedelta(seconds=30)
    # Trouble with pods that goes and comes back within this time is told as one.
    settle_period: GoDuration = timedelta(seconds=5)
    # Bad news of pods that come and go is told at most this often. The default is a minute, the
    # most that the specification allows, and some room: five minutes hold four pairs of writes, and
    # a fifth for a failure in between.
    flap_period: GoDuration = timedelta(seconds=75)
    max_object_size: Size = 1 << 20


# A bind address is `host:port`, or `:port` for every address; port 0 lets the system choose one.
# Metrics and probes are switched off by `0` or nothing.


class MetricsListener(Section):
    """`controllerManager.metrics`."""

    bind_address: str = ":8443"


class HealthListener(Section):
    """`controllerManager.health`: the controller's probes; the webhook's are on its own port."""

    bind_address: str = ":8081"


class WebhookListener(Section):
    """`controllerManager.webhook`. Added: the Go operator's port is fixed to the same number."""

    bind_address: str = ":9443"
    # How long a replica that was asked to end goes on serving, while it says that it is not ready:
    # as long as Services may need to forget it. Those who look after the pods must be patient
    # (terminationGracePeriodSeconds) for 15 s more.
    drain_period: GoDuration = timedelta(seconds=5)


class ControllerManager(Section):
    """`controllerManager`: what both processes listen on, and the lease."""

    metrics: MetricsListener = MetricsListener()
    health: HealthListener = HealthListener()
    webhook: WebhookListener = WebhookListener()
    # On by default, as in every manifest of the Go operator (its binary's own default is off).
    leader_election: bool = True


class Configuration(Section):
    """Everything. An empty file means every default."""

    appwrapper: AppWrapperConfig = AppWrapperConfig()
    cert_management: CertManagement = CertManagement()
    controller_manager: ControllerManager = ControllerManager()

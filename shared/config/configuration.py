"""The whole configuration of both binaries: ConfigMap key `config.yaml`.

Keys are the Go operator's, so that its ConfigMap works unchanged. Comments mark the keys that this
project adds. A key is its attribute's name in camel case, unless the field sets an alias. The text
after an attribute is its description in docs/admins/configuration.md.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Final, Literal

from pydantic import Field

from shared.api.objects import is_dns_label, is_dns_subdomain, is_label_value
from shared.config.fault_tolerance import (
    Autopilot,
    EvacuationBreaker,
    FaultToleranceConfig,
    NodeHealth,
    ResetRateLimit,
    SlackQueue,
)
from shared.config.values import (
    NOT_NEGATIVE,
    AddressOrNone,
    GoDuration,
    LabelKey,
    LabelValue,
    ObjectName,
    ObjectNameOrEmpty,
    ResourceName,
    Section,
    ShortName,
    Size,
    between,
    must,
    up_to,
)
from shared.kinds.table import KINDS

# `certManagement`: the source of the webhook's certificate, and the lifetimes of certificates.


_CertificateName = Annotated[
    str, must("have 1 to 64 characters, as a certificate's name", lambda name: 1 <= len(name) <= 64)
]
# Renewed every 40 minutes.
_SHORTEST_LEAF: Final = timedelta(hours=1)


class CertManagement(Section):
    """The webhook's certificate: its source, its names and its lifetimes."""

    namespace: ShortName = "appwrapper-system"
    """The namespace of both programs."""
    certificate_dir: str = "/tmp/k8s-webhook-server/serving-certs"
    """The folder with `tls.crt` and `tls.key`. Read with source `Files` only."""
    certificate_name: _CertificateName = "appwrapper-ca"
    """The common name of the certificate authority (CA). 1 to 64 characters."""
    certificate_org: _CertificateName = "appwrapper"
    """The organization in the CA's name. 1 to 64 characters."""
    mutating_webhook_config_name: ObjectName = "appwrapper-mutating-webhook-configuration"
    """The name of the MutatingWebhookConfiguration."""
    validating_webhook_config_name: ObjectName = "appwrapper-validating-webhook-configuration"
    """The name of the ValidatingWebhookConfiguration."""
    webhook_service_name: ShortName = "appwrapper-webhook-service"
    """The name of the webhook's Service."""
    webhook_secret_name: ObjectName = "appwrapper-webhook-server-cert"
    """The name of the Secret that holds the certificate and the CA."""
    # Added by this project from here on.
    source: Literal["SelfManaged", "Files"] = "SelfManaged"
    """`SelfManaged`: the webhook issues its certificates, stores them in the Secret, and writes the
    caBundle of both webhook configurations. `Files`: the webhook serves the files of
    `certificateDir`. You or cert-manager write the files and the caBundle.
    """
    ca_lifetime: GoDuration = timedelta(days=3650)
    """How long a CA is valid. The webhook replaces the CA after two thirds of this time. At least
    three times `leafLifetime`.
    """
    leaf_lifetime: Annotated[
        GoDuration, must("be at least 1h", lambda given: given >= _SHORTEST_LEAF)
    ] = timedelta(days=90)
    """How long a serving certificate is valid. The webhook replaces the certificate after two
    thirds of this time. At least 1h.
    """
    settle_period: Annotated[GoDuration, up_to(timedelta(hours=1), "1h")] = timedelta(seconds=30)
    """How long both webhook configurations must contain a CA before the webhook serves a
    certificate of that CA. API servers need this time to read the change. With source `Files`: how
    long changed files must stay unchanged before the webhook serves them. At most 1h.
    """
    revocation_period: GoDuration = timedelta(minutes=10)
    """How long a CA stays trusted after an admin replaced that CA. From `settlePeriod` to
    `leafLifetime`.
    """


# Permissions to create: `appwrapper.allowedKinds`, `teamNamespaceSelector`, `exemptions`.

# The default lists. An entry is `group/Kind`, `Kind` in the core group, or '*' for every Kind.
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
_KIND: Final = re.compile(r"(?:(?P<group>[^/]+)/)?[A-Z][A-Za-z0-9]*")


def _is_entry(text: str) -> bool:
    match = _KIND.fullmatch(text)
    known = match is not None and (match["group"] is None or is_dns_subdomain(match["group"]))
    return text == "*" or known


_Entry = Annotated[
    str, must("be group/Kind (batch/Job), Kind in the core group (Pod), or '*'", _is_entry)
]


class AllowedKinds(Section):
    """Which Kinds users may create. The webhook checks both lists on CREATE only."""

    direct: tuple[_Entry, ...] = _DIRECT
    """The Kinds that users may create themselves in team namespaces. An entry is `group/Kind`,
    `Kind` for the core group, or `*` for every Kind.
    """
    wrapped: tuple[_Entry, ...] = _WRAPPED
    """The Kinds that an AppWrapper may contain. Entries as in `direct`."""


class LabelSelectorRequirement(Section):
    """A requirement of a label selector, as in Kubernetes."""

    key: LabelKey
    """The key of a label."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """How the label is compared with `values`."""
    values: tuple[str, ...] = ()
    """The label's values. Required for `In` and `NotIn`, empty otherwise."""

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Evaluate as the API server does: NotIn also matches if the label is absent."""
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
    """A label selector as in Kubernetes. An empty selector matches every object."""

    match_labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    """Labels that must have exactly these values."""
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()
    """Further requirements. All of them must hold."""

    def matches(self, labels: Mapping[str, str]) -> bool:
        """True if an object with these labels meets all requirements."""
        return all(labels.get(key) == value for key, value in self.match_labels.items()) and all(
            requirement.matches(labels) for requirement in self.match_expressions
        )


def team_namespaces() -> LabelSelector:
    """Return the selector of MLBatch's label for team namespaces."""
    return LabelSelector(match_labels={"mlbatch-team-namespace": "true"})


_OPERATORS: Final = (
    "kube-system",
    "kueue-system",
    "appwrapper-system",
    "kubeflow",
    "ray-system",
    "jobset-system",
    "lws-system",
    "mpi-operator",
    "kubeflow-system",
)


class Exemptions(Section):
    """Identities that some rules of the webhook do not apply to."""

    quota_managers: tuple[Annotated[str, must("be a user's name", bool)], ...] = (
        "system:serviceaccount:kueue-system:kueue-controller-manager",
    )
    """The users that may start a suspended AppWrapper and write its `podSetInfos`: Kueue's service
    account.
    """
    service_account_namespaces: tuple[
        Annotated[str, must("be the name of a namespace", is_dns_label)], ...
    ] = _OPERATORS
    """The namespaces of operators. Their service accounts create pods and jobs for admitted
    AppWrappers.
    """


class AppWrapperConfig(Section):
    """The behaviour of the webhook and of the controller."""

    autopilot: Autopilot = Autopilot()
    user_rbac_admission_check: bool = Field(
        default=True,
        validation_alias="userRBACAdmissionCheck",
        serialization_alias="userRBACAdmissionCheck",
    )
    """Whether the webhook requires that the user may create each wrapped object directly."""
    fault_tolerance: FaultToleranceConfig = FaultToleranceConfig()
    scheduler_name: ObjectNameOrEmpty = ""
    """The scheduler of wrapped pods that name none. Empty: the pod template decides."""
    default_queue_name: Annotated[
        ObjectNameOrEmpty, must("fit into a label: 63 characters", is_label_value)
    ] = ""
    """The LocalQueue of AppWrappers that name no queue. Empty: the webhook adds no queue."""
    # Added by this project from here on.
    default_queue_name_on_direct_kinds: bool = False
    """Whether `defaultQueueName` also applies to the PyTorchJobs, RayJobs and RayClusters that
    users create directly.
    """
    allowed_kinds: AllowedKinds = AllowedKinds()
    team_namespace_selector: LabelSelector = team_namespaces()
    exemptions: Exemptions = Exemptions()
    slack_queue: SlackQueue = SlackQueue()
    grace_period_maximum_policy: Literal["Clamp", "Reject"] = "Clamp"
    """How the webhook treats a period annotation above `gracePeriodCeiling`: `Clamp` lowers the
    period, `Reject` rejects the AppWrapper.
    """
    counted_resources: tuple[ResourceName, ...] = ()
    """Further resources that pods of teams may use only through Kueue, beside those of
    `resourceTaints` and those of device plugins.
    """
    resource_claims: Literal["Reject", "Warn", "Count"] = "Reject"
    """Whether the webhook rejects ResourceClaims in team namespaces, or warns of them. `Count`
    admits those that Kueue 0.18 and later counts: of objects that are not wrapped, from a
    ResourceClaimTemplate. Kueue does not count wrapped ResourceClaims.
    """
    max_pod_sets: Annotated[int, between(1, 18, ", what Kueue's Workload can hold")] = 8
    """The most pod sets of one AppWrapper. From 1 to 18; Kueue's Workload cannot hold more."""
    node_health: NodeHealth = NodeHealth()
    suspect_nodes: Literal["Preferred", "Required", "Off"] = "Preferred"
    """Whether the next attempt avoids the node on which the first pod failed. `Preferred`: the
    scheduler avoids the node where possible. `Required` acts as `Preferred`. `Off`: never.
    """
    reset_rate_limit: ResetRateLimit = ResetRateLimit()
    evacuation_breaker: EvacuationBreaker = EvacuationBreaker()
    pause_resets: bool = False
    """Pauses resets and evacuations of all AppWrappers. Suspensions and deletions continue."""
    stability_period: Annotated[GoDuration, NOT_NEGATIVE] = timedelta(seconds=30)
    """How long a pod must run after a crash of its container before the pod counts as running."""
    settle_period: Annotated[GoDuration, NOT_NEGATIVE] = timedelta(seconds=5)
    """Problems of pods that end and return within this time are reported as one problem."""
    # 75 s limit a flapping pod to four pairs of writes in five minutes, and a fifth for a failure
    # in between. 60 s would leave no room for the first failure, which does not wait.
    flap_period: Annotated[GoDuration, NOT_NEGATIVE] = timedelta(seconds=75)
    """The shortest time between two reports of a problem of pods that repeatedly start and stop."""
    max_object_size: Annotated[
        Size,
        must("be from 1 to 3Mi, what the API server can take", lambda size: 1 <= size <= 3 << 20),
    ] = 1 << 20
    """The largest AppWrapper that the webhook accepts. At most `3Mi`."""


# A bind address is `host:port`, or `:port` for every address; port 0 lets the system choose one.
# `0` or an empty text switches metrics and probes off.


class MetricsListener(Section):
    """The address at which both programs serve `/metrics`."""

    bind_address: AddressOrNone = ":8443"
    """`host:port` or `:port`. `0` or empty: no metrics."""


class HealthListener(Section):
    """The address of the controller's probes. The webhook serves its probes on its own port."""

    bind_address: AddressOrNone = ":8081"
    """`host:port` or `:port`. `0` or empty: no probes."""


class WebhookListener(Section):
    """The webhook's address. The Go operator has no such key and uses the same port."""

    bind_address: Annotated[
        AddressOrNone,
        must("be an address: the webhook has to listen", lambda text: text not in ("", "0")),
    ] = ":9443"
    """`host:port` or `:port`. Change the Service and the Deployment with it."""
    drain_period: Annotated[GoDuration, up_to(timedelta(minutes=10), "10m")] = timedelta(seconds=5)
    """How long a terminating replica continues to serve while Services remove it from their
    endpoints. `terminationGracePeriodSeconds` must be 15 s longer. At most 10m.
    """


class ControllerManager(Section):
    """The listeners of both programs, and the controller's lease."""

    metrics: MetricsListener = MetricsListener()
    health: HealthListener = HealthListener()
    webhook: WebhookListener = WebhookListener()
    # On by default, as in every manifest of the Go operator (its binary's own default is off).
    leader_election: bool = True
    """Only the replica that holds the Lease `appwrapper-controller` in `certManagement.namespace`
    writes; the others only read. `false`: there is no lease, so run one replica at most, for
    example on a laptop.
    """


class Configuration(Section):
    """The whole file. An empty file means every default."""

    appwrapper: AppWrapperConfig = AppWrapperConfig()
    cert_management: CertManagement = CertManagement()
    controller_manager: ControllerManager = ControllerManager()

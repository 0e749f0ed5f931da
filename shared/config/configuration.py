"""The whole configuration of both binaries: ConfigMap key `config.yaml`.

Keys are the Go operator's, so that its ConfigMap works unchanged; what this project adds stands
beside them. A key is its attribute's name in camel case, or what the field says.
"""

from datetime import timedelta
from typing import Literal

from pydantic import Field

from shared.config.admission import AllowedKinds, Exemptions, LabelSelector, team_namespaces
from shared.config.autopilot import Autopilot
from shared.config.certificates import CertManagement
from shared.config.fault_tolerance import FaultTolerance
from shared.config.fleet import EvacuationBreaker, NodeHealth, ResetRateLimit, SlackQueue
from shared.config.values import GoDuration, Section, Size


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
    max_pod_sets: int = 8
    node_health: NodeHealth = NodeHealth()
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

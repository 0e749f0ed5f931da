"""The table of alerts, each with its section of the runbook.

docs/admins/monitoring.md lists them; a test fires each in a real Prometheus.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

RUNBOOK: Final = "docs/admins/runbook.md"
_DAY: Final = 86_400


class Severity(StrEnum):
    """How soon the admin or the team must act."""

    CRITICAL = "critical"  # at once: submissions or all AppWrappers are affected
    WARNING = "warning"  # today
    INFO = "info"  # the team, not the admin


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One rule, and one panel of the dashboard.

    `condition` is PromQL with the placeholder `{threshold}`. It must hold for `lasts`. The panel
    draws `figure`, in `unit` (Grafana's name).
    """

    name: str
    section: str
    severity: Severity
    condition: str
    threshold: float = 0
    lasts: str
    summary: str
    description: str
    figure: str
    unit: str = "short"

    def expression(self, threshold: float | None = None) -> str:
        """Return the condition with its own threshold, or with `threshold`."""
        value = self.threshold if threshold is None else threshold
        return self.condition.replace("{threshold}", f"{value:.15g}")

    @property
    def runbook(self) -> str:
        """Return the path of the runbook in this repository, with the section's anchor."""
        return f"{RUNBOOK}#{self.section}"


_AGE: Final = "max by (resource) (appwrapper_watch_age_seconds)"
_LEADS: Final = 'leader_election_master_status{name="appwrapper-controller"}'
_ERRORS: Final = "appwrapper_webhook_errors_total"
_FAILED: Final = "sum by (namespace, reason) (increase(appwrapper_failures_total[15m]))"
_WAIT: Final = "max by (namespace) (appwrapper_longest_wait_seconds)"
_BLOCKED: Final = "max by (namespace) (appwrapper_deletions_blocked)"
_BREAKER: Final = "max by (resource) (appwrapper_evacuation_breaker_open)"
_EXPIRES: Final = "min(appwrapper_webhook_certificate_expiration_timestamp_seconds > 0) - time()"
_UNUSED: Final = "max by (namespace) (appwrapper_longest_quota_without_pods_seconds)"
_EXCESS: Final = "max by (flavor, resource) (appwrapper_quota_excess)"

ALERTS: Final = (
    Alert(
        name="AppWrapperControllerDown",
        section="controller-down",
        severity=Severity.CRITICAL,
        # A program that does not run, is not scraped, or has not listed the cluster yet.
        condition="absent(appwrapper_controller_ready == 1)",
        lasts="5m",
        summary="No AppWrapper controller is ready",
        description="Admitted AppWrappers do not start, failed ones are not retried. Pods run on.",
        figure="sum(appwrapper_controller_ready)",
    ),
    Alert(
        name="AppWrapperNoLeader",
        section="no-leader",
        severity=Severity.CRITICAL,
        # A lost leader is replaced in 15 s, and the new one is scraped within 30 s more.
        condition=f"sum({_LEADS}) == 0 or absent({_LEADS})",
        lasts="1m",
        summary="No replica of the AppWrapper controller leads",
        description="Admitted AppWrappers do not start, failed ones are not retried. Pods run on.",
        figure=f"sum({_LEADS})",
    ),
    Alert(
        name="AppWrapperTwoLeaders",
        section="two-leaders",
        severity=Severity.CRITICAL,
        # Shorter: the replicas of a takeover are scraped at different times.
        condition=f"sum({_LEADS}) > 1",
        lasts="1m",
        summary="{{ $value }} replicas of the AppWrapper controller lead at the same time",
        description="Components may be created twice, and metrics count twice.",
        figure=f"sum({_LEADS})",
    ),
    Alert(
        name="AppWrapperWebhookFailing",
        section="webhook-failing",
        severity=Severity.CRITICAL,
        # `missing_facts` must last: the API server may be away for a moment. Any client that
        # reaches the port can cause `unusable_request`.
        condition=(
            "absent(appwrapper_webhook_ready == 1)"
            f' or sum by (reason) (increase({_ERRORS}{{reason="missing_facts"}}[2m])) > 0'
            f' or sum by (reason) (increase({_ERRORS}{{reason="bug"}}[10m])) > 0'
        ),
        lasts="3m",
        summary="The AppWrapper webhook does not answer, or cannot judge requests",
        description="Users cannot submit, change or delete AppWrappers.",
        figure="sum(appwrapper_webhook_ready)",
    ),
    Alert(
        name="AppWrapperFailed",
        section="job-failed",
        severity=Severity.INFO,
        condition=f"{_FAILED} > 0",
        lasts="0s",
        summary="An AppWrapper in {{ $labels.namespace }} failed: {{ $labels.reason }}",
        description="It is not retried any more. Its owner decides what follows.",
        figure=_FAILED,
    ),
    Alert(
        name="AppWrapperWaitsTooLong",
        section="waiting-too-long",
        severity=Severity.INFO,
        condition=f"{_WAIT} > {{threshold}}",
        threshold=_DAY,
        lasts="0s",
        summary="An AppWrapper in {{ $labels.namespace }} has waited for quota for"
        " {{ $value | humanizeDuration }}",
        description="Its queue is full, or Kueue can never admit it.",
        figure=_WAIT,
        unit="s",
    ),
    Alert(
        name="AppWrapperDeletionBlocked",
        section="deletion-blocked",
        severity=Severity.WARNING,
        condition=f"{_BLOCKED} > 0",
        lasts="15m",
        summary="Resources of {{ $value }} AppWrappers in {{ $labels.namespace }} do not go",
        description="Their quota is held until somebody removes what keeps the resources.",
        figure=_BLOCKED,
    ),
    Alert(
        name="AppWrapperEvacuationBreakerOpen",
        section="breaker-open",
        severity=Severity.CRITICAL,
        condition=f"{_BREAKER} == 1",
        lasts="1m",
        summary="Evacuations of nodes with {{ $labels.resource }} wait for an admin",
        description="So many nodes turned bad at once that their labels may be wrong.",
        figure=_BREAKER,
    ),
    Alert(
        name="AppWrapperWebhookCertificateExpires",
        section="certificate-expires",
        severity=Severity.WARNING,
        condition=f"{_EXPIRES} < {{threshold}}",
        threshold=7 * _DAY,
        lasts="10m",
        summary="The webhook's certificate expires in {{ $value | humanizeDuration }}",
        description="Afterwards the API server refuses every AppWrapper. It was not replaced in"
        " time.",
        figure=_EXPIRES,
        unit="s",
    ),
    Alert(
        name="AppWrapperQuotaWithoutPods",
        section="quota-without-pods",
        severity=Severity.WARNING,
        condition=f"{_UNUSED} > {{threshold}}",
        # By default an AppWrapper whose pods never run fails earlier, after its last attempt.
        threshold=1_800,
        lasts="0s",
        summary="An AppWrapper in {{ $labels.namespace }} has held quota for"
        " {{ $value | humanizeDuration }} without all of its pods",
        description="Others wait for this quota.",
        figure=_UNUSED,
        unit="s",
    ),
    Alert(
        name="AppWrapperQuotaAboveHardware",
        section="quota-above-hardware",
        severity=Severity.WARNING,
        condition=f"{_EXCESS} > 0",
        lasts="1h",
        summary="Nominal quotas of {{ $labels.flavor }} exceed the hardware by {{ $value }}"
        " {{ $labels.resource }}",
        description="Kueue admits more AppWrappers than nodes can run.",
        figure=_EXCESS,
    ),
    Alert(
        name="AppWrapperWatchSilent",
        section="watch-silent",
        severity=Severity.CRITICAL,
        condition=f"{_AGE} > {{threshold}}",
        # A quiet watch ends, and begins again, within 44 s.
        threshold=120,
        lasts="0s",
        summary="The AppWrapper controller has heard nothing of {{ $labels.resource }} for"
        " {{ $value | humanizeDuration }}",
        description="It does not see changes of this resource, such as failures.",
        figure=_AGE,
        unit="s",
    ),
)

"""Report the state of the slack queue: Events on the ClusterQueue, log lines, metrics.

docs/admins/slack-quota.md describes what an admin does about each.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry

from controller.gauges import ComputedGauge, Samples
from controller.slack.pace import LimitChange, limit_text
from controller.slack.quota import SlackQuota, StoredQueue
from shared.config.fault_tolerance import SlackQueue
from shared.kube.events import EventRecorder, ObjectReference
from shared.waits.quota import FlavorResource

logger = logging.getLogger(__name__)

# Metric name → help text, and the function that reads its value from a row.
_GAUGES: Final[Mapping[str, tuple[str, Callable[[SlackQuota], Decimal]]]] = {
    "appwrapper_slack_lending_limit": (
        "The most that other ClusterQueues may borrow from the slack queue.",
        lambda row: row.quota.lends,
    ),
    "appwrapper_slack_lendable": (
        "The amount that the slack queue should lend: schedulable minus all other nominal quotas, "
        "at least 0 and at most its own nominal quota.",
        lambda row: row.lendable,
    ),
    "appwrapper_schedulable_capacity": (
        "The amount that new pods can get on the flavor's nodes, for the slack queue's resources.",
        lambda row: row.schedulable,
    ),
    "appwrapper_quota_excess": (
        "By how much the nominal quotas without the slack queue exceed what is schedulable.",
        lambda row: row.excess,
    ),
}


def show_slack_quota(registry: CollectorRegistry, rows: Callable[[], Iterable[SlackQuota]]) -> None:
    """Register the metrics of each flavor and resource of the slack queue."""

    def samples(value: Callable[[SlackQuota], Decimal]) -> Samples:
        return {row.key: float(value(row)) for row in rows()}

    for name, (text, value) in _GAUGES.items():
        labels = ["flavor", "resource"]
        registry.register(ComputedGauge(name, text, labels, partial(samples, value)))


class SlackReports:
    """Reports each state once, until it changes."""

    def __init__(self, settings: SlackQueue, recorder: EventRecorder) -> None:
        self._name = settings.name
        self._dry_run = settings.dry_run
        self._recorder = recorder
        self._trouble = ""
        self._excess: Mapping[FlavorResource, Decimal] = {}
        self._planned: list[tuple[FlavorResource, Decimal | None, Decimal | None]] = []

    def missing(self) -> None:
        """Log that the ClusterQueue does not exist: an Event would need an object."""
        message = f"there is no ClusterQueue {self._name}"
        if self._trouble != message:
            logger.warning(
                "slack queue: %s, so no lending limit is adjusted. Create it (deploy/team/slack),"
                " or remove appwrapper.slackQueue.name",
                message,
            )
        self._trouble = message

    def without_cohort(self, queue: StoredQueue) -> None:
        """Report a queue without cohort: Kueue rejects a lendingLimit there."""
        self._once(
            queue,
            "SlackQueueWithoutCohort",
            f"ClusterQueue {self._name} has no cohort, so it lends nothing and has no"
            " lendingLimit. Set spec.cohortName to the cohort of the teams",
        )

    def forbidden(self, queue: StoredQueue, why: str) -> None:
        """Report that the controller's role does not name this queue."""
        self._once(
            queue,
            "SlackQuotaForbidden",
            f"the controller may not patch ClusterQueue {self._name}: {why}. The ClusterRole"
            " appwrapper-controller-slack-queue (deploy/manifests/slack-queue) must name it",
        )

    def found(self) -> None:
        """Record that the queue exists and can be adjusted."""
        if self._trouble:
            logger.info("slack queue: the lending limits of ClusterQueue %s follow", self._name)
        self._trouble = ""

    def exceeds(
        self,
        queue: StoredQueue,
        rows: Iterable[SlackQuota],
        excess: Mapping[FlavorResource, Decimal],
    ) -> None:
        """Report where the other queues' nominal quotas exceed the schedulable capacity."""
        before, self._excess = self._excess, excess
        for row in rows:
            amount = excess.get(row.key)
            if amount is None or before.get(row.key) == amount:
                continue
            self._warn(queue, "QuotaExceedsCapacity", _too_much(row, amount))
        if before and not excess:
            logger.info("slack queue: no nominal quotas exceed the schedulable capacity any more")

    def planned(self, queue: StoredQueue, changes: Sequence[LimitChange]) -> None:
        """Report the limits that a dry run does not write."""
        described = "; ".join(map(_described, changes))
        # Do not compare messages: the schedulable amount in them changes with a flapping node.
        before, self._planned = (
            self._planned,
            [(each.row.key, each.row.quota.lending_limit, each.limit) for each in changes],
        )
        if before != self._planned:
            self._normal(queue, "SlackQuotaDryRun", f"slackQueue.dryRun: would set {described}")

    def as_planned(self) -> None:
        """Record that the limits are right, so a dry run reports its next change again."""
        self._planned = []

    def changed(self, queue: StoredQueue, changes: Iterable[LimitChange]) -> None:
        """Report written limits."""
        self._normal(queue, "SlackQuotaChanged", f"set {'; '.join(map(_described, changes))}")

    def edited(self, queue: StoredQueue) -> None:
        """Report that another client wrote a limit, which the controller will write again."""
        if self._dry_run:
            return
        self._warn(
            queue,
            "SlackQuotaEdited",
            "another client changed a lendingLimit. The controller writes this field: to lend less,"
            " lower nominalQuota; to set it yourself, set appwrapper.slackQueue.dryRun",
        )

    def _once(self, queue: StoredQueue, reason: str, message: str) -> None:
        if self._trouble != message:
            self._warn(queue, reason, message)
        self._trouble = message

    def _warn(self, queue: StoredQueue, reason: str, message: str) -> None:
        logger.warning("slack queue: %s", message)
        self._recorder.warning(_about(queue), reason, message)

    def _normal(self, queue: StoredQueue, reason: str, message: str) -> None:
        logger.info("slack queue: %s", message)
        self._recorder.normal(_about(queue), reason, message)


def _about(queue: StoredQueue) -> ObjectReference:
    return ObjectReference(queue.api_version, "ClusterQueue", "", queue.name, queue.uid)


def _described(change: LimitChange) -> str:
    """Describe one limit before and after, with the amounts that it is computed from."""
    row = change.row
    flavor, resource = row.key

    def shown(amount: Decimal) -> str:
        return limit_text(amount, resource)

    limit = "unset" if change.limit is None else shown(change.limit)
    before = row.quota.lending_limit
    return (
        f"lendingLimit of {resource} in {flavor} to {limit}"
        f" (was {'unset' if before is None else shown(before)};"
        f" {shown(row.schedulable)} schedulable, {shown(row.promised)} promised by other"
        f" ClusterQueues, nominalQuota {shown(row.quota.nominal)})"
    )


def _too_much(row: SlackQuota, excess: Decimal) -> str:
    flavor, resource = row.key

    def shown(amount: Decimal) -> str:
        return f"{limit_text(amount, resource)} {resource}"

    return (
        f"the nominal quotas of the other ClusterQueues exceed the schedulable capacity of"
        f" {flavor} by {shown(excess)}: {shown(row.promised)} promised,"
        f" {shown(row.promised - excess)} schedulable. Reduce these nominalQuotas by"
        f" {limit_text(excess, resource)} together, or bring nodes back"
    )

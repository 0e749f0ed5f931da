"""Validate a configuration whose types are right. Pure; reports all errors at once."""

import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import chain
from typing import Final

from shared.api.findings import FieldError, FieldErrorKind
from shared.api.objects import (
    is_dns_label,
    is_dns_subdomain,
    is_label_key,
    is_label_value,
)
from shared.api.times import format_duration
from shared.config.configuration import (
    AllowedKinds,
    AppWrapperConfig,
    CertManagement,
    Configuration,
    ControllerManager,
    Exemptions,
    LabelSelector,
)
from shared.config.fault_tolerance import (
    Autopilot,
    EvacuationBreaker,
    FaultToleranceConfig,
    NodeHealth,
    ResetRateLimit,
)
from shared.config.store_urls import store_url_problem
from shared.config.values import BindAddressError, format_size, parse_bind_address

_ZERO: Final = timedelta(0)
_MOST_POD_SETS: Final = 18  # of any Kueue release's Workload
_LARGEST_OBJECT: Final = 3 << 20
_KIND: Final = re.compile(r"(?:(?P<group>[^/]+)/)?(?P<kind>[A-Z][A-Za-z0-9]*)")
_LONGEST_COMMON_NAME: Final = 64  # X.509
_SHORTEST_LEAF: Final = timedelta(hours=1)  # renewed every 40 minutes
_LONGEST_DRAIN: Final = timedelta(minutes=10)
_LONGEST_SETTLING: Final = timedelta(hours=1)
_NAMED: Final = re.compile(r"[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?")


def validate(config: Configuration) -> list[FieldError]:
    """Return all errors, in the order of the file's sections; [] for a usable configuration."""
    appwrapper = config.appwrapper
    path = "appwrapper"
    return list(
        chain(
            _autopilot(appwrapper.autopilot, f"{path}.autopilot"),
            _fault_tolerance(appwrapper.fault_tolerance, f"{path}.faultTolerance"),
            _error_aggregation(appwrapper.fault_tolerance, f"{path}.faultTolerance"),
            _names(appwrapper, path),
            _allowed_kinds(appwrapper.allowed_kinds, f"{path}.allowedKinds"),
            _selector(appwrapper.team_namespace_selector, f"{path}.teamNamespaceSelector"),
            _exemptions(appwrapper.exemptions, f"{path}.exemptions"),
            _counted_resources(appwrapper, path),
            _limits(appwrapper, path),
            _node_health(appwrapper.node_health, f"{path}.nodeHealth"),
            _reset_rate_limit(appwrapper.reset_rate_limit, f"{path}.resetRateLimit"),
            _evacuation_breaker(appwrapper.evacuation_breaker, f"{path}.evacuationBreaker"),
            _cert_management_names(config.cert_management, "certManagement"),
            _certificate_lives(config.cert_management, "certManagement"),
            _listeners(config.controller_manager, "controllerManager"),
        )
    )


def _invalid(path: str, value: object, detail: str) -> FieldError:
    shown = format_duration(value) if isinstance(value, timedelta) else str(value)
    quoted = f'"{shown}"' if isinstance(value, (str, timedelta)) else shown
    return FieldError(path, FieldErrorKind.INVALID, detail, quoted)


def _autopilot(autopilot: Autopilot, path: str) -> Iterator[FieldError]:
    for resource, taints in autopilot.resource_taints.items():
        here = f"{path}.resourceTaints[{resource}]"
        if not is_label_key(resource):
            yield _invalid(here, resource, "must be the name of a resource, such as nvidia.com/gpu")
        for index, taint in enumerate(taints):
            if not is_label_key(taint.key):
                yield _invalid(f"{here}[{index}].key", taint.key, "must be the key of a node label")
            if not is_label_value(taint.value):
                yield _invalid(f"{here}[{index}].value", taint.value, "must be a label's value")
    if not 1 <= autopilot.prefer_no_schedule_weight <= 100:
        weight = autopilot.prefer_no_schedule_weight
        yield _invalid(f"{path}.preferNoScheduleWeight", weight, "must be from 1 to 100")


def _fault_tolerance(limits: FaultToleranceConfig, path: str) -> Iterator[FieldError]:
    if limits.grace_period_maximum <= _ZERO:
        yield _invalid(
            f"{path}.gracePeriodCeiling", limits.grace_period_maximum, "must be longer than 0s"
        )
    periods = {
        "admissionGracePeriod": limits.admission_grace_period,
        "warmupGracePeriod": limits.warmup_grace_period,
        "failureGracePeriod": limits.failure_grace_period,
        "resetPause": limits.retry_pause_period,
        "deletionOnFailureGracePeriod": limits.deletion_on_failure_grace_period,
        "deletionGracePeriod": limits.forceful_deletion_grace_period,
    }
    for key, period in periods.items():
        if not _ZERO <= period <= limits.grace_period_maximum:
            maximum = format_duration(limits.grace_period_maximum)
            detail = f"must be from 0s to gracePeriodCeiling ({maximum})"
            yield _invalid(f"{path}.{key}", period, detail)
    if limits.admission_grace_period > limits.warmup_grace_period:
        warmup = format_duration(limits.warmup_grace_period)
        yield _invalid(
            f"{path}.admissionGracePeriod",
            limits.admission_grace_period,
            f"must not exceed warmupGracePeriod ({warmup})",
        )
    if limits.success_ttl <= _ZERO:
        yield _invalid(f"{path}.successTTLCeiling", limits.success_ttl, "must be longer than 0s")
    if not 0 <= limits.retry_limit < 2**31:
        yield _invalid(f"{path}.retryLimit", limits.retry_limit, "must be from 0 to 2147483647")


def _error_aggregation(limits: FaultToleranceConfig, path: str) -> Iterator[FieldError]:
    aggregation = limits.error_aggregation
    here = f"{path}.errorAggregation"
    for name, url in aggregation.stores.items():
        if not _NAMED.fullmatch(name):
            yield _invalid(
                f"{here}.stores[{name}]", name, "must be a name that an annotation holds"
            )
        if problem := store_url_problem(url):
            yield FieldError(f"{here}.stores[{name}]", FieldErrorKind.INVALID, problem)
    for key, period in {
        "settlePeriod": aggregation.settle_period,
        "readTimeout": aggregation.read_timeout,
    }.items():
        if period < _ZERO:
            yield _invalid(f"{here}.{key}", period, "must not be negative")
    for key, count in {
        "maxFileBytes": aggregation.max_file_bytes,
        "maxFiles": aggregation.max_files,
    }.items():
        if count < 1:
            yield _invalid(f"{here}.{key}", count, "must be at least 1")


def _names(appwrapper: AppWrapperConfig, path: str) -> Iterator[FieldError]:
    for key, name in {
        "schedulerName": appwrapper.scheduler_name,
        "defaultQueueName": appwrapper.default_queue_name,
        "slackQueue.name": appwrapper.slack_queue.name,
    }.items():
        if name and not is_dns_subdomain(name):
            detail = "must be the name of an object: lower case letters, digits, '-' and '.'"
            yield _invalid(f"{path}.{key}", name, detail)
    queue = appwrapper.default_queue_name
    if queue and is_dns_subdomain(queue) and not is_label_value(queue):
        yield _invalid(f"{path}.defaultQueueName", queue, "must fit into a label: 63 characters")


def _allowed_kinds(allowed: AllowedKinds, path: str) -> Iterator[FieldError]:
    for key, entries in {"direct": allowed.direct, "wrapped": allowed.wrapped}.items():
        for index, entry in enumerate(entries):
            if entry == "*":
                continue
            match = _KIND.fullmatch(entry)
            if match is None or (
                match["group"] is not None and not is_dns_subdomain(match["group"])
            ):
                detail = "must be group/Kind (batch/Job), Kind in the core group (Pod), or '*'"
                yield _invalid(f"{path}.{key}[{index}]", entry, detail)


def _selector(selector: LabelSelector, path: str) -> Iterator[FieldError]:
    for key, value in selector.match_labels.items():
        if not is_label_key(key):
            yield _invalid(f"{path}.matchLabels[{key}]", key, "must be the key of a label")
        if not is_label_value(value):
            yield _invalid(f"{path}.matchLabels[{key}]", value, "must be a label's value")
    for index, requirement in enumerate(selector.match_expressions):
        here = f"{path}.matchExpressions[{index}]"
        if not is_label_key(requirement.key):
            yield _invalid(f"{here}.key", requirement.key, "must be the key of a label")
        needs_values = requirement.operator in ("In", "NotIn")
        if needs_values and not requirement.values:
            detail = f"operator {requirement.operator} needs values"
            yield FieldError(f"{here}.values", FieldErrorKind.REQUIRED, detail)
        if not needs_values and requirement.values:
            detail = f"operator {requirement.operator} takes no values"
            yield FieldError(f"{here}.values", FieldErrorKind.FORBIDDEN, detail)


def _exemptions(exemptions: Exemptions, path: str) -> Iterator[FieldError]:
    for index, user in enumerate(exemptions.quota_managers):
        if not user:
            yield FieldError(
                f"{path}.quotaManagers[{index}]", FieldErrorKind.REQUIRED, "must be a user's name"
            )
    for index, namespace in enumerate(exemptions.service_account_namespaces):
        if not is_dns_label(namespace):
            here = f"{path}.serviceAccountNamespaces[{index}]"
            yield _invalid(here, namespace, "must be the name of a namespace")


def _counted_resources(appwrapper: AppWrapperConfig, path: str) -> Iterator[FieldError]:
    for index, resource in enumerate(appwrapper.counted_resources):
        if not is_label_key(resource):
            here = f"{path}.countedResources[{index}]"
            yield _invalid(here, resource, "must be the name of a resource, such as nvidia.com/gpu")


def _limits(appwrapper: AppWrapperConfig, path: str) -> Iterator[FieldError]:
    if not 1 <= appwrapper.max_pod_sets <= _MOST_POD_SETS:
        detail = f"must be from 1 to {_MOST_POD_SETS}, what Kueue's Workload can hold"
        yield _invalid(f"{path}.maxPodSets", appwrapper.max_pod_sets, detail)
    for key, period in {
        "stabilityPeriod": appwrapper.stability_period,
        "settlePeriod": appwrapper.settle_period,
        "flapPeriod": appwrapper.flap_period,
    }.items():
        if period < _ZERO:
            yield _invalid(f"{path}.{key}", period, "must not be negative")
    if not 1 <= appwrapper.max_object_size <= _LARGEST_OBJECT:
        detail = f"must be from 1 to {format_size(_LARGEST_OBJECT)}, what the API server can take"
        yield _invalid(f"{path}.maxObjectSize", appwrapper.max_object_size, detail)


def _node_health(health: NodeHealth, path: str) -> Iterator[FieldError]:
    for key, period in {"latch": health.latch, "testingTimeout": health.testing_timeout}.items():
        if period < _ZERO:
            yield _invalid(f"{path}.{key}", period, "must not be negative")


def _reset_rate_limit(limit: ResetRateLimit, path: str) -> Iterator[FieldError]:
    if limit.per_second <= 0:
        detail = "must be more than 0 (pauseResets stops resets)"
        yield _invalid(f"{path}.perSecond", limit.per_second, detail)
    if limit.burst < 1:
        yield _invalid(f"{path}.burst", limit.burst, "must be at least 1")


def _evacuation_breaker(breaker: EvacuationBreaker, path: str) -> Iterator[FieldError]:
    if not 1 <= breaker.percent <= 100:
        yield _invalid(f"{path}.percent", breaker.percent, "must be from 1 to 100")
    if breaker.minimum_nodes < 1:
        yield _invalid(f"{path}.minimumNodes", breaker.minimum_nodes, "must be at least 1")
    if breaker.window <= _ZERO:
        yield _invalid(f"{path}.window", breaker.window, "must be longer than 0s")


def _cert_management_names(certificates: CertManagement, path: str) -> Iterator[FieldError]:
    for key, name in {
        "namespace": certificates.namespace,
        "webhookServiceName": certificates.webhook_service_name,
    }.items():
        if not is_dns_label(name):
            detail = "must be a name of up to 63 lower case letters, digits and '-'"
            yield _invalid(f"{path}.{key}", name, detail)
    for key, name in {
        "mutatingWebhookConfigName": certificates.mutating_webhook_config_name,
        "validatingWebhookConfigName": certificates.validating_webhook_config_name,
        "webhookSecretName": certificates.webhook_secret_name,
    }.items():
        if not is_dns_subdomain(name):
            detail = "must be the name of an object: lower case letters, digits, '-' and '.'"
            yield _invalid(f"{path}.{key}", name, detail)
    for key, name in {
        "certificateName": certificates.certificate_name,
        "certificateOrg": certificates.certificate_org,
    }.items():
        if not 1 <= len(name) <= _LONGEST_COMMON_NAME:
            detail = f"must have 1 to {_LONGEST_COMMON_NAME} characters, as a certificate's name"
            yield _invalid(f"{path}.{key}", name, detail)
    if certificates.source == "Files" and not certificates.certificate_dir:
        detail = "source Files needs the folder with tls.crt and tls.key"
        yield FieldError(f"{path}.certificateDir", FieldErrorKind.REQUIRED, detail)


def _certificate_lives(certificates: CertManagement, path: str) -> Iterator[FieldError]:
    leaf, authority = certificates.leaf_lifetime, certificates.ca_lifetime
    if leaf < _SHORTEST_LEAF:
        yield _invalid(f"{path}.leafLifetime", leaf, "must be at least 1h")
    if authority < 3 * leaf:
        # The webhook replaces a CA with a third of its life left: its last leaf must fit into that.
        detail = f"must be at least three times leafLifetime ({format_duration(leaf)})"
        yield _invalid(f"{path}.caLifetime", authority, detail)
    settling = certificates.settle_period
    if not _ZERO <= settling <= _LONGEST_SETTLING:
        yield _invalid(f"{path}.settlePeriod", settling, "must be from 0s to 1h")
    if not settling <= certificates.revocation_period <= leaf:
        detail = (
            f"must be from settlePeriod ({format_duration(settling)}) "
            f"to leafLifetime ({format_duration(leaf)})"
        )
        yield _invalid(f"{path}.revocationPeriod", certificates.revocation_period, detail)


def _listeners(listeners: ControllerManager, path: str) -> Iterator[FieldError]:
    if listeners.webhook.bind_address in ("", "0"):
        detail = "the webhook must listen somewhere"
        yield _invalid(f"{path}.webhook.bindAddress", listeners.webhook.bind_address, detail)
    drain = listeners.webhook.drain_period
    if not _ZERO <= drain <= _LONGEST_DRAIN:
        yield _invalid(f"{path}.webhook.drainPeriod", drain, "must be from 0s to 10m")
    for key, address in {
        "metrics": listeners.metrics.bind_address,
        "health": listeners.health.bind_address,
        "webhook": listeners.webhook.bind_address,
    }.items():
        try:
            parse_bind_address(address)
        except BindAddressError as error:
            yield _invalid(f"{path}.{key}.bindAddress", address, str(error))

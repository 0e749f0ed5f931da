"""Validate what depends on two values of a configuration, or must not be shown. Pure.

The limits of single values are beside them, in their types.
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import chain
from typing import Final

from shared.api.findings import FieldError, FieldErrorKind
from shared.api.times import format_duration
from shared.config.configuration import CertManagement, Configuration, LabelSelector
from shared.config.fault_tolerance import FaultToleranceConfig
from shared.config.store_urls import store_url_problem

_ZERO: Final = timedelta(0)
_STORE_NAME: Final = re.compile(r"[A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?")


def validate(config: Configuration) -> list[FieldError]:
    """Return the errors, in the order of the file's sections; [] for a usable configuration."""
    limits, path = config.appwrapper.fault_tolerance, "appwrapper.faultTolerance"
    selector = config.appwrapper.team_namespace_selector
    return list(
        chain(
            _periods(limits, path),
            _stores(limits.error_aggregation.stores, f"{path}.errorAggregation.stores"),
            _selector(selector, "appwrapper.teamNamespaceSelector"),
            _certificates(config.cert_management, "certManagement"),
        )
    )


def _invalid(path: str, value: timedelta, detail: str) -> FieldError:
    return FieldError(path, FieldErrorKind.INVALID, detail, f'"{format_duration(value)}"')


def _periods(limits: FaultToleranceConfig, path: str) -> Iterator[FieldError]:
    maximum, warmup = limits.grace_period_maximum, limits.warmup_grace_period
    periods = {
        "admissionGracePeriod": limits.admission_grace_period,
        "warmupGracePeriod": warmup,
        "failureGracePeriod": limits.failure_grace_period,
        "failUnschedulable": limits.fail_unschedulable,
        "resetPause": limits.retry_pause_period,
        "deletionOnFailureGracePeriod": limits.deletion_on_failure_grace_period,
        "deletionGracePeriod": limits.forceful_deletion_grace_period,
    }
    # A ConfigMap of the Go operator lacks it: there gracePeriodCeiling limits the default.
    if "unreachable_grace_period" in limits.model_fields_set:
        periods["unreachableGracePeriod"] = limits.unreachable_grace_period
    for key, period in periods.items():
        if not _ZERO <= period <= maximum:
            detail = f"must be from 0s to gracePeriodCeiling ({format_duration(maximum)})"
            yield _invalid(f"{path}.{key}", period, detail)
    if limits.admission_grace_period > warmup:
        detail = f"must not exceed warmupGracePeriod ({format_duration(warmup)})"
        yield _invalid(f"{path}.admissionGracePeriod", limits.admission_grace_period, detail)


def _stores(stores: dict[str, str], path: str) -> Iterator[FieldError]:
    for name, url in stores.items():
        here = f"{path}[{name}]"
        if not _STORE_NAME.fullmatch(name):
            detail = "must be a name that an annotation holds"
            yield FieldError(here, FieldErrorKind.INVALID, detail, f'"{name}"')
        if problem := store_url_problem(url):
            # Without the URL, which may contain a password.
            yield FieldError(here, FieldErrorKind.INVALID, problem)


def _selector(selector: LabelSelector, path: str) -> Iterator[FieldError]:
    for index, requirement in enumerate(selector.match_expressions):
        here = f"{path}.matchExpressions[{index}].values"
        operator = requirement.operator
        needs_values = operator in ("In", "NotIn")
        if needs_values and not requirement.values:
            yield FieldError(here, FieldErrorKind.REQUIRED, f"operator {operator} needs values")
        if not needs_values and requirement.values:
            yield FieldError(here, FieldErrorKind.FORBIDDEN, f"operator {operator} takes no values")


def _certificates(certificates: CertManagement, path: str) -> Iterator[FieldError]:
    if certificates.source == "Files" and not certificates.certificate_dir:
        detail = "source Files needs the folder with tls.crt and tls.key"
        yield FieldError(f"{path}.certificateDir", FieldErrorKind.REQUIRED, detail)
    leaf, settling = certificates.leaf_lifetime, certificates.settle_period
    if certificates.ca_lifetime < 3 * leaf:
        # The webhook replaces a CA with a third of its life left: its last leaf must fit into that.
        detail = f"must be at least three times leafLifetime ({format_duration(leaf)})"
        yield _invalid(f"{path}.caLifetime", certificates.ca_lifetime, detail)
    if not settling <= certificates.revocation_period <= leaf:
        detail = (
            f"must be from settlePeriod ({format_duration(settling)}) "
            f"to leafLifetime ({format_duration(leaf)})"
        )
        yield _invalid(f"{path}.revocationPeriod", certificates.revocation_period, detail)

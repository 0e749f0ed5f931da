"""Check which controller leads, by the Leases in the operator's namespace. Pure."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from cli.checks.items import CheckResult, ok, unknown, warning
from cli.checks.setup_facts import Installed, wanted_replicas
from shared.api.names import GO_OPERATORS_LEASE, LEASE_NAME
from shared.api.objects import JsonObject
from shared.api.times import format_time, parse_time

# Longer than any takeover (15 s), even if the clock of this machine is some seconds off.
_LATELY: Final = timedelta(minutes=1)
_PAGE: Final = "docs/admins/runbook.md#no-leader"


def lease(seen: Installed, now: datetime) -> CheckResult:
    """Check that one replica of the controller holds the Lease, and that no Go operator does."""
    leases = seen.leases or ()
    other = _spec_of(GO_OPERATORS_LEASE, leases)
    if _is_renewed(other, now):
        return warning(
            f"{other['holderIdentity']} renews the Go operator's lease {GO_OPERATORS_LEASE}: that"
            " operator runs, and this controller waits for it",
            "Scale its Deployment to 0 (docs/admins/from-the-go-operator.md)",
        )
    wanted = wanted_replicas(seen.controller)
    if not seen.configuration.config.controller_manager.leader_election:
        return _without(wanted)
    return _held(_spec_of(LEASE_NAME, leases), wanted, now)


def _without(wanted: int) -> CheckResult:
    """Check that one replica runs at most if there is no Lease."""
    found = "controllerManager.leaderElection is false"
    if wanted > 1:
        return warning(
            f"{found}, and Deployment appwrapper-controller has {wanted} replicas: each one acts",
            "Remove the key from the configuration, or scale the Deployment to 1",
        )
    return ok(f"{found}: one replica runs without a Lease")


def _held(spec: JsonObject, wanted: int, now: datetime) -> CheckResult:
    """Check the controller's own Lease. `wanted`: the replicas that should run."""
    holder = spec.get("holderIdentity")
    if not holder:
        found = f"no replica of the controller holds the Lease {LEASE_NAME}"
    elif _is_renewed(spec, now):
        since = format_time(parse_time(spec["acquireTime"])) if spec.get("acquireTime") else "?"
        return ok(f"{holder} leads since {since}")
    else:
        last = format_time(parse_time(spec["renewTime"])) if spec.get("renewTime") else "?"
        found = f"{holder} holds the Lease {LEASE_NAME}, and renewed it last at {last}"
    if wanted:
        return warning(f"{found}: no controller acts", f"Read the controller's logs ({_PAGE})")
    return unknown(found)


def _spec_of(name: str, leases: Iterable[JsonObject]) -> JsonObject:
    found = (each for each in leases if each["metadata"]["name"] == name)
    return next(found, {}).get("spec") or {}


def _is_renewed(spec: JsonObject, now: datetime) -> bool:
    renewed = spec.get("renewTime")
    if not spec.get("holderIdentity") or not renewed:
        return False
    return now - parse_time(renewed) < _LATELY

"""Read and write a Lease, and decide whether its holder may still act. Pure: time is an argument.

A Lease holds the wall-clock time of its renewal, but clocks of two machines differ. So nothing here
compares it with this machine's clock: a holder counts as alive while its renewals are seen, and for
the duration of its lease after the last one was seen (as client-go does).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from shared.api.names import LEASE_NAME
from shared.api.objects import JsonObject
from shared.api.times import format_precise_time, parse_time

# After this time without a renewal, another process may take the lease.
DURATION: Final = timedelta(seconds=10)
# After this time without a renewal, its holder sends no write. The rest is for what is on its way.
RENEW_DEADLINE: Final = timedelta(seconds=7)
RETRY: Final = timedelta(seconds=2)
# client-go's own default, for a Lease without a duration.
_USUAL_DURATION: Final = 15


@dataclass(frozen=True, slots=True)
class Holding:
    """One renewal of a lease. `holder` is empty if it was released."""

    holder: str
    acquired: str
    renewed: str
    duration: timedelta
    transitions: int


def holding_of(lease: JsonObject) -> Holding:
    """Return the state of a Lease. Other programs may have written any of its fields, or none."""
    spec = lease.get("spec") or {}
    return Holding(
        holder=str(spec.get("holderIdentity") or ""),
        acquired=str(spec.get("acquireTime") or ""),
        renewed=str(spec.get("renewTime") or ""),
        duration=timedelta(seconds=_number(spec, "leaseDurationSeconds") or _USUAL_DURATION),
        transitions=_number(spec, "leaseTransitions"),
    )


@dataclass(frozen=True, slots=True)
class Seen:
    """The last renewal, and when this process first saw it, by its monotonic clock."""

    holding: Holding
    since: float


def see(before: Seen | None, lease: JsonObject, now: float) -> Seen:
    """Return what is known after a read of the Lease at `now`."""
    holding = holding_of(lease)
    return before if before is not None and before.holding == holding else Seen(holding, now)


def free_in(seen: Seen | None, identity: str, now: float) -> float:
    """Return the seconds until `identity` may take the lease; 0 if it may now."""
    if seen is None or seen.holding.holder in ("", identity):
        return 0.0
    return max(0.0, seen.since + seen.holding.duration.total_seconds() - now)


def taken(lease: JsonObject | None, namespace: str, identity: str, now: datetime) -> JsonObject:
    """Return the Lease to write in order to take it or renew it: as read, with this holder.

    Without one, the Lease to create.
    """
    before = None if lease is None else holding_of(lease)
    moment = format_precise_time(now)
    goes_on = before is not None and before.holder == identity and before.acquired != ""
    spec = {
        "holderIdentity": identity,
        "leaseDurationSeconds": int(DURATION.total_seconds()),
        "acquireTime": before.acquired if before is not None and goes_on else moment,
        "renewTime": moment,
        "leaseTransitions": 0 if before is None else before.transitions + (not goes_on),
    }
    return _with_spec(lease, namespace, spec)


def released(lease: JsonObject, namespace: str, now: datetime) -> JsonObject:
    """Return the Lease to write at the end: another process may take it at once."""
    spec = {
        **(lease.get("spec") or {}),
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "renewTime": format_precise_time(now),
    }
    return _with_spec(lease, namespace, spec)


def _with_spec(lease: JsonObject | None, namespace: str, spec: JsonObject) -> JsonObject:
    metadata = {"name": LEASE_NAME, "namespace": namespace} if lease is None else lease["metadata"]
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": spec,
    }


def time_of(text: str) -> datetime | None:
    """Return the time in a Lease; None without one, or if it is no time."""
    try:
        return parse_time(text)
    except ValueError:
        return None


def _number(spec: Mapping[str, Any], name: str) -> int:
    value = spec.get(name)
    return value if isinstance(value, int) and value > 0 else 0

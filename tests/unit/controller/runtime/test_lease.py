"""A Lease is read and written as other programs do it, and is free only after its duration."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controller.runtime.lease import (
    Holding,
    Seen,
    free_in,
    holding_of,
    released,
    see,
    taken,
    time_of,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, 678900, tzinfo=UTC)
SPEC = {
    "holderIdentity": "a_1",
    "leaseDurationSeconds": 10,
    "acquireTime": "2026-01-02T03:00:00.000000Z",
    "renewTime": "2026-01-02T03:04:00.000000Z",
    "leaseTransitions": 4,
}


def lease(**changes: Any) -> dict[str, Any]:
    metadata = {"name": "appwrapper-controller", "resourceVersion": "7", "annotations": {"a": "b"}}
    spec = {key: value for key, value in {**SPEC, **changes}.items() if value is not None}
    return {"metadata": metadata, "spec": spec}


def test_a_lease_without_any_field_is_held_by_no_process() -> None:
    empty = Holding("", "", "", timedelta(seconds=15), 0)
    assert holding_of({"metadata": {}}) == empty
    assert holding_of({"metadata": {}, "spec": None}) == empty
    odd = {"holderIdentity": None, "leaseDurationSeconds": "10", "leaseTransitions": -1}
    assert holding_of({"spec": odd}) == empty


@pytest.mark.parametrize(
    ("holder", "now", "seconds"),
    [
        ("", 100.0, 0.0),
        ("me", 100.0, 0.0),
        ("other", 100.0, 10.0),
        ("other", 109.5, 0.5),
        ("other", 110.0, 0.0),
        ("other", 200.0, 0.0),
    ],
)
def test_another_holders_lease_is_free_its_duration_after_it_was_seen(
    holder: str, now: float, seconds: float
) -> None:
    seen = see(None, lease(holderIdentity=holder), 100.0)
    assert free_in(seen, "me", now) == seconds
    assert free_in(None, "me", now) == 0.0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("renewTime", "later"),
        ("holderIdentity", "b"),
        ("acquireTime", "x"),
        ("leaseTransitions", 5),
    ],
)
def test_each_renewal_that_is_seen_begins_the_duration_again(field: str, value: Any) -> None:
    seen = see(None, lease(), 100.0)
    assert see(seen, lease(), 107.0) is seen
    assert see(seen, lease(**{field: value}), 107.0).since == 107.0


def test_other_changes_of_the_object_are_no_renewal() -> None:
    seen = see(None, lease(), 100.0)
    changed = lease()
    changed["metadata"] = {"resourceVersion": "9", "labels": {"a": "b"}}
    assert see(seen, changed, 107.0) is seen


def test_a_renewal_keeps_the_time_of_acquisition_and_the_objects_metadata() -> None:
    written = taken(lease(), "ns", "a_1", NOW)
    assert written == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": lease()["metadata"],
        "spec": {**SPEC, "renewTime": "2026-01-02T03:04:05.678900Z"},
    }


@pytest.mark.parametrize("before", ["a_1", ""])
def test_a_takeover_counts_and_begins_at_its_own_time(before: str) -> None:
    written = taken(lease(holderIdentity=before), "ns", "b_2", NOW)["spec"]
    moment = "2026-01-02T03:04:05.678900Z"
    times = {"acquireTime": moment, "renewTime": moment}
    assert written == {**SPEC, **times, "holderIdentity": "b_2", "leaseTransitions": 5}


def test_without_a_lease_one_is_created() -> None:
    written = taken(None, "ns", "b_2", NOW)
    assert written["metadata"] == {"name": "appwrapper-controller", "namespace": "ns"}
    assert (written["spec"]["holderIdentity"], written["spec"]["leaseTransitions"]) == ("b_2", 0)


def test_a_released_lease_is_free_for_every_process() -> None:
    written = released(lease(), "ns", NOW)
    assert written["metadata"]["resourceVersion"] == "7"
    assert free_in(Seen(holding_of(written), 100.0), "b_2", 100.0) == 0.0
    assert written["spec"] == {
        **SPEC,
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "renewTime": "2026-01-02T03:04:05.678900Z",
    }


def test_a_time_that_is_none_is_unknown() -> None:
    assert time_of("2026-01-02T03:04:05.678900Z") == NOW
    assert time_of("") is None
    assert time_of("then") is None

"""The metrics of a replica, whether it leads or not."""

from datetime import UTC, datetime

from controller.gauges import watch_gauge
from controller.replica_metrics import ReplicaMetrics
from controller.runtime.leadership import LeaseState

NO_WATCHES = watch_gauge(lambda: (), lambda: 0.0)


def test_readiness_is_asked_for_at_each_scrape() -> None:
    ready = [False]
    metrics = ReplicaMetrics(lambda: ready[0], LeaseState(), NO_WATCHES)
    assert metrics.registry.get_sample_value("appwrapper_controller_ready") == 0
    ready[0] = True
    assert metrics.registry.get_sample_value("appwrapper_controller_ready") == 1


def test_who_leads_and_since_when() -> None:
    state = LeaseState()
    value = ReplicaMetrics(lambda: True, state, NO_WATCHES).registry.get_sample_value
    master = ("leader_election_master_status", {"name": "appwrapper-controller"})
    since = "appwrapper_lease_acquired_timestamp_seconds"
    assert (value(*master), value(since, {"holder": "a"})) == (0.0, None)
    state.leads, state.holder = True, "a"
    state.acquired = datetime(2026, 1, 1, tzinfo=UTC)
    state.gained, state.lost = 2, 1
    assert (value(*master), value(since, {"holder": "a"})) == (1.0, 1767225600.0)
    transitions = "appwrapper_lease_transitions_total"
    assert value(transitions, {"to": "leader"}) == 2.0
    assert value(transitions, {"to": "standby"}) == 1.0

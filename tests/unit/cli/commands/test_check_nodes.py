"""What `appwrapper check` says of latched and of suspect nodes."""

import pytest

from tests.support.builders.queues import (
    operator_config,
)
from tests.support.checked_cluster import SOUND, checked
from tests.support.fakes.read_only_cluster import ReadOnlyCluster

LATCHES = (
    '{"nvidia.com/gpu": {"gpu-1": {"uid": "gpu-1", "label": "autopilot.ibm.com/gpuhealth=EVICT", '
    '"since": "2026-01-02T02:00:00Z", "goneAt": "2026-01-02T03:00:00Z"}}}'
)


def latching(record: str) -> ReadOnlyCluster:
    """The example's cluster with a latch of 12 h."""
    config_map = {
        "kind": "ConfigMap",
        "metadata": {
            "name": "appwrapper-node-health",
            "namespace": "appwrapper-system",
            "uid": "u",
            "resourceVersion": "7",
        },
        "data": {"latches": record},
    }
    configured = operator_config(
        "appwrapper:\n  slackQueueName: slack-cluster-queue\n  nodeHealth: {latch: 12h}\n"
    )
    return ReadOnlyCluster([configured, config_map, *SOUND[1:]])


def test_a_latched_node_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = checked(monkeypatch, latching(LATCHES), COLUMNS="160")
    assert (code, err) == (1, "")
    assert "Unschedulable GPU count:         -  8\n" in out
    message = (
        "8 nvidia.com/gpu cannot be scheduled (autopilot.ibm.com/gpuhealth=EVICT is gone, latched)"
    )
    assert f"WARNING: node gpu-1: {message}\n" in out


def test_unreadable_latches_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = checked(monkeypatch, latching("["), COLUMNS="160")
    place = "ConfigMap appwrapper-system/appwrapper-node-health (latched nodes)"
    assert code == 2
    assert f"UNKNOWN: {place}: JSONDecodeError" in out

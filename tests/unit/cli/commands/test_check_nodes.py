"""What `appwrapper check` says of latched and of suspect nodes."""

from typing import Any

import pytest

from shared.api.names import LABEL_USER
from tests.support.builders.appwrappers import appwrapper
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
    told = (
        "8 nvidia.com/gpu cannot be scheduled (autopilot.ibm.com/gpuhealth=EVICT is gone, latched)"
    )
    assert f"WARNING: node gpu-1: {told}\n" in out


def test_unreadable_latches_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = checked(monkeypatch, latching("["), COLUMNS="160")
    place = "ConfigMap appwrapper-system/appwrapper-node-health (latched nodes)"
    assert code == 2
    assert f"UNKNOWN: {place}: JSONDecodeError" in out


@pytest.mark.parametrize(("users", "code"), [(("alice", "bob"), 1), (("alice", "alice"), 0)])
def test_a_node_that_several_users_suspect_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, users: tuple[str, str], code: int
) -> None:
    entry = {"node": "gpu-2", "since": "2026-01-02T03:00:00Z", "pod": "p", "attempt": 1}
    suspecting = [
        appwrapper(f"train-{index}", namespace="code", labels={LABEL_USER: user})
        | {"status": {"suspectNodes": [entry]}}
        for index, user in enumerate(users)
    ]
    found, out, _ = checked(monkeypatch, ReadOnlyCluster([*SOUND, *suspecting]))
    warning = (
        "WARNING: node gpu-2: AppWrappers of 2 users failed first on it within a day"
        " (code/train-0, code/train-1): check its hardware\n"
    )
    assert (found, warning in out.replace("check its\nhardware", "check its hardware")) == (
        code,
        code == 1,
    )


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (
            {"forbidden": ("appwrappers",)},
            "UNKNOWN: AppWrappers (suspect nodes): no right to list them\n",
        ),
        ({"missing": ("appwrappers",)}, ""),
    ],
)
def test_appwrappers_that_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, refusal: dict[str, Any], said: str
) -> None:
    code, out, _ = checked(monkeypatch, ReadOnlyCluster(SOUND, **refusal))
    assert (code, "AppWrappers" in out) == ((2, True) if said else (0, False))
    assert said in out

"""The root cause of a pod that held a tainted device names the device, and blames no node."""

from datetime import UTC, datetime

import pytest

from controller.facts.devices import tainted_device
from controller.facts.root_causes import find_root_cause
from controller.facts.suspects import suspect_of
from controller.phases.root_cause import LONGEST_SUMMARY, RootCause, summary
from controller.phases.snapshot import FaultTolerance
from tests.support.builders.devices import BAD, DRIVER, full_pools, raw_claim, raw_rule
from tests.support.builders.failed_pods import failed_pod

NOW = datetime(2026, 1, 1, 10, 5, tzinfo=UTC)
TEXT = f"TaintedDevice {DRIVER}/n0/gpu-0 (example.com/health=bad:NoSchedule)"
NO_SCHEDULE = {**BAD, "effect": "NoSchedule"}


def cause_of(text: str, message: str = "ValueError: bad shard") -> RootCause:
    failed = failed_pod("w0", 1, 11, message)
    cause = find_root_cause(
        [failed], FaultTolerance(), tainted={failed.uid: text} if text else {}, attempt=1, now=NOW
    )
    assert cause is not None
    return cause


@pytest.mark.parametrize("message", ["ValueError: bad shard", "CUDA error: an illegal access"])
def test_it_names_the_device_and_makes_no_node_a_suspect(message: str) -> None:
    cause = cause_of(TEXT, message)
    assert cause.infrastructure == TEXT
    assert summary(cause) == f"w0 on n-w0: {message} ({TEXT})"
    assert suspect_of(cause) is None
    assert suspect_of(cause_of("", message)) is not None


def test_the_first_taint_that_is_not_tolerated_is_named() -> None:
    devices = full_pools(1)
    devices.rule(raw_rule("a", {}))
    devices.rule(raw_rule("b", {}, NO_SCHEDULE))
    tolerations = [{"key": BAD["key"], "operator": "Exists", "effect": "NoExecute"}]
    devices.claim(raw_claim("c0", "n0", "gpu-0", pod="p0", uid="p0", tolerations=tolerations))
    assert tainted_device(devices.index.held("p0")) == TEXT
    devices.rule(None, "b")
    assert tainted_device(devices.index.held("p0")) == ""
    assert tainted_device(()) == ""


def test_a_long_name_leaves_room_for_the_error() -> None:
    devices = full_pools(1)
    devices.rule(raw_rule("a", {}, {**BAD, "value": "b" * 63, "key": "example.com/" + "k" * 63}))
    text = tainted_device(devices.index.held("p0"))
    assert len(text.encode()) == 128
    assert len(summary(cause_of(text, "x" * 500)).encode()) <= LONGEST_SUMMARY

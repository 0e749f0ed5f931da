"""Kueue's label: what it stops by the clock may not take longer to end than the operator says."""

from typing import Any

import jsonpatch
import pytest

from tests.support.builders.admission import (
    POD,
    annotated,
    component,
    errors_of,
    patch_of,
    warnings_of,
)
from tests.support.builders.annotations import PREFIX

LABEL = "kueue.x-k8s.io/max-exec-time-seconds"
FORCEFUL = f"{PREFIX}forcefulDeletionGracePeriodDuration"
WITH = f"with the label {LABEL}"
REJECT: dict[str, Any] = {"grace_period_maximum_policy": "Reject"}
REFUSED = (
    f'metadata.annotations[{FORCEFUL}]: Invalid value: "24h": must be at most 10m, '
    f"the operator's limit {WITH}"
)


def made(forceful: str | None = "24h", *, timed: bool = True, phase: str = "") -> dict[str, Any]:
    periods = {} if forceful is None else {"forcefulDeletionGracePeriodDuration": forceful}
    target = annotated(**periods)
    target["metadata"]["labels"] = {"team": "a"} | ({LABEL: "5"} if timed else {})
    return target | ({"status": {"phase": phase}} if phase else {})


def stored(sent: dict[str, Any], old: dict[str, Any] | None = None, **config: Any) -> Any:
    after = jsonpatch.apply_patch(sent, patch_of(sent, old=old, **config))
    return after["metadata"]["annotations"].get(FORCEFUL)


def test_its_period_is_lowered_to_the_operators_own() -> None:
    assert stored(made()) == "10m"
    assert warnings_of(made()) == [
        f"{FORCEFUL}: lowered from 24h to 10m, the most that the operator allows {WITH}"
    ]
    assert errors_of(made(), **REJECT) == [REFUSED]


@pytest.mark.parametrize("forceful", ["10m", "5s", "0s", None])
def test_up_to_the_limit_no_warning_follows(forceful: str | None) -> None:
    assert stored(made(forceful)) == forceful
    assert warnings_of(made(forceful)) == []
    assert errors_of(made(forceful), **REJECT) == []


def test_without_the_label_it_may_have_a_day() -> None:
    assert stored(made(timed=False)) == "24h"
    assert errors_of(made(timed=False), **REJECT) == []


def test_the_same_file_again_changes_nothing() -> None:
    assert stored(made(), made("10m")) == "10m"
    assert warnings_of(made(), old=made("10m")) == [
        f"{FORCEFUL}: 24h is more than the operator allows {WITH}, so it stays 10m"
    ]


def test_the_label_may_come_later() -> None:
    """The annotation stays as it is stored: the controller applies the limit."""
    old = made(timed=False)
    assert patch_of(made(), old=old) == []
    assert warnings_of(made(), old=old) == [
        f"{FORCEFUL}: 24h is more than the operator allows {WITH}, so 10m applies"
    ]
    assert errors_of(made(), old=old) == []
    assert errors_of(made(), old=old, **REJECT) == [REFUSED]


def test_a_stored_object_with_both_causes_no_warning() -> None:
    """It came before there was this limit."""
    for config in ({}, REJECT):
        assert patch_of(made(), old=made(), **config) == []
        assert warnings_of(made(), old=made(), **config) == []
        assert errors_of(made(), old=made(), **config) == []


@pytest.mark.parametrize(
    ("phase", "free"),
    [
        ("", True),
        ("Suspended", True),
        ("Succeeded", True),
        ("Failed", True),
        ("Resuming", False),
        ("Running", False),
        ("Resetting", False),
        ("Suspending", False),
    ],
)
def test_the_label_cannot_be_removed_while_pods_exist(phase: str, *, free: bool) -> None:
    """Kueue lets it change as soon as it has suspended the AppWrapper."""
    errors = errors_of(made("10m", timed=False), old=made("10m", phase=phase))
    refused = (
        f"metadata.labels[{LABEL}]: Forbidden: cannot be removed before the AppWrapper is "
        "Suspended: the label limits how long its terminating pods run"
    )
    assert errors == ([] if free else [refused])


def test_its_pods_are_warned_by_the_lower_limit() -> None:
    field = "terminationGracePeriodSeconds"
    target = made()
    target["spec"]["components"] = [component({**POD, "spec": {**POD["spec"], field: 7200}})]
    assert (
        f"spec.components[0].template.spec.{field}: pods get 600 instead of 7200: the operator's "
        "forceful deletion period is 10m"
    ) in warnings_of(target)

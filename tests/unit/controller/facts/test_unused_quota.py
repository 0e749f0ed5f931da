"""Since when an AppWrapper waits for quota, or holds quota without its pods."""

from typing import Any

import pytest

from controller.facts.appwrapper_outline import Outline, project_appwrapper
from shared.api.objects import JsonObject

MIDNIGHT = 1767225600.0  # 2026-01-01T00:00:00Z
CREATED = "2026-01-01T00:00:01Z"


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}Z"


def outline(phase: str, *conditions: JsonObject, **metadata: str) -> Outline:
    identity = {"namespace": "team1", "name": "a", "uid": "u", "creationTimestamp": CREATED}
    status = {"phase": phase, "conditions": list(conditions)}
    raw: JsonObject = {"metadata": identity | metadata, "spec": {}, "status": status}
    return project_appwrapper(raw)


def says(kind: str, status: str, second: int, reason: str = "R") -> JsonObject:
    named = {"type": kind, "status": status, "reason": reason}
    return {**named, "lastTransitionTime": at(second)}


@pytest.mark.parametrize(
    ("phase", "conditions", "expected"),
    [
        pytest.param("", (), {"phase_since": 1}, id="it was just created"),
        pytest.param(
            "Suspended",
            (says("QuotaReserved", "False", 5),),
            {"phase_since": 5},
            id="it waits since its quota went",
        ),
        pytest.param(
            "Resuming",
            (says("QuotaReserved", "True", 7),),
            {"unused_since": 7},
            id="no pod has run yet",
        ),
        pytest.param(
            "Running",
            (says("QuotaReserved", "True", 7), says("PodsReady", "True", 9)),
            {},
            id="its pods run",
        ),
        pytest.param(
            "Running",
            (says("QuotaReserved", "True", 7), says("PodsReady", "False", 12)),
            {"unused_since": 12},
            id="its pods ran until then",
        ),
        pytest.param(
            "Running",
            (says("QuotaReserved", "True", 7), says("PodsReady", "False", 3)),
            {"unused_since": 7},
            id="its pods were lost in an earlier life",
        ),
        pytest.param(
            "Terminating",
            (
                says("QuotaReserved", "True", 7),
                says("PodsReady", "False", 8),
                says("DeletingResources", "True", 9, "DeletionBlocked"),
            ),
            {"unused_since": 8, "deletion_blocked": True},
            id="something keeps its resources",
        ),
        pytest.param(
            "Suspending",
            (says("DeletingResources", "True", 9, "DeletionInitiated"),),
            {},
            id="its resources are being deleted",
        ),
        pytest.param(
            "Succeeded", (says("QuotaReserved", "False", 5),), {}, id="it gave its quota back"
        ),
    ],
)
def test_times_that_metrics_show(
    phase: str, conditions: tuple[JsonObject, ...], expected: dict[str, Any]
) -> None:
    found = outline(phase, *conditions)
    moments = {"phase_since": found.phase_since, "unused_since": found.unused_since}
    for name in expected.keys() & moments.keys():
        assert moments[name] == MIDNIGHT + expected[name]
    assert (found.unused_since is None) is ("unused_since" not in expected)
    assert found.deletion_blocked is ("deletion_blocked" in expected)


def test_its_deletion_is_seen() -> None:
    """Without the controller's finalizer its phase remains until it is gone."""
    waits = says("QuotaReserved", "False", 2)
    assert not outline("Suspended", waits).deleting
    assert outline("Suspended", waits, deletionTimestamp=at(3)).deleting

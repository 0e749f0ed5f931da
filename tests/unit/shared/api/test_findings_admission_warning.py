"""What the API server passes on: 256 characters of each warning, 4096 of all."""

from typing import Any

import pytest

from shared.api.findings import AdmissionWarning
from tests.support.builders.admission import POD, annotated, appwrapper, component, warnings_of
from tests.support.builders.annotations import PREFIX

ASKED = {"requests": {"cpu": 1}}
SIDECAR = {"name": "s", "image": "i", "restartPolicy": "Always", "resources": ASKED}
# Every field that some rule warns of, below the longest path of an inferred pod set.
PODS: dict[str, Any] = {
    "metadata": {"finalizers": ["a"]},
    "spec": {
        "containers": [{"name": "c", "image": "i", "resources": ASKED}],
        "resources": {"requests": {"cpu": 3}},
        "resourceClaims": [{"name": "c"}],
        "initContainers": [{"name": "i", "image": "i"}] * 10 + [SIDECAR],
    },
}
HEAD = {"template": {"spec": POD["spec"]}}
GROUPS = [*[HEAD] * 10, {"template": PODS}]
RAY_JOB: dict[str, Any] = {
    "apiVersion": "ray.io/v1",
    "kind": "RayJob",
    "metadata": {"finalizers": ["a"]},
    "spec": {"rayClusterSpec": {"headGroupSpec": HEAD, "workerGroupSpecs": GROUPS}},
}


def test_a_text_is_cut_at_256_characters() -> None:
    assert AdmissionWarning("x" * 256).shown == "x" * 256
    assert AdmissionWarning("x" * 257).shown == "x" * 255 + "…"


def test_no_warning_about_pods_is_cut() -> None:
    found = warnings_of(appwrapper(component(RAY_JOB)))
    assert len(found) == 5
    assert not [text for text in found if text.endswith("…")]


@pytest.mark.parametrize("old", [None, appwrapper()])
def test_no_warning_about_periods_is_cut(old: Any) -> None:
    asked = "2562046h59m59." + "9" * 85 + "s"  # as long as a duration can be
    (text,) = warnings_of(annotated(deletionOnFailureGracePeriodDuration=asked), old=old)
    assert text.startswith(f"{PREFIX}deletionOnFailureGracePeriodDuration: ")
    assert not text.endswith("…")


def test_as_many_as_fit_are_passed_on() -> None:
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}}
    found = warnings_of(appwrapper(component(), *[component(claim)] * 20))
    assert [text.partition(":")[0] for text in found] == [
        f"spec.components[{index}]" for index in range(1, 17)
    ]

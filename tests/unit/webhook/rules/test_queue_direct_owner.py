from dataclasses import replace
from typing import Any

import pytest

from tests.support.builders.admission import facts, request
from webhook.rules.queue import check_direct_owner
from webhook.rules.submission import Submission

OWNER: dict[str, Any] = {
    "apiVersion": "workload.codeflare.dev/v1beta2",
    "kind": "AppWrapper",
    "name": "running",
    "uid": "1",
}
TEAM = replace(facts(), is_team_namespace=True)


def reasons(kind: str, *owners: dict[str, Any], is_platform: bool = False) -> list[str]:
    made = {"kind": kind, "metadata": {"name": "j", "ownerReferences": list(owners)}}
    known = replace(TEAM, is_platform=is_platform)
    return list(check_direct_owner(Submission(request(made, group_kind=kind), known)))


@pytest.mark.parametrize(
    "kind",
    [
        "kubeflow.org/PyTorchJob",
        "kubeflow.org/TFJob",
        "ray.io/RayCluster",
        "ray.io/RayJob",
        "trainer.kubeflow.org/TrainJob",
    ],
)
def test_a_user_cannot_hide_a_job_behind_a_controller(kind: str) -> None:
    assert reasons(kind, {**OWNER, "controller": True}) == [
        "metadata.ownerReferences names a controller, so Kueue would let it run without quota of "
        "its own: leave that owner out, or set its controller to false"
    ]


def test_an_owner_that_is_no_controller_is_none_of_kueues_business() -> None:
    assert reasons("kubeflow.org/PyTorchJob", OWNER, {**OWNER, "controller": False}) == []


def test_operators_make_parts_of_what_they_control() -> None:
    assert reasons("ray.io/RayCluster", {**OWNER, "controller": True}, is_platform=True) == []


@pytest.mark.parametrize("kind", ["Service", "workload.codeflare.dev/AppWrapper"])
def test_a_kind_that_kueue_ignores_may_have_any_owner(kind: str) -> None:
    assert reasons(kind, {**OWNER, "controller": True}) == []

"""Activating and deactivating Kueue's Workload."""

import pytest

from controller.apply.activation import activate
from controller.phases.snapshot import OwnWorkload
from shared.kube.client import Conflict, Forbidden, NotFound, PatchType
from shared.waits.workload import WORKLOADS
from tests.support.fakes.fake_kube import FakeKube

FOUND = OwnWorkload("w", "w1", "7", active=True)
MARK = "workload.codeflare.dev.appwrapper/deactivated-by-hold"


@pytest.mark.parametrize(("active", "mark"), [(False, "true"), (True, "false")])
async def test_one_request_writes_active_and_who_did_it(active: bool, mark: str) -> None:
    kube = FakeKube(answers={"patch": [{}]})
    await activate(kube, "team1", FOUND, active=active)
    (call,) = kube.called("patch")
    metadata = {"uid": "w1", "resourceVersion": "7", "annotations": {MARK: mark}}
    body = {"metadata": metadata, "spec": {"active": active}}
    assert call.args == (WORKLOADS, "team1", "w", body, PatchType.MERGE)


@pytest.mark.parametrize("error", [Conflict(409, "Conflict", "newer"), NotFound(404, "", "gone")])
async def test_another_version_is_left_to_the_next_pass(error: Exception) -> None:
    await activate(FakeKube(answers={"patch": [error]}), "team1", FOUND, active=True)


async def test_a_refusal_is_an_error() -> None:
    kube = FakeKube(answers={"patch": [Forbidden(403, "Forbidden", "no patch")]})
    with pytest.raises(Forbidden, match="no patch"):
        await activate(kube, "team1", FOUND, active=False)

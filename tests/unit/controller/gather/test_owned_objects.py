from typing import Any

import pytest

from controller.gather.owned_objects import _ANYTHING, LiveLists, dependants
from shared.api.objects import PODS, Resource
from shared.kube.client import Forbidden, NotFound, Unreachable
from tests.support.builders.gathering import FakeDiscovery, Unserved
from tests.support.cluster.resources import DEPLOYMENTS, JOBS, PYTORCH_JOBS, RAY_CLUSTERS, SERVICES
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.fake_kube import FakeKube, listed

OTHERS = Resource("example.com", "v1", "others", "Other")


def owned(name: str, *owners: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "ownerReferences": [{"uid": uid} for uid in owners]}}


class SearchBench:
    def __init__(self, *lists: Any, obstacle: str = "") -> None:
        self.kube = FakeKube(lists=list(lists))
        kube: Any = self.kube
        self.served = FakeDiscovery()
        self.served.more = _ANYTHING
        served: Any = self.served
        self.lists = LiveLists(kube, served, Unserved(kube, FakeClock(), obstacle))

    async def of(self, resource: Resource) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return await dependants(self.lists, resource.gvk.group_kind, "team1", "u1")

    def asked(self) -> list[Any]:
        calls = self.kube.called("pages")
        assert all(call.args[1] == "team1" for call in calls)
        for call in calls:  # only a whole Job shows whether Kueue suspended it
            assert call.kwargs == {"metadata_only": call.args[0] != JOBS}
        return [call.args[0].plural for call in calls]


async def test_dependants_are_listed_by_uid_on_every_page_for_every_kind() -> None:
    pods = [listed(9, owned("a", "u1"), owned("b", "u2")), listed(9, owned("c", "u2", "u1"))]
    bench = SearchBench(pods, [listed(9, {"metadata": {"name": "nobody's"}}, owned("rs", "u1"))])
    found = await bench.of(DEPLOYMENTS)
    assert found == (("Pod a", "Pod c", "ReplicaSet rs"), ())
    assert bench.asked() == ["pods", "replicasets"]


async def test_a_job_that_kueue_suspended_is_named_as_such() -> None:
    suspended = owned("ray-redis-cleanup", "u1")
    fields: dict[str, Any] = {"f:spec": {"f:suspend": {}}}
    suspended["metadata"]["managedFields"] = [{"manager": "kueue", "fieldsV1": fields}]
    bench = SearchBench(
        [listed(9)], [listed(9, suspended | {"spec": {"suspend": True}})], [listed(9)]
    )
    name = "Job ray-redis-cleanup (suspended by Kueue: see appwrapper explain)"
    assert await bench.of(RAY_CLUSTERS) == ((name,), ())
    assert bench.asked() == ["pods", "jobs", "services"]


async def test_nothing_found_is_the_proof() -> None:
    bench = SearchBench([listed(9, owned("a", "u2"))])
    assert await bench.of(JOBS) == ((), ())


async def test_kinds_without_dependants_are_not_listed() -> None:
    bench = SearchBench()
    assert await bench.of(SERVICES) == ((), ())
    assert bench.asked() == []


async def test_all_kinds_are_listed_for_an_unknown_kind() -> None:
    bench = SearchBench(*([[listed(9)]] * len(_ANYTHING)))
    assert await bench.of(OTHERS) == ((), ())
    assert bench.asked() == [kind.plural for kind in _ANYTHING]


async def test_a_forbidden_list_proves_nothing() -> None:
    bench = SearchBench([listed(9)], Forbidden(403, "Forbidden", "no"))
    unproved = ("replicasets cannot be listed: 403 Forbidden: no",)
    assert await bench.of(DEPLOYMENTS) == ((), unproved)


@pytest.mark.parametrize(("obstacle", "gone"), [("", True), ("its CRD is changing", False)])
async def test_a_kind_that_is_not_served_has_none_only_if_there_can_be_none(
    obstacle: str, gone: bool
) -> None:
    bench = SearchBench([listed(9)], [listed(9)], obstacle=obstacle)
    bench.served.hidden = {"scheduling.x-k8s.io/PodGroup"}
    unproved = () if gone else ("PodGroup: its CRD is changing",)
    assert await bench.of(PYTORCH_JOBS) == ((), unproved)


async def test_a_list_of_a_version_that_is_served_no_longer_is_no_proof() -> None:
    """The next search finds the version that is served."""
    bench = SearchBench(NotFound(404, "Unknown", "not a Status"), [listed(9)])
    unproved = ("pods cannot be listed: 404 Unknown: not a Status",)
    assert await bench.of(JOBS) == ((), unproved)
    assert bench.served.forgotten == [PODS.gvk]
    assert await bench.of(JOBS) == ((), ())


async def test_owned_objects_are_listed_in_the_version_that_is_served() -> None:
    newer = Resource("scheduling.x-k8s.io", "v1", "podgroups", "PodGroup")
    bench = SearchBench([listed(9)], [listed(9)], [listed(9, owned("a", "u1"))])
    bench.served.more = (newer, SERVICES)
    assert await bench.of(PYTORCH_JOBS) == (("PodGroup a",), ())
    assert bench.kube.called("pages")[2].args == (newer, "team1")


@pytest.mark.parametrize("broken", [Unreachable("away"), [listed(9), Unreachable("midway")]])
async def test_a_list_that_breaks_off_is_no_proof(broken: Any) -> None:
    with pytest.raises(Unreachable):
        await SearchBench(broken).of(JOBS)


async def test_pods_come_first() -> None:
    assert _ANYTHING[0] == PODS

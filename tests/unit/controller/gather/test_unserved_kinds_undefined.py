"""Whether there can be objects of a Kind that is not served."""

from typing import Any

import pytest

from controller.gather.unserved_kinds import (
    API_SERVICES,
    CRDS,
    REMEMBERED,
    UnservedKinds,
)
from shared.api.objects import GroupVersionKind
from shared.kube.client import Forbidden, NotFound, Unreachable
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.fake_kube import FakeKube, listed

KIND = GroupVersionKind("example.com", "v1", "Widget")
NAME = "widgets.example.com"


def named(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}}


def definition(*served: str, kind: str = "Widget", **metadata: Any) -> dict[str, Any]:
    versions = [{"name": name, "served": name in served} for name in ("v1", "v2")]
    return {
        "metadata": {"name": NAME, **metadata},
        "spec": {"names": {"kind": kind}, "versions": versions},
    }


def api_service(name: str, group: str, service: Any = None) -> dict[str, Any]:
    return {**named(name), "spec": {"group": group, **({"service": service} if service else {})}}


class KindsBench:
    def __init__(
        self,
        *,
        crds: list[Any] | None = None,
        services: tuple[Any, ...] = (),
        get: tuple[Any, ...] = (),
        times: int = 1,
    ) -> None:
        lists: list[Any] = [crds or [listed(9)], [listed(9, *services)]] * times
        self.kube = FakeKube(lists=lists, answers={"get": list(get)})
        self.clock = FakeClock()
        client: Any = self.kube
        self.kinds = UnservedKinds(client, self.clock)

    async def obstacle(self, gvk: GroupVersionKind = KIND) -> str:
        return await self.kinds.obstacle(gvk)


async def test_without_a_definition_and_another_server_there_is_nothing() -> None:
    others = [listed(9, named("widgets.example.org")), listed(9, named("b.example.com.au"))]
    services = (api_service("v1.", ""), api_service("v1.o", "o", {"name": "o"}))
    bench = KindsBench(crds=others, services=services)
    assert await bench.obstacle() == ""
    first, second = bench.kube.called("pages")
    assert (first.args, first.kwargs) == ((CRDS,), {"metadata_only": True})
    assert (second.args, second.kwargs) == ((API_SERVICES,), {})
    assert bench.kube.called("get") == []


@pytest.mark.parametrize(
    ("found", "state"),
    [
        (definition("v1", deletionTimestamp="now"), "is being deleted"),
        (definition(), "serves no version"),
        (definition("v2"), "is not served yet"),
    ],
)
async def test_while_its_definition_is_there_so_may_its_objects_be(found: Any, state: str) -> None:
    bench = KindsBench(crds=[listed(9), listed(9, named("x.y"), named(NAME))], get=(found,))
    assert await bench.obstacle() == f"CustomResourceDefinition {NAME} {state}"


@pytest.mark.parametrize("other", [definition("v1", kind="Gadget"), NotFound(404, "NotFound", "")])
async def test_the_definition_of_another_kind_of_the_group_proves_nothing(other: Any) -> None:
    assert await KindsBench(crds=[listed(9, named(NAME))], get=(other,)).obstacle() == ""


async def test_an_api_server_of_its_own_may_be_away() -> None:
    services = (api_service("v1.example.com", "example.com", {"name": "widgets"}),)
    assert await KindsBench(services=services).obstacle() == (
        "APIService v1.example.com names an API server that does not serve the Kind"
    )


@pytest.mark.parametrize("which", [0, 1])
async def test_an_unreadable_definition_is_no_proof(which: int) -> None:
    no = Forbidden(403, "Forbidden", "crds is forbidden")
    bench = KindsBench()
    bench.kube.lists[which] = no
    assert await bench.obstacle() == (
        "whether its CustomResourceDefinition exists cannot be read: crds is forbidden"
    )


@pytest.mark.parametrize("which", [0, 1])
async def test_a_read_that_fails_is_no_proof(which: int) -> None:
    bench = KindsBench()
    bench.kube.lists[which] = Unreachable("away")
    with pytest.raises(Unreachable):
        await bench.obstacle()


async def test_an_obstacle_is_believed_for_moments_and_its_absence_never() -> None:
    bench = KindsBench(get=(definition("v2"), definition("v2")))
    bench.kube.lists = [[listed(9, named(NAME))], [listed(9, named(NAME))]]
    assert await bench.obstacle() == await bench.obstacle()
    assert len(bench.kube.called("get")) == 1
    await bench.clock.advance(REMEMBERED)
    await bench.obstacle()
    assert len(bench.kube.called("get")) == 2
    nothing = KindsBench(times=2)
    assert (await nothing.obstacle(), await nothing.obstacle()) == ("", "")
    assert len(nothing.kube.called("pages")) == 4

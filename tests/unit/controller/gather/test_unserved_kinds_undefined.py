"""Whether there can be objects of a Kind that is not served."""

from typing import Any

import pytest

from controller.gather.unserved_kinds import CRDS, REMEMBERED, UnservedKinds
from shared.api.objects import GroupVersionKind
from shared.kube.client import Forbidden, NotFound, Unreachable
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.fake_kube import FakeKube, listed

KIND = GroupVersionKind("example.com", "v1", "Widget")
NAME = "widgets.example.com"


def named(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}}


def definition(kind: str = "Widget") -> dict[str, Any]:
    return {**named(NAME), "spec": {"names": {"kind": kind}}}


class KindsBench:
    def __init__(
        self,
        *,
        crds: list[Any] | None = None,
        get: tuple[Any, ...] = (),
        times: int = 1,
    ) -> None:
        lists: list[Any] = [crds or [listed(9)]] * times
        self.kube = FakeKube(lists=lists, answers={"get": list(get)})
        self.clock = FakeClock()
        client: Any = self.kube
        self.kinds = UnservedKinds(client, self.clock)

    async def obstacle(self, gvk: GroupVersionKind = KIND) -> str:
        return await self.kinds.obstacle(gvk)


async def test_without_a_definition_no_object_exists() -> None:
    others = [listed(9, named("widgets.example.org")), listed(9, named("b.example.com.au"))]
    bench = KindsBench(crds=others)
    assert await bench.obstacle() == ""
    (call,) = bench.kube.calls
    assert (call.method, call.args, call.kwargs) == ("pages", (CRDS,), {"metadata_only": True})


async def test_while_its_definition_exists_its_objects_may_exist() -> None:
    bench = KindsBench(crds=[listed(9), listed(9, named("x.y"), named(NAME))], get=(definition(),))
    assert await bench.obstacle() == f"CustomResourceDefinition {NAME} exists"


@pytest.mark.parametrize("other", [definition("Gadget"), NotFound(404, "NotFound", "")])
async def test_the_definition_of_another_kind_of_the_group_proves_nothing(other: Any) -> None:
    assert await KindsBench(crds=[listed(9, named(NAME))], get=(other,)).obstacle() == ""


async def test_an_unreadable_definition_is_no_proof() -> None:
    bench = KindsBench()
    bench.kube.lists[0] = Forbidden(403, "Forbidden", "crds is forbidden")
    assert await bench.obstacle() == (
        "whether its CustomResourceDefinition exists cannot be read: crds is forbidden"
    )


async def test_a_read_that_fails_is_no_proof() -> None:
    bench = KindsBench()
    bench.kube.lists[0] = Unreachable("away")
    with pytest.raises(Unreachable):
        await bench.obstacle()


async def test_an_obstacle_is_believed_for_moments_and_its_absence_never() -> None:
    bench = KindsBench(get=(definition(), definition()))
    bench.kube.lists = [[listed(9, named(NAME))], [listed(9, named(NAME))]]
    assert await bench.obstacle() == await bench.obstacle()
    assert len(bench.kube.called("get")) == 1
    await bench.clock.advance(REMEMBERED)
    await bench.obstacle()
    assert len(bench.kube.called("get")) == 2
    nothing = KindsBench(times=2)
    assert (await nothing.obstacle(), await nothing.obstacle()) == ("", "")
    assert len(nothing.kube.called("pages")) == 2

"""What a standby keeps of components, and what one term of leadership leaves to the next."""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Any

import pytest

from controller.gather.component_caches import LOOK_FOR_KINDS, UNUSED
from shared.api.objects import PODS, SECRETS, GroupVersionKind
from shared.kube.client import Forbidden, Gone, NotFound
from tests.support.cluster.resources import JOBS, SERVICES
from tests.support.fakes.component_watching import WatchingBench, ensured_in_vain, owned, until_idle
from tests.support.fakes.fake_kube import WatchFeed, listed

NO = Forbidden(403, "Forbidden", "no")
JOBS_INFORMER = "informer of batch/v1 jobs"
KEY = ("team1", "train")


def served(*kinds: tuple[str, str, bool]) -> dict[str, Any]:
    """The answer of discovery about one version."""
    found = [{"kind": kind, "name": name, "namespaced": inside} for kind, name, inside in kinds]
    return {"resources": found}


BATCH = served(("Job", "jobs", True))


@asynccontextmanager
async def standby(
    bench: WatchingBench, kinds: Collection[GroupVersionKind], *answers: Any
) -> AsyncIterator[None]:
    """Looks for the Kinds, with these answers of discovery."""
    bench.kube.answers["get_path"] = list(answers)
    looking = asyncio.create_task(bench.caches.watch_kinds(lambda: kinds))
    await until_idle()
    try:
        yield
        assert not looking.done()
    finally:
        looking.cancel()
        await bench.end()


async def test_the_kinds_of_existing_components_are_watched_without_a_term() -> None:
    bench = WatchingBench([listed(5, owned(4))])
    async with standby(bench, [JOBS.gvk], BATCH):
        bench.watches = bench.another_term()
        await bench.watches.ensure(JOBS)
        assert bench.known() is not None
        assert len(bench.kube.called("pages")) == 1


async def test_secrets_pods_and_kinds_without_namespaces_are_not_watched() -> None:
    kinds = [SECRETS.gvk, PODS.gvk, GroupVersionKind("", "v1", "Namespace")]
    core = served(
        ("Secret", "secrets", True), ("Pod", "pods", True), ("Namespace", "namespaces", False)
    )
    bench = WatchingBench()
    async with standby(bench, kinds, core):
        assert bench.informers() == []
        assert bench.kube.called("pages") == []


async def test_a_kind_that_discovery_cannot_find_is_looked_for_again_and_delays_no_other() -> None:
    bench = WatchingBench([listed(5)], [listed(5)])
    bench.kube.watches.append(WatchFeed())
    missing = NotFound(404, "NotFound", "no such group")
    away = GroupVersionKind("example.org", "v1", "Widget")
    core = served(("Service", "services", True))
    # `missing` twice: of the version, and of the group with its other versions.
    async with standby(
        bench, [away, JOBS.gvk, SERVICES.gvk], missing, missing, NO, core, NO, BATCH
    ):
        assert bench.informers() == ["informer of v1 services"]
        await bench.clock.advance(LOOK_FOR_KINDS)
        assert bench.informers() == [JOBS_INFORMER, "informer of v1 services"]


async def test_a_kind_whose_discovery_hangs_delays_the_others_by_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = WatchingBench([listed(5)])
    away = GroupVersionKind("example.org", "v1", "Widget")

    async def answer(path: str) -> Any:
        if away.group in path:
            await asyncio.Event().wait()
        return BATCH

    monkeypatch.setattr(bench.kube, "get_path", answer, raising=False)
    async with standby(bench, [away, JOBS.gvk]):
        await bench.clock.advance(4.9)
        assert bench.informers() == []
        await bench.clock.advance(0.2)
        assert bench.informers() == [JOBS_INFORMER]


async def test_a_kind_is_watched_while_an_appwrapper_has_it_and_some_time_longer() -> None:
    bench = WatchingBench([listed(5)])
    kinds = [JOBS.gvk]
    async with standby(bench, kinds, BATCH):
        await bench.clock.advance(3 * UNUSED)
        assert bench.informers() == [JOBS_INFORMER]
        kinds.clear()
        await bench.clock.advance(UNUSED - 1)
        assert bench.informers() == [JOBS_INFORMER]
        await bench.clock.advance(60)
        assert bench.informers() == []


async def test_a_kind_that_is_not_served_any_more_is_discovered_again() -> None:
    no_such_kind = NotFound(404, "", "404 page not found")
    bench = WatchingBench([listed(5)], no_such_kind, [listed(6)])
    bench.kube.watches.append(WatchFeed())
    async with standby(bench, [JOBS.gvk], BATCH, BATCH):
        bench.feed.fail(Gone(410, "Expired", "too old"))
        await bench.clock.advance(1)
        assert bench.informers() == []
        await bench.clock.advance(LOOK_FOR_KINDS)
        assert bench.informers() == [JOBS_INFORMER]
        assert len(bench.kube.called("get_path")) == 2


async def test_a_term_that_ended_hears_nothing_and_the_next_one_has_its_caches() -> None:
    bench = WatchingBench([listed(5, owned(4))], NO, NO, NO, NO, NO, NO, NO, NO)
    first = bench.watches
    await first.ensure(JOBS)
    first.fall_silent(JOBS)
    assert bench.woken == [KEY]
    bench.caches.drop_handlers()
    bench.feed.send("MODIFIED", owned(6, "b"))
    bench.feed.send("DELETED", owned(7))
    await until_idle()
    bench.feed.fail(Gone(410, "Expired", "too old"))
    await bench.clock.advance(20)
    assert bench.woken == [KEY]
    assert first.last_seen("batch/Job", "a", "u1") is None
    second = bench.another_term()
    assert second.is_refused(JOBS)
    assert not second.is_silent(JOBS)
    assert second.known(JOBS, "team1", "b", "u1") is not None
    await bench.end()


async def test_each_term_waits_once_for_a_list_that_does_not_come() -> None:
    bench = WatchingBench(*[NO] * 20)
    await ensured_in_vain(bench)
    await bench.watches.ensure(JOBS)
    bench.caches.drop_handlers()
    bench.watches = bench.another_term()
    await ensured_in_vain(bench)
    await bench.watches.ensure(JOBS)
    await bench.end()

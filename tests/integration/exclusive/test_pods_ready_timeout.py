"""A Kueue that waits for pods to be ready, as 0.19 and newer do by default: for less than we do."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from itertools import groupby

import pytest
import pytest_asyncio
import yaml

from localcluster.cluster import LocalCluster
from localcluster.machine.slowness import stretched
from shared.api.objects import PODS, JsonObject
from shared.waits.workload import NEW_WORKLOAD
from tests.support.builders.appwrappers import (
    AT_ONCE,
    appwrapper,
    phase,
    true_conditions,
    version_of,
)
from tests.support.builders.pods import pod
from tests.support.cluster.explaining import explain
from tests.support.cluster.failing_lives import ended, failing
from tests.support.cluster.gpu_nodes import typed
from tests.support.cluster.life import Life
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.life_record import DEPLOYED, QUOTA, UNHEALTHY, condition
from tests.support.patience import comes_to
from tests.support.walkthrough import commands_below

pytestmark = pytest.mark.kueue

# It must be long enough for a start on a slow machine, of which Kueue's time is a part.
SHORT = f"{stretched(12.0):.0f}s"
LONGER, LONGEST = f"{stretched(25.0):.0f}s", "10m"
NEVER_READY = {"hang": "pending"}
MORE = range(2, 100)
SUM = "1h13m15s"  # 60 m of warm-up, 75 s, 60 s of failure grace, and 11 m of removal


@asynccontextmanager
async def kueue_waits(
    cluster: LocalCluster, timeout: str, **strategy: int
) -> AsyncGenerator[None, None]:
    """It evicts after this long, and admits again a second later."""
    file = cluster.directory / "kueue" / "configuration.yaml"
    before = file.read_text()
    configuration: JsonObject = yaml.safe_load(before)
    assert configuration["waitForPodsReady"] == {"timeout": "1h20m", "recoveryTimeout": "1h20m"}
    soon = {"backoffBaseSeconds": 1, "backoffMaxSeconds": 1}
    configuration["waitForPodsReady"] = {
        "timeout": timeout,
        "recoveryTimeout": timeout,
        "requeuingStrategy": {**soon, **strategy},
    }
    file.write_text(yaml.safe_dump(configuration))
    try:
        await cluster.processes.restart("kueue")
        yield
    finally:
        file.write_text(before)
        await cluster.processes.restart("kueue")


@pytest_asyncio.fixture
async def impatient_kueue(cluster: LocalCluster) -> AsyncIterator[None]:
    async with kueue_waits(cluster, SHORT):
        yield


@pytest_asyncio.fixture
async def patient_kueue(cluster: LocalCluster) -> AsyncIterator[None]:
    """Patient enough for whoever is quick, on a slow machine too."""
    async with kueue_waits(cluster, LONGEST):
        yield


@pytest_asyncio.fixture
async def kueue_that_waits_longer(cluster: LocalCluster) -> AsyncIterator[None]:
    """Long enough for a failure and the words about it, and no longer than a test can wait."""
    async with kueue_waits(cluster, LONGER):
        yield


@pytest.mark.usefixtures("impatient_kueue")
async def test_repeated_evictions_are_reported_with_reason_and_periods(
    cluster: LocalCluster, lives: Lives
) -> None:
    """Its warm-up is longer than Kueue's timeout: no retry is ever counted."""
    patient = {"warmupGracePeriodDuration": "1h", "retryLimit": "0"}
    body = appwrapper("too-patient", pod("too-patient", **NEVER_READY), annotations=patient)
    life = await lives.begin(body)
    workload = (await lives.workload(life))["metadata"]["name"]
    for often in ("once", "2 times"):
        message = words(workload, often)
        waiting = await saying(life, message, "Suspended")
        assert condition(waiting, QUOTA)[:2] == ("False", "PodsReadyTimeout")
        assert message in await lives.event_messages(
            "too-patient", "PodsReadyTimeout", until=message
        )
    # On a busy machine a start may take too long for Kueue: then the next one comes to run.
    every = [words(workload, often) for often in ("once", *(f"{each} times" for each in MORE))]
    running = await life.until(
        lambda item: phase(item) == "Running" and condition(item, QUOTA).message in every,
        "Running, and still saying why it was evicted",
    )
    assert condition(running, QUOTA)[:2] == ("True", "Resuming")
    assert "resettingCount" not in running["status"]
    await comes_to(lambda: shown_on_the_page(cluster, workload), True)
    await life.check_the_promise_to_kueue()


@pytest.mark.long
async def test_one_that_kueue_evicted_too_often_starts_again_with_a_new_workload(
    cluster: LocalCluster, lives: Lives
) -> None:
    async with kueue_waits(cluster, SHORT, backoffLimitCount=1):
        patient = {"warmupGracePeriodDuration": "1h"}
        body = appwrapper("given-up", pod("given-up", **NEVER_READY), annotations=patient)
        life = await lives.begin(body)
        advice = f"out of the queue for good. {NEW_WORKLOAD}"
        given_up = await life.until(
            lambda item: (
                phase(item) == "Suspended" and advice in (condition(item, QUOTA).message or "")
            ),
            "that Kueue gave it up",
        )
        report = (await explain(cluster, NAMESPACE, "given-up", "--output", "json")).report
        name = (await lives.workload(life))["metadata"]["name"]
        assert (report["situation"], report["answer"]) == (
            "Deactivated",
            f"given-up waits: Kueue took its Workload {name} out of the queue for good."
            f" {NEW_WORKLOAD}.",
        )
        [offered] = report["commands"]
        assert f"delete workload {name} --wait=false" in offered["command"]
        await typed(cluster, offered["command"])
        running = await life.until(
            lambda item: version_of(item) > version_of(given_up) and phase(item) == "Running",
            "another start",
        )
        # The advice is over with the wait: nobody deletes the Workload of a running job by it.
        message = condition(running, QUOTA).message or ""
        assert message.startswith(f"Kueue evicted Workload {name} (")
        assert NEW_WORKLOAD not in message


@pytest.mark.usefixtures("patient_kueue")
async def test_who_fails_in_its_own_time_is_never_evicted(lives: Lives) -> None:
    """The same pods, and periods that add up to less than Kueue's timeout."""
    quick = {
        "admissionGracePeriodDuration": "0s",
        "warmupGracePeriodDuration": "1s",
        "failureGracePeriodDuration": "0s",
        "retryPausePeriodDuration": "0s",
        "retryLimit": "1",
    }
    body = appwrapper("quick", pod("quick", **NEVER_READY), annotations=quick)
    life = await lives.begin(body)
    failed = await life.until(
        lambda item: phase(item) == "Failed" and condition(item, QUOTA).status == "False",
        "failed, with everything given back",
    )
    assert failed["status"]["resettingCount"] == 1
    assert condition(failed, QUOTA).reason == "Failed"
    assert condition(failed, UNHEALTHY).reason == "InsufficientPodsReady"
    assert "Suspending" not in life.phases()
    assert "Evicted" not in await lives.kueue_says(life)


@pytest.mark.long
@pytest.mark.usefixtures("kueue_that_waits_longer")
async def test_a_long_pause_and_pods_that_are_kept_lose_to_the_recovery_timeout(
    lives: Lives,
) -> None:
    """Both were ready before. The one is told why; of the other Kueue ends the time to look."""
    pause = AT_ONCE | {"retryPausePeriodDuration": "1h"}
    keep = {
        "failureGracePeriodDuration": "1s",  # so that it says first that its pods are not ready
        "retryLimit": "0",
        "deletionOnFailureGracePeriodDuration": "1h",
    }
    paused = await lives.begin(appwrapper("paused", failing("paused"), annotations=pause))
    kept = await lives.begin(appwrapper("kept", failing("kept"), annotations=keep))
    workload = (await lives.workload(paused))["metadata"]["name"]
    failed = await kept.until_phase("Failed")
    assert true_conditions(failed) == {QUOTA, DEPLOYED, UNHEALTHY}
    reported = await paused.until(
        lambda item: (
            phase(item) == "Suspended" and condition(item, QUOTA).reason == "PodsReadyTimeout"
        ),
        "told why",
    )
    assert f"Kueue evicted Workload {workload} (once so far)" in condition(reported, QUOTA).message
    # Kueue admits it again a second later.
    until_then = [
        each.object for each in paused.events if version_of(each.object) <= version_of(reported)
    ]
    steps = [each for each, _ in groupby(map(phase, until_then))]
    assert steps[-3:] == ["Resetting", "Suspending", "Suspended"]
    gone = await ended(kept, after=failed)
    assert (phase(gone), condition(gone, QUOTA).reason) == ("Failed", "Failed")
    assert await lives.names(PODS, kept) == []


async def shown_on_the_page(cluster: LocalCluster, workload: str) -> bool:
    """Whether the page's command shows these words. Kueue may have evicted it again meanwhile."""
    command = commands_below("### waitForPodsReady", "docs/admins/kueue.md").rstrip()
    shown = await typed(cluster, f"{command} || true")  # grep may find nothing for a moment
    return any(
        f"{NAMESPACE}/too-patient: {words(workload, f'{number} times')}\n" in shown
        for number in MORE
    )


async def saying(life: Life, reported: str, wanted: str) -> JsonObject:
    """It in this phase, with these words about its quota."""
    return await life.until(
        lambda item: phase(item) == wanted and condition(item, QUOTA).message == reported,
        f"{wanted}, and saying: {reported}",
    )


def words(workload: str, often: str) -> str:
    return (
        f"Kueue evicted Workload {workload} ({often} so far): its pods were not ready within the "
        "timeout or recoveryTimeout of waitForPodsReady. This spent no retry. The periods and "
        f"retries of this AppWrapper add up to {SUM}; evacuations, and waits before resets and "
        "deletions, take longer. An admin can raise both timeouts in Kueue's configuration."
    )

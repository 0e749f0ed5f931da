"""What the controller's metrics say of lives that were watched from outside."""

from collections import Counter

from shared.api.objects import APPWRAPPERS, PODS
from tests.support.builders.appwrappers import AT_ONCE, appwrapper, true_conditions, version_of
from tests.support.builders.jobs import job
from tests.support.builders.pods import pod
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.life_record import READY
from tests.support.observer.controller_words import ControllerWords
from tests.support.patience import comes_to

PHASES = (
    "Suspended",
    "Resuming",
    "Running",
    "Resetting",
    "Suspending",
    "Succeeded",
    "Failed",
    "Terminating",
)


def counted(words: ControllerWords) -> Counter[str]:
    return Counter(
        {
            phase: int(
                words.sample("appwrapper_phase_total", {"namespace": NAMESPACE, "phase": phase})
            )
            for phase in PHASES
        }
    )


async def test_every_transition_is_counted_once(
    lives: Lives, controller_words: ControllerWords
) -> None:
    """A life with a reset and a suspension, one that fails, and the end of both."""
    before = counted(controller_words)
    sick = pod("counted", run_for="200ms", exit_code="1", fail_attempts="1")
    life = await lives.begin(
        appwrapper("counted", sick, job("counted", 1, hang="running"), annotations=AT_ONCE)
    )
    running = await life.until(
        lambda item: (
            (item.get("status") or {}).get("phase") == "Running" and item["status"]["attempt"] == 2
        ),
        "the second attempt",
    )
    assert running["status"]["resettingCount"] == 1
    await lives.set_active(life, active=False)
    suspending = await life.until_phase("Suspending")
    away = await life.until_phase("Suspended", after=version_of(suspending))
    await lives.set_active(life, active=True)
    await life.until(
        lambda item: version_of(item) > version_of(away) and READY in true_conditions(item),
        "the third attempt",
    )
    [staying] = [each for each in await lives.names(PODS, life) if each != "counted"]
    await lives.patch_pod(staying, {"phase": "Succeeded"})
    await life.until_phase("Succeeded")
    hopeless = await lives.begin(
        appwrapper(
            "uncounted",
            pod("uncounted", run_for="200ms", exit_code="1"),
            annotations=AT_ONCE | {"retryLimit": "0"},
        )
    )
    await hopeless.until_phase("Failed")
    for each, name in ((life, "counted"), (hopeless, "uncounted")):
        await lives.delete(APPWRAPPERS, name)
        await each.until_deleted()
    taken = Counter(phase for each in (life, hopeless) for phase in each.phases() if phase)

    async def observed() -> Counter[str]:
        return counted(controller_words) - before

    await comes_to(
        observed, taken
    )  # counted once the write was answered, and the watch may be quicker
    # Without objects the failed one goes at once.
    assert taken.pop("Terminating") in (1, 2)
    assert taken == {
        "Suspended": 3, "Resuming": 4, "Running": 4, "Resetting": 1,
        "Suspending": 1, "Succeeded": 1, "Failed": 1,
    }  # fmt: skip

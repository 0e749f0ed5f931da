"""A real container that fails: it is retried, with its quota, and comes through or gives up."""

import asyncio
import re
from collections.abc import Callable

from shared.api.objects import JsonObject
from tests.e2e.containers import JOB_DECIDES, job, pod
from tests.e2e.node_processes import processes_of
from tests.e2e.research_team import REAL_NODE, ResearchTeam, container_of, ended
from tests.support.builders.appwrappers import (
    AT_ONCE,
    appwrapper,
    phase,
    true_conditions,
    version_of,
)
from tests.support.cluster.life import Life
from tests.support.life_record import (
    DEPLOYED,
    QUOTA,
    READY,
    UNHEALTHY,
    Condition,
    condition,
    steps,
    unhealthy_reasons,
)
from tests.support.patience import comes_to

# The container decides by its attempt, which its pod's label tells it.
FAILS_TWICE = 'echo "attempt $ATTEMPT"; sleep 1; test "$ATTEMPT" -ge 3'


async def test_exits_1_twice_and_then_0(team: ResearchTeam) -> None:
    body = appwrapper("third-time", job("third-time", FAILS_TWICE), annotations=JOB_DECIDES)
    life = await team.submit(body)
    done = await life.until_phase("Succeeded")
    await life.caught_up()

    assert (done["status"]["resettingCount"], done["status"]["attempt"]) == (2, 3)
    again = ["Resetting", "Resuming", "Running"]
    assert life.phases() == ["", "Suspended", "Resuming", "Running", *again, *again, "Succeeded"]
    # Each reset says which worker failed, where, and how.
    reported = [condition(item, UNHEALTHY) for item in states_in(life, "Resetting")]
    # Once all is gone they say as well when the next attempt begins.
    failures = [each for each in reported if "the next attempt begins at" not in each.message]
    assert len({each.message for each in reported}) == 2 * len({each.message for each in failures})
    assert {(each.status, each.reason) for each in failures} == {("True", "FailedComponent")}
    names = [worker_of(each) for each in failures]
    made = pods_in_turn(life)
    assert list(dict.fromkeys(names)) == [each["metadata"]["name"] for each in made[:2]]
    # The end of a failed one's log is in its state.
    assert [ended_states(life, each) for each in made] == [
        [{"exitCode": 1, "reason": "Error", "message": "attempt 1\n"}],
        [{"exitCode": 1, "reason": "Error", "message": "attempt 2\n"}],
        [{"exitCode": 0, "reason": "Completed"}],
    ]
    # The quota was kept from the first start to the end.
    started = version_of(await life.until_phase("Resuming"))
    for event in life.events:
        if version_of(event.object) >= started and phase(event.object) != "Succeeded":
            assert QUOTA in true_conditions(event.object), life.story()
    await life.check_the_promise_to_kueue()
    # Of the earlier attempts nothing is left, neither an object nor a container's process.
    [last] = await team.pods("third-time")
    assert last["metadata"]["uid"] == made[2]["metadata"]["uid"]
    for each in made[:2]:
        assert processes_of(container_of(last_seen(life, each))) == []
    assert ended(last) == {"exitCode": 0, "reason": "Completed"}
    opening = "unhealthy; deleting its components before another attempt: "
    messages = list(dict.fromkeys(opening + each.message for each in failures))
    await comes_to(lambda: events_of_failed_component(team, "third-time"), messages)


async def test_fails_in_every_attempt_until_no_retry_is_left(team: ResearchTeam) -> None:
    """A terminal exit code, in the other AppWrapper, leaves none at once."""
    script = "sleep 1; exit 42"
    hopeless = appwrapper(
        "hopeless", pod("hopeless", script), annotations={**AT_ONCE, "retryLimit": "1"}
    )
    terminal = appwrapper(
        "terminal", pod("terminal", script), annotations={**AT_ONCE, "terminalExitCodes": "42"}
    )
    lives = await asyncio.gather(team.submit(hopeless), team.submit(terminal))
    for life, name, spent in zip(lives, ("hopeless", "terminal"), (1, 0), strict=True):
        failed = await life.until_phase("Failed")
        assert failed["status"].get("resettingCount", 0) == spent
        assert life.phases().count("Resetting") == spent
        why = f"1 failed pod: {name} on {REAL_NODE} (exit code 42)"
        opening = (
            "retries exhausted (1 of 1): "
            if spent
            else f"no retry: exit code 42 of {name} is in terminalExitCodes; "
        )
        assert condition(failed, UNHEALTHY) == Condition("True", "FoundFailedPods", opening + why)
        await life.until(gave_all_back(after=version_of(failed)), "everything given back")
        assert await team.pods(name) == []
        await life.check_the_promise_to_kueue()


async def test_a_container_that_starts_again_in_its_pod_is_no_reset(team: ResearchTeam) -> None:
    """restartPolicy OnFailure: the kubelet starts it again, after a pause of its own."""
    # It can tell by what it left: a shared folder outlives the container, not the pod.
    script = "test -e /kept/been && exec sleep 2; touch /kept/been; exit 3"
    template = job("restarted", script)
    spec = template["spec"]["template"]["spec"]
    spec["restartPolicy"] = "OnFailure"
    spec["volumes"] = [{"name": "kept", "emptyDir": {}}]
    spec["containers"][0]["volumeMounts"] = [{"name": "kept", "mountPath": "/kept"}]
    template["spec"]["backoffLimit"] = 3
    life = await team.submit(appwrapper("restarted", template, annotations=AT_ONCE))
    done = await life.until_phase("Succeeded")
    assert done["status"]["attempt"] == 1
    assert unhealthy_reasons(life) == []
    assert steps(life, QUOTA, DEPLOYED)[2:4] == [
        ("Resuming", QUOTA, DEPLOYED),
        ("Running", QUOTA, DEPLOYED),
    ]
    assert READY in true_conditions(done)
    [last] = await team.pods("restarted")
    assert last["status"]["containerStatuses"][0]["restartCount"] == 1


def gave_all_back(*, after: int) -> Callable[[JsonObject], bool]:
    return lambda item: version_of(item) > after and not true_conditions(item) & {QUOTA, DEPLOYED}


def states_in(life: Life, wanted: str) -> list[JsonObject]:
    return [event.object for event in life.events if phase(event.object) == wanted]


def worker_of(reported: Condition) -> str:
    """The pod that the whole message is about."""
    found = re.fullmatch(
        r"Job third-time: BackoffLimitExceeded: Job has reached the specified backoff limit; "
        rf"1 failed pod: (third-time-\w+) on {REAL_NODE} \(exit code 1\): attempt [12]",
        reported.message,
    )
    assert found, reported.message
    return found[1]


def pods_in_turn(life: Life) -> list[JsonObject]:
    """Each pod as it was created, in order."""
    seen: dict[str, JsonObject] = {}
    for event in life.pod_events:
        seen.setdefault(event.object["metadata"]["uid"], event.object)
    return list(seen.values())


def last_seen(life: Life, pod: JsonObject) -> JsonObject:
    """The pod as it was last, be it gone or not."""
    uid = pod["metadata"]["uid"]
    same = [event.object for event in life.pod_events if event.object["metadata"]["uid"] == uid]
    return same[-1]


def ended_states(life: Life, pod: JsonObject) -> list[JsonObject]:
    """How its container ended, as its last state says."""
    return [ended(last_seen(life, pod))]


async def events_of_failed_component(team: ResearchTeam, name: str) -> list[str]:
    """The messages of these Events, in the order of writes."""
    wanted = ("Warning", "FailedComponent")
    return [text for kind, reason, text in await team.events_of(name) if (kind, reason) == wanted]

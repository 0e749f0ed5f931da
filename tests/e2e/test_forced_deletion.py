"""A process that ignores SIGTERM: it is killed when its patience is over, and not before.

What the API server says of a pod is one thing, what runs on the node another: quota is given back
only when the process is gone.
"""

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from controller.apply.deleter import NODE_PATIENCE
from shared.api.objects import JsonObject
from shared.api.times import parse_time
from shared.process.clock import SystemClock
from tests.e2e.containers import job, pod
from tests.e2e.node_processes import NodeProcess, processes_of
from tests.e2e.recorded import sharing
from tests.e2e.research_team import ResearchTeam, container_of, ended
from tests.support.builders.appwrappers import appwrapper, phase, true_conditions, version_of
from tests.support.cluster.life import Life
from tests.support.life_record import DELETING, DEPLOYED, QUOTA, condition
from tests.support.patience import comes_to

ITS_OWN_GRACE = 3600
PATIENCE = timedelta(seconds=5)
GRACES = {
    "forcefulDeletionGracePeriodDuration": "5s",
    "failureGracePeriodDuration": "0s",
    "retryPausePeriodDuration": "0s",
}
# Each of them ends by SIGKILL only.
STUBBORN = {
    "trap": "trap '' TERM; while :; do sleep 1; done",
    # The first process of a container is sent no signal that it has no handler for.
    "first": "exec sleep 100000",
    "python": (
        'exec python3 -c "import signal, time;'
        ' signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(100000)"'
    ),
}
OBEYS = "trap 'sleep 2; exit 0' TERM; while :; do sleep 1; done"
KILLED = {"exitCode": 137, "reason": "Error"}


async def test_a_deletion_kills_what_ignores_it_when_its_patience_is_over(
    team: ResearchTeam,
) -> None:
    async def killed(name: str) -> None:
        body = appwrapper(name, job(name, STUBBORN[name], grace=ITS_OWN_GRACE), annotations=GRACES)
        life, container = await running(team, body)
        await team.delete(name)
        await life.until_deleted()
        await was_killed(life, container)
        # Its node was told so from the beginning, and says itself when it has ended.
        assert periods(life)[0] == PATIENCE.seconds
        assert periods(life)[-1] == 0
        held = [event.object for event in life.events if DELETING in true_conditions(event.object)]
        assert held
        assert all({QUOTA, DEPLOYED} <= true_conditions(each) for each in held), life.story()
        await life.check_the_promise_to_kueue()

    await asyncio.gather(*map(killed, STUBBORN))


async def test_a_deletion_lets_end_by_itself_what_does_so_in_time(team: ResearchTeam) -> None:
    """The other side: it takes two seconds of its minute."""
    graces = GRACES | {"forcefulDeletionGracePeriodDuration": "60s"}
    body = appwrapper("obeys", job("obeys", OBEYS, grace=ITS_OWN_GRACE), annotations=graces)
    life, container = await running(team, body)
    await team.delete("obeys")
    await life.until_deleted()
    assert processes_of(container) == []
    await life.caught_up()
    last = last_state(life)
    assert exit_of(last) == {"exitCode": 0, "reason": "Completed"}
    assert timedelta(seconds=1) <= ended_at(last) - asked_at(life) < timedelta(seconds=60)
    assert set(periods(life)) == {60, 0}  # 0 by the kubelet, when all had ended
    await life.check_the_promise_to_kueue()


async def test_a_reset_kills_it_too_before_anything_begins_again(
    team: ResearchTeam, tmp_path: Path
) -> None:
    """One worker fails, once the other runs, and the other one does not hear."""
    second = 'test "$ATTEMPT" -ge 2 && exit 0; '
    fails = job("fails", second + "until test -e /shared/fail; do sleep 0.1; done; exit 1")
    sharing(fails["spec"]["template"], tmp_path)
    body = appwrapper(
        "anew",
        pod("deaf", second + STUBBORN["trap"], grace=ITS_OWN_GRACE),
        fails,
        annotations=GRACES,
    )
    life = await team.submit(body)
    container = container_of(await team.running_pod("anew", name="deaf"))
    (tmp_path / "fail").touch()
    resetting = await life.until_phase("Resetting")
    alive, seen_at = len(processes_of(container)), SystemClock().now()
    resuming = await life.until_phase("Resuming", after=version_of(resetting))
    first = await was_killed(life, container, name="deaf")
    assert resuming["status"]["attempt"] == 2
    # Its process lived in its patience. A busy machine may have been late for a look at it.
    assert alive or seen_at >= asked_at(life) + PATIENCE
    done = await life.until_phase("Succeeded")
    await life.caught_up()
    begun = [
        parse_time(event.object["metadata"]["creationTimestamp"])
        for event in life.pod_events
        if attempt_of(event.object) == 2
    ]
    assert begun
    assert all(each >= first for each in begun)
    between = [
        event.object
        for event in life.events
        if version_of(resetting) <= version_of(event.object) < version_of(done)
    ]
    assert all(QUOTA in true_conditions(each) for each in between), life.story()
    cleared = [each for each in between if DEPLOYED not in true_conditions(each)]
    assert {phase(each) for each in cleared} == {"Resetting"}
    assert done["status"]["resettingCount"] == 1
    await life.check_the_promise_to_kueue()


async def test_obstacles_of_a_deletion_are_reported(team: ResearchTeam) -> None:
    """While the process ends in its own time, which is longer than anybody's patience here."""
    graces = GRACES | {"forcefulDeletionGracePeriodDuration": "1h"}
    name = "waits"
    body = appwrapper(name, job(name, STUBBORN["trap"], grace=60), annotations=graces)
    life, container = await running(team, body)
    await team.delete(name)
    blocked = await life.until(
        lambda item: (
            DELETING in true_conditions(item)
            and condition(item, DELETING).reason == "DeletionBlocked"
        ),
        "why it takes so long",
    )
    assert condition(blocked, DELETING).message == "1 of 1 pods are within their grace period"
    assert {QUOTA, DEPLOYED} <= true_conditions(blocked)
    await life.until_deleted()
    assert processes_of(container) == []
    await life.caught_up()
    assert exit_of(last_state(life)) == KILLED
    assert ended_at(last_state(life)) - asked_at(life) >= timedelta(seconds=60)


async def was_killed(life: Life, container: str, *, name: str = "") -> datetime:
    """Its pod is gone: its process was killed when its patience was over. Returns when it ended, at
    the earliest.

    A node that takes longer than NODE_PATIENCE to report that, as on a very busy machine, is not
    waited for: then the controller removes the pod.
    """
    gone, left = SystemClock().now(), processes_of(container)
    await life.caught_up()
    last = last_state(life, name=name)
    if is_reported(last):
        assert left == []
        assert exit_of(last) == KILLED
        assert ended_at(last) - asked_at(life) >= PATIENCE
        return ended_at(last)

    async def processes() -> list[NodeProcess]:
        return processes_of(container)

    await comes_to(processes, [])
    assert gone - asked_at(life) >= PATIENCE + timedelta(seconds=NODE_PATIENCE)
    return asked_at(life) + PATIENCE


def is_reported(pod: JsonObject) -> bool:
    """True if the node has reported the end of its container."""
    [status] = pod["status"]["containerStatuses"]
    return "terminated" in status["state"]


async def running(team: ResearchTeam, body: JsonObject) -> tuple[Life, str]:
    """Submitted; also the container of its only pod, which has processes."""
    name = body["metadata"]["name"]
    life = await team.submit(body)
    container = container_of(await team.running_pod(name))
    await life.until_phase("Running")

    async def lives() -> bool:
        return bool(processes_of(container))

    await comes_to(lives, True)
    return life, container


def attempt_of(item: JsonObject) -> int:
    return int(item["metadata"]["labels"]["workload.codeflare.dev/attempt"])


def last_state(life: Life, *, attempt: int = 1, name: str = "") -> JsonObject:
    """The pod of that attempt, as it was last."""
    return [
        event.object
        for event in life.pod_events
        if attempt_of(event.object) == attempt and event.object["metadata"]["name"].startswith(name)
    ][-1]


def asked_at(life: Life) -> datetime:
    """When a pod was first asked to end: the API server writes when its grace period is over."""
    for event in life.pod_events:
        metadata = event.object["metadata"]
        if "deletionTimestamp" in metadata:
            grace = timedelta(seconds=metadata["deletionGracePeriodSeconds"])
            return parse_time(metadata["deletionTimestamp"]) - grace
    raise AssertionError("no pod was asked to end")


def exit_of(pod: JsonObject) -> dict[str, Any]:
    """How its container ended, without a message: these programs write none.

    The kubelet writes one of its own if the pod's log is gone before it reads the log.
    """
    return {key: value for key, value in ended(pod).items() if key != "message"}


def ended_at(pod: JsonObject) -> datetime:
    """When its container ended, says the node."""
    [status] = pod["status"]["containerStatuses"]
    return parse_time(status["state"]["terminated"]["finishedAt"])


def periods(life: Life) -> list[int]:
    """The grace periods that its pods were given, each once in a row."""
    seen: list[int] = []
    for event in life.pod_events:
        period = event.object["metadata"].get("deletionGracePeriodSeconds")
        if period is not None and seen[-1:] != [period]:
            seen.append(period)
    return seen

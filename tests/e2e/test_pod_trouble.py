"""Pods that end as pods do on real nodes: removed, evicted, out of memory, without an image."""

import asyncio
import json

import pytest

from shared.api.objects import JsonObject
from tests.e2e.containers import JOB_DECIDES, job, pod
from tests.e2e.node_processes import processes_of
from tests.e2e.research_team import REAL_NODE, TEAM, ResearchTeam, container_of, ended
from tests.support.builders.appwrappers import (
    AT_ONCE,
    appwrapper,
    phase,
    true_conditions,
    version_of,
)
from tests.support.cluster.kubectl import Kubectl
from tests.support.command import appwrapper as appwrapper_command
from tests.support.life_record import READY, UNHEALTHY, Condition, condition
from tests.support.patience import comes_to

pytestmark = pytest.mark.long

FOREVER = "exec sleep 100000"
# It takes a little at a time, so that it is the kernel that ends it, and not Python.
TAKES_ALL = "exec python3 -c 'taken = []\nwhile True: taken.append(bytearray(1 << 20))'"
UNKNOWN_IMAGE = "localhost/nobody-has-this:1"


async def test_a_pod_above_its_memory_limit_ends_and_its_code_is_reported(
    team: ResearchTeam,
) -> None:
    body = appwrapper(
        "greedy",
        job("greedy", "sleep 1; " + TAKES_ALL, memory="48Mi"),
        annotations=JOB_DECIDES | {"retryLimit": "1", "deletionOnFailureGracePeriodDuration": "1h"},
    )
    life = await team.submit(body)
    failed = await life.until_phase("Failed")
    assert failed["status"]["resettingCount"] == 1
    # It is kept for whoever looks into it.
    [left] = await team.pods("greedy")
    assert ended(left) == {"exitCode": 137, "reason": "OOMKilled"}
    name = left["metadata"]["name"]
    assert condition(failed, UNHEALTHY) == Condition(
        "True",
        "FailedComponent",
        "retries exhausted (1 of 1): "
        "Job greedy: BackoffLimitExceeded: Job has reached the specified backoff limit;"
        f" 1 failed pod: {name} on {REAL_NODE} (exit code 137, OOMKilled)",
    )


async def test_a_missing_image_is_awaited_and_named(team: ResearchTeam) -> None:
    body = appwrapper(
        "unpulled",
        job("unpulled", "true", image=UNKNOWN_IMAGE),
        annotations={
            "failureGracePeriodDuration": "0s",
            "warmupGracePeriodDuration": "1h",
            "retryPausePeriodDuration": "1h",
            "retryLimit": "1",
            "deletionOnFailureGracePeriodDuration": "1h",
        },
    )
    life = await team.submit(body)
    await life.until(names_the_image, "what it waits for")
    await team.annotate("unpulled", warmupGracePeriodDuration="1s")
    resetting = await life.until_phase("Resetting")
    again = {"warmupGracePeriodDuration": "1h", "retryPausePeriodDuration": "0s"}
    await team.annotate("unpulled", **again)
    await life.until(
        lambda item: names_the_image(item) and version_of(item) > version_of(resetting),
        "what it waits for in its second attempt",
    )
    await team.annotate("unpulled", warmupGracePeriodDuration="1s")
    failed = await life.until_phase("Failed")
    assert failed["status"]["resettingCount"] == 1
    assert life.phases().count("Resetting") == 1
    assert not any(READY in true_conditions(event.object) for event in life.events)
    [left] = await team.pods("unpulled")
    [status] = left["status"]["containerStatuses"]
    assert status["state"]["waiting"]["reason"] in ("ErrImagePull", "ImagePullBackOff")
    name = left["metadata"]["name"]
    assert condition(failed, UNHEALTHY) == Condition(
        "True",
        "InsufficientPodsReady",
        "retries exhausted (1 of 1): "
        f"0 of 1 pods run or succeeded; not running: {name} on {REAL_NODE} (ErrImagePull)",
    )


async def test_a_pod_that_is_forced_off_is_replaced_by_its_job_without_a_reset(
    team: ResearchTeam,
) -> None:
    """`kubectl delete pod --force`, by the researcher; the AppWrapper goes on."""
    template = job("replaced", 'test -n "$ATTEMPT"; exec sleep 100000')
    template["spec"]["backoffLimit"] = 2
    life = await team.submit(
        appwrapper("replaced", template, annotations={"failureGracePeriodDuration": "1h"})
    )
    first = await team.running_pod("replaced")
    await life.until(lambda item: READY in true_conditions(item), "ready")
    container = container_of(first)
    await team.researcher(
        "delete", "pod", first["metadata"]["name"], "-n", TEAM, "--force", "--grace-period=0"
    )

    async def another() -> bool:
        second = await team.running_pod("replaced")
        return bool(second["metadata"]["uid"] != first["metadata"]["uid"])

    await comes_to(another, True)

    async def processes() -> int:
        return len(processes_of(container))

    await comes_to(processes, 0)
    await comes_to(lambda: ready(team, "replaced"), ("Running", True))
    now = await team.stored("replaced")
    assert now["status"]["attempt"] == 1
    assert "resettingCount" not in now["status"]
    await life.check_the_promise_to_kueue()


async def test_a_wrapped_pod_that_is_evicted_gets_another_attempt(
    team: ResearchTeam, admin: Kubectl
) -> None:
    """As `kubectl drain` does it: nobody makes that pod again but its AppWrapper."""
    life = await team.submit(appwrapper("evicted", pod("evicted", FOREVER), annotations=AT_ONCE))
    container = container_of(await team.running_pod("evicted"))
    await life.until(lambda item: READY in true_conditions(item), "ready")
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "evicted", "namespace": TEAM},
    }
    path = f"/api/v1/namespaces/{TEAM}/pods/evicted/eviction"
    await admin("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))
    resetting = await life.until_phase("Resetting")
    # What SIGKILL made of it says nothing of the workload.
    assert condition(resetting, UNHEALTHY) == Condition(
        "True", "FoundFailedPods", f"1 failed pod: evicted on {REAL_NODE} (EvictionByEvictionAPI)"
    )
    resuming = await life.until_phase("Resuming", after=version_of(resetting))
    assert processes_of(container) == []
    assert (resuming["status"]["attempt"], resuming["status"]["resettingCount"]) == (2, 1)
    await life.check_the_promise_to_kueue()


async def test_a_submitted_job_is_followed_with_its_log_to_its_failure(
    team: ResearchTeam,
) -> None:
    """`appwrapper submit --follow`, by a member of the team."""
    body = job("submitted", "echo step 1; sleep 2; echo broken; sleep 1; exit 3")
    words = ("submit", "-", "--follow", "--retry-limit", "0", "--failure-grace-period", "0s")
    where = ("--kubeconfig", str(team.researcher.kubeconfig), "-n", TEAM)
    try:
        found = await asyncio.to_thread(appwrapper_command, *words, *where, stdin=json.dumps(body))
    finally:
        await team.delete("submitted")
    assert (found.code, found.out) == (
        1,
        f"submitted is created in namespace {TEAM}\nstep 1\nbroken\n",
    )
    assert "  submitted failed (attempt 1): " in found.err
    assert found.err.endswith("note: attempt 1 has ended: submitted is Failed\n")


def names_the_image(item: JsonObject) -> bool:
    """True if it runs, and PodsReady names the cause that no pod does."""
    return phase(item) == "Running" and any(
        each["type"] == READY and "ErrImagePull" in each["message"]
        for each in item["status"]["conditions"]
    )


async def ready(team: ResearchTeam, name: str) -> tuple[str, bool]:
    item = await team.stored(name)
    return phase(item), READY in true_conditions(item)

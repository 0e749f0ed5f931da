"""Where a pod fails first, its AppWrapper's next attempts do not go, unless the program did it."""

from typing import Any

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import PODS, JsonObject
from tests.support.builders.appwrappers import AT_ONCE, appwrapper, phase
from tests.support.builders.autopilot import GPU
from tests.support.builders.jobs import job
from tests.support.builders.pods import pod
from tests.support.cluster.explaining import explain
from tests.support.cluster.life import Life, listed
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.patience import until_found

LABEL = "workload.codeflare.dev/uid"


def hanging(name: str, pods: int = 1, **annotations: str) -> JsonObject:
    """Pods of 8 GPUs, each on a node of its own, that run until a test ends them."""
    body = job(name, pods, hang="running")
    for container in body["spec"]["template"]["spec"]["containers"]:
        container["resources"] = {"limits": {GPU: "8"}}
    return appwrapper(name, body, annotations={**AT_ONCE, **annotations})


async def running_pods(lives: Lives, life: Life, number: int, attempt: int) -> list[JsonObject]:
    """Its pods of that attempt, by name, once so many of them run."""
    uid = life.events[0].object["metadata"]["uid"]
    selector = f"{LABEL}={uid},workload.codeflare.dev/attempt={attempt}"

    async def look() -> list[JsonObject] | None:
        found = await listed(lives.client, PODS, NAMESPACE, selector)
        running = [each for each in found if each["status"].get("phase") == "Running"]
        return running if len(running) == number else None

    found = await until_found(look)
    return sorted(found, key=lambda each: str(each["metadata"]["name"]))


def ended(item: JsonObject, code: int, second: str = "05", reason: str = "Error") -> dict[str, Any]:
    """A status as the kubelet reports it."""
    state = {"exitCode": code, "reason": reason, "finishedAt": f"2026-01-01T10:00:{second}Z"}
    (container,) = item["status"]["containerStatuses"]
    return {
        "phase": "Failed",
        "containerStatuses": [{**container, "state": {"terminated": state}}],
    }


async def fail(lives: Lives, item: JsonObject, code: int, **words: str) -> None:
    await lives.patch_pod(item["metadata"]["name"], ended(item, code, **words))


def avoided(item: JsonObject, kind: str) -> list[str]:
    """The host names that a pod's affinity speaks of."""
    affinity = (item["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = {
        "preferred": [each["preference"] for each in preferred],
        "required": required.get("nodeSelectorTerms") or [],
    }[kind]
    return [
        value
        for term in terms
        for each in term.get("matchExpressions") or ()
        if each["key"] == "kubernetes.io/hostname" and each["operator"] == "NotIn"
        for value in each["values"]
    ]


def with_gpus(body: JsonObject) -> JsonObject:
    """A pod that has a node to itself."""
    body["spec"]["containers"][0]["resources"] = {"limits": {GPU: "8"}}
    return body


async def test_the_next_attempt_avoids_the_node_and_explain_reports_it(
    lives: Lives, cluster: RunningCluster
) -> None:
    """The pod that failed first decides, though its name comes last."""
    wrapped = [with_gpus(pod(f"suspect-{index}", hang="running")) for index in range(2)]
    periods = {**AT_ONCE, "failureGracePeriodDuration": "1h"}
    life = await lives.begin(appwrapper("suspect", *wrapped, annotations=periods))
    later, first = await running_pods(lives, life, 2, attempt=1)
    bad = first["spec"]["nodeName"]
    await fail(lives, later, 1, second="06")
    await fail(lives, first, 134, second="05")
    # The reset is decided on a live list, which has both.
    await lives.annotate("suspect", failureGracePeriodDuration="0s")
    again = await running_pods(lives, life, 2, attempt=2)
    assert [avoided(each, "preferred") for each in again] == [[bad]] * 2
    assert [avoided(each, "required") for each in again] == [[], []]
    assert bad not in [each["spec"]["nodeName"] for each in again]
    # The reset and the memory are one write.
    resetting = next(each.object for each in life.events if phase(each.object) == "Resetting")
    (entry,) = resetting["status"]["suspectNodes"]
    assert (entry["node"], entry["pod"], entry["attempt"]) == (bad, "suspect-1", 1)
    explained = (await explain(cluster, NAMESPACE, "suspect", "--output", "json")).report
    (line,) = explained["suspectNodes"].pop("nodes")
    assert (line["node"], line["pod"], line["attempt"]) == (bad, "suspect-1", 1)
    assert explained["suspectNodes"] == {
        "setting": "Preferred",
        "effect": "Its next pods run on other nodes where possible (suspectNodes: Preferred).",
    }


async def test_at_most_two_nodes_are_avoided(lives: Lives) -> None:
    life = await lives.begin(hanging("suspects", retryLimit="9"))
    seen: list[str] = []
    for attempt in (1, 2, 3):
        (failing,) = await running_pods(lives, life, 1, attempt)
        seen.append(failing["spec"]["nodeName"])
        await fail(lives, failing, 1)
    (last,) = await running_pods(lives, life, 1, attempt=4)
    assert len(set(seen)) == 3
    assert avoided(last, "preferred") == seen[1:]
    assert last["spec"]["nodeName"] not in seen[1:]


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [("no-command", 127, "Error"), ("too-much-memory", 137, "OOMKilled")],
)
async def test_a_programs_own_failure_blames_no_node(
    lives: Lives, name: str, code: int, reason: str
) -> None:
    life = await lives.begin(hanging(name))
    (failing,) = await running_pods(lives, life, 1, attempt=1)
    await fail(lives, failing, code, reason=reason)
    (again,) = await running_pods(lives, life, 1, attempt=2)
    assert avoided(again, "preferred") == []
    assert not any("suspectNodes" in each.object.get("status", {}) for each in life.events)


async def test_an_exit_code_that_is_listed_as_terminal_blames_no_node(lives: Lives) -> None:
    life = await lives.begin(hanging("terminal", terminalExitCodes="3"))
    (failing,) = await running_pods(lives, life, 1, attempt=1)
    await fail(lives, failing, 3)
    failed = await life.until_phase("Failed")
    assert "suspectNodes" not in failed["status"]


async def test_the_last_attempt_blames_its_node_too(lives: Lives) -> None:
    """Nothing avoids it any more, but it may fail others' workloads."""
    life = await lives.begin(hanging("last", retryLimit="0"))
    (failing,) = await running_pods(lives, life, 1, attempt=1)
    await fail(lives, failing, 1)
    failed = await life.until_phase("Failed")
    (entry,) = failed["status"]["suspectNodes"]
    assert entry["node"] == failing["spec"]["nodeName"]

"""What the controller tells: Events, metrics and log lines of whole lives on a real cluster."""

import os
import re
from functools import partial
from typing import Any

from localcluster.access.running import RunningCluster
from localcluster.machine.child import captured
from shared.api.objects import APPWRAPPERS, EVENTS, JsonObject
from tests.support.builders.appwrappers import AT_ONCE, appwrapper, true_conditions
from tests.support.builders.autopilot import GPU
from tests.support.builders.jobs import job
from tests.support.builders.pods import pod
from tests.support.cluster.controller_log import entries_about, moves_in
from tests.support.cluster.failed_workers import running
from tests.support.cluster.failing_lives import failing
from tests.support.cluster.life import Life, listed
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.life_record import READY
from tests.support.manifests import ROOT
from tests.support.observer.controller_words import ControllerWords
from tests.support.patience import comes_to
from tests.support.root_cause_cases.workers import End
from tests.support.walkthrough import blocks_of

FAILED_PODS = {"namespace": NAMESPACE, "reason": "FoundFailedPods"}
COUNTED = {
    "resets": ("appwrapper_resets_total", FAILED_PODS),
    "failures": ("appwrapper_failures_total", FAILED_PODS),
    "failed": ("appwrapper_phase_total", {"namespace": NAMESPACE, "phase": "Failed"}),
    "GPU seconds": ("appwrapper_gpu_seconds_lost_total", {**FAILED_PODS, "resource": GPU}),
    # Without a namespace: other workers' AppWrappers count here, too.
    "detections": ("appwrapper_detection_seconds_count", {"reason": "FoundFailedPods"}),
    "first pods": ("appwrapper_first_pod_seconds_count", {}),
}


def counts(words: ControllerWords) -> dict[str, float]:
    return {what: words.sample(name, labels) for what, (name, labels) in COUNTED.items()}


def gpu_pod(name: str) -> JsonObject:
    """Runs until the test ends it: the controller measures only what it has seen run."""
    body = pod(name, hang="running")
    body["spec"]["containers"][0]["resources"] = {"limits": {GPU: "1"}}
    return body


def runs(attempt: int, item: JsonObject) -> bool:
    """Whether all pods of that attempt are ready."""
    return READY in true_conditions(item) and item["status"]["attempt"] == attempt


async def events_about(lives: Lives, life: Life) -> list[tuple[str, str, int]]:
    """Type, reason and count, in the order they were written."""
    uid = life.events[0].object["metadata"]["uid"]
    found = [
        each
        for each in await listed(lives.client, EVENTS, NAMESPACE)
        if each["involvedObject"].get("uid") == uid
        and each["source"].get("component") == "appwrapper-controller"
    ]
    found.sort(key=lambda each: int(each["metadata"]["resourceVersion"]))
    return [(each["type"], each["reason"], each["count"]) for each in found]


async def test_a_life_without_trouble_has_kueues_events_only(lives: Lives) -> None:
    """`explain` reads when it began from Kueue's."""
    life = await lives.begin(appwrapper("told", job("told", run_for="100ms")))
    await life.until_phase("Succeeded")
    await lives.event_messages("told", "Started", kind="Normal")
    await lives.event_messages("told", "FinishedWorkload", kind="Normal")
    await lives.delete(APPWRAPPERS, "told")
    await life.until_deleted()
    assert await events_about(lives, life) == []


async def test_a_reset_and_a_failure_are_reported_and_counted_by_reason(
    lives: Lives, controller_words: ControllerWords
) -> None:
    before = counts(controller_words)
    annotations = {**AT_ONCE, "retryLimit": "1"}
    life = await lives.begin(appwrapper("costly", gpu_pod("costly"), annotations=annotations))
    for attempt in (1, 2):
        await life.until(partial(runs, attempt), f"the pod of attempt {attempt} ready")
        await (await running(lives, life, 1, attempt)).end({0: End()})
    await life.until_phase("Failed")

    async def events_of_life() -> Any:
        return await events_about(lives, life)

    await comes_to(
        events_of_life,
        [
            ("Warning", "FoundFailedPods", 1),
            ("Warning", "RootCause", 1),
            ("Normal", "RetryPauseOver", 1),
            ("Warning", "FoundFailedPods", 1),
            ("Warning", "RootCause", 1),
        ],
    )
    messages = await lives.event_messages("costly", "FoundFailedPods")
    failed = r"1 failed pod: costly on gpu-node-\d+ \(exit code 1\)"
    texts = (
        rf"failed: retries exhausted \(1 of 1\): {failed}",
        f"unhealthy; deleting its components before another attempt: {failed}",
    )
    assert len(messages) == len(texts)
    assert all(re.fullmatch(*pair) for pair in zip(texts, messages, strict=True)), messages

    async def grew() -> Any:
        after = counts(controller_words)
        by = {what: after[what] - before[what] for what in COUNTED}
        lost, detections, first = map(by.pop, ("GPU seconds", "detections", "first pods"))
        return lost > 0, detections >= 2, first >= 2, by

    await comes_to(grew, (True, True, True, {"resets": 1, "failures": 1, "failed": 1}))


async def test_every_change_of_phase_is_a_log_line_that_names_its_object(
    lives: Lives, cluster: RunningCluster
) -> None:
    annotations = {**AT_ONCE, "retryLimit": "0"}
    life = await lives.begin(appwrapper("logged", failing("logged"), annotations=annotations))
    await life.until_phase("Failed")

    async def moves() -> Any:
        lines = entries_about(cluster, life)
        assert all(each["namespace"] == NAMESPACE and each["name"] == "logged" for each in lines)
        return [(each["level"], each["phase"], each["reason"]) for each in moves_in(lines)]

    await comes_to(
        moves,
        [
            ("info", "Resuming", "Resuming"),
            ("info", "Running", "ComponentsCreated"),
            ("info", "Failed", "FoundFailedPods"),
        ],
    )


def runbook() -> list[str]:
    """Every command of the runbook that reads, save those for the logs of pods."""
    lines = [
        line + "\n"
        for block in blocks_of(ROOT / "docs" / "admins" / "runbook.md")
        for line in block.commands.splitlines()
        if not line.startswith(("kubectl logs ", "kubectl annotate "))
    ]
    assert len(lines) > 15
    return lines


async def test_the_queries_of_the_operations_page_and_the_runbook_have_answers(
    lives: Lives, cluster: RunningCluster, controller_words: ControllerWords
) -> None:
    """Word for word, save the names of the AppWrapper and of its namespace."""
    page = blocks_of(ROOT / "docs" / "admins" / "operations.md")
    blocks = [each.commands for each in page if each.heading == "First commands"]
    assert len(blocks) == 2
    blocks += runbook()
    life = await lives.begin(appwrapper("train", job("train", hang="running")))
    await life.until(lambda item: READY in true_conditions(item), "all pods ready")
    await lives.event_messages("train", "Started", kind="Normal")
    assert controller_words.sample("appwrappers", {"phase": "Running"}) >= 1
    script = "set -euxo pipefail\n" + "".join(blocks).replace("team1", NAMESPACE)
    environment = {
        **os.environ,
        "KUBECONFIG": str(cluster.kubeconfig),
        "PATH": f"{cluster.kubectl.parent}:{os.environ['PATH']}",
    }
    code, output = await captured(("bash", "-c", script), environment=environment, folder=ROOT)
    assert code == 0, output
    assert re.search(rf"^{NAMESPACE} +train +(Running) ", output, re.MULTILINE), output
    assert re.search(r"^gpu-node-\d+ ", output, re.MULTILINE), output
    assert re.search(r"^ *Normal +Started .*Admitted by clusterQueue", output, re.M)
    assert re.search(r"^train-\w+ .* Running ", output, re.MULTILINE), output
    assert re.search(r'^attempt 1, resets , timers (\{"podsTold":.*\})?$', output, re.MULTILINE), (
        output
    )

"""On the way to Running: what it waits for, and what cannot be created, or not in time."""

from typing import Any

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, PODS
from shared.kube.client import PatchType
from tests.support.builders.appwrappers import appwrapper, true_conditions
from tests.support.builders.jobs import job, scaled
from tests.support.builders.pods import pod, pod_template
from tests.support.cluster.followed import followed
from tests.support.cluster.life import exists
from tests.support.cluster.lives import NAMESPACE, Lives, config_map
from tests.support.cluster.resources import JOBS, STATEFUL_SETS
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

pytestmark = pytest.mark.kueue

WITHOUT_KUEUE = "kube-system"
LONG = "1h"


async def test_a_queued_appwrapper_waits_for_pod_set_infos_and_reports_it(
    cluster: RunningCluster,
) -> None:
    """Kueue's webhook suspends it, and Kueue never looks at this namespace again; an admin does."""
    client = cluster.client
    body = appwrapper("unmanaged", job("unmanaged", 1, run_for="100ms"))
    async with followed(client, WITHOUT_KUEUE, body) as life:
        await life.until_phase("Suspended")
        start = {"spec": {"suspend": False}}
        await client.patch(APPWRAPPERS, WITHOUT_KUEUE, "unmanaged", start, PatchType.MERGE)
        waiting = await life.until(
            lambda item: (
                "NoWorkload" in str((item.get("status") or {}).get("conditions"))
                and not item["spec"].get("suspend")
            ),
            "what it waits for",
        )
        assert condition(waiting, QUOTA) == (
            "False",
            "NoWorkload",
            "namespace kube-system does not match Kueue's managedJobsNamespaceSelector, which asks "
            "for the labels mlbatch-team-namespace=true. Until an admin changes that, nothing "
            "starts it",
        )
        assert life.phases() == ["", "Suspended"]
        assert not await exists(client, JOBS, WITHOUT_KUEUE, "unmanaged")
        infos = [{"op": "add", "path": "/spec/components/0/podSetInfos", "value": [{}]}]
        await client.patch(APPWRAPPERS, WITHOUT_KUEUE, "unmanaged", infos, PatchType.JSON)
        await life.until_phase("Succeeded")
        assert life.phases() == ["", "Suspended", "Resuming", "Running", "Succeeded"]


async def test_components_created_before_an_invalid_one_stay_for_the_configured_period(
    lives: Lives,
) -> None:
    invalid = job("second", run_for="1s")
    invalid["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    body = appwrapper(
        "half-made",
        pod("first", hang="running"),
        invalid,
        annotations={"deletionOnFailureGracePeriodDuration": LONG},
    )
    life = await lives.begin(body)
    failed = await life.until_phase("Failed")
    assert condition(failed, UNHEALTHY)[:2] == ("True", "CreateFailed")
    assert true_conditions(failed) == {QUOTA, DEPLOYED, UNHEALTHY}
    assert await lives.names(PODS, life) == ["first"]
    assert await lives.names(JOBS, life) == []
    first, second = failed["status"]["componentStatus"]
    # What exists is on record, so that nobody who takes over makes it again.
    assert [each["conditions"][0]["status"] for each in (first, second)] == ["True", "False"]
    await lives.annotate("half-made", deletionOnFailureGracePeriodDuration="0s")
    await life.until(lambda item: true_conditions(item) == {UNHEALTHY}, "everything given back")
    assert await lives.names(PODS, life) == []


async def test_one_that_cannot_be_created_in_time_is_reset_and_comes_through_later(
    lives: Lives,
) -> None:
    soon: dict[str, Any] = {
        "admissionGracePeriodDuration": "1s",
        "retryPausePeriodDuration": "1s",
        "retryLimit": "50",
    }
    body = appwrapper(
        "in-time", job("in-time", 1, hang="running"), config_map("in-time"), annotations=soon
    )
    async with lives.forbidden("count/configmaps"):
        life = await lives.begin(body)
        resetting = await life.until_phase("Resetting")
        assert condition(resetting, UNHEALTHY).reason == "CreateFailed"
        assert resetting["status"]["resettingCount"] == 1
        # A second may be too short for the pod of the attempt that can be created.
        await lives.annotate("in-time", admissionGracePeriodDuration=LONG)
    ready = await life.until(lambda item: READY in true_conditions(item), "all pods ready")
    assert steps(life, QUOTA, DEPLOYED)[:5] == [
        ("",),
        ("Suspended",),
        ("Resuming", QUOTA, DEPLOYED),
        ("Resetting", QUOTA, DEPLOYED),
        ("Resetting", QUOTA),
    ]
    spent = ready["status"]["resettingCount"]
    assert ready["status"]["attempt"] == spent + 1
    assert life.phases() == [
        "",
        "Suspended",
        *(["Resuming", "Resetting"] * spent),
        "Resuming",
        "Running",
    ]
    assert unhealthy_reasons(life) == ["CreateFailed"]


async def test_a_stateful_set_reports_why_it_creates_no_more_pods(lives: Lives) -> None:
    body = scaled("StatefulSet", "in-turn")
    del body["spec"]["podManagementPolicy"]
    body["spec"]["template"] |= pod_template({"app": "in-turn"}, hang="pending")
    body["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    hour = {
        "admissionGracePeriodDuration": LONG,
        "warmupGracePeriodDuration": LONG,
        "failureGracePeriodDuration": LONG,
    }
    life = await lives.begin(appwrapper("in-turn", body, annotations=hour))
    await comes_to(lambda: lives.names(PODS, life), ["in-turn-0"])

    async def is_reported() -> bool:
        """The pod has a node, and its StatefulSet has counted it."""
        only = await lives.client.get(PODS, NAMESPACE, "in-turn-0")
        stored = await lives.client.get(STATEFUL_SETS, NAMESPACE, "in-turn")
        counted = (stored.get("status") or {}).get("replicas")
        return bool(only["spec"].get("nodeName")) and counted == 1

    await comes_to(is_reported, True)
    node = (await lives.client.get(PODS, NAMESPACE, "in-turn-0"))["spec"]["nodeName"]
    await lives.annotate(
        "in-turn", admissionGracePeriodDuration="0s", warmupGracePeriodDuration="0s"
    )
    unhealthy = await life.until(lambda item: UNHEALTHY in true_conditions(item), "unhealthy")
    assert condition(unhealthy, UNHEALTHY) == Condition(
        "True",
        "InsufficientPodsReady",
        f"0 of the 1 pods wanted so far run or succeeded; not running: in-turn-0 on {node}; "
        "StatefulSet in-turn: 0 of the 1 pods that it made are ready, and the next waits for them",
    )

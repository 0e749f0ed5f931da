"""The slack queue on the real Kueue, with simulated nodes: the seeds' example and beyond.

Two teams of 8, a slack of 8, and three nodes of 8 GPUs, in a flavor and a cohort of their own.
"""

import pytest
import yaml

from localcluster.cluster import LocalCluster
from localcluster.installers.kwok import HEARTBEAT_LABEL, HEARTBEAT_STOPPED
from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from tests.support.builders.appwrappers import phase
from tests.support.builders.autopilot import GPU, HEALTH
from tests.support.cluster.life import listed
from tests.support.cluster.people import admin
from tests.support.cluster.removed import removed
from tests.support.cluster.resources import WORKLOADS
from tests.support.cluster.slack_fleet import (
    LABEL,
    SLACK,
    TEAM,
    SlackFleet,
    borrower,
    queue,
    slack_fleet,
)
from tests.support.patience import comes_to

EXAMPLE = queue(SLACK, {GPU: 8})
FLAPS = 4


@pytest.mark.kueue
async def test_the_limit_falls_with_a_node_and_what_borrows_already_goes_on(
    cluster: LocalCluster,
) -> None:
    async with slack_fleet(cluster, EXAMPLE) as fleet:
        await fleet.shows("appwrapper_slack_lending_limit", 8)
        await begins(fleet, borrower("all", 3))
        await comes_to(lambda: running(fleet, "all"), 3)
        pods = await pods_of(fleet, "all")
        await fleet.have_gpus(0, 5)
        await fleet.comes_to_lend("5")
        await fleet.cordon(1)
        await fleet.comes_to_lend("0")
        assert await fleet.says("QuotaExceedsCapacity") == (
            "the nominal quotas of the other ClusterQueues exceed the schedulable capacity of gold"
            f" by 3 {GPU}: 16 {GPU} promised, 13 {GPU} schedulable. Reduce these nominalQuotas by 3"
            " together, or bring nodes back"
        )
        await fleet.shows("appwrapper_quota_excess", 3)
        await fleet.shows("appwrapper_schedulable_capacity", 13)
        # What comes now may borrow from the other team and no longer from the slack.
        await begins(fleet, borrower("more", 3))
        await comes_to(lambda: waits(fleet, "more"), True)
        assert await pods_of(fleet, "all") == pods
        assert await phase_of(fleet, "all") == "Running"
        await removed(fleet.client, APPWRAPPERS, TEAM, "all")
        await begins(fleet, borrower("fits", 2))
        await comes_to(lambda: phase_of(fleet, "fits"), "Running")
        await comes_to(lambda: waits(fleet, "more"), True)
        for name in ("fits", "more"):
            await removed(fleet.client, APPWRAPPERS, TEAM, name)


@pytest.mark.long
async def test_every_way_to_lose_a_node_and_back(cluster: LocalCluster) -> None:
    quotas = {GPU: 8, "cpu": 100}
    async with slack_fleet(cluster, queue(SLACK, quotas)) as fleet:
        everything: dict[str, str | None] = {GPU: None, "cpu": None}
        assert await fleet.limits() == everything
        # A node that flaps: one write for both resources, and one when it is over.
        written = await fleet.generation()
        for flap in range(2 * FLAPS + 1):
            cordoned = flap % 2 == 0
            await fleet.cordon(0, cordoned)
            await fleet.shows("appwrapper_slack_lendable", 0 if cordoned else 8)
        await fleet.comes_to_lend("0")
        assert await fleet.limits() == {GPU: "0", "cpu": "80"}
        assert await fleet.generation() == written + 1
        # Another flavor's, or none's: the label says so.
        await fleet.label(1, LABEL, "silver")
        await comes_to(fleet.limits, {GPU: "0", "cpu": "0"})
        assert await fleet.generation() == written + 2
        await fleet.label(1, LABEL, "gold")
        await fleet.cordon(0, cordoned=False)
        # A limit is what it was while nobody watches, and for 30 s after somebody begins to.
        await fleet.cluster.processes.restart("controller")
        await fleet.shows("appwrapper_slack_lendable", 8)
        assert await fleet.limits() == {GPU: "0", "cpu": "0"}
        await comes_to(fleet.limits, everything)
        assert await fleet.generation() == written + 3
        # A label that withholds one resource leaves the other alone.
        await fleet.label(2, HEALTH, "EVICT")
        await comes_to(fleet.limits, {GPU: "0", "cpu": None})
        await fleet.delete_node(1)
        await comes_to(fleet.limits, {GPU: "0", "cpu": "80"})
        await fleet.label(0, HEARTBEAT_LABEL, HEARTBEAT_STOPPED)
        await comes_to(fleet.limits, {GPU: "0", "cpu": "0"})
        await fleet.shows("appwrapper_quota_excess", 16)
        await fleet.label(0, HEARTBEAT_LABEL, None)
        await fleet.label(2, HEALTH, None)
        await fleet.make_nodes()
        await fleet.shows("appwrapper_quota_excess", 0)


@pytest.mark.long
async def test_changes_of_an_admin_to_the_queue(cluster: LocalCluster) -> None:
    async with slack_fleet(cluster) as fleet:
        kubectl = admin(cluster)
        await fleet.cordon(0)
        # It comes later than the controller, and without a cohort at first.
        await cluster.apply([queue(SLACK, {GPU: 8}, cohort="")])
        assert await fleet.says("SlackQueueWithoutCohort") == (
            f"ClusterQueue {SLACK} has no cohort, so it lends nothing and has no lendingLimit."
            " Set spec.cohortName to the cohort of the teams"
        )
        assert await fleet.limit() is None
        await cluster.apply([EXAMPLE])
        await fleet.comes_to_lend("0")
        # Too much is corrected at once, and an Event reports the edit.
        await fleet.edit("8")
        await fleet.comes_to_lend("0")
        assert await fleet.says("SlackQuotaEdited") == (
            "another client changed a lendingLimit. The controller writes this field: to lend"
            " less, lower nominalQuota; to set it yourself, set appwrapper.slackQueue.dryRun"
        )
        # The list is atomic: `kubectl apply` of the file drops the limit, and it is back at once.
        await kubectl("apply", "--filename", "-", stdin=yaml.safe_dump(EXAMPLE))
        await fleet.comes_to_lend("0")
        more = yaml.safe_dump(queue(SLACK, {GPU: 16}))
        result = await kubectl.run("apply", "--server-side", "--filename", "-", stdin=more)
        assert (
            'conflict with "appwrapper-slack-quota" using kueue.x-k8s.io/v1beta2:'
            " .spec.resourceGroups" in result.err
        )
        force = ("--server-side", "--force-conflicts", "--filename", "-")
        await kubectl("apply", *force, stdin=more)
        await fleet.comes_to_lend("0")
        assert nominal(await fleet.queue()) == "16"


@pytest.mark.long
async def test_a_dry_run_reports_and_writes_nothing(cluster: LocalCluster) -> None:
    async with slack_fleet(cluster, EXAMPLE, dryRun=True) as fleet:
        written = await fleet.generation()
        await fleet.have_gpus(0, 3)
        assert await fleet.says("SlackQuotaDryRun") == (
            f"slackQueue.dryRun: would set lendingLimit of {GPU} in gold to 3 (was unset;"
            " 19 schedulable, 16 promised by other ClusterQueues, nominalQuota 8)"
        )
        await fleet.shows("appwrapper_slack_lendable", 3)
        await fleet.shows("appwrapper_slack_lending_limit", 8)
        assert await fleet.generation() == written


def nominal(slack: JsonObject) -> str:
    """Of GPUs."""
    [group] = slack["spec"]["resourceGroups"]
    return str(group["flavors"][0]["resources"][0]["nominalQuota"])


async def begins(fleet: SlackFleet, body: JsonObject) -> None:
    await fleet.client.create(APPWRAPPERS, TEAM, body)


async def phase_of(fleet: SlackFleet, name: str) -> str:
    return phase(await fleet.client.get(APPWRAPPERS, TEAM, name))


async def pods_of(fleet: SlackFleet, name: str) -> set[str]:
    """The UIDs of its pods."""
    selector = f"workload.codeflare.dev/appwrapper={name}"
    return {each["metadata"]["uid"] for each in await listed(fleet.client, PODS, TEAM, selector)}


async def running(fleet: SlackFleet, name: str) -> int:
    selector = f"workload.codeflare.dev/appwrapper={name}"
    pods = await listed(fleet.client, PODS, TEAM, selector)
    return sum(each["status"].get("phase") == "Running" for each in pods)


async def waits(fleet: SlackFleet, name: str) -> bool:
    """Kueue has looked at it and found no quota."""
    for each in await listed(fleet.client, WORKLOADS, TEAM):
        if each["metadata"]["ownerReferences"][0]["name"] == name:
            return any(
                found["type"] == "QuotaReserved"
                and found["status"] == "False"
                and "insufficient" in found["message"]
                for found in (each.get("status") or {}).get("conditions") or ()
            )
    return False

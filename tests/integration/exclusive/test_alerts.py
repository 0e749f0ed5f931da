"""Each alert of deploy/monitoring fires in a real Prometheus, from a state that it is about.

Prometheus scrapes the real webhook and controller. Rules do not wait, and four have thresholds
that a test can reach. Requests that the webhook cannot judge, and a second leader, are imitated by
a page with the same metric: real ones would need a bug.
"""

import os
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestServer

from localcluster.cluster import LocalCluster
from localcluster.machine.ports import HOST
from shared.api.objects import APPWRAPPERS
from tests.support.alerts import ALERTS
from tests.support.builders.appwrappers import AT_ONCE, appwrapper, true_conditions
from tests.support.builders.autopilot import GPU
from tests.support.builders.jobs import job
from tests.support.builders.pods import pod
from tests.support.cluster.deletion_blockers import HOLD, blocked, set_finalizers
from tests.support.cluster.gpu_nodes import gpu_nodes
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.lives import NAMESPACE, Lives, requesting
from tests.support.cluster.people import admin
from tests.support.cluster.prometheus import Prometheus, build_prometheus, prometheus
from tests.support.cluster.reconfigured import reconfigured
from tests.support.cluster.resources import JOBS
from tests.support.cluster.slack_fleet import SLACK, queue, slack_fleet
from tests.support.life_record import QUOTA, READY
from tests.support.manifests import ROOT
from tests.support.patience import KUBECTL_PATIENCE, comes_to
from tests.support.walkthrough import Person, blocks_of

pytestmark = pytest.mark.long

CERTIFICATE = "AppWrapperWebhookCertificateExpires"
SILENT = "AppWrapperWatchSilent"
DOWN, NO_LEADER, TWO_LEADERS, FAILING, FAILED = (
    "AppWrapperControllerDown",
    "AppWrapperNoLeader",
    "AppWrapperTwoLeaders",
    "AppWrapperWebhookFailing",
    "AppWrapperFailed",
)
# Seconds. The certificate is valid for less than a century, and no watch was heard at this moment.
CENTURY = {CERTIFICATE: 100 * 365 * 86_400}
THRESHOLDS = {
    **CENTURY,
    SILENT: 0,
    "AppWrapperWaitsTooLong": 1,
    "AppWrapperQuotaWithoutPods": 1,
}
# The second node that turns bad opens it.
BREAKER = {"percent": 10, "minimumNodes": 4, "window": "10m"}
# The name of the finalizer is a user's, so the metric does not show it.
STUCK = 'sum(appwrapper_deletions_stuck{finalizer="other",kind="Job"})'
FAILURES = f'sum(appwrapper_failures_total{{namespace="{NAMESPACE}"}})'


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def program() -> Path:
    """Built here, so that no test's time pays for it."""
    return await build_prometheus()


@pytest_asyncio.fixture
async def watched(cluster: LocalCluster, program: Path) -> AsyncIterator[Prometheus]:
    """The controller has a breaker that two nodes open, and reports quotas beyond the hardware."""
    async with (
        slack_fleet(cluster, queue(SLACK, {GPU: 8})) as fleet,
        reconfigured(cluster, "controller", evacuationBreaker=BREAKER),
        gpu_nodes(cluster) as nodes,
        prometheus(cluster, program, THRESHOLDS) as watching,
    ):
        await comes_to(lambda: names(watching), {CERTIFICATE, SILENT})
        await fleet.cordon(0)
        await fleet.cordon(1)
        for name in ("gpu-node-1", "gpu-node-2"):
            await nodes.label(name, "EVICT")
        yield watching


async def names(watching: Prometheus) -> set[str]:
    return {*await watching.firing()}


async def until_firing(watching: Prometheus, expected: set[str]) -> dict[str, dict[str, str]]:
    """One answer with these alerts alone: a late scrape starts or ends some for a moment."""
    found: dict[str, dict[str, str]] = {}

    async def seen() -> set[str]:
        found.clear()
        found.update(await watching.firing())
        return {*found}

    await comes_to(seen, expected)
    return found


async def test_each_alert_fires_and_links_to_its_page(
    cluster: LocalCluster, watched: Prometheus, lives: Lives
) -> None:
    async with AsyncExitStack() as stack:
        await bring_about(lives, watched, stack)
        expected = {each.name for each in ALERTS} - {DOWN, NO_LEADER, TWO_LEADERS, FAILING}
        found = await until_firing(watched, expected)
        for name in ("webhook", "controller"):
            stack.push_async_callback(cluster.processes.restart, name)
            await cluster.processes.stop(name)
        # Of what the programs said before, only the increase within 15 minutes is still known.
        found |= await until_firing(watched, {DOWN, NO_LEADER, FAILING, FAILED})
        assert await watched.troubles() == []
    pages = {name: annotations["runbook_url"] for name, annotations in found.items()}
    assert pages == {each.name: each.runbook for each in ALERTS if each.name != TWO_LEADERS}
    assert [page for page in pages.values() if not (ROOT / page.partition("#")[0]).is_file()] == []
    await comes_to(lambda: quiet(watched), True)


async def test_the_webhook_fails_by_errors_of_its_own_and_not_by_those_of_clients(
    cluster: LocalCluster, program: Path
) -> None:
    errors = {"bug": 0, "missing_facts": 0, "unusable_request": 0}

    def shown() -> str:
        return "".join(
            f'appwrapper_webhook_errors_total{{webhook="/validate",reason="{reason}"}} {count}\n'
            for reason, count in errors.items()
        )

    async with (
        page(shown) as address,
        prometheus(cluster, program, CENTURY, address) as watching,
    ):
        seen = 'sum(appwrapper_webhook_errors_total{reason="unusable_request"})'
        await comes_to(lambda: watching.value(seen), 0)
        await comes_to(lambda: names(watching), {CERTIFICATE})
        errors["unusable_request"] = 3
        await comes_to(lambda: watching.value(seen), 3)
        await watching.next_evaluation()
        await comes_to(lambda: names(watching), {CERTIFICATE})
        errors.update(bug=1, missing_facts=2)
        reasons = [{"reason": "bug"}, {"reason": "missing_facts"}]
        await comes_to(lambda: watching.labels(FAILING), reasons)


async def test_a_second_leader_raises_an_alert_and_a_standby_none(
    cluster: LocalCluster, program: Path
) -> None:
    leads = [0]

    def shown() -> str:
        return f'leader_election_master_status{{name="appwrapper-controller"}} {leads[-1]}\n'

    async with (
        page(shown) as address,
        prometheus(cluster, program, CENTURY, address) as watching,
    ):
        await comes_to(lambda: watching.value("count(leader_election_master_status)"), 2)
        await watching.next_evaluation()
        await comes_to(lambda: names(watching), {CERTIFICATE})
        leads.append(1)
        found = await until_firing(watching, {CERTIFICATE, TWO_LEADERS})
        assert found[TWO_LEADERS]["runbook_url"] == "docs/admins/runbook.md#two-leaders"


@asynccontextmanager
async def page(shown: Callable[[], str]) -> AsyncGenerator[str, None]:
    """Serves /metrics of a replica that does not exist; yields its address."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=shown())

    application = web.Application()
    application.router.add_get("/metrics", answer)
    async with TestServer(application, host=HOST) as imitated:
        yield f"{HOST}:{imitated.port}"


async def quiet(watching: Prometheus) -> bool:
    """Both programs are back."""
    return not {DOWN, NO_LEADER, FAILING} & await names(watching)


async def bring_about(lives: Lives, watching: Prometheus, stack: AsyncExitStack) -> None:
    """One waits, one holds quota without a pod, one cannot be deleted, and one fails."""
    waits = await lives.begin(appwrapper("waits", requesting("3", pod("waits"))))
    await waits.until_phase("Suspended")
    nowhere = pod("nowhere")
    nowhere["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "no-such-node"}
    holds = await lives.begin(appwrapper("nowhere", requesting("100m", nowhere)))
    await holds.until(lambda item: QUOTA in true_conditions(item), "its quota")

    soon = {"forcefulDeletionGracePeriodDuration": "1s"}
    held = await lives.begin(appwrapper("held", job("held", hang="running"), annotations=soon))
    await held.until(lambda item: READY in true_conditions(item), "all of its pods running")
    await set_finalizers(lives.client, JOBS, "held", HOLD)
    stack.push_async_callback(set_finalizers, lives.client, JOBS, "held")
    await lives.delete(APPWRAPPERS, "held")
    await blocked(held, f"Job held has the finalizer {HOLD}")
    await comes_to(lambda: watching.value(STUCK), 1)

    # An increase needs a scrape of the count before it grew.
    async def counted() -> bool:
        return await watching.value(FAILURES) is not None

    await comes_to(counted, True)
    hopeless = pod("fails", run_for="200ms", exit_code="1")
    once = AT_ONCE | {"retryLimit": "0"}
    fails = await lives.begin(appwrapper("fails", requesting("100m", hopeless), annotations=once))
    await fails.until_phase("Failed")


DEFINITIONS = {"PrometheusRule": "prometheusrules", "ServiceMonitor": "servicemonitors",
               "Prometheus": "prometheuses"}  # fmt: skip


def definition(kind: str, plural: str) -> str:
    """As the Prometheus operator brings it, but for the schema."""
    return f"""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {plural}.monitoring.coreos.com}}
spec:
  group: monitoring.coreos.com
  names: {{kind: {kind}, plural: {plural}, singular: {kind.lower()}}}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}
"""


@pytest_asyncio.fixture
async def kubectl(cluster: LocalCluster) -> AsyncIterator[Kubectl]:
    """The cluster has the definitions of the Prometheus operator meanwhile."""
    kubectl = admin(cluster)
    manifests = "---".join(definition(*each) for each in DEFINITIONS.items())
    await kubectl("apply", "-f", "-", stdin=manifests)
    defined = [f"crd/{each}.monitoring.coreos.com" for each in DEFINITIONS.values()]
    await kubectl("wait", "--for=condition=Established", *defined, KUBECTL_PATIENCE)

    async def served() -> list[str]:
        command = ("api-resources", "--api-group=monitoring.coreos.com", "-o", "name")
        shown = (await kubectl.run(*command)).out  # another group may be unavailable
        return sorted(f"crd/{each}" for each in shown.split())

    await comes_to(served, sorted(defined))  # the API server lists a Kind a moment later
    yield kubectl
    await kubectl("delete", *defined)
    await kubectl("delete", "-n", "appwrapper-system", "configmap", "appwrapper-dashboard")


async def test_the_commands_of_the_page_install_it(
    cluster: LocalCluster, kubectl: Kubectl, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy")
    path = f"{cluster.kubectl.parent}:{os.environ['PATH']}"
    environment = {"KUBECONFIG": str(cluster.kubeconfig), "PATH": path}
    person = Person(tmp_path, environment, tmp_path)
    for block in blocks_of(ROOT / "docs" / "admins" / "monitoring.md"):
        await person.types(block)
    rules = await kubectl("get", "-n", "appwrapper-system", "prometheusrules", "-o", "name")
    assert rules.split() == ["prometheusrule.monitoring.coreos.com/appwrapper"]

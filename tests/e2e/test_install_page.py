"""The pages about installing, typed in order on a cluster that has Kueue and not the product."""

import json
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
import yaml

from localcluster.cluster import ClusterOptions, LocalCluster
from localcluster.images import Image, recipe
from localcluster.machine.child import captured
from localcluster.machine.progress import reporter_for
from shared.api.objects import PODS, JsonObject
from tests.e2e import product_pods
from tests.e2e.clone import Clone
from tests.e2e.containers import job
from tests.e2e.go_operator import GoOperator
from tests.e2e.registry import registry, tags_of
from tests.e2e.tagged_image import tagged
from tests.e2e.typed_pages import WAITS, until_it_can_be_typed, until_the_webhook_is_reached
from tests.support.builders.appwrappers import QUEUE, manifest
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.life import listed
from tests.support.cluster.people import admin
from tests.support.manifests import ROOT
from tests.support.patience import KUBECTL_PATIENCE, comes_to
from tests.support.sandbox import Sandbox, until_no_process_of
from tests.support.walkthrough import Block, Person, blocks_of

pytestmark = pytest.mark.long

PAGES = ("local-cluster", "install", "upgrade", "from-the-go-operator")
PAGE = [block for page in PAGES for block in blocks_of(ROOT / "docs" / "admins" / f"{page}.md")]
OF_A_LAPTOP = "As root: with a real node"
# Run where there is no root, too: tests/integration/exclusive/test_documentation.py.
ELSEWHERE = {"Without root", "Options"}
# Only read, by tests/unit/docs/test_install.py: there is no Docker here.
NOT_RUN = "docker build"
# What is everybody's own. The registry of this test has no certificate, which a Docker that this
# machine may have cannot be told.
REGISTRY, PUSH = "registry.example.com/team", "PUSH=1"
SAMPLES_IMAGE = "quay.io/project-codeflare/busybox:1.36"
VERSION, NEXT_VERSION = recipe.version(), "99.0.0"
RUNS_LONG = "runs-long"
TEAMS_QUEUE = "team1-cluster-queue"
DIGEST = "workload.codeflare.dev.appwrapper/submitted-digest"
# They come with deploy/team and stay with the teams: members read Kueue's queues by the role, and
# the policy limits pods with RDMA.
OF_THE_TEAMS = {"appwrapper-queue-viewer", "appwrapper-baseline-ipc-lock"}
IN_PLACE, AND_BACK = "In place of the Go operator", "And back"
ONCE_IT_STAYS = "Once it stays"
TAKING_OVER = (IN_PLACE, AND_BACK, ONCE_IT_STAYS)
# What both have under the same name.
SHARED = {
    "ClusterRole/appwrapper-editor-role",
    "ClusterRole/appwrapper-user-role",
    "ClusterRole/appwrapper-viewer-role",
    "ConfigMap/appwrapper-operator-config",
    "CustomResourceDefinition/appwrappers.workload.codeflare.dev",
    "MutatingWebhookConfiguration/appwrapper-mutating-webhook-configuration",
    "Namespace/appwrapper-system",
    "Secret/appwrapper-webhook-server-cert",
    "Service/appwrapper-webhook-service",
    "ValidatingWebhookConfiguration/appwrapper-validating-webhook-configuration",
}


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster with Kueue; an admin's clone and shell; and their registry, as HOST:PORT."""

    cluster: LocalCluster
    kubectl: Kubectl
    clone: Clone
    person: Person
    registry: str


def below(heading: str) -> list[Block]:
    """The blocks that are typed below a heading."""
    found = [each for each in PAGE if each.heading == heading]
    return [each for each in found if not each.commands.startswith(NOT_RUN)]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def site(
    request: pytest.FixtureRequest, workload: Image, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Site]:
    tmp_path = tmp_path_factory.mktemp("site")
    options = ClusterOptions(nodes=1, real_node=True, product=False)
    capture = request.config.pluginmanager.getplugin("capturemanager")
    starting = LocalCluster(options, reporter_for())
    with capture.global_and_fixture_disabled():
        cluster = await starting.__aenter__()
    try:
        assert cluster.node is not None
        busybox = tagged(workload.archive, SAMPLES_IMAGE, tmp_path / "busybox.tar")
        await cluster.node.load(busybox)
        kubectl = admin(cluster)
        # What a local cluster always has, and an existing one not yet.
        await kubectl("delete", "-f", "deploy/team")
        await kubectl("delete", "-k", "deploy/manifests/crd")
        host, _, _ = cluster.access.server.removeprefix("https://").partition(":")
        address = f"{host}:{cluster.ports.reserve()}"
        cluster.node.trust_registry(address)
        clone = Clone(tmp_path)
        environment = {
            "KUBECONFIG": str(cluster.kubeconfig),
            "PATH": f"{cluster.kubectl.parent}:{os.environ['PATH']}",
        }
        instead = {REGISTRY: f"{address}/team", PUSH: f"{PUSH} TLS_VERIFY=0 TOOL=buildah", **WAITS}
        person = Person(clone.folder, environment, tmp_path, instead)
        async with registry(tmp_path / "registry", address):
            yield Site(cluster, kubectl, clone, person, address)
    finally:
        if request.session.testsfailed:
            await cluster.keep_pod_diagnostics()
            terminal = request.config.pluginmanager.getplugin("terminalreporter")
            terminal.write_line(f"The logs of the page's cluster are in {cluster.keep_logs()}.")
        await starting.__aexit__(None, None, None)


def test_each_command_of_the_pages_is_run_by_a_test() -> None:
    headings = dict.fromkeys(each.heading for each in PAGE)
    assert headings.keys() == {*ELSEWHERE, OF_A_LAPTOP, *ON_AN_EXISTING_CLUSTER, *TAKING_OVER}
    in_order = [each for each in headings if each in ON_AN_EXISTING_CLUSTER]
    assert in_order == [*ON_AN_EXISTING_CLUSTER]


@pytest.mark.timeout(2700, func_only=True)
async def test_as_root_a_laptop_gets_a_real_node_and_keeps_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    sandbox = Sandbox(tmp_path)
    person = Person(ROOT, sandbox.environment, tmp_path)
    try:
        for block in below(OF_A_LAPTOP):
            await person.types(block)
        assert sandbox.temporary == []
    finally:
        # Where they stop half-way, their cluster must not stay.
        down = ("env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "-u", "MFLAGS", "make", "down")
        await captured(down, environment=os.environ | sandbox.environment, folder=ROOT)
    await until_no_process_of(tmp_path)


@pytest.mark.timeout(2700, func_only=True)
async def test_on_an_existing_cluster_it_comes_changes_and_goes(site: Site) -> None:
    for heading, so_it_is in ON_AN_EXISTING_CLUSTER.items():
        if heading in BEFORE:
            await BEFORE[heading](site)
        for block in below(heading):
            await until_it_can_be_typed(block.commands, site.kubectl)
            await site.person.types(block)
            if block.commands.startswith("kubectl delete appwrappers"):
                await nothing_runs_and_the_product_is_still_there(site)
        await so_it_is(site)


async def nothing_more(site: Site) -> None:
    """What the page shows says it all."""


async def the_images_are_in_the_registry(site: Site) -> None:
    for binary in ("webhook", "controller"):
        assert await tags_of(site.registry, f"team/appwrapper-{binary}") == [VERSION]


async def the_nodes_run_version(site: Site, version: str) -> None:
    await product_pods.until_whole(site.cluster)
    images = {
        container["image"]
        for pod in await product_pods.all_pods(site.cluster)
        for container in pod["spec"]["containers"]
    }
    assert images == {
        f"{site.registry}/team/appwrapper-{binary}:{version}"
        for binary in ("webhook", "controller")
    }


async def the_registrys_images_run(site: Site) -> None:
    await the_nodes_run_version(site, VERSION)


async def alice_is_known(site: Site) -> None:
    stored = json.loads(
        await site.kubectl("get", "appwrapper", "wrapped-pod", "-n", "team1", "-o", "json")
    )
    assert stored["metadata"]["labels"]["workload.codeflare.dev/user"] == "alice"


async def a_version_without_a_lease_runs(site: Site) -> None:
    """As before the lease: one replica, replaced by Recreate. It runs something."""
    await something_runs(site)
    name = ("appwrapper-operator-config", "-n", product_pods.SYSTEM)
    stored = json.loads(await site.kubectl("get", "configmap", *name, "-o", "json"))
    config = yaml.safe_load(stored["data"]["config.yaml"])
    config.setdefault("controllerManager", {})["leaderElection"] = False
    data = json.dumps({"data": {"config.yaml": yaml.safe_dump(config)}})
    await site.kubectl("patch", "configmap", *name, "-p", data)
    spec = {"replicas": 1, "strategy": {"type": "Recreate", "rollingUpdate": None}}
    old = ("appwrapper-controller", "-n", product_pods.SYSTEM)
    await site.kubectl("patch", "deployment", *old, "-p", json.dumps({"spec": spec}))
    await product_pods.roll(site.kubectl, "controller")
    await site.kubectl("delete", "lease", *old)
    assert len(await product_pods.pods_of(site.cluster, "controller")) == 1


async def no_controller_runs(site: Site) -> None:
    """So no old one can act beside the first new one."""
    label = "control-plane=appwrapper-controller"
    assert await listed(site.cluster.client, PODS, product_pods.SYSTEM, label) == []


async def a_new_version_is_there(site: Site) -> None:
    deployments = [
        f"deploy/manifests/base/{binary}/deployment.yaml" for binary in ("webhook", "controller")
    ]
    site.clone.publish(f":{VERSION}", f":{NEXT_VERSION}", *deployments)
    site.clone.publish(f'version = "{VERSION}"', f'version = "{NEXT_VERSION}"', "pyproject.toml")


async def the_new_version_runs(site: Site) -> None:
    """With a leader; the pods that run are still those of the first attempt."""
    await the_nodes_run_version(site, NEXT_VERSION)
    names = [
        each["metadata"]["name"] for each in await product_pods.pods_of(site.cluster, "controller")
    ]

    async def is_led() -> bool:
        holder = await product_pods.holder_of(site.cluster)
        return holder.rpartition("_")[0] in names

    await comes_to(is_led, True)
    _, pods, resets = await identities(site)
    assert (len(pods), resets) == (1, 0)


def runs_long() -> JsonObject:
    long = job(RUNS_LONG, "sleep 3600", image=SAMPLES_IMAGE)
    return manifest(long, name=RUNS_LONG, labels=QUEUE)


async def something_runs(site: Site) -> None:
    await until_the_webhook_is_reached(site.kubectl, "team1")
    await site.kubectl("create", "-n", "team1", "-f", "-", stdin=json.dumps(runs_long()))

    async def phases() -> list[str]:
        """Of the AppWrapper and of its pod."""
        (pod,) = await its_pods(site) or ({},)
        found = await site.kubectl("get", "appwrapper", RUNS_LONG, "-n", "team1", "-o", "json")
        objects = (json.loads(found), pod)
        return [each.get("status", {}).get("phase", "") for each in objects]

    await comes_to(phases, ["Running", "Running"])


async def its_pods(site: Site) -> list[JsonObject]:
    """The pods of what runs long."""
    label = f"workload.codeflare.dev/appwrapper={RUNS_LONG}"
    return await listed(site.cluster.client, PODS, "team1", label)


async def nothing_runs_and_the_product_is_still_there(site: Site) -> None:
    for kind in ("jobs", "pods"):
        left = await site.kubectl("get", kind, "-n", "team1", "-o", "name")
        assert left == "", f"{kind} are left"
    # The garbage collector deletes these, once their AppWrappers are gone.
    await comes_to(lambda: site.kubectl("get", "workloads", "-n", "team1", "-o", "name"), "")
    await product_pods.until_whole(site.cluster)


async def nothing_of_ours_is_left(site: Site) -> None:
    objects: list[str] = []

    async def ours() -> set[str] | str:
        """Or why not all can be listed: discovery names a Kind a moment longer than it exists."""
        kinds = (await site.kubectl("api-resources", "--verbs=list", "-o", "name")).split()
        asked = ",".join(kind for kind in kinds if not kind.startswith("events"))
        done = await site.kubectl.run("get", asked, "--all-namespaces", "-o", "name")
        if done.code != 0:
            return done.err
        objects[:] = done.out.split()
        names = [each.partition("/")[2] for each in objects]
        return {each for each in names if each.startswith("appwrapper")}

    await comes_to(ours, OF_THE_TEAMS)
    # And what is not ours still is as it was.
    assert f"clusterqueue.kueue.x-k8s.io/{TEAMS_QUEUE}" in objects
    alice = site.kubectl.impersonating("alice", "team1-edit-group")
    asked = ("create", "deployment", "web", "--image=none", "-n", "team1", "--dry-run=server")

    async def is_allowed() -> bool | str:
        """Or the error: the API server knows a moment later that the webhooks are gone."""
        done = await alice.run(*asked)
        return done.code == 0 or done.err

    await comes_to(is_allowed, True)


@pytest.mark.timeout(2700, func_only=True)
async def test_in_place_of_the_go_operator_and_back_nothing_that_runs_is_touched(
    site: Site, tmp_path: Path
) -> None:
    await its_clone_and_registry_are_ready(site)
    other = await GoOperator.load(site.cluster, site.kubectl, tmp_path)
    await other.install(site.kubectl)
    await site.kubectl("apply", "-f", "deploy/team")
    # Uninstalling held it, if that came before.
    goes_on = '{"spec":{"stopPolicy":"None"}}'
    await site.kubectl("patch", "clusterqueue", TEAMS_QUEUE, "--type=merge", "-p", goes_on)
    await something_runs(site)
    running = await identities(site)

    for block in below(IN_PLACE):
        await site.person.types(block)
    await product_pods.until_whole(site.cluster)
    assert await identities(site) == running
    await is_judged_by_ours(site, True)
    assert len(await policies_of_ours(site)) == 10

    for block in below(AND_BACK):
        await site.person.types(block)
    assert await policies_of_ours(site) == []
    await other.install(site.kubectl)
    await is_judged_by_ours(site, False)
    assert await identities(site) == running
    # It is the Go operator that takes it away, finalizer and all.
    await site.kubectl("delete", "appwrapper", RUNS_LONG, "-n", "team1", KUBECTL_PATIENCE)
    await comes_to(lambda: its_pods(site), [])

    for block in below(ONCE_IT_STAYS):
        await site.person.types(block)
    assert await other.left(site.kubectl) == SHARED


async def policies_of_ours(site: Site) -> list[str]:
    """With their bindings."""
    kinds = "validatingadmissionpolicies,validatingadmissionpolicybindings"
    ours = ("-o", "name", "-l", "app.kubernetes.io/name=appwrapper")
    found = await site.kubectl("get", kinds, *ours)
    return found.split()


async def its_clone_and_registry_are_ready(site: Site) -> None:
    """As after the first steps of install.md, nothing of it applied."""
    pushed = await tags_of(site.registry, "team/appwrapper-controller")  # the page's last image
    if recipe.version(site.clone.folder) not in pushed:
        for block in below("Build the images"):
            await site.person.types(block)
    shutil.rmtree(site.clone.folder / "my-cluster", ignore_errors=True)
    await site.person.types(below("Install")[0])


async def identities(site: Site) -> tuple[str, list[str], int]:
    """UID and resets of what runs long, and the UIDs of its pods."""
    text = await site.kubectl("get", "appwrapper", RUNS_LONG, "-n", "team1", "-o", "json")
    stored = json.loads(text)
    assert stored["status"]["phase"] == "Running"
    pods = [pod["metadata"]["uid"] for pod in await its_pods(site)]
    return stored["metadata"]["uid"], pods, stored["status"].get("resettingCount", 0)


async def is_judged_by_ours(site: Site, ours: bool) -> None:
    """Ours remembers what was submitted; the Go operator's webhook answers, and does not."""
    body = runs_long()
    body["metadata"]["name"] = "another"
    asked = ("create", "--dry-run=server", "-f", "-", "-n", "team1", "-o", "json")

    async def look() -> tuple[bool, bool] | str:
        done = await site.kubectl.run(*asked, stdin=json.dumps(body))
        if done.code != 0:
            return done.err
        labels = json.loads(done.out)["metadata"].get("labels", {})
        return "workload.codeflare.dev/user" in labels, DIGEST in done.out

    await comes_to(look, (True, ours))


# Heading → what must be true when all below it was typed.
ON_AN_EXISTING_CLUSTER: dict[str, Callable[[Site], Awaitable[None]]] = {
    "What the cluster must have": nothing_more,
    "Build the images": the_images_are_in_the_registry,
    "Install": the_registrys_images_run,
    "A first team": alice_is_known,
    "Change the configuration": the_registrys_images_run,
    "When something is wrong": nothing_more,
    "From a version without a Lease": no_controller_runs,
    "Upgrade": the_new_version_runs,
    "Uninstall": nothing_of_ours_is_left,
}
BEFORE = {
    "From a version without a Lease": a_version_without_a_lease_runs,
    "Upgrade": a_new_version_is_there,
}

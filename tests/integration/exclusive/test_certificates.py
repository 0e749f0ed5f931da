"""The webhook's own certificates on a real API server: made, trusted, kept, and replaced."""

import asyncio
import base64
import shlex
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
import yaml

from localcluster.cluster import LocalCluster
from localcluster.product import NAMESPACE
from shared.api.objects import SECRETS, Resource
from shared.kube.client import Forbidden, KubeClient, NotFound, PatchType, Propagation
from shared.kube.http_client import connect
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.service_proxy import behind_a_service, port_of_webhook
from tests.support.cluster.webhook_certificates import (
    BOTH,
    QUICK,
    SECRET,
    VALIDATING,
    all_carry,
    annotate,
    answered,
    bundles,
    called_port,
    configuration,
    contents,
    create,
    creates_going_on,
    history,
    is_served,
    shown,
    until,
    until_judged,
)
from tests.support.cluster.webhook_process import started
from tests.support.fakes.tls import authority
from tests.support.patience import comes_to
from tests.support.walkthrough import commands_below
from webhook.tls.key_pair import certificates_in

PAGE = "docs/admins/certificates.md"
EITHER = pytest.mark.parametrize("resource", BOTH, ids=["mutating", "validating"])


@pytest.fixture
async def account(cluster: LocalCluster) -> Path:
    """The webhook's own identity, with its own rights."""
    return await cluster.service_account_kubeconfig(NAMESPACE, "appwrapper-webhook")


@pytest.fixture
async def as_webhook(account: Path) -> AsyncIterator[KubeClient]:
    client = await connect(str(account))
    yield client
    await client.close()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def quick(
    cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Path]:
    """The cluster's webhook with short periods; a configuration for another beside it."""
    file = cluster.directory / "product" / "webhook.yaml"
    before = file.read_text()
    changed = yaml.safe_load(before) | {"certManagement": QUICK}
    file.write_text(yaml.safe_dump(changed))
    await cluster.processes.restart("webhook")
    for listener in ("metrics", "webhook"):
        changed["controllerManager"][listener]["bindAddress"] = "127.0.0.1:0"
    beside = tmp_path_factory.mktemp("webhook") / "beside.yaml"
    beside.write_text(yaml.safe_dump(changed))
    yield beside
    file.write_text(before)
    await cluster.processes.restart("webhook")
    await until_judged(cluster)


@asynccontextmanager
async def another(cluster: LocalCluster, beside: Path, account: Path) -> AsyncIterator[None]:
    """A second replica behind one Service with the cluster's own."""
    async with (
        started(account, "--config", str(beside)) as process,
        behind_a_service(cluster) as service,
    ):
        await service.add(port_of_webhook(cluster))
        await service.add(await process.port())
        yield
        assert service.refused == 0


async def test_both_configurations_carry_the_ca_of_what_is_served(cluster: LocalCluster) -> None:
    found = await contents(cluster)
    assert found.problems == ()
    assert await all_carry(cluster, found.bundle)
    assert await is_served(cluster)
    await create(cluster)


async def replaces_a_wrong_bundle(
    cluster: LocalCluster, resource: Resource, **changes: str
) -> None:
    """Writes another CA into a configuration, and these fields, until the webhook replaces it."""
    good = (await contents(cluster)).bundle
    found = await configuration(cluster, resource)
    other = base64.b64encode(authority().certificate_pem).decode()
    entries = [
        {**entry, **changes, "clientConfig": {**entry["clientConfig"], "caBundle": other}}
        for entry in found["webhooks"]
    ]
    await cluster.client.update(resource, None, BOTH[resource], {**found, "webhooks": entries})

    async def is_replaced() -> bool:
        return await bundles(cluster, resource) == {good}

    await until(is_replaced)


@EITHER
async def test_the_webhook_replaces_a_wrong_ca_bundle_and_no_other_field(
    cluster: LocalCluster, resource: Resource
) -> None:
    before = await configuration(cluster, resource)
    try:
        await replaces_a_wrong_bundle(cluster, resource, failurePolicy="Ignore")
        # A second pass would replace the other field, too, if any did.
        await replaces_a_wrong_bundle(cluster, resource)
        after = await configuration(cluster, resource)
        assert {entry["failurePolicy"] for entry in after["webhooks"]} == {"Ignore"}
    finally:
        policies = [
            {"op": "replace", "path": f"/webhooks/{index}/failurePolicy", "value": "Fail"}
            for index in range(len(before["webhooks"]))
        ]
        await cluster.client.patch(resource, None, BOTH[resource], policies, PatchType.JSON)
    restored = await configuration(cluster, resource)
    assert restored["webhooks"] == before["webhooks"]


@EITHER
async def test_a_deleted_configuration_stays_deleted_and_a_new_one_is_filled_in(
    cluster: LocalCluster, resource: Resource
) -> None:
    before = await configuration(cluster, resource)
    name = BOTH[resource]
    (other,) = (each for each in BOTH if each is not resource)
    log = cluster.processes["webhook"].log

    async def is_reported() -> bool:
        return f"{resource.kind} {name} does not exist" in log.read_text(errors="replace")

    await cluster.client.delete(resource, None, name, uid=None, propagation=Propagation.BACKGROUND)
    try:
        await until(is_reported)
        # A later pass writes to the other configuration, and does not create this one.
        await replaces_a_wrong_bundle(cluster, other)
        with pytest.raises(NotFound):
            await configuration(cluster, resource)
    finally:
        kept = ("name", "labels", "annotations")
        metadata = {key: before["metadata"][key] for key in kept if key in before["metadata"]}
        webhooks = [
            {**entry, "clientConfig": {"service": entry["clientConfig"]["service"]}}
            for entry in before["webhooks"]
        ]
        made = {"metadata": metadata, "webhooks": webhooks}
        identity = {"apiVersion": resource.gvk.api_version, "kind": resource.kind}
        await cluster.client.create(resource, None, identity | made)
    good = (await contents(cluster)).bundle

    async def is_filled_in() -> bool:
        return await bundles(cluster, resource) == {good}

    await until(is_filled_in)
    await until_judged(cluster)  # the API server reads the configurations a moment later


async def test_a_leaf_is_replaced_at_request_and_no_create_is_refused(
    cluster: LocalCluster,
) -> None:
    before = await contents(cluster)
    async with creates_going_on(cluster):
        await asyncio.sleep(0.3)
        await annotate(cluster, "leaf")
        await until(lambda: answered(cluster))
        await until(lambda: is_served(cluster))
        await asyncio.sleep(0.3)
    after = await contents(cluster)
    assert after.leaf != before.leaf
    assert after.trusted == before.trusted


async def test_a_ca_is_replaced_at_request_and_no_create_is_refused(
    cluster: LocalCluster, quick: Path, account: Path
) -> None:
    async with another(cluster, quick, account), history(cluster) as versions:
        (old, *_) = (await contents(cluster)).trusted
        async with creates_going_on(cluster):
            began = time.monotonic()
            command = commands_below("### A key has leaked: replace it now", PAGE)
            await Kubectl(cluster.kubectl, cluster.kubeconfig)(*shlex.split(command)[1:])
            await until(lambda: answered(cluster))
            assert time.monotonic() - began >= 3  # no sooner than it had settled
            await until(lambda: is_served(cluster, times=20))

            async def is_dropped() -> bool:
                return old not in certificates_in((await bundles(cluster, VALIDATING)).pop())

            await until(is_dropped)
            await asyncio.sleep(0.5)
        found = await contents(cluster)
        assert old not in found.trusted
        await until(lambda: all_carry(cluster, found.bundle))

        async def steps() -> list[tuple[bool, bool]]:
            seen = [(each.trusted[0] == old, old in each.trusted) for each in versions]
            return list(dict.fromkeys(seen))

        # Announced, then in use beside the old one, then alone.
        await comes_to(steps, [(True, True), (False, True), (False, False)])


async def test_an_emptied_secret_is_filled_again_and_no_create_is_refused(
    cluster: LocalCluster, quick: Path, account: Path
) -> None:
    async with another(cluster, quick, account):
        (old, *_) = (await contents(cluster)).trusted
        served = await shown(await called_port(cluster))
        async with creates_going_on(cluster):
            emptied = time.monotonic()
            await cluster.client.patch(
                SECRETS, NAMESPACE, SECRET, [{"op": "remove", "path": "/data"}], PatchType.JSON
            )

            async def is_filled() -> bool:
                return (await contents(cluster)).leaf is not None

            await until(is_filled)
            found = await contents(cluster)
            assert (found.trusted[0] != old, old in found.trusted) == (True, True)
            still = await shown(await called_port(cluster))
            # A busy machine may come to this when the new CA has settled.
            assert still == served or time.monotonic() - emptied >= 3
            await until(lambda: is_served(cluster, times=20))
            await asyncio.sleep(0.5)
        await until(lambda: all_trust_the_secrets(cluster))


async def all_trust_the_secrets(cluster: LocalCluster) -> bool:
    """Whether both configurations have the CAs of the Secret, which is written first."""
    return await all_carry(cluster, (await contents(cluster)).bundle)


async def test_killed_in_the_middle_of_a_rotation_it_is_continued(
    cluster: LocalCluster, quick: Path
) -> None:
    (old, *_) = (await contents(cluster)).trusted
    # By a watch: on a busy machine a read takes a part of the settle period.
    async with history(cluster) as versions:
        await annotate(cluster, "ca")

        async def is_announced() -> bool:
            return any(each.next is not None for each in versions)

        await until(is_announced)
        await cluster.processes.stop("webhook", patience=0)
    found = await contents(cluster)
    assert found.next is not None
    assert found.trusted[0] == old
    announced = found.next.pair.certificate
    await cluster.processes.restart("webhook")
    async with creates_going_on(cluster):
        await until(lambda: answered(cluster))
        await until(lambda: is_served(cluster))
        await asyncio.sleep(0.5)
    assert (await contents(cluster)).trusted[0] == announced


async def test_two_that_start_with_an_empty_secret_serve_the_same(
    cluster: LocalCluster, quick: Path, account: Path
) -> None:
    await cluster.processes.stop("webhook")
    # As after an installation: nothing made yet, nobody trusted yet.
    nothing = [{"op": "remove", "path": "/data"}]
    await cluster.client.patch(SECRETS, NAMESPACE, SECRET, nothing, PatchType.JSON)
    for resource in BOTH:
        entries = len((await configuration(cluster, resource))["webhooks"])
        untrusted = [
            {"op": "remove", "path": f"/webhooks/{index}/clientConfig/caBundle"}
            for index in range(entries)
        ]
        await cluster.client.patch(resource, None, BOTH[resource], untrusted, PatchType.JSON)
    try:
        async with (
            started(account, "--config", str(quick)) as first,
            started(account, "--config", str(quick)) as second,
            behind_a_service(cluster) as service,
        ):
            for process in (first, second):
                await service.add(await process.port())
            assert await is_served(cluster, times=20)
            made = "make a CA and a certificate (it is empty)"
            messages = [*first.messages, *second.messages]
            assert len([message for message in messages if message.endswith(made)]) == 1
            await until(lambda: all_trust_the_secrets(cluster))
            await until_judged(cluster)
            assert service.refused == 0
    finally:
        await cluster.processes.restart("webhook")


async def test_the_webhook_may_change_only_its_own_secret_and_configurations(
    as_webhook: KubeClient,
) -> None:
    await as_webhook.get(SECRETS, NAMESPACE, SECRET)
    with pytest.raises(Forbidden):
        await as_webhook.get(SECRETS, NAMESPACE, "another")
    with pytest.raises(Forbidden):
        await anext(as_webhook.pages(SECRETS, NAMESPACE))
    with pytest.raises(Forbidden):
        await as_webhook.create(SECRETS, NAMESPACE, {"metadata": {"name": "another"}})
    for resource, name in BOTH.items():
        with pytest.raises(Forbidden):
            await as_webhook.get(resource, None, f"kueue-{name}")
        with pytest.raises(Forbidden):
            await anext(as_webhook.pages(resource))
        with pytest.raises(Forbidden):
            await as_webhook.delete(
                resource, None, name, uid=None, propagation=Propagation.BACKGROUND
            )

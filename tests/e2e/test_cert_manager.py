"""cert-manager issues and renews the webhook's certificate while users go on.

Types docs/admins/certificates.md on the running product: from self-managed
certificates to cert-manager's, renewals, a new CA, and back.
"""

import asyncio
import base64
import itertools
import os
import shutil
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
import pytest_asyncio
from cryptography.exceptions import InvalidSignature
from cryptography.x509 import Certificate, load_pem_x509_certificate

from localcluster.cluster import LocalCluster
from shared.api.objects import PODS, SECRETS, JsonObject, Resource
from shared.config.configuration import CertManagement
from shared.kube.client import KubeError, NotFound, PatchType
from tests.e2e.handshakes import Handshakes, ca_bundle, shaking_hands, shown_by
from tests.e2e.load import Load, loading
from tests.e2e.product_pods import SYSTEM, complaints, identities, pods_of, until_whole
from tests.e2e.research_team import a_team
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.people import person
from tests.support.manifests import ROOT
from tests.support.patience import comes_to, until_found
from tests.support.walkthrough import Block, Person, blocks_of
from webhook.tls.key_pair import certificates_in

pytestmark = [pytest.mark.long, pytest.mark.cert_manager]

# How often the kubelets are made to look, in seconds.
EVERY = 0.5
TEAM, RATE = "renewals", 0.5
PAGE = blocks_of(ROOT / "docs" / "admins" / "certificates.md")
THERE, BACK = "From self-managed to cert-manager", "From cert-manager to self-managed"
LEAKED = "A key has leaked: replace cert-manager's CA"
CERTIFICATES = Resource("cert-manager.io", "v1", "certificates", "Certificate")
OWN_SECRET = CertManagement().webhook_secret_name
LEAF, AUTHORITY = "appwrapper-webhook-tls", "appwrapper-webhook-ca"
# cert-manager renews 50 seconds after it has issued: an hour is the shortest life that it allows.
OFTEN = {"duration": "1h", "renewBefore": "59m10s"}
# The same certificate, so that none is issued for the change, and the next one comes in 40 minutes:
# a busy machine needs some until every replica serves the certificate.
RARELY = {"duration": "1h", "renewBefore": "20m"}
KUSTOMIZATION = "resources:\n- ../deploy/manifests/overlays/default\n"
NESTED = "samples/demo/rejected-nested-appwrapper.yaml"
RIGHTS = (
    "role/appwrapper-webhook-certificates",
    "rolebinding/appwrapper-webhook-certificates",
    "clusterrole/appwrapper-webhook-ca-bundle",
    "clusterrolebinding/appwrapper-webhook-ca-bundle",
)


@dataclass(frozen=True, slots=True)
class Site:
    """The cluster, its admin, an admin who types what the page says, and what clients see."""

    cluster: LocalCluster
    admin: Kubectl
    reader: Person
    handshakes: Handshakes


@pytest.fixture
def reader(node_cluster: LocalCluster, tmp_path: Path) -> Person:
    """An admin with the folder `my-cluster` beside the manifests."""
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy")
    (tmp_path / "my-cluster").mkdir()
    (tmp_path / "my-cluster" / "kustomization.yaml").write_text(KUSTOMIZATION)
    path = f"{node_cluster.kubectl.parent}:{os.environ['PATH']}"
    environment = {"KUBECONFIG": str(node_cluster.kubeconfig), "PATH": path}
    return Person(tmp_path, environment, tmp_path)


@pytest_asyncio.fixture(loop_scope="session")
async def self_managed_again(
    node_cluster: LocalCluster, admin: Kubectl, reader: Person, tmp_path: Path
) -> AsyncIterator[None]:
    """Leaves the product as it was, wherever the test failed."""
    yield
    if "components" in (tmp_path / "my-cluster" / "kustomization.yaml").read_text():
        for block in below(BACK):
            await reader.types(block)
    await until_whole(node_cluster)


@pytest_asyncio.fixture(loop_scope="session")
async def load(node_cluster: LocalCluster) -> AsyncIterator[Load]:
    member = person(node_cluster, "erin", f"{TEAM}-edit-group")
    async with a_team(node_cluster, TEAM), loading(member.kubeconfig, TEAM, RATE) as found:
        yield found


def below(heading: str) -> list[Block]:
    found = [each for each in PAGE if each.heading == heading]
    assert found
    return found


async def stored(cluster: LocalCluster, name: str) -> Certificate | None:
    """The certificate in a Secret; None while there is none."""
    try:
        secret = await cluster.client.get(SECRETS, SYSTEM, name)
    except NotFound:
        return None
    pem = base64.b64decode((secret.get("data") or {}).get("tls.crt", ""))
    return load_pem_x509_certificate(pem) if pem else None


async def another(cluster: LocalCluster, name: str, before: Certificate) -> Certificate:
    """The certificate that cert-manager writes in the place of `before`."""

    async def look() -> Certificate | None:
        found = await stored(cluster, name)
        return None if found == before else found

    return await until_found(look)


async def renew(cluster: LocalCluster, name: str) -> Certificate:
    """Ask for a renewal as `cmctl renew` does; returns the new certificate."""
    before = await present(cluster, name)
    current = await cluster.client.get(CERTIFICATES, SYSTEM, name)
    asked = {"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "test"}
    patch: JsonObject = {"status": {"conditions": [*current["status"]["conditions"], asked]}}
    await cluster.client.patch(
        CERTIFICATES, SYSTEM, name, patch, PatchType.MERGE, subresource="status"
    )
    return await another(cluster, name, before)


async def present(cluster: LocalCluster, name: str) -> Certificate:
    found = await stored(cluster, name)
    assert found is not None
    return found


async def until_served(site: Site) -> Certificate:
    """Wait until every replica shows the Secret's certificate. Return this certificate."""

    async def look() -> Certificate | None:
        expected = await stored(site.cluster, LEAF)
        return expected if await site.handshakes.current() == {expected} else None

    return await until_found(look)


@asynccontextmanager
async def quick_kubelets(cluster: LocalCluster) -> AsyncGenerator[None, None]:
    """A kubelet that looks at a pod updates its files. Left to itself it looks once a minute.

    Here it looks all the time: a replica may get a certificate before the cainjector adds its CA.
    """

    async def run() -> None:
        for count in itertools.count():
            patch: JsonObject = {"metadata": {"annotations": {"example.com/looked": str(count)}}}
            with suppress(KubeError):
                for pod in await pods_of(cluster, "webhook"):
                    name = pod["metadata"]["name"]
                    await cluster.client.patch(PODS, SYSTEM, name, patch, PatchType.MERGE)
            await asyncio.sleep(EVERY)

    running = asyncio.create_task(run())
    try:
        yield
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


def is_trusted(leaf: Certificate, bundle: bytes) -> bool:
    """True if a CA of the bundle has issued the certificate."""
    for authority in certificates_in(bundle):
        try:
            leaf.verify_directly_issued_by(authority)
        except (ValueError, InvalidSignature):
            continue
        return True
    return False


async def test_cert_manager_issues_and_renews_under_load_and_no_request_is_refused(
    node_cluster: LocalCluster,
    admin: Kubectl,
    reader: Person,
    load: Load,
    self_managed_again: None,
) -> None:
    await until_whole(node_cluster)
    log = node_cluster.processes["cert-manager"].log
    # It began to ask before the API server knew its rights.
    logged = len(log.read_text())
    before = identities(await pods_of(node_cluster, "webhook"))
    enough = asyncio.Event()
    running = load.begin(enough)
    async with shaking_hands(node_cluster) as handshakes, quick_kubelets(node_cluster):
        site = Site(node_cluster, admin, reader, handshakes)
        seen = [(len(load.answers), handshakes.count)]
        served = [await the_first_certificate(site)]
        between = identities(await pods_of(node_cluster, "webhook"))
        for renews in (
            a_renewal_by_schedule,
            a_renewed_ca_keeps_its_key,
            the_ca_of_a_leaked_key_is_replaced,
        ):
            seen.append((len(load.answers), handshakes.count))
            served.append(await renews(site))
        seen.append((len(load.answers), handshakes.count))
        assert await complaints(node_cluster, admin) == []
        # No replica was restarted for a renewal.
        assert identities(await pods_of(node_cluster, "webhook")) == between
        await back_to_self_managed(site)
        enough.set()
        await running

    figures = f"{load.summary()}; {handshakes.count} handshakes, {len(handshakes.serials)} serials"
    assert load.failed == [], (load.failed, figures)
    assert load.unlabelled == []
    assert handshakes.refused == [], (handshakes.refused, figures)
    # Both went on during each step. How many a second there were is the machine's matter.
    for (answers, hands), (more_answers, more_hands) in pairwise(seen):
        assert more_answers > answers, (seen, figures)
        assert more_hands > hands, (seen, figures)
    assert not before & between
    assert not between & identities(await pods_of(node_cluster, "webhook"))
    serials = [one.serial_number for one in served]
    assert len(set(serials)) == len(serials) == 4
    assert set(serials) <= handshakes.serials
    # The rights that its installer grants suffice.
    assert "forbidden" not in log.read_text()[logged:].lower()


async def the_first_certificate(site: Site) -> Certificate:
    """From self-managed certificates to cert-manager's."""
    own_bundle = await ca_bundle(site.cluster)
    for block in below(THERE):
        await site.reader.types(block)
    await until_whole(site.cluster)
    served = await until_served(site)
    await what_only_self_managed_certificates_need_is_gone(site.admin)
    # The replicas do serve it: a client that does not trust its CA rejects it.
    assert not is_trusted(served, own_bundle)
    first, *_ = await pods_of(site.cluster, "webhook")
    context = ssl.create_default_context(cadata=own_bundle.decode())
    with pytest.raises(ssl.SSLCertVerificationError):
        await shown_by(first["status"]["podIP"], context)

    async def refuses() -> bool:
        refusal = await site.admin.run("create", "--dry-run=server", "-f", NESTED)
        return "an AppWrapper cannot contain another AppWrapper" in refusal.err

    await comes_to(refuses, True)
    return served


async def what_only_self_managed_certificates_need_is_gone(admin: Kubectl) -> None:
    for each in (f"secret/{OWN_SECRET}", *RIGHTS):
        done = await admin.run("get", "-n", SYSTEM, each)
        assert "NotFound" in done.err, each


async def a_renewal_by_schedule(site: Site) -> Certificate:
    """The certificate that cert-manager issues when it is time, once it is served."""
    before = await present(site.cluster, LEAF)
    await site.cluster.client.patch(CERTIFICATES, SYSTEM, LEAF, {"spec": OFTEN}, PatchType.MERGE)
    # cert-manager issues this one because the Certificate has changed.
    changed = await another(site.cluster, LEAF, before)
    await another(site.cluster, LEAF, changed)
    await site.cluster.client.patch(CERTIFICATES, SYSTEM, LEAF, {"spec": RARELY}, PatchType.MERGE)
    served = await until_served(site)
    assert served.not_valid_after_utc - served.not_valid_before_utc == timedelta(hours=1)
    # The Certificate changes again. Later steps must not take this certificate for theirs.
    current = await present(site.cluster, LEAF)
    await site.reader.types(apply_again())
    await another(site.cluster, LEAF, current)
    return served


def apply_again() -> Block:
    """The command of the page that applies the kustomization: the usual lives again."""
    [line] = {
        line
        for block in below(THERE)
        for line in block.commands.splitlines()
        if line.startswith("kubectl apply")
    }
    return Block(THERE, 0, line, None)


async def a_renewed_ca_keeps_its_key(site: Site) -> Certificate:
    """The certificate of the renewed CA, once it is served."""
    before = await present(site.cluster, AUTHORITY)
    after = await renew(site.cluster, AUTHORITY)
    assert after.public_key() == before.public_key()
    assert after.not_valid_after_utc > before.not_valid_after_utc
    await renew(site.cluster, LEAF)
    return await until_served(site)


async def the_ca_of_a_leaked_key_is_replaced(site: Site) -> Certificate:
    """The certificate of the new CA, once it is served and the old CA is trusted no more."""
    before = await present(site.cluster, LEAF)
    replace, drop_the_old = below(LEAKED)
    await site.reader.types(replace)
    served = await until_served(site)
    both = await ca_bundle(site.cluster)
    assert is_trusted(served, both)
    assert is_trusted(before, both)
    await site.reader.types(drop_the_old)
    only_new = await ca_bundle(site.cluster)
    assert is_trusted(served, only_new)
    assert not is_trusted(before, only_new)
    return served


async def back_to_self_managed(site: Site) -> None:
    for block in below(BACK):
        await site.reader.types(block)
    await until_whole(site.cluster)

    async def all_show_it() -> bool:
        return await site.handshakes.current() == {await stored(site.cluster, OWN_SECRET)}

    await comes_to(all_show_it, True)

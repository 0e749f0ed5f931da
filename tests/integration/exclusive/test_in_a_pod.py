"""The two programs as a pod runs them: first process, read-only root, rotated credentials.

Without images and a kubelet, which `make e2e` has: so each of these takes seconds, and needs no
rights but those of user namespaces.
"""

import base64
import json
import re
import signal
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from localcluster.cluster import LocalCluster
from localcluster.product import NAMESPACE
from shared.api import names
from shared.api.objects import APPWRAPPERS, SECRETS
from shared.kube.client import PatchType, Propagation
from shared.process.clock import SystemClock
from tests.support.builders.admission import appwrapper as submitted
from tests.support.builders.admission import review
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.certificates import self_signed
from tests.support.builders.jobs import job
from tests.support.cluster.life import Life
from tests.support.cluster.program_in_a_pod import Pod, pod, why_no_pods
from tests.support.cluster.unreliable_proxy import UnreliableProxy
from tests.support.cluster.webhook_process import answer_to
from tests.support.mounted_volume import MountedVolume
from tests.support.patience import PATIENCE_SECONDS, comes_to
from tests.support.team import NAMESPACE as TEAM

pytestmark = pytest.mark.long

SERVED_NAME = "appwrapper-webhook-service.appwrapper-system.svc"
SERVER_SECRET = "appwrapper-webhook-server-cert"
ADMIN = {"username": "root", "groups": ["system:masters", "system:authenticated"]}
READ_ANEW = r"the certificates of the pod's ServiceAccount \(.*\) were replaced and are read anew"
DENIED = re.compile("Unauthorized|Forbidden")
PROGRAMS = ["webhook", "controller"]
SILENT = {"webhook": {"bindAddress": "127.0.0.1:0"}, "metrics": {"bindAddress": "127.0.0.1:0"}}


@pytest.fixture(scope="module", autouse=True)
async def pods_can_be_made() -> None:
    if why := await why_no_pods():
        pytest.skip(why)


@dataclass
class Account:
    """What a kubelet mounts of a ServiceAccount. Its token is bound to a Secret, as it would be to
    a pod: it is void when that is gone."""

    cluster: LocalCluster
    name: str
    volume: MountedVolume
    token: str
    _bound_to: str

    async def rotate(self) -> None:
        """Another token, and authorities of which the first has nothing to say any more. Returns
        once the API server has come to refuse the token of before."""
        before, secret = self.token, self._bound_to
        self._bound_to = f"{secret}-next"
        self.token = await bound_token(self.cluster, self.name, self._bound_to)
        self.volume.replace(account_files(self.cluster, self.token, first=foreign_authority()))
        await delete_secret(self.cluster, secret)
        await comes_to(lambda: status_with(self.cluster, before), 401)
        assert await status_with(self.cluster, self.token) == 200

    async def remove(self) -> None:
        await delete_secret(self.cluster, self._bound_to)


def account_files(cluster: LocalCluster, token: str, first: bytes = b"") -> dict[str, bytes]:
    authority = first + cluster.access.authority.read_bytes()
    return {"token": token.encode(), "ca.crt": authority, "namespace": NAMESPACE.encode()}


def foreign_authority() -> bytes:
    now = SystemClock().now()
    return self_signed(1, now, now.replace(year=now.year + 1))[0]


async def bound_token(cluster: LocalCluster, account: str, secret: str) -> str:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": secret}}
    made = await cluster.client.create(SECRETS, NAMESPACE, body)
    reference = {"kind": "Secret", "apiVersion": "v1", "name": secret}
    answer = await cluster.client.post(
        f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token",
        {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"boundObjectRef": {**reference, "uid": made["metadata"]["uid"]}},
        },
    )
    return str(answer["status"]["token"])


async def delete_secret(cluster: LocalCluster, name: str) -> None:
    await cluster.client.delete(
        SECRETS, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND
    )


async def status_with(cluster: LocalCluster, token: str) -> int:
    tls = ssl.create_default_context(cafile=str(cluster.access.authority))
    async with httpx.AsyncClient(verify=tls, timeout=PATIENCE_SECONDS) as http:
        answer = await http.get(
            f"{cluster.access.server}/version", headers={"Authorization": f"Bearer {token}"}
        )
        return answer.status_code


@pytest.fixture
async def account(
    cluster: LocalCluster, program: str, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Account]:
    name = f"appwrapper-{program}"
    secret = f"in-a-pod-{abs(hash(request.node.name)):x}"
    token = await bound_token(cluster, name, secret)
    volume = MountedVolume(tmp_path / "account", account_files(cluster, token))
    made = Account(cluster, name, volume, token, secret)
    yield made
    await made.remove()


def configured(cluster: LocalCluster, program: str) -> dict[str, Any]:
    """As the cluster's own program of that name."""
    file = cluster.directory / "product" / f"{program}.yaml"
    loaded: dict[str, Any] = yaml.safe_load(file.read_text())
    return loaded


def config_map(folder: Path, configuration: Mapping[str, Any]) -> MountedVolume:
    return MountedVolume(folder / "config", config_files(configuration))


def config_files(configuration: Mapping[str, Any]) -> dict[str, bytes]:
    return {"config.yaml": yaml.safe_dump(dict(configuration)).encode()}


def address_of(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("https://").rpartition(":")
    return host, int(port)


def assert_it_is_confined(running: Pod) -> None:
    """As the Deployments' security contexts do it; and it has no children to look after."""
    status = running.status
    assert status["NSpid"][-1] == "1"
    assert status["CapEff"] == ["0000000000000000"]
    assert status["NoNewPrivs"] == ["1"]
    assert running.writable == {"/proc", "/dev/null", "/dev/urandom"}
    assert running.children == []


def levels(running: Pod) -> list[str]:
    return [json.loads(line)["level"] for line in running.lines]


@pytest.mark.parametrize("program", ["webhook"])
async def test_the_webhook_serves_on_while_its_credentials_are_replaced(
    cluster: LocalCluster, account: Account, tmp_path: Path
) -> None:
    webhook = {"bindAddress": "127.0.0.1:0", "drainPeriod": "0s"}
    listeners = {"controllerManager": SILENT | {"webhook": webhook}}
    config = config_map(tmp_path, configured(cluster, "webhook") | listeners)
    async with (
        UnreliableProxy(cluster.access.server) as proxy,
        pod(
            tmp_path,
            "webhook",
            server=address_of(proxy.url),
            account=account.volume.folder,
            config=config.folder,
        ) as running,
    ):
        # Only once it has a certificate: that of the cluster's own webhook, from the Secret.
        await running.logged(r"serving a certificate that is valid until .*")
        port = int((await running.logged(r"serving on \S+ port ([0-9]+)"))[1])
        await comes_to(lambda: asked(cluster, port, "/readyz"), (200, "ok\n"))
        assert await judged(cluster, port) == {"uid": "7", "allowed": True}

        broken = watches_broken(running)
        await account.rotate()
        assert await judged(cluster, port) == {"uid": "7", "allowed": True}
        await running.logged(READ_ANEW)
        # Its watches go on under the old token until they end, and begin under the new one. Of
        # other things that are slow on a busy machine it may warn.
        assert watches_broken(running) == broken
        await proxy.refuse()
        await proxy.accept()
        await rotate_the_leaf(cluster)
        # It hears of that by a watch; without, it would look in five minutes.
        await comes_to(lambda: times_served(running), 2)
        assert await judged(cluster, port) == {"uid": "7", "allowed": True}
        # A warning of the outage is taken back when the pass over the certificates ends.
        await comes_to(lambda: asked(cluster, port, "/readyz"), (200, "ok\n"))

        assert_it_is_confined(running)
        running.ask_to_end()
        assert await running.ended() == 0
    assert running.messages[-1] == "stopped"
    assert not [message for message in running.messages if DENIED.search(message)]


async def rotate_the_leaf(cluster: LocalCluster) -> None:
    """As an admin asks for it; which of the webhooks does it is chance."""
    annotations = {"metadata": {"annotations": {names.ANNOTATION_ROTATE: "leaf"}}}
    await cluster.client.patch(SECRETS, NAMESPACE, SERVER_SECRET, annotations, PatchType.MERGE)


def watches_broken(running: Pod) -> list[str]:
    return [message for message in running.messages if "; again in " in message]


async def times_served(running: Pod) -> int:
    return sum(message.startswith("serving a certificate") for message in running.messages)


async def asked(cluster: LocalCluster, port: int, path: str) -> tuple[int, str]:
    async with await trusting(cluster, port) as http:
        answer = await http.get(path, extensions={"sni_hostname": SERVED_NAME})
        return answer.status_code, answer.text


async def judged(cluster: LocalCluster, port: int) -> Any:
    """What it answers to a review that it needs the API server for."""
    named = submitted(labels={"kueue.x-k8s.io/queue-name": "default-queue"})
    body, extensions = review(named, userInfo=ADMIN), {"sni_hostname": SERVED_NAME}
    async with await trusting(cluster, port) as http:
        answer = await answer_to(http, "/validate", body, extensions=extensions)
        return answer.json()["response"]


async def trusting(cluster: LocalCluster, port: int) -> httpx.AsyncClient:
    """Trusts whom API servers trust, under the name that they use."""
    secret = await cluster.client.get(SECRETS, NAMESPACE, SERVER_SECRET)
    authority = base64.b64decode(secret["data"]["ca.crt"]).decode()
    return httpx.AsyncClient(
        base_url=f"https://127.0.0.1:{port}",
        verify=ssl.create_default_context(cadata=authority),
        timeout=PATIENCE_SECONDS,
    )


@pytest.fixture
async def alone(cluster: LocalCluster) -> AsyncIterator[None]:
    """The cluster's own controller is away meanwhile."""
    await cluster.processes.stop("controller")
    yield
    await cluster.processes.restart("controller")


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("program", ["controller"])
async def test_a_controller_ends_at_sigterm_and_the_next_one_goes_on(
    cluster: LocalCluster, account: Account, tmp_path: Path
) -> None:
    """As when both replicas are replaced, with the credentials rotated in between."""
    client = cluster.client
    configuration = configured(cluster, "controller")
    config = config_map(tmp_path, configuration)
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    arguments: dict[str, Any] = {
        "server": address_of(cluster.access.server),
        "account": account.volume.folder,
        "config": config.folder,
    }
    async with Life(client, TEAM, "in-a-pod") as life:
        async with pod(folders[0], "controller", **arguments) as first:
            await first.logged(r"starting workers .*")
            template = job("in-a-pod", hang="running")
            await client.create(APPWRAPPERS, TEAM, appwrapper("in-a-pod", template))
            await life.until_phase("Running")
            await account.rotate()
            paused = configuration["appwrapper"] | {"pauseResets": True}
            config.replace(config_files(configuration | {"appwrapper": paused}))
            await first.logged("pauseResets is now true")
            assert_it_is_confined(first)
            first.ask_to_end()
            assert await first.ended() == 0
        assert "SIGTERM: finishing what is running" in first.messages
        assert first.messages[-1] == "stopped"
        async with pod(folders[1], "controller", **arguments) as second:
            await client.delete(
                APPWRAPPERS, TEAM, "in-a-pod", uid=None, propagation=Propagation.BACKGROUND
            )
            await life.until_deleted()
            second.ask_to_end(signal.SIGINT)
            assert await second.ended() == 0
        await life.check_the_promise_to_kueue()
    assert "SIGINT: finishing what is running" in second.messages
    assert second.messages[-1] == "stopped"
    assert not [each for each in first.messages + second.messages if DENIED.search(each)]


@pytest.mark.parametrize("moment", ["its imports", "its waiting"])
@pytest.mark.parametrize("program", PROGRAMS)
async def test_the_first_process_of_a_container_hears_sigterm_from_its_beginning(
    program: str, moment: str, cluster: LocalCluster, tmp_path: Path
) -> None:
    """The kernel keeps from it every signal without a handler. There is no API server."""
    account = MountedVolume(tmp_path / "account", account_files(cluster, "void"))
    config = config_map(tmp_path, {"controllerManager": SILENT | {"health": {"bindAddress": "0"}}})
    async with AsyncExitStack() as stack:
        proxy = await stack.enter_async_context(UnreliableProxy(cluster.access.server))
        await proxy.refuse()  # before the program starts: it may be quick
        running = await stack.enter_async_context(
            pod(
                tmp_path,
                program,
                server=address_of(proxy.url),
                account=account.folder,
                config=config.folder,
            )
        )
        await running.catches(signal.SIGTERM)
        if moment == "its waiting":
            await running.logged(r"(pods|namespaces): .*; again in .* s")
        running.ask_to_end()
        assert await running.ended() == 0
    # On a busy machine its imports may be over before this test looks again.
    assert "stopped" in running.messages or moment == "its imports"
    assert "error" not in levels(running)


@pytest.mark.parametrize("program", PROGRAMS)
async def test_why_it_cannot_start_is_the_last_line_of_its_log(
    program: str, cluster: LocalCluster, tmp_path: Path
) -> None:
    """The kubelet shows that line of a container that failed."""
    account = MountedVolume(tmp_path / "account", account_files(cluster, "void"))
    void = {each: text for each, text in account_files(cluster, "").items() if each != "token"}
    mounted = "/var/run/secrets/kubernetes.io/serviceaccount"
    cases = {
        "no configuration": (
            {"other": b""},
            account_files(cluster, "void"),
            {},
            2,
            "the configuration cannot be used: /etc/appwrapper/config.yaml: no such file; "
            "--config names the configuration",
        ),
        "an unknown key": (
            config_files({"appwrapper": {"defaultQueName": "q"}, "a": 1}),
            account_files(cluster, "void"),
            {},
            2,
            "the configuration cannot be used: /etc/appwrapper/config.yaml:1: a: Forbidden: "
            "unknown key; /etc/appwrapper/config.yaml:3: appwrapper.defaultQueName: Forbidden: "
            "unknown key; the nearest valid one is appwrapper.defaultQueueName",
        ),
        "no token": (
            config_files({"controllerManager": SILENT}),
            void,
            {},
            1,
            f"the {program} cannot start: the token file {mounted}/token cannot be read: "
            f"[Errno 2] No such file or directory: '{mounted}/token'",
        ),
        "a kubeconfig": (
            config_files({"controllerManager": SILENT}),
            account_files(cluster, "void"),
            {"KUBECONFIG": "/etc/appwrapper/config.yaml"},
            1,
            f"the {program} cannot start: the kubeconfig /etc/appwrapper/config.yaml cannot be "
            "read: No module named 'kubernetes.client'; the images leave that package out, because "
            "a pod has its own credentials. Leave KUBECONFIG unset in a pod",
        ),
    }
    config = MountedVolume(tmp_path / "config", {})
    for number, (name, (settings, files, environment, code, message)) in enumerate(cases.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        account.replace(files)
        config.replace(settings)
        async with pod(
            folder,
            program,
            server=("127.0.0.1", 1),
            account=account.folder,
            config=config.folder,
            environment=environment,
        ) as running:
            assert await running.ended() == code, (name, running.lines)
        assert running.messages[-1] == message, name
        assert levels(running)[-1] == "error", name

"""Starting the controller, as far as that goes without an API server."""

import asyncio
import logging
import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from controller.caches import Caches
from controller.controller import Controller
from controller.main import main
from controller.replica import Replica
from shared.api.names import LABEL_APPWRAPPER
from shared.config.configuration import Configuration
from shared.kube.client import Forbidden
from shared.kube.http_client import HttpKubeClient, connect
from shared.kube.informer import Informer
from shared.process.sources import Sources
from tests.support.builders.kubeconfig import NOBODY_THERE
from tests.support.cluster.resources import JOBS
from tests.support.fakes.fake_kube import FakeKube, WatchFeed, kube_object, listed


@pytest.fixture(autouse=True)
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(NOBODY_THERE)
    monkeypatch.setenv("KUBECONFIG", str(file))
    monkeypatch.setattr("controller.main.log_to", lambda **_: None)


@pytest.mark.parametrize("taken", ["health", "metrics"])
def test_a_busy_port_is_reported_after_the_configuration(
    taken: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        ports = {"health": 0, "metrics": 0, taken: port}
        file = tmp_path / "config.yaml"
        file.write_text(
            "appwrapper: {schedulerName: gang}\n"
            "controllerManager:\n"
            f"  health: {{bindAddress: '127.0.0.1:{ports['health']}'}}\n"
            f"  metrics: {{bindAddress: '127.0.0.1:{ports['metrics']}'}}\n"
        )
        assert main(["--config", str(file)]) == 1
    configured, refused = caplog.messages
    assert configured.startswith("configuration, as far as it is not the default: {")
    assert "'appwrapper.schedulerName': 'gang'" in configured
    assert refused == (
        f"the controller cannot start: cannot listen on 127.0.0.1 port {port}: "
        "Address already in use"
    )


def test_a_store_without_its_driver_is_a_mistake_that_a_check_finds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The controller's own: the webhook, which has the same configuration, reads no store."""
    file = tmp_path / "config.yaml"
    stores = "appwrapper: {faultTolerance: {errorAggregation: {stores: {bucket: 's3://b/c'}}}}"
    file.write_text(stores)
    with pytest.raises(SystemExit) as end:
        main(["--config", str(file), "--check-config"])
    assert end.value.code == 2
    assert capsys.readouterr().err == (
        "the configuration cannot be used:\n"
        "appwrapper.faultTolerance.errorAggregation.stores[bucket]: s3:// needs the Python package "
        "s3fs, which is not installed here: docs/admins/error-stores.md shows how to add it\n"
    )


@pytest.fixture
def silent(tmp_path: Path) -> str:
    """A configuration without listeners."""
    file = tmp_path / "config.yaml"
    addresses = "{health: {bindAddress: '0'}, metrics: {bindAddress: '0'}}"
    file.write_text(f"controllerManager: {addresses}")
    return str(file)


@pytest.mark.parametrize(
    ("end", "why"),
    [("fails", "KeyError: 'broken'"), ("returns", "PartEnded: pods ended by itself")],
)
def test_a_part_that_ends_ends_the_process_with_a_log(
    end: str,
    why: str,
    silent: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def run(_self: Informer[object]) -> None:
        if end == "fails":
            raise KeyError("broken")

    monkeypatch.setattr(Informer, "run", run)
    assert main(["--config", silent]) == 1
    before, last = caplog.records[-2:]
    assert (last.levelname, last.exc_text) == ("ERROR", None)
    assert last.getMessage() == f"the controller ends because a part of it failed: {why}"
    assert before.getMessage() == "the controller ends because a part of it failed"
    assert before.exc_text is not None
    assert before.exc_text.endswith(why)


def test_without_an_api_server_the_searched_credentials_are_reported(
    silent: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HOME"):
        monkeypatch.delenv(name, raising=False)
    assert main(["--config", silent]) == 1
    assert caplog.messages[-1] == (
        "the controller cannot start: there is no API server to talk to: KUBECONFIG is not set, "
        "HOME is not set, and this is no pod (KUBERNETES_SERVICE_HOST is not set). "
        "Set KUBECONFIG to a kubeconfig file"
    )


def test_a_bad_configuration_ends_it_with_2(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("appwrapper: {defaultQueName: q}")
    with pytest.raises(SystemExit) as end:
        main(["--config", str(file)])
    assert end.value.code == 2
    assert caplog.messages[-1] == (
        f"the configuration cannot be used: {file}:1: appwrapper.defaultQueName: "
        "Forbidden: unknown key; the nearest valid one is appwrapper.defaultQueueName"
    )


async def test_readiness_reports_missing_and_refused_watches(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    denied = Forbidden(403, "Forbidden", 'pods is forbidden: User "x" cannot list')
    client: Any = FakeKube(lists=[denied] * 1_000)
    listeners = {"health": {"bindAddress": "127.0.0.1:0"}, "metrics": {"bindAddress": "0"}}
    config = Configuration.model_validate({"controllerManager": listeners})
    stop = asyncio.Event()
    replica = Replica(client, config, sources=Sources.of_the_machine())
    running = asyncio.create_task(replica.run(stop))
    logged: dict[str, str] = {}
    while not logged.keys() >= {"listening", "pods:"}:
        await asyncio.sleep(0)
        logged = {message.partition(" ")[0]: message for message in caplog.messages}
    port = int(logged["listening"].removeprefix("listening on 127.0.0.1 port "))
    answers = [await asked(port, path) for path in ("/readyz", "/healthz")]
    stop.set()
    await running
    (ready_head, ready_body), (health_head, health_body) = answers
    assert ready_head.startswith("HTTP/1.1 503 ")
    assert ready_body == (
        "the appwrappers are not known yet\n"
        "the pods are not known yet: 403 Forbidden: "
        'pods is forbidden: User "x" cannot list\n'
    )
    assert (health_head.splitlines()[0], health_body) == ("HTTP/1.1 200 OK", "ok\n")


@pytest.mark.parametrize(
    ("monitors", "always", "leading"),
    [
        pytest.param(True, ["pods", "nodes", "appwrappers", "jobs"], ["configmaps"], id="nodes"),
        pytest.param(False, ["pods", "appwrappers", "jobs"], [], id="no nodes"),
    ],
)
async def test_a_standby_shows_its_watches_and_a_leader_those_of_its_term_too(
    monitors: bool, always: list[str], leading: list[str]
) -> None:
    client: Any = FakeKube()
    settings = {"slackQueue": {"name": "slack"}, "autopilot": {"monitorNodes": monitors}}
    config = Configuration.model_validate({"appwrapper": settings})
    replica = Replica(client, config, sources=Sources.of_the_machine())
    replica._caches.components.use(JOBS)
    assert [each.resource.plural for each in replica._watched()] == always
    value = replica._metrics.registry.get_sample_value
    age = value("appwrapper_watch_age_seconds", {"resource": "pods"})
    assert age is not None
    assert 0 <= age < 60
    replica._controller = Controller(
        client, config, sources=Sources.of_the_machine(), caches=replica._caches
    )
    assert [each.resource.plural for each in replica._watched()] == always + leading
    replica._caches.components.not_served(JOBS.gvk)


async def test_before_the_pods_are_known_no_quota_counts_as_held_without_pods() -> None:
    client: Any = FakeKube(lists=[[listed(5)]], watches=[WatchFeed()])
    sources, config = Sources.of_the_machine(), Configuration()
    caches = Caches.of(client, config, sources)
    controller = Controller(client, config, sources=sources, caches=caches)
    assert controller._has_pods(("team1", "train"))
    running = asyncio.create_task(controller._pods.run())
    await controller._pods.wait_synced()
    assert not controller._has_pods(("team1", "train"))
    pod = kube_object("train-0", 6)
    pod["metadata"]["labels"] = {LABEL_APPWRAPPER: "train"}
    controller._pods.assume(pod, silent=True)
    assert controller._has_pods(("team1", "train"))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def asked(port: int, path: str) -> tuple[str, str]:
    """The head and the body of an answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition("\r\n\r\n")
    return head, body


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_the_credentials_are_looked_for_is_not_forgotten(
    number: signal.Signals,
    silent: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)

    connected: list[HttpKubeClient] = []

    async def connect_slowly(**options: Any) -> HttpKubeClient:
        if not connected:  # a second signal would end the process as if unhandled
            os.kill(os.getpid(), number)
        connected.append(await connect(**options))
        return connected[-1]

    monkeypatch.setattr("controller.main.connect", connect_slowly)
    before = signal.getsignal(number)
    try:
        assert main(["--config", silent]) == 0
    finally:
        signal.signal(number, before)
    assert f"{number.name}: finishing what is running" in caplog.messages
    assert caplog.messages[-1] == "stopped"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_the_api_server_is_away_ends_it_at_once_and_well(
    number: signal.Signals, silent: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It waits for the API server, and for nothing once it is asked to end."""
    caplog.set_level(logging.INFO)

    class Asking(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.getMessage().startswith("starting pods "):
                os.kill(os.getpid(), number)

    asking = Asking()
    before = signal.getsignal(number)
    logging.getLogger("shared.process.supervisor").addHandler(asking)
    try:
        assert main(["--config", silent]) == 0
    finally:
        logging.getLogger("shared.process.supervisor").removeHandler(asking)
        signal.signal(number, before)
    assert f"{number.name}: finishing what is running" in caplog.messages
    assert not any(record.levelno >= logging.ERROR for record in caplog.records)

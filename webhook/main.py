"""Build the webhook process from its configuration and run it."""

import argparse
import asyncio
import gc
import logging
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import uvloop
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from shared.config.command_line import add_config_flags, changed_values, config_from_flags
from shared.config.configuration import CertManagement, Configuration
from shared.config.loading import LoadedConfig, Override
from shared.config.values import BindAddress, parse_bind_address
from shared.kube.client import CannotConnect, KubeClient
from shared.kube.http_client import connect
from shared.process.listener import Answer, CannotListen, Listener, listen
from shared.process.logs import add_log_flag, log_failure, log_to
from shared.process.sources import Sources
from shared.process.supervisor import Runnable, Supervisor
from webhook import chain
from webhook.app import MUTATE, VALIDATE, create_app
from webhook.gather.gatherer import Gatherer
from webhook.gather.pod_schema_source import PodSchemaSource
from webhook.judge import Judge
from webhook.metrics import WebhookMetrics
from webhook.policies import policies_yaml
from webhook.registration import registration_yaml
from webhook.serving.process import Ending, report_loop_errors, use_all_descriptors
from webhook.serving.server import LONGEST_END, Server
from webhook.tls.mounted_files import CertificateError, FileCertificateSource
from webhook.tls.self_managed import ManagedCertificateSource

_log: Final = logging.getLogger(__name__)

_CANNOT_START: Final = 1
_PART_FAILED: Final = 1

Problem = Callable[[], str | None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT, then drain. Return the exit code.

    The code is 0, or 1 if the webhook could not start or a part failed.
    """
    flags = _parser().parse_args(arguments)
    log_to(level=flags.log_level)
    loaded = config_from_flags(
        flags, lambda config: _overrides(flags, config), only_prints=flags.print_registration
    )
    if flags.print_registration:
        sys.stdout.write(registration_yaml(loaded.config) + "---\n" + policies_yaml(loaded.config))
        return 0
    use_all_descriptors()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            report_loop_errors(runner.get_loop())
            runner.run(_run(loaded))
    except (CannotConnect, CertificateError, CannotListen) as error:
        _log.error("the webhook cannot start: %s", error)
        return _CANNOT_START
    except Exception as error:  # noqa: BLE001  logged with all there is, and then the process ends
        log_failure(_log, "the webhook ends because a part of it failed", error)
        return _PART_FAILED
    _log.info("stopped")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m webhook", description="The AppWrapper admission webhook."
    )
    add_config_flags(parser)
    add_log_flag(parser)
    parser.add_argument("--host", help="listen on this address only")
    parser.add_argument("--port", type=int, metavar="N", help="listen on this port; 0 picks one")
    parser.add_argument(
        "--cert-dir",
        metavar="DIR",
        help="serve tls.crt and tls.key of this folder (certManagement.source: Files)",
    )
    parser.add_argument(
        "--print-registration",
        action="store_true",
        help="print the webhook configurations and policies that this configuration asks for, "
        "and exit",
    )
    return parser


def _overrides(flags: argparse.Namespace, config: Configuration) -> tuple[Override, ...]:
    """Return the changes that the flags make to `config`, the configuration of the file."""
    overrides = []
    if flags.host is not None or flags.port is not None:
        listen = _address(config)
        host = listen.host if flags.host is None else flags.host
        port = listen.port if flags.port is None else flags.port
        shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        flag = "--port" if flags.host is None else "--host"
        overrides.append(Override(("controllerManager", "webhook", "bindAddress"), shown, flag))
    if flags.cert_dir is not None:
        files = {"source": "Files", "certificateDir": flags.cert_dir}
        overrides += [
            Override(("certManagement", key), value, "--cert-dir") for key, value in files.items()
        ]
    return tuple(overrides)


def _address(config: Configuration) -> BindAddress:
    address = parse_bind_address(config.controller_manager.webhook.bind_address)
    assert address is not None, "validation refuses a webhook that listens nowhere"
    return address


async def _run(loaded: LoadedConfig) -> None:
    """Raise CannotConnect, CertificateError, CannotListen, and the error of a failed part."""
    _log.info("configuration, as far as it is not the default: %s", changed_values(loaded))
    ending = Ending()
    ending.listen_to_signals()
    with listen(_address(loaded.config)) as listening:
        client = await connect(user_agent="appwrapper-webhook/0.1")
        try:
            await Webhook(client, loaded.config, listening, ending, Sources.of_the_machine()).run()
        finally:
            await client.close()


class Webhook:
    """Connect all parts of the process."""

    def __init__(
        self,
        client: KubeClient,
        config: Configuration,
        listening: socket.socket,
        ending: Ending,
        sources: Sources,
    ) -> None:
        """Raise CertificateError."""
        clock = sources.clock
        self._ending = ending
        self._certificate = certificate_source(client, config.cert_management, sources)
        self._pod_schemas = PodSchemaSource(client, clock)
        self._gatherer = Gatherer(client, sources, config.appwrapper, self._pod_schemas.current)
        self._metrics = WebhookMetrics({MUTATE: chain.SIZE_LIMITS, VALIDATE: rules_that_deny()})
        self._metrics.watch_certificate(
            lambda: self._certificate.not_after, self._certificate.warning
        )
        self._readiness = Readiness(
            lambda: self._server.problem(),
            self._certificate.problem,
            self._pod_schemas.problem,
            self._gatherer.problem,
            prepare=_skip_in_collections,
        )
        self._metrics.show_ready(self._readiness.problem)
        judge = Judge(self._gatherer)
        drain_period = config.controller_manager.webhook.drain_period.total_seconds()
        self._server = Server(
            create_app(
                judge.mutate,
                judge.validate,
                self._readiness.problem,
                self._metrics,
                self._certificate.warning,
            ),
            listening,
            self._certificate.context,
            clock,
            ending,
            drain_period=drain_period,
        )
        self._listener = self._metrics_listener(config)
        self._supervisor = Supervisor(self._parts(), clock, grace=drain_period + LONGEST_END)

    async def run(self) -> None:
        """Return after a request to end, once the server has drained.

        Raise CannotListen, and the error of a failed part.
        """
        try:
            if self._listener is not None:
                self._listener.open()
            await self._supervisor.run(self._ending.requested)
        finally:
            if self._listener is not None:
                self._listener.close()

    def _parts(self) -> list[Runnable]:
        metrics = [] if self._listener is None else [self._listener]
        return [
            *(
                Runnable("metrics", "reports health from the first moment", listener.run)
                for listener in metrics
            ),
            Runnable("certificate", "no client connects without", self._certificate.run),
            Runnable("pod schema", "how pod templates are validated", self._pod_schemas.run),
            Runnable("facts", "what else rules need to know", self._gatherer.run),
            Runnable(
                "server",
                "last, so that it drains while all that it asks still runs",
                self._server.run,
                drain=self._server.drain,
            ),
        ]

    def _metrics_listener(self, config: Configuration) -> Listener | None:
        address = parse_bind_address(config.controller_manager.metrics.bind_address)
        return None if address is None else Listener(address, {"/metrics": self._measured})

    def _measured(self) -> Answer:
        body = generate_latest(self._metrics.registry)
        return Answer(body=body, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})


class Readiness:
    """Report whether this replica can check requests: only without any problem.

    Every report calls each of `problems`. The first report without a problem calls `prepare`.
    """

    def __init__(self, *problems: Problem, prepare: Callable[[], None] | None = None) -> None:
        self._problems = problems
        self._prepare = prepare

    def problem(self) -> str | None:
        """Return the problems, one a line; None if there is none."""
        found = [text for problem in self._problems if (text := problem()) is not None]
        if not found and self._prepare is not None:
            self._prepare()
            self._prepare = None
        return "\n".join(found) or None


def _skip_in_collections() -> None:
    """Let the collector skip all objects so far, which live as long as the process.

    This lasts up to half a second, in which the replica answers no request.
    """
    gc.collect()
    gc.freeze()


def certificate_source(
    client: KubeClient, certificates: CertManagement, sources: Sources
) -> FileCertificateSource | ManagedCertificateSource:
    """Build the configured source. Raise CertificateError."""
    if certificates.source == "Files":
        folder = Path(certificates.certificate_dir)
        return FileCertificateSource(folder, certificates.settle_period, sources.clock)
    return ManagedCertificateSource(client, certificates, sources)


def rules_that_deny() -> set[str]:
    """Return the names, for metrics, of the rules that may deny a request at /validate."""
    return {
        *chain.SIZE_LIMITS,
        chain.COMPONENTS,
        *chain.VALIDATE_ON_CREATE,
        *chain.VALIDATE_ON_UPDATE,
        *chain.VALIDATE_DIRECT_KIND,
    }

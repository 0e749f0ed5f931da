"""Composition root of the webhook: configuration, certificate, application, server."""

import argparse
import asyncio
import gc
import logging
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import uvicorn
import uvloop

from shared.clock import SystemClock
from shared.config.bind_address import BindAddress, parse_bind_address
from shared.config.command_line import add_config_flags, config_from_flags
from shared.config.configuration import Configuration
from shared.config.loading import LoadedConfig, Override
from shared.config.printing import changed_values
from shared.kube.connect import connect
from shared.kube.errors import CannotConnect
from shared.listening import CannotListen, listen
from shared.logs import log_to
from webhook.app import create_app
from webhook.gather.gatherer import Gatherer
from webhook.gather.pod_schema_source import PodSchemaSource
from webhook.judge import Judge
from webhook.tls.file_source import CertificateError, FileCertificateSource

_log: Final = logging.getLogger(__name__)

_CANNOT_START: Final = 1
# Longer than the API server keeps an idle connection, so that it is never us who close one just
# as a request arrives.
_KEEP_ALIVE: Final = 120
# Seconds for requests in flight at the end; the API server gives up after 10.
_LAST_REQUESTS: Final = 10


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT. Returns the exit code: 0, or 1 when it could not start."""
    flags = _parser().parse_args(arguments)
    loaded = config_from_flags(flags, lambda config: _overrides(flags, config))
    log_to()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_serve(loaded))
    except (CertificateError, CannotListen, CannotConnect) as error:
        sys.stderr.write(f"the webhook cannot start: {error}\n")
        return _CANNOT_START


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m webhook", description=__doc__)
    add_config_flags(parser)
    parser.add_argument("--host", help="listen on this address only")
    parser.add_argument("--port", type=int, metavar="N", help="listen on this port; 0 picks one")
    parser.add_argument("--cert-dir", metavar="DIR", help="folder of tls.crt and tls.key")
    return parser


def _overrides(flags: argparse.Namespace, config: Configuration) -> tuple[Override, ...]:
    """What the flags change of `config`, the configuration of the file."""
    overrides = []
    if flags.host is not None or flags.port is not None:
        listen = _address(config)
        host = listen.host if flags.host is None else flags.host
        port = listen.port if flags.port is None else flags.port
        shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        flag = "--port" if flags.host is None else "--host"
        overrides.append(Override(("controllerManager", "webhook", "bindAddress"), shown, flag))
    if flags.cert_dir is not None:
        folder = ("certManagement", "certificateDir")
        overrides.append(Override(folder, flags.cert_dir, "--cert-dir"))
    return tuple(overrides)


def _address(config: Configuration) -> BindAddress:
    address = parse_bind_address(config.controller_manager.webhook.bind_address)
    assert address is not None, "validation refuses a webhook that listens nowhere"
    return address


async def _serve(loaded: LoadedConfig) -> int:
    config = loaded.config
    _log.info("configuration, as far as it is not the default: %s", changed_values(loaded))
    source = FileCertificateSource(Path(config.cert_management.certificate_dir), SystemClock())
    with listen(_address(config)) as listening:
        client = await connect()
        pod_schemas = PodSchemaSource(client, SystemClock())
        gatherer = Gatherer(client, SystemClock(), config.appwrapper, pod_schemas)
        server = _server(gatherer, pod_schemas, source)
        # While it serves, uvicorn has handlers of its own, and at the end it raises the signal
        # again: that must not kill us. Before it serves, these make sure that no signal is lost.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: setattr(server, "should_exit", True))
        host, port = listening.getsockname()[:2]
        _log.info("serving on %s port %s", host, port)
        watching = asyncio.gather(source.run(), gatherer.run(), pod_schemas.run())
        # What exists now lives as long as the process: collections need not visit it.
        gc.collect()
        gc.freeze()
        try:
            await server.serve(sockets=[listening])
        finally:
            watching.cancel()
            await client.close()
    _log.info("stopped")
    return 0


def _server(
    gatherer: Gatherer, pod_schemas: PodSchemaSource, source: FileCertificateSource
) -> uvicorn.Server:
    judge = Judge(gatherer)

    def problem() -> str | None:
        return source.problem() or gatherer.problem() or pod_schemas.problem()

    return uvicorn.Server(
        uvicorn.Config(
            create_app(judge.mutate, judge.validate, problem),
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            ssl_context_factory=lambda _config, _default: source.context,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=_LAST_REQUESTS,
        )
    )

"""The controller's entry point: configuration in, a running process out."""

import argparse
import asyncio
import gc
import logging
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import uvloop

from controller.gather.error_store_reader import missing_drivers
from controller.replica import Replica
from controller.runtime.leadership import Leadership, StillWriting
from shared.config.command_line import add_config_flags, changed_values, config_from_flags
from shared.config.configuration import Configuration
from shared.config.loading import LoadedConfig
from shared.kube.client import CannotConnect
from shared.kube.http_client import connect
from shared.process.listener import CannotListen
from shared.process.logs import add_log_flag, log_failure, log_to
from shared.process.sources import Sources
from shared.process.supervisor import stop_on_signals

logger = logging.getLogger(__name__)

EXIT_FAILED: Final = 1
EXIT_STILL_WRITING: Final = 3
_USER_AGENT: Final = "appwrapper-controller/0.1"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until a signal. Return the exit code: 1 if the start or a part failed.

    The process exits with 3 by itself if it lost the lease and its writers did not stop.
    """
    parser = argparse.ArgumentParser(
        prog="python -m controller", description="The AppWrapper controller."
    )
    add_config_flags(parser)
    add_log_flag(parser)
    flags = parser.parse_args(arguments)
    log_to(level=flags.log_level)
    loaded = config_from_flags(flags, unusable=_unusable)
    # Decoded JSON consists of hundreds of thousands of objects without cycles. Measured: with the
    # default thresholds the garbage collector needs over half of the CPU time of the first lists.
    gc.set_threshold(10_000, 20, 20)
    try:
        uvloop.run(_run(loaded, Path(flags.config)))
    except (CannotConnect, CannotListen) as error:
        # The message is complete; a traceback would not help.
        logger.error("the controller cannot start: %s", error)  # noqa: TRY400
        return EXIT_FAILED
    except Exception as error:  # noqa: BLE001  logged with its traceback, then the process ends
        log_failure(logger, "the controller ends because a part of it failed", error)
        return EXIT_FAILED
    logger.info("stopped")
    return 0


def _unusable(config: Configuration) -> list[str]:
    return missing_drivers(config.appwrapper.fault_tolerance.error_aggregation)


async def _run(loaded: LoadedConfig, config_file: Path) -> None:
    """Raises CannotConnect, CannotListen, and any error of a part."""
    logger.info("configuration, as far as it is not the default: %s", changed_values(loaded))
    stop = asyncio.Event()
    stop_on_signals(stop)
    sources = Sources.of_the_machine()
    config = loaded.config
    async with AsyncExitStack() as stack:
        leadership = None
        if config.controller_manager.leader_election:
            # Its own connection: a burst of other requests must not delay a renewal.
            renewals = await connect(user_agent=_USER_AGENT)
            stack.push_async_callback(renewals.close)
            leadership = Leadership(renewals, config.cert_management.namespace, sources)
        permit = None if leadership is None else leadership.permit
        client = await connect(user_agent=_USER_AGENT, permit=permit)
        stack.push_async_callback(client.close)
        replica = Replica(client, config, config_file, sources=sources, leadership=leadership)
        try:
            await replica.run(stop)
        except StillWriting as error:
            logger.error("the controller ends at once: %s", error)  # noqa: TRY400
            os._exit(EXIT_STILL_WRITING)  # a writer that cannot be cancelled would delay any other

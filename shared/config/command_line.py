"""The flags that both binaries share: --config, --check-config, --print-config."""

import argparse
import logging
import sys
from collections.abc import Callable
from typing import NoReturn

from shared.config.configuration import Configuration
from shared.config.loading import ConfigError, LoadedConfig, Override, load_config
from shared.config.printing import print_config

logger = logging.getLogger(__name__)

EXIT_BAD_CONFIGURATION = 2  # as for a wrong flag


def add_config_flags(parser: argparse.ArgumentParser) -> None:
    """Adds the three flags."""
    parser.add_argument("--config", required=True, metavar="FILE", help="the configuration, YAML")
    parser.add_argument(
        "--check-config", action="store_true", help="check the configuration and exit"
    )
    parser.add_argument(
        "--print-config",
        action="store_true",
        help="print the effective configuration with the origin of each value, and exit",
    )


def config_from_flags(
    flags: argparse.Namespace,
    overrides: Callable[[Configuration], tuple[Override, ...]] = lambda _config: (),
    *,
    only_prints: bool = False,
) -> LoadedConfig:
    """The configuration to run with. `overrides` says what flags change of the file's.

    Exits with 0 after --check-config and --print-config, and with 2 when it cannot be used.
    Problems are written to stderr as plain text there, and where the program `only_prints`
    something. Else they are logged, all errors in the last line, which is what the kubelet shows.
    """
    to_people = only_prints or flags.check_config or flags.print_config
    try:
        loaded = load_config(flags.config)
        if changes := overrides(loaded.config):
            loaded = load_config(flags.config, changes)
    except ConfigError as error:
        if to_people:
            _say(f"the configuration cannot be used:\n{error}")
        else:
            # The sentence says all; a traceback helps nobody.
            logger.error("the configuration cannot be used: %s", "; ".join(error.problems))  # noqa: TRY400
        sys.exit(EXIT_BAD_CONFIGURATION)
    for warning in loaded.warnings:
        if to_people:
            _say(f"warning: {warning}")
        else:
            logger.warning("%s", warning)
    if flags.print_config:
        _finish(print_config(loaded))
    if flags.check_config:
        _finish(f"{flags.config}: the configuration is valid\n")
    return loaded


def _finish(text: str) -> NoReturn:
    sys.stdout.write(text)
    sys.exit(0)


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")

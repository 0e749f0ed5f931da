"""The flags that both binaries share: --config, --check-config, --print-config."""

import argparse
import sys
from collections.abc import Callable
from typing import NoReturn

from shared.config.configuration import Configuration
from shared.config.loading import ConfigError, LoadedConfig, Override, load_config
from shared.config.printing import print_config

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
) -> LoadedConfig:
    """The configuration to run with. `overrides` says what flags change of the file's.

    Writes warnings to stderr. Exits with 0 after --check-config and --print-config, and with 2
    after writing every error to stderr.
    """
    try:
        loaded = load_config(flags.config)
        if changes := overrides(loaded.config):
            loaded = load_config(flags.config, changes)
    except ConfigError as error:
        _say(f"the configuration cannot be used:\n{error}")
        sys.exit(EXIT_BAD_CONFIGURATION)
    for warning in loaded.warnings:
        _say(f"warning: {warning}")
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

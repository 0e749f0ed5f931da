"""Define the flags that both binaries share: --config, --check-config, --print-config."""

import argparse
import json
import logging
import sys
from collections.abc import Callable, Iterator
from typing import NoReturn

from shared.api.objects import JsonValue
from shared.api.times import format_duration
from shared.config.configuration import Configuration
from shared.config.keys import KeyPath
from shared.config.kueue import longest_by_default, wait_for_pods_ready
from shared.config.loading import DEFAULT_ORIGIN, ConfigError, LoadedConfig, Override, load_config
from shared.config.values import Section


def print_config(loaded: LoadedConfig) -> str:
    """Return YAML that loads to the same configuration; comments give each value's origin."""
    return "\n".join(_lines(loaded.config, (), loaded)) + "\n"


def changed_values(loaded: LoadedConfig) -> dict[str, JsonValue]:
    """Return dotted path -> value of all values that differ from the default, for the log."""
    values = dict(_leaves(loaded.config, ()))
    defaults = dict(_leaves(Configuration(), ()))
    return {
        ".".join(str(part) for part in path): value
        for path, value in values.items()
        if value != defaults[path]
    }


def _lines(section: Section, path: KeyPath, loaded: LoadedConfig) -> Iterator[str]:
    indent = "  " * len(path)
    for key, value in _entries(section):
        if isinstance(value, Section):
            yield f"{indent}{key}:"
            yield from _lines(value, (*path, key), loaded)
        else:
            origin = loaded.origins.get((*path, key), DEFAULT_ORIGIN)
            yield f"{indent}{key}: {json.dumps(value, ensure_ascii=False)}  # {origin}"


def _leaves(section: Section, path: KeyPath) -> Iterator[tuple[KeyPath, JsonValue]]:
    for key, value in _entries(section):
        if isinstance(value, Section):
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), value


def _entries(section: Section) -> Iterator[tuple[str, Section | JsonValue]]:
    """Yield each key with its section, or with its value as a file would hold it."""
    dumped = section.model_dump(mode="json", by_alias=True)
    for attribute, info in type(section).model_fields.items():
        key = info.serialization_alias or attribute
        value = getattr(section, attribute)
        yield key, value if isinstance(value, Section) else dumped[key]


logger = logging.getLogger(__name__)

EXIT_BAD_CONFIGURATION = 2  # as for a wrong flag


def add_config_flags(parser: argparse.ArgumentParser) -> None:
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
    unusable: Callable[[Configuration], list[str]] = lambda _config: [],
) -> LoadedConfig:
    """Return the configuration to run with. `overrides` returns the changes made by flags.

    `unusable` returns what this program lacks to use it, one sentence each.

    Exit with 0 after --check-config and --print-config, and with 2 if the configuration is
    unusable. Problems go to stderr as plain text after these flags, and if the program
    `only_prints`. Otherwise they are logged, all errors in the last line, which the kubelet shows.
    """
    to_people = only_prints or flags.check_config or flags.print_config
    try:
        loaded = load_config(flags.config)
        if changes := overrides(loaded.config):
            loaded = load_config(flags.config, changes)
        _require_none(unusable(loaded.config))
    except ConfigError as error:
        if to_people:
            _say(f"the configuration cannot be used:\n{error}")
        else:
            # The message is complete; a traceback would not help.
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
        _finish(valid_text(flags.config, loaded.config))
    return loaded


def _require_none(problems: list[str]) -> None:
    if problems:
        raise ConfigError(problems)


def valid_text(file: str, config: Configuration) -> str:
    """Return that the file is valid, and what Kueue needs: its configuration is unknown here."""
    longest = format_duration(longest_by_default(config.appwrapper))
    timeout = wait_for_pods_ready(config.appwrapper)["timeout"]
    return (
        f"{file}: the configuration is valid\n"
        f"its periods and retries add up to {longest}: if Kueue has waitForPodsReady (on by "
        f"default from Kueue 0.19), timeout and recoveryTimeout must be {timeout} or longer\n"
    )


def _finish(text: str) -> NoReturn:
    sys.stdout.write(text)
    sys.exit(0)


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")

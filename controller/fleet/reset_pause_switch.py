"""Read `pauseResets` again from the configuration while the process runs.

The file is a mounted ConfigMap, which the kubelet changes by moving a symbolic link. A watch of the
file would see nothing, so the contents are compared. All other settings need a restart: a mixture
of two configurations would be harder to understand.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from shared.config.configuration import Configuration
from shared.config.loading import ConfigError, parse_config
from shared.process.clock import Clock

logger = logging.getLogger(__name__)

# The kubelet updates a mounted ConfigMap within about a minute; this adds little.
LOOK_EVERY: Final = 5.0  # seconds


class PauseSwitch:
    """Calls `turn` with each new value. An invalid file changes nothing."""

    def __init__(
        self, file: Path, config: Configuration, clock: Clock, turn: Callable[[bool], None]
    ) -> None:
        self._file = file
        self._config = config
        self._clock = clock
        self._turn = turn
        self._paused = config.appwrapper.pause_resets
        self._seen: bytes | str | None = None  # the content, or why there is none

    async def run(self) -> None:
        """Read the file at once, then at intervals until cancelled.

        At once: a replica that begins to lead may have read its configuration days ago.
        """
        while True:
            self._take(self._read())  # a few bytes from memory need no thread
            await self._clock.sleep(LOOK_EVERY)

    def _read(self) -> bytes | str:
        try:
            return self._file.read_bytes()
        except OSError as error:
            return f"cannot be read: {error.strerror}"

    def _take(self, found: bytes | str) -> None:
        if found == self._seen:
            return
        self._seen = found
        try:
            config = self._parsed(found)
        except ConfigError as error:
            logger.warning("pauseResets stays %s: %s", _shown(self._paused), error)
            return
        paused = config.appwrapper.pause_resets
        if paused != self._paused:
            self._paused = paused
            logger.info("pauseResets is now %s", _shown(paused))
            self._turn(paused)
        if _besides_the_pause(config) != _besides_the_pause(self._config):
            logger.info("other changes of the configuration count from the next start on")

    def _parsed(self, found: bytes | str) -> Configuration:
        """Parse the file's content. Raises ConfigError."""
        if isinstance(found, str):
            raise ConfigError([f"{self._file}: {found}"])
        try:
            text = found.decode()
        except UnicodeDecodeError as error:
            raise ConfigError([f"{self._file}: not UTF-8 text: {error}"]) from error
        return parse_config(text, str(self._file)).config


def _besides_the_pause(config: Configuration) -> Configuration:
    section = config.appwrapper.model_copy(update={"pause_resets": False})
    return config.model_copy(update={"appwrapper": section})


def _shown(paused: bool) -> str:
    return str(paused).lower()

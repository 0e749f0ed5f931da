"""Print the progress of AppWrappers to standard error."""

import shutil
from collections.abc import Callable
from datetime import datetime

from cli.durations import clock
from cli.submitting.progress import first_failure, progress
from cli.terminal import CommandTerminal, harmless
from shared.api.appwrapper import AppWrapper
from shared.api.objects import JsonObject

_CLEAR = "\r\x1b[2K"


class ProgressPrinter:
    """Writes a line for each stage, or with `is_live` one line that changes in place.

    The cause of each failed attempt is a line of its own.
    """

    def __init__(
        self, terminal: CommandTerminal, now: Callable[[], datetime], *, is_live: bool
    ) -> None:
        self._stream, self._now, self._is_live = terminal.stderr, now, is_live
        self._stages: dict[str, tuple[object, ...]] = {}
        self._failures: dict[str, str] = {}
        self._has_line = False
        self._shown = ""

    def show(self, raw: JsonObject) -> None:
        """Print the AppWrapper's progress, if there is any."""
        appwrapper = AppWrapper(raw)
        name = appwrapper.name
        failure = first_failure(appwrapper)
        if failure and failure != self._failures.get(name):
            self._failures[name] = failure
            self.line(f"{name}: {failure}")
        found = progress(appwrapper)
        if self._is_live:
            if found.text != self._shown:
                self._replace(self._timed(found.text))
            self._shown = found.text
        elif self._stages.get(name) != found.stage:
            self.line(found.text)
        self._stages[name] = found.stage

    def line(self, text: str) -> None:
        """Print a line that stays."""
        self._stream.write(f"{_CLEAR if self._has_line else ''}{self._timed(text)}\n")
        self._has_line = False
        self._stream.flush()

    def close(self) -> None:
        """End the line that changes in place."""
        if self._has_line:
            self._stream.write("\n")
            self._has_line = False

    def _replace(self, text: str) -> None:
        width = shutil.get_terminal_size().columns
        self._stream.write(_CLEAR + text[: width - 1])
        self._stream.flush()
        self._has_line = True

    def _timed(self, text: str) -> str:
        now = self._now()
        return harmless(f"{clock(now, now)}  {text}")

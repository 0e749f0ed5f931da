"""Print the lines of logs, and notes about them."""

from dataclasses import dataclass, field

from cli.logs.choosing import LogPod
from cli.logs.lines import LogLine, prefix, shown
from cli.terminal import CommandTerminal, harmless


@dataclass(slots=True, kw_only=True)
class LogOutput:
    """`prefixes`: each line begins with its pod. Notes go to standard error, each text once."""

    terminal: CommandTerminal
    prefixes: bool
    timestamps: bool = False
    width: int = 0
    _noted: set[str] = field(default_factory=set)

    def line(self, number: int, pod: LogPod, line: LogLine) -> None:
        """Print a line. `number`: of the pod's log, which decides about its colour."""
        text = harmless(shown(line, timestamps=self.timestamps))
        if self.prefixes:
            self.width = max(self.width, len(pod.tag))
            colour = pod.rank if pod.rank is not None else number
            text = prefix(pod.tag, self.width, colour if self._has_colours else None) + text
        self.terminal.write(f"{text}\n")

    def note(self, text: str) -> None:
        """Write a line to standard error, unless it was written before."""
        if text not in self._noted:
            self._noted.add(text)
            self.terminal.stderr.write(f"note: {harmless(text)}\n")

    def about(self, pod: LogPod, why: str) -> None:
        """Note why a pod has no log, or no more of it."""
        rank = "" if pod.rank is None else f" (rank {pod.rank})"
        self.note(f"{pod.name}{rank}: {why}")

    def flush(self) -> None:
        self.terminal.stdout.flush()

    @property
    def _has_colours(self) -> bool:
        return self.terminal.stdout.isatty() and "NO_COLOR" not in self.terminal.environment

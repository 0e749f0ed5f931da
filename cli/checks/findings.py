"""Findings of the checks: one line each, with a severity. Pure."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_COMMAND: Final = re.compile(r"(?<=: )(?:appwrapper|kubectl) [^()]+$")


class FindingSeverity(StrEnum):
    """How bad a finding is. A note does not change the exit code."""

    NOTE = "note"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFinding:
    """One finding.

    `about`: the object (`node gpu-1`, `workload team1/x`). `advice`: the next step for the reader.
    """

    severity: FindingSeverity = FindingSeverity.WARNING
    about: str
    message: str
    advice: str = ""

    @property
    def command(self) -> str:
        """The command with which the advice ends, "" if it ends with none."""
        found = _COMMAND.search(self.advice)
        return found[0] if found else ""

    @property
    def line(self) -> str:
        """The whole finding in one line, for people."""
        text = f"{self.about}: {self.message}"
        return f"{text}. {self.advice}" if self.advice else text

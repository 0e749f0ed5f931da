"""Findings of the checks: one line each, with a severity. Pure."""

from dataclasses import dataclass
from enum import StrEnum


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
    def line(self) -> str:
        """The whole finding in one line, for people."""
        text = f"{self.about}: {self.message}"
        return f"{text}. {self.advice}" if self.advice else text

"""What a check found: one line each, and how bad it is. Pure."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """`note` changes no exit code."""

    NOTE = "note"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`about` names the object (`node gpu-1`, `workload team1/x`); `advice` says what to do."""

    severity: Severity = Severity.WARNING
    about: str
    message: str
    advice: str = ""

    @property
    def line(self) -> str:
        """Everything in one line, for people."""
        text = f"{self.about}: {self.message}" if self.about else self.message
        return f"{text}. {self.advice}" if self.advice else text

"""What a rule has to say to a person without refusing anything: an admission warning."""

from dataclasses import dataclass
from typing import Final

_LONGEST: Final = 256


@dataclass(frozen=True, slots=True)
class AdmissionWarning:
    """kubectl prints it as `Warning: TEXT`. The API server may cut a text at 256 characters."""

    text: str

    @property
    def shown(self) -> str:
        """The text, cut where it names something that a user made very long."""
        return self.text if len(self.text) <= _LONGEST else self.text[: _LONGEST - 1] + "…"

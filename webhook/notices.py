"""What a rule has to say to a person without refusing anything: an admission warning."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Notice:
    """kubectl prints it as `Warning: TEXT`. The API server cuts a text at 256 characters."""

    text: str

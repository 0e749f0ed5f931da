"""What validation rules look at: the request, its components, and the facts around it."""

from dataclasses import dataclass

from shared.config.configuration import AppWrapperConfig
from webhook.admission_review import AdmissionRequest
from webhook.components import Component
from webhook.facts import Facts


@dataclass(frozen=True, slots=True)
class Submission:
    """An AppWrapper that is to be created. `components` are those that are well-formed."""

    request: AdmissionRequest
    components: list[Component]
    facts: Facts
    # Whether some element of spec.components could not be read: counts are then no news.
    incomplete: bool = False

    @property
    def config(self) -> AppWrapperConfig:
        """The operator's configuration."""
        return self.facts.config

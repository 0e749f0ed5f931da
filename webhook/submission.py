"""What validation rules look at: the request, its components, the configuration."""

from dataclasses import dataclass

from shared.config.configuration import AppWrapperConfig
from webhook.admission_review import AdmissionRequest
from webhook.components import Component


@dataclass(frozen=True, slots=True)
class Submission:
    """An AppWrapper that is to be created. `components` are those that are well-formed."""

    request: AdmissionRequest
    components: list[Component]
    config: AppWrapperConfig
    # Whether some element of spec.components could not be read: counts are then no news.
    incomplete: bool = False

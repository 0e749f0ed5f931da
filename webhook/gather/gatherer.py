"""Gathers the facts for one request, and only those that its rules need."""

from shared.config.configuration import AppWrapperConfig
from webhook.admission_review import AdmissionRequest
from webhook.facts import Facts


class Gatherer:
    """The `judge.FactsGatherer` of a serving process."""

    def __init__(self, config: AppWrapperConfig) -> None:
        self._config = config

    async def for_mutation(self, request: AdmissionRequest) -> Facts:
        """Raises CannotGather."""
        return Facts(self._config)

    async def for_validation(self, request: AdmissionRequest) -> Facts:
        """Raises CannotGather."""
        return Facts(self._config)

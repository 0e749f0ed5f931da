"""A gatherer with given facts, for tests of the steps after gathering."""

from dataclasses import dataclass

from shared.config.configuration import AppWrapperConfig
from webhook.admission_review import AdmissionRequest
from webhook.rules.submission import CannotGather, Facts


@dataclass(frozen=True, slots=True)
class KnownFacts:
    """The `judge.FactsGatherer` that always finds the same, or always fails."""

    found: Facts | CannotGather

    @property
    def config(self) -> AppWrapperConfig:
        return AppWrapperConfig() if isinstance(self.found, CannotGather) else self.found.config

    async def for_mutation(self, _request: AdmissionRequest) -> Facts:
        return self._facts()

    async def for_validation(self, _request: AdmissionRequest) -> Facts:
        return self._facts()

    async def for_direct_kind(self, _request: AdmissionRequest) -> Facts:
        return self._facts()

    async def with_live_priority_classes(self, facts: Facts) -> Facts:
        return facts

    def _facts(self) -> Facts:
        if isinstance(self.found, CannotGather):
            raise self.found
        return self.found

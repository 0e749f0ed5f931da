"""From a request to a verdict: gather the facts, then ask the pure rules."""

from typing import Protocol

from webhook import chain
from webhook.admission_review import AdmissionRequest
from webhook.facts import CannotGather, Facts
from webhook.verdicts import Allowed, Errored, ErrorReason, Verdict


class FactsGatherer(Protocol):
    """Finds out what the rules need to know for one request. Both raise CannotGather."""

    async def for_mutation(self, request: AdmissionRequest) -> Facts:
        """For `chain.mutate`."""
        ...

    async def for_validation(self, request: AdmissionRequest) -> Facts:
        """For `chain.validate`."""
        ...


class Judge:
    """Holds nothing of a request once it is answered, so replicas give the same answers."""

    def __init__(self, gatherer: FactsGatherer) -> None:
        self._gatherer = gatherer

    async def mutate(self, request: AdmissionRequest) -> Verdict:
        """The answer to /mutate."""
        if not chain.is_judged(request):
            return Allowed()
        try:
            facts = await self._gatherer.for_mutation(request)
        except CannotGather as problem:
            return Errored(500, str(problem), ErrorReason.MISSING_FACTS)
        return chain.mutate(request, facts)

    async def validate(self, request: AdmissionRequest) -> Verdict:
        """The answer to /validate."""
        if not chain.is_judged(request):
            return Allowed()
        try:
            facts = await self._gatherer.for_validation(request)
        except CannotGather as problem:
            return Errored(500, str(problem), ErrorReason.MISSING_FACTS)
        return chain.validate(request, facts)

"""From a request to a verdict: gather the facts, then ask the pure rules."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from webhook import chain
from webhook.admission_review import AdmissionRequest
from webhook.rules.submission import CannotGather, Facts
from webhook.verdicts import Allowed, Errored, ErrorReason, Verdict


class FactsGatherer(Protocol):
    """Finds out what the rules need to know for one request. All raise CannotGather."""

    async def for_mutation(self, request: AdmissionRequest) -> Facts:
        """For `chain.mutate`."""
        ...

    async def for_validation(self, request: AdmissionRequest) -> Facts:
        """For `chain.validate`."""
        ...

    async def for_direct_kind(self, request: AdmissionRequest) -> Facts:
        """For `chain.mutate_direct_kind` and `chain.validate_direct_kind`."""
        ...


class Judge:
    """Holds nothing of a request once it is answered, so replicas give the same answers."""

    def __init__(self, gatherer: FactsGatherer) -> None:
        self._gatherer = gatherer

    async def mutate(self, request: AdmissionRequest) -> Verdict:
        """The answer to /mutate."""
        if chain.is_judged(request):
            return await _decide(request, self._gatherer.for_mutation, chain.mutate)
        if chain.is_created_directly(request):
            return await _decide(request, self._gatherer.for_direct_kind, chain.mutate_direct_kind)
        return Allowed()

    async def validate(self, request: AdmissionRequest) -> Verdict:
        """The answer to /validate."""
        if chain.is_judged(request):
            return await _decide(request, self._gatherer.for_validation, chain.validate)
        if chain.is_created_directly(request):
            return await _decide(
                request, self._gatherer.for_direct_kind, chain.validate_direct_kind
            )
        return Allowed()


async def _decide(
    request: AdmissionRequest,
    gather: Callable[[AdmissionRequest], Awaitable[Facts]],
    decide: Callable[[AdmissionRequest, Facts], Verdict],
) -> Verdict:
    try:
        facts = await gather(request)
    except CannotGather as problem:
        return Errored(500, str(problem), ErrorReason.MISSING_FACTS)
    return decide(request, facts)

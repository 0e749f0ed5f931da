"""Turn a request into a verdict: gather the facts, then run the pure rules."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from shared.config.configuration import AppWrapperConfig
from webhook import chain
from webhook.admission_review import AdmissionRequest
from webhook.rules.submission import CannotGather, Facts
from webhook.verdicts import Allowed, Errored, ErrorReason, Verdict


class FactsGatherer(Protocol):
    """Gather the facts that the rules need for one request. All methods raise CannotGather."""

    @property
    def config(self) -> AppWrapperConfig:
        """Return the operator's configuration, without any request."""
        ...

    async def for_mutation(self, request: AdmissionRequest) -> Facts:
        """Gather for `chain.mutate`."""
        ...

    async def for_validation(self, request: AdmissionRequest) -> Facts:
        """Gather for `chain.validate`."""
        ...

    async def for_direct_kind(self, request: AdmissionRequest) -> Facts:
        """Gather for `chain.mutate_direct_kind` and `chain.validate_direct_kind`."""
        ...


class Judge:
    """Answer requests. It keeps nothing of a request, so all replicas give the same answers."""

    def __init__(self, gatherer: FactsGatherer) -> None:
        self._gatherer = gatherer

    async def mutate(self, request: AdmissionRequest) -> Verdict:
        """Return the answer to /mutate."""
        if chain.is_judged(request):
            return chain.check_size_limits(request, self._gatherer.config) or await _decide(
                request, self._gatherer.for_mutation, chain.mutate
            )
        if chain.is_created_directly(request):
            return await _decide(request, self._gatherer.for_direct_kind, chain.mutate_direct_kind)
        return Allowed()

    async def validate(self, request: AdmissionRequest) -> Verdict:
        """Return the answer to /validate."""
        if chain.is_judged(request):
            return chain.check_size_limits(request, self._gatherer.config) or await _decide(
                request, self._gatherer.for_validation, chain.validate
            )
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

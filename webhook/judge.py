"""Turn a request into a verdict: gather the facts, then run the pure rules."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from shared.config.configuration import AppWrapperConfig
from webhook import chain
from webhook.admission_review import APPWRAPPER, AdmissionRequest
from webhook.rules.submission import CannotGather, Facts
from webhook.verdicts import Allowed, Errored, ErrorReason, Verdict


class FactsGatherer(Protocol):
    """Gather the facts that the rules need for one request. All methods raise CannotGather."""

    @property
    def config(self) -> AppWrapperConfig:
        """Return the operator's configuration, without any request."""
        ...

    async def for_mutation(self, request: AdmissionRequest) -> Facts:
        """Gather for the mutation of an AppWrapper."""
        ...

    async def for_validation(self, request: AdmissionRequest) -> Facts:
        """Gather for the validation of an AppWrapper."""
        ...

    async def for_direct_kind(self, request: AdmissionRequest) -> Facts:
        """Gather for an object that is created directly."""
        ...

    async def with_live_priority_classes(self, facts: Facts) -> Facts:
        """Replace the cached names of PriorityClasses by those that a list returns now."""
        ...


class Judge:
    """Answer requests. It keeps nothing of a request, so all replicas give the same answers."""

    def __init__(self, gatherer: FactsGatherer) -> None:
        self._gatherer = gatherer

    async def mutate(self, request: AdmissionRequest) -> Verdict:
        return await self._judge(request, self._gatherer.for_mutation, chain.mutate)

    async def validate(self, request: AdmissionRequest) -> Verdict:
        return await self._judge(request, self._gatherer.for_validation, chain.validate)

    async def _judge(
        self,
        request: AdmissionRequest,
        gather: Callable[[AdmissionRequest], Awaitable[Facts]],
        decide: Callable[[AdmissionRequest, Facts], Verdict],
    ) -> Verdict:
        if not chain.is_checked(request):
            return Allowed()
        if (denied := chain.check_size_limits(request, self._gatherer.config)) is not None:
            return denied
        if request.group_kind != APPWRAPPER:
            gather = self._gatherer.for_direct_kind
        try:
            facts = await gather(request)
            verdict = decide(request, facts)
            if chain.depends_on_priority_classes(verdict):
                # The cache may lack a class that is a moment old.
                facts = await self._gatherer.with_live_priority_classes(facts)
                verdict = decide(request, facts)
        except CannotGather as problem:
            return Errored(500, str(problem), ErrorReason.MISSING_FACTS)
        return verdict

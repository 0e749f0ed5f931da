"""Turn a request into a verdict: gather the facts, then run the pure rules."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from shared.config.configuration import AppWrapperConfig
from webhook.admission_review import AdmissionRequest
from webhook.chain import DIRECT_KINDS, Chain, chain_for
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


class Judge:
    """Answer requests. It keeps nothing of a request, so all replicas give the same answers."""

    def __init__(self, gatherer: FactsGatherer) -> None:
        self._gatherer = gatherer

    async def mutate(self, request: AdmissionRequest) -> Verdict:
        rules = chain_for(request)
        if rules is None:
            return Allowed()
        return await self._judge(request, rules, self._gatherer.for_mutation, rules.mutate)

    async def validate(self, request: AdmissionRequest) -> Verdict:
        rules = chain_for(request)
        if rules is None:
            return Allowed()
        return await self._judge(request, rules, self._gatherer.for_validation, rules.validate)

    async def _judge(
        self,
        request: AdmissionRequest,
        rules: Chain,
        gather: Callable[[AdmissionRequest], Awaitable[Facts]],
        decide: Callable[[AdmissionRequest, Facts], Verdict],
    ) -> Verdict:
        if (denied := rules.size(request, self._gatherer.config)) is not None:
            return denied
        if rules is DIRECT_KINDS:
            gather = self._gatherer.for_direct_kind
        try:
            facts = await gather(request)
        except CannotGather as problem:
            return Errored(500, str(problem), ErrorReason.MISSING_FACTS)
        return decide(request, facts)

"""Report an attempt's root cause, the failure that caused the others. Pure."""

from typing import Final

from cli.explaining.case import Case
from cli.explaining.report import RootCauseReport
from controller.facts.root_cause_status import decode
from controller.phases.phase import Phase
from controller.phases.root_cause import Decision, RootCause, outline
from shared.api.names import CONDITION_UNHEALTHY

_ENDED: Final = frozenset({Phase.RESETTING, Phase.FAILED})
_UNDER_WAY: Final = frozenset({Phase.RESUMING, Phase.RUNNING})


def root_cause(case: Case) -> RootCauseReport | None:
    """Return the root cause in the pods while they exist, and in the status after the reset."""
    snapshot = case.snapshot
    attempt = case.appwrapper.attempt
    if case.phase in _UNDER_WAY and CONDITION_UNHEALTHY in snapshot.conditions:
        found = snapshot.root_cause
        return None if found is None else _reported(found, attempt, Decision.NONE)
    recorded = decode(case.appwrapper.status)
    if recorded is None or recorded.attempt != attempt or case.phase not in _ENDED:
        return None
    return _reported(recorded.cause, attempt, recorded.decision)


def _reported(cause: RootCause, attempt: int, decision: Decision) -> RootCauseReport:
    return RootCauseReport(
        attempt=attempt,
        pod=cause.pod,
        node=cause.node,
        container=cause.container,
        rank=cause.rank,
        at=cause.time,
        code=cause.code,
        origin=cause.origin,
        recoverable=cause.recoverable,
        exit_code=cause.exit_code,
        signal=cause.signal,
        message=cause.message,
        source=cause.source.value,
        confidence=cause.confidence.value,
        infrastructure=cause.infrastructure,
        failed_pods=cause.failed_pods,
        outline=outline(cause),
        uri=cause.uri,
        decision=decision.value,
    )

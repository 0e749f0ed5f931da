"""Workers whose recorders leave a record in their termination messages."""

from dataclasses import replace
from typing import Any, Final

from tests.support.root_cause_cases.case import Case, Failure, failed_pods, failure
from tests.support.root_cause_cases.workers import End, raised

NO_RETRY: Final = "no retry: the program recorded that none can help"
RETRY: Final = "retry 1 of 3 follows"
_RESET: Final = "torch.distributed.DistBackendError: connection reset by peer"
_WHOLE: Final[dict[str, Any]] = {"precision_ns": 1_000_000_000}


def raises(text: str, after: float, rank: int | None = None, **known: Any) -> End:
    """Builds the end of a worker that raised this exception."""
    return End(after=after, record=raised(text, rank=rank, **known))


def lost(after: float, rank: int, **known: Any) -> End:
    """Builds the end of a worker that lost another one."""
    return raises(_RESET, after, rank, recoverable=True, **known)


def case(name: str, *failures: Failure, **fields: Any) -> Case:
    """Builds a case of these attempts."""
    return Case(name=name, failures=failures, **fields)


_SHARD: Final = "ValueError: bad shard SECRET-7"
_CUDA: Final = raises("RuntimeError: CUDA error SECRET-5", 0.25, 0, recoverable=True)
_BUG: Final = raises("ValueError: bad shard", 1.5, 1)
_HOPELESS: Final = {
    0: raises("ValueError: bad shard SECRET-6", 0.25, 0),
    1: raises("RuntimeError: CUDA error", 1.5, 1, recoverable=True),
}
_OS_ERROR: Final = {
    0: raises("OSError: SECRET-0", 1, 0, recoverable=True),
    1: End(after=2, code=143),
}
_LISTED: Final = "no retry: exit code 143 of w1 is in terminalExitCodes"
_BOTH: Final = failed_pods(_OS_ERROR)


_UNDATED: Final = End(after=1, dated=False, record=raised("KeyError: SECRET-9", rank=0))
_DATED: Final = raises("ValueError: SECRET-9", 2.25, 1)
_WRONG_CLOCK: Final = End(
    after=1, recorded_after=-3600, record=raised("ValueError: SECRET-3", rank=0)
)
_BARE_CODE: Final = End(
    after=1, code=3, record=raised("ended with exit code 3", code="EXIT_3", exit_code=3, **_WHOLE)
)
_TERMINATED: Final = End(
    after=0.5, code=143, record=raised("terminated", rank=0, collateral=True, exit_code=143)
)

ON_A_BAD_NODE: Final = case(
    "an error on a node that Autopilot calls bad is the node's",
    failure(
        0,
        {0: raises("ValueError: SECRET-20", 1, 0)},
        then=RETRY,
        summary="w0 on n0 r0: ValueError: SECRET-20 (UnhealthyNode)",
        facts="rank 0, exit code 1, infrastructure: UnhealthyNode",
        infrastructure="UnhealthyNode",
        suspects=(0,),
    ),
    bad_nodes=(0,),
)

CASES: Final = (
    case(
        "the first of four workers to fail is the root cause, whichever is reported first",
        Failure(
            ends={0: lost(0.75, 0), 1: lost(1.5, 1), 2: raises(_SHARD, 0.25, 2), 3: lost(0.5, 3)},
            phase="Failed",
            cause={
                "summary": "w2 r2: ValueError: bad shard SECRET-7 (non-recoverable)",
                "pod": "w2",
                "container": "main",
                "node": "n2",
                "rank": 2,
                "time": 0.25,
                "code": "ValueError",
                "origin": "User",
                "recoverable": False,
                "exitCode": 1,
                "message": "ValueError: bad shard SECRET-7",
                "source": "TerminationMessage",
                "confidence": "Recorded",
                "failedPods": 4,
                "records": 4,
                "decision": "Terminal",
            },
            unhealthy="no retry: the program recorded that none can help; w2 on n2 failed first"
            " (rank 2, exit code 1): ValueError: bad shard SECRET-7; 4 failed pods: w0 on n0"
            " (exit code 1), w1 on n1 (exit code 1), w2 on n2 (exit code 1) and 1 more",
            event="w2 on n2 failed first (rank 2, exit code 1) at TIME UTC: ValueError: bad shard"
            " SECRET-7; no retry: the program recorded that none can help",
        ),
        order=(3, 1, 0, 2),
    ),
    case(
        "a recoverable root cause is retried, whatever the other worker records",
        failure(0, {0: _CUDA, 1: _BUG}, then=RETRY, suspects=(0,)),
        order=(1, 0),
    ),
    case(
        "a non-recoverable root cause ends the job, whatever the other worker records",
        failure(
            0,
            _HOPELESS,
            then=NO_RETRY,
            warnings={
                "NonRecoverableError": f"failed: {NO_RETRY}; w0 on n0 failed first (rank 0, exit"
                f" code 1): ValueError: bad shard SECRET-6; {failed_pods(_HOPELESS)}"
            },
        ),
        order=(1, 0),
    ),
    case(
        "a recoverable root cause has as many retries as any other, and the last one is shown",
        failure(0, {0: _CUDA, 1: _BUG}, then="retry 1 of 1 follows", suspects=(0,)),
        failure(
            1,
            {0: lost(1, 0), 1: raises("OSError: SECRET-8", 0.25, 1, recoverable=True)},
            then="retries exhausted (1 of 1)",  # no suspect: an OSError is not the node's
        ),
        annotations={"retryLimit": "1"},
    ),
    case(
        "a record without a time counts from the end of its pod: here it is the later one",
        failure(1, {0: replace(_UNDATED, after=4), 1: _DATED}, then=NO_RETRY),
    ),
    case(
        "a record without a time counts from the end of its pod: here it is the earlier one",
        failure(0, {0: _UNDATED, 1: _DATED}, then=NO_RETRY),
    ),
    case(
        "a time that cannot be is replaced by the kubelet's, and the clock is suspect",
        failure(0, {0: _WRONG_CLOCK, 1: lost(2, 1)}, then=NO_RETRY, clockSuspect=True),
    ),
    case(
        "at equal whole seconds an own error precedes a lost peer, and a lower rank a higher one",
        failure(
            1,
            {
                0: lost(1, 0, **_WHOLE),
                1: raises("ValueError: SECRET-16", 1, 1, **_WHOLE),
                2: raises("ValueError: bad shard", 1, 2, **_WHOLE),
            },
            then=NO_RETRY,
        ),
        order=(2, 0, 1),
    ),
    case(
        "an error explains a bare exit code in the same second",
        failure(1, {0: _BARE_CODE, 1: raises("ValueError: SECRET-13", 1.5, 1)}, then=NO_RETRY),
    ),
    case(
        "a worker that was terminated is no root cause beside one that failed by itself",
        failure(
            1,
            {0: _TERMINATED, 1: raises("OSError: SECRET-14", 1, 1, recoverable=True)},
            then=RETRY,
        ),
    ),
    case(
        "the default strategy asks every failed pod for its exit code, and shows the root cause",
        failure(
            0,
            _OS_ERROR,
            then=_LISTED,
            unhealthy=f"{_LISTED}; w0 on n0 failed first (rank 0, exit code 1): OSError: SECRET-0;"
            f" {_BOTH}",
        ),
        annotations={"errorAggregation": "default", "terminalExitCodes": "143"},
    ),
    case(
        "the strategy off asks every failed pod for its exit code, and shows no root cause",
        Failure(ends=_OS_ERROR, phase="Failed", unhealthy=f"{_LISTED}; {_BOTH}"),
        annotations={"errorAggregation": "off", "terminalExitCodes": "143"},
    ),
    case(
        "the strategy earliest asks the root cause alone for its exit code",
        failure(0, _OS_ERROR, then=RETRY),
        annotations={"errorAggregation": "earliest", "terminalExitCodes": "143"},
    ),
    case(
        "a terminal exit code of the root cause takes precedence over its record",
        failure(0, _OS_ERROR, then="no retry: exit code 1 of w0 is in terminalExitCodes"),
        annotations={"terminalExitCodes": "1"},
    ),
    case(
        "a retryable exit code of the root cause takes precedence over its record",
        failure(0, _HOPELESS, then=RETRY),
        annotations={"retryableExitCodes": "1"},
    ),
    case(
        "an exit code of the root cause that is not retryable ends the job",
        failure(
            0,
            {0: raises("OSError: SECRET-1", 1, 0, recoverable=True)},
            then="no retry: exit code 1 of w0 is not in retryableExitCodes",
        ),
        annotations={"retryableExitCodes": "10"},
    ),
    ON_A_BAD_NODE,
)

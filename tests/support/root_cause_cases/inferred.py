"""Workers without a recorder: their exit codes, the ends of their logs, and their order decide."""

from typing import Final

from tests.support.root_cause_cases.case import failure
from tests.support.root_cause_cases.recorded import RETRY, case, lost
from tests.support.root_cause_cases.workers import End

_NCCL: Final = (
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting"
)
_ERROR: Final = "ValueError: SECRET-11"
_LOG: Final = f'Traceback (most recent call last):\n  File "train.py", line 3\n{_ERROR}\n'
_TRACEBACK: Final = {0: End(message=_LOG)}
_OOM: Final = {
    0: End(message=f"SECRET-12\n{_NCCL}\n"),
    1: lost(0.25, 1),
    2: End(),
    3: End(code=137, reason="OOMKilled"),
}
_KILLED: Final = "exit code 137, signal 9"
_NO_COMMAND: Final = 'runc create failed: exec: "trian": executable file not found in $PATH'
_ENDED: Final = End(after=2, code=143)
_LOST: Final = End(after=1, message=_NCCL)

CASES: Final = (
    case(
        "without a recorder the log's error is shown, and retries are unchanged",
        failure(0, _TRACEBACK, error_line=_ERROR, then="retry 1 of 1 follows", suspects=(0,)),
        failure(0, _TRACEBACK, error_line=_ERROR, then="retries exhausted (1 of 1)", suspects=(0,)),
        annotations={"retryLimit": "1"},
    ),
    case(
        "without a recorder and a log the exit code is shown",
        failure(0, {0: End(code=3)}, then=RETRY, suspects=(0,)),
    ),
    case(
        "a container out of memory explains the peers that lost it in the same second",
        failure(
            3,
            _OOM,
            then=RETRY,
            summary="w3 on n3: OOMKilled, exit code 137 (raise the memory limit)",
            facts=f"{_KILLED}, OOMKilled",
            event=f"w3 on n3 failed first ({_KILLED}, OOMKilled) at TIME UTC; raise the container's"
            f" memory limit, or let it use less; {RETRY}",
            code="OOMKilled",
            signal=9,
        ),
    ),
    case(
        "the exit codes of the other workers count for nothing",
        failure(
            1,
            {0: _ENDED, 1: End(after=1, code=10, message="SECRET-15: no lease"), 2: _ENDED},
            then="retry 1 of 1 follows",
            suspects=(1,),
        ),
        annotations={"retryableExitCodes": "10", "retryLimit": "1"},
        order=(2, 1, 0),
    ),
    case(
        "a worker that ends slowly is the root cause of those that lost it before its end",
        failure(
            1,
            {0: End(after=2, message=_NCCL), 1: End(after=4, message=_LOG), 2: _LOST},
            error_line=_ERROR,
            then=RETRY,
            suspects=(1,),
        ),
    ),
    case(
        "if all look like consequences, the earliest is the root cause",
        failure(1, {0: _ENDED, 1: _LOST, 2: End(after=3, code=137)}, then=RETRY),
    ),
    case(
        "a worker that was killed first is the root cause: the kernel need not report why",
        failure(
            1,
            {0: End(after=2, message=_NCCL), 1: End(after=1, code=137)},
            then=RETRY,
            signal=9,
            suspects=(1,),
        ),
    ),
    case(
        "a segmentation fault explains a lost peer, and its node is a suspect",
        failure(0, {0: End(after=1, code=139), 1: _LOST}, then=RETRY, signal=11, suspects=(0,)),
    ),
    case(
        "an image without the command makes no node a suspect",
        failure(
            0,
            {0: End(code=128, reason="StartError", message=_NO_COMMAND)},
            then=RETRY,
            code="StartError",
        ),
    ),
)

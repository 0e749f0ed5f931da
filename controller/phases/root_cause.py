"""The failure that caused the others, and its texts."""

import re
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from shared.api.lines import clipped


class Source(StrEnum):
    """The source of a failure's details."""

    STORE = "Store"
    TERMINATION_MESSAGE = "TerminationMessage"
    LOG = "Log"
    POD_STATUS = "PodStatus"


class Confidence(StrEnum):
    """The certainty of the choice."""

    RECORDED = "Recorded"  # the program recorded it
    INFERRED = "Inferred"  # from the pods' states alone


class Decision(StrEnum):
    """The consequence of a failure."""

    RETRY = "Retry"
    TERMINAL = "Terminal"
    NONE = "None"


@dataclass(frozen=True, slots=True, kw_only=True)
class RootCause:
    """The failure of an attempt that caused the other failures.

    `recoverable`: recorded by the program; None without a record. `infrastructure`: a cause outside
    the program, as Kubernetes or Autopilot names it ("Evicted", a node's label); it overrides
    `recoverable`. `exits_terminally`: by an annotation the exit code forbids a retry.
    `points_at_node`: the node may be the cause. `message`: at most 2 KiB, without control
    characters except line ends.
    """

    pod: str
    pod_uid: str = ""
    container: str = ""
    node: str = ""
    rank: int | None = None
    time: datetime | None = None  # by the clock of its node
    code: str = ""
    origin: str = "Unknown"  # User, System or Unknown
    recoverable: bool | None = None
    exit_code: int | None = None
    signal: int | None = None
    message: str = ""
    source: Source = Source.POD_STATUS
    confidence: Confidence = Confidence.INFERRED
    failed_pods: int = 1
    records: int = 0  # the number of records that the choice is based on
    uri: str = ""
    infrastructure: str = ""
    clock_suspect: bool = False  # the program recorded an impossible time; the kubelet's is used
    exits_terminally: bool = False
    points_at_node: bool = False

    @property
    def forbids_retry(self) -> bool:
        """True if the program recorded that no retry helps, and no other cause is known."""
        return self.recoverable is False and not self.infrastructure


# The texts of a root cause.
#
# Text that users wrote (`message`, `code`) appears only where the AppWrapper's readers see it: in
# its status, its conditions and its Events. The operator's log uses only `place_of` and `outline`.

LONGEST_EVENT: Final = 1024  # bytes, the limit of Kubernetes
LONGEST_LINE: Final = 880  # bytes of a message that names a root cause; other text may precede it
LONGEST_SUMMARY: Final = 256  # bytes
_LONGEST_HEADLINE: Final = 300
_LONGEST_QUOTE: Final = 500
# The line of a Python traceback, or of a log, that names the error.
_ERROR_LINE: Final = re.compile(
    r"\s*(?:\[[^\]]{1,20}\]:?\s*)?[\w.]*(?:Error|Exception|Interrupt)\b"
)
# Errors of launchers (torchrun, accelerate, torch.multiprocessing): one of their processes failed.
ONLY_REPORTS: Final = (
    r"(?:ChildFailedError|SignalException|CalledProcessError|Process(?:Raised|Exited)Exception)"
)
_ONLY_REPORTS: Final = re.compile(ONLY_REPORTS)
OUT_OF_MEMORY: Final = "OOMKilled"
_MORE_MEMORY: Final = "raise the container's memory limit, or let it use less"


def summary(root_cause: RootCause) -> str:
    """Return one line of at most 256 bytes: pod, node if it may matter, error and remedy.

    `train-worker-3 r3: ValueError: bad shard (non-recoverable)` or
    `train-worker-0 on gpu-3: OOMKilled, exit code 137 (raise the memory limit)`.
    """
    own = root_cause.recoverable is not None and not root_cause.infrastructure
    where = place_of(replace(root_cause, node="") if own else root_cause)
    rank = "" if root_cause.rank is None else f" r{root_cause.rank}"
    help_ = _summary_note(root_cause)
    room = LONGEST_SUMMARY - _size(help_)
    return clipped(f"{where}{rank}: {_summary_of_end(root_cause)}", room) + help_


def _summary_of_end(root_cause: RootCause) -> str:
    if root_cause.code == OUT_OF_MEMORY:
        return f"{OUT_OF_MEMORY}, exit code {root_cause.exit_code}"
    words = headline(root_cause)
    return " ".join(words.split()) or ", ".join(_ends(root_cause)) or root_cause.code or "failed"


def _summary_note(root_cause: RootCause) -> str:
    if (cause := root_cause.infrastructure) and cause != root_cause.code:
        return f" ({cause})"
    if root_cause.code == OUT_OF_MEMORY:
        return " (raise the memory limit)"
    known = {True: " (recoverable)", False: " (non-recoverable)"}
    return "" if root_cause.recoverable is None else known[root_cause.recoverable]


def headline(root_cause: RootCause) -> str:
    """Return the most informative line of the message; empty without a message."""
    lines = [line.strip() for line in root_cause.message.splitlines() if line.strip()]
    if not lines:
        return ""
    first_is_it = root_cause.source is not Source.LOG and not lines[0].startswith("Traceback")
    if first_is_it:
        return clipped(lines[0], _LONGEST_HEADLINE)
    errors = [each for each in lines if _ERROR_LINE.match(each)]
    own = [each for each in errors if not _ONLY_REPORTS.search(each)]
    return clipped([*lines[-1:], *errors[-1:], *own[-1:]][-1], _LONGEST_HEADLINE)


def place_of(root_cause: RootCause) -> str:
    """Return `train-3 on gpu-4`."""
    pod = root_cause.pod or "a worker"
    return f"{pod} on {root_cause.node}" if root_cause.node else pod


def outline(root_cause: RootCause) -> str:
    """Return `train-3 on gpu-4 failed first (rank 3, exit code 1)`, without text of users."""
    first = " first" if root_cause.failed_pods > 1 else ""
    rank = [] if root_cause.rank is None else [f"rank {root_cause.rank}"]
    cause = root_cause.infrastructure
    infrastructure = [f"infrastructure: {cause}"] if cause else []
    facts = ", ".join([*rank, *_ends(root_cause), *infrastructure])
    return f"{place_of(root_cause)} failed{first}" + (f" ({facts})" if facts else "")


def line(root_cause: RootCause) -> str:
    """Return the outline and the error: `train-3 on gpu-4 failed first (exit code 1): CUDA …`."""
    what = _what(root_cause)
    return f"{outline(root_cause)}: {what}" if what else outline(root_cause)


def event_text(root_cause: RootCause, consequence: str) -> str:
    """Return pod, node, time, error and `consequence`, in at most 1024 bytes."""
    at = f" at {root_cause.time:%H:%M:%S} UTC" if root_cause.time else ""
    advice = f"; {_MORE_MEMORY}" if root_cause.code == OUT_OF_MEMORY else ""
    rest = advice + (f"; {consequence}" if consequence else "")
    opening = clipped(f"{outline(root_cause)}{at}", LONGEST_EVENT // 4)
    room = min(_LONGEST_QUOTE, LONGEST_EVENT - _size(opening) - _size(rest) - len(": "))
    quote = _quoted(root_cause, room) or _what(root_cause)
    return clipped((f"{opening}: {quote}" if quote else opening) + rest, LONGEST_EVENT)


def _what(root_cause: RootCause) -> str:
    """Return the headline or the code; empty if the outline contains it already."""
    outlined = (OUT_OF_MEMORY, root_cause.infrastructure)
    return headline(root_cause) or ("" if root_cause.code in outlined else root_cause.code)


def _quoted(root_cause: RootCause, room: int) -> str:
    """Return the first lines of the message, or the last lines of a log, in one line."""
    lines = [line.strip() for line in root_cause.message.splitlines() if line.strip()]
    text = " | ".join(lines)
    if root_cause.source is not Source.LOG or _size(text) <= room:
        return clipped(text, room)
    best = headline(root_cause)
    while lines and _size(" | ".join([best, *lines])) > room:
        lines = lines[1:]
    return clipped(" | ".join([best, *(each for each in lines if each != best)]), room)


def _ends(root_cause: RootCause) -> list[str]:
    code = [] if root_cause.exit_code is None else [f"exit code {root_cause.exit_code}"]
    signal = [] if root_cause.signal is None else [f"signal {root_cause.signal}"]
    killed = [OUT_OF_MEMORY] if root_cause.code == OUT_OF_MEMORY else []
    return [*code, *signal, *killed]


def _size(text: str) -> int:
    return len(text.encode())

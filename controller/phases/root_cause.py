"""The failure that made the others happen, and how it reads."""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final


class Source(StrEnum):
    """Where a failure was read."""

    STORE = "Store"
    TERMINATION_MESSAGE = "TerminationMessage"
    LOG = "Log"
    POD_STATUS = "PodStatus"


class Confidence(StrEnum):
    """How sure the choice is."""

    RECORDED = "Recorded"  # the program recorded it
    INFERRED = "Inferred"  # from the pods' states alone
    AMBIGUOUS = "Ambiguous"  # another failure came too close to tell


class Decision(StrEnum):
    """What followed from a failure."""

    RETRY = "Retry"
    TERMINAL = "Terminal"
    NONE = "None"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerUp:
    """The failure that came next, and how far behind the root cause it was.

    Negative: it was earlier, and is a consequence all the same. None: a time is not known.
    """

    pod: str
    summary: str
    gap: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RootCause:
    """Out of all failures of one attempt, the one that made the others happen.

    `recoverable` is what the program said, None if it did not say. `infrastructure` names, in
    Kubernetes' or Autopilot's words, a cause that is not the program's ("Evicted", a node's label);
    it overrides what the program said. `exits_terminally`: an annotation says that its exit code
    forbids a retry. `points_at_node`: the node may be the reason. `message` has no control
    characters but line ends, and at most 2 KiB.
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
    records: int = 0  # how many the choice was made from
    uri: str = ""
    infrastructure: str = ""
    clock_suspect: bool = False  # the program noted a time that cannot be; the kubelet's is taken
    exits_terminally: bool = False
    points_at_node: bool = False
    runner_up: RunnerUp | None = None

    @property
    def forbids_retry(self) -> bool:
        """The program recorded that no retry can help, and nothing else was the cause."""
        return self.recoverable is False and not self.infrastructure


# How a root cause reads.
#
# Users' text (`message`, `code`) stands only in what the AppWrapper's readers see: its status, its
# conditions and its Events. `place_of` and `outline` are for the operator's log as well.

LONGEST_EVENT: Final = 1024  # bytes, as Kubernetes takes them
LONGEST_LINE: Final = 880  # bytes of a message that names a root cause; others open it
LONGEST_SUMMARY: Final = 256  # bytes
_LONGEST_HEADLINE: Final = 300
_LONGEST_QUOTE: Final = 500
_MORE: Final = "…"
# The line of a Python traceback, or of a log, that says what went wrong.
_ERROR_LINE: Final = re.compile(
    r"\s*(?:\[[^\]]{1,20}\]:?\s*)?[\w.]*(?:Error|Exception|Interrupt)\b"
)
# Errors of launchers (torchrun, accelerate, torch.multiprocessing): one of its processes failed.
ONLY_REPORTS: Final = (
    r"(?:ChildFailedError|SignalException|CalledProcessError|Process(?:Raised|Exited)Exception)"
)
_ONLY_REPORTS: Final = re.compile(ONLY_REPORTS)
OUT_OF_MEMORY: Final = "OOMKilled"


def summary(root_cause: RootCause) -> str:
    """Return one line of at most 256 bytes: who, where if that may matter, what, and what helps.

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
    """Return the one line of its message that says most; empty if there is no message."""
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
    """Return `train-3 on gpu-4 failed first (rank 3, exit code 1)`: nothing that users wrote."""
    first = " first" if root_cause.failed_pods > 1 else ""
    rank = [] if root_cause.rank is None else [f"rank {root_cause.rank}"]
    cause = root_cause.infrastructure
    infrastructure = [f"infrastructure: {cause}"] if cause else []
    facts = ", ".join([*rank, *_ends(root_cause), *infrastructure])
    return f"{place_of(root_cause)} failed{first}" + (f" ({facts})" if facts else "")


def line(root_cause: RootCause) -> str:
    """Return the outline and its error: `train-3 on gpu-4 failed first (exit code 1): CUDA …`."""
    what = _what(root_cause)
    return f"{outline(root_cause)}: {what}" if what else outline(root_cause)


def event_text(root_cause: RootCause, consequence: str) -> str:
    """Return who failed, where, what, when, the runner-up and what follows; at most 1024 bytes."""
    at = f" at {root_cause.time:%H:%M:%S} UTC" if root_cause.time else ""
    rest = "".join(f"; {each}" for each in [*_advice(root_cause), *_behind(root_cause)])
    rest = clipped(rest, LONGEST_EVENT // 3) + (f"; {consequence}" if consequence else "")
    said = clipped(f"{outline(root_cause)}{at}", LONGEST_EVENT // 4)
    room = min(_LONGEST_QUOTE, LONGEST_EVENT - _size(said) - _size(rest) - len(": "))
    quote = _quoted(root_cause, room) or _what(root_cause)
    return clipped((f"{said}: {quote}" if quote else said) + rest, LONGEST_EVENT)


def gap_words(gap: timedelta | None) -> str:
    """Return `1.250 s later`, `3 s earlier`, `at the same time` or `at an unknown time`."""
    if gap is None:
        return "at an unknown time"
    seconds = f"{abs(gap.total_seconds()):.3f}".rstrip("0").rstrip(".")
    if seconds == "0":
        return "at the same time"
    return f"{seconds} s {'later' if gap > timedelta(0) else 'earlier'}"


def clipped(text: str, limit: int) -> str:
    """Return at most `limit` bytes of UTF-8; a cut text ends with `…`."""
    encoded = text.encode()
    if len(encoded) <= limit:
        return text
    return encoded[: max(0, limit - _size(_MORE))].decode(errors="ignore") + _MORE


def _what(root_cause: RootCause) -> str:
    """Empty where the outline says it already."""
    said = (OUT_OF_MEMORY, root_cause.infrastructure)
    return headline(root_cause) or ("" if root_cause.code in said else root_cause.code)


def _quoted(root_cause: RootCause, room: int) -> str:
    """Its first lines, of a log its last ones, in one line."""
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


def _advice(root_cause: RootCause) -> list[str]:
    if root_cause.code != OUT_OF_MEMORY:
        return []
    return ["raise the container's memory limit, or let it use less"]


def _behind(root_cause: RootCause) -> list[str]:
    if (second := root_cause.runner_up) is None:
        return []
    return [f"next was {second.pod}, {gap_words(second.gap)} ({second.summary})"]


def _size(text: str) -> int:
    return len(text.encode())

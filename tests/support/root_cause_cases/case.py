"""One case of a root cause: how the workers of an AppWrapper fail, and all reports about that.

Two runners try every case: the controller's gathering and decision in process, and a real cluster
with simulated nodes. Both compare all reports with those of `expected`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from shared.api.objects import JsonObject
from shared.api.times import format_precise_time, format_time
from tests.support.builders.appwrappers import phase
from tests.support.life_record import UNHEALTHY, condition
from tests.support.root_cause_cases.workers import End, Workers

STORE: Final = "local"
# All workers fail before a decision: the grace is long until the runner ends it.
PATIENT: Final = {
    "failureGracePeriodDuration": "1h",
    "retryPausePeriodDuration": "0s",
    "deletionOnFailureGracePeriodDuration": "0s",
}
_WORKER: Final = re.compile(r"\b([wn])(\d)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureReports:
    """Everything that is reported about a failure.

    `unhealthy` and `reason` are those of the condition Unhealthy. `events` have the reason
    RootCause, `warnings` other reasons. `history` is `status.errorHistory`.
    """

    root_cause: JsonObject
    unhealthy: str
    events: tuple[str, ...]
    phase: str
    reason: str = "FoundFailedPods"
    retries: int = 0
    suspects: tuple[str, ...] = ()
    history: tuple[JsonObject, ...] = ()
    warnings: Mapping[str, str] = field(default_factory=dict)


def reports_in(
    item: JsonObject, events: Iterable[str] = (), warnings: Mapping[str, str] | None = None
) -> FailureReports:
    """Returns what this state of the AppWrapper reports, beside these Events."""
    status = item["status"]
    unhealthy = condition(item, UNHEALTHY)
    return FailureReports(
        root_cause=status.get("rootCause", {}),
        unhealthy=unhealthy.message,
        reason=unhealthy.reason,
        events=tuple(events),
        phase=phase(item),
        retries=int(status.get("resettingCount", 0)),
        suspects=tuple(each["node"] for each in status.get("suspectNodes", ())),
        history=tuple(status.get("errorHistory", ())),
        warnings=warnings or {},
    )


Files = Callable[[Path, Workers], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How the workers of one attempt end, by index, and what the decision about it reports.

    In expected texts, `w2` is the name of worker 2, `n2` its node, and TIME the time of `cause`.
    In `cause`, which is `status.rootCause`, `time` is in seconds like `End.after`, and `uri` the
    name of a file in the store. Without a cause, nothing of root causes is reported.
    `stored` writes the files of the attempt's folder in the error store.
    """

    ends: Mapping[int, End]
    stored: Files | None = None
    phase: str
    cause: JsonObject = field(default_factory=dict)
    unhealthy: str
    event: str = ""
    suspects: tuple[int, ...] = ()
    # The messages of other Events, by reason.
    warnings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An AppWrapper of single pods with these annotations, whose attempts fail one by one.

    `failures` has one entry per attempt: each but the last is retried. `order` is the order in
    which the kubelets report the ends, by index. `bad_nodes`: the workers whose nodes Autopilot
    calls bad.
    """

    name: str
    annotations: Mapping[str, str] = field(default_factory=dict)
    failures: tuple[Failure, ...]
    order: tuple[int, ...] = ()
    bad_nodes: tuple[int, ...] = ()

    @property
    def workers(self) -> int:
        """Returns the number of pods."""
        return len(self.failures[0].ends)

    @property
    def has_store(self) -> bool:
        """True if its recorders use an error store."""
        return any(each.stored for each in self.failures)

    @property
    def effective_annotations(self) -> dict[str, str]:
        """Returns the annotations of its AppWrapper, without their prefix."""
        pause = {} if len(self.failures) > 1 else {"retryPausePeriodDuration": "1h"}
        store = {"errorStore": STORE} if self.has_store else {}
        return {**PATIENT, **pause, **store, **self.annotations}


def expected(case: Case, attempts: list[Workers], folder: Path | None = None) -> FailureReports:
    """Returns the reports about the last of these attempts. `folder`: its records in the store."""
    past = list(zip(case.failures, attempts, strict=False))
    failure, workers = past[-1]
    causes = [_with_workers(*each) for each in past]
    if "uri" in causes[-1]:
        assert folder is not None
        causes[-1]["uri"] = f"{folder.as_uri()}/{causes[-1]['uri']}"
    suspected = [named.node(index) for each, named in past for index in each.suspects]
    return FailureReports(
        root_cause=causes[-1],
        unhealthy=_filled(failure.unhealthy, workers),
        events=tuple(_event(*each) for each in past if each[0].event),
        phase=failure.phase,
        retries=sum(each.phase == "Resetting" for each, _ in past),
        # A node that failed again moves to the end.
        suspects=tuple(dict.fromkeys(reversed(suspected)))[::-1],
        history=tuple(
            {key: each[key] for key in ("attempt", "time", "pod", "summary", "decision")}
            for each in causes[:-1]
        ),
        warnings={reason: _filled(text, workers) for reason, text in failure.warnings.items()},
    )


def _with_workers(failure: Failure, workers: Workers) -> JsonObject:
    """Returns the expected `status.rootCause` with real names and times."""
    filled: JsonObject = {
        key: _filled(value, workers) if isinstance(value, str) and key != "message" else value
        for key, value in failure.cause.items()
    }
    if "time" in filled:
        moment = workers.moment(filled["time"])
        filled["time"] = (format_precise_time if moment.microsecond else format_time)(moment)
    return filled | {"attempt": workers.attempt} if filled else filled


def _event(failure: Failure, workers: Workers) -> str:
    time = workers.moment(failure.cause["time"])
    return _filled(failure.event, workers).replace("TIME", f"{time:%H:%M:%S}")


def _filled(text: str, workers: Workers) -> str:
    def real(found: re.Match[str]) -> str:
        kind, index = found.groups()
        return (workers.name if kind == "w" else workers.node)(int(index))

    return _WORKER.sub(real, text)


def failure(
    root: int,
    ends: Mapping[int, End],
    *,
    then: str,
    error_line: str = "",
    summary: str = "",
    facts: str = "",
    unhealthy: str = "",
    event: str = "",
    suspects: tuple[int, ...] = (),
    stored: Files | None = None,
    warnings: Mapping[str, str] | None = None,
    **cause: Any,
) -> Failure:
    """Builds an attempt's failure whose root cause is worker `root`, and the texts about it.

    `then` is the next step; `error_line` the line that names the error, by default the whole
    message. `facts` are those of its end. The other fields of `status.rootCause` replace the usual
    ones; None leaves a field out.
    """
    end, record = ends[root], ends[root].record
    error_line = error_line or (record.message if record else end.message)
    rank = [f"rank {record.rank}"] if record and record.rank is not None else []
    signal = [f"signal {cause['signal']}"] if "signal" in cause else []
    facts = facts or ", ".join([*rank, f"exit code {end.code}", *signal])
    outline = f"w{root} on n{root} failed{' first' if len(ends) > 1 else ''} ({facts})"
    opening = {"no": f"{then}; ", "retries": f"{then}: "}.get(then.partition(" ")[0], "")
    error = f": {error_line}" if error_line else ""
    listed = failed_pods(ends)
    news = f"{outline}{error}; {listed}" if len(ends) > 1 else f"{listed}{error}"
    lines = " | ".join(line.strip() for line in end.message.splitlines())
    quoted = f": {lines}" if lines else error
    retried = then.startswith("retry ")
    known = {
        "summary": summary or _summary(root, end, error_line or facts),
        "failedPods": len(ends),
        "records": sum(each.record is not None for each in ends.values()),
        "decision": "Retry" if retried else "Terminal",
        **_of_end(root, end),
        **cause,
    }
    return Failure(
        ends=ends,
        stored=stored,
        phase="Resetting" if retried else "Failed",
        cause={key: value for key, value in known.items() if value is not None},
        unhealthy=unhealthy or f"{opening}{news}",
        event=event or f"{outline} at TIME UTC{quoted}; {then}",
        suspects=suspects,
        warnings=warnings or {},
    )


def _summary(root: int, end: End, error_line: str) -> str:
    if end.record is None:
        return f"w{root} on n{root}: {error_line}"
    rank = "" if end.record.rank is None else f" r{end.record.rank}"
    note = "recoverable" if end.record.recoverable else "non-recoverable"
    return f"w{root}{rank}: {error_line} ({note})"


def _of_end(root: int, end: End) -> JsonObject:
    """Returns the fields of `status.rootCause` that show the worker's end."""
    fields_of_all = {
        "pod": f"w{root}",
        "container": "main",
        "node": f"n{root}",
        "time": end.after,
        "exitCode": end.code,
    }
    if end.record is None:
        return fields_of_all | {
            "origin": "Unknown",
            "message": end.message.strip() or None,
            "source": "Log" if end.message else "PodStatus",
            "confidence": "Inferred",
        }
    return fields_of_all | {
        "rank": end.record.rank,
        "code": end.record.code or None,
        "origin": end.record.origin.capitalize(),
        "recoverable": end.record.recoverable,
        "message": end.record.message,
        "source": "TerminationMessage",
        "confidence": "Recorded",
    }


def failed_pods(ends: Mapping[int, End]) -> str:
    """Builds the list of the failed workers in a message."""
    named = [
        f"w{index} on n{index} (exit code {ends[index].code}"
        f"{'' if ends[index].reason == 'Error' else f', {ends[index].reason}'})"
        for index in sorted(ends)
    ]
    rest = f" and {len(named) - 3} more" if len(named) > 3 else ""
    number = "1 failed pod" if len(named) == 1 else f"{len(named)} failed pods"
    return f"{number}: {', '.join(named[:3])}{rest}"

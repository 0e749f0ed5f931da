"""Ends workers as their kubelets would report it, and collects all reports about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlparse

import yaml

from localcluster.access.running import RunningCluster
from shared.api.objects import PODS, JsonObject
from shared.api.times import format_precise_time, format_time, parse_time
from tests.support.builders.appwrappers import phase, version_of
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.life import Life, listed
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.life_record import UNHEALTHY, condition
from tests.support.patience import comes_to
from worker import error_document, termination_message
from worker.record import USER, ErrorRecord

LABEL: Final = "workload.codeflare.dev/uid"
STORE: Final = "local"
# All of them fail before a decision: the grace is long until the test ends it.
PATIENT: Final = {
    "failureGracePeriodDuration": "1h",
    "retryPausePeriodDuration": "0s",
    "deletionOnFailureGracePeriodDuration": "0s",
}
_BUDGET: Final = 4096  # of a pod with one container


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a worker ends, `after` seconds from the moment at which all of them ran.

    `record` is its recorder's, without time and identity; without one, `message` is the termination
    message, such as the end of the log. `dated`: the record has a time.
    """

    after: float = 0.0
    code: int = 1
    reason: str = "Error"
    message: str = ""
    record: ErrorRecord | None = None
    dated: bool = True


def raised(text: str, *, recoverable: bool = False, **known: Any) -> ErrorRecord:
    """Builds the recorder's record of an exception, as in `ValueError: bad shard`."""
    return ErrorRecord(
        code=text.partition(":")[0],
        message=text,
        recoverable=recoverable,
        origin=USER,
        exit_code=known.pop("exit_code", 1),
        **known,
    )


class Workers:
    """The pods of one attempt, by name, all of which ran at `base`."""

    def __init__(self, lives: Lives, life: Life, pods: list[JsonObject]) -> None:
        self._lives = lives
        self._life = life
        self.pods = pods
        self.base = max(map(_started, pods))

    @property
    def attempt(self) -> int:
        """Returns the number of the attempt."""
        return int(self.pods[0]["metadata"]["labels"]["workload.codeflare.dev/attempt"])

    def name(self, index: int) -> str:
        """Returns the pod's name."""
        return str(self.pods[index]["metadata"]["name"])

    def node(self, index: int) -> str:
        """Returns the node on which it ran."""
        return str(self.pods[index]["spec"]["nodeName"])

    def record(self, index: int, end: End) -> ErrorRecord:
        """Returns its recorder's record, with time and identity. The end must have one."""
        assert end.record is not None
        return replace(
            end.record,
            time_ns=_nanoseconds(self.moment(end)) if end.dated else None,
            worker=self.name(index),
            pod_uid=self.pods[index]["metadata"]["uid"],
            attempt=self.attempt,
            started_ns=_nanoseconds(self.base),
            record_id=f"{self.name(index)}-{self.attempt}",
        )

    def moment(self, end: End) -> datetime:
        """Returns when it failed."""
        return self.base + timedelta(seconds=end.after)

    def shown(self, end: End) -> str:
        """Formats that time as the status shows it for a record."""
        return format_precise_time(self.moment(end))

    async def end(self, ends: Mapping[int, End], *, order: Sequence[int] = ()) -> None:
        """Ends workers, by index, in this order of arrival; by default in the order of the
        index.
        """
        for index in order or sorted(ends):
            await self._lives.patch_pod(self.name(index), self.ended(index, ends[index]))

    def ended(self, index: int, end: End) -> JsonObject:
        """Returns the status that its kubelet writes."""
        message = end.message
        if end.record is not None:
            message = termination_message.encode(self.record(index, end), _BUDGET).decode()
        terminated = {
            "exitCode": end.code,
            "reason": end.reason,
            "startedAt": format_time(self.base),
            "finishedAt": format_time(self.moment(end).replace(microsecond=0)),
            **({"message": message} if message else {}),
        }
        (container,) = self.pods[index]["status"]["containerStatuses"]
        ended = {**container, "ready": False, "state": {"terminated": terminated}}
        return {"phase": "Failed", "containerStatuses": [ended]}

    def told(
        self,
        index: int,
        ends: Mapping[int, End],
        *,
        what: str,
        summary: str = "",
        note: str = "",
        decision: str,
        then: str,
        before: str = "",
        facts: str = "",
        **fields: Any,
    ) -> dict[str, Any]:
        """Returns the expected FailureReports if this worker's end is the root cause among `ends`.

        `what` is the most informative line of its message, `summary` the column's form of it (by
        default the same), `note` the column's addition. `then` is the next step, `before` the
        beginning of Unhealthy (`then`, if no retry follows). `facts` are those of its end, unless
        it has a record.
        """
        before = before or (f"{then}; " if then.startswith("no retry: ") else "")
        end = ends[index]
        rank = end.record.rank if end.record else None
        known = facts or ", ".join(
            [*([] if rank is None else [f"rank {rank}"]), f"exit code {end.code}"]
        )
        first = " first" if len(ends) > 1 else ""
        outline = f"{self.name(index)} on {self.node(index)} failed{first} ({known})"
        who = self.name(index) if end.record else f"{self.name(index)} on {self.node(index)}"
        shown = summary or f"{who}{'' if rank is None else f' r{rank}'}: {what}{note}"
        fields = {"summary": shown, "decision": decision, "failedPods": len(ends), **fields}
        quoted = " | ".join(line.strip() for line in end.message.splitlines()) or what
        moment = f"{self.moment(end):%H:%M:%S} UTC"
        failed = self._listed(ends)
        unhealthy = f"{outline}: {what}; {failed}" if len(ends) > 1 else f"{failed}: {what}"
        return {
            "root_cause": self._cause(index, end, fields),
            "unhealthy": before + unhealthy,
            "events": (f"{outline} at {moment}: {quoted}; {then}",),
        }

    def _listed(self, ends: Mapping[int, End]) -> str:
        pods = [
            f"{self.name(index)} on {self.node(index)} (exit code {ends[index].code}"
            f"{', OOMKilled' if ends[index].reason == 'OOMKilled' else ''})"
            for index in sorted(ends)
        ]
        rest = f" and {len(pods) - 3} more" if len(pods) > 3 else ""
        number = "1 failed pod" if len(pods) == 1 else f"{len(pods)} failed pods"
        return f"{number}: {', '.join(pods[:3])}{rest}"

    def _cause(self, index: int, end: End, more: JsonObject) -> JsonObject:
        """Builds `status.rootCause`; None leaves a field out."""
        record = end.record or ErrorRecord()
        moment = self.moment(end)
        known: JsonObject = {
            "attempt": self.attempt,
            "pod": self.name(index),
            "container": "main",
            "node": self.node(index),
            "rank": record.rank,
            "time": format_precise_time(moment) if moment.microsecond else format_time(moment),
            "code": record.code or None,
            "origin": record.origin.capitalize(),
            "recoverable": record.recoverable if end.record else None,
            "exitCode": end.code,
            "message": record.message or end.message.strip() or None,
            "source": "TerminationMessage" if end.record else "Log",
            "confidence": "Recorded" if end.record else "Inferred",
            "records": more["failedPods"] if end.record else 0,
        }
        return {key: value for key, value in (known | more).items() if value is not None}


async def running(lives: Lives, life: Life, number: int, attempt: int = 1) -> Workers:
    """Waits until that many pods of the attempt run."""
    uid = life.events[0].object["metadata"]["uid"]
    selector = f"{LABEL}={uid},workload.codeflare.dev/attempt={attempt}"

    found: list[JsonObject] = []

    async def number_running() -> int:
        pods = await listed(lives.client, PODS, NAMESPACE, selector)
        found[:] = [each for each in pods if each["status"].get("phase") == "Running"]
        return len(found)

    await comes_to(number_running, number)
    return Workers(lives, life, sorted(found, key=lambda each: str(each["metadata"]["name"])))


async def decided(lives: Lives, life: Life, wanted: str, *, after: int = 0) -> JsonObject:
    """Ends the grace. Returns the first state of the wanted phase, which is the decision's
    write.
    """
    name = life.events[0].object["metadata"]["name"]
    await lives.annotate(name, failureGracePeriodDuration="0s")
    return await life.until_phase(wanted, after=after)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureReports:
    """Everything that is reported about a failure. `summary` is the column, `history`
    errorHistory.
    """

    root_cause: JsonObject
    unhealthy: str
    events: tuple[str, ...]
    phase: str
    retries: int = 0
    suspects: tuple[str, ...] = ()
    history: tuple[JsonObject, ...] = ()


async def world_of(lives: Lives, life: Life, item: JsonObject, events: int = 1) -> FailureReports:
    """Collects the reports about this state of the AppWrapper, in the status and elsewhere."""
    status = item["status"]
    name = item["metadata"]["name"]
    told = await _told(lives, name, events)
    return FailureReports(
        root_cause=status.get("rootCause", {}),
        unhealthy=condition(item, UNHEALTHY).message,
        events=tuple(told),
        phase=phase(item),
        retries=int(status.get("resettingCount", 0)),
        suspects=tuple(each["node"] for each in status.get("suspectNodes", ())),
        history=tuple(status.get("errorHistory", ())),
    )


async def _told(lives: Lives, name: str, number: int) -> list[str]:
    """Returns the messages of its Events RootCause, oldest first, once there are that many.

    Each Event is one occurrence.
    """

    async def look() -> list[str]:
        found = await lives.events_about(name, "RootCause")
        assert {each["type"] for each in found} <= {"Warning"}
        assert {each.get("count") or 1 for each in found} <= {1}
        return [each["message"] for each in sorted(found, key=version_of)]

    if number:
        await comes_to(lambda: _length(look()), number)
    return await look()


async def _length(found: Any) -> int:
    return len(await found)


async def column(cluster: RunningCluster, name: str) -> str:
    """Returns the cell ROOT CAUSE as kubectl prints it."""
    kubectl = Kubectl(cluster.kubectl, cluster.kubeconfig)
    table = await kubectl("get", "appwrapper", name, "-n", NAMESPACE, "-o", "wide")
    heading, row = table.splitlines()
    return row[heading.index("ROOT CAUSE") :].strip()


def operators_log(cluster: RunningCluster) -> str:
    """Returns the controller's whole log."""
    return (cluster.logs / "controller.log").read_text()


def store_of(cluster: RunningCluster) -> Path:
    """Returns the folder of the local cluster's error store."""
    settings = yaml.safe_load((cluster.directory / "product" / "controller.yaml").read_text())
    stores = settings["appwrapper"]["faultTolerance"]["errorAggregation"]["stores"]
    return Path(urlparse(stores[STORE]).path)


def folder_of(cluster: RunningCluster, life: Life, attempt: int = 1) -> Path:
    """Returns the folder of one attempt's record files; makes it if it is missing."""
    metadata = life.events[0].object["metadata"]
    folder = store_of(cluster).joinpath(
        metadata["namespace"], metadata["name"], metadata["uid"], str(attempt)
    )
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def leave(folder: Path, record: ErrorRecord, name: str = "") -> Path:
    """Writes a record's file as the recorder does."""
    file = folder / (name or f"error-{record.worker}.pb")
    file.write_bytes(error_document.encode(record))
    return file


def _started(item: JsonObject) -> datetime:
    (container,) = item["status"]["containerStatuses"]
    return parse_time(container["state"]["running"]["startedAt"])


def _nanoseconds(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000

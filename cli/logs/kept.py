"""Report the remains of an attempt whose pods are deleted: a link, and the status. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import quote

from controller.facts.root_cause_status import decode, encode
from shared.api.appwrapper import AppWrapper
from shared.api.objects import JsonObject
from shared.api.times import format_time, parse_time, time_or_none

PLACEHOLDERS: Final = (
    "namespace",
    "appwrapper",
    "attempt",
    "pod",
    "container",
    "from",
    "to",
    "fromMillis",
    "toMillis",
)
# Logs of the other workers arrive after the first failure.
_AFTER_FAILURE: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class KeptAttempt:
    """`link`: into the log store, "" without a template. `lines`: the status's own record."""

    attempt: int
    link: str
    lines: tuple[str, ...]

    def text(self, name: str) -> str:
        """Return the text, which names the source of each part."""
        parts = [f"The pods of attempt {self.attempt} of {name} are deleted."]
        if self.link:
            parts.append(f"Its logs in the cluster's log store:\n  {self.link}")
        if self.lines:
            record = "\n".join(f"  {each}".rstrip() for each in self.lines)
            parts.append(f"Its status keeps of it (errorHistory, rootCause):\n{record}")
        return "\n".join(parts) + "\n"


def kept_attempt(
    appwrapper: AppWrapper, attempt: int, template: str, now: datetime, pod: str = ""
) -> KeptAttempt:
    """Return what is known of the attempt. `pod`: the wanted one, default the root cause's."""
    entries = [each for each in _history(appwrapper) if each.get("attempt") == attempt]
    found = decode(appwrapper.status)
    if found is not None and found.attempt != attempt:
        found = None
    cause = found.cause if found else None
    failed = str(entries[-1].get("pod") or "") if entries else ""
    wanted = pod or (cause.pod if cause else failed)
    link = ""
    if template:
        begin, end = _times(appwrapper, attempt, now)
        container = cause.container if cause and cause.pod == wanted else ""
        link = _filled(template, appwrapper, attempt, wanted, container, begin, end)
    if found and not entries:
        entries = [encode(found.cause, attempt, found.decision)]
    lines = [_entry(each) for each in entries]
    if cause and cause.message:
        lines += ["", "The end of its log or its error:", *cause.message.splitlines()]
    return KeptAttempt(attempt, link, tuple(lines))


def _history(appwrapper: AppWrapper) -> Iterator[JsonObject]:
    listed = appwrapper.status.get("errorHistory")
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict):
            yield each


def _entry(entry: Mapping[str, object]) -> str:
    parts = [str(entry[key]) for key in ("time", "summary") if entry.get(key)]
    decision = f" (decision: {entry['decision']})" if entry.get("decision") else ""
    return "  ".join(parts) + decision


def _times(appwrapper: AppWrapper, attempt: int, now: datetime) -> tuple[datetime, datetime]:
    """Return a span that contains the attempt: from the failure before it to after its own."""
    begin = parse_time(appwrapper.metadata["creationTimestamp"])
    end = now
    for each in _history(appwrapper):
        at, number = time_or_none(each.get("time")), each.get("attempt")
        if at is None or not isinstance(number, int):
            continue
        if number < attempt:
            begin = max(begin, at)
        elif number == attempt:
            end = min(now, at + _AFTER_FAILURE)
    return begin, max(begin, end)


def _filled(
    template: str,
    appwrapper: AppWrapper,
    attempt: int,
    pod: str,
    container: str,
    begin: datetime,
    end: datetime,
) -> str:
    """Replace the placeholders, percent-encoded. Other braces stay: some stores' queries have."""
    values = (
        *(appwrapper.namespace, appwrapper.name, f"{attempt}", pod, container),
        *map(format_time, (begin, end)),
        *(f"{int(each.timestamp() * 1000)}" for each in (begin, end)),
    )
    for name, value in zip(PLACEHOLDERS, values, strict=True):
        template = template.replace(f"{{{name}}}", quote(value, safe=""))
    return template

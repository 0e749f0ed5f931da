"""Render the report for people: the answer first, then the supporting facts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cli.durations import clock, when
from cli.explaining.report import (
    ExplainReport,
    GpuHours,
    PodsReport,
    QueueReport,
    QuotaAmount,
    RootCauseReport,
    Situation,
    SuspectNodes,
)
from cli.prose import Prose
from cli.tables import new_table
from controller.phases.root_cause import OUT_OF_MEMORY, Confidence, Source
from shared.api.amounts import added_up, amount_text, resources_text
from shared.waits.words import ordinal
from shared.waits.workload import Holder

_FINE: Final = frozenset({Situation.RUNNING, Situation.SUCCEEDED, Situation.STARTING})
_BAD: Final = frozenset(
    {
        Situation.NEVER_FITS,
        Situation.NO_SUCH_NODE,
        Situation.FAILED,
        Situation.KEPT_AFTER_FAILURE,
        Situation.NO_IMAGE,
        Situation.CRASHING,
        Situation.NOT_CONFIGURED,
        Situation.UNHEALTHY,
        Situation.DELETION_BLOCKED,
        Situation.CANNOT_CREATE,
    }
)
_FAILED: Final = (Situation.FAILED, Situation.KEPT_AFTER_FAILURE)
_MOST_HOLDERS: Final = 5
_MOST_PODS: Final = 12
_MOST_LINES: Final = 12  # of an error
_INDENT: Final = (0, 0, 0, 2)
_table: Final = partial(new_table, whole=(">", "FLAVOR", "NODE", "SINCE", "STATUS", "UNTIL"))


def render(report: ExplainReport) -> RenderableType:
    """Render one report as one screen."""
    style = f"bold {_style(report.situation)}"
    parts: list[RenderableType] = [Prose(report.answer, style)]
    parts += [_indented(Prose(each)) for each in report.details]
    for title, body in _sections(report):
        parts += [
            Text(),
            Text(title, style="bold"),
            *map(_indented, body),
        ]
    return Group(*parts)


def _indented(part: RenderableType) -> RenderableType:
    """Indent a part; a command stays one line, which can be copied."""
    if isinstance(part, Prose):
        return replace(part, indent=part.indent + 2, label=f"  {part.label}")
    if isinstance(part, Text) and part.no_wrap:
        return Text.assemble("  ", part, no_wrap=True, overflow="ignore")
    return Padding(part, _INDENT, expand=False)


def render_line(reports: Sequence[ExplainReport]) -> RenderableType:
    """Render several reports: one row each, with the answer."""
    width = max(len(each.name) for each in reports) + 2
    heads = [f"{each.name:{width}}{each.phase or '-'}" for each in reports]
    rows = [Prose("WHY", "dim", 0, f"{'NAME':{width}}STATUS", "dim")]
    for head, each in zip(heads, reports, strict=True):
        why = each.answer.removeprefix(f"{each.name} ")
        rows.append(Prose(why[0].upper() + why[1:], _style(each.situation), 0, head))
    return Group(*_aligned(rows))


def _aligned(rows: Sequence[Prose]) -> list[RenderableType]:
    """Indent the texts by the longest label."""
    indent = max(len(each.label) for each in rows) + 2
    return [replace(each, indent=indent) for each in rows]


def _style(situation: Situation) -> str:
    if situation in _FINE:
        return "green"
    return "red" if situation in _BAD else "yellow"


def _sections(report: ExplainReport) -> Iterator[tuple[str, list[RenderableType]]]:
    if report.next:
        yield "What happens next", _next(report)
    if report.queue is not None:
        yield from _queue(report.queue, report.seen_at)
    if report.pods is not None and report.pods.pods:
        yield _pods_title(report.pods), [_pods(report.pods)]
    if report.root_cause is not None and (found := _root_cause(report.root_cause, report)):
        yield "What failed first", found
    if report.suspect_nodes is not None:
        yield "Suspect nodes", _suspects(report.suspect_nodes, report.seen_at)
    yield "Its life", [_life(report), *_timeline(report)]
    if report.commands:
        yield "What helps", list(_commands(report))
    if report.not_readable:
        yield "Not readable for you", [*map(Prose, report.not_readable)]


def _next(report: ExplainReport) -> list[RenderableType]:
    timed = [(each.at, each.what) for each in report.next if each.at is not None]
    untimed = [each.what for each in report.next if each.at is None]
    if not timed:
        return [*map(Prose, untimed)]
    rows = []
    for at, what in timed:
        coming = f"at {when(at, report.seen_at)}" if at > report.seen_at else "now"
        rows.append(Prose(what, label=f"{coming}:"))
    return _aligned([*rows, *map(Prose, untimed)])


def _queue(queue: QueueReport, now: datetime) -> Iterator[tuple[str, list[RenderableType]]]:
    amounts = [_amounts(queue.amounts)] if queue.amounts else []
    yield "Its queue", [Text(_queue_line(queue)), *amounts]
    if queue.holders:
        title = "Who holds it" if queue.holders_are_all else "Who holds it (not all are shown)"
        yield title, [_holders(queue.holders, now)]
    elif not queue.holders_are_all and any(each.is_short for each in queue.amounts):
        yield "Who holds it", [Text("workloads of other namespaces, which you may not read")]


def _queue_line(queue: QueueReport) -> str:
    parts = [f"LocalQueue {queue.local_queue}"]
    if queue.cluster_queue:
        parts.append(f"ClusterQueue {queue.cluster_queue}")
    if queue.cohort:
        parts.append(f"cohort {queue.cohort}")
    if queue.priority is not None:
        named = f" ({queue.priority_class})" if queue.priority_class else ""
        parts.append(f"priority {queue.priority}{named}")
    if queue.position is not None:
        of = f" of {queue.pending}" if queue.pending else ""
        parts.append(f"{ordinal(queue.position)}{of} in the queue")
    elif queue.pending:
        parts.append(f"{queue.pending} waiting")
    return ", ".join(parts)


def _amounts(amounts: Iterable[QuotaAmount]) -> Table:
    table = _table("RESOURCE", "FLAVOR", ">ASKED", ">QUOTA", ">USED", ">FREE", ">AT MOST")
    for each in amounts:
        numbers = (each.asked, each.nominal, each.used, each.free, each.most)
        style = "bold red" if each.is_short else ""
        table.add_row(
            each.resource,
            each.flavor or "none",
            *(amount_text(number, each.resource) for number in numbers),
            style=style,
        )
    return table


def _holders(holders: Sequence[Holder], now: datetime) -> Table:
    table = _table(">PRIORITY", "WHO", "HOLDS", "SINCE")
    for each in holders[:_MOST_HOLDERS]:
        table.add_row(
            f"{each.priority}",
            f"{each.kind} {each.namespace}/{each.name}",
            resources_text(each.amounts),
            clock(each.since, now) if each.since else "",
        )
    rest = holders[_MOST_HOLDERS:]
    if rest:
        total = added_up(each.amounts for each in rest)
        table.add_row("", f"and {len(rest)} more", resources_text(total), "")
    return table


def _pods_title(pods: PodsReport) -> str:
    counts = (
        (pods.running, "running"),
        (pods.pending, "not running"),
        (pods.succeeded, "ended well"),
        (pods.failed, "failed"),
        (pods.deleting, "being deleted"),
    )
    reported = ", ".join(f"{number} {word}" for number, word in counts if number)
    return f"Its pods: {reported} of {pods.expected}" if reported else "Its pods"


def _pods(pods: PodsReport) -> Table:
    table = _table("NODE", "POD", "STATE", ">RESTARTS", "WHY")
    for each in pods.pods[:_MOST_PODS]:
        table.add_row(each.node or "-", each.name, each.state, f"{each.restarts}", each.trouble)
    more = len(pods.pods) - _MOST_PODS
    if more > 0:
        table.add_row("", f"and {more} more", "", "", "")
    return table


def _root_cause(cause: RootCauseReport, report: ExplainReport) -> list[RenderableType]:
    """Return the cause, without what the answer has."""
    at = f", at {clock(cause.at, report.seen_at)}" if cause.at else ""
    lines = [line for line in cause.message.splitlines() if line.strip()]
    more = len(lines) - _MOST_LINES
    shown = lines[-_MOST_LINES:] if cause.source == Source.LOG else lines[:_MOST_LINES]
    if len(lines) == 1 and lines[0].strip() in report.answer:
        shown = []
    reported = [Text(each, style="red") for each in shown]
    if cause.outline not in report.answer:
        reported.insert(0, Text(f"{cause.outline}{at}."))
    if more > 0:
        reported.append(Text(f"({more} more lines in status.rootCause.message)", style="dim"))
    if not lines and cause.code:
        reported.append(Text(cause.code, style="red"))
    return [*reported, *map(Text, _judgement(cause))]


def _judgement(cause: RootCauseReport) -> Iterator[str]:
    if cause.code == OUT_OF_MEMORY:
        yield "It used more memory than its limit: raise the limit, or let it use less."
    if cause.recoverable is not None:
        yield f"The program recorded it as {'' if cause.recoverable else 'non-'}recoverable."
    if cause.confidence == Confidence.INFERRED and cause.failed_pods > 1:
        yield "This is inferred from the pods' statuses, whose times have whole seconds."
    if cause.uri:
        yield f"Full record: {cause.uri}"


def _suspects(suspects: SuspectNodes, now: datetime) -> list[RenderableType]:
    table = _table("NODE", "UNTIL", "WHY")
    for each in suspects.nodes:
        why = f"pod {each.pod} failed there first in attempt {each.attempt}"
        table.add_row(each.node, clock(each.until, now), why)
    return [table, Prose(suspects.effect)]


def _life(report: ExplainReport) -> Text:
    since = f" since {when(report.since, report.seen_at)}" if report.since else ""
    retries = f"{report.retries} of {report.retry_limit} retries spent"
    attempt = f"attempt {report.attempt}, " if report.attempt else ""
    return Text(f"{report.phase or 'no phase yet'}{since}; {attempt}{retries}")


def _timeline(report: ExplainReport) -> Iterator[RenderableType]:
    hours = report.gpu_hours
    if hours is not None:
        yield Text(_gpu_hours(hours))
    # How the last attempt failed is the answer.
    answered = report.attempt if report.situation in _FAILED else None
    attempts = [
        each
        for each in report.attempts
        if (each.reason or each.root_cause) and each.number != answered
    ]
    if attempts:
        rows = []
        for each in attempts:
            why = ": ".join(filter(None, [each.reason, each.message]))
            cause = f" Root cause: {each.root_cause}" if each.root_cause else ""
            rows.append(Prose(f"{why}{cause}", label=f"attempt {each.number}:"))
        yield from _aligned(rows)
    timeline = [
        Prose(each.what, "yellow" if each.is_trouble else "", 0, clock(each.at, report.seen_at))
        for each in report.timeline
    ]
    yield from _aligned(timeline) if timeline else ()
    periods = report.periods
    if periods is not None and periods.assumed and report.attempt:
        text = "Times assume the operator's default periods, and that resets are not paused"
        yield Prose(f"{text}: {periods.assumed}.", "dim")


def _gpu_hours(hours: GpuHours) -> str:
    parts = [
        f"{value.normalize():f} {word}"
        for value, word in (
            (hours.productive, "productive"),
            (hours.lost, "lost"),
            (hours.queued, "queued"),
        )
        if value is not None
    ]
    notes = f" ({'; '.join(hours.notes)})" if hours.notes else ""
    gpus = "1 GPU" if hours.gpus == 1 else f"{amount_text(hours.gpus, 'gpu')} GPUs"
    return f"GPU-hours ({gpus}): {', '.join(parts) or 'not known'}{notes}"


def _commands(report: ExplainReport) -> Iterator[RenderableType]:
    for each in report.commands:
        yield Text(f"# {each.why}", style="dim")
        yield Text(each.command, style="cyan", no_wrap=True)

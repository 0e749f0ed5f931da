"""Run `appwrapper logs`: from its arguments to its output."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from cli.cluster.appwrappers import AppWrapperReader
from cli.cluster.connection import Cluster, connected
from cli.cluster.reader import Reader
from cli.cluster.unread import readable
from cli.command import CommandError, ExitCode
from cli.hints import command_for
from cli.logs.choosing import LogChoice, LogPod, LogState, UnknownChoice, chosen
from cli.logs.following import MOST_STREAMS, AttemptFollower
from cli.logs.kept import kept_attempt
from cli.logs.output import LogOutput
from cli.logs.pods import attempt_pods
from cli.logs.pumps import MOST_WAITING, LogPumps
from cli.logs.ranks import pod_ranks
from cli.logs.streams import LogReader
from cli.phases import ENDED
from cli.tasks import one_error
from cli.terminal import CommandTerminal, harmless
from controller.facts.root_cause_status import decode
from controller.phases.phase import Phase
from controller.phases.root_cause import summary
from shared.api.appwrapper import AppWrapper
from shared.api.names import ANNOTATION_LOG_URL
from shared.api.objects import NAMESPACES, JsonObject, annotation
from shared.api.times import DurationError, parse_duration
from shared.waits.words import counted

LOG_URL_VARIABLE: Final = "APPWRAPPER_LOG_URL"
# The last lines of each of several pods, as kubectl shows them.
SOME_LINES: Final = 10
_AT_ONCE: Final = 16
_ALL_LINES: Final = -1
# The attempt to come has no pods yet.
_BETWEEN: Final = frozenset({Phase.EMPTY, Phase.SUSPENDED, Phase.RESETTING, Phase.SUSPENDING})


@dataclass(frozen=True, slots=True, kw_only=True)
class LogQuery:
    """The options. `tail`: lines of each pod, -1 for all, None for the default."""

    name: str
    choice: LogChoice
    everything: bool = False
    container: str = ""
    attempt: int | None = None
    follow: bool = False
    timestamps: bool = False
    tail: int | None = None
    since_seconds: int | None = None

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> "LogQuery":
        """Read the options. Raises CommandError."""
        if arguments.tail is not None and arguments.tail < _ALL_LINES:
            raise CommandError("--tail is a number of lines, or -1 for all of them")
        if arguments.attempt is not None and arguments.attempt < 1:
            raise CommandError(
                f"--attempt {arguments.attempt}: attempts count from 1. Without the option, the"
                " latest is shown"
            )
        if arguments.everything and (arguments.ranks or arguments.pods):
            raise CommandError("--all shows all pods: leave out --rank and --pod")
        return cls(
            name=arguments.name,
            choice=LogChoice(frozenset(arguments.ranks), frozenset(arguments.pods)),
            everything=arguments.everything,
            container=arguments.container,
            attempt=arguments.attempt,
            follow=arguments.follow,
            timestamps=arguments.timestamps,
            tail=arguments.tail,
            since_seconds=_seconds(arguments.since),
        )

    @property
    def chooses(self) -> bool:
        """True if an option names the pods."""
        return self.everything or self.choice != LogChoice()

    def lines_of(self, pods: int) -> int | None:
        """Return the number of last lines of each pod; None for all."""
        if self.tail is not None:
            return None if self.tail == _ALL_LINES else self.tail
        return None if pods == 1 or self.since_seconds is not None else SOME_LINES


def _seconds(since: str | None) -> int | None:
    if since is None:
        return None
    try:
        seconds = parse_duration(since).total_seconds()
    except DurationError as error:
        raise CommandError(f"--since: {error}") from error
    if seconds <= 0:
        raise CommandError(f"--since {since}: name a time before now, such as 10m")
    return max(1, round(seconds))


async def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    query = LogQuery.of(arguments)
    async with connected(arguments) as cluster:
        raw = await AppWrapperReader(cluster, cluster.namespace).appwrapper(query.name)
        return await ShownLogs(cluster, query, terminal).show(raw)


class ShownLogs:
    """The logs of one AppWrapper, as the options ask for them."""

    def __init__(self, cluster: Cluster, query: LogQuery, terminal: CommandTerminal) -> None:
        self._cluster, self._query, self._terminal = cluster, query, terminal
        self._output = LogOutput(terminal=terminal, prefixes=True, timestamps=query.timestamps)

    async def show(self, raw: JsonObject) -> ExitCode:
        """Print the logs, or the remains of a deleted attempt."""
        appwrapper, query = AppWrapper(raw), self._query
        attempt = query.attempt or appwrapper.attempt
        if attempt > appwrapper.attempt:
            raise CommandError(
                f"{query.name} has had {counted(appwrapper.attempt, 'attempt')}: there is no"
                f" attempt {attempt}"
            )
        pods = await attempt_pods(self._cluster.client, appwrapper, attempt, query.container)
        phase = appwrapper.status.get("phase") or ""
        if query.follow and phase not in ENDED and attempt == appwrapper.attempt:
            if not pods and phase in _BETWEEN and query.attempt is None:
                attempt += 1
                self._output.note(
                    f"{query.name} is {phase or 'new'}: its logs follow when attempt {attempt}"
                    " begins"
                )
            await self.follow(raw, attempt)
            return ExitCode.FINE
        if pods:
            return await self._once(appwrapper, attempt, pods)
        if not attempt:
            raise CommandError(
                f"{query.name} has not started, so it has no logs. This shows why:"
                f" {command_for(appwrapper, 'explain')}",
                ExitCode.WANTING,
            )
        return await self._kept(appwrapper, attempt)

    async def follow(self, raw: JsonObject, attempt: int) -> JsonObject | None:
        """Follow an attempt to its end; return the AppWrapper then, None if it is gone."""
        query, expected = self._query, pod_ranks(AppWrapper(raw)).expected
        if beyond := sorted(each for each in query.choice.ranks if each >= expected):
            raise CommandError(
                f"{query.name} has no rank {beyond[0]}: its {counted(expected, 'pod')} have ranks"
                f" from 0 to {expected - 1}"
            )
        only = query.choice.is_one or (expected == 1 and not query.everything)
        self._output.prefixes = not only
        reader = self._reader(query.lines_of(1 if only else expected))
        end = await AttemptFollower(
            self._cluster, raw, attempt, query.choice, query.container, reader, self._output
        ).run()
        if end is None:
            self._output.note(f"{query.name} was deleted")
        elif (now := AppWrapper(end)).uid == AppWrapper(raw).uid:
            self._output.note(
                f"attempt {attempt} has ended: {query.name} is {now.status.get('phase')}"
            )
        return end

    async def _once(self, appwrapper: AppWrapper, attempt: int, pods: Sequence[LogPod]) -> ExitCode:
        query = self._query
        try:
            found = chosen(pods, query.choice, query.container, query.name)
        except UnknownChoice as error:
            raise CommandError(str(error)) from error
        if not query.chooses:
            found = self._default(appwrapper, attempt, found)
        lines = query.lines_of(len(found))
        if query.tail is None and lines is not None:
            self._output.note(
                f"the last {lines} lines of each of {len(found)} pods; --tail -1 shows all lines"
            )
        self._output.prefixes = len(found) > 1
        self._output.width = max((len(each.tag) for each in found), default=0)
        return await self._print(found, lines)

    def _default(self, appwrapper: AppWrapper, attempt: int, pods: list[LogPod]) -> list[LogPod]:
        """Return the root cause's pod of a failed attempt, else all pods."""
        recorded = decode(appwrapper.status)
        if recorded is None:
            return pods
        if recorded.attempt != attempt:
            self._output.note(
                f"attempt {recorded.attempt} failed: {summary(recorded.cause)}."
                f" {command_for(appwrapper, 'logs')} --attempt {recorded.attempt}"
            )
            return pods
        first = [each for each in pods if each.name == recorded.cause.pod]
        if first and len(pods) > 1:
            self._output.note(
                f"{summary(recorded.cause)}. This is the log of the pod that failed first;"
                f" --all shows all {counted(len(pods), 'pod')}"
            )
        return first or pods

    async def _print(self, pods: Sequence[LogPod], lines: int | None) -> ExitCode:
        is_short = lines is not None and lines <= MOST_WAITING
        if not is_short and len(pods) > MOST_STREAMS:
            raise CommandError(
                f"{len(pods)} whole logs are too many to merge: choose with --rank or --pod, or"
                f" read at most --tail {MOST_WAITING} lines of each"
            )
        reader = self._reader(lines)
        async with one_error() as tasks:
            pumps = LogPumps(
                tasks,
                self._cluster.clock,
                self._output,
                patience=None,
                at_once=_AT_ONCE if is_short else None,
            )
            for pod in pods:
                if pod.state is LogState.NONE:
                    self._output.about(pod, f"it has no log yet: {pod.reason}")
                else:
                    pumps.start(pod, partial(reader.once, pod))
            while not pumps.is_over:
                await pumps.wait(None)
                pumps.print_ready()
        return ExitCode.FINE if pumps.tasks else ExitCode.WANTING

    async def _kept(self, appwrapper: AppWrapper, attempt: int) -> ExitCode:
        name, pods = appwrapper.name, sorted(self._query.choice.pods)
        template = self._terminal.environment.get(LOG_URL_VARIABLE) or await self._log_url()
        now = self._cluster.now()
        kept = kept_attempt(appwrapper, attempt, template, now, "".join(pods[:1]))
        if not kept.link and not kept.lines:
            raise CommandError(
                f"the pods of attempt {attempt} of {name} are deleted, and its status keeps"
                f" nothing of it. If the cluster collects logs, set {LOG_URL_VARIABLE}",
                ExitCode.WANTING,
            )
        self._terminal.write(harmless(kept.text(name)))
        return ExitCode.FINE

    async def _log_url(self) -> str:
        """Return the namespace's template; "" without one, or if the user may not read it."""
        found = await Reader(self._cluster.client).one(
            NAMESPACES, None, self._cluster.namespace, metadata_only=True
        )
        return annotation(readable(found), ANNOTATION_LOG_URL) or ""

    def _reader(self, lines: int | None) -> LogReader:
        return LogReader(
            client=self._cluster.client,
            clock=self._cluster.clock,
            namespace=self._cluster.namespace,
            note=self._output.about,
            tail=lines,
            since_seconds=self._query.since_seconds,
        )

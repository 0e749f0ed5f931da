"""Run `appwrapper submit`: from its arguments to its output."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field

from cli.cluster.connection import Cluster, connected
from cli.command import CommandError, ExitCode
from cli.logs.choosing import LogChoice
from cli.logs.running import LogQuery, ShownLogs
from cli.manifests.reading import read_all
from cli.packing.wrapping import Wrapping
from cli.phases import ENDED
from cli.submitting.creating import create_all
from cli.submitting.printing import ProgressPrinter
from cli.submitting.submissions import submissions
from cli.submitting.waiting import wait_for_end
from cli.tasks import one_error
from cli.terminal import CommandTerminal
from cli.validation.offline import configuration
from controller.phases.phase import Phase
from shared.api.appwrapper import AppWrapper
from shared.api.names import GROUP
from shared.api.objects import JsonObject


@dataclass(slots=True)
class SubmitCommand:
    """`created`: the AppWrappers that exist, also after Ctrl-C."""

    arguments: argparse.Namespace
    wrapping: Wrapping
    terminal: CommandTerminal
    created: list[JsonObject] = field(default_factory=list)

    async def run(self) -> ExitCode:
        """Create the AppWrappers, and wait for their end on request."""
        given = self.arguments
        found = read_all(given.files, self.terminal.stdin)
        allowed = configuration(given.config).allowed_kinds
        asked = submissions(found.manifests, self.wrapping, allowed)
        if given.follow and len(asked) > 1:
            raise CommandError(
                f"--follow shows the logs of one AppWrapper, and there are {len(asked)}: use --wait"
            )
        warnings: list[str] = []
        async with connected(given, warnings.append) as cluster:
            created = await create_all(cluster, asked, warnings, self.terminal)
            if created is None:
                return ExitCode.WANTING
            self.created = created
            if not (given.wait or given.follow):
                self._print(created)
                return ExitCode.FINE
            if given.output != "json":
                self._print(created)
            ended = await self._wait(cluster)
        if given.output == "json":
            self._print([each for each in ended if each is not None])
        phases = [None if each is None else AppWrapper(each).status["phase"] for each in ended]
        is_fine = all(each == Phase.SUCCEEDED for each in phases)
        return ExitCode.FINE if is_fine else ExitCode.WANTING

    def detached(self) -> None:
        """Report after Ctrl-C what continues, and how to reach it."""
        for each in map(AppWrapper, self.created):
            where = f"{each.name} -n {each.namespace}"
            self.terminal.stderr.write(
                f"\n{each.name} continues in the cluster.\n"
                f"  appwrapper logs -f {where}            # follow it again\n"
                f"  appwrapper explain {where}            # why it runs or waits\n"
                f"  appwrapper cancel {where}             # stop it\n"
            )

    def _print(self, items: Sequence[JsonObject]) -> None:
        output = self.arguments.output
        if output == "json":
            self.terminal.write_data(items[0] if len(items) == 1 else list(items), "json")
        for each in map(AppWrapper, items):
            if output == "name":
                self.terminal.write(f"appwrapper.{GROUP}/{each.name}\n")
            elif output == "text":
                self.terminal.write(f"{each.name} is created in namespace {each.namespace}\n")
        self.terminal.stdout.flush()

    async def _wait(self, cluster: Cluster) -> list[JsonObject | None]:
        given, stderr = self.arguments, self.terminal.stderr
        is_live = stderr.isatty() and len(self.created) == 1 and not given.follow
        printer = ProgressPrinter(self.terminal, cluster.now, is_live=is_live)
        try:
            async with one_error() as tasks:
                if given.follow:
                    tasks.create_task(self._follow(cluster, self.created[0]))
                waiting = [
                    tasks.create_task(wait_for_end(cluster, each, printer.show))
                    for each in self.created
                ]
        finally:
            printer.close()
        for task, each in zip(waiting, self.created, strict=True):
            if task.result() is None:
                printer.line(f"{AppWrapper(each).name} was deleted before its end")
        return [each.result() for each in waiting]

    async def _follow(self, cluster: Cluster, created: JsonObject) -> None:
        """Print the logs of each attempt, until the AppWrapper has ended."""
        own = AppWrapper(created)
        query = LogQuery(name=own.name, choice=LogChoice(), follow=True)
        at_home = Cluster(cluster.client, cluster.discovery, cluster.clock, own.namespace)
        logs = ShownLogs(at_home, query, self.terminal)
        attempt, present = 1, created
        while True:
            end = await logs.follow(present, attempt)
            if end is None or AppWrapper(end).uid != own.uid:
                return
            if AppWrapper(end).status.get("phase") in ENDED:
                return
            attempt, present = max(attempt + 1, AppWrapper(end).attempt), end

"""`appwrapper check`: quota and capacity of a cluster, its set-up, or a team's own queues."""

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cli.checks.findings import CheckFinding, FindingSeverity
from cli.command import CommandError, ExitCode
from cli.options import add_connection, add_output
from cli.terminal import CommandTerminal, harmless

if TYPE_CHECKING:
    from cli.cluster.connection import Cluster

DESCRIPTION = """\
Shows quota, usage and capacity of the cluster, and warns of what is wrong.

  appwrapper check                # admins: all ClusterQueues, nodes, workloads
  appwrapper check -o wide        # all resources, flavors and shapes of nodes
  appwrapper check --mine         # members: the queues, quota and workloads
  appwrapper check --install      # admins: are operator and Kueue set up right
  appwrapper check --config FILE  # admins: is this configuration file valid

It changes nothing. Exit code: 0 fine, 1 warnings, 2 something cannot be determined.
With --config it needs no cluster. Exit code: 0 the programs can use the file, 2 they cannot.
"""
_EVERY_SECONDS = 5.0
_FOR_TEAMS = "This is the admins' view. A team sees its own part with: appwrapper check --mine"


@dataclass(frozen=True, slots=True)
class _Answer:
    """The result of one check: the report, and its printed form."""

    report: Any
    text: str
    findings: tuple[CheckFinding, ...]
    unread: tuple[str, ...]
    hint: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--mine", action="store_true", help="the queues and workloads of a namespace")
    what.add_argument("--install", action="store_true", help="the set-up of the operator and Kueue")
    what.add_argument("--config", metavar="FILE", help="a file of the operator's configuration")
    parser.add_argument(
        "--watch", action="store_true", help="check again every 5 seconds, until Ctrl-C"
    )
    add_output(parser, "wide")
    add_connection(parser)


def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    """Check once, or repeatedly with --watch."""
    if arguments.config is not None:
        if arguments.watch or arguments.output != "text":
            raise CommandError("--config prints text, once: leave out --watch and -o")
        return _check_configuration(arguments.config, terminal)
    if arguments.output == "wide" and (arguments.mine or arguments.install):
        raise CommandError("-o wide is about the whole cluster: leave out --mine and --install")
    import asyncio  # --help starts without it

    return asyncio.run(_run(arguments, terminal))


def _check_configuration(file: str, terminal: CommandTerminal) -> ExitCode:
    from shared.config.command_line import valid_text
    from shared.config.loading import ConfigError, load_config

    try:
        loaded = load_config(file)
    except ConfigError as error:
        raise CommandError(f"the configuration cannot be used:\n{error}") from error
    for warning in loaded.warnings:
        terminal.warn(warning)
    terminal.write(harmless(valid_text(file, loaded.config)))
    return ExitCode.FINE


async def _run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    from cli.cluster.connection import connected

    async with connected(arguments) as cluster:
        while True:
            with terminal.progress("Reading the cluster"):
                answer = await _answer(arguments, cluster)
            if arguments.watch and terminal.stdout.isatty():
                terminal.console().clear()
            _print(answer, arguments.output, terminal)
            if not arguments.watch:
                if answer.unread:
                    return ExitCode.UNABLE
                severities = {each.severity for each in answer.findings}
                is_fine = FindingSeverity.WARNING not in severities
                return ExitCode.FINE if is_fine else ExitCode.WANTING
            terminal.stdout.flush()
            await cluster.clock.sleep(_EVERY_SECONDS)


async def _answer(arguments: argparse.Namespace, cluster: "Cluster") -> _Answer:
    from cli.checks import gather, layout
    from cli.checks.installation import installation_report, installation_text
    from cli.checks.read_installation import gather_installation
    from cli.checks.report import cluster_report
    from cli.checks.team_namespace import namespace_report, namespace_text

    if arguments.install:
        installed = await gather_installation(cluster.client, cluster.discovery)
        setup = installation_report(installed, cluster.now())
        return _Answer(setup, installation_text(setup), setup.findings, setup.unread)
    if arguments.mine:
        seen = await gather.one_namespace(cluster.client, cluster.namespace)
        own = namespace_report(seen, cluster.namespace, cluster.now())
        return _Answer(own, namespace_text(own), own.findings, own.unread)
    now = cluster.now()
    seen = await gather.whole_cluster(cluster.client, now)
    report = cluster_report(seen, now)
    text = layout.table(report)
    if arguments.output == "wide":
        text += "\n" + layout.wide(report)
    hint = _FOR_TEAMS if any(each.forbidden for each in seen.unread) else ""
    return _Answer(report, text, report.findings, report.unread, hint)


def _print(answer: _Answer, output: str, terminal: CommandTerminal) -> None:
    if output in ("json", "yaml"):
        terminal.write_data(answer.report, output)
        return
    terminal.write(harmless(answer.text))
    unread = ((f"UNKNOWN: {each}", "", "red") for each in answer.unread)
    lines = [*_lines(answer.findings), *unread]
    if lines:
        from rich.text import Text

        from cli.prose import Prose

        terminal.write("\n")
        console = terminal.console()
        for line, command, style in lines:
            head, _, rest = line.partition(": ")
            console.print(Prose(rest, label=f"{head}: ", label_style=style), crop=False)
            if command:  # one line, which can be copied
                console.print(Text(f"  {command}"), no_wrap=True, overflow="ignore", crop=False)
    if answer.hint:
        terminal.write(f"\n{answer.hint}\n")


def _lines(findings: Iterable[CheckFinding]) -> Iterable[tuple[str, str, str]]:
    """Yield line, command and style of each finding, warnings first: there may be many notes."""
    styles = {FindingSeverity.WARNING: "yellow", FindingSeverity.NOTE: "dim"}
    for severity, style in styles.items():
        for each in findings:
            if each.severity is severity:
                line = f"{severity.value.upper()}: {each.line}"
                yield line.removesuffix(f" {each.command}"), each.command, style

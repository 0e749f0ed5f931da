"""Run `appwrapper shell`: from its arguments to the command's exit code."""

import argparse
import shlex
from typing import Final

from cli.cluster.connection import connected
from cli.command import CommandError
from cli.hints import command_for
from cli.reaching.choosing import described
from cli.reaching.local_terminal import LocalStreams
from cli.reaching.remote_command import NotStarted, RemoteCommand
from cli.reaching.target import Target, missing_right, target
from cli.terminal import CommandTerminal
from shared.kube import requests
from shared.kube.client import Forbidden
from shared.kube.pod_channels import COMMAND_PROTOCOLS

# bash if the image has it.
SHELL: Final = ("sh", "-c", "command -v bash >/dev/null && exec bash; exec sh")
_NO_SUCH_PROGRAM: Final = ("executable file not found", "no such file or directory")


async def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> int:
    """Return the command's exit code. Raises CommandError, KubeError."""
    streams = LocalStreams.of(terminal, is_shell=not arguments.words)
    async with connected(arguments) as cluster:
        found = await target(cluster, arguments, arguments.container)
        pod = found.pod
        if streams.is_terminal:
            terminal.stderr.write(f"note: {described(pod)}, container {pod.container}\n")
            terminal.stderr.flush()
        request = requests.pod_exec(
            cluster.namespace,
            pod.name,
            pod.container,
            arguments.words or SHELL,
            terminal=streams.is_terminal,
            stdin=streams.has_input,
        )
        try:
            async with cluster.client.channels(request, COMMAND_PROTOCOLS) as channels:
                return await RemoteCommand(channels, streams).run()
        except Forbidden as error:
            raise missing_right(error, "exec", cluster.namespace) from error
        except NotStarted as error:
            raise CommandError(not_started(found, arguments.words, str(error))) from error


def not_started(found: Target, words: list[str], why: str) -> str:
    """Return the reason and the next step. `words`: the command, empty for a shell. Pure."""
    pod = found.pod
    reason = why.rpartition("process: ")[2]
    if words:
        return f"{described(pod)} did not start {shlex.join(words)}: {reason}"
    if any(each in why for each in _NO_SUCH_PROGRAM):
        choice = f"--pod {pod.name}" if pod.rank is None else f"--rank {pod.rank}"
        command = f"{command_for(found.appwrapper, 'shell')} {choice} -c {pod.container}"
        return (
            f"the image of container {pod.container} of {described(pod)} has no shell. Name a"
            f" program that it has, such as: {command} -- python3. Or add a shell to the image"
        )
    return f"{described(pod)} did not start a shell: {reason}"

"""`appwrapper completion`: prints a shell's completion script."""

import argparse

from cli.command import ExitCode
from cli.terminal import CommandTerminal

DESCRIPTION = """\
Prints the completion for a shell. For this session:

  source <(appwrapper completion bash)        # or zsh
  appwrapper completion fish | source

kubectl completes `kubectl appwrapper` by itself: the command brings kubectl_complete-appwrapper.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    from argcomplete.shell_integration import shellcode

    terminal.write(shellcode(["appwrapper"], shell=arguments.shell))
    return ExitCode.FINE

"""Run the command from a checkout: `python -m cli`."""

from cli.main import program

program()

"""`python -m cli`: the command from a checkout."""

from cli.main import program

program()

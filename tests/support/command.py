"""Runs the `appwrapper` command within the test, and keeps its output."""

import io
from typing import NamedTuple

from cli.main import main
from cli.terminal import CommandTerminal


class Ended(NamedTuple):
    """The exit code and both streams."""

    code: int
    out: str
    err: str


def appwrapper(*argv: str, stdin: str = "", **environment: str) -> Ended:
    out, err = io.StringIO(), io.StringIO()
    code = main(argv, CommandTerminal(io.StringIO(stdin), out, err, environment))
    return Ended(int(code), out.getvalue(), err.getvalue())

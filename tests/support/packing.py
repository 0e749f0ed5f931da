"""Runs `appwrapper pack` within a test, and asserts the exit code."""

from tests.support.command import appwrapper


def refused(*argv: str, stdin: str = "") -> str:
    """Returns the errors about faulty manifests."""
    ended = appwrapper("pack", *argv, stdin=stdin)
    assert (ended.code, ended.out) == (1, "")
    return ended.err


def unable(*argv: str, stdin: str = "") -> str:
    """Returns the error if the command cannot do its work."""
    ended = appwrapper("pack", *argv, stdin=stdin)
    assert (ended.code, ended.out) == (2, "")
    return ended.err


def packed(*argv: str, stdin: str = "") -> str:
    ended = appwrapper("pack", *argv, stdin=stdin)
    assert (ended.code, ended.err) == (0, "")
    return ended.out

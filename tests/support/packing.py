"""`appwrapper pack` within a test, with the exit code that is expected."""

from tests.support.command import appwrapper


def refused(*argv: str, stdin: str = "") -> str:
    """What is said where the manifests are at fault."""
    ended = appwrapper("pack", *argv, stdin=stdin)
    assert (ended.code, ended.out) == (1, "")
    return ended.err


def unable(*argv: str, stdin: str = "") -> str:
    """What is said where it cannot be done."""
    ended = appwrapper("pack", *argv, stdin=stdin)
    assert (ended.code, ended.out) == (2, "")
    return ended.err


def packed(*argv: str, stdin: str = "") -> str:
    ended = appwrapper("pack", *argv, stdin=stdin)
    assert (ended.code, ended.err) == (0, "")
    return ended.out

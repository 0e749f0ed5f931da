# ruff: noqa: UP031  no newer way is understood by every Python
"""Rejects an unfit base image with one sentence, before another step fails obscurely.

It runs on any Python, however old: users could not understand a syntax error here.
"""

import sys
import sysconfig

OLDEST = (3, 11)


def problem(version, platform_name):  # for any Python
    # type: (tuple[int, ...], str) -> str | None
    """Returns why a base image with this Python is unfit; None if it is fit.

    `version` is (major, minor), `platform_name` the GNU name of its platform.
    """
    if tuple(version) < OLDEST:
        return "its Python is %d.%d, and %d.%d or newer is needed" % (tuple(version) + OLDEST)
    if "musl" in platform_name:
        return (
            "it is built on musl (%s, as Alpine is), and the locked wheels are for glibc"
            % platform_name
        )
    return None


def main():  # for any Python
    # type: () -> int
    """Returns the exit code: 1 if this Python's image is unfit."""
    built_for = [sysconfig.get_config_var(name) or "" for name in ("HOST_GNU_TYPE", "SOABI")]
    found = problem(sys.version_info[:2], " ".join(built_for))
    if found:
        sys.stderr.write("error: BASE_IMAGE cannot be used: %s. python:3.11-slim can.\n" % found)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

# ruff: noqa: UP031  no newer way is understood by every Python
"""Says in one sentence why a base image will not do, before anything else fails in its own words.

Written for any Python, however old: what would be a syntax error says nothing to anybody.
"""

import sys
import sysconfig

OLDEST = (3, 11)


def problem(version, platform_name):  # for any Python
    # type: (tuple[int, ...], str) -> str | None
    """What is wrong with a base image whose Python is this one; None where nothing is.

    `version` is (major, minor), `platform_name` the GNU name of what it was built for.
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
    """The exit code: 1 where this Python's image will not do."""
    built_for = [sysconfig.get_config_var(name) or "" for name in ("HOST_GNU_TYPE", "SOABI")]
    found = problem(sys.version_info[:2], " ".join(built_for))
    if found:
        sys.stderr.write("error: BASE_IMAGE cannot be used: %s. python:3.11-slim can.\n" % found)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

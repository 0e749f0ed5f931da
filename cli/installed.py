"""Start the programs of an installed wheel, whose packages are below `appwrapper_operator`.

The code imports `cli` and `shared`, as in a checkout. So this process, which is the command's own,
finds them below `appwrapper_operator` before another distribution's packages of the same names.
"""

import sys
from pathlib import Path


def appwrapper() -> None:
    """Entry point of `appwrapper` and `kubectl appwrapper`."""
    _find_own_packages_first()
    from cli.main import program

    program()


def complete_for_kubectl() -> None:
    """Entry point of kubectl_complete-appwrapper."""
    _find_own_packages_first()
    from cli.completion import for_kubectl

    for_kubectl()


def _find_own_packages_first() -> None:
    sys.path.insert(0, str(Path(__file__).parent.parent))

"""Installers into a running control plane: `await INSTALLERS[name](cluster)`.

Each applies the manifests from its component's Go module, starts the program, and returns when that
is ready.
"""

from collections.abc import Awaitable, Callable
from functools import partial

from localcluster.access.running import OwnedCluster
from localcluster.installers import coscheduler, kueue, kwok, operators

Installer = Callable[[OwnedCluster], Awaitable[None]]

# Components of every cluster, and components on request.
ALWAYS: dict[str, Installer] = {"kwok": kwok.install, "kueue": kueue.install}
ON_REQUEST: dict[str, Installer] = {
    "coscheduler": coscheduler.install,
    **{name: partial(operators.install, name) for name in operators.OPERATORS},
}
INSTALLERS = ALWAYS | ON_REQUEST

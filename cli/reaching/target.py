"""Find the pod that the options name, and explain a refusal. I/O only."""

import argparse
from dataclasses import dataclass

from cli.cluster.appwrappers import AppWrapperReader
from cli.cluster.connection import Cluster
from cli.command import CommandError
from cli.logs.choosing import LogChoice, LogPod, UnknownChoice
from cli.logs.pods import attempt_pods
from cli.reaching.choosing import running_pod
from shared.api.appwrapper import AppWrapper
from shared.kube.client import Forbidden


@dataclass(frozen=True, slots=True)
class Target:
    """A running pod of an AppWrapper's present attempt."""

    appwrapper: AppWrapper
    pod: LogPod

    @property
    def attempt(self) -> int:
        return self.appwrapper.attempt


async def target(cluster: Cluster, arguments: argparse.Namespace, container: str = "") -> Target:
    """Read the AppWrapper and its pods. Raises CommandError if no such pod runs."""
    raw = await AppWrapperReader(cluster, cluster.namespace).appwrapper(arguments.name)
    appwrapper = AppWrapper(raw)
    pods = await attempt_pods(cluster.client, appwrapper, appwrapper.attempt, container)
    choice = LogChoice(
        frozenset(() if arguments.rank is None else (arguments.rank,)),
        frozenset(() if arguments.pod is None else (arguments.pod,)),
    )
    try:
        found = running_pod(pods, choice, container, appwrapper)
    except UnknownChoice as error:
        raise CommandError(str(error)) from error
    return Target(appwrapper, found)


def missing_right(error: Forbidden, subresource: str, namespace: str) -> CommandError:
    """Return the error that names the right and who can grant it."""
    return CommandError(
        f"you lack a right in namespace {namespace}: the verbs get and create on"
        f" pods/{subresource}. A cluster admin can grant it; the role mlbatch-edit of deploy/team"
        f" has both verbs. The API server reports: {error.message}"
    )

"""Choose the one running pod that a command reaches into. Pure."""

from collections.abc import Sequence

from cli.hints import command_for
from cli.logs.choosing import LogChoice, LogPod, UnknownChoice, chosen
from cli.phases import shown_phase
from shared.api.appwrapper import AppWrapper
from shared.waits.words import few


def running_pod(
    pods: Sequence[LogPod], choice: LogChoice, container: str, appwrapper: AppWrapper
) -> LogPod:
    """Return the chosen pod, without a choice the one of the lowest rank that runs.

    Raises UnknownChoice.
    """
    name = appwrapper.name
    if not pods:
        raise UnknownChoice(
            f"{name} has no pods now: it is {shown_phase(appwrapper) or 'new'}. This shows why:"
            f" {command_for(appwrapper, 'explain')}"
        )
    found = chosen(pods, choice, container, name)
    running = [each for each in found if each.is_running]
    if not running:
        raise UnknownChoice(_why_not(found, appwrapper))
    if len(running) > 1 and running[0].rank is None:
        names = few([each.name for each in running])
        raise UnknownChoice(
            f"{name} has {len(running)} running pods, which have no ranks. Choose one with --pod:"
            f" {names}"
        )
    return running[0]


def described(pod: LogPod) -> str:
    """Return the pod's name, with its rank if it has one."""
    return pod.name if pod.rank is None else f"{pod.name} (rank {pod.rank})"


def _why_not(pods: Sequence[LogPod], appwrapper: AppWrapper) -> str:
    first = pods[0]
    if first.reason:
        why = f"its container {first.container} has not started ({first.reason})"
        step = command_for(appwrapper, "explain")
    else:
        why = f"its container {first.container} has ended"
        step = f"{command_for(appwrapper, 'logs')} --pod {first.name} -c {first.container}"
    others = f", and {len(pods) - 1} others do not run either" if len(pods) > 1 else ""
    return f"{described(first)} does not run: {why}{others}. This shows more: {step}"

"""When an AppWrapper has done what it was for."""

from controller.phases.actions import Actions, RecordEnds
from controller.phases.snapshot import Snapshot, Terminal


def has_succeeded(snapshot: Snapshot) -> bool:
    """Every component with pods ended well, and no pod is on its way any more.

    A component whose Kind reports its end is believed, since its pods may have been cleaned up
    (cleanPodPolicy, a TTL). Of the others, as many pods as expected must have succeeded.
    """
    with_pods = [each for each in snapshot.components if each.expected_pods]
    pods = snapshot.pods
    if not with_pods or pods.pending or pods.running or pods.deleting or pods.failed:
        return False
    if any(each.reports and each.terminal is not Terminal.SUCCEEDED for each in with_pods):
        return False
    loose = sum(each.expected_pods for each in with_pods if not each.reports)
    return pods.loose_succeeded >= loose


def record_ends(snapshot: Snapshot) -> Actions:
    """Remember which components ended well while others go on.

    Their objects may be gone (a TTL) before the last one ends, and this process may not be the one
    that saw it. With one component only there is nothing to wait for, and no write to spend.
    """
    if all(each.terminal for each in snapshot.components if each.expected_pods):
        return ()
    indices = tuple(
        index
        for index, each in enumerate(snapshot.components)
        if each.terminal is Terminal.SUCCEEDED and not each.end_recorded
    )
    return (RecordEnds(indices),) if indices else ()

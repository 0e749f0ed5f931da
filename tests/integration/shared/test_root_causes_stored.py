"""Root causes from an error store: a folder, which the recorders of the workers write to."""

import os
from dataclasses import replace

from localcluster.access.running import RunningCluster
from shared.api.objects import PODS, JsonObject
from shared.kube.client import Propagation
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import job
from tests.support.builders.pods import pod
from tests.support.cluster.failed_workers import (
    PATIENT,
    STORE,
    End,
    FailureReports,
    Workers,
    column,
    decided,
    folder_of,
    leave,
    operators_log,
    raised,
    running,
    world_of,
)
from tests.support.cluster.life import Life
from tests.support.cluster.lives import NAMESPACE, Lives
from worker import error_document

OVERSIZE = 2 * 1024 * 1024 + 1
NO_RETRY = "no retry: the program recorded that none can help"
WRONG = End(after=2, message="Connection reset by peer")


def training(name: str, workers: int = 2, **annotations: str) -> JsonObject:
    """Workers, each a Pod of its own, whose recorders use the store."""
    pods = [pod(f"{name}-{index}", hang="running") for index in range(workers)]
    return appwrapper(name, *pods, annotations={**PATIENT, "errorStore": STORE, **annotations})


async def begun(
    lives: Lives, name: str, workers: int = 2, **annotations: str
) -> tuple[Life, Workers]:
    life = await lives.begin(training(name, workers, **annotations))
    return life, await running(lives, life, workers)


async def shown(cluster: RunningCluster, name: str, world: FailureReports) -> None:
    """kubectl prints the line, and no word of the workers is in the operator's log."""
    assert await column(cluster, name) == world.root_cause["summary"]
    assert "SECRET" in world.root_cause["message"]
    assert "SECRET" not in operators_log(cluster)


async def test_flytes_single_file_without_time_and_worker_is_used(
    lives: Lives, cluster: RunningCluster
) -> None:
    """Case 4."""
    life, workers = await begun(lives, "legacy", 1)
    record = replace(raised("USER:ValueError: SECRET-4"), exit_code=None, code="USER:ValueError")
    file = leave(folder_of(cluster, life), record, "error.pb")
    ends = {0: End(after=1, message="exit status 1")}
    await workers.end(ends)
    world = await world_of(lives, life, await decided(lives, life, "Failed"))
    what = "USER:ValueError: SECRET-4"
    told = workers.told(
        0,
        ends,
        what=what,
        summary=f"legacy-0: {what} (non-recoverable)",
        decision="Terminal",
        then=NO_RETRY,
        code="USER:ValueError",
        origin="User",
        recoverable=False,
        message=what,
        source="Store",
        confidence="Recorded",
        records=1,
        uri=file.as_uri(),
    )
    told["events"] = tuple(each.replace("exit status 1", what) for each in told["events"])
    assert world == FailureReports(**told, phase="Failed")
    await shown(cluster, "legacy", world)


async def test_bad_files_are_skipped_with_a_warning(lives: Lives, cluster: RunningCluster) -> None:
    """Case 10: the next valid record decides."""
    life, workers = await begun(lives, "spoilt")
    folder = folder_of(cluster, life)
    valid = End(after=1, record=raised("ValueError: SECRET-10", rank=1))
    whole = error_document.encode(workers.record(1, valid))
    (folder / "error-a.pb").write_bytes(b"")
    (folder / "error-b.pb").write_bytes(whole[:-7])
    (folder / "error-c.pb").write_bytes(b"\xff\xff not a document")
    (folder / "error-d.pb").write_bytes(whole + b"\0" * OVERSIZE)
    os.mkfifo(folder / "error-e.pb")  # nobody ever writes to it
    (folder / "notes.txt").write_text("not a record")
    file = leave(folder, workers.record(1, valid))
    await workers.end({0: WRONG, 1: replace(valid, record=None)})
    world = await world_of(lives, life, await decided(lives, life, "Failed"))
    told = workers.told(
        1,
        {0: WRONG, 1: valid},
        what="ValueError: SECRET-10",
        note=" (non-recoverable)",
        decision="Terminal",
        then=NO_RETRY,
        source="Store",
        records=1,
        uri=file.as_uri(),
    )
    assert world == FailureReports(**told, phase="Failed")
    (warning,) = await lives.told("spoilt", "ErrorRecordsSkipped")
    for name in ("error-a.pb", "error-b.pb", "error-c.pb", "error-d.pb"):
        assert name in warning
    assert "error-spoilt-1.pb" not in warning
    await shown(cluster, "spoilt", world)


async def test_records_of_an_earlier_attempt_do_not_count(
    lives: Lives, cluster: RunningCluster
) -> None:
    """Case 17: the pods of both attempts have the same names."""
    life, workers = await begun(lives, "stale", retryLimit="1")
    first = End(after=0.25, record=raised("OSError: SECRET-17", recoverable=True, rank=0))
    record = workers.record(0, first)
    leave(folder_of(cluster, life), record)
    await workers.end({0: replace(first, record=None), 1: WRONG})
    before = await world_of(lives, life, await decided(lives, life, "Resetting"))
    assert (before.root_cause["pod"], before.root_cause["source"]) == ("stale-0", "Store")
    await lives.annotate("stale", failureGracePeriodDuration="1h")
    again = await running(lives, life, 2, attempt=2)
    # Copied by a program that knows no better: the record says itself which attempt it is of.
    leave(folder_of(cluster, life, 2), record)
    second = End(after=1, record=raised("RuntimeError: SECRET-18", recoverable=True, rank=1))
    ends = {0: WRONG, 1: second}
    await again.end(ends)
    world = await world_of(lives, life, await decided(lives, life, "Failed"), events=2)
    told = again.told(
        1,
        ends,
        what="RuntimeError: SECRET-18",
        note=" (recoverable)",
        decision="Terminal",
        then="retries exhausted (1 of 1)",
        before="retries exhausted (1 of 1): ",
        records=1,
    )
    entry = {
        "attempt": 1,
        "time": workers.shown(first),
        "pod": "stale-0",
        "summary": "stale-0 r0: OSError: SECRET-17 (recoverable)",
        "decision": "Retry",
    }
    assert world == FailureReports(
        **told | {"events": (*before.events, *told["events"])},
        phase="Failed",
        retries=1,
        history=(entry,),
    )
    await shown(cluster, "stale", world)


async def test_a_store_that_cannot_be_read_holds_nothing_up(
    lives: Lives, cluster: RunningCluster
) -> None:
    """Case 22: the termination messages decide, and the reset goes on."""
    life, workers = await begun(lives, "unreadable")
    folder = folder_of(cluster, life)
    folder.rmdir()
    folder.symlink_to(folder.name)  # to itself
    end = End(after=1, record=raised("OSError: SECRET-22", recoverable=True, rank=0))
    ends = {0: end, 1: WRONG}
    await workers.end(ends)
    world = await world_of(lives, life, await decided(lives, life, "Resetting"))
    told = workers.told(
        0,
        ends,
        what="OSError: SECRET-22",
        note=" (recoverable)",
        decision="Retry",
        then="retry 1 of 3 follows",
        records=1,
    )
    assert world == FailureReports(**told, phase="Resetting", retries=1)
    (warning,) = await lives.told("unreadable", "StoreUnavailable")
    assert STORE in warning
    await running(lives, life, 2, attempt=2)
    await shown(cluster, "unreadable", world)


async def test_a_failed_pod_that_is_deleted_at_once_is_still_named(
    lives: Lives, cluster: RunningCluster
) -> None:
    """Case 23: what the watch saw, and what the store holds, outlive the pod."""
    body = appwrapper("gone", job("gone", 2, hang="running"), annotations={
        **PATIENT, "errorStore": STORE, "retryPausePeriodDuration": "1h",
    })  # fmt: skip
    life = await lives.begin(body)
    workers = await running(lives, life, 2)
    end = End(after=0.5, record=raised("OSError: SECRET-24", recoverable=True, rank=0))
    leave(folder_of(cluster, life), workers.record(0, end))
    await workers.end({0: replace(end, record=None)})
    await lives.client.delete(
        PODS, NAMESPACE, workers.name(0), uid=None, propagation=Propagation.BACKGROUND
    )
    resetting = await life.until_phase("Resetting")
    world = await world_of(lives, life, resetting)
    assert world.root_cause["pod"] == workers.name(0)
    assert world.root_cause["message"] == "OSError: SECRET-24"
    assert (world.retries, world.suspects) == (1, ())
    await shown(cluster, "gone", world)

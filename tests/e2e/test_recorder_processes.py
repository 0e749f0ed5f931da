"""The recorder as a container's first process: signals, orphans, and the kubelet's own limits."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from localcluster.cluster import LocalCluster
from tests.e2e.containers import JOB_DECIDES, job
from tests.e2e.node_processes import processes_of
from tests.e2e.recorded import (
    RECORD,
    container_ends,
    provide,
    record_of,
    recorded_pod,
    with_recorder,
)
from tests.e2e.research_team import TEAM, ResearchTeam, container_of
from tests.support.builders.appwrappers import AT_ONCE, appwrapper, true_conditions
from tests.support.cluster.life import Life
from tests.support.life_record import UNHEALTHY, unhealthy_reasons
from tests.support.patience import comes_to

pytestmark = pytest.mark.long

GRACE = 20
# Orphans end while their parent, which does not wait for them, lives on.
ORPHANS = """
import os, time
for _ in range(5):
    if os.fork() == 0:
        os.fork() or time.sleep(0.2)
        os._exit(0)
def children_of_1():
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            state, parent = open(f"/proc/{pid}/stat").read().rsplit(")")[1].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue  # it was reaped meanwhile
        if parent == "1" and pid != str(os.getpid()):
            yield pid, state
time.sleep(2)
for _ in range(600):
    left = dict(children_of_1())
    if not left:
        break
    time.sleep(0.1)
open("/shared/zombies", "w").write(str(len(left)))
"""
# What a training does with SIGTERM: a last checkpoint.
CHECKPOINTS = """
import signal, sys, time
def save(number, frame):
    open("/shared/saved", "w").write("step 7")
    sys.exit(143)
signal.signal(signal.SIGTERM, save)
open("/shared/ready", "w")
time.sleep(1000)
"""
# 6 containers share 12 KiB; each has much more to say, in letters of two and three bytes.
WORDY = "raise ValueError('Größe der Scheibe ≠ 3: ' + '数据错误 ü' * 3000)"


@pytest_asyncio.fixture(scope="module", loop_scope="session", autouse=True)
async def recorder(node_cluster: LocalCluster, research: None) -> AsyncIterator[None]:
    await provide(node_cluster, TEAM)
    yield


def program(text: str) -> str:
    return f"cat > /tmp/train.py <<'END'\n{text}\nEND\n{RECORD} python3 /tmp/train.py"


async def test_orphans_are_reaped_and_success_leaves_no_message(
    team: ResearchTeam, tmp_path: Path
) -> None:
    life = await team.submit(
        appwrapper("orphans", recorded_pod("orphans", program(ORPHANS), tmp_path))
    )
    done = await life.until_phase("Succeeded")
    await life.caught_up()
    assert (tmp_path / "zombies").read_text() == "0"
    assert "rootCause" not in done["status"]
    assert "message" not in container_ends(life)["orphans"]


async def test_the_program_has_the_kubelets_sigterm_and_its_grace_period(
    team: ResearchTeam, tmp_path: Path
) -> None:
    """A deletion by us: the record says that the failure is a consequence."""
    body = recorded_pod("saves", program(CHECKPOINTS), tmp_path, grace=GRACE)
    life = await team.submit(appwrapper("saves", body, annotations=AT_ONCE))

    async def ready() -> bool:
        return (tmp_path / "ready").exists()

    await comes_to(ready, True)
    container = container_of(await team.running_pod("saves"))
    await team.delete("saves")
    await life.until_deleted()
    await life.caught_up()
    assert (tmp_path / "saved").read_text() == "step 7"
    assert processes_of(container) == []
    assert container_ends(life)["saves"]["exitCode"] == 143
    record = record_of(life, "saves")
    assert (record.collateral, record.exit_code, record.worker) == (True, 143, "saves")


async def test_each_containers_record_fits_into_what_the_kubelet_keeps(
    team: ResearchTeam,
) -> None:
    """Case 24: six containers, and errors that are no ASCII."""
    body = recorded_pod("wordy", "true")
    [container] = body["spec"]["containers"]
    command = ["sh", "-c", program(WORDY)]
    body["spec"]["containers"] = [
        {**container, "name": f"c{number}", "command": command} for number in range(6)
    ]
    life = await team.submit(appwrapper("wordy", body, annotations=AT_ONCE | {"retryLimit": "0"}))
    failed = await life.until_phase("Failed")
    await life.caught_up()
    ends = container_ends(life)
    assert sorted(ends) == [f"wordy/c{number}" for number in range(6)]
    for name, ended in ends.items():
        assert len(ended["message"].encode()) <= 12288 // 6
        record = record_of(life, name)
        assert (record.code, record.recoverable) == ("ValueError", False)
        assert record.message.startswith("ValueError: Größe der Scheibe ≠ 3: 数据错误 ü")
    assert failed["status"]["rootCause"]["message"].startswith("ValueError: Größe der Scheibe ≠ 3")


async def test_a_failure_that_the_job_heals_is_history_and_no_reset(
    team: ResearchTeam, tmp_path: Path
) -> None:
    """Case 20: the Job replaces the pod within the grace period; only the history tells of it."""
    waits = "until test -e /shared/seen; do sleep 0.1; done; exec sleep 1"
    once = f"mkdir /shared/been 2>/dev/null || {{ {waits}; }}\n"
    template = job("heals", once + program("raise ValueError('shard 7 has 3 columns')"))
    template["spec"]["backoffLimit"] = 2
    with_recorder(template["spec"]["template"], tmp_path)
    life = await team.submit(appwrapper("heals", template, annotations=JOB_DECIDES))
    await life.until(lambda item: UNHEALTHY in true_conditions(item), "its first failure")
    (tmp_path / "seen").touch()
    done = await life.until_phase("Succeeded")
    await life.caught_up()
    assert life.phases() == ["", "Suspended", "Resuming", "Running", "Succeeded"]
    assert unhealthy_reasons(life) == ["FoundFailedPods"]
    assert UNHEALTHY not in true_conditions(done)
    assert "rootCause" not in done["status"]
    [healed] = done["status"]["errorHistory"]
    first = pods_in_turn(life)[0]
    assert (healed["attempt"], healed["pod"], healed["decision"]) == (1, first, "None")
    assert healed["summary"] == (f"{first}: ValueError: shard 7 has 3 columns (non-recoverable)")


def pods_in_turn(life: Life) -> list[str]:
    """Their names, in the order in which they were created."""
    return list(dict.fromkeys(event.object["metadata"]["name"] for event in life.pod_events))

"""AppWrappers whose worker pods fail one because of the other, as the parts of a training do.

The order of the failures is no chance: a pod that fails later waits for the one before it, in a
folder that all see. Each job does its work in its second attempt, which begins by `end_of_grace`.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from localcluster.machine.slowness import stretched
from shared.api.objects import JsonObject
from tests.e2e.containers import ATTEMPT, pod
from tests.e2e.recorded import RECORD, TORCHRUN, recorded_pod, sharing
from tests.e2e.research_team import ResearchTeam
from tests.support.builders.appwrappers import appwrapper
from tests.support.cluster.life import Life
from tests.support.patience import comes_to

# It is over when every pod of a job has failed: `end_of_grace`.
GRACE: Final = {"failureGracePeriodDuration": "1h", "retryPausePeriodDuration": "0s"}
# The controller's own watch of the pods may be later than a test's, and no status counts failures.
_LATER_SECONDS: Final = stretched(8.0)
_ONCE_MORE: Final = 'test "$ATTEMPT" -ge 2 && exit 0\n'
# Nobody fails before all have started.
_MEET: Final = (
    'touch "/shared/started-$HOSTNAME"\n'
    'until [ "$(ls /shared | grep -c started)" = {pods} ]; do sleep 0.1; done\n'
)
_FIRST: Final = "touch /shared/failed\n"
# Nodes report whole seconds, and the first one has yet to end.
_PAUSE: Final = round(stretched(4.0))
_AFTER: Final = f"until test -e /shared/failed; do sleep 0.1; done; sleep {_PAUSE}\n"
_FIRST_IN_PYTHON: Final = "open('/shared/failed', 'w')\n"
_AFTER_IN_PYTHON: Final = (
    f"while not os.path.exists('/shared/failed'): time.sleep(0.05)\ntime.sleep({_PAUSE})\n"
)
_MEET_IN_PYTHON: Final = (
    "import os, sys, time\n"
    "open('/shared/started-' + os.environ['HOSTNAME'], 'w')\n"
    "while sum('started' in each for each in os.listdir('/shared')) < {pods}: time.sleep(0.05)\n"
)
NCCL: Final = (
    "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1691, remote process"
    " exited or there was a network error"
)
CUDA: Final = (
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB"
    " (GPU 0; 79.15 GiB total capacity)"
)
# A kernel that ends a process lets go of its locks, as it closes its connections.
_HOG: Final = """exec python3 -c "
import fcntl
lock = open('/shared/lock', 'w')
fcntl.flock(lock, fcntl.LOCK_EX)
open('/shared/held', 'w')
taken = []
while True: taken.append(bytearray(1 << 20))
"
"""
_HOGS_PEER: Final = f"""exec python3 -c "
import fcntl, os, sys, time
while not os.path.exists('/shared/held'): time.sleep(0.05)
fcntl.flock(open('/shared/lock'), fcntl.LOCK_EX)
sys.exit('{NCCL}')
"
"""


def unrecorded(folder: Path) -> JsonObject:
    """Four pods in the order of their names, of which the third fails first, and says why."""
    lost = f"echo '{NCCL}' >&2; exit 1"
    out_of_memory = (
        "echo 'Traceback (most recent call last):' >&2\n"
        "echo '  File \"train.py\", line 12, in <module>' >&2\n"
        f"echo '{CUDA}' >&2\n"
        "exit 1"
    )
    scripts = {name: _FIRST + out_of_memory if name == "c" else _AFTER + lost for name in "abcd"}
    return _of_pods("unrecorded", scripts, folder)


def killed_for_memory(folder: Path) -> JsonObject:
    """A pod that takes too much memory, and one that loses it as its peer in that moment."""
    pods = [
        sharing(pod("memory-a", _ONCE_MORE + _HOGS_PEER), folder),
        sharing(pod("memory-b", _ONCE_MORE + _HOG, memory="48Mi"), folder),
    ]
    return appwrapper("memory", *pods, annotations=GRACE)


def recoverable(folder: Path, name: str = "recoverable") -> JsonObject:
    """Of four, the third raises what is worth a retry; the others fail because of it, or after."""
    lost = _AFTER_IN_PYTHON + "raise ConnectionResetError(104, 'Connection reset by peer')\n"
    programs = {
        "a": lost,
        "b": _AFTER_IN_PYTHON + "raise ValueError('no gradients')\n",
        "c": (
            "from appwrapper_errors import RecoverableError\n"
            "class BeingWritten(RecoverableError): pass\n"
            f"{_FIRST_IN_PYTHON}raise BeingWritten('shard 7 is not whole yet')\n"
        ),
        "d": lost,
    }
    return _of_programs(name, programs, folder)


def non_recoverable(folder: Path) -> JsonObject:
    """The second raises what no retry helps; the first fails later, and would be worth one."""
    programs = {
        "a": (
            f"{_AFTER_IN_PYTHON}from appwrapper_errors import RecoverableError\n"
            "raise RecoverableError('lost rank 1')\n"
        ),
        "b": f"{_FIRST_IN_PYTHON}raise ValueError('shard 7 has 3 columns')\n",
    }
    return _of_programs("non-recoverable", programs, folder)


def segmentation_fault(folder: Path) -> JsonObject:
    """Of two ranks of one launcher, the second dies without a word."""
    program = "os.environ['RANK'] == '1' and os.kill(os.getpid(), 11)\n"
    return _of_programs("segfault", {"a": program + "time.sleep(60)\n"}, folder, ranks=2)


def healthy(folder: Path) -> JsonObject:
    """Two ranks of one launcher that do their work."""
    # One write: both ranks of a pod write to the same pipe.
    program = "os.write(1, ('rank %(RANK)s of %(WORLD_SIZE)s\\n' % os.environ).encode())\n"
    return _of_programs(HEALTHY, {"a": program}, folder, ranks=2, again=False)


HEALTHY: Final = "healthy"
ALL: Final = {
    "unrecorded": unrecorded,
    "memory": killed_for_memory,
    "recoverable": recoverable,
    "non-recoverable": non_recoverable,
    "segfault": segmentation_fault,
    HEALTHY: healthy,
}


async def end_of_grace(team: ResearchTeam, life: Life, body: JsonObject) -> None:
    """Waits until every pod of the first attempt has failed, then ends the grace period."""
    components = body["spec"]["components"]
    wanted = {each["template"]["metadata"]["name"]: "Failed" for each in components}

    async def phases() -> dict[str, str]:
        return {
            event.object["metadata"]["name"]: event.object["status"].get("phase", "")
            for event in life.pod_events
            if event.object["metadata"]["labels"][ATTEMPT] == "1"
        }

    await comes_to(phases, wanted)
    await asyncio.sleep(_LATER_SECONDS)
    await team.annotate(body["metadata"]["name"], failureGracePeriodDuration="0s")


def _of_pods(name: str, scripts: Mapping[str, str], folder: Path, **annotations: str) -> JsonObject:
    before = _ONCE_MORE + _MEET.format(pods=len(scripts))
    pods = [sharing(pod(f"{name}-{each}", before + text), folder) for each, text in scripts.items()]
    return appwrapper(name, *pods, annotations={**GRACE, **annotations})


def _of_programs(
    name: str,
    programs: Mapping[str, str],
    folder: Path,
    *,
    ranks: int = 1,
    again: bool = True,
    **annotations: str,
) -> JsonObject:
    """One pod for each Python program, whose launcher runs under the recorder."""
    before, meet = _ONCE_MORE if again else "", _MEET_IN_PYTHON.format(pods=len(programs))
    pods = [
        recorded_pod(f"{name}-{each}", before + launched(meet + text, ranks), folder)
        for each, text in programs.items()
    ]
    return appwrapper(name, *pods, annotations={**GRACE, **annotations})


def launched(program: str, ranks: int = 1) -> str:
    """A shell's script that runs a Python program in so many ranks, under the recorder."""
    return f"cat > /tmp/train.py <<'END'\n{program}END\n{RECORD} {TORCHRUN} {ranks} /tmp/train.py"

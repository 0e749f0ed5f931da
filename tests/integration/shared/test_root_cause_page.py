"""What docs/users/failures.md shows is what a cluster prints."""

import re
import shlex

from localcluster.access.running import RunningCluster
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.pods import pod
from tests.support.cluster.failed_workers import decided, running, world_of
from tests.support.cluster.failing_lives import ended
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.root_cause_cases.case import PATIENT
from tests.support.root_cause_cases.workers import End, raised
from tests.support.shown_commands import sessions_in

SHARD = """\
ValueError: shard 7 has 3 columns, 4 are wanted

Traceback (most recent call last):
  File "/data/train.py", line 41, in <module>
    main()
  File "/data/train.py", line 36, in main
    batch = loader.read(shard)
ValueError: shard 7 has 3 columns, 4 are wanted"""
LOST = "torch.distributed.DistBackendError: [Rank {}] Connection reset by peer"
_CHANGING = re.compile(r"gpu-node-\d+ *|\d\d:\d\d:\d\d|\d+(?:m(?:\d+s)?|s) +")


async def test_the_sessions_of_the_page(lives: Lives, cluster: RunningCluster) -> None:
    """Four workers under the recorder, of which the third raises first."""
    pods = [pod(f"train-{index}", hang="running") for index in range(4)]
    life = await lives.begin(appwrapper("train", *pods, annotations=PATIENT))
    workers = await running(lives, life, 4)
    lost = {
        index: End(after=after, record=raised(LOST.format(index), recoverable=True, rank=index))
        for index, after in ((0, 0.7), (1, 0.68), (3, 0.75))
    }
    await workers.end({2: End(after=0.25, record=raised(SHARD, rank=2)), **lost})
    failed = await decided(lives, life, "Failed")
    await world_of(lives, failed)
    await ended(life, after=failed)
    kubectl = Kubectl(cluster.kubectl, cluster.kubeconfig)
    sessions = sessions_in("users/failures.md")
    assert len(sessions) == 3
    for command, shown in sessions:
        program, *arguments = shlex.split(command)
        assert program == "kubectl"
        printed = await kubectl(*arguments, "-n", NAMESPACE)
        assert masked(printed) == masked(shown), printed


def masked(text: str) -> str:
    """Without nodes, times of day, ages, and the blanks that align a table."""
    return re.sub(r" {2,}", "  ", _CHANGING.sub("#", text)).strip()

"""PyTorchJobs whose ranks the real torchrun starts: two pods with two ranks each.

The ranks meet as the operator's variables say (an elastic policy, backend c10d) and reduce a tensor
with gloo. Which pod gets which ranks is chance, so that programs go by their pod's name.
"""

from pathlib import Path
from typing import Final

from localcluster.images.stand_in import TORCH_NAME
from shared.api.objects import JsonObject
from tests.e2e.containers import pod_template
from tests.e2e.recorded import RECORD, with_recorder
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import pytorch_job

NO_PAUSE: Final = {"retryPausePeriodDuration": "0s"}
# No cluster DNS serves the node: the pods tell each other their addresses.
_ADDRESSES: Final = (
    'mkdir -p "/shared/$ATTEMPT"\n'
    'echo "$(hostname -i) $HOSTNAME" > /tmp/own; mv /tmp/own "/shared/$ATTEMPT/$HOSTNAME"\n'
    'until [ "$(ls "/shared/$ATTEMPT" | wc -l)" = 2 ]; do sleep 0.1; done\n'
    'cat "/shared/$ATTEMPT"/* >> /etc/hosts\n'
)
# torchrun 1.13 on Python 3.11 takes no other redirection: its enumeration lost 0 and 3. It looks at
# its ranks every 5 s by default, torchrun 2 every 0.1 s.
_DEBIANS: Final = "export PET_REDIRECTS=1 PET_TEE=1 PET_MONITOR_INTERVAL=0.1\n"
_MEET: Final = (
    "import os, signal, sys\n"
    "import torch, torch.distributed as dist\n"
    "dist.init_process_group('gloo')\n"
    "total = torch.ones(1)\n"
    "dist.all_reduce(total)\n"
    "assert total.item() == 4\n"
    "pod, local_rank = os.environ['HOSTNAME'], os.environ['LOCAL_RANK']\n"
    "it = pod.endswith('-worker-1') and local_rank == '1'\n"
)
_REDUCE_FOREVER: Final = "while True: dist.all_reduce(total)\n"

RAISES: Final = (
    "from appwrapper_errors import RecoverableError\n"
    "class BeingWritten(RecoverableError): pass\n"
    f"{_MEET}"
    "if it: raise BeingWritten('shard 7 is not whole yet')\n"
    f"{_REDUCE_FOREVER}"
)
EXITS_42: Final = f"{_MEET}if it: sys.exit(42)\n{_REDUCE_FOREVER}"
SEGMENTATION_FAULT: Final = f"{_MEET}if it: os.kill(os.getpid(), signal.SIGSEGV)\n{_REDUCE_FOREVER}"


def torch_job(name: str, program: str, folder: Path, **annotations: str) -> JsonObject:
    """A PyTorchJob of the program; in its second attempt every pod ends well at once."""
    script = (
        f'test "$ATTEMPT" -ge 2 && exit 0\n{_ADDRESSES}{_DEBIANS}'
        f"cat > /tmp/train.py <<'END'\n{program}END\n{RECORD} torchrun /tmp/train.py"
    )
    template = with_recorder(pod_template(script, image=TORCH_NAME, grace=10), folder)
    template["spec"].pop("restartPolicy")
    template["spec"]["containers"][0]["name"] = "pytorch"
    job = pytorch_job(name, "Never", Worker=(2, template))
    job["spec"]["nprocPerNode"] = "2"
    job["spec"]["elasticPolicy"] = {"rdzvBackend": "c10d", "rdzvId": name}
    return appwrapper(name, job, annotations={**NO_PAUSE, **annotations})

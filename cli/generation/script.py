"""Write the container's shell script. The Training Operator sets its variables."""

import shlex
from collections.abc import Iterator
from typing import Final

from cli.generation.one_command import one_command
from cli.generation.values import SAKKARA, Values

_GREETING: Final = """\
# Set by the Training Operator and Kubernetes.
echo "Rank ${RANK} of ${WORLD_SIZE}, master ${MASTER_ADDR}:${MASTER_PORT}"
echo "PYTHONUNBUFFERED=${PYTHONUNBUFFERED}"
echo "NVME_MOUNT_PATH=${NVME_MOUNT_PATH}"
# The first command that fails ends the script."""
_RANK: Final = """\
echo "Sakkara assigns rank ${SAKKARA_RANK}"
export RANK="${SAKKARA_RANK}\""""


def script(values: Values) -> str:
    """Return the text for `sh -c`."""
    return "\n".join(_parts(values)) + "\n"


def _parts(values: Values) -> Iterator[str]:
    yield _GREETING
    yield "set -e"
    if values.scheduler_name in SAKKARA:
        yield _RANK
    for command in values.setup_commands:
        yield command.rstrip("\n")
    if values.main_program is not None:
        command = torchrun(values, values.main_program)
        yield f"echo {shlex.quote(f'Executing: {command}')}"
        yield command


def torchrun(values: Values, program: str) -> str:
    """Return the command line. Raises HereDocument."""
    words = ["torchrun", "--nnodes=${WORLD_SIZE}", "--node_rank=${RANK}"]
    if values.num_gpus_per_pod:
        words.append(f"--nproc_per_node={values.num_gpus_per_pod}")
    words += ["--rdzv_id=101", '--rdzv_endpoint="${MASTER_ADDR}:${MASTER_PORT}"']
    return " ".join((*words, one_command(program)))

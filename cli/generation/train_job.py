"""Build the components of a TrainJob from the pod template of a PyTorchJob's values."""

from typing import Final

from cli.generation.values import Values
from shared.api.objects import JsonObject

_API: Final = "trainer.kubeflow.org/v1alpha1"
_STEP: Final = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
_NODE: Final = "node"  # Kubeflow Trainer finds its Job and its container by this name
# Kubeflow Trainer sets torchrun's own variables. Scripts for the Training Operator use these.
_VARIABLES: Final = """\
# Kubeflow Trainer's variables, under the names of the Training Operator.
export RANK="${PET_NODE_RANK}" WORLD_SIZE="${PET_NNODES}"
export MASTER_ADDR="${PET_MASTER_ADDR}" MASTER_PORT="${PET_MASTER_PORT}"
"""


def components(
    values: Values, pod_template: JsonObject, labels: dict[str, str]
) -> list[JsonObject]:
    """Return the TrainingRuntime with the pod template, and the TrainJob that uses it."""
    named = {"name": values.job_name, **({"labels": labels} if labels else {})}
    spec = {"backoffLimit": 0, "template": _of_node(pod_template, values.restart_policy)}
    job = {"name": _NODE, "template": {"metadata": {"labels": _STEP}, "spec": spec}}
    policy = {"numNodes": values.num_pods, "torch": {}}
    ref = {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": values.job_name}
    runtime = {
        "apiVersion": _API,
        "kind": "TrainingRuntime",
        "metadata": named,
        "spec": {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": [job]}}},
    }
    train_job = {
        "apiVersion": _API,
        "kind": "TrainJob",
        "metadata": named,
        # Without a trainer, Kubeflow Trainer sets no variables. Without a number of processes, it
        # sets as many as a pod without GPUs has CPUs.
        "spec": {
            "runtimeRef": ref,
            "trainer": {
                "numNodes": values.num_pods,
                "numProcPerNode": values.num_gpus_per_pod or 1,
            },
        },
    }
    return [{"template": runtime}, {"template": train_job}]


def _of_node(pod_template: JsonObject, restart_policy: str) -> JsonObject:
    spec = pod_template["spec"]
    [main] = spec["containers"]
    shell, option, script = main["command"]
    node = {**main, "name": _NODE, "command": [shell, option, _VARIABLES + script]}
    return {
        **pod_template,
        "spec": {**spec, "restartPolicy": restart_policy, "containers": [node]},
    }

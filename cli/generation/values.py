"""The keys of a values file: names, shapes, defaults and descriptions.

This is the only list of the keys. The reader, `--schema`, `--example` and
docs/users/generate-values.md use it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from cli.generation.items import (
    CPUS,
    DNS_LABEL,
    JOB_NAME,
    LABEL_KEY,
    LABEL_VALUE,
    MEMORY,
    OBJECT_NAME,
    RESOURCE,
    TEXT,
    CustomLabel,
    EnvironmentSource,
    GitClone,
    InitContainer,
    Labels,
    Named,
    Nvme,
    Variable,
    Volume,
)
from cli.generation.shapes import (
    Amount,
    Choice,
    FaultToleranceShape,
    Flag,
    ListOf,
    Record,
    Text,
    Whole,
    entry,
)
from shared.api.objects import JsonObject

# Sakkara's name in its own installation, and in the chart.
SAKKARA: Final = ("sakkara-scheduler", "sakkara")
_PERIOD: Final = r"^\+?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h|d))+)$"


def _period(name: str, about: str, example: str) -> Any:
    shape = FaultToleranceShape(name, {"type": "string", "pattern": _PERIOD})
    return entry(name, shape, about, default=None, example=example)


def _exit_codes(name: str, about: str, example: str) -> Any:
    codes: JsonObject = {"type": "integer", "minimum": 1, "maximum": 255}
    one = {"type": ["string", "integer"]}
    described = {"anyOf": [one, {"type": "array", "items": codes, "minItems": 1}]}
    return entry(name, FaultToleranceShape(name, described), about, default=None, example=example)


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """A values file. The keys are in the order of `SECTIONS`."""

    job_name: str = entry(
        "jobName", JOB_NAME, "Name of the AppWrapper and of the PyTorchJob.", example="my-job"
    )
    namespace: str | None = entry(
        "namespace",
        DNS_LABEL,
        "Namespace of the AppWrapper. Without it, kubectl decides.",
        default=None,
        example="my-team",
    )
    queue_name: str | None = entry(
        "queueName",
        DNS_LABEL,
        "LocalQueue whose quota the job uses. null leaves the label out.",
        default="default-queue",
        example="default-queue",
        nullable=True,
    )
    priority: str = entry(
        "priority",
        Choice(("default-priority", "low-priority", "high-priority")),
        "Priority class of the pods.",
        default="default-priority",
        example="default-priority",
    )
    custom_labels: tuple[CustomLabel, ...] = entry(
        "customLabels",
        Labels(),
        "Labels of the AppWrapper, the PyTorchJob and its pods.",
        default=(),
        example="[{key: project-name, value: my-project}]",
    )
    container_image: str = entry(
        "containerImage",
        Text("an image without blanks, such as ghcr.io/my-org/my-image:v1", r"\S+"),
        "Image of the container.",
        example="ghcr.io/my-org/my-image:v1",
    )
    image_pull_secrets: tuple[Named, ...] = entry(
        "imagePullSecrets",
        ListOf(Record(Named)),
        "Secrets with which images are pulled.",
        default=(),
        example="[{name: registry-login}]",
    )
    image_pull_policy: str = entry(
        "imagePullPolicy",
        Choice(("IfNotPresent", "Always", "Never")),
        "When the image is pulled.",
        default="IfNotPresent",
        example="IfNotPresent",
    )
    num_pods: int = entry(
        "numPods",
        Whole(1),
        "Number of pods: a master and workers.",
        default=1,
        example="2",
    )
    num_cpus_per_pod: str = entry(
        "numCpusPerPod", CPUS, "CPUs that each pod requests.", default="1", example="8"
    )
    num_gpus_per_pod: int = entry(
        "numGpusPerPod",
        Whole(0),
        "GPUs (nvidia.com/gpu) of each pod. torchrun starts one process for each GPU.",
        default=0,
        example="8",
    )
    total_memory_per_pod: str = entry(
        "totalMemoryPerPod", MEMORY, "Memory that each pod requests.", default="1Gi", example="64Gi"
    )
    limit_cpus_per_pod: str | None = entry(
        "limitCpusPerPod",
        CPUS,
        "CPU limit of each pod; 0 or nothing means numCpusPerPod.",
        default=None,
        example="16",
    )
    limit_gpus_per_pod: int | None = entry(
        "limitGpusPerPod",
        Whole(0),
        "Must equal numGpusPerPod, because Kubernetes never gives more GPUs than requested.",
        default=None,
        example="8",
    )
    limit_memory_per_pod: str | None = entry(
        "limitMemoryPerPod",
        Amount("a quantity of memory, such as 1.5Gi, 200M or 1Ti"),
        "Memory limit of each pod; 0 or nothing means totalMemoryPerPod.",
        default=None,
        example="128Gi",
    )
    environment_variables: tuple[Variable, ...] = entry(
        "environmentVariables",
        ListOf(Record(Variable)),
        "Variables of the container. Each has a name and one of value, secret, configmap, fieldRef"
        " and resourceFieldRef. The Training Operator sets WORLD_SIZE, RANK, MASTER_ADDR and"
        " MASTER_PORT.",
        default=(),
        example="[{name: NCCL_DEBUG, value: WARN}, {name: TOKEN, secret: {name: hub, key: token}}]",
    )
    env_from: tuple[EnvironmentSource, ...] = entry(
        "envFrom",
        ListOf(Record(EnvironmentSource)),
        "Secrets and ConfigMaps of which every key becomes a variable. environmentVariables take"
        " precedence.",
        default=(),
        example="[{secretRef: {name: my-secrets}}, {configMapRef: {name: my-config}}]",
    )
    ssh_git_clone_config: GitClone | None = entry(
        "sshGitCloneConfig",
        Record(GitClone),
        "A deploy key with which git clones private repositories over ssh.",
        default=None,
        example="{secretName: git-deploy-key, configMapName: git-known-hosts}",
    )
    setup_commands: tuple[str, ...] = entry(
        "setupCommands",
        ListOf(TEXT),
        "Shell commands that run first, in each pod. The pod fails with the first that fails.",
        default=(),
        example='["git clone https://github.com/my-org/my-code", "cd my-code"]',
    )
    main_program: str | None = entry(
        "mainProgram",
        TEXT,
        "Program with its arguments, which torchrun starts. Its lines become one command without"
        " its comments.",
        default=None,
        example="train.py --epochs 3",
    )
    volumes: tuple[Volume, ...] = entry(
        "volumes",
        ListOf(Record(Volume)),
        "PersistentVolumeClaims, and where they are mounted.",
        default=(),
        example="[{name: data, claimName: my-claim, mountPath: /data}]",
    )
    roce_gdr_res_name: str = entry(
        "roceGdrResName",
        RESOURCE,
        "Name of the resource of RoCE with GPUDirect.",
        default="nvidia.com/roce_gdr",
        example="nvidia.com/roce_gdr",
    )
    num_roce_gdr: int = entry(
        "numRoceGdr",
        Whole(0),
        "Number of these resources in each pod; more than 0 needs numPods above 1.",
        default=0,
        example="2",
    )
    topology_file_config_map: str | None = entry(
        "topologyFileConfigMap",
        OBJECT_NAME,
        "ConfigMap with virtualTopology.xml, which NCCL_TOPO_FILE names.",
        default=None,
        example="nvidia-topo-gdr",
    )
    nccl_gdr_env_config_map: str | None = entry(
        "ncclGdrEnvConfigMap",
        OBJECT_NAME,
        "ConfigMap whose keys become variables, those of NCCL's network.",
        default=None,
        example="nccl-netwk-env-vars",
    )
    multi_nic_network_name: str | None = entry(
        "multiNicNetworkName",
        TEXT,
        "Network attachment of the pods (annotation k8s.v1.cni.cncf.io/networks).",
        default=None,
        example="multi-nic-network",
    )
    disable_shared_memory: bool = entry(
        "disableSharedMemory",
        Flag(),
        "true leaves out the volume in memory at /dev/shm.",
        default=False,
        example="false",
    )
    mount_nvme: Nvme | None = entry(
        "mountNVMe",
        Record(Nvme),
        "A volume that lives as long as the pod. NVME_MOUNT_PATH holds its path.",
        default=None,
        example="{storage: 800Gi}",
    )
    init_containers: tuple[InitContainer, ...] = entry(
        "initContainers",
        ListOf(Record(InitContainer)),
        "Containers that run before the main one, one after the other.",
        default=(),
        example='[{name: prepare, image: busybox, command: ["sh", "-c", "ls -l"]}]',
    )
    autopilot_health_checks: tuple[str, ...] = entry(
        "autopilotHealthChecks",
        ListOf(LABEL_KEY),
        "Further labels of the pods, which get the label autopilot too. Current Autopilot versions"
        " ignore them.",
        default=(),
        example="[gpu-pcie-bw]",
    )
    host_ignore_list: tuple[str, ...] = entry(
        "hostIgnoreList",
        ListOf(LABEL_VALUE),
        "Nodes on which no pod may run.",
        default=(),
        example="[worker-3, worker-7]",
    )
    scheduler_name: str | None = entry(
        "schedulerName",
        Choice(
            ("sakkara-scheduler", "sakkara", "scheduler-plugins-scheduler", "default-scheduler")
        ),
        "Scheduler of the pods. sakkara means sakkara-scheduler; with it RANK is the rank that"
        " Sakkara assigns.",
        default=None,
        example="scheduler-plugins-scheduler",
    )
    service_account_name: str | None = entry(
        "serviceAccountName",
        OBJECT_NAME,
        "ServiceAccount of the pods. The name gdr adds the capability IPC_LOCK.",
        default=None,
        example="my-account",
    )
    admission_grace: str | None = _period(
        "admissionGracePeriodDuration", "How long all pods may take to exist.", "2m"
    )
    warmup_grace: str | None = _period(
        "warmupGracePeriodDuration", "How long all pods may take to run.", "10m"
    )
    failure_grace: str | None = _period(
        "failureGracePeriodDuration",
        "How long the Training Operator has to replace a failed pod.",
        "1m",
    )
    retry_pause: str | None = _period(
        "retryPausePeriodDuration", "Pause between an attempt and the next one.", "90s"
    )
    retry_limit: str | None = entry(
        "retryLimit",
        FaultToleranceShape("retryLimit", {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}),
        "How often a failed job is tried again.",
        default=None,
        example="5",
    )
    forceful_deletion_grace: str | None = _period(
        "forcefulDeletionGracePeriodDuration",
        "How long a deletion may take before pods are deleted by force.",
        "10m",
    )
    deletion_on_failure_grace: str | None = _period(
        "deletionOnFailureGracePeriodDuration", "How long a failed job keeps its pods.", "6h"
    )
    success_ttl: str | None = _period(
        "successTTLDuration", "How long the AppWrapper stays after success.", "7d"
    )
    terminal_exit_codes: str | None = _exit_codes(
        "terminalExitCodes", "Exit codes after which the job is not tried again.", "[3, 10]"
    )
    retryable_exit_codes: str | None = _exit_codes(
        "retryableExitCodes", "The only exit codes after which the job is tried again.", "[42]"
    )
    restart_policy: str = entry(
        "restartPolicy",
        Choice(("Never", "Always", "OnFailure")),
        "Whether a failed container is started again in its pod.",
        default="Never",
        example="OnFailure",
    )
    termination_grace_period_seconds: int | None = entry(
        "terminationGracePeriodSeconds",
        Whole(0),
        "Seconds that a deleted pod may take to end.",
        default=None,
        example="60",
    )


# Heading -> the first key of the section.
SECTIONS: Final[Mapping[str, str]] = {
    "The job": "jobName",
    "Resources": "numPods",
    "The work": "environmentVariables",
    "Special clusters": "roceGdrResName",
    "Fault tolerance": "admissionGracePeriodDuration",
}

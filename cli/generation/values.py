"""The keys of a values file, as pydantic models: names, types, defaults and descriptions.

This is the only list of the keys. Reading, `--schema`, `--example` and
docs/users/generate.md use it.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, StrictBool, ValidationInfo, field_validator

from cli.generation.value_types import (
    AnyText,
    Cpus,
    DnsLabel,
    ExitCodes,
    ExtendedResource,
    ImageName,
    JobName,
    Keys,
    LabelKey,
    LabelValue,
    MemoryAmount,
    MemoryLimit,
    MountPath,
    Natural,
    ObjectName,
    PeriodText,
    Positive,
    RetryLimit,
    Storage,
    Text,
    VariableName,
    WrittenText,
    annotation_text,
    entry,
    optional,
    problem,
    quoted_text,
)

# Sakkara's name in its own installation, and in the chart.
SAKKARA: Final = ("sakkara-scheduler", "sakkara")


class ImagePullSecret(Keys):
    name: ObjectName = entry("Its name.", "registry-login")


class CustomLabel(Keys):
    key: LabelKey = entry("The label's key.", "project-name")
    value: LabelValue = entry("The label's value.", "my-project")


class KeyOfObject(Keys):
    """One key of a Secret or ConfigMap."""

    name: ObjectName = entry("The object's name.", "my-object")
    key: Text = entry("The key in the object.", "token")


class PodField(Keys):
    field_path: Text = entry("The field of the pod.", "metadata.labels['team']")


class ContainerResource(Keys):
    resource: Text = entry("The request or limit.", "limits.memory")
    divisor: Storage | None = optional("The unit, such as 1Mi.", "1Mi")


class Variable(Keys):
    """A variable with its `value`, or with the source of the value."""

    name: VariableName = entry("The variable's name.", "LOG_LEVEL")
    value: WrittenText | None = optional('The value, as text. Write an empty value as "".', "debug")
    secret: KeyOfObject | None = optional("One key of a Secret.", "{name: my-secret, key: token}")
    configmap: KeyOfObject | None = optional(
        "One key of a ConfigMap.", "{name: my-config, key: mode}"
    )
    field_ref: PodField | None = optional("A field of the pod.", "{fieldPath: spec.nodeName}")
    resource_field_ref: ContainerResource | None = optional(
        "A request or limit of the container.", "{resource: limits.memory, divisor: 1Mi}"
    )


class WholeObject(Keys):
    """All keys of a Secret or ConfigMap."""

    name: ObjectName = entry("The object's name.", "my-object")
    optional: StrictBool | None = optional("true: the object may be missing.", "true")


class EnvironmentSource(Keys):
    secret_ref: WholeObject | None = optional("A Secret.", "{name: my-secrets}")
    config_map_ref: WholeObject | None = optional("A ConfigMap.", "{name: my-config}")
    prefix: VariableName | None = optional("Prefix of each variable's name.", "APP_")


class GitClone(Keys):
    """A deploy key for git over ssh."""

    secret_name: ObjectName = entry("The Secret that holds `id_rsa`.", "git-deploy-key")
    config_map_name: ObjectName = entry(
        "The ConfigMap that holds `known_hosts`.", "git-known-hosts"
    )
    secret_mount_path: MountPath = entry(
        "The folder in which the Secret is mounted.", "/tmp/.ssh/keys", "/tmp/.ssh/keys"
    )
    config_map_mount_path: MountPath = entry(
        "The folder in which the ConfigMap is mounted.", "/tmp/.ssh/hosts", "/tmp/.ssh/hosts"
    )
    ssh_cmd: Text | None = optional(
        "The value of GIT_SSH_COMMAND, instead of ssh with these two files.",
        "ssh -i /tmp/.ssh/keys/id_rsa",
    )


class ClaimedVolume(Keys):
    """A PersistentVolumeClaim."""

    name: DnsLabel = entry("A name within the pod.", "data")
    claim_name: ObjectName = entry(
        "The PersistentVolumeClaim. Its name has no capitals: Kubernetes allows none.", "my-claim"
    )
    mount_path: MountPath = entry("The folder in which it is mounted.", "/data")


class Nvme(Keys):
    storage: Storage = entry("How much storage.", "800Gi")
    mount_path: MountPath = entry(
        "The folder in which it is mounted.", "/workspace/scratch-nvme", "/workspace/scratch-nvme"
    )
    storage_class_name: ObjectName = entry(
        "The StorageClass that provides it.", "odf-lvm-vg1", "odf-lvm-vg1"
    )


def _shell(value: Any) -> Any:
    if value == []:
        raise problem('must not be empty: write ["sh", "-c", "echo hello"]')
    if not isinstance(value, str):
        return value
    if not value:
        raise problem("must be a text that is not empty")
    return ("sh", "-c", quoted_text(value))


class InitContainer(Keys):
    name: DnsLabel = entry("A name within the pod.", "prepare")
    image: Text = entry("The image.", "busybox")
    command: Annotated[
        tuple[AnyText, ...],
        BeforeValidator(
            _shell,
            json_schema_input_type=Text | Annotated[tuple[AnyText, ...], Field(min_length=1)],
        ),
    ] = entry(
        "The command with its arguments, or a text that sh runs.", '["sh", "-c", "whoami && ls -l"]'
    )


def _label_list(value: Any) -> Any:
    """Accept one mapping too, as in MCAD's generator."""
    if not isinstance(value, dict):
        return value
    return [{"key": name, "value": each} for name, each in value.items()]


CustomLabels = Annotated[
    tuple[CustomLabel, ...],
    BeforeValidator(
        _label_list, json_schema_input_type=tuple[CustomLabel, ...] | dict[LabelKey, LabelValue]
    ),
]


# The fields of Values that become annotations.
FAULT_TOLERANCE: Final = (
    "admission_grace_period_duration",
    "warmup_grace_period_duration",
    "failure_grace_period_duration",
    "unreachable_grace_period_duration",
    "retry_pause_period_duration",
    "retry_limit",
    "forceful_deletion_grace_period_duration",
    "deletion_on_failure_grace_period_duration",
    "success_ttl_duration",
    "terminal_exit_codes",
    "retryable_exit_codes",
)


class Values(Keys):
    """The keys of a values file."""

    job_name: JobName = entry("Name of the AppWrapper and of the PyTorchJob.", "my-job")
    namespace: DnsLabel | None = optional(
        "Namespace of the AppWrapper. Without it, kubectl decides.", "my-team"
    )
    queue_name: DnsLabel | None = entry(
        "LocalQueue whose quota the job uses. null leaves the label out.",
        "default-queue",
        "default-queue",
    )
    priority: Literal["default-priority", "low-priority", "high-priority"] = entry(
        "Priority class of the pods.", "default-priority", "default-priority"
    )
    custom_labels: CustomLabels = entry(
        "Labels of the AppWrapper, the PyTorchJob and its pods.",
        "[{key: project-name, value: my-project}]",
        (),
    )
    container_image: ImageName = entry("Image of the container.", "ghcr.io/my-org/my-image:v1")
    image_pull_secrets: tuple[ImagePullSecret, ...] = entry(
        "Secrets with which images are pulled.", "[{name: registry-login}]", ()
    )
    image_pull_policy: Literal["IfNotPresent", "Always", "Never"] = entry(
        "When the image is pulled.", "IfNotPresent", "IfNotPresent"
    )
    num_pods: Positive = entry("Number of pods: a master and workers.", "2", 1)
    num_cpus_per_pod: Cpus = entry("CPUs that each pod requests.", "8", "1")
    num_gpus_per_pod: Natural = entry(
        "GPUs (nvidia.com/gpu) of each pod. torchrun starts one process for each GPU.", "8", 0
    )
    total_memory_per_pod: MemoryAmount = entry("Memory that each pod requests.", "64Gi", "1Gi")
    limit_cpus_per_pod: Cpus | None = optional(
        "CPU limit of each pod; 0 or nothing means numCpusPerPod.", "16"
    )
    limit_gpus_per_pod: Natural | None = optional(
        "Must equal numGpusPerPod, because Kubernetes never gives more GPUs than requested.", "8"
    )
    limit_memory_per_pod: MemoryLimit | None = optional(
        "Memory limit of each pod; 0 or nothing means totalMemoryPerPod.", "128Gi"
    )
    environment_variables: tuple[Variable, ...] = entry(
        "Variables of the container. Each has a name and one of value, secret,"
        " configmap, fieldRef and resourceFieldRef. The Training Operator sets"
        " WORLD_SIZE, RANK, MASTER_ADDR and MASTER_PORT.",
        "[{name: NCCL_DEBUG, value: WARN}, {name: TOKEN, secret: {name: hub, key: token}}]",
        (),
    )
    env_from: tuple[EnvironmentSource, ...] = entry(
        "Secrets and ConfigMaps of which every key becomes a variable."
        " environmentVariables take precedence.",
        "[{secretRef: {name: my-secrets}}, {configMapRef: {name: my-config}}]",
        (),
    )
    ssh_git_clone_config: GitClone | None = optional(
        "A deploy key with which git clones private repositories over ssh.",
        "{secretName: git-deploy-key, configMapName: git-known-hosts}",
    )
    setup_commands: tuple[Text, ...] = entry(
        "Shell commands that run first, in each pod. The pod fails with the first that fails.",
        '["git clone https://github.com/my-org/my-code", "cd my-code"]',
        (),
    )
    main_program: Text | None = optional(
        "Program with its arguments, which torchrun starts. Its lines become one"
        " command without its comments.",
        "train.py --epochs 3",
    )
    volumes: tuple[ClaimedVolume, ...] = entry(
        "PersistentVolumeClaims, and where they are mounted.",
        "[{name: data, claimName: my-claim, mountPath: /data}]",
        (),
    )
    roce_gdr_res_name: ExtendedResource = entry(
        "Name of the resource of RoCE with GPUDirect.", "nvidia.com/roce_gdr", "nvidia.com/roce_gdr"
    )
    num_roce_gdr: Natural = entry(
        "Number of these resources in each pod; more than 0 needs numPods above 1.", "2", 0
    )
    topology_file_config_map: ObjectName | None = optional(
        "ConfigMap with virtualTopology.xml, which NCCL_TOPO_FILE names.", "nvidia-topo-gdr"
    )
    nccl_gdr_env_config_map: ObjectName | None = optional(
        "ConfigMap whose keys become variables, those of NCCL's network.", "nccl-netwk-env-vars"
    )
    multi_nic_network_name: Text | None = optional(
        "Network attachment of the pods (annotation k8s.v1.cni.cncf.io/networks).",
        "multi-nic-network",
    )
    disable_shared_memory: StrictBool = entry(
        "true leaves out the volume in memory at /dev/shm.", "false", False
    )
    mount_nvme: Nvme | None = optional(
        "A volume that lives as long as the pod. NVME_MOUNT_PATH holds its path.",
        "{storage: 800Gi}",
        alias="mountNVMe",
    )
    init_containers: tuple[InitContainer, ...] = entry(
        "Containers that run before the main one, one after the other.",
        '[{name: prepare, image: busybox, command: ["sh", "-c", "ls -l"]}]',
        (),
    )
    autopilot_health_checks: tuple[LabelKey, ...] = entry(
        "Further labels of the pods, which get the label autopilot too. Current"
        " Autopilot versions ignore them.",
        "[gpu-pcie-bw]",
        (),
    )
    host_ignore_list: tuple[LabelValue, ...] = entry(
        "Nodes on which no pod may run.", "[worker-3, worker-7]", ()
    )
    scheduler_name: (
        Literal["sakkara-scheduler", "sakkara", "scheduler-plugins-scheduler", "default-scheduler"]
        | None
    ) = optional(
        "Scheduler of the pods. sakkara means sakkara-scheduler; with it RANK is the"
        " rank that Sakkara assigns.",
        "scheduler-plugins-scheduler",
    )
    service_account_name: ObjectName | None = optional(
        "ServiceAccount of the pods. The name gdr adds the capability IPC_LOCK.", "my-account"
    )
    admission_grace_period_duration: PeriodText | None = optional(
        "How long all pods may take to exist.", "2m"
    )
    warmup_grace_period_duration: PeriodText | None = optional(
        "How long all pods may take to run.", "10m"
    )
    failure_grace_period_duration: PeriodText | None = optional(
        "How long the Training Operator has to replace a failed pod.", "1m"
    )
    unreachable_grace_period_duration: PeriodText | None = optional(
        "How long a node may be unreachable before the job leaves it.", "2m"
    )
    retry_pause_period_duration: PeriodText | None = optional(
        "Pause between an attempt and the next one.", "90s"
    )
    retry_limit: RetryLimit | None = optional("How often a failed job is tried again.", "5")
    forceful_deletion_grace_period_duration: PeriodText | None = optional(
        "How long a deletion may take before pods are deleted by force.", "10m"
    )
    deletion_on_failure_grace_period_duration: PeriodText | None = optional(
        "How long a failed job keeps its pods.", "6h"
    )
    success_ttl_duration: PeriodText | None = optional(
        "How long the AppWrapper stays after success.", "7d", alias="successTTLDuration"
    )
    terminal_exit_codes: ExitCodes | None = optional(
        "Exit codes after which the job is not tried again.", "[3, 10]"
    )
    retryable_exit_codes: ExitCodes | None = optional(
        "The only exit codes after which the job is tried again.", "[42]"
    )
    recorder: StrictBool = entry(
        "Whether the controller starts the recorder in the pods, which explains failures.",
        "true",
        False,
    )
    restart_policy: Literal["Never", "Always", "OnFailure"] = entry(
        "Whether a failed container is started again in its pod.", "OnFailure", "Never"
    )
    termination_grace_period_seconds: Natural | None = optional(
        "Seconds that a deleted pod may take to end.", "60"
    )

    @field_validator(*FAULT_TOLERANCE, mode="before")
    @classmethod
    def _annotation(cls, value: Any, info: ValidationInfo) -> str:
        return annotation_text(str(cls.model_fields[str(info.field_name)].alias), value)


# Heading -> the first key of the section.
SECTIONS: Final[Mapping[str, str]] = {
    "The job": "jobName",
    "Resources": "numPods",
    "The work": "environmentVariables",
    "Special clusters": "roceGdrResName",
    "Fault tolerance": "admissionGracePeriodDuration",
}

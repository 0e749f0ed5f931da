"""Build an AppWrapper with one PyTorchJob, or one TrainJob, from values."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from cli.generation import train_job
from cli.generation.parsed_values import Path
from cli.generation.script import script
from cli.generation.values import FAULT_TOLERANCE, SAKKARA, GitClone, Values, Variable
from shared.api.names import ANNOTATION_PREFIX, API_VERSION, KIND, LABEL_QUEUE_NAME
from shared.api.objects import JsonObject
from shared.api.quantities import parse_quantity

# Tools count AppWrappers by this annotation. The version is the one of the chart with the same
# results. The suffix after + names this generator and counts changes of its output; semantic
# versioning ignores it.
ANNOTATION_VERSION: Final = "workload.codeflare.dev.mlbatch/pytorchGeneratorVersion"
GENERATOR_VERSION: Final = "1.1.12+appwrapper.1"

MAIN_CONTAINER: Final = "pytorch"
_GPU: Final = "nvidia.com/gpu"
_NETWORKS: Final = "k8s.v1.cni.cncf.io/networks"

_TOPOLOGY: Final = "topology-volume"
_NVME: Final = "ephemeral-odf-lvm-vg1"
_GIT_KEY: Final = "private-ssh-git-deploy-key"
_KNOWN_HOSTS: Final = "github-known-hosts"
_SHARED_MEMORY: Final = "dshm"
GENERATED_VOLUMES: Final = (_TOPOLOGY, _NVME, _GIT_KEY, _KNOWN_HOSTS, _SHARED_MEMORY)
_TOPOLOGY_PATH: Final = "/var/run/nvidia-topologyd"
# The keys of a variable's source -> the fields of a container's variable.
VARIABLE_SOURCES: Final = {
    "secret": "secretKeyRef",
    "configmap": "configMapKeyRef",
    "fieldRef": "fieldRef",
    "resourceFieldRef": "resourceFieldRef",
}


def appwrapper(values: Values, *, trainer: bool = False) -> JsonObject:
    """Build the AppWrapper; with `trainer` for Kubeflow Trainer, else for the Training Operator."""
    labels = _custom_labels(values)
    queue = {LABEL_QUEUE_NAME: values.queue_name} if values.queue_name else {}
    given = values.given(*FAULT_TOLERANCE)
    fault_tolerance = {ANNOTATION_PREFIX + name: text for name, text in given.items()}
    recorder = {f"{ANNOTATION_PREFIX}recorder": "true"} if values.recorder else {}
    made = train_job.components(values, _pod_template(values), labels) if trainer else None
    metadata = {
        "name": values.job_name,
        "namespace": values.namespace,
        "labels": queue | labels,
        "annotations": {ANNOTATION_VERSION: GENERATOR_VERSION} | fault_tolerance | recorder,
    }
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": _present(metadata),
        "spec": {"components": made or [{"template": _pytorch_job(values, labels)}]},
    }


def _pytorch_job(values: Values, labels: dict[str, str]) -> JsonObject:
    """Build the PyTorchJob. Master and workers have the same pod template."""
    replica = {"restartPolicy": values.restart_policy, "template": _pod_template(values)}
    replicas = {"Master": {"replicas": 1, **replica}}
    # With a Worker of 0 replicas the Training Operator waits for workers without end.
    if values.num_pods > 1:
        replicas["Worker"] = {"replicas": values.num_pods - 1, **replica}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": _present({"name": values.job_name, "labels": labels}),
        "spec": {"pytorchReplicaSpecs": replicas},
    }


def _custom_labels(values: Values) -> dict[str, str]:
    return {each.key: each.value for each in values.custom_labels}


def _pod_template(values: Values) -> JsonObject:
    labels = _custom_labels(values)
    if values.autopilot_health_checks:
        labels |= dict.fromkeys(("autopilot", *values.autopilot_health_checks), "")
    network = values.multi_nic_network_name
    annotations = {_NETWORKS: network} if network else {}
    metadata = _present({"labels": labels, "annotations": annotations})
    return _present({"metadata": metadata, "spec": _pod_spec(values)})


def _pod_spec(values: Values) -> JsonObject:
    scheduler = values.scheduler_name
    return _present(
        {
            "serviceAccountName": values.service_account_name,
            "imagePullSecrets": [each.given() for each in values.image_pull_secrets],
            "initContainers": [each.given() for each in values.init_containers],
            "terminationGracePeriodSeconds": values.termination_grace_period_seconds,
            "schedulerName": SAKKARA[0] if scheduler in SAKKARA else scheduler,
            "priorityClassName": values.priority,
            "affinity": _affinity(values),
            "volumes": [each.volume() for each in mounted_volumes(values)],
            "containers": [_container(values)],
        }
    )


def _affinity(values: Values) -> JsonObject:
    """Avoid the listed nodes and, with GPUs, nodes that Autopilot reports as unhealthy."""
    expressions = []
    if values.num_gpus_per_pod:
        expressions.append(_not_in("autopilot.ibm.com/gpuhealth", ["ERR", "TESTING", "EVICT"]))
    if values.host_ignore_list:
        expressions.append(_not_in("kubernetes.io/hostname", list(values.host_ignore_list)))
    if not expressions:
        return {}
    terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _not_in(label: str, texts: list[str]) -> JsonObject:
    return {"key": label, "operator": "NotIn", "values": texts}


def _container(values: Values) -> JsonObject:
    locks_memory = values.num_roce_gdr or values.service_account_name == "gdr"
    return _present(
        {
            "name": MAIN_CONTAINER,
            "image": values.container_image,
            "imagePullPolicy": values.image_pull_policy,
            "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}} if locks_memory else None,
            "envFrom": list(_environment_sources(values)),
            "env": list(_environment(values)),
            "volumeMounts": [each.mount() for each in mounted_volumes(values)],
            "resources": _resources(values),
            "command": ["sh", "-c", script(values)],
        }
    )


def _resources(values: Values) -> JsonObject:
    """Omit extended resources with an amount of 0: then no quota must cover them."""
    extended = {
        name: str(number)
        for name, number in (
            (_GPU, values.num_gpus_per_pod),
            (values.roce_gdr_res_name, values.num_roce_gdr),
        )
        if number
    }
    requests = {"cpu": values.num_cpus_per_pod, "memory": values.total_memory_per_pod}
    limits = {"cpu": values.limit_cpus_per_pod, "memory": values.limit_memory_per_pod}
    given = {name: limit for name, limit in limits.items() if limit and parse_quantity(limit)}
    return {"requests": requests | extended, "limits": requests | given | extended}


# Variables of the container, in this order: generated, the user's, git's.


def generated_variables(values: Values) -> Mapping[str, str]:
    """Return the generated variables, each with the key that sets it."""
    conditions = {
        "SAKKARA_RANK": (values.scheduler_name in SAKKARA, "schedulerName"),
        "NCCL_TOPO_FILE": (values.topology_file_config_map, "topologyFileConfigMap"),
        "NVME_MOUNT_PATH": (values.mount_nvme, "mountNVMe"),
        "GIT_SSH_COMMAND": (values.ssh_git_clone_config, "sshGitCloneConfig"),
    }
    return {name: key for name, (is_set, key) in conditions.items() if is_set}


def _environment(values: Values) -> Iterator[JsonObject]:
    if values.scheduler_name in SAKKARA:
        reference = {"fieldRef": {"fieldPath": "metadata.labels['sakkara.member.rank']"}}
        yield {"name": "SAKKARA_RANK", "valueFrom": reference}
    if values.topology_file_config_map:
        yield {"name": "NCCL_TOPO_FILE", "value": f"{_TOPOLOGY_PATH}/virtualTopology.xml"}
    if values.mount_nvme:
        yield {"name": "NVME_MOUNT_PATH", "value": values.mount_nvme.mount_path}
    for each in values.environment_variables:
        yield _variable(each)
    if values.ssh_git_clone_config:
        yield {"name": "GIT_SSH_COMMAND", "value": _ssh_command(values.ssh_git_clone_config)}


def _variable(variable: Variable) -> JsonObject:
    if variable.value is not None:
        return {"name": variable.name, "value": variable.value}
    given = variable.given()
    sources = {field: given[key] for key, field in VARIABLE_SOURCES.items() if key in given}
    return {"name": variable.name, "valueFrom": sources}


def _ssh_command(git: GitClone) -> str:
    key = shlex.quote(f"{git.secret_mount_path}/id_rsa")
    hosts = shlex.quote(f"{git.config_map_mount_path}/known_hosts")
    return git.ssh_cmd or f"ssh -i {key} -o UserKnownHostsFile={hosts} -vv"


def _environment_sources(values: Values) -> Iterator[JsonObject]:
    for each in values.env_from:
        yield _present({"prefix": each.prefix}) | each.given()
    if values.nccl_gdr_env_config_map:
        yield {"configMapRef": {"name": values.nccl_gdr_env_config_map}}


@dataclass(frozen=True, slots=True)
class MountedVolume:
    """A volume of the pod with its source, its mount, and the key that sets the mount's path."""

    name: str
    source: JsonObject
    path: str
    key: Path
    read_only: bool = False

    def volume(self) -> JsonObject:
        return {"name": self.name, **self.source}

    def mount(self) -> JsonObject:
        read_only = {"readOnly": True} if self.read_only else {}
        return {"name": self.name, "mountPath": self.path, **read_only}


def mounted_volumes(values: Values) -> Iterator[MountedVolume]:
    """Yield every volume. Each is mounted in the container."""
    if values.topology_file_config_map:
        source: JsonObject = {"configMap": {"name": values.topology_file_config_map}}
        yield MountedVolume(_TOPOLOGY, source, _TOPOLOGY_PATH, ("topologyFileConfigMap",))
    if nvme := values.mount_nvme:
        claim = {
            "storageClassName": nvme.storage_class_name,
            "volumeMode": "Filesystem",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": nvme.storage}},
        }
        source = {"ephemeral": {"volumeClaimTemplate": {"spec": claim}}}
        yield MountedVolume(_NVME, source, nvme.mount_path, ("mountNVMe", "mountPath"))
    for index, each in enumerate(values.volumes):
        source = {"persistentVolumeClaim": {"claimName": each.claim_name}}
        yield MountedVolume(each.name, source, each.mount_path, ("volumes", index, "mountPath"))
    if git := values.ssh_git_clone_config:
        key: Path = ("sshGitCloneConfig", "secretMountPath")
        source = {"secret": {"secretName": git.secret_name, "optional": False}}
        yield MountedVolume(_GIT_KEY, source, git.secret_mount_path, key, read_only=True)
        key = ("sshGitCloneConfig", "configMapMountPath")
        source = {"configMap": {"name": git.config_map_name}}
        yield MountedVolume(_KNOWN_HOSTS, source, git.config_map_mount_path, key)
    if not values.disable_shared_memory:
        source = {"emptyDir": {"medium": "Memory"}}
        yield MountedVolume(_SHARED_MEMORY, source, "/dev/shm", ("disableSharedMemory",))


def _present(given: Mapping[str, object]) -> JsonObject:
    """Remove entries that are None, {} or []. Zero and false stay."""
    return {name: value for name, value in given.items() if value not in (None, {}, [])}

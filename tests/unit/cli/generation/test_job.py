"""What the chart cannot do, or did wrong: the repairs, on the generated object."""

import pytest

from cli.generation.generator import generate
from cli.generation.value_types import keys_of
from cli.generation.values import Values
from shared.api.objects import JsonObject

PREFIX = "workload.codeflare.dev.appwrapper/"


def made(text: str, *assignments: str) -> JsonObject:
    files = [("f", "jobName: j\ncontainerImage: i\nmainProgram: t.py"), ("g", text)]
    return generate(files, [("--set", each) for each in assignments]).appwrapper


def pod_of(appwrapper: JsonObject) -> JsonObject:
    (component,) = appwrapper["spec"]["components"]
    found: JsonObject = component["template"]["spec"]["pytorchReplicaSpecs"]["Master"]["template"]
    return found


def spec(text: str) -> JsonObject:
    found: JsonObject = pod_of(made(text))["spec"]
    return found


def container(text: str) -> JsonObject:
    (found,) = spec(text)["containers"]
    assert isinstance(found, dict)
    return found


def annotations(text: str) -> JsonObject:
    found: JsonObject = made(text)["metadata"]["annotations"]
    return found


def test_the_smallest_job_whole() -> None:
    appwrapper = made("setupCommands: [make]\nmainProgram: null")
    command = container("setupCommands: [make]\nmainProgram: null")["command"]
    assert command[2].endswith("set -e\nmake\n")
    assert appwrapper == {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": {
            "name": "j",
            "labels": {"kueue.x-k8s.io/queue-name": "default-queue"},
            "annotations": {
                "workload.codeflare.dev.mlbatch/pytorchGeneratorVersion": "1.1.12+appwrapper.1"
            },
        },
        "spec": {
            "components": [
                {
                    "template": {
                        "apiVersion": "kubeflow.org/v1",
                        "kind": "PyTorchJob",
                        "metadata": {"name": "j"},
                        "spec": {
                            "pytorchReplicaSpecs": {
                                "Master": {
                                    "replicas": 1,
                                    "restartPolicy": "Never",
                                    "template": {
                                        "spec": {
                                            "priorityClassName": "default-priority",
                                            "volumes": [
                                                {"name": "dshm", "emptyDir": {"medium": "Memory"}}
                                            ],
                                            "containers": [
                                                {
                                                    "name": "pytorch",
                                                    "image": "i",
                                                    "imagePullPolicy": "IfNotPresent",
                                                    "volumeMounts": [
                                                        {"name": "dshm", "mountPath": "/dev/shm"}
                                                    ],
                                                    "resources": {
                                                        "requests": {"cpu": "1", "memory": "1Gi"},
                                                        "limits": {"cpu": "1", "memory": "1Gi"},
                                                    },
                                                    "command": command,
                                                }
                                            ],
                                        }
                                    },
                                }
                            }
                        },
                    }
                }
            ]
        },
    }


@pytest.mark.parametrize("cpus", ["2", "0.5", "500m", '"2"', "1e3", "0", ".5", "0.1"])
def test_all_forms_of_quantities_of_cpus_are_taken_as_written(cpus: str) -> None:
    resources = container(f"numCpusPerPod: {cpus}")["resources"]
    assert resources["requests"]["cpu"] == resources["limits"]["cpu"] == cpus.strip('"')


@pytest.mark.parametrize("memory", ["1.5Gi", "2147483648", "3e9", "200M", '"4096Mi"', "1048576"])
def test_all_forms_of_quantities_of_memory_are_taken_as_written(memory: str) -> None:
    resources = container(f"totalMemoryPerPod: {memory}")["resources"]
    assert resources["requests"]["memory"] == memory.strip('"')


def test_limits_are_the_requests_unless_given_and_not_zero() -> None:
    text = "numCpusPerPod: 2\nlimitCpusPerPod: 4\nlimitMemoryPerPod: 0\nnumGpusPerPod: 1"
    assert container(text)["resources"] == {
        "requests": {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": "1"},
        "limits": {"cpu": "4", "memory": "1Gi", "nvidia.com/gpu": "1"},
    }


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("7d", "168h"),
        ("1d12h", "36h"),
        ("1h30m", "1h30m"),
        ("1.5h", "1.5h"),
        ("500ms", "500ms"),
        ('"0"', "0"),
    ],
)
def test_durations_are_gos_and_days_become_hours(written: str, stored: str) -> None:
    key = "deletionOnFailureGracePeriodDuration"
    assert annotations(f"{key}: {written}")[PREFIX + key] == stored


@pytest.mark.parametrize(
    ("written", "stored"), [("[3, 10]", "3,10"), ("3", "3"), ('"3, 10"', "3, 10")]
)
@pytest.mark.parametrize("key", ["terminalExitCodes", "retryableExitCodes"])
def test_exit_codes_become_annotations(key: str, written: str, stored: str) -> None:
    assert annotations(f"{key}: {written}")[PREFIX + key] == stored


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('""', ""),
        ("false", "false"),
        ("0", "0"),
        ("True", "true"),
        ("10000000", "10000000"),
        ("1e6", "1e6"),
        ("0.10", "0.10"),
        ("12:30", "12:30"),
        ('"a\\nb"', "a\nb"),
    ],
)
def test_values_of_variables_arrive_as_they_are_written(written: str, value: str) -> None:
    text = f"environmentVariables: [{{name: A, value: {written}}}]"
    assert container(text)["env"] == [{"name": "A", "value": value}]


def test_variables_may_come_from_fields_of_the_pod_and_from_its_resources() -> None:
    text = """\
environmentVariables:
- {name: A, fieldRef: {fieldPath: spec.nodeName}}
- {name: B, resourceFieldRef: {resource: limits.memory, divisor: 1Mi}}
- {name: C, resourceFieldRef: {resource: requests.cpu}}
"""
    assert container(text)["env"] == [
        {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {
            "name": "B",
            "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}},
        },
        {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "requests.cpu"}}},
    ]


@pytest.mark.parametrize("written", ["sakkara", "sakkara-scheduler"])
def test_sakkaras_scheduler_has_one_name(written: str) -> None:
    text = f"schedulerName: {written}"
    assert spec(text)["schedulerName"] == "sakkara-scheduler"
    reference = {"fieldRef": {"fieldPath": "metadata.labels['sakkara.member.rank']"}}
    assert container(text)["env"] == [{"name": "SAKKARA_RANK", "valueFrom": reference}]


def test_the_topology_file_is_mounted_without_any_other_volume() -> None:
    text = "topologyFileConfigMap: topology\ndisableSharedMemory: true"
    assert spec(text)["volumes"] == [{"name": "topology-volume", "configMap": {"name": "topology"}}]
    assert container(text)["volumeMounts"] == [
        {"name": "topology-volume", "mountPath": "/var/run/nvidia-topologyd"}
    ]


def test_the_storage_class_of_nvme_can_be_chosen() -> None:
    volume = spec("mountNVMe: {storage: 1Ti, storageClassName: fast}")["volumes"][0]
    claim = volume["ephemeral"]["volumeClaimTemplate"]["spec"]
    assert (claim["storageClassName"], claim["resources"]["requests"]) == (
        "fast",
        {"storage": "1Ti"},
    )


def test_only_jobs_with_gpus_keep_off_nodes_with_unhealthy_ones() -> None:
    assert "affinity" not in spec("numGpusPerPod: 0")
    health = {
        "key": "autopilot.ibm.com/gpuhealth",
        "operator": "NotIn",
        "values": ["ERR", "TESTING", "EVICT"],
    }
    hosts = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["a", "7"]}
    for text, expected in (
        ("numGpusPerPod: 1", [health]),
        ("hostIgnoreList: [a, 7]", [hosts]),
        ("numGpusPerPod: 1\nhostIgnoreList: [a, 7]", [health, hosts]),
    ):
        required = spec(text)["affinity"]["nodeAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]
        assert required == {"nodeSelectorTerms": [{"matchExpressions": expected}]}


@pytest.mark.parametrize(
    ("key", "value", "stored"),
    [
        ("project", "2024", "2024"),
        ("Project", "Apollo", "Apollo"),
        ("example.com/project", "true", "true"),
        ("a" * 63, "b" * 63, "b" * 63),
        ("e" * 63 + ".com/a", '""', ""),
        ("1a", "null-", None),
        ("a" * 64, "b", None),
        ("a", "b" * 64, None),
        ("a/b/c", "d", None),
    ],
)
def test_labels_have_the_limits_of_kubernetes(key: str, value: str, stored: str | None) -> None:
    text = f'customLabels: [{{key: "{key}", value: {value}}}]'
    if stored is None:
        with pytest.raises(ValueError, match="must be a label's"):
            made(text)
        return
    appwrapper = made(text)
    labels = {key: stored}
    assert (
        appwrapper["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "default-queue"} | labels
    )
    (component,) = appwrapper["spec"]["components"]
    assert component["template"]["metadata"]["labels"] == labels
    assert pod_of(appwrapper)["metadata"]["labels"] == labels


def test_labels_may_be_one_mapping() -> None:
    listed = "customLabels: [{key: a, value: b}, {key: c, value: 1}]"
    assert made("customLabels: {a: b, c: 1}") == made(listed)


def test_names_of_other_objects_may_have_dots_and_begin_with_digits() -> None:
    text = "namespace: 1st-team\nserviceAccountName: a.b\nimagePullSecrets: [{name: 2.login}]"
    assert made(text)["metadata"]["namespace"] == "1st-team"
    assert spec(text)["serviceAccountName"] == "a.b"
    assert spec(text)["imagePullSecrets"] == [{"name": "2.login"}]


def test_a_text_as_command_of_an_init_container_is_run_by_sh() -> None:
    text = 'initContainers: [{name: a, image: b, command: "echo 1\\necho 2"}]'
    assert spec(text)["initContainers"] == [
        {"name": "a", "image": "b", "command": ["sh", "-c", "echo 1\necho 2"]}
    ]


def test_words_of_a_command_are_texts() -> None:
    text = "initContainers: [{name: a, image: b, command: [sleep, 5, true, 1e3]}]"
    assert spec(text)["initContainers"][0]["command"] == ["sleep", "5", "true", "1e3"]


def test_null_means_the_default_except_for_the_queue() -> None:
    keys = [name for name, each in keys_of(Values).items() if not each.is_required()]
    nothing = "\n".join(
        f"{name}: null" for name in keys if name not in ("queueName", "mainProgram")
    )
    assert made(nothing) == made("")
    assert "labels" not in made("queueName: null")["metadata"]


def test_set_wins_over_files() -> None:
    appwrapper = made("numPods: 2", "numPods=4", r"customLabels[0].key=a,customLabels[0].value=1")
    replicas = appwrapper["spec"]["components"][0]["template"]["spec"]["pytorchReplicaSpecs"]
    assert replicas["Worker"]["replicas"] == 3
    assert appwrapper["metadata"]["labels"]["a"] == "1"


def test_git_uses_paths_with_blanks_as_they_are() -> None:
    text = "sshGitCloneConfig: {secretName: a, configMapName: b, secretMountPath: /my keys}"
    assert container(text)["env"][0]["value"] == (
        "ssh -i '/my keys/id_rsa' -o UserKnownHostsFile=/tmp/.ssh/hosts/known_hosts -vv"
    )

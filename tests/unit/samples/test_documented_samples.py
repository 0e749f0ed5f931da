"""The samples that the user documentation shows: whole documents, and its comments."""

from pathlib import Path

import pytest

from shared.api.objects import JsonObject
from tests.support.builders.appwrappers import manifest
from tests.support.builders.pods import pod_of
from tests.support.manifests import SAMPLES, document

BUSYBOX = "quay.io/project-codeflare/busybox:1.36"
MNIST = "docker.io/kubeflowkatib/pytorch-mnist-cpu:v1beta1-fc858d1"


def appwrapper(name: str, *templates: JsonObject) -> JsonObject:
    return manifest(*templates, name=name)


def sleeping(seconds: int, **pod_spec: str) -> JsonObject:
    return {
        **pod_spec,
        "restartPolicy": "Never",
        "containers": [
            {
                "name": "busybox",
                "image": BUSYBOX,
                "command": ["sh", "-c", f"sleep {seconds}"],
                "resources": {"requests": {"cpu": 1}},
            }
        ],
    }


def pod(pod_spec: JsonObject) -> JsonObject:
    return pod_of({"spec": pod_spec}, name="sample-pod")


def job(template: JsonObject, **spec: int) -> JsonObject:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "sample-job"},
        "spec": {**spec, "template": template},
    }


POD_GROUP: JsonObject = {
    "apiVersion": "scheduling.x-k8s.io/v1alpha1",
    "kind": "PodGroup",
    "metadata": {"name": "sample-job"},
    "spec": {"minMember": 2},
}
MNIST_REPLICA: JsonObject = {
    "replicas": 1,
    "restartPolicy": "OnFailure",
    "template": {
        "spec": {
            "containers": [
                {
                    "name": "pytorch",
                    "image": MNIST,
                    "command": ["python3", "/opt/pytorch-mnist/mnist.py", "--epochs=1"],
                    "resources": {"requests": {"cpu": 1}},
                }
            ]
        }
    },
}
RECORDED_REPLICA: JsonObject = {
    "replicas": 1,
    "restartPolicy": "Never",
    "template": {
        "spec": {
            "containers": [
                {
                    "name": "pytorch",
                    "image": MNIST,
                    "command": [
                        *("python3", "-m", "worker", "--"),
                        *("python3", "/opt/pytorch-mnist/mnist.py", "--epochs=1"),
                    ],
                    "env": [{"name": "PYTHONPATH", "value": "/opt/appwrapper/worker.zip"}],
                    "resources": {"requests": {"cpu": 1}},
                    "volumeMounts": [{"name": "recorder", "mountPath": "/opt/appwrapper"}],
                }
            ],
            "volumes": [{"name": "recorder", "configMap": {"name": "appwrapper-worker"}}],
        }
    },
}
WRAPPED_REPLICA: JsonObject = {**MNIST_REPLICA, "restartPolicy": "Never"}
DOCUMENTED: dict[str, JsonObject] = {
    "wrapped-pytorchjob.yaml": appwrapper(
        "mnist",
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "metadata": {"name": "mnist"},
            "spec": {"pytorchReplicaSpecs": {"Master": WRAPPED_REPLICA, "Worker": WRAPPED_REPLICA}},
        },
    ),
    "wrapped-pod.yaml": appwrapper("wrapped-pod", pod(sleeping(5))),
    "wrapped-pod-high-priority.yaml": appwrapper(
        "wrapped-pod", pod(sleeping(5, priorityClassName="high-priority"))
    ),
    "job.yaml": appwrapper("sample-job", job({"spec": sleeping(30)})),
    "job-with-podgroup.yaml": appwrapper(
        "sample-job",
        POD_GROUP,
        job(
            {
                "metadata": {"labels": {"scheduling.x-k8s.io/pod-group": "sample-job"}},
                "spec": sleeping(5),
            },
            parallelism=2,
            completions=2,
        ),
    ),
    **{
        f"job-{priority}.yaml": appwrapper(
            "sample-job", job({"spec": sleeping(5, priorityClassName=priority)})
        )
        for priority in ("high-priority", "default-priority", "low-priority")
    },
    "pytorchjob.yaml": {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {
            "name": "sample-pytorchjob",
            "labels": {"kueue.x-k8s.io/queue-name": "default-queue"},
        },
        "spec": {"pytorchReplicaSpecs": {"Master": MNIST_REPLICA, "Worker": MNIST_REPLICA}},
    },
    "pytorchjob-recorded.yaml": appwrapper(
        "recorded-pytorchjob",
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "metadata": {"name": "recorded-pytorchjob"},
            "spec": {
                "pytorchReplicaSpecs": {"Master": RECORDED_REPLICA, "Worker": RECORDED_REPLICA}
            },
        },
    ),
}
COMMENTS: dict[str, list[str]] = {
    "wrapped-pytorchjob.yaml": ["# PyTorchJob specification", "# the AppWrapper retries"],
    "wrapped-pod.yaml": ["# appwrapper prefix", "# indented pod specification"],
    "wrapped-pod-high-priority.yaml": [
        "# appwrapper prefix",
        "# indented pod specification",
        "# workload priority",
    ],
    "job.yaml": ["# job specification"],
    "job-with-podgroup.yaml": [
        "# pod group specification",
        "# replica count",
        "# job specification",
        "# replica count",
        "# replica count",
        "# pod group label",
    ],
    "job-high-priority.yaml": ["# job specification", "# workload priority"],
    "job-default-priority.yaml": ["# job specification", "# workload priority"],
    "job-low-priority.yaml": ["# job specification", "# workload priority"],
    "pytorchjob.yaml": ["# queue name (required)"],
    "pytorchjob-recorded.yaml": [
        "# its ConfigMap holds the recorder: kubectl create configmap appwrapper-worker"
        " --from-file=worker.zip",
        '# the recorder runs what follows "--"',
        "# where Python finds the recorder",
    ],
}


def comments(file: Path) -> list[str]:
    return [line[line.index("#") :] for line in file.read_text().splitlines() if "#" in line]


def test_every_sample_of_the_folder_is_documented() -> None:
    elsewhere = {"checkpoint.yaml"}  # test_checkpoint_sample.py runs its program
    assert {file.name for file in SAMPLES.glob("*.yaml")} == set(DOCUMENTED) | elsewhere


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_whole_document(name: str) -> None:
    assert document(SAMPLES / name) == DOCUMENTED[name]


@pytest.mark.parametrize("name", DOCUMENTED)
def test_its_comments(name: str) -> None:
    assert comments(SAMPLES / name) == COMMENTS[name]

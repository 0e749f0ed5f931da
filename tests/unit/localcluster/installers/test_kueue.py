"""Kueue's configuration follows from what the cluster was asked for."""

from pathlib import Path

from localcluster.installers.kueue import (
    configuration,
    definitions,
    frameworks,
    published,
    webhooks,
)
from localcluster.installers.manifests import HostWebhook

SERVER = HostWebhook("kueue-system", "kueue-webhook-service", 20443, b"PEM")


def test_it_queues_the_kinds_that_the_cluster_has() -> None:
    assert frameworks(frozenset()) == ("batch/job", "workload.codeflare.dev/appwrapper")
    assert frameworks(frozenset({"training-operator", "coscheduler"})) == (
        "batch/job",
        "workload.codeflare.dev/appwrapper",
        "kubeflow.org/pytorchjob",
    )
    assert frameworks(frozenset({"jobset", "kuberay"})) == (
        "batch/job",
        "workload.codeflare.dev/appwrapper",
        "jobset.x-k8s.io/jobset",
        "ray.io/raycluster",
        "ray.io/rayjob",
    )
    assert frameworks(frozenset({"leaderworkerset", "mpi-operator"})) == (
        "batch/job",
        "workload.codeflare.dev/appwrapper",
        "leaderworkerset.x-k8s.io/leaderworkerset",
        "kubeflow.org/mpijob",
    )


def test_only_what_differs_from_the_module_is_set() -> None:
    default = {
        "kind": "Configuration",
        "leaderElection": {"leaderElect": True},
        "controller": {"groupKindConcurrency": {"Job.batch": 5}},
        "integrations": {"frameworks": ["pod"]},
    }

    made = configuration(
        default,
        webhook_port=20443,
        certificates=Path("/cluster/certificates"),
        health="127.0.0.1:20081",
        kinds=("batch/job",),
    )

    assert made == {
        "kind": "Configuration",
        "controller": {
            "groupKindConcurrency": {"Job.batch": 5, "AppWrapper.workload.codeflare.dev": 5}
        },
        "namespace": "kueue-system",
        "health": {"healthProbeBindAddress": "127.0.0.1:20081"},
        "metrics": {"bindAddress": "0"},
        "waitForPodsReady": {"timeout": "1h20m", "recoveryTimeout": "1h20m"},
        "webhook": {"host": "127.0.0.1", "port": 20443, "certDir": "/cluster/certificates"},
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"qps": 1000, "burst": 2000},
        "manageJobsWithoutQueueName": True,
        "managedJobsNamespaceSelector": {"matchLabels": {"mlbatch-team-namespace": "true"}},
        "integrations": {"frameworks": ["batch/job"]},
    }


WEBHOOKS = """
kind: MutatingWebhookConfiguration
metadata: {name: mutating-webhook-configuration}
webhooks:
- name: mjob.kb.io
  rules: [{apiGroups: [batch]}]
  clientConfig: {service: {path: /job}}
- name: mpod.kb.io
  rules: [{apiGroups: [""]}]
  clientConfig: {service: {path: /pod}}
- name: mappwrapper.kb.io
  rules: [{apiGroups: [workload.codeflare.dev]}]
  clientConfig: {service: {path: /appwrapper}}
- name: mworkload.kb.io
  rules: [{apiGroups: [kueue.x-k8s.io]}]
  clientConfig: {service: {path: /workload}}
"""


def test_kueues_webhooks_are_called_for_its_objects_and_queued_kinds(tmp_path: Path) -> None:
    (tmp_path / "webhook").mkdir()
    (tmp_path / "webhook" / "manifests.yaml").write_text(WEBHOOKS)

    (made,) = webhooks(tmp_path, SERVER, ("batch/job", "workload.codeflare.dev/appwrapper"))

    assert made["metadata"] == {"name": "kueue-mutating-webhook-configuration"}
    assert [each["name"] for each in made["webhooks"]] == [
        "mjob.kb.io",
        "mappwrapper.kb.io",
        "mworkload.kb.io",
    ]


def test_definitions_of_several_versions_are_converted(tmp_path: Path) -> None:
    bases = tmp_path / "crd" / "bases"
    bases.mkdir(parents=True)
    for name in ("workloads.kueue.x-k8s.io", "topologies.kueue.x-k8s.io"):
        (bases / f"{name}.yaml").write_text(f"metadata: {{name: {name}}}\nspec: {{group: g}}\n")

    topologies, workloads = definitions(tmp_path, SERVER)

    assert topologies["spec"] == {"group": "g"}
    assert workloads["spec"]["conversion"]["strategy"] == "Webhook"


def test_its_configuration_is_where_admins_look_for_it() -> None:
    made = published("kind: Configuration\n")
    assert (made["kind"], made["metadata"]) == (
        "ConfigMap",
        {"name": "kueue-manager-config", "namespace": "kueue-system"},
    )
    assert made["data"] == {"controller_manager_config.yaml": "kind: Configuration\n"}

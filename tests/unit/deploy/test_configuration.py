"""The configuration of each overlay, read by the code that will read it in the cluster."""

from datetime import timedelta

import pytest
import yaml

from shared.config.configuration import Configuration
from shared.config.fault_tolerance import SlackQueue
from shared.config.loading import load_config, parse_config
from tests.support.manifests import MANIFESTS, document

OVERLAYS = MANIFESTS / "overlays"
# The lists of the user documentation, section "Allowed Kinds".
DIRECT = {
    "AppWrapper", "PyTorchJob", "RayJob", "RayCluster",
    "Service", "Secret", "ConfigMap", "PersistentVolumeClaim", "PodGroup",
}  # fmt: skip
WRAPPED = {
    "PyTorchJob", "RayJob", "RayCluster", "Deployment", "StatefulSet", "Pod", "Job",
    "ServiceAccount", "Service", "Secret", "ConfigMap", "PersistentVolumeClaim", "PodGroup",
}  # fmt: skip


def kinds(entries: tuple[str, ...]) -> set[str]:
    return {entry.rpartition("/")[2] for entry in entries}


@pytest.mark.parametrize("name", ["default", "mlbatch"])
def test_an_overlay_is_accepted_without_a_warning(name: str) -> None:
    assert load_config(OVERLAYS / name / "config.yaml").warnings == ()


def test_the_base_changes_no_default() -> None:
    config_map = document(MANIFESTS / "base" / "configuration" / "configuration.yaml")
    loaded = parse_config(config_map["data"]["config.yaml"])
    assert loaded.config == Configuration()


def test_the_default_overlay_names_the_queue_and_changes_nothing_else() -> None:
    loaded = load_config(OVERLAYS / "default" / "config.yaml")
    assert set(loaded.origins) == {("appwrapper", "defaultQueueName")}
    assert loaded.config.appwrapper.default_queue_name == "default-queue"


def test_the_mlbatch_overlay() -> None:
    loaded = load_config(OVERLAYS / "mlbatch" / "config.yaml")
    assert set(loaded.origins) == {
        ("appwrapper", "defaultQueueName"),
        ("appwrapper", "defaultQueueNameOnDirectKinds"),
        ("appwrapper", "schedulerName"),
        ("appwrapper", "userRBACAdmissionCheck"),
        ("appwrapper", "allowedKinds", "direct"),
        ("appwrapper", "allowedKinds", "wrapped"),
        ("appwrapper", "exemptions", "quotaManagers"),
        ("appwrapper", "exemptions", "serviceAccountNamespaces"),
        ("appwrapper", "faultTolerance", "failUnschedulable"),
        ("appwrapper", "slackQueue", "name"),
    }
    config = loaded.config.appwrapper
    assert config.default_queue_name == "default-queue"
    assert config.default_queue_name_on_direct_kinds is True
    assert config.scheduler_name == "scheduler-plugins-scheduler"
    assert config.user_rbac_admission_check is False
    assert kinds(config.allowed_kinds.direct) == DIRECT
    assert kinds(config.allowed_kinds.wrapped) == WRAPPED
    assert config.slack_queue == SlackQueue(name="slack-cluster-queue")
    assert config.fault_tolerance.fail_unschedulable == timedelta(minutes=2)


def test_the_default_wraps_five_kinds_more() -> None:
    more = kinds(Configuration().appwrapper.allowed_kinds.wrapped) - WRAPPED
    assert more == {"JobSet", "LeaderWorkerSet", "MPIJob", "TrainingRuntime", "TrainJob"}


def test_in_mlbatch_everything_that_serves_all_teams_is_in_one_namespace() -> None:
    exemptions = load_config(OVERLAYS / "mlbatch" / "config.yaml").config.appwrapper.exemptions
    assert exemptions.quota_managers == (
        "system:serviceaccount:mlbatch-system:kueue-controller-manager",
    )
    assert exemptions.service_account_namespaces == (
        "kube-system",
        "appwrapper-system",
        "mlbatch-system",
    )


def test_the_configuration_is_at_the_documented_path() -> None:
    config_map = document(MANIFESTS / "base" / "configuration" / "configuration.yaml")
    assert config_map["metadata"]["name"] == "appwrapper-operator-config"
    assert yaml.safe_load(config_map["data"]["config.yaml"]) == {}

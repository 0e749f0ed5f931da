"""The team that the user documentation speaks of."""

import pytest

from cli.cluster.operator_configuration import CONFIG_NAME
from cli.pod_security import POLICY
from controller.fleet.breaker import RECORD_NAME
from shared.api.objects import JsonObject
from shared.config.configuration import LabelSelector
from tests.support.manifests import TEAM, document, documents

# What `kubectl apply -f deploy/team` takes: it leaves out folders below.
OBJECTS = [one for file in sorted(TEAM.glob("*.yaml")) for one in documents(file)]
SLACK = document(TEAM / "slack" / "cluster-queue.yaml")


def only(kind: str) -> JsonObject:
    (found,) = (one for one in OBJECTS if one["kind"] == kind)
    return found


def test_the_namespace_is_known_as_a_teams() -> None:
    assert only("Namespace")["metadata"] == {
        "name": "team1",
        "labels": {
            "mlbatch-team-namespace": "true",
            "pod-security.kubernetes.io/enforce": "privileged",
            "workload.codeflare.dev/pod-security": "baseline-ipc-lock",
        },
    }


def test_the_teams_level_is_a_policy_that_deploy_team_brings() -> None:
    """Its quota has RDMA. Without the policy the level would be privileged."""
    policy, binding = only("ValidatingAdmissionPolicy"), only("ValidatingAdmissionPolicyBinding")
    name = binding["spec"]["policyName"]
    assert policy["metadata"]["name"] == binding["metadata"]["name"] == name == POLICY
    assert policy["spec"]["failurePolicy"] == "Fail"
    assert binding["spec"]["validationActions"] == ["Deny", "Audit"]
    selector = LabelSelector.model_validate(binding["spec"]["matchResources"]["namespaceSelector"])
    assert selector.matches(only("Namespace")["metadata"]["labels"])


def test_the_local_queue_feeds_the_teams_cluster_queue() -> None:
    queue = only("LocalQueue")
    assert (queue["metadata"]["name"], queue["metadata"]["namespace"]) == ("default-queue", "team1")
    assert queue["spec"] == {"clusterQueue": "team1-cluster-queue"}
    assert only("ClusterQueue")["metadata"]["name"] == "team1-cluster-queue"


def test_the_cluster_queue() -> None:
    quota = {
        "cpu": 640,
        "memory": "8800Gi",
        "nvidia.com/gpu": 64,
        "nvidia.com/roce_gdr": 16,
        "pods": 800,
    }
    assert only("ClusterQueue")["spec"] == {
        "namespaceSelector": {},
        "cohortName": "default-cohort",
        "preemption": {
            "withinClusterQueue": "LowerOrNewerEqualPriority",
            "reclaimWithinCohort": "Any",
            "borrowWithinCohort": {"policy": "Never"},
        },
        "resourceGroups": [
            {
                "coveredResources": list(quota),
                "flavors": [
                    {
                        "name": only("ResourceFlavor")["metadata"]["name"],
                        "resources": [
                            {"name": name, "nominalQuota": value} for name, value in quota.items()
                        ],
                    }
                ],
            }
        ],
    }


def test_the_slack_queue_lends_one_node_to_the_teams_cohort() -> None:
    """A node as the simulated ones are, but for its pods: an eighth of the team's quota."""
    team = only("ClusterQueue")["spec"]
    [group] = SLACK["spec"]["resourceGroups"]
    [whole] = team["resourceGroups"]
    assert SLACK["kind"] == "ClusterQueue"
    assert SLACK["spec"]["cohortName"] == team["cohortName"]
    assert group["coveredResources"] == whole["coveredResources"]
    [flavor] = group["flavors"]
    assert flavor["name"] == only("ResourceFlavor")["metadata"]["name"]
    assert {each["name"]: each["nominalQuota"] for each in flavor["resources"]} == {
        "cpu": 640 // 8,
        "memory": f"{8800 // 8}Gi",
        "nvidia.com/gpu": 64 // 8,
        "nvidia.com/roce_gdr": 16 // 8,
        "pods": 800 // 8,
    }


def test_three_priorities_and_the_middle_one_is_the_default() -> None:
    classes = {
        one["metadata"]["name"]: (one["value"], one["globalDefault"])
        for one in OBJECTS
        if one["kind"] == "PriorityClass"
    }
    assert classes == {
        "low-priority": (1, False),
        "default-priority": (5, True),
        "high-priority": (10, False),
    }


def test_kueues_objects_are_of_its_current_version() -> None:
    versions = {
        one["apiVersion"] for one in [*OBJECTS, SLACK] if one["apiVersion"].startswith("kueue")
    }
    assert versions == {"kueue.x-k8s.io/v1beta2"}


def role(name: str) -> list[JsonObject]:
    """The rules of a ClusterRole."""
    (found,) = (
        one for one in OBJECTS if (one["kind"], one["metadata"]["name"]) == ("ClusterRole", name)
    )
    rules: list[JsonObject] = found["rules"]
    return rules


def test_users_may_read_the_ingresses_that_codeflare_sdk_asks_for() -> None:
    rules = [each for each in role("mlbatch-edit") if "ingresses" in each["resources"]]
    assert rules == [
        {"apiGroups": ["networking.k8s.io"], "resources": ["ingresses"], "verbs": ["get", "list"]}
    ]


@pytest.mark.parametrize(
    ("resource", "verb"),
    [("pods/log", "get"), ("namespaces", "get"), ("pods", "list"), ("pods", "watch")],
)
def test_users_may_read_what_appwrapper_logs_needs(resource: str, verb: str) -> None:
    rules = [each for each in role("mlbatch-edit") if resource in each["resources"]]
    assert any(verb in each["verbs"] for each in rules)


def test_users_never_write_workloads() -> None:
    """`hold` needs no such right: the controller deactivates the Workload."""
    rules = [
        each
        for name in ("mlbatch-edit", "appwrapper-queue-viewer")
        for each in role(name)
        if {"*", "workloads", "workloads/status"} & {*each["resources"]}
    ]
    assert [each["verbs"] for each in rules] == [["get", "list", "watch"]]


@pytest.mark.parametrize("resource", ["pods/exec", "pods/portforward"])
def test_users_may_reach_into_pods(resource: str) -> None:
    (rule,) = (each for each in role("mlbatch-edit") if resource in each["resources"])
    assert sorted(rule["verbs"]) == ["create", "get"]


def test_users_may_read_queues_priorities_nodes_and_settings_and_nothing_else_of_the_cluster() -> (
    None
):
    read = ["get", "list", "watch"]
    assert role("appwrapper-queue-viewer") == [
        {
            "apiGroups": ["kueue.x-k8s.io"],
            "resources": [
                "clusterqueues",
                "cohorts",
                "resourceflavors",
                "workloadpriorityclasses",
            ],
            "verbs": read,
        },
        {"apiGroups": ["scheduling.k8s.io"], "resources": ["priorityclasses"], "verbs": read},
        {
            "apiGroups": ["visibility.kueue.x-k8s.io"],
            "resources": ["clusterqueues/pendingworkloads"],
            "verbs": read,
        },
        {"apiGroups": [""], "resources": ["nodes"], "verbs": read},
        {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": [CONFIG_NAME, RECORD_NAME],
            "verbs": ["get"],
        },
    ]


def test_a_role_in_a_namespace_names_only_what_is_in_namespaces() -> None:
    """`namespaces` too: the API server asks for a right in NAME to get the Namespace NAME."""
    cluster_wide = {
        "clusterqueues",
        "clusterqueues/pendingworkloads",
        "cohorts",
        "nodes",
        "priorityclasses",
        "resourceflavors",
        "workloadpriorityclasses",
    }
    named = {resource for rule in role("mlbatch-edit") for resource in rule["resources"]}
    assert named.isdisjoint(cluster_wide)
    assert "localqueues/pendingworkloads" in named


@pytest.mark.parametrize(
    ("kind", "metadata", "bound"),
    [
        ("RoleBinding", {"name": "team1-edit", "namespace": "team1"}, "mlbatch-edit"),
        ("ClusterRoleBinding", {"name": "team1-queue-viewer"}, "appwrapper-queue-viewer"),
    ],
)
def test_the_teams_group_has_both_roles(kind: str, metadata: JsonObject, bound: str) -> None:
    group = "rbac.authorization.k8s.io"
    binding = only(kind)
    assert binding["metadata"] == metadata
    assert binding["roleRef"] == {"apiGroup": group, "kind": "ClusterRole", "name": bound}
    assert binding["subjects"] == [{"apiGroup": group, "kind": "Group", "name": "team1-edit-group"}]

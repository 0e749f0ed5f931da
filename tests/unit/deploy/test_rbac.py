"""The rights of the two binaries, and of the people."""

import pytest

from controller.fleet.breaker import RECORD_NAME
from shared.api.names import GO_OPERATORS_LEASE, LEASE_NAME
from shared.api.objects import JsonObject
from shared.config.configuration import CertManagement
from shared.config.loading import load_config
from tests.support.manifests import CERTS, MANIFESTS, ROOT, TEAM, objects_under

# The base contains the default choice of certificates; overlay mlbatch has a slack queue as well.
OBJECTS = [
    *objects_under(MANIFESTS / "base"),
    *objects_under(CERTS / "self-managed"),
    *objects_under(MANIFESTS / "slack-queue"),
]
ROLES = {
    one["metadata"]["name"]: one
    for one in OBJECTS + objects_under(TEAM)
    if one["kind"] in ("Role", "ClusterRole")
}
OPERATOR_ROLES = (
    "appwrapper-controller",
    "appwrapper-controller-lease",
    "appwrapper-controller-node-health",
    "appwrapper-controller-slack-queue",
    "appwrapper-webhook",
)
# Whatever an overlay allows to be wrapped by default, the controller must be able to run.
FULL_LIFE = {"create", "get", "list", "watch", "delete"}


def rules(role: JsonObject) -> list[JsonObject]:
    found: list[JsonObject] = role["rules"]
    return found


def verbs(role_name: str, group: str, resource: str) -> set[str]:
    """All verbs that a role gives on a resource, whatever the resource names."""
    return {
        verb
        for rule in rules(ROLES[role_name])
        if group in rule["apiGroups"] and resource in rule["resources"]
        for verb in rule["verbs"]
    }


def granted(role_name: str) -> set[tuple[str, str]]:
    return {
        (group, resource)
        for rule in rules(ROLES[role_name])
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def test_no_wildcard_anywhere() -> None:
    assert len(ROLES) == 12
    for role in ROLES.values():
        for rule in rules(role):
            assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]], rule


@pytest.mark.parametrize("name", OPERATOR_ROLES)
def test_secrets_are_never_listed_nor_watched(name: str) -> None:
    assert verbs(name, "", "secrets").isdisjoint({"list", "watch", "update", "patch"})


@pytest.mark.parametrize("name", OPERATOR_ROLES)
def test_no_right_to_give_rights_or_to_act_as_others(name: str) -> None:
    groups = {group for group, _ in granted(name)}
    assert groups.isdisjoint({"rbac.authorization.k8s.io", "admissionregistration.k8s.io"})
    given = {verb for rule in rules(ROLES[name]) for verb in rule["verbs"]}
    assert given.isdisjoint({"bind", "escalate", "impersonate", "deletecollection"})


def test_the_controller_runs_every_kind_that_may_be_wrapped() -> None:
    workloads = {
        ("", "pods"), ("", "services"), ("", "configmaps"), ("", "persistentvolumeclaims"),
        ("", "serviceaccounts"), ("apps", "deployments"), ("apps", "statefulsets"),
        ("batch", "jobs"), ("kubeflow.org", "pytorchjobs"), ("kubeflow.org", "mpijobs"),
        ("ray.io", "rayjobs"), ("ray.io", "rayclusters"), ("jobset.x-k8s.io", "jobsets"),
        ("leaderworkerset.x-k8s.io", "leaderworkersets"), ("scheduling.x-k8s.io", "podgroups"),
        ("trainer.kubeflow.org", "trainjobs"), ("trainer.kubeflow.org", "trainingruntimes"),
    }  # fmt: skip
    for group, resource in workloads:
        assert verbs("appwrapper-controller", group, resource) == FULL_LIFE, resource
    assert granted("appwrapper-controller") == workloads | {
        ("", "secrets"), ("", "nodes"), ("", "namespaces"), ("", "events"),
        ("apps", "replicasets"), ("apiextensions.k8s.io", "customresourcedefinitions"),
        ("kueue.x-k8s.io", "workloads"),
        ("kueue.x-k8s.io", "workloads/status"), ("kueue.x-k8s.io", "localqueues"),
        ("kueue.x-k8s.io", "clusterqueues"),
        ("resource.k8s.io", "resourceslices"), ("resource.k8s.io", "devicetaintrules"),
        ("resource.k8s.io", "resourceclaims"),
        ("workload.codeflare.dev", "appwrappers"),
        ("workload.codeflare.dev", "appwrappers/status"),
        ("workload.codeflare.dev", "appwrappers/finalizers"),
    }  # fmt: skip


def test_the_rest_of_what_the_controller_may_do() -> None:
    role = "appwrapper-controller"
    group = "workload.codeflare.dev"
    assert verbs(role, "", "secrets") == {"create", "get", "delete"}
    assert verbs(role, "", "nodes") == {"get", "list", "watch"}
    assert verbs(role, "", "namespaces") == {"get"}
    assert verbs(role, "", "events") == {"list", "create", "patch"}
    assert verbs(role, "apps", "replicasets") == {"get", "list", "delete"}
    assert verbs(role, "apiextensions.k8s.io", "customresourcedefinitions") == {"get", "list"}
    assert verbs(role, "kueue.x-k8s.io", "workloads") == {"list", "watch", "patch"}
    assert verbs(role, "kueue.x-k8s.io", "localqueues") == {"get", "list", "watch"}
    assert verbs(role, "kueue.x-k8s.io", "clusterqueues") == {"get", "list", "watch"}
    assert verbs(role, "kueue.x-k8s.io", "workloads/status") == {"patch"}
    for devices in ("resourceslices", "devicetaintrules"):
        assert verbs(role, "resource.k8s.io", devices) == {"get", "list", "watch"}
    assert verbs(role, "resource.k8s.io", "resourceclaims") == {"list", "watch"}
    assert verbs(role, group, "appwrappers") == {"get", "list", "watch", "patch"}
    assert verbs(role, group, "appwrappers/status") == {"update"}
    assert verbs(role, group, "appwrappers/finalizers") == {"update"}


def test_the_record_of_node_health_is_written_by_name_and_installed_empty() -> None:
    role = ROLES["appwrapper-controller-node-health"]
    assert (role["kind"], role["metadata"]["namespace"]) == ("Role", "appwrapper-system")
    assert rules(role) == [
        {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": [RECORD_NAME],
            "verbs": ["list", "watch", "patch"],
        }
    ]
    (record,) = (one for one in OBJECTS if one["metadata"]["name"] == RECORD_NAME)
    assert record["metadata"]["namespace"] == CertManagement().namespace
    assert set(record) == {"apiVersion", "kind", "metadata"}


def test_the_lease_is_written_by_name_and_the_go_operators_only_read() -> None:
    role = ROLES["appwrapper-controller-lease"]
    assert (role["kind"], role["metadata"]["namespace"]) == ("Role", "appwrapper-system")
    leases = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    assert rules(role) == [
        leases | {"resourceNames": [LEASE_NAME, GO_OPERATORS_LEASE], "verbs": ["get"]},
        leases | {"resourceNames": [LEASE_NAME], "verbs": ["update"]},
        leases | {"verbs": ["create"]},
    ]


def test_the_slack_queue_is_written_by_name_and_only_where_there_is_one() -> None:
    (slack,) = (one for one in objects_under(TEAM / "slack") if one["kind"] == "ClusterQueue")
    config = load_config(MANIFESTS / "overlays" / "mlbatch" / "config.yaml").config
    assert config.appwrapper.slack_queue.name == slack["metadata"]["name"]
    assert rules(ROLES["appwrapper-controller-slack-queue"]) == [
        {
            "apiGroups": ["kueue.x-k8s.io"],
            "resources": ["clusterqueues", "resourceflavors"],
            "verbs": ["list", "watch"],
        },
        {
            "apiGroups": ["kueue.x-k8s.io"],
            "resources": ["clusterqueues"],
            "resourceNames": [slack["metadata"]["name"]],
            "verbs": ["patch"],
        },
    ]


def test_the_webhook_reads_rights_namespaces_and_priority_classes_and_nothing_else() -> None:
    assert rules(ROLES["appwrapper-webhook"]) == [
        {
            "apiGroups": ["authorization.k8s.io"],
            "resources": ["subjectaccessreviews"],
            "verbs": ["create"],
        },
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]},
        {
            "apiGroups": ["scheduling.k8s.io"],
            "resources": ["priorityclasses"],
            "verbs": ["list", "watch"],
        },
    ]


def test_for_its_certificates_the_webhook_may_do_this_by_name_and_nothing_else() -> None:
    secret = ROLES["appwrapper-webhook-certificates"]
    assert (secret["kind"], secret["metadata"]["namespace"]) == ("Role", "appwrapper-system")
    assert rules(secret) == [
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": [CertManagement().webhook_secret_name],
            "verbs": ["get", "list", "watch", "update"],
        }
    ]
    assert rules(ROLES["appwrapper-webhook-ca-bundle"]) == [
        {
            "apiGroups": ["admissionregistration.k8s.io"],
            "resources": [f"{kind}webhookconfigurations"],
            "resourceNames": [name],
            "verbs": ["get", "list", "watch", "patch"],
        }
        for kind, name in (
            ("mutating", CertManagement().mutating_webhook_config_name),
            ("validating", CertManagement().validating_webhook_config_name),
        )
    ]


def test_the_secret_for_the_certificates_is_installed_empty() -> None:
    (secret,) = (one for one in OBJECTS if one["kind"] == "Secret")
    names = CertManagement()
    metadata = secret["metadata"]
    assert (metadata["namespace"], metadata["name"]) == (names.namespace, names.webhook_secret_name)
    assert set(secret) == {"apiVersion", "kind", "metadata", "type"}


def test_each_binding_binds_a_role_to_the_binary_of_its_name() -> None:
    bindings = [one for one in OBJECTS if one["kind"].endswith("RoleBinding")] + [
        one for one in OBJECTS if one["kind"] == "ClusterRoleBinding"
    ]
    bound = {
        (one["kind"], one["roleRef"]["kind"], one["roleRef"]["name"], one["subjects"][0]["name"])
        for one in bindings
    }
    assert bound == {
        ("ClusterRoleBinding", "ClusterRole", "appwrapper-controller", "appwrapper-controller"),
        ("RoleBinding", "Role", "appwrapper-controller-lease", "appwrapper-controller"),
        (
            "RoleBinding",
            "Role",
            "appwrapper-controller-node-health",
            "appwrapper-controller",
        ),
        (
            "ClusterRoleBinding",
            "ClusterRole",
            "appwrapper-controller-slack-queue",
            "appwrapper-controller",
        ),
        ("ClusterRoleBinding", "ClusterRole", "appwrapper-webhook", "appwrapper-webhook"),
        ("RoleBinding", "Role", "appwrapper-webhook-certificates", "appwrapper-webhook"),
        ("ClusterRoleBinding", "ClusterRole", "appwrapper-webhook-ca-bundle", "appwrapper-webhook"),
    }
    for one in bindings:
        (subject,) = one["subjects"]
        assert (subject["kind"], subject["namespace"]) == ("ServiceAccount", "appwrapper-system")


def test_people_get_the_rights_by_the_cluster_roles_they_have() -> None:
    aggregated = {
        name: sorted(label for label in ROLES[name]["metadata"]["labels"] if "aggregate" in label)
        for name in ("appwrapper-editor-role", "appwrapper-viewer-role", "appwrapper-user-role")
    }
    assert aggregated == {
        "appwrapper-editor-role": [
            "rbac.authorization.k8s.io/aggregate-to-admin",
            "rbac.authorization.k8s.io/aggregate-to-edit",
        ],
        "appwrapper-viewer-role": ["rbac.authorization.k8s.io/aggregate-to-view"],
        "appwrapper-user-role": [],
    }
    for name in aggregated:
        assert verbs(name, "workload.codeflare.dev", "appwrappers/status") == {"get"}


def test_a_team_creates_no_pods_but_by_wrapping_them() -> None:
    for group, resource in (
        ("", "pods"), ("apps", "deployments"), ("apps", "statefulsets"), ("batch", "jobs"),
    ):  # fmt: skip
        assert verbs("mlbatch-edit", group, resource) == {"delete", "get", "list", "watch"}
    everything = FULL_LIFE | {"patch", "update"}
    assert verbs("mlbatch-edit", "workload.codeflare.dev", "appwrappers") == everything


def test_every_rule_has_a_reason() -> None:
    """A comment stands right above each rule."""
    for file in sorted((ROOT / "deploy").rglob("*.yaml")):
        above = ""
        for line in file.read_text().splitlines():
            if line.startswith("- apiGroups:"):
                assert above.startswith("# "), f"{file.relative_to(ROOT)}: {line}"
            above = line

"""What the tables of rights become."""

import yaml

from scripts.rbac import roles_yaml
from shared.api.rbac import Role, Rule

HERE = Role(
    "reader",
    "For reading.\n\nNot for writing.",
    (Rule("One of them. " + 30 * "word ", "", ("secrets",), ("get", "list"), ("a",)),),
)
EVERYWHERE = Role("writer", "", (Rule("All.", "apps", ("x", "x/y"), ("create",)),), everywhere=True)


def test_every_reason_stands_above_its_rule() -> None:
    lines = roles_yaml("webhook", [HERE]).splitlines()
    rule = lines.index('- apiGroups: [""]')
    reason = " ".join(line.removeprefix("# ") for line in lines[rule - 2 : rule])
    assert reason == HERE.rules[0].reason.strip()
    assert all(line.startswith("# ") and len(line) <= 100 for line in lines[rule - 2 : rule])
    assert lines[rule : rule + 4] == [
        '- apiGroups: [""]',
        "  resources: [secrets]",
        "  resourceNames: [a]",
        "  verbs: [get, list]",
    ]
    about = lines.index("# For reading.")
    assert lines[about : about + 3] == ["# For reading.", "#", "# Not for writing."]


def test_a_role_holds_in_its_namespace_or_everywhere_and_is_bound_to_its_program() -> None:
    here, binding, everywhere, cluster_binding = [
        one for one in yaml.safe_load_all(roles_yaml("webhook", [HERE, EVERYWHERE])) if one
    ]
    assert [one["kind"] for one in (here, binding)] == ["Role", "RoleBinding"]
    assert [one["metadata"]["namespace"] for one in (here, binding)] == ["appwrapper-system"] * 2
    assert everywhere == {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": "writer",
            "labels": {
                "app.kubernetes.io/name": "appwrapper",
                "app.kubernetes.io/component": "webhook",
            },
        },
        "rules": [{"apiGroups": ["apps"], "resources": ["x", "x/y"], "verbs": ["create"]}],
    }
    assert cluster_binding["metadata"] == everywhere["metadata"]
    assert cluster_binding["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": "writer",
    }
    subject = {
        "kind": "ServiceAccount",
        "name": "appwrapper-webhook",
        "namespace": "appwrapper-system",
    }
    assert binding["subjects"] == cluster_binding["subjects"] == [subject]

"""What `team create` changes of what exists, and what it leaves alone."""

from dataclasses import replace

import pytest

from cli.teams.manifests import TeamSettings, group, user
from cli.teams.plan import (
    Action,
    Difference,
    Live,
    ObjectPlan,
    not_covered,
    not_creatable,
    object_plans,
    refusals,
)
from shared.api.objects import JsonObject
from shared.config.configuration import AppWrapperConfig
from shared.config.fault_tolerance import SlackQueue
from tests.support.builders.teams import GPU, team

LABELS = {"mlbatch-team-namespace": "true"}
SETTINGS = TeamSettings(name="team1", labels=LABELS, quotas={})
CONFIG = AppWrapperConfig.model_validate(
    {"exemptions": {"serviceAccountNamespaces": ("kube-system", "kueue-system")}}
)


def live(*items: JsonObject) -> Live:
    found = {}
    for each in items:
        each["metadata"] = {**each["metadata"], "resourceVersion": "7"}
        found[each["kind"], each["metadata"]["name"]] = each
    return found


def existing() -> dict[str, JsonObject]:
    """team1 as deploy/team has it, by Kind."""
    return {each["kind"]: each for each in team("team1")}


def plans(settings: TeamSettings = SETTINGS, **changed: JsonObject) -> dict[str, ObjectPlan]:
    objects = live(*{**existing(), **changed}.values())
    found = object_plans(settings, objects)
    return {each.kind: each for each in found}


def with_quotas(**quotas: str) -> TeamSettings:
    return replace(
        SETTINGS, quotas={name.replace("gpu", GPU): each for name, each in quotas.items()}
    )


def quotas_in(queue: JsonObject) -> list[tuple[str, str, object]]:
    return [
        (flavor["name"], each["name"], each["nominalQuota"])
        for one in queue["spec"]["resourceGroups"]
        for flavor in one["flavors"]
        for each in flavor["resources"]
    ]


def test_a_team_that_is_there_stays_as_it_is() -> None:
    found = plans()
    assert {each.action for each in found.values()} == {Action.KEEP}
    assert [each.left for each in found.values()] == [()] * 5


def test_the_users_rights_come_last() -> None:
    found = object_plans(SETTINGS, {})
    assert [(each.kind, each.action) for each in found] == [
        ("Namespace", Action.CREATE),
        ("ClusterQueue", Action.CREATE),
        ("LocalQueue", Action.CREATE),
        ("RoleBinding", Action.CREATE),
        ("ClusterRoleBinding", Action.CREATE),
    ]


def test_the_same_quota_in_other_writing_is_no_difference() -> None:
    found = plans(replace(with_quotas(cpu="640000m", memory="9011200Mi"), change_quota=True))
    assert found["ClusterQueue"].action is Action.KEEP


def test_another_quota_is_shown_and_set_only_where_it_is_asked_for() -> None:
    shown = plans(with_quotas(gpu="32", cpu="640"))["ClusterQueue"]
    field = f"quota of {GPU} in flavor default-flavor"
    assert (shown.action, shown.changes) == (Action.KEEP, ())
    assert shown.left == (Difference(field, "64", "32", "--change-quota sets it"),)
    assert ("default-flavor", GPU, 64) in quotas_in(shown.manifest)

    done = plans(replace(with_quotas(gpu="32", cpu="640"), change_quota=True))["ClusterQueue"]
    assert (done.action, done.left) == (Action.CHANGE, ())
    assert done.changes == (Difference(field, "64", "32"),)
    assert quotas_in(done.manifest) == [
        ("default-flavor", "cpu", 640),
        ("default-flavor", "memory", "8800Gi"),
        ("default-flavor", GPU, 32),
        ("default-flavor", "nvidia.com/roce_gdr", 16),
        ("default-flavor", "pods", 800),
    ]
    assert done.resource_version == "7"


def test_limits_and_what_an_admin_set_otherwise_stay() -> None:
    queue = existing()["ClusterQueue"]
    queue["spec"]["cohortName"] = "mine"
    queue["spec"]["stopPolicy"] = "Hold"
    queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["borrowingLimit"] = 0
    found = plans(replace(with_quotas(cpu="1"), change_quota=True), ClusterQueue=queue)
    plan = found["ClusterQueue"]
    assert plan.left == (Difference("spec.cohortName", "mine", "default-cohort"),)
    assert plan.manifest["spec"]["cohortName"] == "mine"
    assert "stopPolicy" not in plan.manifest["spec"]  # applied, it would become ours
    cpu = plan.manifest["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]
    assert cpu == {"name": "cpu", "nominalQuota": 1, "borrowingLimit": 0}


def test_a_queue_without_a_field_gets_none_of_it() -> None:
    queue = existing()["ClusterQueue"]
    del queue["spec"]["preemption"]
    plan = plans(replace(with_quotas(cpu="1"), change_quota=True), ClusterQueue=queue)[
        "ClusterQueue"
    ]
    assert plan.left == ()
    assert "preemption" not in plan.manifest["spec"]


def test_a_tuned_queue_is_no_difference_but_a_queue_for_no_namespace_is() -> None:
    queue = existing()["ClusterQueue"]
    queue["spec"] |= {"preemption": {}, "namespaceSelector": {"matchLabels": {"a": "b"}}}
    assert plans(SETTINGS, ClusterQueue=queue)["ClusterQueue"].left == ()
    del queue["spec"]["namespaceSelector"]
    plan = plans(SETTINGS, ClusterQueue=queue)["ClusterQueue"]
    assert plan.left == (Difference("spec.namespaceSelector", "none", "{} (all)"),)
    assert "namespaceSelector" not in plan.manifest["spec"]


def test_a_new_resource_joins_the_flavors_group_in_every_flavor_of_it() -> None:
    queue = existing()["ClusterQueue"]
    (only,) = queue["spec"]["resourceGroups"]
    only["coveredResources"] = ["cpu"]
    only["flavors"] = [
        {"name": name, "resources": [{"name": "cpu", "nominalQuota": 1}]}
        for name in ("other", "default-flavor")
    ]
    found = plans(replace(with_quotas(gpu="8"), change_quota=True), ClusterQueue=queue)
    manifest = found["ClusterQueue"].manifest
    assert manifest["spec"]["resourceGroups"][0]["coveredResources"] == ["cpu", GPU]
    assert quotas_in(manifest) == [
        ("other", "cpu", 1),
        ("other", GPU, 0),
        ("default-flavor", "cpu", 1),
        ("default-flavor", GPU, 8),
    ]


def test_a_new_flavor_gets_a_group_of_its_own() -> None:
    settings = replace(with_quotas(gpu="8"), flavor="h100")
    plan = plans(replace(settings, change_quota=True))["ClusterQueue"]
    assert plan.manifest["spec"]["resourceGroups"][1] == {
        "coveredResources": [GPU],
        "flavors": [{"name": "h100", "resources": [{"name": GPU, "nominalQuota": 8}]}],
    }


def test_users_are_added_to_both_bindings_and_never_taken_away() -> None:
    settings = replace(SETTINGS, subjects=(user("bob"), group("team1-edit-group")))
    found = plans(settings)
    for kind in ("RoleBinding", "ClusterRoleBinding"):
        assert found[kind].changes == (Difference("subjects", "none", "user bob"),)
        assert found[kind].manifest["subjects"] == [group("team1-edit-group"), user("bob")]


def test_users_who_were_added_by_hand_see_the_quota_too() -> None:
    account = {"kind": "ServiceAccount", "name": "bot", "namespace": "ci"}
    binding = existing()["RoleBinding"]
    binding["subjects"] = [account]
    objects = live(*(each for each in {**existing(), "RoleBinding": binding}.values()
                     if each["kind"] != "ClusterRoleBinding"))  # fmt: skip
    *_, kept, viewers = object_plans(SETTINGS, objects)
    assert (kept.action, kept.manifest["subjects"]) == (Action.KEEP, [account])
    assert (viewers.action, viewers.manifest["subjects"]) == (Action.CREATE, [account])


def test_a_binding_of_another_role_is_shown_and_stays() -> None:
    found = plans(replace(SETTINGS, role="edit"))["RoleBinding"]
    assert found.action is Action.KEEP
    remedy = "delete this binding and run this again: Kubernetes changes no binding's role"
    assert found.left == (Difference("roleRef.name", "mlbatch-edit", "edit", remedy),)
    assert found.manifest["roleRef"]["name"] == "mlbatch-edit"


def test_a_binding_of_a_role_in_the_namespace_is_another_ones() -> None:
    binding = existing()["RoleBinding"]
    binding["roleRef"] = {**binding["roleRef"], "kind": "Role"}
    found = plans(SETTINGS, RoleBinding=binding)["RoleBinding"]
    assert [(each.field, each.found) for each in found.left] == [("roleRef.kind", "Role")]


def test_no_user_is_added_to_a_cluster_role_binding_of_another_role() -> None:
    binding = existing()["ClusterRoleBinding"]
    binding["roleRef"] = {**binding["roleRef"], "name": "cluster-admin"}
    settings = replace(SETTINGS, subjects=(user("bob"),))
    found = plans(settings, ClusterRoleBinding=binding)["ClusterRoleBinding"]
    assert (found.action, found.changes) == (Action.KEEP, ())
    assert [each.found for each in found.left] == ["cluster-admin"]
    assert found.manifest["subjects"] == [group("team1-edit-group")]


CREATORS = replace(SETTINGS, binds_creators=True)


def bindings(settings: TeamSettings, *items: JsonObject) -> list[ObjectPlan]:
    """The plans for the bindings, in order: of the role, of `edit`, of the viewers."""
    return [each for each in object_plans(settings, live(*items)) if "Binding" in each.kind]


def test_users_who_may_wrap_only_what_they_may_create_get_the_role_for_it_too() -> None:
    edit, creators, viewers = bindings(CREATORS)
    assert [each.action for each in (edit, creators, viewers)] == [Action.CREATE] * 3
    assert (creators.kind, creators.name, creators.namespace) == (
        "RoleBinding",
        "team1-may-create",
        "team1",
    )
    assert creators.manifest["roleRef"]["name"] == "edit"
    assert creators.manifest["subjects"] == edit.manifest["subjects"]


def test_a_team_without_that_binding_gets_it_for_all_its_users() -> None:
    account = {"kind": "ServiceAccount", "name": "bot", "namespace": "ci"}
    binding = existing()["RoleBinding"]
    binding["subjects"] = [account]
    others = [each for kind, each in existing().items() if kind != "RoleBinding"]
    edit, creators, _ = bindings(CREATORS, binding, *others)
    assert (edit.action, creators.action) == (Action.KEEP, Action.CREATE)
    assert creators.manifest["subjects"] == [account]
    made = creators.manifest
    edit, creators, _ = bindings(CREATORS, binding, *others, made)
    assert (creators.action, creators.changes, creators.left) == (Action.KEEP, (), ())
    more = replace(CREATORS, subjects=(user("bob"),))
    edit, creators, _ = bindings(more, binding, *others, made)
    assert creators.manifest["subjects"] == edit.manifest["subjects"] == [account, user("bob")]


def cluster_role(*rules: JsonObject) -> JsonObject:
    return {"kind": "ClusterRole", "metadata": {"name": "ours"}, "rules": list(rules)}


def rule(group: str, *resources: str, verbs: tuple[str, ...] = ("create",)) -> JsonObject:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def test_another_role_is_warned_of_if_users_could_wrap_nothing_with_it() -> None:
    lacking = cluster_role(
        rule("", "pods", "services"),
        rule("batch", "*", verbs=("get",)),
        rule("apps", "deployments", verbs=("*",)),
        {**rule("apps", "statefulsets"), "resourceNames": ["one"]},
    )
    assert list(not_creatable(lacking, CONFIG)) == [
        "ClusterRole ours lets no user create StatefulSet, Job. The webhook"
        " (userRBACAdmissionCheck) refuses AppWrappers with what their user may not create: bind a"
        " role that allows it, such as edit, in the team's namespace"
    ]
    off = CONFIG.model_copy(update={"user_rbac_admission_check": False})
    assert list(not_creatable(lacking, off)) == []
    assert list(not_creatable(cluster_role(rule("*", "*", verbs=("*",))), CONFIG)) == []


def test_the_slack_queue_is_no_teams() -> None:
    settings = replace(SETTINGS, name="slack")
    slack = SlackQueue(name="slack-cluster-queue")
    with_slack = CONFIG.model_copy(update={"slack_queue": slack})
    assert list(refusals(settings, {}, CONFIG)) == []
    assert list(refusals(settings, {}, with_slack)) == [
        "ClusterQueue slack-cluster-queue is the slack queue: choose another name for the team"
    ]


def test_a_local_queue_that_feeds_another_queue_is_shown_and_stays() -> None:
    queue = existing()["LocalQueue"]
    queue["spec"] = {"clusterQueue": "other"}
    found = plans(LocalQueue=queue)["LocalQueue"]
    assert found.action is Action.KEEP
    ((field, was, wanted),) = [(each.field, each.found, each.wanted) for each in found.left]
    assert (field, was, wanted) == ("spec.clusterQueue", "other", "team1-cluster-queue")


def plain_namespace(name: str = "team1", **metadata: str) -> JsonObject:
    return {"kind": "Namespace", "metadata": {"name": name, **metadata}}


def test_a_namespace_becomes_a_teams_only_where_that_is_asked_for() -> None:
    objects = live(plain_namespace())
    assert list(refusals(SETTINGS, objects, CONFIG)) == [
        "namespace team1 exists and is not a team's: it lacks the label"
        " mlbatch-team-namespace=true. With the label Kueue queues its workloads, and the webhook"
        " restricts what users create. Add --adopt to make it a team's"
    ]
    assert list(refusals(replace(SETTINGS, adopt=True), objects, CONFIG)) == []
    namespace, *_ = object_plans(replace(SETTINGS, adopt=True), objects)
    label = "metadata.labels[mlbatch-team-namespace]"
    assert namespace.changes == (Difference(label, "none", "true"),)
    assert namespace.manifest == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "team1", "labels": LABELS},
    }


@pytest.mark.parametrize("name", ["kube-system", "kueue-system", "kube-anything", "default"])
def test_the_clusters_own_namespaces_are_no_teams(name: str) -> None:
    settings = replace(SETTINGS, name=name)
    for objects in ({}, live(plain_namespace(name))):
        assert list(refusals(replace(settings, adopt=True), objects, CONFIG)) == [
            f"namespace {name} belongs to the cluster: choose another name for the team"
        ]


def test_an_object_that_is_being_deleted_is_awaited() -> None:
    queue = existing()["ClusterQueue"]
    queue["metadata"]["deletionTimestamp"] = "now"
    objects = live(plain_namespace(deletionTimestamp="now"), queue)
    assert list(refusals(SETTINGS, objects, CONFIG)) == [
        "namespace team1 is being deleted: wait until it is gone, then run this again",
        "ClusterQueue team1-cluster-queue is being deleted: wait until it is gone, then run this"
        " again",
    ]


def test_resources_that_are_not_covered_are_named() -> None:
    full = existing()["ClusterQueue"]
    plan = object_plans(with_quotas(gpu="8"), {})
    queue = plan[1].manifest
    assert list(not_covered(queue, [full])) == [
        "ClusterQueue team1-cluster-queue does not cover cpu, memory, nvidia.com/roce_gdr: Kueue"
        " never admits a workload that asks for it. Give --quota cpu=AMOUNT --quota memory=AMOUNT"
        " --quota nvidia.com/roce_gdr=AMOUNT, with 0 to borrow only"
    ]
    assert list(not_covered(full, [queue])) == []
    full["spec"]["cohortName"] = "another"
    (hint,) = not_covered(queue, [full])
    assert hint.startswith("ClusterQueue team1-cluster-queue does not cover cpu, memory: Kueue ")

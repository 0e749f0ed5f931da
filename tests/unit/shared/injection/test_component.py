import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.objects import JsonObject
from shared.injection.component import ComponentIdentity, component_to_create, generated_name
from shared.injection.fields import InjectionConflict
from shared.injection.pod_template import PodDefaults, pod_defaults
from shared.kinds.kind import PodSet, PodSetPathError
from shared.kinds.table import pod_sets_to_declare
from tests.support.builders.autopilot import GPU, HEALTH, config
from tests.support.builders.operated_kinds import runtime_job, training_runtime

IDENTITY = ComponentIdentity(namespace="team1", name="train", uid="u1", attempt=2, component=1)
OURS = {
    "workload.codeflare.dev/appwrapper": "train",
    "workload.codeflare.dev/uid": "u1",
    "workload.codeflare.dev/attempt": "2",
    "workload.codeflare.dev/component": "1",
}
OWNER = {
    "apiVersion": "workload.codeflare.dev/v1beta2",
    "kind": "AppWrapper",
    "name": "train",
    "uid": "u1",
    "controller": True,
    "blockOwnerDeletion": True,
}
POD_SETS = (PodSet("template.spec.template"),)
NO_DEFAULTS = PodDefaults()


def job(**pod_spec: Any) -> dict[str, Any]:
    return {
        "template": {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"generateName": "train-"},
            "spec": {"template": {"spec": {"containers": [], **pod_spec}}},
        }
    }


def created(component: dict[str, Any], defaults: PodDefaults = NO_DEFAULTS) -> dict[str, Any]:
    return component_to_create(component, POD_SETS, "train-x", IDENTITY, defaults)


def test_everything_that_is_injected() -> None:
    component = job(tolerations=[{"key": "a"}], nodeSelector={"zone": "1"})
    component["podSetInfos"] = [
        {
            "labels": {"kueue.x-k8s.io/podset": "train-0"},
            "annotations": {"kueue.x-k8s.io/workload": "w"},
            "nodeSelector": {"gpu": "h100", "zone": "1"},
            "tolerations": [{"key": "b"}, {"key": "a"}],
            "schedulingGates": [{"name": "kueue.x-k8s.io/topology"}],
        }
    ]
    untouched = copy.deepcopy(component)
    assert created(component, PodDefaults(scheduler_name="gang")) == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "namespace": "team1",
            "name": "train-x",
            "labels": OURS,
            "ownerReferences": [OWNER],
        },
        "spec": {
            "podReplacementPolicy": "Failed",
            "template": {
                "metadata": {
                    "labels": {"kueue.x-k8s.io/podset": "train-0", **OURS},
                    "annotations": {"kueue.x-k8s.io/workload": "w"},
                },
                "spec": {
                    "containers": [],
                    "schedulerName": "gang",
                    "nodeSelector": {"gpu": "h100", "zone": "1"},
                    "tolerations": [{"key": "a"}, {"key": "b"}],
                    "schedulingGates": [{"name": "kueue.x-k8s.io/topology"}],
                },
            },
        },
    }
    assert component == untouched


def test_a_scheduler_that_was_chosen_stays() -> None:
    body = created(job(schedulerName="mine"), PodDefaults(scheduler_name="gang"))
    assert body["spec"]["template"]["spec"]["schedulerName"] == "mine"


def test_todays_bad_nodes_are_avoided_whatever_was_injected_before() -> None:
    """The webhook knew only of ERR; the user's own term stays."""
    container = {"name": "c", "resources": {"limits": {GPU: 1}}}
    zone = {"key": "zone", "operator": "In", "values": ["a"]}
    err = {"key": HEALTH, "operator": "NotIn", "values": ["ERR"]}
    terms = [{"matchExpressions": [zone, err]}]
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = {"nodeAffinity": {required: {"nodeSelectorTerms": terms}}}
    component = job(containers=[container], affinity=affinity)
    body = created(component, pod_defaults(config()))
    evict = {**err, "values": ["EVICT"]}
    assert body["spec"]["template"]["spec"]["affinity"] == {
        "nodeAffinity": {
            required: {"nodeSelectorTerms": [{"matchExpressions": [zone, err, evict]}]}
        }
    }
    assert created({**component, "template": body}, pod_defaults(config())) == body


def test_labels_of_another_appwrapper_are_not_believed() -> None:
    component = job()
    component["template"]["metadata"]["labels"] = {
        "workload.codeflare.dev/appwrapper": "other",
        "app": "x",
    }
    assert created(component)["metadata"]["labels"] == {"app": "x", **OURS}


def test_other_owners_stay() -> None:
    component = job()
    other = {"uid": "u0", "kind": "ConfigMap", "name": "c", "apiVersion": "v1"}
    component["template"]["metadata"]["ownerReferences"] = [other, {**OWNER, "controller": False}]
    assert created(component)["metadata"]["ownerReferences"] == [other, OWNER]


@pytest.mark.parametrize(
    ("pod_spec", "info", "message"),
    [
        (
            {"nodeSelector": {"zone": "1"}},
            {"nodeSelector": {"zone": "2"}},
            "template.spec.template.spec.nodeSelector[zone]: the template has '1', "
            "the quota was reserved for '2'",
        ),
    ],
)
def test_a_conflict_names_field_and_both_values(
    pod_spec: dict[str, Any], info: dict[str, Any], message: str
) -> None:
    component = {**job(**pod_spec), "podSetInfos": [info]}
    with pytest.raises(InjectionConflict) as raised:
        created(component)
    assert str(raised.value) == message


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_a_conflict_in_the_metadata(field: str) -> None:
    component = {**job(), "podSetInfos": [{field: {"a": "2"}}]}
    component["template"]["spec"]["template"]["metadata"] = {field: {"a": "1"}}
    with pytest.raises(InjectionConflict) as raised:
        created(component)
    assert str(raised.value) == (
        f"template.spec.template.metadata.{field}[a]: the template has '1', "
        "the quota was reserved for '2'"
    )


def test_pod_set_infos_of_another_number() -> None:
    with pytest.raises(InjectionConflict) as raised:
        created({**job(), "podSetInfos": [{}, {}]})
    assert str(raised.value) == "podSetInfos has 2 entries, but the component has 1 pod sets"


def test_another_namespace() -> None:
    component = job()
    component["template"]["metadata"]["namespace"] = "team2"
    with pytest.raises(InjectionConflict) as raised:
        created(component)
    assert str(raised.value) == (
        "template.metadata.namespace is 'team2'; "
        "a component lives in its AppWrapper's namespace, 'team1'"
    )


EVERYTHING = {
    "labels": {"a": "1"},
    "annotations": {"b": "2"},
    "nodeSelector": {"gpu": "h100"},
    "tolerations": [{"key": "x"}],
    "schedulingGates": [{"name": "g"}],
}


@pytest.mark.parametrize(
    ("place", "wrong", "message"),
    [
        ("metadata", "x", "metadata is a string, not an object"),
        ("metadata", ["x"], "metadata is an array, not an object"),
        ("metadata", {"labels": "x"}, "metadata.labels is a string, not an object"),
        ("metadata", {"labels": [1]}, "metadata.labels is an array, not an object"),
        ("metadata", {"annotations": 1}, "metadata.annotations is a number, not an object"),
        ("spec", {"nodeSelector": True}, "spec.nodeSelector is a boolean, not an object"),
        ("spec", {"tolerations": {"a": 1}}, "spec.tolerations is an object, not an array"),
        ("spec", {"tolerations": "abc"}, "spec.tolerations is a string, not an array"),
        ("spec", {"tolerations": ["abc"]}, "spec.tolerations[0] is a string, not an object"),
        ("spec", {"schedulingGates": 7}, "spec.schedulingGates is a number, not an array"),
        ("spec", {"schedulingGates": [{}, None]}, "spec.schedulingGates[1] is null, not an object"),
    ],
)
def test_a_field_of_a_wrong_type_is_named(place: str, wrong: Any, message: str) -> None:
    component = {**job(), "podSetInfos": [EVERYTHING]}
    component["template"]["spec"]["template"][place] = wrong
    with pytest.raises(InjectionConflict) as raised:
        created(component)
    assert str(raised.value) == f"template.spec.template.{message}"


def test_labels_of_a_wrong_type_are_named_without_pod_set_infos_too() -> None:
    component = job()
    component["template"]["spec"]["template"]["metadata"] = {"labels": "x"}
    with pytest.raises(InjectionConflict) as raised:
        created(component)
    expected = "template.spec.template.metadata.labels is a string, not an object"
    assert str(raised.value) == expected


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ("x", "template.metadata is a string, not an object"),
        ({"labels": 1}, "template.metadata.labels is a number, not an object"),
        ({"ownerReferences": {}}, "template.metadata.ownerReferences is an object, not an array"),
        (
            {"ownerReferences": [1]},
            "template.metadata.ownerReferences[0] is a number, not an object",
        ),
    ],
)
def test_metadata_of_the_component_itself(metadata: Any, message: str) -> None:
    component = job()
    component["template"]["metadata"] = metadata
    with pytest.raises(InjectionConflict) as raised:
        created(component)
    assert str(raised.value) == message


def test_null_means_absent_everywhere() -> None:
    component = {**job(), "podSetInfos": [EVERYTHING]}
    plain = created(component)
    pod_template = component["template"]["spec"]["template"]
    nothing = dict.fromkeys(("nodeSelector", "tolerations", "schedulingGates"))
    pod_template["spec"].update(nothing)
    for absent in (None, {"labels": None, "annotations": None}):
        pod_template["metadata"] = absent
        assert created(component) == plain
    for absent in (None, {"labels": None, "ownerReferences": None}):
        component["template"]["metadata"] = absent
        assert created(component) == plain


def test_a_path_that_leads_nowhere() -> None:
    with pytest.raises(PodSetPathError):
        component_to_create(
            job(), (PodSet("template.spec.worker"),), "train-x", IDENTITY, NO_DEFAULTS
        )


TEXTS = st.dictionaries(st.sampled_from("abc"), st.sampled_from(("1", "2")), max_size=3)
TOLERATIONS = st.lists(st.fixed_dictionaries({"key": st.sampled_from("xyz")}), max_size=3)
GATES = st.lists(st.fixed_dictionaries({"name": st.sampled_from("gh")}), max_size=2)
INFOS = st.fixed_dictionaries(
    {},
    optional={
        "labels": TEXTS,
        "annotations": TEXTS,
        "nodeSelector": TEXTS,
        "tolerations": TOLERATIONS,
        "schedulingGates": GATES,
    },
)
POD_SPECS: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {"containers": st.just([])},
    optional={
        "nodeSelector": TEXTS,
        "tolerations": TOLERATIONS,
        "schedulingGates": GATES,
        "schedulerName": st.sampled_from(("", "mine")),
    },
)


@given(pod_spec=POD_SPECS, info=INFOS, scheduler=st.sampled_from(("", "gang")))
def test_injecting_twice_changes_nothing(
    pod_spec: dict[str, Any], info: dict[str, Any], scheduler: str
) -> None:
    component = {**job(**pod_spec), "podSetInfos": [info]}
    defaults = PodDefaults(scheduler_name=scheduler)
    try:
        once = created(component, defaults)
    except InjectionConflict:
        return
    assert created({**component, "template": once}, defaults) == once


def test_generated_names_depend_on_appwrapper_attempt_and_component() -> None:
    names = {
        generated_name("train-", uid, attempt, index)
        for uid in ("u1", "u2")
        for attempt in (1, 2)
        for index in (0, 1)
    }
    assert len(names) == 8
    assert generated_name("train-", "u1", 1, 0) in names
    assert all(name.startswith("train-") and len(name) == 11 for name in names)


def test_a_long_generate_name_is_cut_as_the_api_server_does() -> None:
    name = generated_name("x" * 80, "u1", 1, 0)
    assert len(name) == 63
    assert name[:58] == "x" * 58


def test_a_template_nested_too_deep_to_be_sent_is_a_conflict() -> None:
    nested: Any = 1
    for _ in range(300):
        nested = {"a": nested}
    with pytest.raises(InjectionConflict) as error:
        created(job(deep=nested))
    assert str(error.value) == "template is nested too deep to be sent"


@pytest.mark.parametrize(
    ("spec", "stored"),
    [
        pytest.param({}, "Failed", id="unset"),
        pytest.param({"podReplacementPolicy": None}, "Failed", id="null"),
        pytest.param(
            {"podReplacementPolicy": "TerminatingOrFailed"}, "TerminatingOrFailed", id="the user's"
        ),
    ],
)
def test_jobs_replace_only_what_has_ended(spec: dict[str, Any], stored: str) -> None:
    """By a deleted pod that goes on, and its replacement, more than is reserved would run."""
    component = job()
    component["template"]["spec"] |= spec
    untouched = copy.deepcopy(component)
    assert created(component)["spec"]["podReplacementPolicy"] == stored
    assert component == untouched
    again = {"template": created(component)}
    assert created(again)["spec"]["podReplacementPolicy"] == stored


def test_so_do_the_jobs_of_a_job_set_and_nothing_else_has_such_a_policy() -> None:
    pods: dict[str, Any] = {"template": {"spec": {"containers": []}}}
    jobs = [{"template": {"spec": {**pods}}}, {"template": None}, "?"]
    wrapped = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "spec": {"replicatedJobs": jobs},
    }
    path = "template.spec.replicatedJobs[0].template.spec.template"
    body = component_to_create({"template": wrapped}, (PodSet(path),), "x", IDENTITY, NO_DEFAULTS)
    first, *others = body["spec"]["replicatedJobs"]
    assert first["template"]["spec"]["podReplacementPolicy"] == "Failed"
    assert others == jobs[1:]
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": pods}
    assert "podReplacementPolicy" not in created({"template": deployment})["spec"]


def test_the_pods_of_a_runtime_are_those_of_the_train_job_after_it() -> None:
    """The JobSet in between has the UID: it is found if another client orphans it."""
    runtime = training_runtime("t", runtime_job("node", step="trainer"))
    pod_sets = pod_sets_to_declare(runtime) or ()
    made = component_to_create({"template": runtime}, pod_sets, "t", IDENTITY, NO_DEFAULTS)
    assert made["metadata"]["labels"] == OURS
    job_set = made["spec"]["template"]
    assert job_set["metadata"] == {"labels": {"workload.codeflare.dev/uid": "u1"}}
    job = job_set["spec"]["replicatedJobs"][0]["template"]["spec"]
    assert job["podReplacementPolicy"] == "Failed"
    own = {"workload.codeflare.dev/component": "2"}
    assert job["template"]["metadata"]["labels"] == OURS | own


@pytest.mark.parametrize("metadata", [1, {"labels": []}])
def test_a_runtime_whose_metadata_cannot_be_read_is_not_created(metadata: Any) -> None:
    runtime = training_runtime("t", runtime_job("node"))
    runtime["spec"]["template"]["metadata"] = metadata
    with pytest.raises(InjectionConflict):
        component_to_create({"template": runtime}, (), "t", IDENTITY, NO_DEFAULTS)

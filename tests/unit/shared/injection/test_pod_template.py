from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.config.configuration import AppWrapperConfig
from shared.injection.fields import InjectionConflict
from shared.injection.pod_template import PodDefaults, fill_in, missing_fields, pod_defaults
from tests.support.builders.autopilot import GPU, HEALTH, config, taint

LABELS = {"workload.codeflare.dev/appwrapper": "train"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
NO_TAINTS: dict[str, Any] = {GPU: ()}
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def template(gpus: object = "8", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"limits": {GPU: gpus}}}
    return {"spec": {"containers": [container], **spec}}


def filled(
    pod_template: dict[str, Any], behaviour: AppWrapperConfig | None = None
) -> dict[str, Any]:
    copy = deepcopy(pod_template)
    fill_in(copy, LABELS, pod_defaults(behaviour or config()), "template")
    return copy


def test_the_seeds_own_configuration_gives_the_seeds_own_stanza() -> None:
    """MLBatch's users know it by heart; nothing may stand beside it."""
    assert filled(template()) == {
        "metadata": {"labels": LABELS},
        "spec": {
            "containers": template()["spec"]["containers"],
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {
                                "matchExpressions": [
                                    {
                                        "key": "autopilot.ibm.com/gpuhealth",
                                        "operator": "NotIn",
                                        "values": ["ERR", "EVICT"],
                                    }
                                ]
                            }
                        ]
                    }
                }
            },
        },
    }


def test_the_default_configuration_avoids_and_prefers() -> None:
    node_affinity = filled(template(), AppWrapperConfig())["spec"]["affinity"]["nodeAffinity"]
    assert node_affinity == {
        REQUIRED: {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": HEALTH, "operator": "NotIn", "values": ["ERR", "TESTING", "EVICT"]}
                    ]
                }
            ]
        },
        PREFERRED: [
            {
                "weight": 50,
                "preference": {
                    "matchExpressions": [{"key": HEALTH, "operator": "NotIn", "values": ["WARN"]}]
                },
            }
        ],
    }


@pytest.mark.parametrize(
    ("pod_template", "behaviour"),
    [
        (template("0"), config()),
        ({"spec": {"containers": []}}, config()),
        (template(), config(inject=False)),
        (template(), config(taint("x"), **NO_TAINTS)),
    ],
    ids=["no GPU wanted", "no resources", "switched off", "no taints"],
)
def test_other_pods_get_their_label_and_no_affinity(
    pod_template: dict[str, Any], behaviour: AppWrapperConfig
) -> None:
    assert filled(pod_template, behaviour) == {"metadata": {"labels": LABELS}, **pod_template}


@pytest.mark.parametrize("absent", [{}, {"schedulerName": ""}, {"schedulerName": None}])
def test_the_configured_scheduler_is_named_where_none_is(absent: dict[str, Any]) -> None:
    behaviour = config(scheduler_name="gang")
    assert filled(template(0, **absent), behaviour)["spec"]["schedulerName"] == "gang"
    assert filled(template(0, schedulerName="x"), behaviour)["spec"]["schedulerName"] == "x"
    assert "schedulerName" not in filled(template(0), config())["spec"]


def test_our_label_wins_and_others_stay() -> None:
    pod_template = {**template(0), "metadata": {"labels": {**LABELS, "app": "x"}, "name": "n"}}
    pod_template["metadata"]["labels"]["workload.codeflare.dev/appwrapper"] = "other"
    assert filled(pod_template)["metadata"] == {"name": "n", "labels": {**LABELS, "app": "x"}}


def test_null_means_absent() -> None:
    pod_template = {**template(affinity=None), "metadata": {"labels": None}}
    assert filled(pod_template) == {**filled(template())}
    assert filled({**template(), "metadata": None}) == filled(template())


@pytest.mark.parametrize(
    ("pod_template", "message"),
    [
        ({"metadata": "x", "spec": {}}, "p.metadata is a string, not an object"),
        ({"metadata": {"labels": []}, "spec": {}}, "p.metadata.labels is an array, not an object"),
        ({"spec": {"containers": "x"}}, "p.spec.containers is a string, not an array"),
        (template(affinity=7), "p.spec.affinity is a number, not an object"),
        (
            template(affinity={"nodeAffinity": []}),
            "p.spec.affinity.nodeAffinity is an array, not an object",
        ),
    ],
)
def test_a_field_of_a_wrong_type_is_named(pod_template: dict[str, Any], message: str) -> None:
    with pytest.raises(InjectionConflict) as raised:
        fill_in(pod_template, LABELS, pod_defaults(config()), "p")
    assert str(raised.value) == message


def test_one_configuration_is_compiled_once() -> None:
    assert pod_defaults(config()) is pod_defaults(config())
    assert pod_defaults(config()) is not pod_defaults(config(weight=51))
    assert pod_defaults(config(inject=False)) == PodDefaults()


TEMPLATES = st.builds(
    lambda gpus, metadata, spec: {**template(gpus, **spec), **metadata},
    st.sampled_from(("8", 1, "0", None)),
    st.fixed_dictionaries({}, optional={"metadata": st.sampled_from((None, {}, {"labels": {}}))}),
    st.fixed_dictionaries(
        {},
        optional={
            "affinity": st.sampled_from((None, {}, {"nodeAffinity": None})),
            "schedulerName": st.sampled_from((None, "", "mine")),
        },
    ),
)
CONFIGS = st.builds(
    lambda values, effect, scheduler: config(
        *(taint(value, effect) for value in values), scheduler_name=scheduler
    ),
    st.lists(st.sampled_from(("ERR", "EVICT", "WARN")), min_size=1),
    st.sampled_from(("NoSchedule", "NoExecute", "PreferNoSchedule")),
    st.sampled_from(("", "gang")),
)


@given(TEMPLATES, CONFIGS)
def test_filling_in_twice_changes_nothing(
    pod_template: dict[str, Any], behaviour: AppWrapperConfig
) -> None:
    once = filled(pod_template, behaviour)
    assert list(missing_fields(once, LABELS, pod_defaults(behaviour), "p")) == []
    assert filled(once, behaviour) == once


@given(TEMPLATES, CONFIGS, CONFIGS)
def test_the_controllers_configuration_adds_only_what_the_webhooks_lacked(
    pod_template: dict[str, Any], webhooks: AppWrapperConfig, controllers: AppWrapperConfig
) -> None:
    created = filled(filled(pod_template, webhooks), controllers)
    assert filled(created, controllers) == created
    for behaviour in (webhooks, controllers):
        missing = missing_fields(created, LABELS, pod_defaults(behaviour), "p")
        assert [place for place, _ in missing] == []

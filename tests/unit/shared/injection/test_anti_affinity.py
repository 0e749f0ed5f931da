from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.injection.anti_affinity import AntiAffinity, anti_affinities, both, with_anti_affinity
from shared.injection.fields import InjectionConflict
from tests.support.builders.autopilot import HEALTH, taint

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
WANTED = AntiAffinity(((HEALTH, ("ERR", "EVICT")),), ((HEALTH, ("WARN",)),), 50)


def not_in(*values: str, key: str = HEALTH) -> dict[str, Any]:
    return {"key": key, "operator": "NotIn", "values": list(values)}


def is_in(key: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": list(values)}


def preference(*expressions: Any, weight: int = 50) -> dict[str, Any]:
    return {"weight": weight, "preference": {"matchExpressions": list(expressions)}}


def required(*terms: Any) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def preferred(*entries: Any) -> dict[str, Any]:
    return {"nodeAffinity": {PREFERRED: list(entries)}}


def required_after(affinity: Any) -> Any:
    found = with_anti_affinity(affinity, AntiAffinity(WANTED.required), "affinity")
    return found["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]


def preferred_after(affinity: Any) -> Any:
    wanted = AntiAffinity((), WANTED.preferred, 50)
    return with_anti_affinity(affinity, wanted, "affinity")["nodeAffinity"][PREFERRED]


# What the configuration comes to


def test_effects_become_required_and_preferred_in_configured_order() -> None:
    taints = {
        "gpu": (
            taint("WARN", "PreferNoSchedule"),
            taint("ERR"),
            taint("a", key="k"),
            taint("EVICT", "NoExecute"),
            taint("ERR", "NoExecute"),
        ),
        "nic": (taint("down"),),
        "off": (),
    }
    assert anti_affinities(taints, 7) == {
        "gpu": AntiAffinity(((HEALTH, ("ERR", "EVICT")), ("k", ("a",))), ((HEALTH, ("WARN",)),), 7),
        "nic": AntiAffinity(((HEALTH, ("down",)),), (), 7),
    }


def test_two_resources_share_the_expression_of_their_key() -> None:
    one = AntiAffinity(((HEALTH, ("ERR", "EVICT")),), (), 7)
    other = AntiAffinity((("k", ("a",)), (HEALTH, ("down", "ERR"))), (("p", ("b",)),), 7)
    assert both(one, other) == AntiAffinity(
        ((HEALTH, ("ERR", "EVICT", "down")), ("k", ("a",))), (("p", ("b",)),), 7
    )


# Injection


def test_a_pod_without_affinity_gets_one() -> None:
    assert with_anti_affinity({}, WANTED, "affinity") == {
        "nodeAffinity": {
            REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [not_in("ERR", "EVICT")]}]},
            PREFERRED: [preference(not_in("WARN"))],
        }
    }


def test_every_term_gets_it_and_keeps_its_own() -> None:
    """Terms are alternatives: one without it would let the pod onto a bad node."""
    zone, gpu = is_in("zone", "a"), is_in("gpu", "h100")
    name = {"matchFields": [is_in("metadata.name", "n1")]}
    affinity = required({"matchExpressions": [zone]}, {"matchExpressions": [gpu, zone]}, name)
    ours = not_in("ERR", "EVICT")
    assert required_after(affinity) == [
        {"matchExpressions": [zone, ours]},
        {"matchExpressions": [gpu, zone, ours]},
        {**name, "matchExpressions": [ours]},
    ]


@pytest.mark.parametrize(
    "empty",
    [{}, None, {"matchExpressions": []}, {"matchExpressions": None, "matchFields": []}],
    ids=str,
)
def test_an_empty_term_goes_on_matching_no_node(empty: Any) -> None:
    zone = is_in("zone", "a")
    terms = required_after(required(empty, {"matchExpressions": [zone]}))
    assert terms == [empty, {"matchExpressions": [zone, not_in("ERR", "EVICT")]}]
    alone = required(empty)
    assert with_anti_affinity(alone, AntiAffinity(WANTED.required), "affinity") is alone


@pytest.mark.parametrize("selector", [{}, {"nodeSelectorTerms": []}, {"nodeSelectorTerms": None}])
def test_no_term_at_all_goes_on_matching_no_node(selector: Any) -> None:
    affinity = {"nodeAffinity": {REQUIRED: selector}}
    assert with_anti_affinity(affinity, AntiAffinity(WANTED.required), "affinity") is affinity


@pytest.mark.parametrize(
    ("expressions", "added"),
    [
        ([not_in("ERR", "EVICT")], []),
        ([not_in("EVICT", "x", "ERR")], []),
        ([not_in("ERR"), not_in("EVICT")], []),
        ([not_in("ERR")], [not_in("EVICT")]),
        ([not_in("x")], [not_in("ERR", "EVICT")]),
        ([not_in("ERR", "EVICT", key="other")], [not_in("ERR", "EVICT")]),
        ([is_in(HEALTH, "ERR", "EVICT")], [not_in("ERR", "EVICT")]),
        ([{"key": HEALTH, "operator": "NotIn"}], [not_in("ERR", "EVICT")]),
        ([None], [not_in("ERR", "EVICT")]),
    ],
)
def test_a_term_that_excludes_a_node_already_is_not_added_again(
    expressions: list[Any], added: list[Any]
) -> None:
    affinity = required({"matchExpressions": expressions})
    assert required_after(affinity) == [{"matchExpressions": [*expressions, *added]}]


@pytest.mark.parametrize(
    ("entries", "added"),
    [
        ([preference(not_in("WARN"), weight=1)], []),
        ([preference(not_in("x", "WARN"))], []),
        ([preference(not_in("x"))], [preference(not_in("WARN"))]),
        ([preference(not_in("WARN"), is_in("zone", "a"))], [preference(not_in("WARN"))]),
        (
            [
                {
                    "weight": 1,
                    "preference": {
                        "matchExpressions": [not_in("WARN")],
                        "matchFields": [is_in("metadata.name", "n1")],
                    },
                }
            ],
            [preference(not_in("WARN"))],
        ),
        ([None, {"weight": 1}], [preference(not_in("WARN"))]),
    ],
)
def test_a_preference_that_is_there_alone_is_not_added_again(
    entries: list[Any], added: list[Any]
) -> None:
    assert preferred_after(preferred(*entries)) == [*entries, *added]


def test_each_key_is_a_preference_of_its_own() -> None:
    """In one entry together, a node with one bad label would lose the bonus for the other too."""
    wanted = AntiAffinity((), (("a", ("1",)), ("b", ("2", "3"))), 9)
    assert with_anti_affinity({}, wanted, "affinity") == preferred(
        preference(not_in("1", key="a"), weight=9), preference(not_in("2", "3", key="b"), weight=9)
    )


def test_other_affinities_stay() -> None:
    affinity = {"podAffinity": {"x": 1}, "nodeAffinity": {"y": 2}}
    found = with_anti_affinity(affinity, WANTED, "affinity")
    assert found["podAffinity"] == {"x": 1}
    assert found["nodeAffinity"]["y"] == 2


@pytest.mark.parametrize(
    ("affinity", "message"),
    [
        ({"nodeAffinity": "x"}, " is a string, not an object"),
        ({"nodeAffinity": {REQUIRED: []}}, f".{REQUIRED} is an array, not an object"),
        (
            {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": {}}}},
            f".{REQUIRED}.nodeSelectorTerms is an object, not an array",
        ),
        (required(7), f".{REQUIRED}.nodeSelectorTerms[0] is a number, not an object"),
        (
            required({"matchExpressions": "x"}),
            f".{REQUIRED}.nodeSelectorTerms[0].matchExpressions is a string, not an array",
        ),
        (
            required({"matchFields": 7}),
            f".{REQUIRED}.nodeSelectorTerms[0].matchFields is a number, not an array",
        ),
        (
            required({"matchExpressions": [True]}),
            f".{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0] is a boolean, not an object",
        ),
        (
            required({"matchExpressions": [{"operator": "NotIn", "values": "ERR"}]}),
            f".{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].values is a string, "
            "not an array",
        ),
        ({"nodeAffinity": {PREFERRED: {}}}, f".{PREFERRED} is an object, not an array"),
        (preferred("x"), f".{PREFERRED}[0] is a string, not an object"),
        (preferred({"preference": 1}), f".{PREFERRED}[0].preference is a number, not an object"),
        (
            preferred(preference("x")),
            f".{PREFERRED}[0].preference.matchExpressions[0] is a string, not an object",
        ),
    ],
)
def test_a_field_of_a_wrong_type_is_named(affinity: Any, message: str) -> None:
    with pytest.raises(InjectionConflict) as raised:
        with_anti_affinity(affinity, WANTED, "spec.affinity")
    assert str(raised.value) == f"spec.affinity.nodeAffinity{message}"


KEYS, VALUES = st.sampled_from((HEALTH, "zone")), st.sampled_from(("ERR", "EVICT", "WARN", "a"))
EXPRESSIONS = st.lists(
    st.builds(
        lambda key, operator, values: {"key": key, "operator": operator, "values": values},
        KEYS,
        st.sampled_from(("In", "NotIn")),
        st.lists(VALUES, max_size=2),
    ),
    max_size=2,
)
TERMS = st.fixed_dictionaries({}, optional={"matchExpressions": EXPRESSIONS})
AFFINITIES = st.fixed_dictionaries(
    {},
    optional={
        "nodeAffinity": st.fixed_dictionaries(
            {},
            optional={
                REQUIRED: st.fixed_dictionaries({"nodeSelectorTerms": st.lists(TERMS, max_size=3)}),
                PREFERRED: st.lists(
                    st.fixed_dictionaries({"weight": st.just(1), "preference": TERMS}), max_size=2
                ),
            },
        )
    },
)
LABEL_VALUES = st.dictionaries(KEYS, st.lists(VALUES, min_size=1, unique=True), max_size=2).map(
    lambda found: tuple((key, tuple(values)) for key, values in found.items())
)
WANTS = st.builds(AntiAffinity, LABEL_VALUES, LABEL_VALUES, st.just(50))


def admits(affinity: dict[str, Any], node: dict[str, str]) -> bool:
    """Whether the scheduler would take the node, as Kubernetes defines node selectors."""
    selector = affinity.get("nodeAffinity", {}).get(REQUIRED)
    if selector is None:
        return True
    return any(
        term.get("matchExpressions")
        and all(
            (node.get(each["key"]) in each["values"]) is (each["operator"] == "In")
            for each in term["matchExpressions"]
        )
        for term in selector["nodeSelectorTerms"]
    )


@given(AFFINITIES, WANTS)
def test_applying_it_twice_changes_nothing(affinity: Any, wanted: AntiAffinity) -> None:
    before = deepcopy(affinity)
    once = with_anti_affinity(affinity, wanted, "affinity")
    assert affinity == before
    assert with_anti_affinity(once, wanted, "affinity") is once


@given(AFFINITIES, WANTS, WANTS)
def test_after_a_change_of_configuration_too(
    affinity: Any, yesterday: AntiAffinity, today: AntiAffinity
) -> None:
    stored = with_anti_affinity(affinity, yesterday, "affinity")
    created = with_anti_affinity(stored, today, "affinity")
    assert with_anti_affinity(created, today, "affinity") is created
    assert with_anti_affinity(created, yesterday, "affinity") is created


@given(AFFINITIES, WANTS, st.dictionaries(KEYS, VALUES))
def test_exactly_the_bad_nodes_are_lost(
    affinity: Any, wanted: AntiAffinity, node: dict[str, str]
) -> None:
    bad = any(node.get(key) in values for key, values in wanted.required)
    extended = with_anti_affinity(affinity, wanted, "affinity")
    assert admits(extended, node) is (admits(affinity, node) and not bad)

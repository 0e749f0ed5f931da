"""Label selectors, as Kubernetes evaluates them."""

from typing import Any

import pytest

from shared.config.configuration import LabelSelector, LabelSelectorRequirement, team_namespaces


def requirement(operator: Any, *values: str) -> LabelSelector:
    one = LabelSelectorRequirement(key="tier", operator=operator, values=values)
    return LabelSelector(match_expressions=(one,))


@pytest.mark.parametrize(
    ("selector", "labels", "matches"),
    [
        (LabelSelector(), {}, True),
        (LabelSelector(), {"tier": "a"}, True),
        (LabelSelector(match_labels={"tier": "a"}), {"tier": "a", "x": "y"}, True),
        (LabelSelector(match_labels={"tier": "a"}), {"tier": "b"}, False),
        (LabelSelector(match_labels={"tier": "a"}), {}, False),
        (LabelSelector(match_labels={"tier": ""}), {}, False),
        (LabelSelector(match_labels={"tier": ""}), {"tier": ""}, True),
        (LabelSelector(match_labels={"tier": "a", "x": "y"}), {"tier": "a"}, False),
        (requirement("In", "a", "b"), {"tier": "b"}, True),
        (requirement("In", "a", "b"), {"tier": "c"}, False),
        (requirement("In", ""), {}, False),
        (requirement("NotIn", "a", "b"), {"tier": "b"}, False),
        (requirement("NotIn", "a", "b"), {"tier": "c"}, True),
        (requirement("NotIn", "a", "b"), {}, True),
        (requirement("Exists"), {"tier": ""}, True),
        (requirement("Exists"), {}, False),
        (requirement("DoesNotExist"), {}, True),
        (requirement("DoesNotExist"), {"tier": ""}, False),
    ],
)
def test_a_selector_matches_labels_as_kubernetes_does(
    selector: LabelSelector, labels: dict[str, str], matches: bool
) -> None:
    assert selector.matches(labels) is matches


@pytest.mark.parametrize(
    ("labels", "matches"),
    [({"tier": "a", "team": "x"}, True), ({"tier": "a"}, False), ({"team": "x"}, False)],
)
def test_everything_must_hold(labels: dict[str, str], matches: bool) -> None:
    exists = LabelSelectorRequirement(key="team", operator="Exists")
    selector = LabelSelector(match_labels={"tier": "a"}, match_expressions=(exists,))
    assert selector.matches(labels) is matches


def test_a_teams_namespace_is_known_by_the_seeds_label() -> None:
    assert team_namespaces().matches({"mlbatch-team-namespace": "true"})
    assert not team_namespaces().matches({"mlbatch-team-namespace": "false"})

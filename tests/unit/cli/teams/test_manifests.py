"""The objects that the command makes are those of deploy/team, whatever Kueue's version."""

from decimal import Decimal

import pytest

from cli.pod_security import PodSecurity
from cli.teams.manifests import DEFAULT_ROLE, TeamSettings, selected_labels, team_objects
from cli.teams.quotas import parsed_quotas
from shared.api.objects import JsonObject
from shared.api.quantities import parse_quantity
from shared.config.configuration import (
    AppWrapperConfig,
    LabelSelector,
    LabelSelectorRequirement,
    team_namespaces,
)
from tests.support.builders.teams import TEAM1_QUOTA
from tests.support.manifests import TEAM, documents, objects_under

TEAM1 = TeamSettings(
    name="team1",
    labels=team_namespaces().match_labels,
    quotas=parsed_quotas(TEAM1_QUOTA),
    pod_security=PodSecurity.BASELINE_IPC_LOCK,
)


def in_meaning(item: JsonObject) -> JsonObject:
    """Quantities as numbers, resources by name."""
    for group in item.get("spec", {}).get("resourceGroups", ()):
        group["coveredResources"] = sorted(group["coveredResources"])
        for flavor in group["flavors"]:
            flavor["resources"] = {
                each["name"]: Decimal(parse_quantity(each["nominalQuota"]))
                for each in flavor["resources"]
            }
    return item


def test_they_equal_the_team_of_deploy() -> None:
    ours = [in_meaning(each) for each in team_objects(TEAM1)]
    assert ours == [in_meaning(each) for each in documents(TEAM / "team1.yaml")]


def test_the_default_role_and_the_viewers_are_in_deploy() -> None:
    roles = {
        each["metadata"]["name"] for each in objects_under(TEAM) if each["kind"] == "ClusterRole"
    }
    bound = {each["roleRef"]["name"] for each in team_objects(TEAM1) if "roleRef" in each}
    assert bound == roles
    assert DEFAULT_ROLE in roles


def requirement(operator: str, *values: str) -> LabelSelectorRequirement:
    return LabelSelectorRequirement.model_validate(
        {"key": "kind", "operator": operator, "values": values}, strict=False
    )


@pytest.mark.parametrize(
    ("selector", "labels"),
    [
        (AppWrapperConfig().team_namespace_selector, {"mlbatch-team-namespace": "true"}),
        (LabelSelector(match_expressions=(requirement("Exists"),)), None),
        (
            LabelSelector(match_labels={"a": "b"}, match_expressions=(requirement("NotIn", "c"),)),
            {"a": "b"},
        ),
        (
            LabelSelector(
                match_labels={"kind": "a"}, match_expressions=(requirement("DoesNotExist"),)
            ),
            None,
        ),
        (LabelSelector(), {}),
    ],
)
def test_a_teams_labels_are_those_that_the_configuration_selects(
    selector: LabelSelector, labels: dict[str, str] | None
) -> None:
    assert selected_labels(selector) == labels

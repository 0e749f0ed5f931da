"""What explain says of the nodes that an AppWrapper suspects."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cli.cluster.operator_configuration import OperatorConfiguration
from cli.explaining.compose import explain
from cli.explaining.report import SuspectNodeLine, SuspectNodes
from shared.config.configuration import AppWrapperConfig, Configuration
from shared.injection.avoided_hosts import GATE_TOPOLOGY
from tests.support.builders.explained.ending import retry_pause
from tests.support.builders.explained.objects import ASSUMED, NOW

UNTIL = NOW - timedelta(seconds=40) + timedelta(hours=24)
LINE = SuspectNodeLine(node="gpu-2", pod="train-1-x7k2p", attempt=1, until=UNTIL)


def explained(settings: OperatorConfiguration, **changes: Any) -> SuspectNodes | None:
    """Of one that was reset 40 seconds ago; `changes` are of its status."""
    seen = retry_pause()
    topology = changes.pop("topology", False)
    seen.appwrapper["status"].update(changes)
    if topology:
        (component,) = seen.appwrapper["spec"]["components"]
        annotations = {"kueue.x-k8s.io/workload": "appwrapper-train"}
        gates = [{"name": GATE_TOPOLOGY}]
        component["podSetInfos"] = [{"annotations": annotations, "schedulingGates": gates}]
    return explain(replace(seen, world=replace(seen.world, settings=settings))).suspect_nodes


def configured(mode: str) -> OperatorConfiguration:
    return OperatorConfiguration(
        Configuration(appwrapper=AppWrapperConfig.model_validate({"suspectNodes": mode}))
    )


@pytest.mark.parametrize(
    ("settings", "changes", "effect"),
    [
        (
            configured("Preferred"),
            {},
            "Its next pods run on other nodes where possible (suspectNodes: Preferred).",
        ),
        (
            configured("Required"),
            {},
            "Its next pods run on other nodes where possible (suspectNodes: Required).",
        ),
        (
            ASSUMED,
            {},
            "Its next pods run on other nodes where possible (suspectNodes: Preferred, the assumed"
            " default: you may not read the operator's configuration).",
        ),
        (
            configured("Required"),
            {"topology": True},
            "Kueue chooses the nodes of its pods (topology), so these nodes are listed, not"
            " avoided.",
        ),
        (configured("Preferred"), {"phase": "Failed"}, "No further attempt follows."),
    ],
)
def test_consequences_of_suspects_for_the_next_pods(
    settings: OperatorConfiguration, changes: dict[str, Any], effect: str
) -> None:
    mode = settings.behaviour.suspect_nodes
    expected = SuspectNodes(setting=mode, effect=effect, nodes=(LINE,))
    assert explained(settings, **changes) == expected


def test_none_are_shown_where_there_are_none() -> None:
    old = {"node": "gpu-2", "since": "2026-03-01T14:03:10Z", "pod": "p", "attempt": 1}
    assert explained(configured("Off")) is None
    assert explained(configured("Preferred"), suspectNodes=[]) is None
    assert explained(configured("Preferred"), suspectNodes=[old]) is None

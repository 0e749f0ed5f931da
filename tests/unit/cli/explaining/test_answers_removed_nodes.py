"""What `explain` answers while pods are on a node that was removed."""

import json
from dataclasses import replace

from cli.explaining.answers.pods import nodes_are_unreachable
from cli.explaining.case import case_of
from tests.support.builders.explained.deployed import unreachable


def test_it_names_the_removal_and_what_kubernetes_does() -> None:
    seen = unreachable()
    text = json.dumps(seen.appwrapper).replace("which does not", "which was removed and does not")
    removed = replace(seen, appwrapper=json.loads(text))
    found = nodes_are_unreachable(case_of(removed))
    assert found is not None
    assert "on node gpu-2, which was removed and does not answer since" in found.sentence
    assert found.details[0] == (
        "Kubernetes deletes the pods of a removed node after about a minute."
    )
    well = nodes_are_unreachable(case_of(seen))
    assert well is not None
    assert well.details[0] == "If the node answers before the reset, the pods continue."

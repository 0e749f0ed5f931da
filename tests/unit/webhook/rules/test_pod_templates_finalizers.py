from typing import Any

import pytest

from tests.support.builders.admission import POD, SERVICE, appwrapper, component, warnings_of

HELD = {"name": "x", "finalizers": ["example.com/hold"]}
SAYS = (
    "metadata.finalizers: resets and suspensions wait, and the quota stays reserved, "
    "until the owners of these finalizers remove them"
)


def job(metadata: Any, of_pods: Any) -> dict[str, Any]:
    template = {"metadata": of_pods, "spec": POD["spec"]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"template": template},
    }


@pytest.mark.parametrize(
    ("template", "places"),
    [
        ({**SERVICE, "metadata": HELD}, ["template"]),
        ({**POD, "metadata": HELD}, ["template"]),
        (job({}, HELD), ["template.spec.template"]),
        (job(HELD, HELD), ["template", "template.spec.template"]),
        (job({}, None), []),
        (job({"finalizers": []}, {"finalizers": None}), []),
    ],
)
def test_finalizers_of_components_and_of_their_pods(template: Any, places: list[str]) -> None:
    found = warnings_of(appwrapper(component(), component(template)))
    assert found == [f"spec.components[1].{place}.{SAYS}" for place in places]

from typing import Any

import jsonpatch
import pytest

from shared.api.component_digest import component_digest
from tests.support.builders.admission import POD, SERVICE, appwrapper, component, patch_of

DIGEST = "workload.codeflare.dev.appwrapper/submitted-digest"
FORGED = "0" * 64


def annotations_of(*components: Any, **config: Any) -> list[Any]:
    submitted = appwrapper(*components)
    made = jsonpatch.apply_patch(submitted, patch_of(submitted, **config))
    return [each.get("annotations") for each in made["spec"]["components"]]


def test_every_component_is_remembered_as_it_was_submitted() -> None:
    """Not as mutation leaves it: that never comes back from a user."""
    submitted = [component(POD), component(SERVICE, annotations={"a": "b"})]
    assert annotations_of(*submitted, scheduler_name="gang") == [
        {DIGEST: component_digest(submitted[0])},
        {"a": "b", DIGEST: component_digest(submitted[1])},
    ]


@pytest.mark.parametrize("written", ["x", FORGED, FORGED.upper() + "\n", "", 7, None])
def test_a_digest_written_by_the_user_is_overwritten(written: Any) -> None:
    forged = component(POD, annotations={DIGEST: written})
    assert annotations_of(forged) == [{DIGEST: component_digest(component(POD))}]


def test_an_object_that_was_mutated_before_keeps_its_digest() -> None:
    submitted = appwrapper(component(POD), component(SERVICE))
    once = jsonpatch.apply_patch(submitted, patch_of(submitted, scheduler_name="gang"))
    assert patch_of(once, scheduler_name="gang") == []
    # Where mutation has more to do, it was another one, or none.
    again = annotations_of(*once["spec"]["components"], scheduler_name="other")
    assert again == [each["annotations"] for each in once["spec"]["components"]]
    del once["spec"]["components"][0]["template"]["spec"]["schedulerName"]
    pod, service = annotations_of(*once["spec"]["components"], scheduler_name="gang")
    assert pod == {DIGEST: component_digest(once["spec"]["components"][0])}
    assert service == once["spec"]["components"][1]["annotations"]


@pytest.mark.parametrize("annotations", ["x", [1], 7])
def test_annotations_that_are_no_object_are_left_for_the_api_server(annotations: Any) -> None:
    assert annotations_of(component(annotations=annotations)) == [annotations]


@pytest.mark.parametrize("element", [None, "x", {}, component("x")])
def test_malformed_components_are_left_for_validation(element: Any) -> None:
    assert patch_of(appwrapper(element), under="/spec") == []

import pytest

from tests.support.builders.admission import appwrapper, component
from webhook.rules.submission import components_of


@pytest.mark.parametrize(
    ("api_version", "group"),
    [
        ("v1", ""),
        ("batch/v1", "batch"),
        ("workload.codeflare.dev/v1beta2", "workload.codeflare.dev"),
        ("g/" + "v" * 63, "g"),
    ],
)
def test_the_group_of_a_component_is_known(api_version: str, group: str) -> None:
    [found], errors = components_of(appwrapper(component({"apiVersion": api_version, "kind": "K"})))
    assert (found.group, found.kind, errors) == (group, "K", [])

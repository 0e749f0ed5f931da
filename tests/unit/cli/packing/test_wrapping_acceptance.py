"""What people and tools write is accepted, packed: by every rule, in a team's namespace."""

import json

import pytest

from cli.manifests.yaml_text import parse_yaml
from shared.api.objects import JsonObject
from tests.support.builders.foreign_manifests import foreign_manifests, is_wrapped
from tests.support.command import appwrapper
from tests.support.manifests import SAMPLES
from tests.support.whole_chain import OVERLAYS, admitted, is_for
from webhook.rules.json_patch import is_identical

FOREIGN = foreign_manifests()
# What our samples wrap is what people have before they wrap it.
FILES = sorted(each for each in SAMPLES.rglob("*.yaml") if not each.name.startswith("rejected"))


def wrapped_by_hand() -> dict[str, JsonObject]:
    found = {title: made for title, made in FOREIGN.items() if is_wrapped(made)}
    for file in FILES:
        for document in parse_yaml(file.read_text()):
            if document.value is not None and document.value["kind"] == "AppWrapper":
                found[f"{file.parent.name}/{file.name}"] = document.value
    return found


WRAPPED = wrapped_by_hand()
# What makes no pods of its own is no workload.
WITHOUT_PODS = {
    "codeflare-sdk: a rayjob of a folder on a raycluster",
    "codeflare-sdk: a rayjob on a raycluster",
    "codeflare-sdk: a rayjob's files",
    "mlbatch: a claim",
    "ordinary: a direct configmap",
    "ordinary: a direct secret",
    "ordinary: a direct service",
}


# What an overlay does not allow is refused there by the rules' own tests.
ALLOWED = [
    (title, overlay)
    for title in sorted(WRAPPED)
    for overlay in OVERLAYS
    if is_for(WRAPPED[title], overlay)
]


@pytest.mark.parametrize(("title", "overlay"), ALLOWED)
def test_manifests_wrapped_by_hand_can_be_packed(title: str, overlay: str) -> None:
    made = WRAPPED[title]
    objects = [each["template"] for each in made["spec"]["components"]]
    ended = appwrapper(
        "pack", "--name", "packed", "--config", overlay, stdin="\n".join(map(json.dumps, objects))
    )
    assert ended.code == 0, ended.err
    packed = parse_yaml(ended.out)[0].value
    assert is_identical([each["template"] for each in packed["spec"]["components"]], objects)
    admitted(packed, overlay)


@pytest.mark.parametrize(
    "title", sorted(title for title, made in FOREIGN.items() if not is_wrapped(made))
)
def test_manifests_created_directly_can_be_packed(title: str) -> None:
    ended = appwrapper("pack", stdin=json.dumps(FOREIGN[title]))
    if title in WITHOUT_PODS:
        assert (ended.code, ended.out) == (1, "")
        assert ("at least one component must have pods" in ended.err) or (
            "template.spec has no field 'rayClusterSpec'" in ended.err
        )
        return
    assert ended.code == 0, ended.err
    admitted(parse_yaml(ended.out)[0].value, "default")

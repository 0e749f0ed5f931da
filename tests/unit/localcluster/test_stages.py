"""The stages of pods: what holds for all of them. What they do is seen on the real cluster."""

import re
from pathlib import Path

import pytest
import yaml

import localcluster

FOLDER = Path(localcluster.__file__).parent / "stages"
DOCUMENT = Path(localcluster.__file__).parent.parent / "docs" / "maintainers" / "simulated-pods.md"
PREFIX = "simulation.localcluster.dev/"
STAGES = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yaml"))}
TEMPLATES = {
    name: step["patch"]["template"]
    for name, stage in STAGES.items()
    for step in stage["spec"]["steps"]
    if "patch" in step
}


def test_there_is_a_stage_for_each_step_of_a_life() -> None:
    assert list(STAGES) == [
        "pod-delete",
        "pod-end",
        "pod-evict",
        "pod-hold",
        "pod-ignore-deletion",
        "pod-restart",
        "pod-start",
    ]


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_is_named_like_its_file_and_is_about_pods(name: str) -> None:
    assert STAGES[name]["metadata"]["name"] == name
    assert STAGES[name]["spec"]["resourceRef"] == {"apiGroup": "v1", "kind": "Pod"}


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_never_touches_a_later_pod_of_the_same_name(name: str) -> None:
    # The API server refuses a patch whose UID is not the object's.
    assert re.search(r"^metadata:\n  uid: ", TEMPLATES[name], re.MULTILINE)


@pytest.mark.parametrize("name", STAGES)
def test_no_stage_waits_for_a_time_that_differs_from_run_to_run(name: str) -> None:
    assert not [key for key in STAGES[name]["spec"].get("delay", {}) if "jitter" in key.lower()]


def test_an_annotation_is_read_alike_by_the_selector_and_by_the_template_of_hold() -> None:
    (condition,) = [
        one["jq"]["key"]
        for one in STAGES["pod-hold"]["spec"]["selector"]["matchExpressions"]
        if PREFIX in one["jq"]["key"]
    ]
    in_selector = re.findall(r'\[(("[a-z-]+"(, )?)+)\]\[\]', condition)
    in_template = re.findall(r'range list (("[a-z-]+" ?)+)', TEMPLATES["pod-hold"])
    names = [re.findall(r'"([a-z-]+)"', group[0]) for group in in_selector]
    assert len(names) == 2
    assert names == [re.findall(r'"([a-z-]+)"', group[0]) for group in in_template[:2]]
    for pattern in (r"^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$", "^[0-9]{1,9}$"):
        assert f'test("{pattern}")' in condition
        assert f'regexMatch "{pattern}"' in TEMPLATES["pod-hold"]


def test_every_annotation_that_a_stage_reads_is_documented() -> None:
    text = "".join(path.read_text() for path in FOLDER.glob("*.yaml"))
    read = set(re.findall(rf"{re.escape(PREFIX)}([a-z-]+)", text))
    read |= set(re.findall(r'\$prefix "([a-z-]+)"', text))
    documented = set(re.findall(r"`([a-z]+(?:-[a-z]+)*)`", DOCUMENT.read_text()))
    assert read <= documented
    table = re.findall(r"^\| `([a-z-]+)` \|", DOCUMENT.read_text(), re.MULTILINE)
    assert set(table) <= read

"""`appwrapper pack`: pod sets of Kinds that nobody knows."""

from pathlib import Path

import pytest

from cli.manifests.yaml_text import parse_yaml
from tests.support.builders.packed import ANY, JOB, SERVING
from tests.support.packing import packed, refused, unable


@pytest.fixture
def any_kind(folder: Path) -> str:
    """A configuration that lets users wrap everything."""
    (folder / "any.yaml").write_text(ANY)
    return str(folder / "any.yaml")


def test_an_unknown_kind(any_kind: str) -> None:
    assert refused("--config", any_kind, stdin=f"\n{SERVING}") == (
        "error: standard input:2: the number of pods of a serving.example/Serving is unknown."
        " Give the path of its pod template and the number of pods: --podset"
        " Serving/s1:template.spec.template=4. If it makes no pods: --podset Serving/s1:none\n"
    )


@pytest.mark.parametrize("target", ["", "Serving:", "Serving/s1:"])
def test_its_pods_are_declared(any_kind: str, target: str) -> None:
    text = packed(
        *("--config", any_kind, "--podset", f"{target}template.spec.template=4"),
        stdin=f"{SERVING}---\n{JOB}",
    )
    components = parse_yaml(text)[0].value["spec"]["components"]
    assert [each.get("podSets") for each in components] == [
        [{"path": "template.spec.template", "replicas": 4}],
        None,
    ]


def test_or_it_has_none(any_kind: str) -> None:
    text = packed(
        *("--config", any_kind, "--podset", "Serving/s1:none"), stdin=f"{SERVING}---\n{JOB}"
    )
    assert "podSets" not in text


def test_two_unknown_kinds(any_kind: str) -> None:
    both = f"{SERVING}---\n{SERVING.replace('s1', 's2')}"
    assert unable("--config", any_kind, "--podset", "template.spec.template=4", stdin=both) == (
        "error: several objects may need --podset (Serving/s1, Serving/s2). Name one of them:"
        " --podset Serving/s1:PATH=REPLICAS\n"
    )
    each = [f"Serving/s{number}:template.spec.template={number}" for number in (1, 2)]
    text = packed("--config", any_kind, "--podset", each[0], "--podset", each[1], stdin=both)
    components = parse_yaml(text)[0].value["spec"]["components"]
    assert [each["podSets"][0]["replicas"] for each in components] == [1, 2]


def test_a_path_that_leads_nowhere(any_kind: str) -> None:
    assert refused(
        "--config", any_kind, "--podset", "template.spec.pods=4", stdin=SERVING
    ).startswith(
        "--podset Serving/s1: error: spec.components[0].podSets[0].path: Invalid value:"
        ' "template.spec.pods": does not lead to a pod template:'
    )


def test_pod_sets_that_kueue_infers_otherwise(folder: Path) -> None:
    assert refused("--podset", "template.spec.template=4", "job.yaml") == (
        "--podset Job/train: error: spec.components[0].podSets: Invalid value: Kueue infers other"
        " pod sets for a Job: template.spec.template x 1; leave podSets out\n"
    )


def test_an_unknown_version_of_a_known_kind_is_refused_with_the_version_to_write() -> None:
    old = JOB.replace("batch/v1", "batch/v1beta1")
    for option in ((), ("--podset", "template.spec.template=4")):
        assert refused(*option, stdin=old) == (
            "standard input:2:1: error: spec.components[0].template.apiVersion: Unsupported value: "
            '"batch/v1beta1": use batch/v1\n'
        )

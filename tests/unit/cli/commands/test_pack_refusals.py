"""`appwrapper pack`: what it refuses, to the letter."""

import json
from pathlib import Path

import pytest

from cli.manifests.yaml_text import parse_yaml
from tests.support.builders.packed import JOB, PACKED, SERVICE
from tests.support.command import appwrapper
from tests.support.packing import refused, unable


def test_an_error_of_the_webhook_is_reported_at_its_place(folder: Path) -> None:
    (folder / "job.yaml").write_text(
        JOB.replace("        image:", "        imag:").replace("restartPolicy: Never", "x: 1")
    )
    assert refused("service.yaml", "job.yaml", "--retry-limit", "many", "--name", "run") == (
        "job.yaml:9:7: error: spec.components[1].template.spec.template.spec.x: Invalid value:"
        " unknown field: PodSpec has none of that name\n"
        "job.yaml:12:9: error: spec.components[1].template.spec.template.spec.containers[0].imag:"
        ' Invalid value: unknown field; did you mean "image"?\n'
        "--retry-limit: error: metadata.annotations[workload.codeflare.dev.appwrapper/retryLimit]:"
        ' Invalid value: "many": must be a whole number from 0 to 2147483647, such as 5\n'
    )


def test_a_place_in_a_list_and_in_json() -> None:
    text = json.dumps({"kind": "List", "items": [parse_yaml(JOB)[0].value]}, indent=1)
    text = text.replace('"image":', '"imag":')
    line = next(n for n, each in enumerate(text.splitlines(), 1) if "imag" in each)
    assert refused(stdin=text).startswith(f"standard input:{line}:")


def test_a_kind_that_may_not_be_wrapped() -> None:
    text = JOB.replace("kind: Job", "kind: DaemonSet").replace("batch/v1", "apps/v1")
    assert refused(stdin=text).startswith(
        "standard input:2:1: error: spec.components[0].template: Forbidden: apps/DaemonSet may not"
        " be wrapped: use apps/Deployment instead; "
    )


def test_an_appwrapper_is_not_wrapped_again() -> None:
    assert refused(stdin=PACKED) == (
        "standard input:1:1: error: spec.components[0].template: Forbidden: an AppWrapper cannot"
        " contain another AppWrapper\n"
    )


def test_another_namespace(folder: Path) -> None:
    (folder / "job.yaml").write_text(JOB.replace("  name:", "  namespace: other\n  name:"))
    assert refused("job.yaml", "-n", "team1") == (
        "job.yaml:5:3: error: spec.components[0].template.metadata.namespace: Forbidden: an"
        " AppWrapper in namespace team1 cannot create resources in another namespace\n"
    )


def test_objects_that_do_not_agree() -> None:
    text = "\n---\n".join(SERVICE.replace("  name:", f"  namespace: {n}\n  name:") for n in "ab")
    assert refused(stdin=text.replace("name: train", "generateName: t")) == (
        "error: the objects name more than one namespace: a (standard input:1), b (standard"
        " input:10). An AppWrapper has one: make them agree\n"
    )


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("  namespace: Team_1\n", "namespace 'Team_1'"),
        ("  labels: {kueue.x-k8s.io/queue-name: a b}\n", "queue 'a b'"),
    ],
)
def test_copied_fields_are_checked_at_their_place_in_the_file(line: str, what: str) -> None:
    """The webhook judges neither: the API server refuses them before, or after."""
    text = f"{SERVICE}---\n{JOB}".replace("# short\n", f"# short\n{line}")
    assert refused(stdin=text) == (
        f"error: standard input:9: Job/train names the {what}, which is not a valid name\n"
    )


def test_a_warning_of_the_webhook_is_shown() -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
    ended = appwrapper("pack", stdin=f"{JOB}---\n{secret}")
    assert (ended.code, ended.err) == (
        0,
        "standard input:22:1: warning: spec.components[1]: every user who may read AppWrappers"
        " can read this Secret: create it outside the AppWrapper and refer to it by name\n",
    )


def test_the_same_object_twice() -> None:
    assert refused(stdin=f"{JOB}---\n{SERVICE}---\n{JOB}") == (
        "error: standard input:30: Job/train is given twice, first in standard input:2: rename one"
        " of them, or remove it\n"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "there is no object to wrap: the input is empty, or has only comments"),
        (
            "# nothing\n---\n",
            "there is no object to wrap: the input is empty, or has only comments",
        ),
        ("a: 1\na: 2\n", "standard input:2: the key 'a' is given twice, first in line 1"),
        ("- a\n", "standard input:1: an array is no object of Kubernetes: a mapping with kind is"),
        ("{a: 1, a: 2}\n", "standard input:1: the key 'a' is given twice, first in line 1"),
        ("{a: 1 b: 2}\n", "standard input:1: this is not JSON: Expecting property name"),
        ("{kind: List, items: [1]}", "standard input:1: a number is no object of Kubernetes"),
        ("text\n", "standard input:1: a string is no object of Kubernetes: a mapping with kind is"),
        ("kind: Pod\n", "standard input:1: this object has no name. Add --name NAME"),
    ],
)
def test_files_that_are_no_manifest(text: str, expected: str) -> None:
    assert unable(stdin=text).startswith(f"error: {expected}")


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("--name", "a.b"), "--name a.b: at most 63 lower-case letters, digits and hyphens"),
        (("-n", "A"), "--namespace A: this cannot be the name of a namespace"),
        (("--queue", "a b"), "--queue: 'a b' cannot be the value of a label"),
        (("--label", "a"), "--label a: write --label KEY=VALUE"),
        (("--label", "a=/"), "--label: '/' cannot be the value of a label"),
        (("--annotation", "/=b"), "--annotation /=b: '/' cannot be a key of labels or annotations"),
        (("--label", "a=b", "--label", "a=c"), "--label: the label a is given twice"),
        (("--podset", "a"), "--podset a: write PATH=REPLICAS, such as template.spec.template=4"),
        (
            ("--podset", "a=-1"),
            "--podset a=-1: the number of replicas must be from 0 to 2147483647",
        ),
        (("--podset", "Pod:none"), "--podset Pod:…: no object is a Pod"),
        (("--config", "none.yaml"), "none.yaml: no such file; --config names the configuration"),
    ],
)
def test_options_that_mean_nothing(argv: tuple[str, ...], expected: str) -> None:
    assert unable(*argv, stdin=JOB).startswith(f"error: {expected}")


def test_sources_that_are_none(folder: Path) -> None:
    (folder / "empty").mkdir()
    assert unable("none.yaml") == "error: none.yaml: No such file or directory\n"
    assert unable("empty") == (
        "error: empty: this folder holds no manifest (*.yaml, *.yml, *.json)\n"
    )
    assert unable("job.yaml", "./job.yaml") == "error: job.yaml is named twice\n"
    (folder / "latin.yaml").write_bytes(b"a: \xe9\n")
    assert unable("latin.yaml") == (
        "error: latin.yaml: this is not UTF-8 text: invalid continuation byte\n"
    )

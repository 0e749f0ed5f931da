"""`appwrapper validate` without a cluster: what it says, to the letter."""

import json
from pathlib import Path

import pytest

from tests.support.builders.packed import JOB, PACKED, SERVICE
from tests.support.command import Ended, appwrapper

RULES = (
    "checked by the webhook's rules under configuration default, with the pod schema of Kubernetes"
    " v1.37.0\n"
)
TEAM = (
    "- whether the namespace is a team's: assumed, which is stricter (--no-team-namespace"
    " assumes that it is not)\n"
)
OTHERS = """\
- whether AppWrappers without a namespace are created in the one that their components name
- whether you may create what AppWrappers wrap, and are the user that they name
- whether LocalQueues and priority classes exist, and an image of the recorder
- what the API server requires of each Kind: its fields, their values, names
"""
LEFT = f"{RULES}not checked:\n{TEAM}{OTHERS}"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "aw.yaml").write_text(PACKED)
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path


def validated(*argv: str, stdin: str = "") -> Ended:
    ended = appwrapper("validate", *argv, stdin=stdin)
    assert ended.err == ""
    return ended


def test_a_valid_appwrapper() -> None:
    assert validated("aw.yaml") == Ended(0, f"aw.yaml:1: AppWrapper/train: valid\n{LEFT}", "")


def test_a_refused_one(files: Path) -> None:
    (files / "aw.yaml").write_text(
        PACKED.replace("image:", "imag:").replace("name: train\nspec", "name: tr.ain\nspec")
    )
    assert validated("aw.yaml") == Ended(
        1,
        "aw.yaml:19:15: error: spec.components[0].template.spec.template.spec.containers[0].imag:"
        ' Invalid value: unknown field; did you mean "image"?\n'
        'aw.yaml:4:3: error: metadata.name: Invalid value: "tr.ain": must not contain dots: Kueue'
        " names pod sets after the AppWrapper (NAME-0), without dots\n"
        f"aw.yaml:1: AppWrapper/tr.ain: refused\n{LEFT}",
        "",
    )


def test_an_object_without_a_kind() -> None:
    assert validated(stdin="{apiVersion: v1, metadata: {name: a}}\n").out == (
        "standard input:1:1: error: kind: Required value: every object has one\n"
        f"standard input:1: object/a: refused\n{LEFT}"
    )


def test_warnings_are_allowed(files: Path) -> None:
    secret = "  - template: {apiVersion: v1, kind: Secret, metadata: {name: s}}\n"
    (files / "aw.yaml").write_text(PACKED + secret)
    ended = validated("aw.yaml")
    assert (ended.code, ended.out.splitlines()[0]) == (
        0,
        "aw.yaml:28:5: warning: spec.components[1]: every user who may read AppWrappers can"
        " read this Secret: create it outside the AppWrapper and refer to it by name",
    )


def test_mutation_comes_first(files: Path) -> None:
    """A period above its limit is lowered before anything is checked."""
    (files / "aw.yaml").write_text(
        PACKED.replace(
            "  name: train\nspec",
            "  name: train\n  annotations:\n"
            "    workload.codeflare.dev.appwrapper/retryPausePeriodDuration: 30d\nspec",
        )
    )
    ended = validated("aw.yaml")
    assert (ended.code, ended.out.splitlines()[0]) == (
        0,
        "aw.yaml:6:5: warning: workload.codeflare.dev.appwrapper/retryPausePeriodDuration: lowered"
        " from 30d to 24h, the most that the operator allows",
    )


def test_objects_created_without_an_appwrapper() -> None:
    expected = (
        "job.yaml:2:1: error: in a team's namespace it has to be wrapped, so that it is queued and"
        " its quota is counted: appwrapper pack FILE | kubectl apply -f -\n"
        "job.yaml:2: Job/train: refused\n"
    )
    assert validated("job.yaml") == Ended(1, f"{expected}{LEFT}", "")


def test_elsewhere_than_in_a_teams_namespace() -> None:
    assert validated("job.yaml", "--no-team-namespace") == Ended(
        0,
        f"job.yaml:2: Job/train: valid\n{RULES}not checked:\n- whether the namespace is a team's:"
        f" assumed that it is not (--no-team-namespace)\n{OTHERS}",
        "",
    )


def test_objects_without_a_registered_webhook() -> None:
    text = "\n---\n".join(
        f"{{apiVersion: {version}, kind: {kind}, metadata: {{name: x}}}}"
        for version, kind in (("v1", "Namespace"), ("coordination.k8s.io/v1", "Lease"))
    )
    assert validated(stdin=text).out.splitlines()[:2] == [
        "standard input:1: Namespace/x: skipped: the API server does not call the webhook for this"
        " Kind",
        "standard input:3: Lease/x: skipped: the API server does not call the webhook for this"
        " Kind",
    ]


def test_another_configuration(files: Path) -> None:
    groups = "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: s}}"
    aw = PACKED.partition("  - template:")[0] + f"  - template: {groups}\n"
    ended = validated("--config", "mlbatch", stdin=aw)
    assert "jobset.x-k8s.io/JobSet may not be wrapped" in ended.out
    assert "under configuration mlbatch, with" in ended.out
    (files / "mine.yaml").write_text("appwrapper:\n  maxPodSets: 2\n")
    assert (
        "the webhook's rules under mine.yaml, with"
        in validated("aw.yaml", "--config", "mine.yaml").out
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\n", "standard input:1:1: error: apiVersion: Required value: every object has one"),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {}\n",
            "standard input:3:1: error: metadata.name: Required value: name or generateName",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: other}\n",
            'standard input:3:21: error: metadata.namespace: Invalid value: "other": --namespace'
            " is team1",
        ),
    ],
)
def test_files_without_an_object(text: str, expected: str) -> None:
    ended = validated("-n", "team1", stdin=text)
    assert (ended.code, ended.out.splitlines()[0]) == (1, expected)


def test_a_broken_file_does_not_hide_the_others(files: Path) -> None:
    (files / "broken.yaml").write_text("a: 1\nb: [\n")
    ended = validated("broken.yaml", "aw.yaml")
    assert ended.code == 2
    first, second = ended.out.splitlines()[:2]
    assert first.startswith("broken.yaml:3:1: error: this is not YAML: ")
    assert second == "aw.yaml:1: AppWrapper/train: valid"
    assert "not checked" not in validated("broken.yaml").out


def test_files_without_manifests() -> None:
    assert appwrapper("validate", stdin="# nothing\n") == Ended(
        2, "", "error: there is no object to validate: the input is empty, or has only comments\n"
    )


def test_json() -> None:
    ended = validated("job.yaml", "-o", "json", stdin=SERVICE)
    found = json.loads(ended.out)
    assert (ended.code, found["objects"], found["findings"]) == (
        1,
        [{"file": "job.yaml", "line": 2, "kind": "Job", "name": "train", "outcome": "refused"}],
        [
            {
                "file": "job.yaml",
                "line": 2,
                "column": 1,
                "severity": "error",
                "message": "in a team's namespace it has to be wrapped, so that it is queued and"
                " its quota is counted: appwrapper pack FILE | kubectl apply -f -",
            }
        ],
    )


def test_names_of_components_and_fractions_of_devices(files: Path) -> None:
    text = PACKED.replace("name: train   #", "name: Train_1   #")
    limits = "              resources: {limits: {nvidia.com/gpu: 1.5}}\n"
    image = "              image: quay.io/team/train:1\n"
    (files / "wrong.yaml").write_text(text.replace(image, image + limits))
    ended = validated("wrong.yaml")
    assert (ended.code, ended.out.splitlines()[:2]) == (
        1,
        [
            "wrong.yaml:12:9: error: spec.components[0].template.metadata.name: Invalid value:"
            " \"Train_1\": write up to 253 lower-case letters, digits, '-' and '.', with a letter"
            " or digit at both ends of each part",
            "wrong.yaml:20:36: error: spec.components[0].template.spec.template.spec.containers[0]"
            '.resources.limits[nvidia.com/gpu]: Invalid value: "1.5": must be a whole number',
        ],
    )

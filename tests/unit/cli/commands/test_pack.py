"""`appwrapper pack`: what it writes, to the letter."""

import io
import json
import os
import stat
from pathlib import Path

import pytest

from cli.commands.pack import fault_tolerance_options
from cli.main import main
from cli.manifests.yaml_text import parse_yaml
from cli.terminal import CommandTerminal
from shared.annotations import TABLE
from tests.support.builders.packed import GROUPS, JOB, OF_SERVICE, PACKED, SERVICE
from tests.support.command import appwrapper
from tests.support.packing import packed, refused, unable


def test_each_annotation_of_fault_tolerance_has_an_option() -> None:
    options = fault_tolerance_options()
    assert [*options] == [each.name for each in TABLE]
    assert options["successTTLDuration"] == "--success-ttl"


def test_a_file_and_another(folder: Path) -> None:
    assert packed("job.yaml", "service.yaml") == PACKED + OF_SERVICE


@pytest.mark.parametrize("argv", [(), ("-",)])
def test_standard_input(argv: tuple[str, ...]) -> None:
    assert packed(*argv, stdin=f"{JOB}---\n{SERVICE}") == PACKED + OF_SERVICE


def test_a_folder_by_name_and_those_below(folder: Path) -> None:
    (folder / "more" / "a").mkdir(parents=True)
    (folder / "job.yaml").rename(folder / "more" / "a" / "job.yml")
    (folder / "service.yaml").rename(folder / "more" / "b.json")
    (folder / "more" / "b.json").write_text(json.dumps(parse_yaml(SERVICE)[0].value))
    (folder / "more" / "notes.txt").write_text("{")
    (folder / "more" / ".hidden.yaml").write_text("{")
    assert packed("more") == PACKED + OF_SERVICE


def test_a_list_is_taken_apart() -> None:
    items = "".join(
        f"- {each}".replace("\n", "\n  ").rstrip(" ") for each in (JOB.split("\n", 1)[1], SERVICE)
    )
    text = f"apiVersion: v1\nkind: List\nitems:\n# Trains for a while.\n{items}"
    assert packed(stdin=text) == PACKED + OF_SERVICE


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + JOB,
        JOB.replace("\n", "\r\n"),
        f"%YAML 1.1\n---\n{JOB}...\n",
        f"---\n---\n{JOB}---\n",
        "".join(f"   {line}" if line != "\n" else line for line in JOB.splitlines(True)),
    ],
)
def test_other_ways_to_write_the_same(text: str) -> None:
    assert packed(stdin=text) == PACKED


def test_a_license_stays() -> None:
    assert (
        packed(
            stdin=f"# Copyright\n---\n{SERVICE}---\n{JOB}",
        ).count("# Copyright\n")
        == 1
    )


def test_utf_16(folder: Path) -> None:
    (folder / "job.yaml").write_bytes(JOB.encode("utf-16"))
    assert packed("job.yaml") == PACKED


def test_inline_yaml_and_json() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    pod["spec"] = {"containers": [{"name": "c", "image": "i", "args": ["y", "1e3", "a\nb\n"]}]}
    text = json.dumps(pod)
    start = packed(stdin=text).partition("  - template:\n")[2]
    assert start == (
        "      apiVersion: v1\n      kind: Pod\n      metadata:\n        name: p\n      spec:\n"
        "        containers:\n        - name: c\n          image: i\n          args:\n"
        '          - "y"\n          - "1e3"\n          - |\n            a\n            b\n'
    )
    inline = packed(stdin=f"--- {text}  # so\n").partition("  - template:\n")[2]
    assert inline == f"      {text}  # so\n"


def test_an_alias_of_another_item_is_written_out() -> None:
    text = (
        "apiVersion: v1\nkind: List\nmetadata: {annotations: &a {k: v}}\nitems:\n"
        "- apiVersion: v1\n  kind: Pod  # gone\n  metadata: {name: p, annotations: *a}\n"
        "  spec: {containers: [{name: c, image: i}]}\n"
    )
    ended = appwrapper("pack", stdin=text)
    assert (ended.code, ended.err) == (
        0,
        "warning: standard input:5: Pod/p loses its comments: it uses anchors that are"
        " defined elsewhere in its file\n",
    )
    component = parse_yaml(ended.out)[0].value["spec"]["components"][0]["template"]
    assert component["metadata"] == {"name": "p", "annotations": {"k": "v"}}


def test_every_option(folder: Path) -> None:
    once = JOB.replace("spec:\n", "spec:\n  backoffLimit: 0\n", 1)  # else exit codes count late
    (folder / "job.yaml").write_text(once)
    text = packed(
        *("job.yaml", "--name", "run-7", "-n", "team1", "--queue", "urgent"),
        *("--label", "a.b/c=d", "--label", "e=", "--annotation", "note=x=y: z"),
        *("--retry-limit", "5", "--success-ttl", "2d", "--terminal-exit-codes", "3,42"),
    )
    assert text.partition("spec:\n")[0] == (
        "apiVersion: workload.codeflare.dev/v1beta2\n"
        "kind: AppWrapper\n"
        "metadata:\n"
        "  name: run-7\n"
        "  namespace: team1\n"
        "  labels:\n"
        "    a.b/c: d\n"
        '    e: ""\n'
        "    kueue.x-k8s.io/queue-name: urgent\n"
        "  annotations:\n"
        '    note: "x=y: z"\n'
        '    workload.codeflare.dev.appwrapper/successTTLDuration: "2d"\n'
        '    workload.codeflare.dev.appwrapper/retryLimit: "5"\n'
        '    workload.codeflare.dev.appwrapper/terminalExitCodes: "3,42"\n'
    )


def test_json(folder: Path) -> None:
    found = json.loads(packed("job.yaml", "-o", "json"))
    assert found == parse_yaml(PACKED)[0].value


def test_namespace_and_queue_of_the_objects() -> None:
    labels = "  namespace: team1\n  labels: {kueue.x-k8s.io/queue-name: urgent}\n"
    text = JOB.replace("  name: train   # short\n", f"  name: train\n{labels}")
    own = parse_yaml(packed(stdin=f"{text}---\n{SERVICE}"))[0].value["metadata"]
    assert own == {
        "name": "train",
        "namespace": "team1",
        "labels": {"kueue.x-k8s.io/queue-name": "urgent"},
    }


def test_a_generated_name_stays_one() -> None:
    text = packed(stdin=JOB.replace("name: train ", "generateName: train- "))
    assert parse_yaml(text)[0].value["metadata"] == {"generateName": "train-"}


def test_pod_sets_that_kueue_does_not_infer_are_declared() -> None:
    assert packed(stdin=GROUPS).partition("  components:\n")[2].partition("      apiV")[0] == (
        "  - podSets:\n"
        "    - path: template.spec.leaderWorkerTemplate.workerTemplate\n"
        "      replicas: 6\n"
        "    template:\n"
    )


def test_a_file_is_written_whole_and_keeps_its_mode(folder: Path) -> None:
    assert packed("job.yaml", "-O", "aw.yaml") == ""
    assert (folder / "aw.yaml").read_text() == PACKED
    (folder / "aw.yaml").write_text("old")
    (folder / "aw.yaml").chmod(0o640)
    (folder / "link.yaml").symlink_to("aw.yaml")
    assert packed("job.yaml", "--out", "link.yaml") == ""
    assert (folder / "link.yaml").is_symlink()
    assert (folder / "aw.yaml").read_text() == PACKED
    assert stat.S_IMODE((folder / "aw.yaml").stat().st_mode) == 0o640
    assert sorted(os.listdir(folder)) == ["aw.yaml", "job.yaml", "link.yaml", "service.yaml"]


def test_a_refusal_writes_no_file(folder: Path) -> None:
    (folder / "aw.yaml").write_text("old")
    refused("job.yaml", "-n", "team1", "--retry-limit", "-1", "-O", "aw.yaml")
    assert (folder / "aw.yaml").read_text() == "old"


def test_half_a_file_is_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    (folder / "aw.yaml").write_text("old")
    monkeypatch.setattr("os.fsync", full)
    assert unable("job.yaml", "-O", "aw.yaml") == (
        "error: --out aw.yaml: No space left on device\n"
    )
    assert (folder / "aw.yaml").read_text() == "old"
    assert sorted(os.listdir(folder)) == ["aw.yaml", "job.yaml", "service.yaml"]


def test_an_unfinished_file_has_the_mode_of_the_old_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def modes(handle: int) -> None:
        found.append(stat.S_IMODE(os.fstat(handle).st_mode))

    (folder / "aw.yaml").touch(0o600)
    found: list[int] = []
    monkeypatch.setattr("os.fsync", modes)
    assert packed("job.yaml", "-O", "aw.yaml") == ""
    assert found == [0o600]


def test_a_file_that_a_killed_command_left_is_no_obstacle(folder: Path) -> None:
    """In containers each command may have the same process id."""
    (folder / f".aw.yaml.{os.getpid()}").write_text("half")
    assert packed("job.yaml", "-O", "aw.yaml") == ""
    assert (folder / "aw.yaml").read_text() == PACKED


@pytest.mark.parametrize("out", ["job.yaml", "./job.yaml", "link.yaml"])
def test_an_input_is_never_the_output(folder: Path, out: str) -> None:
    (folder / "link.yaml").symlink_to("job.yaml")
    assert unable("job.yaml", "-O", out) == (
        f"error: --out {Path(out)}: this file is one of the inputs. Name another\n"
    )
    assert (folder / "job.yaml").read_text() == JOB


def test_a_redirected_input_is_one_too(folder: Path) -> None:
    out, err = io.StringIO(), io.StringIO()
    with (folder / "job.yaml").open() as stdin:
        code = main(["pack", "-O", "job.yaml"], CommandTerminal(stdin, out, err, {}))
    assert (code, err.getvalue()) == (
        2,
        "error: --out job.yaml: this file is one of the inputs. Name another\n",
    )
    assert (folder / "job.yaml").read_text() == JOB


def test_a_hyphen_is_standard_output(folder: Path) -> None:
    assert packed("job.yaml", "-O", "-") == PACKED
    assert sorted(os.listdir(folder)) == ["job.yaml", "service.yaml"]


def test_a_folder_that_is_not_there_is_named(folder: Path) -> None:
    assert unable("job.yaml", "-O", "no/aw.yaml") == (
        "error: --out no/aw.yaml: No such file or directory\n"
    )


def test_links_to_folders_are_left_out(folder: Path) -> None:
    """As kubectl does: they may lead around in a circle."""
    (folder / "more").mkdir()
    (folder / "more" / "around").symlink_to("..")
    (folder / "service.yaml").rename(folder / "more" / "service.yaml")
    assert packed(".") == PACKED + OF_SERVICE

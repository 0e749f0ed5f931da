"""Each example of docs/users/pack.md is run."""

import shlex
from pathlib import Path

import pytest

from cli.manifests.yaml_text import parse_yaml
from shared.api.objects import JsonObject
from tests.support.builders.packed import ANY, JOB, SERVICE, SERVING, TENSORBOARD
from tests.support.command import appwrapper
from tests.support.shown_commands import commands_in, sessions_in

PAGE = "users/pack.md"
# Without it a Job replaces failed pods before exit codes count, and the command warns of that.
ONCE = JOB.replace("spec:\n", "spec:\n  backoffLimit: 0\n", 1)
WRONG = """\
apiVersion: batch/v1
kind: Job
metadata: {name: wrong}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: main
        imag: busybox
"""
# By command line: the options that differ from what stands there, and what comes out.
EXPECTED: dict[str, tuple[str, JsonObject]] = {
    "appwrapper pack job.yaml service.yaml": ("train", {}),
    "appwrapper pack training/ --name run-7": ("run-7", {}),
    "appwrapper pack": ("train", {}),
    "appwrapper pack job.yaml --retry-limit 5 --warmup-grace-period 10m"
    " --terminal-exit-codes 3,42": (
        "train",
        {
            "workload.codeflare.dev.appwrapper/retryLimit": "5",
            "workload.codeflare.dev.appwrapper/warmupGracePeriodDuration": "10m",
            "workload.codeflare.dev.appwrapper/terminalExitCodes": "3,42",
        },
    ),
    "appwrapper pack job.yaml tensorboard.yaml --helper tensorboard": ("train", {}),
    "appwrapper pack serving.yaml --config any.yaml --podset template.spec.template=4": ("s1", {}),
    "appwrapper pack both.yaml --config any.yaml --podset Serving/s1:template.spec.template=4"
    " --podset Settings/s2:none": ("s1", {}),
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = "apiVersion: serving.example/v1\nkind: Settings\nmetadata: {name: s2}\n"
    made = {
        "job.yaml": ONCE,
        "service.yaml": SERVICE,
        "training/job.yaml": JOB,
        "serving.yaml": SERVING,
        "tensorboard.yaml": TENSORBOARD,
        "both.yaml": f"{SERVING}---\n{settings}",
        "any.yaml": ANY,
        "wrong.yaml": WRONG,
    }
    (tmp_path / "training").mkdir()
    for name, text in made.items():
        (tmp_path / name).write_text(text)


def of_pack(line: str) -> str:
    """Its part of a pipe."""
    return next(part.strip() for part in line.split("|") if "appwrapper pack" in part)


def test_the_page_shows_what_is_run() -> None:
    assert [of_pack(line) for line in commands_in(PAGE)] == [*EXPECTED]


@pytest.mark.parametrize("command", EXPECTED)
def test_a_command(command: str) -> None:
    ended = appwrapper(*shlex.split(command)[1:], stdin=JOB)
    assert (ended.code, ended.err) == (0, "")
    name, annotations = EXPECTED[command]
    metadata = parse_yaml(ended.out)[0].value["metadata"]
    assert (metadata["name"], metadata.get("annotations", {})) == (name, annotations)


def test_the_refusal_is_shown_as_it_is() -> None:
    ((command, shown),) = sessions_in(PAGE)
    ended = appwrapper(*shlex.split(command)[1:])
    assert (ended.code, ended.out, ended.err) == (1, "", shown)

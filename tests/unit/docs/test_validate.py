"""Each example of docs/users/validate.md is run; the one with --server on a cluster, elsewhere."""

import shlex
from pathlib import Path

import pytest

from tests.support.builders.packed import JOB, PACKED
from tests.support.command import appwrapper
from tests.support.shown_commands import commands_in, sessions_in

PAGE = "users/validate.md"
# tests/integration/shared/test_pack_and_validate.py runs it.
ON_A_CLUSTER = "appwrapper validate aw.yaml --server"
WRONG = """\
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: wrong}
spec:
  components:
  - template:
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


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "manifests").mkdir()
    for name, text in {
        "aw.yaml": PACKED,
        "manifests/aw.yaml": PACKED,
        "job.yaml": JOB,
        "wrong.yaml": WRONG,
    }.items():
        (tmp_path / name).write_text(text)


@pytest.mark.parametrize("line", [each for each in commands_in(PAGE) if each != ON_A_CLUSTER])
def test_a_command(line: str) -> None:
    out = ""
    for command in line.split("|"):
        ended = appwrapper(*shlex.split(command)[1:], stdin=out)
        assert (ended.code, ended.err) == (0, "")
        out = ended.out
    assert "AppWrapper" in out


def test_the_one_for_a_cluster_is_there() -> None:
    assert ON_A_CLUSTER in commands_in(PAGE)


def test_the_refusal_is_shown_as_it_is() -> None:
    ((command, shown),) = sessions_in(PAGE)
    ended = appwrapper(*shlex.split(command)[1:])
    assert (ended.code, ended.out, ended.err) == (1, shown, "")

"""The program of samples/checkpoint.yaml runs here as real processes, and resumes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shared.api.names import LABEL_ATTEMPT
from shared.api.objects import JsonObject
from tests.support.manifests import ROOT, SAMPLES, document
from tests.support.shown_commands import commands_in

CLAIM, PROGRAM, JOB = document(SAMPLES / "checkpoint.yaml")["spec"]["components"]
TEMPLATES: dict[str, JsonObject] = {
    role: replica["template"]
    for role, replica in JOB["template"]["spec"]["pytorchReplicaSpecs"].items()
}
TORCHRUN = ROOT / "tests" / "e2e" / "programs" / "torchrun.py"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "train.py"
    file.write_text(PROGRAM["template"]["data"]["train.py"])
    return file


def launched(program: Path, attempt: int, steps: int) -> "subprocess.Popen[str]":
    """Start two ranks as a pod of the sample does; the stand-in takes the place of torchrun."""
    settings = {"ATTEMPT": str(attempt), "STEPS": str(steps), "CHECKPOINTS": str(program.parent)}
    return subprocess.Popen(
        [sys.executable, str(TORCHRUN), "--nproc", "2", str(program)],
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def saved(program: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((program.parent / "checkpoint.json").read_text())
    return found


def test_after_sigterm_the_next_attempt_goes_on(program: Path) -> None:
    with launched(program, 1, 1_000_000) as first:
        assert first.stdout is not None
        begun = {first.stdout.readline(), first.stdout.readline()}
        first.terminate()
        rest = first.stdout.read()
    assert begun == {f"attempt 1, rank {rank}: begins at step 0\n" for rank in (0, 1)}
    step = saved(program)["step"]
    assert f"attempt 1, rank 0: SIGTERM after step {step}\n" in rest
    assert "attempt 1, rank 1: SIGTERM after step " in rest
    assert first.returncode != 0

    with launched(program, 2, step + 2) as second:
        output, _ = second.communicate()
    assert f"attempt 2, rank 0: begins at step {step}\n" in output
    for rank in (0, 1):
        assert f"attempt 2, rank {rank}: done at step {step + 2}\n" in output
    assert second.returncode == 0
    assert saved(program) == {"step": step + 2, "weights": (step + 2) / 2}


def test_each_attempt_has_logs_of_its_own(program: Path) -> None:
    for attempt in (1, 2):
        with launched(program, attempt, 1) as pod:
            output, _ = pod.communicate()
        for rank in (0, 1):
            log = (program.parent / f"attempt{attempt}-rank{rank}.log").read_text()
            assert log.startswith(f"attempt {attempt}, rank {rank}: begins at step ")
            assert set(log.splitlines()) <= set(output.splitlines())


def test_half_a_checkpoint_is_not_read(program: Path) -> None:
    (program.parent / "checkpoint.unfinished").write_text('{"step": 7')
    with launched(program, 2, 1) as pod:
        output, _ = pod.communicate()
    assert "attempt 2, rank 0: begins at step 0\n" in output
    assert saved(program)["step"] == 1


def test_the_pages_commands_print_what_it_shows(tmp_path: Path) -> None:
    page = "users/checkpoints.md"
    lines = [line for line in commands_in(page) if not line.startswith("appwrapper ")]
    assert len(lines) == 3
    (tmp_path / "samples").symlink_to(SAMPLES)
    printed = "".join(
        subprocess.run(
            ["sh", "-ec", line.replace("python3", sys.executable)],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
        for line in lines
    )
    text = (ROOT / "docs" / page).read_text()
    shown = text.split(f"{lines[-1]}\n```\n\n```\n")[1].split("```")[0]
    assert printed == shown


def test_the_pages_program_is_the_samples() -> None:
    text = (ROOT / "docs" / "users" / "checkpoints.md").read_text()
    for line in text.split("```python\n")[1].split("```")[0].splitlines():
        assert f"    {line}\n" in PROGRAM["template"]["data"]["train.py"]


@pytest.mark.parametrize("role", TEMPLATES)
def test_a_pod_knows_its_attempt_and_finds_volume_and_program(role: str) -> None:
    spec = TEMPLATES[role]["spec"]
    (container,) = spec["containers"]
    env = {each["name"]: each.get("value", each.get("valueFrom")) for each in container["env"]}
    assert env["ATTEMPT"] == {"fieldRef": {"fieldPath": f"metadata.labels['{LABEL_ATTEMPT}']"}}
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert mounts == {"checkpoints": env["CHECKPOINTS"], "program": "/opt/program"}
    assert container["command"] == ["torchrun", "/opt/program/train.py"]
    claim, config_map = (each["template"]["metadata"]["name"] for each in (CLAIM, PROGRAM))
    assert spec["volumes"] == [
        {"name": "checkpoints", "persistentVolumeClaim": {"claimName": claim}},
        {"name": "program", "configMap": {"name": config_map}},
    ]
    # More than the 30 s that torchrun gives its ranks.
    assert spec["terminationGracePeriodSeconds"] > 30


def test_the_claim_is_kept_and_pods_of_several_nodes_may_mount_it() -> None:
    assert CLAIM["annotations"] == {"workload.codeflare.dev.appwrapper/keep": "true"}
    assert CLAIM["template"]["spec"]["accessModes"] == ["ReadWriteMany"]

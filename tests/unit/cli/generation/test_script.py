"""The script, run by a real sh with a torchrun that only prints."""

import json
import subprocess
from pathlib import Path

import pytest

from cli.generation.generator import generate
from cli.generation.one_command import one_command
from shared.api.objects import JsonObject

ENVIRONMENT = {
    "RANK": "1",
    "WORLD_SIZE": "4",
    "MASTER_ADDR": "job-master-0",
    "MASTER_PORT": "23456",
}


def script_of(text: str) -> str:
    made = generate([("f", f"jobName: j\ncontainerImage: i\n{text}")], []).appwrapper
    (component,) = made["spec"]["components"]
    replicas: JsonObject = component["template"]["spec"]["pytorchReplicaSpecs"]
    shell, option, script = replicas["Master"]["template"]["spec"]["containers"][0]["command"]
    assert (shell, option) == ("sh", "-c")
    return str(script)


def run(tmp_path: Path, text: str, shell: str = "sh", **more: str) -> tuple[int, list[str]]:
    """The exit code, and what was printed."""
    stub = tmp_path / "torchrun"
    stub.write_text('#!/bin/sh\nprintf "<%s>" "$@"\necho\nexit "${TORCHRUN_EXIT:-0}"\n')
    stub.chmod(0o755)
    ended = subprocess.run(
        [shell, "-c", script_of(text)],
        cwd=tmp_path,
        env=ENVIRONMENT | {"PATH": f"{tmp_path}:/usr/bin:/bin", **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout.splitlines()


GREETING = ["Rank 1 of 4, master job-master-0:23456", "PYTHONUNBUFFERED=", "NVME_MOUNT_PATH="]
TORCHRUN = "<--nnodes=4><--node_rank=1><--rdzv_id=101><--rdzv_endpoint=job-master-0:23456>"


def test_setup_commands_run_first_in_one_shell_then_torchrun(tmp_path: Path) -> None:
    text = (
        "setupCommands: ['mkdir code', 'cd code', 'WHO=me; pwd']\nmainProgram: train.py $WHO 'a b'"
    )
    code, printed = run(tmp_path, text)
    assert code == 0
    assert printed == [
        *GREETING,
        f"{tmp_path}/code",
        "Executing: torchrun --nnodes=${WORLD_SIZE} --node_rank=${RANK} --rdzv_id=101"
        " --rdzv_endpoint=\"${MASTER_ADDR}:${MASTER_PORT}\" train.py $WHO 'a b'",
        f"{TORCHRUN}<train.py><me><a b>",
    ]


@pytest.mark.parametrize("failing", ["false", "exit 7", "no-such-program", "(cd nowhere)"])
def test_a_failing_setup_command_ends_the_script(tmp_path: Path, failing: str) -> None:
    code, printed = run(tmp_path, f"setupCommands: ['{failing}', 'echo on']\nmainProgram: t.py")
    assert code != 0
    assert printed == GREETING


def test_a_command_may_fail_if_it_is_marked(tmp_path: Path) -> None:
    code, printed = run(tmp_path, "setupCommands: ['false || true', '[ -d x ] && ls', 'echo on']")
    assert (code, printed) == (0, [*GREETING, "on"])


def test_the_exit_code_is_torchruns(tmp_path: Path) -> None:
    assert run(tmp_path, "mainProgram: t.py", TORCHRUN_EXIT="42")[0] == 42


def test_several_lines_in_one_setup_command_stay_as_they_are(tmp_path: Path) -> None:
    text = """\
setupCommands:
- |
  for each in a b; do
    echo "  $each"
  done
- |
  cat <<END
    indented
  END
"""
    assert run(tmp_path, text) == (0, [*GREETING, "  a", "  b", "  indented"])


def test_the_lines_of_the_main_program_are_one_command(tmp_path: Path) -> None:
    text = "numGpusPerPod: 2\nmainProgram: |\n  train.py \\\n    --a 1\n\n  --b 'c'\n"
    _, printed = run(tmp_path, text)
    words = TORCHRUN.replace("<--rdzv_id", "<--nproc_per_node=2><--rdzv_id")
    assert printed[-1] == f"{words}<train.py><--a><1><--b><c>"


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        pytest.param("t.py\n# of Monday\n--a 1", ["t.py", "--a", "1"], id="a line of comment"),
        pytest.param("t.py # it's new\n--a 1 #", ["t.py", "--a", "1"], id="comment behind words"),
        pytest.param("t.py \\\n# why\n--a 1", ["t.py", "--a", "1"], id="comment after a backslash"),
        pytest.param("t.py --tag=#1 a#b\n$#", ["t.py", "--tag=#1", "a#b", "0"], id="# in words"),
        pytest.param(r"t.py \# a\ #b", ["t.py", "#", "a #b"], id="escaped blanks and #"),
        pytest.param("t.py ' # a'\n\"b # c\"", ["t.py", " # a", "b # c"], id="# in quotes"),
        pytest.param(
            "t.py 'a\n b'\n\"c\n  # d\"", ["t.py", "a\n b", "c\n  # d"], id="lines in quotes"
        ),
        pytest.param(
            "t.py '\"' # it's\n'#'", ["t.py", '"', "#"], id="quotes in quotes and comments"
        ),
        pytest.param(
            "t.py '\\' # a\n\"\\\"\" 'b'", ["t.py", "\\", '"', "b"], id="escapes in quotes"
        ),
        pytest.param("t.py\\\n --a=\\\n1", ["t.py", "--a=1"], id="backslash within a word"),
        pytest.param(
            "t.py a\\\\\nb\\", ["t.py", "a\\", "b"], id="two backslashes, and one at the end"
        ),
        pytest.param("\n\nt.py \\\n\n  \n--a 1\n\n", ["t.py", "--a", "1"], id="blank lines"),
        pytest.param(
            "t.py\\ \n--a 1", ["t.py ", "--a", "1"], id="escaped blank at the end of a line"
        ),
        pytest.param("t.py\r\n# of\r\n--a 1 \\\r\n-b\r\n", ["t.py", "--a", "1", "-b"], id="CRLF"),
        pytest.param(
            "t.py $(echo a # it's )\necho b\n)#c\n-d", ["t.py", "a", "b#c", "-d"], id="substitution"
        ),
        pytest.param('t.py "$(echo \'#\' "a")"\n-b', ["t.py", "# a", "-b"], id="nested quotes"),
        pytest.param("t.py `echo a\necho b` # c\n-d", ["t.py", "a", "b", "-d"], id="backquotes"),
        pytest.param(
            "t.py ${A:-a #1} ${#RANK} $((1<<2))\n-b",
            ["t.py", "a", "#1", "1", "4", "-b"],
            id="parameters and arithmetic",
        ),
        pytest.param("t.py;#a\n# b", ["t.py"], id="comment after an operator"),
        pytest.param("t.py 2>&1 |\n# read\n(cat # it\n)\n", ["t.py"], id="a pipe over lines"),
    ],
)
def test_each_argument_of_a_program_of_several_lines_arrives_and_no_comment(
    tmp_path: Path, program: str, arguments: list[str], shell: str
) -> None:
    code, printed = run(tmp_path, f"mainProgram: {json.dumps(program)}", shell)
    words = "".join(f"<{each}>" for each in arguments)
    assert "\n".join(printed).endswith(f"\n{TORCHRUN}{words}")
    assert code == 0


@pytest.mark.parametrize("scale", [1, 20_000])
def test_a_long_program_is_joined_in_time_that_grows_with_its_length(scale: int) -> None:
    assert one_command("a '\n' \"b\" # c\n" * scale).count("\\\n") == scale - 1


def test_printed_text_before_torchrun_is_not_run(tmp_path: Path) -> None:
    """The chart's own echo ran what follows `&&` before the training."""
    code, printed = run(tmp_path, "mainProgram: \"t.py > log && echo 'it is over'\"")
    assert code == 0
    assert [line for line in printed if line == "it is over"] == ["it is over"]
    assert (tmp_path / "log").read_text() == f"{TORCHRUN}<t.py>\n"


@pytest.mark.parametrize("scheduler", ["sakkara", "sakkara-scheduler"])
def test_with_sakkara_the_rank_is_sakkaras(tmp_path: Path, scheduler: str) -> None:
    text = f"schedulerName: {scheduler}\nmainProgram: t.py"
    _, printed = run(tmp_path, text, SAKKARA_RANK="3")
    assert printed[3] == "Sakkara assigns rank 3"
    assert printed[-1] == f"{TORCHRUN.replace('node_rank=1', 'node_rank=3')}<t.py>"

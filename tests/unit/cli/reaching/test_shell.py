"""`appwrapper shell`: the command's streams and exit code, and its errors."""

from pathlib import Path
from typing import NamedTuple

import pytest

from cli import main as program
from cli.reaching.shell import SHELL
from cli.terminal import CommandTerminal
from shared.kube.client import Forbidden, Unreachable
from shared.kube.pod_channels import STDERR, STDIN, STDOUT
from tests.support.fakes.log_session import train
from tests.support.fakes.reached_pods import (
    SUCCESS,
    ReachedPods,
    ScriptedChannels,
    ends_with,
    failure,
    until_sent,
)

PODS = "/api/v1/namespaces/team1/pods"
NO_SH = (
    "Internal error occurred: error executing command in container: failed to exec in container:"
    ' failed to start exec "5f1c": OCI runtime exec failed: exec failed: unable to start container'
    ' process: exec: "sh": executable file not found in $PATH'
)


class Ended(NamedTuple):
    code: int
    out: bytes
    err: str


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").write_bytes(b"one\n\xff")
    return tmp_path


def run(folder: Path, *words: str) -> Ended:
    """Runs the command with files for its streams."""
    with (
        (folder / "in").open() as stdin,
        (folder / "out").open("w") as stdout,
        (folder / "err").open("w") as stderr,
    ):
        code = program.main(["shell", *words], CommandTerminal(stdin, stdout, stderr, {}))
    return Ended(int(code), (folder / "out").read_bytes(), (folder / "err").read_text())


def test_bytes_and_the_exit_code_are_the_commands(pods: ReachedPods, folder: Path) -> None:
    got = until_sent((STDIN, b"one\n\xff"), (255, b"\0"))
    pods.scripts = [[got, (STDOUT, b"\x00\x1b["), (STDERR, b"oh\n"), (STDOUT, b"]"), ends_with(7)]]
    ended = run(folder, "train", "--rank", "1", "--", "cat", "-n", "--", "a b")
    assert ended == (7, b"\x00\x1b[]", "oh\n")
    assert [each.target for each in pods.reached] == [
        f"{PODS}/train-1-x7k2p/exec?container=main&stdin=true&stdout=true&stderr=true"
        "&command=cat&command=-n&command=--&command=a+b"
    ]


def test_without_a_command_it_is_a_shell(pods: ReachedPods, folder: Path) -> None:
    pods.scripts = [[SUCCESS]]
    assert run(folder, "train") == (0, b"", "")
    (request,) = pods.reached
    assert request.target.startswith(f"{PODS}/train-0-x7k2p/exec?container=main&")
    assert request.target.count("&command=") == len(SHELL)


def test_an_image_without_a_shell(pods: ReachedPods, folder: Path) -> None:
    pods.scripts = [[failure(NO_SH)]]
    assert run(folder, "train") == (
        2,
        b"",
        "error: the image of container main of train-0-x7k2p (rank 0) has no shell. Name a program"
        " that it has, such as: appwrapper shell train -n team1 --rank 0 -c main -- python3. Or add"
        " a shell to the image\n",
    )


def test_a_program_that_the_image_lacks(pods: ReachedPods, folder: Path) -> None:
    pods.scripts = [[failure(NO_SH.replace('"sh"', '"htop"'))]]
    assert run(folder, "train", "--", "htop", "-d", "1 s").err == (
        "error: train-0-x7k2p (rank 0) did not start htop -d '1 s': exec: \"htop\": executable file"
        " not found in $PATH\n"
    )


def test_another_failure_has_the_runtimes_reason(pods: ReachedPods, folder: Path) -> None:
    pods.scripts = [[failure("container not found (main)")]]
    assert run(folder, "train").err == (
        "error: train-0-x7k2p (rank 0) did not start a shell: container not found (main)\n"
    )


def test_a_missing_right_is_named_with_who_grants_it(pods: ReachedPods, folder: Path) -> None:
    pods.scripts = [Forbidden(403, "Forbidden", 'User "eve" cannot create pods/exec')]
    assert run(folder, "train") == (
        2,
        b"",
        "error: you lack a right in namespace team1: the verbs get and create on pods/exec. A"
        " cluster admin can grant it; the role mlbatch-edit of deploy/team has both verbs. The API"
        ' server reports: User "eve" cannot create pods/exec\n',
    )


def test_a_connection_that_breaks_is_no_exit_code(pods: ReachedPods, folder: Path) -> None:
    broken = "error: the connection to the pod broke before the command ended\n"
    pods.scripts = [[(STDOUT, b"1")], [Unreachable("GET exec: reset")]]
    assert run(folder, "train") == (2, b"1", broken)
    assert run(folder, "train") == (2, b"", "error: GET exec: reset\n")


def test_an_api_server_that_cannot_end_the_input_is_noted(pods: ReachedPods, folder: Path) -> None:
    async def until_ended(channels: ScriptedChannels) -> None:
        await channels.ended.wait()

    pods.can_end_channels = False
    pods.scripts = [[until_ended, SUCCESS]]
    assert run(folder, "train", "--", "cat") == (
        0,
        b"",
        "note: this API server cannot pass on the end of the input. A command that waits for it"
        " does not end: press Ctrl-C\n",
    )


def test_nothing_runs_while_the_appwrapper_waits(pods: ReachedPods, folder: Path) -> None:
    pods.put("appwrappers", train("Suspended", attempt=2))
    assert run(folder, "train") == (
        2,
        b"",
        "error: train has no pods now: it is Suspended. This shows why: appwrapper explain train"
        " -n team1\n",
    )
    assert pods.reached == []


def test_one_pod_is_chosen_in_one_way(
    pods: ReachedPods, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(folder, "train", "--rank", "1", "--pod", "p").code == 2
    assert "argument --pod: not allowed with argument --rank" in capsys.readouterr().err

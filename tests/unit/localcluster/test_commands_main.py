from pathlib import Path

import pytest

from localcluster import __main__, commands
from localcluster.access.options import ClusterOptions
from localcluster.installers import ON_REQUEST
from localcluster.machine.errors import ToolMissing
from localcluster.machine.folder import default_folder
from localcluster.machine.interrupts import Interrupted


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[ClusterOptions]:
    """The options of every cluster that was started."""
    started: list[ClusterOptions] = []

    def up(options: ClusterOptions) -> Path:
        started.append(options)
        return Path("/c/kubeconfig")

    monkeypatch.setattr(commands, "up", up)
    return started


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        pytest.param((), ClusterOptions(directory=default_folder()), id="defaults"),
        pytest.param(
            ("--with", "jobset, kuberay,", "--dir", "/c", "--without-product"),
            ClusterOptions(frozenset({"jobset", "kuberay"}), directory=Path("/c"), product=False),
            id="components",
        ),
        pytest.param(
            ("--real-node", "--dir", "/c"),
            ClusterOptions(directory=Path("/c"), real_node=True),
            id="a real node",
        ),
        pytest.param(
            ("--with", "all", "--nodes", "3", "--gpus-per-node", "4", "--dir", "/c"),
            ClusterOptions(
                frozenset(ON_REQUEST),
                3,
                4,
                Path("/c"),
            ),
            id="everything",
        ),
    ],
)
def test_up(
    started: list[ClusterOptions],
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    options: ClusterOptions,
) -> None:
    assert __main__.main(("up", *arguments)) == 0
    assert started == [options]
    # Nothing else on standard output: people evaluate it.
    printed = capsys.readouterr()
    assert printed.out == "export KUBECONFIG=/c/kubeconfig\n"
    nodes = "nodes except real-node" if options.real_node else "nodes"
    assert printed.err == (
        f"This installation is a simulation: the control plane is real, {nodes}, GPUs and pods"
        " are not.\n"
    )


def test_relative_folder_is_taken_from_here(
    started: list[ClusterOptions], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    __main__.main(("up", "--dir", "cluster"))
    assert started[0].directory == tmp_path / "cluster"


@pytest.mark.parametrize(
    ("failure", "code", "message"),
    [
        (ToolMissing("There is no Go."), 1, "localcluster: There is no Go.\n"),
        (Interrupted(), 130, "Stopped; nothing is left running.\n"),
        (KeyboardInterrupt(), 130, "Stopped; nothing is left running.\n"),
    ],
)
def test_failures_are_sentences(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    failure: BaseException,
    code: int,
    message: str,
) -> None:
    def build(
        components: frozenset[str],
        *,
        real_node: bool,
        kueue: str | None,
        torch: bool,
        beside: bool,
    ) -> None:
        raise failure

    monkeypatch.setattr(commands, "build", build)
    assert __main__.main(("build",)) == code
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", message)


def test_status_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(("status", "--dir", str(tmp_path))) == 3
    assert capsys.readouterr().out == f"No cluster runs in {tmp_path}.\n"
    assert __main__.main(("status", "--dir", str(tmp_path), "-o", "json")) == 3
    assert capsys.readouterr().out == "null\n"
    assert __main__.main(("down", "--dir", str(tmp_path))) == 0
    assert capsys.readouterr().out == "Nothing is running.\n"

import asyncio
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from localcluster import commands
from localcluster.access import kubeconfig
from localcluster.access.options import ClusterOptions, decode_options, encode_options
from localcluster.cluster import check
from localcluster.commands import status_text
from localcluster.installers import ON_REQUEST
from localcluster.machine.concurrency import together
from localcluster.machine.errors import LocalClusterError, ToolMissing
from localcluster.machine.interrupts import Interrupted, interruptible
from localcluster.machine.progress import Reporter
from localcluster.realnode import requirements
from localcluster.state import ClusterState, ProcessState, read_state, write_state

STATE = ClusterState(
    41,
    True,
    "/c/kubeconfig",
    (
        ProcessState("etcd", 42, "running", "https://127.0.0.1:20000", "/c/logs/etcd.log"),
        ProcessState("kueue", 43, "exited with 1", "", "/c/logs/kueue.log"),
    ),
)


def test_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_state(tmp_path) is None
    write_state(tmp_path, STATE)
    assert read_state(tmp_path) == STATE
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]


def test_status_table() -> None:
    assert status_text(STATE, Path("/c")).splitlines() == [
        "COMPONENT   PID  STATE          ADDRESS                  LOG",
        "supervisor  41   running        -                        -",
        "etcd        42   running        https://127.0.0.1:20000  /c/logs/etcd.log",
        "kueue       43   exited with 1  -                        /c/logs/kueue.log",
        "export KUBECONFIG=/c/kubeconfig",
    ]


def test_status_of_what_starts_and_of_nothing() -> None:
    starting = ClusterState(41, False, "", ())
    assert status_text(starting, Path("/c")).splitlines()[-1] == "It is still starting."
    assert status_text(None, Path("/c")) == "No cluster runs in /c."


def test_options_reach_the_supervisor() -> None:
    options = ClusterOptions(frozenset({"jobset", "kuberay"}), 3, 4, Path("/c"), product=False)
    assert decode_options(encode_options(options)) == options
    real = ClusterOptions(directory=Path("/c"), real_node=True)
    assert decode_options(encode_options(real)) == real


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        pytest.param(
            ClusterOptions(frozenset({"kuberay", "kserve", "argo"})),
            LocalClusterError,
            "There is no component argo, kserve. Those that can be added are:"
            " cert-manager, coscheduler, jobset, kuberay, leaderworkerset, mpi-operator,"
            " trainer, training-operator.",
            id="unknown components",
        ),
        pytest.param(
            ClusterOptions(nodes=5001),
            LocalClusterError,
            "--nodes must lie between 0 and 5000, not 5001.",
            id="too many nodes",
        ),
        pytest.param(
            ClusterOptions(gpus_per_node=-1),
            LocalClusterError,
            "--gpus-per-node must lie between 0 and 64, not -1.",
            id="negative GPUs",
        ),
    ],
)
def test_bad_options(options: ClusterOptions, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        check(options)
    assert str(caught.value) == message


def test_good_options() -> None:
    check(ClusterOptions(frozenset({"kuberay"}), nodes=0, gpus_per_node=64))
    check(ClusterOptions(nodes=5000, gpus_per_node=0))


def test_kubeconfig_names_files_and_is_this_users_alone(tmp_path: Path) -> None:
    path = kubeconfig.write(
        tmp_path / "configs" / "me.yaml",
        server="https://127.0.0.1:1",
        authority=Path("/ca"),
        user=kubeconfig.with_token_file(Path("/token")),
        namespace="ns",
    )
    assert yaml.safe_load(path.read_text()) == {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "localcluster",
                "cluster": {"server": "https://127.0.0.1:1", "certificate-authority": "/ca"},
            }
        ],
        "users": [{"name": "me", "user": {"tokenFile": "/token"}}],
        "contexts": [
            {
                "name": "localcluster",
                "context": {"cluster": "localcluster", "user": "me", "namespace": "ns"},
            }
        ],
        "current-context": "localcluster",
    }
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["me.yaml"]


async def fails(error: Exception) -> None:
    raise error


async def test_together_raises_the_failure_that_is_for_people() -> None:
    cancelled = asyncio.Event()

    async def goes_on() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    missing = ToolMissing("no go")
    with pytest.raises(ToolMissing) as caught:
        await together(goes_on(), fails(ValueError("a bug")), together(fails(missing)))
    assert caught.value is missing
    assert cancelled.is_set()


async def test_together_raises_the_first_where_none_is_for_people() -> None:
    with pytest.raises(ValueError, match=r"^a bug$"):
        await together(fails(ValueError("a bug")))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_lets_the_work_clean_up(number: signal.Signals) -> None:
    steps: list[str] = []

    async def work() -> None:
        try:
            os.kill(os.getpid(), number)
            await asyncio.Event().wait()
        finally:
            # A second one changes nothing.
            os.kill(os.getpid(), number)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            steps.append("cleaned up")

    with pytest.raises(Interrupted):
        interruptible(work())
    assert steps == ["cleaned up"]


def test_work_that_ends_by_itself() -> None:
    async def work() -> int:
        return 3

    assert interruptible(work()) == 3


def test_a_machine_without_what_a_real_node_needs_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problems = ["A real node needs root.", "Programs are missing: runc."]
    monkeypatch.setattr(requirements, "missing", lambda: problems)
    with pytest.raises(ToolMissing) as caught:
        check(ClusterOptions(real_node=True))
    assert str(caught.value) == (
        "There can be no real node here. A real node needs root. Programs are missing: runc."
    )
    check(ClusterOptions())


def test_a_machine_that_can_have_a_real_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "missing", list)
    check(ClusterOptions(real_node=True))


@pytest.fixture
def programs() -> list[str]:
    """The programs that were built beside those of a cluster."""
    return []


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch, programs: list[str]) -> list[ClusterOptions]:
    """What was built."""
    found: list[ClusterOptions] = []

    async def build(options: ClusterOptions, reporter: Reporter, beside: Sequence[str]) -> None:
        found.append(options)
        programs.extend(beside)

    monkeypatch.setattr(commands, "_build", build)
    return found


EVERYTHING = frozenset(ON_REQUEST)


@pytest.mark.parametrize(
    ("components", "asked_for", "missing", "real_node"),
    [
        pytest.param(EVERYTHING, False, [], True, id="all of it"),
        pytest.param(EVERYTHING, False, ["no root"], False, id="all that can be had"),
        pytest.param(frozenset({"jobset"}), False, [], False, id="one component"),
        pytest.param(frozenset(), True, [], True, id="a real node alone"),
    ],
)
def test_parts_of_a_real_node_are_built_with_everything_or_on_request(
    monkeypatch: pytest.MonkeyPatch,
    built: list[ClusterOptions],
    components: frozenset[str],
    asked_for: bool,
    missing: list[str],
    real_node: bool,
) -> None:
    monkeypatch.setattr(requirements, "missing", lambda: missing)
    commands.build(components, real_node=asked_for)
    assert built == [ClusterOptions(components, real_node=real_node)]


@pytest.mark.parametrize("torch", [True, False])
def test_the_image_with_pytorch_is_made_when_asked_for(
    monkeypatch: pytest.MonkeyPatch, built: list[ClusterOptions], torch: bool
) -> None:
    made: list[Reporter] = []

    async def make(reporter: Reporter) -> None:
        made.append(reporter)

    monkeypatch.setattr(requirements, "missing", list)
    monkeypatch.setattr(commands, "torch_image", make)
    commands.build(frozenset(), real_node=True, torch=torch)
    assert (len(built), len(made)) == (1, int(torch))


def test_an_impossible_option_is_refused_before_any_build(
    monkeypatch: pytest.MonkeyPatch, built: list[ClusterOptions]
) -> None:
    monkeypatch.setattr(requirements, "missing", lambda: ["no root"])
    with pytest.raises(ToolMissing, match=r"^There can be no real node here\. no root$"):
        commands.build(frozenset(), real_node=True)
    assert built == []


@pytest.mark.parametrize("beside", [True, False])
def test_programs_beside_a_cluster_are_built_on_request(
    built: list[ClusterOptions], programs: list[str], beside: bool
) -> None:
    commands.build(frozenset(), beside=beside)
    assert len(built) == 1
    assert programs == (["appwrapper", "prometheus", "helm"] if beside else [])

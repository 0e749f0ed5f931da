from pathlib import Path

import pytest

from localcluster.images import __main__ as command
from localcluster.images import delivery, pip_site, recipe
from localcluster.images.buildah import Secret
from localcluster.images.delivery import WITH_STORAGE, ImageOrder, deliver, target_of, works
from localcluster.machine.errors import BuildFailed, ToolMissing
from localcluster.machine.progress import Reporter, silent


def test_the_name_in_a_registry() -> None:
    ours = "localhost/appwrapper-webhook:0.1.0"
    assert target_of(ours, "") == ours
    assert target_of(ours, "registry.example:5000/team") == (
        "registry.example:5000/team/appwrapper-webhook:0.1.0"
    )


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> list[ImageOrder]:
    """What the command came to ask for; nothing is built."""
    heard: list[ImageOrder] = []

    async def deliver(order: ImageOrder, reporter: Reporter) -> str:
        del reporter
        heard.append(order)
        return "the report"

    monkeypatch.setattr(command, "deliver", deliver)
    return heard


def test_flags_become_an_order(
    orders: list[ImageOrder], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([]) == 0
    flags = ["--tool", "podman", "--base-image", "b", "--registry", "r/p/"]
    assert command.main([*flags, "--push", "--no-tls-verify"]) == 0
    assert orders == [
        ImageOrder(),
        ImageOrder(tool="podman", base_image="b", registry="r/p", verify_tls=False),
    ]
    assert capsys.readouterr().out == "the report\nthe report\n"


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--push"], "--push has no destination: give --registry HOST/PATH, too (make: REGISTRY=)"),
        (
            ["--registry", "r/p"],
            "--registry pushes the images there: give --push, too (make: PUSH=1)",
        ),
    ],
)
def test_a_push_needs_a_registry_and_a_registry_a_push(
    orders: list[ImageOrder], flags: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        command.main(flags)
    assert end.value.code == 2
    assert capsys.readouterr().err.endswith(f"error: {problem}\n")
    assert orders == []


def test_a_failure_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(order: ImageOrder, reporter: Reporter) -> str:
        del order, reporter
        raise ToolMissing("Not installed: buildah.")

    monkeypatch.setattr(command, "deliver", refuse)
    assert command.main([]) == 1
    assert capsys.readouterr().err == "images: Not installed: buildah.\n"


async def test_the_first_tool_that_works_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    working: set[str] = set()

    async def is_working(tool: str) -> bool:
        return tool in working

    monkeypatch.setattr(delivery, "works", is_working)
    assert await delivery.some_tool() == "buildah"
    working |= {"podman"}
    assert await delivery.some_tool() == "podman"
    working |= {"docker"}
    assert await delivery.some_tool() == "docker"


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs that record their arguments, and fail if a file `fails` exists."""
    for name in WITH_STORAGE:
        program = tmp_path / name
        program.write_text(
            "#!/bin/sh\n"
            f'echo "{name} $*" >> {tmp_path}/calls\n'
            f"if [ -f {tmp_path}/fails ]; then cat {tmp_path}/fails; exit 3; fi\n"
        )
        program.chmod(0o755)

    async def revision(binary: str) -> str:
        return f"of {binary}"

    def secrets(listing: str, folder: Path) -> list[Secret]:
        return [Secret("pip-config", Path("/secrets/pip.conf"))]

    monkeypatch.setattr(recipe, "revision", revision)
    monkeypatch.setattr(recipe, "version", lambda: "1")
    monkeypatch.setattr(recipe, "stage", lambda binary, target: None)
    monkeypatch.setattr(recipe, "name_of", lambda binary: f"localhost/{binary}:1")
    monkeypatch.setattr(pip_site, "secrets", secrets)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def calls(tools: Path) -> list[str]:
    return (tools / "calls").read_text().splitlines()


async def test_a_tool_works_if_it_is_installed_and_its_service_answers(
    tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await works("docker")
    assert calls(tools) == ["docker info"]
    (tools / "fails").write_text("cannot connect")
    assert not await works("docker")
    with pytest.raises(ToolMissing) as missing:
        await deliver(ImageOrder(tool="docker"), silent)
    assert str(missing.value) == (
        "`docker info` fails: docker is not installed, or its service does not run or is not open"
        " to this user. TOOL=buildah builds without a service, as root."
    )
    monkeypatch.setenv("PATH", str(tools / "empty"))
    assert not await works("podman")


async def test_the_build_gets_arguments_and_secrets(tools: Path) -> None:
    order = ImageOrder("podman", "base:1", registry="r/p", verify_tls=False)
    assert await deliver(order, silent) == (
        "built: r/p/webhook:1\n  pushed: r/p/webhook:1\n"
        "built: r/p/controller:1\n  pushed: r/p/controller:1"
    )
    _, build, push, *_ = calls(tools)
    context = build.rpartition(" ")[2]
    assert build == (
        "podman build --build-arg VERSION=1 --build-arg REVISION=of webhook --build-arg"
        " BASE_IMAGE=base:1 --secret id=pip-config,src=/secrets/pip.conf"
        f" --file {context}/Dockerfile.webhook --tag r/p/webhook:1 {context}"
    )
    assert push == "podman push --tls-verify=false r/p/webhook:1"


async def test_the_tools_last_output_is_shown(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_options() -> str:
        (tools / "fails").write_text("sh: python3: not found\n")  # after `info`
        return ""

    monkeypatch.setattr(delivery, "pip_options", no_options)
    with pytest.raises(BuildFailed) as failed:
        await deliver(ImageOrder("docker"), silent)
    assert str(failed.value) == (
        "Failed, exit code 3: build localhost/webhook:1. Its last output:\n\nsh: python3: not found"
    )

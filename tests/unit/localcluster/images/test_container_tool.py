from pathlib import Path

import pytest

from localcluster.images import container_tool
from localcluster.images.buildah import Secret
from localcluster.machine.errors import BuildFailed, ToolMissing


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs that write down how they were called, and fail where a file says so."""
    for name in container_tool.NAMES:
        program = tmp_path / name
        program.write_text(
            "#!/bin/sh\n"
            f'echo "{name} $*" >> {tmp_path}/calls\n'
            f"if [ -f {tmp_path}/fails ]; then cat {tmp_path}/fails; exit 3; fi\n"
        )
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def calls(tools: Path) -> list[str]:
    return (tools / "calls").read_text().splitlines()


async def test_one_that_is_there_and_answers_works(tools: Path) -> None:
    assert await container_tool.works("docker")
    assert calls(tools) == ["docker info"]


async def test_a_client_without_its_service_does_not_work(tools: Path) -> None:
    (tools / "fails").write_text("cannot connect")
    assert not await container_tool.works("docker")
    with pytest.raises(ToolMissing) as missing:
        await container_tool.require("docker")
    assert str(missing.value) == (
        "`docker info` fails: docker is not installed, or its service does not run or is not open"
        " to this user. TOOL=buildah builds without a service, as root."
    )


async def test_one_that_is_not_installed_does_not_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not await container_tool.works("podman")


async def test_the_build_gets_arguments_and_secrets(tools: Path) -> None:
    await container_tool.build(
        "podman",
        "localhost/x:1",
        Path("/context/Dockerfile.webhook"),
        Path("/context"),
        arguments={"VERSION": "1", "REVISION": ""},
        secrets=[Secret("pip-config", Path("/secrets/pip.conf"))],
    )
    assert calls(tools) == [
        "podman build --build-arg VERSION=1 --build-arg REVISION="
        " --secret id=pip-config,src=/secrets/pip.conf"
        " --file /context/Dockerfile.webhook --tag localhost/x:1 /context"
    ]


async def test_its_last_output_is_shown(tools: Path) -> None:
    (tools / "fails").write_text("error: BASE_IMAGE has no python3\n")
    with pytest.raises(BuildFailed) as failed:
        await container_tool.tag("docker", "localhost/x:1", "registry.example/x:1")
    assert str(failed.value) == (
        "Failed, exit code 3: tag localhost/x:1. It said last:\n\nerror: BASE_IMAGE has no python3"
    )


async def test_only_podman_has_an_option_for_registries_without_tls(tools: Path) -> None:
    await container_tool.push("podman", "registry.example/x:1", verify_tls=False)
    await container_tool.push("docker", "registry.example/x:1", verify_tls=True)
    assert calls(tools) == [
        "podman push --tls-verify=false registry.example/x:1",
        "docker push registry.example/x:1",
    ]
    with pytest.raises(ToolMissing) as missing:
        await container_tool.push("docker", "registry.example/x:1", verify_tls=False)
    assert str(missing.value) == (
        "docker has no option for registries without TLS: they are named in its daemon's"
        " configuration (insecure-registries). Leave TLS_VERIFY=0 out, or use TOOL=buildah."
    )

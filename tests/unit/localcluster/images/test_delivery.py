import pytest

from localcluster.images import __main__ as command
from localcluster.images import container_tool, delivery
from localcluster.images.delivery import Order, target_of
from localcluster.machine.errors import ToolMissing
from localcluster.machine.progress import Reporter


def test_the_name_in_a_registry() -> None:
    ours = "localhost/appwrapper-webhook:0.1.0"
    assert target_of(ours, "") == ours
    assert target_of(ours, "registry.example:5000/team") == (
        "registry.example:5000/team/appwrapper-webhook:0.1.0"
    )


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> list[Order]:
    """What the command came to ask for; nothing is built."""
    heard: list[Order] = []

    async def deliver(order: Order, reporter: Reporter) -> str:
        del reporter
        heard.append(order)
        return "the report"

    monkeypatch.setattr(command, "deliver", deliver)
    return heard


def test_flags_become_an_order(orders: list[Order], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == 0
    flags = ["--tool", "podman", "--base-image", "b", "--registry", "r/p/"]
    assert command.main([*flags, "--push", "--no-tls-verify"]) == 0
    assert orders == [
        Order(),
        Order(tool="podman", base_image="b", registry="r/p", push=True, verify_tls=False),
    ]
    assert capsys.readouterr().out == "the report\nthe report\n"


def test_push_needs_a_registry(orders: list[Order], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        command.main(["--push"])
    assert end.value.code == 2
    assert "--push needs --registry HOST/PATH: where to?" in capsys.readouterr().err
    assert orders == []


def test_a_failure_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(order: Order, reporter: Reporter) -> str:
        del order, reporter
        raise ToolMissing("Not installed: buildah.")

    monkeypatch.setattr(command, "deliver", refuse)
    assert command.main([]) == 1
    assert capsys.readouterr().err == "images: Not installed: buildah.\n"


async def test_the_first_tool_that_works_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    working: set[str] = set()

    async def works(tool: str) -> bool:
        return tool in working

    monkeypatch.setattr(container_tool, "works", works)
    assert await delivery.some_tool() == "buildah"
    working |= {"podman"}
    assert await delivery.some_tool() == "podman"
    working |= {"docker"}
    assert await delivery.some_tool() == "docker"

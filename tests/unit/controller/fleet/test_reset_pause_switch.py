"""pauseResets while the controller runs."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from controller.fleet.reset_pause_switch import LOOK_EVERY, PauseSwitch
from shared.config.loading import load_config
from tests.support.fakes.fake_clock import FakeClock

PAUSE = "appwrapper: {pauseResets: true}\n"
GO_ON = "appwrapper: {pauseResets: false}\n"


class Running:
    """A switch on a clock that a test moves."""

    def __init__(self, file: Path) -> None:
        self.clock = FakeClock()
        self.turns: list[bool] = []
        config = load_config(file).config
        self.switch = PauseSwitch(file, config, self.clock, self.turns.append)

    async def look(self, times: int = 1) -> None:
        for _ in range(times):
            await self.clock.advance(LOOK_EVERY)


@asynccontextmanager
async def running(file: Path) -> AsyncIterator[Running]:
    made = Running(file)
    task = asyncio.create_task(made.switch.run())
    try:
        yield made
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Path:
    """As the kubelet mounts a ConfigMap: links to a folder that is replaced as a whole."""
    caplog.set_level(logging.INFO, "controller.fleet.reset_pause_switch")
    write(tmp_path / "config.yaml", GO_ON)
    return tmp_path / "config.yaml"


def write(file: Path, text: str) -> None:
    """What the kubelet does."""
    version = len(list(file.parent.glob("..version*")))
    folder = file.parent / f"..version{version}"
    folder.mkdir()
    (folder / file.name).write_text(text)
    link = file.parent / "..new"
    link.symlink_to(folder.name)
    link.rename(file.parent / "..data")
    if not file.is_symlink():
        file.symlink_to(f"..data/{file.name}")


async def test_it_is_read_again_by_content(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with running(file) as it:
        await it.look(2)
        assert (it.turns, caplog.messages) == ([], [])
        write(file, PAUSE)
        await it.look(2)
        write(file, PAUSE)
        await it.look()
        write(file, GO_ON)
        await it.look()
    assert it.turns == [True, False]
    assert caplog.messages == ["pauseResets is now true", "pauseResets is now false"]


async def test_a_term_that_begins_long_after_the_start_reads_the_file_at_once(file: Path) -> None:
    made = Running(file)
    write(file, PAUSE)
    task = asyncio.create_task(made.switch.run())
    await asyncio.sleep(0)
    assert made.turns == [True]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        ("appwrapper: {pauseResets: maybe}", "must be a valid boolean"),
        ("appwrapper: {pauseReset: true}", "pauseResets"),
        ("{", "config.yaml:1:"),
    ],
)
async def test_a_broken_file_changes_nothing_and_is_reported_once(
    file: Path, caplog: pytest.LogCaptureFixture, broken: str, problem: str
) -> None:
    write(file, PAUSE)
    async with running(file) as it:
        write(file, broken)
        await it.look(3)
        assert it.turns == []
        (logged,) = caplog.messages
        assert logged.startswith(f"pauseResets stays true: {file}")
        assert problem in logged
        write(file, GO_ON)
        await it.look()
    assert it.turns == [False]


async def test_bytes_that_are_no_text_change_nothing(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(file) as it:
        file.write_bytes(b"\xff")
        await it.look(2)
    assert it.turns == []
    (logged,) = caplog.messages
    assert logged.startswith(f"pauseResets stays false: {file}: not UTF-8 text: ")


async def test_a_file_that_is_gone_for_a_moment_changes_nothing(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(file, PAUSE)
    async with running(file) as it:
        file.unlink()
        await it.look(3)
        assert it.turns == []
        assert caplog.messages == [
            f"pauseResets stays true: {file}: cannot be read: No such file or directory"
        ]
        file.symlink_to(f"..data/{file.name}")
        await it.look()
    assert it.turns == []


async def test_all_else_waits_for_the_next_start(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(file) as it:
        write(file, "appwrapper: {pauseResets: true, schedulerName: gang}")
        await it.look(2)
    assert it.turns == [True]
    assert caplog.messages == [
        "pauseResets is now true",
        "other changes of the configuration count from the next start on",
    ]

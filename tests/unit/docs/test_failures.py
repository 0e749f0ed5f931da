"""Two pages show minute by minute how a job leaves a node that does not answer."""

from pathlib import Path

import pytest

from shared.api.times import format_duration
from shared.config.configuration import AppWrapperConfig

USERS = "docs/users/failures.md"
ADMINS = "docs/admins/when-a-gpu-dies.md"


@pytest.mark.parametrize("page", [USERS, ADMINS])
def test_the_page_gives_the_default_period_and_warns_of_a_second_writer(page: str) -> None:
    text = " ".join(Path(page).read_text(encoding="utf-8").split())
    period = AppWrapperConfig().fault_tolerance.unreachable_grace_period
    assert f"| {format_duration(period).removesuffix('m')} min later" in text
    assert "may still write to shared storage" in text or "may write to shared storage" in text
    assert "`NodeUnreachable`" in text
    assert "`ForcedOnUnreachableNode`" in text

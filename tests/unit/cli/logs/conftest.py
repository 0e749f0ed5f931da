from typing import Any

import pytest

from cli.logs import running
from tests.support.fakes.log_session import connected_to, run_command
from tests.support.fakes.logged_pods import LoggedPods


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs `appwrapper logs` against a client; returns the exit code and both streams."""

    def run(client: LoggedPods, *words: str, **options: Any) -> tuple[int, str, str]:
        monkeypatch.setattr(running, "connected", connected_to(client))
        return run_command("logs", *words, **options)

    return run

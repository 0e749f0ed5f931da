from collections.abc import AsyncIterator

import pytest

from shared.config.values import BindAddress
from shared.process.listener import listen
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.serving_replica import Replica, network


@pytest.fixture
async def replica() -> AsyncIterator[Replica]:
    made = Replica(listen(BindAddress("127.0.0.1", 0)), FakeClock())
    await network()
    yield made
    await made.end()

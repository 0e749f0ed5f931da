from collections.abc import Iterator

import pytest

from tests.fuzz.target import facts
from tests.support.fakes.in_process_webhook import InProcessWebhook


@pytest.fixture(scope="session")
def app() -> Iterator[InProcessWebhook]:
    with InProcessWebhook(facts(0)) as made:
        yield made

from collections.abc import Iterator

import pytest

from tests.builders.in_process_webhook import InProcessWebhook
from tests.fuzz.target import facts


@pytest.fixture(scope="session")
def app() -> Iterator[InProcessWebhook]:
    with InProcessWebhook(facts(0)) as made:
        yield made

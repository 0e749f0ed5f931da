from collections.abc import Iterator

import pytest

from tests.builders.webhook_app import WebhookApp
from tests.fuzz.target import facts


@pytest.fixture(scope="session")
def app() -> Iterator[WebhookApp]:
    with WebhookApp(facts(0)) as made:
        yield made

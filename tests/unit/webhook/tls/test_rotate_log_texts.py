"""The log's texts of steps: operators search for them."""

import pytest

from tests.support.fakes.tls import authority, leaf, write
from webhook.tls.rotate import Publish, SecretChange, Serve, Step

CA = authority()


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (write(SecretChange.GENERATE, "it is empty"), "make a CA and a certificate (it is empty)"),
        (Serve(leaf(CA), CA.certificate), "serve another certificate"),
        (write(SecretChange.RENEW, "it ends soon"), "issue a certificate (it ends soon)"),
        (Publish(b"x"), "write the caBundle"),
        (write(SecretChange.ADD_NEXT, "it is due"), "make the next CA (it is due)"),
    ],
)
def test_the_log_shows_what_a_step_does_and_why(step: Step, text: str) -> None:
    assert str(step) == text

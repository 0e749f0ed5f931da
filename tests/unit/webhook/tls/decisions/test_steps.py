"""What the log says of each step: operators search for these words."""

import pytest

from tests.support.fakes.tls import START, authority, leaf
from webhook.tls.decisions.steps import (
    Action,
    AddNext,
    Adopt,
    DropPrevious,
    Generate,
    Promote,
    Publish,
    RenewLeaf,
    Serve,
    Tidy,
)

CA = authority()


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (Generate("there is none"), "make a CA and a certificate (there is none)"),
        (Serve(leaf(CA), CA.certificate), "serve another certificate"),
        (
            Adopt(CA.certificate, START),
            "record the CA of the certificate that this replica serves",
        ),
        (RenewLeaf("it ends soon"), "issue a certificate (it ends soon)"),
        (Publish(b"x"), "write the caBundle"),
        (DropPrevious(), "drop CAs of which nothing is served any more"),
        (Promote(), "issue a certificate by the next CA, which is known everywhere by now"),
        (AddNext("an admin asked for it"), "make the next CA (an admin asked for it)"),
        (Tidy("no key fits"), "remove what is unusable (no key fits)"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_the_words_of_a_step(action: Action, words: str) -> None:
    assert str(action) == words

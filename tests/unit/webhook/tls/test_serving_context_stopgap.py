from datetime import timedelta

from tests.support.fakes.handshakes import served_certificate
from tests.support.fakes.tls import START, contents
from webhook.tls.serving_context import ServingContext, context_of, load, make_stopgap


def test_it_is_served_until_there_is_a_certificate() -> None:
    stopgap, real = make_stopgap(START), contents(START).leaf
    serving = ServingContext()
    load(serving.front, stopgap)
    for name in ("webhook", None):
        assert served_certificate(serving.front, name) == stopgap.certificate
    assert real is not None
    serving.swap(context_of(real))
    for name in ("webhook", None):
        assert served_certificate(serving.front, name) == real.certificate


def test_each_is_another_and_valid_as_long_as_a_process_may_wait() -> None:
    one, other = make_stopgap(START), make_stopgap(START)
    assert one.certificate != other.certificate
    assert one.certificate.not_valid_after_utc > START + timedelta(days=365)

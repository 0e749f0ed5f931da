from shared.process.backoff import ExponentialBackoff


def test_delays_double_up_to_the_longest() -> None:
    backoff = ExponentialBackoff[str](first=1, longest=10)
    assert [backoff.next_delay("a") for _ in range(6)] == [1, 2, 4, 8, 10, 10]


def test_keys_do_not_share_their_failures() -> None:
    backoff = ExponentialBackoff[str](first=1, longest=10)
    backoff.next_delay("a")
    assert backoff.next_delay("b") == 1


def test_a_forgotten_key_restarts_its_backoff() -> None:
    backoff = ExponentialBackoff[str](first=1, longest=10)
    backoff.next_delay("a")
    backoff.next_delay("a")
    assert backoff.failures("a") == 2
    backoff.forget("a")
    backoff.forget("never failed")
    assert backoff.failures("a") == 0
    assert backoff.next_delay("a") == 1


def test_any_number_of_failures_has_a_delay() -> None:
    backoff = ExponentialBackoff[str](first=0.001, longest=60)
    assert {backoff.next_delay("a") for _ in range(3000)} >= {0.001, 60}
    assert backoff.next_delay("a") == 60


def test_after_an_outage_no_key_waits_long() -> None:
    backoff = ExponentialBackoff[str]()
    assert [backoff.next_delay("a") for _ in range(3)] == [0.005, 0.01, 0.02]
    assert max(backoff.next_delay("a") for _ in range(100)) == 15

from webhook.main import Readiness


def test_a_replica_is_ready_when_nothing_has_a_problem() -> None:
    assert Readiness().problem() is None
    assert Readiness(lambda: None, lambda: None).problem() is None


def test_every_problem_is_reported() -> None:
    readiness = Readiness(lambda: "no certificate", lambda: None, lambda: "no cache")
    assert readiness.problem() == "no certificate\nno cache"


def test_each_readiness_probe_checks_again() -> None:
    found: list[str | None] = ["no cache"]
    readiness = Readiness(lambda: found[0])
    assert readiness.problem() == "no cache"
    found[0] = None
    assert readiness.problem() is None

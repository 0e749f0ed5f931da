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


def test_a_replica_prepares_once_before_it_reports_that_it_is_ready() -> None:
    prepared: list[bool] = []
    found: list[str | None] = ["no cache"]
    readiness = Readiness(lambda: found[0], prepare=lambda: prepared.append(True))
    readiness.problem()
    assert prepared == []
    found[0] = None
    for _ in range(2):
        assert readiness.problem() is None
        assert prepared == [True]

"""The demo's judge: it must not call a sample done for the wrong reason."""

import pytest

from localcluster.demo.ledger import Evaluation, Ledger, SampleVerdict, settled, unfinished
from localcluster.demo.scenario import SCENARIO, ExpectedEnd, Sample
from shared.api.objects import JsonObject

RUNS = Sample(file="a.yaml", name="runs", shows="", ending=ExpectedEnd.SUCCEEDS)
WAITS = Sample(
    file="b.yaml", name="waits", shows="", ending=ExpectedEnd.WAITS_THEN_SUCCEEDS, waits_for="runs"
)
TOO_BIG = Sample(file="c.yaml", name="too-big", shows="", ending=ExpectedEnd.STAYS_SUSPENDED)
REFUSED = Sample(
    file="d.yaml",
    name="refused",
    shows="",
    ending=ExpectedEnd.REJECTED,
    error="template: Forbidden",
)


FAILS = Sample(
    file="e.yaml",
    name="fails",
    shows="",
    ending=ExpectedEnd.FAILS_THEN_SUCCEEDS,
    root_cause="fails-worker-1",
)


def appwrapper(name: str, phase: str) -> JsonObject:
    return {"metadata": {"name": name}, "status": {"phase": phase}}


def ledger_of(*seen: tuple[str, str]) -> Ledger:
    ledger = Ledger()
    for name, phase in seen:
        ledger.see(appwrapper(name, phase))
    return ledger


@pytest.mark.parametrize(
    ("sample", "seen", "expected"),
    [
        pytest.param(
            RUNS,
            (),
            Evaluation(SampleVerdict.PENDING, "is not seen yet"),
            id="nothing seen is pending",
        ),
        pytest.param(
            RUNS,
            (("runs", "Running"),),
            Evaluation(SampleVerdict.PENDING, "is Running"),
            id="running is pending",
        ),
        pytest.param(
            RUNS,
            (("runs", "Running"), ("runs", "Succeeded")),
            Evaluation(SampleVerdict.REACHED, "Succeeded"),
            id="success is reached",
        ),
        pytest.param(
            RUNS,
            (("runs", "Failed"),),
            Evaluation(SampleVerdict.MISSED, "failed"),
            id="failure is missed",
        ),
        pytest.param(
            WAITS,
            (("runs", "Running"), ("waits", "Suspended"), ("waits", "Succeeded")),
            Evaluation(SampleVerdict.REACHED, "Succeeded after waiting for runs"),
            id="suspended while the other ran, then succeeded",
        ),
        pytest.param(
            WAITS,
            (("runs", "Succeeded"), ("waits", "Suspended"), ("waits", "Succeeded")),
            Evaluation(SampleVerdict.MISSED, "did not wait for runs"),
            id="suspended only after the other had ended proves nothing",
        ),
        pytest.param(
            TOO_BIG,
            (("too-big", ""),),
            Evaluation(SampleVerdict.PENDING, "not suspended yet"),
            id="no phase yet is not suspended",
        ),
        pytest.param(
            TOO_BIG,
            (("too-big", "Suspended"),),
            Evaluation(SampleVerdict.REACHED, "waits as Suspended"),
            id="suspended is reached",
        ),
        pytest.param(
            TOO_BIG,
            (("too-big", "Resuming"), ("too-big", "Suspended")),
            Evaluation(SampleVerdict.MISSED, "was Resuming without quota"),
            id="having run without quota is never forgiven",
        ),
        pytest.param(
            REFUSED,
            (("refused", "Suspended"),),
            Evaluation(SampleVerdict.MISSED, "was accepted"),
            id="accepted though it must be refused",
        ),
    ],
)
def test_judgement(sample: Sample, seen: tuple[tuple[str, str], ...], expected: Evaluation) -> None:
    assert ledger_of(*seen).evaluate(sample) == expected


def test_a_refusal_counts_only_with_the_expected_error() -> None:
    ledger = Ledger()
    ledger.refuse("refused", "connection refused")
    assert ledger.evaluate(REFUSED) == Evaluation(
        SampleVerdict.MISSED, "refused: connection refused"
    )
    ledger.refuse("refused", "spec.components[0].template: Forbidden: no DaemonSets")
    assert ledger.evaluate(REFUSED) == Evaluation(SampleVerdict.REACHED, "rejected")


@pytest.mark.parametrize(
    ("phases", "named", "expected"),
    [
        pytest.param(
            ("Running", "Resetting", "Running"),
            "fails-worker-1",
            Evaluation(SampleVerdict.PENDING, "is Running"),
            id="its second attempt runs",
        ),
        pytest.param(
            ("Running", "Resetting", "Succeeded"),
            "fails-worker-1",
            Evaluation(SampleVerdict.REACHED, "Succeeded after the failure of fails-worker-1"),
            id="the pod that failed first is named",
        ),
        pytest.param(
            ("Running", "Resetting", "Succeeded"),
            "fails-master-0",
            Evaluation(SampleVerdict.MISSED, "the root cause named is fails-master-0"),
            id="another pod is named",
        ),
        pytest.param(
            ("Running", "Resetting", "Succeeded"),
            "",
            Evaluation(SampleVerdict.MISSED, "the root cause named is none"),
            id="no pod is named",
        ),
        pytest.param(
            ("Running", "Succeeded"),
            "",
            Evaluation(SampleVerdict.MISSED, "did not fail"),
            id="it never failed",
        ),
    ],
)
def test_the_pod_that_failed_first_must_be_named(
    phases: tuple[str, ...], named: str, expected: Evaluation
) -> None:
    ledger = Ledger()
    for phase in phases:
        seen = appwrapper("fails", phase)
        if named and phase == "Resetting":
            seen["status"]["rootCause"] = {"pod": named}
        ledger.see(seen)
    assert ledger.evaluate(FAILS) == expected


def test_a_refused_sample_that_should_run_is_missed() -> None:
    ledger = Ledger()
    ledger.refuse("runs", "no such namespace")
    assert ledger.evaluate(RUNS) == Evaluation(SampleVerdict.MISSED, "refused: no such namespace")
    assert settled(ledger, (RUNS, WAITS))


def test_a_suspended_appwrapper_is_checked_until_the_end() -> None:
    ledger = ledger_of(("too-big", "Suspended"), ("runs", "Running"))
    assert not settled(ledger, (TOO_BIG, RUNS))
    ledger.see(appwrapper("runs", "Succeeded"))
    assert settled(ledger, (TOO_BIG, RUNS))
    assert unfinished(ledger, (TOO_BIG, RUNS)) == []
    ledger.see(appwrapper("too-big", "Running"))
    assert unfinished(ledger, (TOO_BIG, RUNS)) == [
        "too-big: was Running without quota (expected: stays suspended)"
    ]


def test_every_wait_and_every_order_names_a_sample() -> None:
    names = [sample.name for sample in SCENARIO]
    assert len(set(names)) == len(names)
    for position, sample in enumerate(SCENARIO):
        for other in filter(None, (sample.after, sample.waits_for)):
            assert other in names[:position]

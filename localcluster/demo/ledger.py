"""Records what was seen of each AppWrapper, and compares it with the sample's expected end.
Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from localcluster.demo.scenario import ExpectedEnd, Sample
from shared.api.objects import JsonObject

# Phases in which an AppWrapper holds quota.
_ADMITTED = frozenset({"Resuming", "Running", "Resetting"})


class SampleVerdict(StrEnum):
    """PENDING may still change into one of the others, which are final."""

    PENDING = "pending"
    REACHED = "reached"
    MISSED = "missed"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A verdict with its reason, for a person."""

    verdict: SampleVerdict
    reason: str


@dataclass(slots=True)
class Ledger:
    """The states seen of each AppWrapper; `waited_for` has the others that ran meanwhile."""

    phases: dict[str, list[str]] = field(default_factory=dict)
    waited_for: dict[str, set[str]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    root_causes: dict[str, JsonObject] = field(default_factory=dict)

    def see(self, appwrapper: JsonObject) -> None:
        """Records the state of one AppWrapper."""
        name = appwrapper["metadata"]["name"]
        if root_cause := appwrapper.get("status", {}).get("rootCause"):
            self.root_causes[name] = root_cause
        phase = appwrapper.get("status", {}).get("phase", "")
        seen = self.phases.setdefault(name, [])
        if not seen or seen[-1] != phase:
            seen.append(phase)
        if phase == "Suspended":
            running = {other for other in self.phases if self._now(other) in _ADMITTED}
            self.waited_for.setdefault(name, set()).update(running - {name})

    def has_reached(self, name: str, phase: str) -> bool:
        """True if the AppWrapper was ever seen in that phase."""
        return phase in self.phases.get(name, ())

    def refuse(self, name: str, message: str) -> None:
        """Records that the API server rejected an AppWrapper, with its message."""
        self.refused[name] = message

    def evaluate(self, sample: Sample) -> Evaluation:
        """Compares the AppWrapper with the sample's end."""
        if sample.name in self.refused:
            return self._of_refused(sample)
        if self._now(sample.name) == "Failed":
            return Evaluation(SampleVerdict.MISSED, "failed")
        match sample.ending:
            case ExpectedEnd.REJECTED:
                accepted = sample.name in self.phases
                return Evaluation(
                    SampleVerdict.MISSED if accepted else SampleVerdict.PENDING,
                    "was accepted" if accepted else "not submitted yet",
                )
            case ExpectedEnd.STAYS_SUSPENDED:
                return self._of_suspended(sample)
            case _:
                return self._of_success(sample)

    def _now(self, name: str) -> str:
        seen = self.phases.get(name)
        return seen[-1] if seen else ""

    def _of_refused(self, sample: Sample) -> Evaluation:
        message = self.refused[sample.name]
        if sample.ending is ExpectedEnd.REJECTED and sample.error in message:
            return Evaluation(SampleVerdict.REACHED, "rejected")
        return Evaluation(SampleVerdict.MISSED, f"refused: {message}")

    def _of_suspended(self, sample: Sample) -> Evaluation:
        started = _ADMITTED.intersection(self.phases.get(sample.name, ()))
        if started:
            return Evaluation(SampleVerdict.MISSED, f"was {min(started)} without quota")
        if self._now(sample.name) == "Suspended":
            return Evaluation(SampleVerdict.REACHED, "waits as Suspended")
        return Evaluation(SampleVerdict.PENDING, "not suspended yet")

    def _of_success(self, sample: Sample) -> Evaluation:
        if self._now(sample.name) != "Succeeded":
            return Evaluation(
                SampleVerdict.PENDING, f"is {self._now(sample.name) or 'not seen yet'}"
            )
        if sample.waits_for and sample.waits_for not in self.waited_for.get(sample.name, ()):
            return Evaluation(SampleVerdict.MISSED, f"did not wait for {sample.waits_for}")
        if sample.ending is ExpectedEnd.FAILS_THEN_SUCCEEDS:
            return self._of_root_cause(sample)
        waited = f" after waiting for {sample.waits_for}" if sample.waits_for else ""
        return Evaluation(SampleVerdict.REACHED, f"Succeeded{waited}")

    def _of_root_cause(self, sample: Sample) -> Evaluation:
        named = self.root_causes.get(sample.name, {}).get("pod", "")
        if not self.has_reached(sample.name, "Resetting"):
            return Evaluation(SampleVerdict.MISSED, "did not fail")
        if named != sample.root_cause:
            return Evaluation(SampleVerdict.MISSED, f"the root cause named is {named or 'none'}")
        return Evaluation(SampleVerdict.REACHED, f"Succeeded after the failure of {named}")


def unfinished(ledger: Ledger, scenario: Sequence[Sample]) -> list[str]:
    """Returns a line per sample that has not reached its end: its name and why."""
    lines = []
    for sample in scenario:
        evaluation = ledger.evaluate(sample)
        if evaluation.verdict is not SampleVerdict.REACHED:
            lines.append(f"{sample.name}: {evaluation.reason} (expected: {sample.ending})")
    return lines


def settled(ledger: Ledger, scenario: Sequence[Sample]) -> bool:
    """True if waiting longer changes nothing: all samples reached their ends, or one missed it."""
    verdicts = [ledger.evaluate(sample).verdict for sample in scenario]
    # A sample that must stay suspended proves it only while the others run: it is checked last.
    return SampleVerdict.MISSED in verdicts or all(
        verdict is SampleVerdict.REACHED for verdict in verdicts
    )

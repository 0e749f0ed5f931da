from typing import Any

from controller.apply.annotation_warnings import AnnotationWarner
from controller.memory.memory import Memory
from shared.api.appwrapper import AppWrapper
from shared.config.fault_tolerance import FaultToleranceConfig

PREFIX = "workload.codeflare.dev.appwrapper/"


class Recorder:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.emitted: list[tuple[str, str, str]] = []

    def warning(self, about: Any, reason: str, message: str) -> None:
        self.emitted.append((about.uid, reason, message))


class WarnerBench:
    """A complainer, and whoever listens."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self.memory = Memory()
        recorder: Any = self.recorder
        self.complainer = AnnotationWarner(recorder, FaultToleranceConfig(), self.memory)

    def look(self, managed_by: str = "", **annotations: str) -> list[str]:
        """What is told after this look."""
        named = {PREFIX + key: value for key, value in annotations.items()}
        metadata = {"namespace": "team1", "name": "train", "uid": "u1", "annotations": named}
        before = len(self.recorder.emitted)
        self.complainer.evaluate(
            AppWrapper({"metadata": metadata, "spec": {"managedBy": managed_by}})
        )
        return [message for _, _, message in self.recorder.emitted[before:]]


def test_each_annotation_warning_is_emitted_once_while_it_applies() -> None:
    bench = WarnerBench()
    (first,) = bench.look(retryLimit="many")
    assert bench.recorder.emitted == [("u1", "InvalidAnnotation", first)]
    assert bench.look(retryLimit="many", note="x") == []
    (second,) = bench.look(retryLimit="many", successTTLDuration="soon")
    assert second.startswith(f"metadata.annotations[{PREFIX}successTTLDuration]: ")
    assert bench.look() == []
    assert bench.look(retryLimit="many") == [first]


def test_nothing_is_remembered_of_one_that_is_gone() -> None:
    bench = WarnerBench()
    (first,) = bench.look(retryLimit="many")
    bench.memory.forget("u1", ("team1", "train"))
    assert bench.look(retryLimit="many") == [first]


def test_an_appwrapper_of_another_controller_gets_no_annotation_warning() -> None:
    assert WarnerBench().look(managed_by="kueue.x-k8s.io/multikueue", retryLimit="many") == []

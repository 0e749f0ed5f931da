"""Reads the controller's metrics, and the tracebacks in its log."""

import json
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, Self

import yaml
from prometheus_client.parser import text_string_to_metric_families

REPAIRS: Final = "appwrapper_resync_repairs_total"
ERRORS: Final = "controller_runtime_reconcile_errors_total"
_LEADS: Final = "leader_election_master_status"
_FIRST_WORDS: Final = b"configuration, as far as it is not the default"
_LEADS_NOW: Final = b'"message":"leads: '
_FAILED_REQUEST: Final = b'"message":"request failed: '
_CHANGED: Final = b'"message":"changed since the decision to create its components; '
_SECONDS: Final = 60.0


class OnStandby(OSError):
    """Raised if the controller does not lead: it has no metrics of what it decides."""


class ControllerWords:
    """`configuration` is the file of the process's start, `log` its output."""

    def __init__(self, configuration: Path, log: Path) -> None:
        self._configuration = configuration
        self._log = log
        self._read = 0
        self._unreported: list[bytes] = []
        self._repairs = 0.0

    @classmethod
    def of(cls, directory: Path) -> Self:
        """Return the readers for the cluster in this folder."""
        return cls(directory / "product" / "controller.yaml", directory / "logs" / "controller.log")

    def complaints(self, namespaces: Iterable[str] | None = None) -> list[str]:
        """Return the log's tracebacks since the last call. Each is a defect of the product.

        With `namespaces` only those about them; another call returns the others.
        """
        with self._log.open("rb") as stream:
            stream.seek(self._read)
            *lines, _half = stream.read().split(b"\n")
        self._read += sum(len(line) + 1 for line in lines)
        self._unreported += [line for line in lines if is_traceback(line)]
        wanted = None if namespaces is None else frozenset(namespaces)
        reported = [
            each for each in self._unreported if wanted is None or namespace_of(each) in wanted
        ]
        self._unreported = [each for each in self._unreported if each not in reported]
        return [line.decode() for line in reported]

    def repairs(self) -> float:
        """Return how often, since the last call, only the resync found work; 0 on standby.

        Raises OSError without an answer.
        """
        try:
            now, before = self.sample(REPAIRS, {}), self._repairs
        except OnStandby:
            return 0.0
        self._repairs = now
        return now - before if now >= before else now  # it was restarted

    def unexplained(self, conflicts: Callable[[], int]) -> str:
        """Return why more passes ended with an error than there were reasons for; else empty.

        The log shows each failed request, and each read that found a newer version. It shows no
        conflicts: there are at most as many as the API server has answered for AppWrappers, which
        `conflicts` returns. A standby counts nothing. Raises OSError.
        """
        # The log tells of an error before the metric does: it is read before and after.
        before, _ = self._reasons()
        try:
            errors = self.sample(ERRORS, {"controller": "appwrapper"})
        except OnStandby:
            return ""
        reported, changed = self._reasons()
        answered = conflicts()
        if before <= errors <= reported + answered + changed:
            return ""
        return (
            f"{errors:g} passes failed: the log has {reported} failed requests and "
            f"{changed} changed AppWrappers, and the API server counts {answered} conflicts"
        )

    def _reasons(self) -> tuple[int, int]:
        """Return the failed requests, and the reads that found a newer version, in this term."""
        *_, since_its_start = self._log.read_bytes().rpartition(_FIRST_WORDS)
        *_, in_this_term = since_its_start.rpartition(_LEADS_NOW)
        return in_this_term.count(_FAILED_REQUEST), in_this_term.count(_CHANGED)

    def sample(self, name: str, labels: Mapping[str, str]) -> float:
        """Return one value of /metrics; 0 for labels that were not counted yet.

        Raises OSError without an answer, OnStandby if it does not lead, and KeyError for an unknown
        metric.
        """
        families = [*text_string_to_metric_families(self.metrics())]
        if any(each.name == _LEADS and not each.samples[0].value for each in families):
            raise OnStandby
        for family in families:
            for sample in family.samples:
                if sample.name == name and sample.labels == dict(labels):
                    return sample.value
        if name.removesuffix("_total") not in {family.name for family in families}:
            raise KeyError(name)
        return 0.0

    def metrics(self) -> str:
        """Return the page of /metrics. Raises OSError without an answer."""
        section = yaml.safe_load(self._configuration.read_text())["controllerManager"]
        address = section["metrics"]["bindAddress"]
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=_SECONDS) as answer:
            return str(answer.read().decode())


def namespace_of(line: bytes) -> str:
    """Return the namespace that a line of a log is about; empty where it names none."""
    try:
        entry = json.loads(line)
    except ValueError:
        return ""
    return str(entry.get("namespace", "")) if isinstance(entry, dict) else ""


def is_traceback(line: bytes) -> bool:
    """True if a line of a log, with or without its end, reports a defect of the product."""
    try:
        entry = json.loads(line)
    except ValueError:
        return line.startswith(b"Traceback")
    return isinstance(entry, dict) and "exception" in entry

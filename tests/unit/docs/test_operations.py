"""docs/admins names every condition, event, metric and log line of the controller."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from itertools import chain
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from controller import phases, reports
from controller.apply.annotation_warnings import REASON as INVALID_ANNOTATION
from controller.apply.events import EVENTS_OF_CONDITIONS, EVENTS_OF_PHASES
from controller.gather.error_store_reader import SKIPPED, UNAVAILABLE
from controller.metrics import FINDINGS
from controller.phases.phase import Phase
from controller.reports.reason import Reason
from controller.reports.report import ConditionReport
from controller.slack import reports as slack_reports
from shared.api import names
from shared.kube.events import EventType
from tests.support.fakes.measured_controller import registries
from tests.support.manifests import ROOT

ADMINS = ROOT / "docs" / "admins"
CONDITIONS_AND_EVENTS = (ADMINS / "conditions-and-events.md").read_text()
PLACES = {
    "Conditions": (CONDITIONS_AND_EVENTS, "Conditions"),
    "Events": (CONDITIONS_AND_EVENTS, "Events"),
    "Events on other objects": (CONDITIONS_AND_EVENTS, "Events on other objects"),
    "Metrics": ((ADMINS / "metrics.md").read_text(), "The controller"),
    "Logs": ((ADMINS / "logs.md").read_text(), "The controller"),
    "Worth an alert": ((ADMINS / "runbook.md").read_text(), "Worth an alert"),
}
HELD = {Reason.RESET_THROTTLED, Reason.RESETS_PAUSED, Reason.EVACUATION_HELD}


def section(heading: str) -> str:
    page, place = PLACES[heading]
    return page.split(f"\n## {place}\n")[1].split("\n## ")[0]


def rows(heading: str) -> list[list[str]]:
    """The cells of a section's table, without its head, quotes taken away."""
    lines = [line for line in section(heading).splitlines() if line.startswith("| ")]
    return [[cell.strip().strip("`") for cell in line.split("|")[1:-1]] for line in lines[1:]]


def calls_of(name: str, room: ModuleType = phases) -> Iterator[ast.Call]:
    """Wherever decisions make one."""
    for file in Path(str(room.__file__)).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name:
                yield node


def condition_reports() -> Iterator[type[ConditionReport]]:
    """The reports of all conditions."""
    for module in iter_modules(reports.__path__, "controller.reports."):
        for each in vars(import_module(module.name)).values():
            is_report = isinstance(each, type) and issubclass(each, ConditionReport)
            if is_report and each is not ConditionReport:
                yield each


def reasons_of(node: ast.expr) -> set[Reason]:
    """One that is named; else what a finding may say, or why a reset may wait."""
    if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "Reason":
        return {Reason[node.attr]}
    return set(FINDINGS) if ast.unparse(node) == "finding.reason" else HELD


def test_every_condition_with_every_reason_has_a_row() -> None:
    made = set()
    for call in (*calls_of("SetCondition"), *calls_of("ConditionReport", reports)):
        kind, status, reason, *_ = call.args
        if not isinstance(kind, ast.Name):
            continue  # a report's
        for each in reasons_of(reason):
            made.add((getattr(names, kind.id), ast.unparse(status), each.value))
    for report in condition_reports():
        known = {each.name: each.default for each in fields(report)}
        one = isinstance(known["reason"], Reason)
        reasons = [known["reason"]] if one else [*FINDINGS, *HELD]
        reasons = vars(report).get("reasons", reasons)
        made |= {(known["type"], str(known["status"]), each.value) for each in reasons}
    shown = [tuple(cells[:3]) for cells in rows("Conditions")]
    assert sorted(shown) == sorted(made)


def test_every_reason_is_somewhere_on_the_page() -> None:
    spoken = set(re.findall(r"`([A-Za-z]+)`", CONDITIONS_AND_EVENTS))
    only_of_moves = {Reason.SUSPENDING, Reason.TERMINATING, Reason.DEPLOYED}
    assert {each.value for each in Reason} - spoken - only_of_moves == set()


def test_every_event_has_a_row() -> None:
    warned = {each for call in calls_of("Warn") for each in reasons_of(call.args[0])}
    made = {("Warning", each.value) for each in warned | set(FINDINGS) | HELD}
    made |= {(kind.value, key[2].value) for key, (kind, _) in EVENTS_OF_CONDITIONS.items()}
    normal = [phase for phase, (kind, _) in EVENTS_OF_PHASES.items() if kind is EventType.NORMAL]
    assert normal == [Phase.RESUMING, Phase.SUSPENDING]
    began = [Reason.RETRY_PAUSE_OVER, Reason.SUSPENDING]
    made |= {("Normal", each.value) for each in began}
    of_events = (Reason.ROOT_CAUSE, Reason.NON_RECOVERABLE, Reason.UNEXPECTED)
    made |= {("Warning", each.value) for each in of_events}
    made |= {("Warning", each) for each in (INVALID_ANNOTATION, UNAVAILABLE, SKIPPED)}
    shown = [(kind, reason) for kind, reason, *_ in rows("Events")]
    assert sorted(shown) == sorted(made)


async def test_every_metric_has_a_row_with_its_labels() -> None:
    made = {}
    for collector in chain.from_iterable(each._collector_to_names for each in registries()):
        of_all = list(getattr(collector, "_labelnames", ()))
        described = collector.describe() if hasattr(collector, "describe") else ()
        for family in (*described, *collector.collect()):
            labels = of_all or list(getattr(family, "_labelnames", ()))
            for sample in family.samples:
                labels = labels or [label for label in sample.labels if label != "le"]
            name = f"{family.name}_total" if family.type == "counter" else family.name
            made[name] = ", ".join(f"`{label}`" for label in labels)
    own = [(name, labels) for name, labels in made.items() if not name.startswith("process_")]
    shown = [(name, labels and f"`{labels}`") for name, labels, *_ in rows("Metrics")]
    assert sorted(shown) == sorted(own)


def test_every_alert_is_about_a_metric_that_exists() -> None:
    known = {name for name, *_ in rows("Metrics")}
    asked = re.findall(r"\b((?:appwrapper|workqueue|controller_runtime)[a-z_]*)", "\n".join(
        line.split("|")[1] for line in section("Worth an alert").splitlines()[1:] if "|" in line
    ))  # fmt: skip
    assert asked
    assert {name.removesuffix("_bucket") for name in asked} - known == set()


def test_every_event_about_the_slack_queue_is_on_both_pages() -> None:
    tree = ast.parse(Path(slack_reports.__file__).read_text())
    reasons = {
        ast.literal_eval(node.args[1])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", "") in ("_warn", "_normal", "_once")
        and isinstance(node.args[1], ast.Constant)
    }
    assert len(reasons) == 6
    documented = set(
        re.findall(r"(?:Normal|Warning) `([A-Za-z]+)`", section("Events on other objects"))
    )
    assert reasons - documented == set()
    page = (ADMINS / "slack-quota.md").read_text()
    assert {each for _, each in re.findall(r"(Normal|Warning) `([A-Za-z]+)`", page)} == reasons
    metrics = {name for name, labels, *_ in rows("Metrics") if "flavor" in labels}
    assert set(re.findall(r"`(appwrapper_[a-z_]+)`", page)) == metrics


def logged(*places: str) -> set[str]:
    """Every message in the code, save those for debugging, with … for what changes."""
    found = set()
    for place in places:
        files = [ROOT / place] if place.endswith(".py") else (ROOT / place).rglob("*.py")
        for file in files:
            for node in ast.walk(ast.parse(file.read_text())):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Attribute)
                    and ast.unparse(node.func.value) == "logger"
                    and node.func.attr in ("info", "warning", "error", "exception")
                ):
                    text = ast.literal_eval(node.args[0])
                    found.add(re.sub(r"%[.\d]*[a-z]", "…", text))
                elif isinstance(node, ast.Call) and ast.unparse(node.func) == "log_failure":
                    found.add(ast.literal_eval(node.args[1]) + ": …")
    return found


def shown_as(row: str, message: str) -> bool:
    """Parts of a message may be left out where the row has …."""
    parts = [re.escape(part) for part in re.split("…", row)]
    return re.fullmatch(".*".join(parts), message) is not None


def test_every_log_line_has_a_row_and_every_row_a_log_line() -> None:
    messages = logged("controller", "shared/kube/informer.py", "shared/kube/events.py",
        "shared/kube/credentials.py", "shared/process/supervisor.py", "shared/process/listener.py",
        "shared/config/command_line.py")  # fmt: skip
    # Their words come from elsewhere: from a table above, or from the reason why it cannot start.
    spoken = {each for each in messages if re.sub(r"[… ()]", "", each)}
    shown = [message for message, *_ in rows("Logs")]
    assert {each for each in spoken if not any(shown_as(row, each) for row in shown)} == set()
    assert [row for row in shown if not any(shown_as(row, each) for each in spoken)] == []

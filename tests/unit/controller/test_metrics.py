from dataclasses import replace

from prometheus_client import generate_latest

from controller.metrics import ControllerMetrics
from controller.phases.root_cause import RootCause, Source
from controller.reports.reason import Reason


def shown(metrics: ControllerMetrics) -> list[str]:
    lines = generate_latest(metrics.registry).decode().splitlines()
    return [line for line in lines if not line.startswith(("#", "process_"))]


def test_metrics_for_existing_dashboards() -> None:
    metrics = ControllerMetrics()
    metrics.passed("success", 0.01)
    metrics.passed("error", 0.01)
    lines = [line for line in shown(metrics) if "_total{" in line and "root_cause" not in line]
    assert lines == [
        'controller_runtime_reconcile_total{controller="appwrapper",result="success"} 1.0',
        'controller_runtime_reconcile_total{controller="appwrapper",result="requeue_after"} 0.0',
        'controller_runtime_reconcile_total{controller="appwrapper",result="requeue"} 0.0',
        'controller_runtime_reconcile_total{controller="appwrapper",result="error"} 1.0',
        'controller_runtime_reconcile_errors_total{controller="appwrapper"} 1.0',
    ]


def test_the_limit_of_passes_has_the_name_of_controller_runtime() -> None:
    metrics = ControllerMetrics()
    metrics.show_pass_limit(lambda: 3)
    name = "controller_runtime_max_concurrent_reconciles"
    assert metrics.registry.get_sample_value(name, {"controller": "appwrapper"}) == 3


def test_root_causes_are_counted_from_zero_on_and_by_known_words_alone() -> None:
    metrics = ControllerMetrics()
    lines = [line for line in shown(metrics) if line.startswith("appwrapper_root_cause_total")]
    assert len(lines) == 36
    assert {line.rpartition(" ")[2] for line in lines} == {"0.0"}
    own = RootCause(pod="a", origin="User", recoverable=False, source=Source.STORE)
    metrics.found_root_cause(own)
    metrics.found_root_cause(replace(own, origin="cat", recoverable=None, message="secret"))
    assert [line for line in shown(metrics) if line.endswith(" 1.0")] == [
        'appwrapper_root_cause_total{origin="User",recoverable="false",source="Store"} 1.0',
        'appwrapper_root_cause_total{origin="Unknown",recoverable="unknown",source="Store"} 1.0',
    ]


def test_repairs_are_counted_from_zero_on() -> None:
    metrics = ControllerMetrics()
    name = "appwrapper_resync_repairs_total"
    assert metrics.registry.get_sample_value(name) == 0
    metrics.repaired()
    assert metrics.registry.get_sample_value(name) == 1


def test_unexpected_objects_are_at_zero_from_the_start() -> None:
    metrics = ControllerMetrics()
    name = "appwrapper_unexpected_components_total"
    assert metrics.registry.get_sample_value(name) == 0


def test_detection_is_at_zero_for_every_finding_from_the_start() -> None:
    metrics = ControllerMetrics()
    metrics.detection.labels(Reason.FAILED_PODS).observe(0.02)
    counted = [line for line in shown(metrics) if "detection_seconds_count" in line]
    assert sorted(counted) == [
        'appwrapper_detection_seconds_count{reason="AutopilotNoExecute"} 0.0',
        'appwrapper_detection_seconds_count{reason="CreateFailed"} 0.0',
        'appwrapper_detection_seconds_count{reason="DeviceTainted"} 0.0',
        'appwrapper_detection_seconds_count{reason="FailedComponent"} 0.0',
        'appwrapper_detection_seconds_count{reason="FoundFailedPods"} 1.0',
        'appwrapper_detection_seconds_count{reason="InsufficientPodsReady"} 0.0',
        'appwrapper_detection_seconds_count{reason="MissingComponent"} 0.0',
        'appwrapper_detection_seconds_count{reason="NodeUnreachable"} 0.0',
        'appwrapper_detection_seconds_count{reason="Unschedulable"} 0.0',
    ]


def test_no_metric_has_a_creation_time() -> None:
    """They would make a scrape twice as long."""
    metrics = ControllerMetrics()
    assert [line for line in shown(metrics) if "_created" in line] == []

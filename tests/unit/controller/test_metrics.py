from prometheus_client import generate_latest

from controller.metrics import ControllerMetrics
from controller.phases.phase import Reason


def shown(metrics: ControllerMetrics) -> list[str]:
    lines = generate_latest(metrics.registry).decode().splitlines()
    return [line for line in lines if not line.startswith(("#", "process_"))]


def test_what_existing_dashboards_read() -> None:
    metrics = ControllerMetrics()
    metrics.passed("success", 0.01)
    metrics.passed("error", 0.01)
    assert [line for line in shown(metrics) if "_total{" in line] == [
        'controller_runtime_reconcile_total{controller="appwrapper",result="success"} 1.0',
        'controller_runtime_reconcile_total{controller="appwrapper",result="requeue_after"} 0.0',
        'controller_runtime_reconcile_total{controller="appwrapper",result="requeue"} 0.0',
        'controller_runtime_reconcile_total{controller="appwrapper",result="error"} 1.0',
        'controller_runtime_reconcile_errors_total{controller="appwrapper"} 1.0',
    ]


def test_repairs_are_counted_from_zero_on() -> None:
    metrics = ControllerMetrics()
    name = "appwrapper_resync_repairs_total"
    assert metrics.registry.get_sample_value(name) == 0
    metrics.repaired()
    assert metrics.registry.get_sample_value(name) == 1


def test_detection_is_at_zero_for_every_finding_from_the_start() -> None:
    metrics = ControllerMetrics()
    metrics.detected(Reason.FAILED_PODS, 0.02)
    counted = [line for line in shown(metrics) if "detection_seconds_count" in line]
    assert sorted(counted) == [
        'appwrapper_detection_seconds_count{reason="AutopilotNoExecute"} 0.0',
        'appwrapper_detection_seconds_count{reason="CreateFailed"} 0.0',
        'appwrapper_detection_seconds_count{reason="FailedComponent"} 0.0',
        'appwrapper_detection_seconds_count{reason="FoundFailedPods"} 1.0',
        'appwrapper_detection_seconds_count{reason="InsufficientPodsReady"} 0.0',
        'appwrapper_detection_seconds_count{reason="MissingComponent"} 0.0',
    ]


def test_a_scrape_counts_the_appwrappers_of_each_phase() -> None:
    metrics = ControllerMetrics()
    now = {"Running": 2, "": 1}
    metrics.show_phases(lambda: now)
    now["Running"] = 3
    counted = {line for line in shown(metrics) if line.startswith("appwrappers{")}
    assert 'appwrappers{phase="Running"} 3.0' in counted
    assert 'appwrappers{phase=""} 1.0' in counted
    assert 'appwrappers{phase="Failed"} 0.0' in counted
    assert len(counted) == 9


def test_no_line_says_only_when_a_count_began() -> None:
    """They would make a scrape twice as long."""
    metrics = ControllerMetrics()
    assert [line for line in shown(metrics) if "_created" in line] == []

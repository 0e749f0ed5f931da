from prometheus_client import generate_latest

from controller.metrics import ControllerMetrics
from controller.phases.phase import Phase


def shown(metrics: ControllerMetrics) -> list[str]:
    lines = generate_latest(metrics.registry).decode().splitlines()
    return [line for line in lines if "_total{" in line]


def test_what_existing_dashboards_read() -> None:
    metrics = ControllerMetrics()
    metrics.entered("team1", Phase.RUNNING)
    metrics.passed("success", 0.01)
    metrics.passed("error", 0.01)
    assert shown(metrics) == [
        'appwrapper_phase_total{namespace="team1",phase="Running"} 1.0',
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

"""Writes deploy/monitoring: a PrometheusRule, ServiceMonitors, and a dashboard for Grafana."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from scripts.monitoring.alerts import ALERTS, Alert
from shared.config.configuration import CertManagement

FOLDER: Final = Path(__file__).resolve().parents[2] / "deploy" / "monitoring"
PROGRAMS: Final = ("controller", "webhook")
_NAMESPACE: Final = CertManagement().namespace
_HEADER: Final = """\
# Generated from scripts/monitoring/alerts.py by `make generate`; docs/admins/monitoring.md says
# how to install it.
"""
_INTERVAL: Final = "30s"
_DATASOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_HALF, _WHOLE, _HEIGHT = 12, 24, 8

# Panels beside the alerts: title → query, legend, unit.
_FIGURES: Final[Mapping[str, tuple[str, str, str]]] = {
    "AppWrappers by phase": ('sum by (phase) (appwrappers{phase!=""})', "{{phase}}", "short"),
    "Resets an hour, by reason": (
        "sum by (reason) (increase(appwrapper_resets_total[1h]))",
        "{{reason}}",
        "short",
    ),
    "Lost by resets, in seconds times amount": (
        "sum by (resource) (increase(appwrapper_gpu_seconds_lost_total[1h]))",
        "{{resource}}",
        "short",
    ),
    "Capacity that no new pod can have": (
        "sum by (resource, reason) (appwrapper_unschedulable_capacity)",
        "{{resource}} {{reason}}",
        "short",
    ),
    "Oldest AppWrapper in each phase": (
        'max by (phase) (appwrapper_oldest_in_phase_seconds{phase!~"Succeeded|Failed"})',
        "{{phase}}",
        "s",
    ),
    "Deletions that do not end, by finalizer": (
        "sum by (finalizer, kind) (appwrapper_deletions_stuck)",
        "{{kind}} {{finalizer}}",
        "short",
    ),
    "From an attempt's begin to its first pod, 90th percentile": (
        "histogram_quantile(0.9, sum by (le) (rate(appwrapper_first_pod_seconds_bucket[15m])))",
        "p90",
        "s",
    ),
    "Admission requests, 99th percentile": (
        "histogram_quantile(0.99, sum by (le, webhook)"
        " (rate(controller_runtime_webhook_latency_seconds_bucket[5m])))",
        "{{webhook}}",
        "s",
    ),
}


def monitoring_files() -> dict[Path, str]:
    """Return the content of each file."""
    return {
        FOLDER / "rules.yaml": _HEADER + _yaml(prometheus_rule(ALERTS)),
        FOLDER / "service-monitors.yaml": _HEADER
        + "---\n".join(_yaml(service_monitor(each)) for each in PROGRAMS),
        FOLDER / "dashboard.json": json.dumps(dashboard(ALERTS), indent=1) + "\n",
    }


def rule(alert: Alert) -> dict[str, Any]:
    """Return one alerting rule, as Prometheus reads it."""
    return {
        "alert": alert.name,
        "expr": alert.expression(),
        "for": alert.lasts,
        "labels": {"severity": alert.severity.value},
        "annotations": {
            "summary": alert.summary,
            "description": alert.description,
            "runbook_url": alert.runbook,
        },
    }


def prometheus_rule(alerts: Iterable[Alert]) -> dict[str, Any]:
    """Return the object that the Prometheus operator reads."""
    groups = [{"name": "appwrapper", "rules": [rule(each) for each in alerts]}]
    return _object("PrometheusRule", "appwrapper", {"groups": groups})


def service_monitor(program: str) -> dict[str, Any]:
    """Return a ServiceMonitor: each replica is scraped, by the Service for metrics."""
    labels = {"app.kubernetes.io/name": "appwrapper", "app.kubernetes.io/component": program}
    spec = {
        "selector": {"matchLabels": labels},
        # Metrics have their own label `namespace`; it must win over the scraped pod's.
        "endpoints": [{"port": "metrics", "interval": _INTERVAL, "honorLabels": True}],
    }
    return _object("ServiceMonitor", f"appwrapper-{program}", spec)


def dashboard(alerts: Iterable[Alert]) -> dict[str, Any]:
    """Return the dashboard in Grafana's JSON: figures first, then one panel for each alert."""
    panels = [_panel(title, *figure) for title, figure in _FIGURES.items()]
    panels += [_alert_panel(each) for each in alerts]
    for number, panel in enumerate(panels):
        row, right = divmod(number, _WHOLE // _HALF)
        panel["id"] = number + 1
        panel["gridPos"] = {"x": right * _HALF, "y": row * _HEIGHT, "w": _HALF, "h": _HEIGHT}
    source = {"name": "datasource", "type": "datasource", "query": "prometheus"}
    return {
        "title": "AppWrappers",
        "uid": "appwrapper",
        "tags": ["appwrapper"],
        "schemaVersion": 39,
        "time": {"from": "now-6h", "to": "now"},
        "refresh": "1m",
        "templating": {"list": [source]},
        "panels": panels,
    }


def _alert_panel(alert: Alert) -> dict[str, Any]:
    panel = _panel(alert.name, alert.figure, "__auto", alert.unit)
    panel["description"] = f"{alert.description} Runbook: {alert.runbook}"
    if alert.threshold:
        steps = [{"color": "text", "value": None}, {"color": "red", "value": alert.threshold}]
        defaults = panel["fieldConfig"]["defaults"]
        defaults["thresholds"] = {"mode": "absolute", "steps": steps}
        defaults["custom"] = {"thresholdsStyle": {"mode": "line"}}
    return panel


def _panel(title: str, expression: str, legend: str, unit: str) -> dict[str, Any]:
    target = {
        "datasource": _DATASOURCE,
        "expr": expression,
        "legendFormat": legend,
        "refId": "A",
    }
    return {
        "title": title,
        "type": "timeseries",
        "datasource": _DATASOURCE,
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [target],
    }


def _object(kind: str, name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": "appwrapper"}
    metadata = {"name": name, "namespace": _NAMESPACE, "labels": labels}
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": dict(spec),
    }


def _yaml(value: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(value), sort_keys=False, width=1_000)

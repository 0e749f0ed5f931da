"""What Prometheus reads, line by line."""

import re
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from prometheus_client import generate_latest

from webhook.metrics import WebhookMetrics
from webhook.verdicts import ErrorReason


@pytest.fixture
def metrics() -> WebhookMetrics:
    return WebhookMetrics({"/mutate": (), "/validate": ("nesting", "names")})


def shown(metrics: WebhookMetrics, prefix: str) -> dict[str, float]:
    """Every line that begins so, without the prefix."""
    lines = generate_latest(metrics.registry).decode().splitlines()
    found = [line.removeprefix(prefix).rpartition(" ") for line in lines if line.startswith(prefix)]
    return {name: float(value) for name, _, value in found}


def test_metrics_for_dashboards_exist_at_zero_from_the_start(metrics: WebhookMetrics) -> None:
    assert shown(metrics, "controller_runtime_webhook_requests_total") == {
        '{code="200",webhook="/mutate"}': 0,
        '{code="500",webhook="/mutate"}': 0,
        '{code="200",webhook="/validate"}': 0,
        '{code="500",webhook="/validate"}': 0,
    }
    assert shown(metrics, "controller_runtime_webhook_latency_seconds_count") == {
        '{webhook="/mutate"}': 0,
        '{webhook="/validate"}': 0,
    }
    assert shown(metrics, "appwrapper_webhook_denials_total") == {
        '{rule="nesting",webhook="/validate"}': 0,
        '{rule="names",webhook="/validate"}': 0,
    }
    assert shown(metrics, "appwrapper_webhook_errors_total") == {
        f'{{reason="{reason}",webhook="{path}"}}': 0
        for path in ("/mutate", "/validate")
        for reason in ("bug", "missing_facts", "unusable_request")
    }


def test_a_request_is_in_flight_until_it_is_answered(metrics: WebhookMetrics) -> None:
    path = metrics["/mutate"]
    began = path.began()
    in_flight = "controller_runtime_webhook_requests_in_flight"
    assert shown(metrics, in_flight) == {'{webhook="/mutate"}': 1, '{webhook="/validate"}': 0}
    path.ended(began, 200)
    assert shown(metrics, in_flight) == {'{webhook="/mutate"}': 0, '{webhook="/validate"}': 0}
    assert shown(metrics, 'controller_runtime_webhook_requests_total{code="200"') == {
        ',webhook="/mutate"}': 1,
        ',webhook="/validate"}': 0,
    }


def test_latencies_fall_into_buckets_and_any_status_is_counted(
    metrics: WebhookMetrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webhook.metrics.time", SimpleNamespace(perf_counter=lambda: 100.0))
    path = metrics["/validate"]
    for seconds, code in ((0.0002, 200), (0.02, 413), (60, 200)):
        path.began()
        path.ended(100.0 - seconds, code)
    buckets = shown(metrics, "controller_runtime_webhook_latency_seconds_bucket")
    at = {name.split('"')[1]: count for name, count in buckets.items() if "/validate" in name}
    assert (at["0.0005"], at["0.01"], at["0.025"], at["10.0"], at["+Inf"]) == (1, 1, 2, 2, 3)
    assert shown(metrics, 'controller_runtime_webhook_requests_total{code="413"') == {
        ',webhook="/validate"}': 1
    }


def test_a_denial_counts_for_each_of_its_rules(metrics: WebhookMetrics) -> None:
    metrics["/validate"].denied(("names", "unheard_of"))
    metrics["/validate"].denied(("names",))
    assert shown(metrics, "appwrapper_webhook_denials_total") == {
        '{rule="nesting",webhook="/validate"}': 0,
        '{rule="names",webhook="/validate"}': 2,
        '{rule="unheard_of",webhook="/validate"}': 1,
    }


def test_an_errored_request_counts_for_its_reason(metrics: WebhookMetrics) -> None:
    metrics["/mutate"].errored(ErrorReason.MISSING_FACTS)
    counted = shown(metrics, "appwrapper_webhook_errors_total")
    assert {name: count for name, count in counted.items() if count} == {
        '{reason="missing_facts",webhook="/mutate"}': 1
    }


def test_the_certificates_expiry_is_shown_in_seconds_since_the_epoch(
    metrics: WebhookMetrics,
) -> None:
    expiry: list[datetime | None] = [None]
    warning: list[str | None] = [None]
    metrics.watch_certificate(lambda: expiry[0], lambda: warning[0])
    name = "appwrapper_webhook_certificate_expiration_timestamp_seconds"
    assert shown(metrics, name) == {"": 0}
    expiry[0] = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert shown(metrics, name) == {"": 1767268800}
    assert shown(metrics, "appwrapper_webhook_certificate_warning") == {"": 0}
    warning[0] = "the Secret does not exist"
    assert shown(metrics, "appwrapper_webhook_certificate_warning") == {"": 1}


def test_readiness_is_asked_for_at_each_scrape(metrics: WebhookMetrics) -> None:
    problem: list[str | None] = ["no certificate yet"]
    metrics.show_ready(lambda: problem[0])
    assert shown(metrics, "appwrapper_webhook_ready") == {"": 0}
    problem[0] = None
    assert shown(metrics, "appwrapper_webhook_ready") == {"": 1}


def test_the_process_itself_is_measured(metrics: WebhookMetrics) -> None:
    assert shown(metrics, "process_resident_memory_bytes")[""] > 1_000_000


def test_the_documentation_lists_every_own_metric_and_no_other(
    metrics: WebhookMetrics,
) -> None:
    metrics.watch_certificate(lambda: None, lambda: None)
    metrics.show_ready(lambda: None)
    both = (Path(__file__).parents[3] / "docs" / "admins" / "metrics.md").read_text(
        encoding="utf-8"
    )
    page, _, _ = both.partition("\n## The controller\n")
    assert page != both
    documented = set(re.findall(r"^\| `(\w+)` \| (?:`\w+`(?:, )?)* ?\|", page, re.MULTILINE))
    families = {
        family.name + ("_total" if family.type == "counter" else "")
        for family in metrics.registry.collect()
        if not family.name.startswith("process_")
    }
    assert documented == families
    assert all(f"`{reason}`" in page for reason in ErrorReason)

"""Count requests under the names that existing dashboards use.

Requests, latency and requests in flight have controller-runtime's names and labels; the others are
this project's. All metrics together cost a request about 2 µs.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from webhook.verdicts import ErrorReason

# Seconds. Most reviews take less than a millisecond; the API server gives up after ten seconds.
_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
# controller-runtime shows these from the start.
_LIKELY_CODES = (200, 500)


class PathMetrics:
    """The metrics of one path of the webhook, `/mutate` or `/validate`."""

    def __init__(self, path: str, metrics: "WebhookMetrics", rules: Iterable[str]) -> None:
        self._path = path
        self._all = metrics
        # Found once: finding a label's counter costs more than counting.
        self._seconds = metrics.seconds.labels(path)
        self._in_flight = metrics.in_flight.labels(path)
        self._answered = {code: metrics.requests.labels(path, code) for code in _LIKELY_CODES}
        # Zero from the start: a rate over a counter that appears later misses its first step.
        for rule in rules:
            metrics.denials.labels(path, rule)
        for reason in ErrorReason:
            metrics.errors.labels(path, reason)

    def began(self) -> float:
        """Count a request in flight. Return its start for `ended`."""
        self._in_flight.inc()
        return time.perf_counter()

    def ended(self, began: float, code: int) -> None:
        """Count a request that was answered with this HTTP status."""
        self._seconds.observe(time.perf_counter() - began)
        self._in_flight.dec()
        answered = self._answered.get(code)
        if answered is None:
            answered = self._all.requests.labels(self._path, code)
        answered.inc()

    def denied(self, rules: Iterable[str]) -> None:
        for rule in rules:
            self._all.denials.labels(self._path, rule).inc()

    def errored(self, reason: ErrorReason) -> None:
        self._all.errors.labels(self._path, reason).inc()


class WebhookMetrics:
    """Hold the metrics of one process; the endpoint shows `registry`.

    `rules` are the names of the rules that may deny at each path.
    """

    def __init__(self, rules: Mapping[str, Iterable[str]]) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            "controller_runtime_webhook_requests_total",
            "Total number of admission requests by HTTP status code.",
            ("webhook", "code"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "controller_runtime_webhook_latency_seconds",
            "Histogram of the latency of processing admission requests.",
            ("webhook",),
            registry=self.registry,
            buckets=_BUCKETS,
        )
        self.in_flight = Gauge(
            "controller_runtime_webhook_requests_in_flight",
            "Current number of admission requests being served.",
            ("webhook",),
            registry=self.registry,
        )
        self.denials = Counter(
            "appwrapper_webhook_denials_total",
            "Denied requests, counted once for each rule that denied them.",
            ("webhook", "rule"),
            registry=self.registry,
        )
        self.errors = Counter(
            "appwrapper_webhook_errors_total",
            "Requests that failed because the webhook could not check them, by reason.",
            ("webhook", "reason"),
            registry=self.registry,
        )
        self._paths = {path: PathMetrics(path, self, names) for path, names in rules.items()}

    def __getitem__(self, path: str) -> PathMetrics:
        return self._paths[path]

    def show_ready(self, problem: Callable[[], str | None]) -> None:
        """Show at each scrape whether this replica can check requests."""
        Gauge(
            "appwrapper_webhook_ready",
            "1 while this replica can check requests, as /readyz reports.",
            registry=self.registry,
        ).set_function(lambda: float(problem() is None))

    def watch_certificate(
        self, expiry: Callable[[], datetime | None], warning: Callable[[], str | None]
    ) -> None:
        """Show when the served certificate expires, and whether there is a warning about it."""

        def timestamp() -> float:
            moment = expiry()
            return 0.0 if moment is None else moment.timestamp()

        Gauge(
            "appwrapper_webhook_certificate_expiration_timestamp_seconds",
            "When the serving certificate expires, in seconds since the epoch; 0 for none yet.",
            registry=self.registry,
        ).set_function(timestamp)
        Gauge(
            "appwrapper_webhook_certificate_warning",
            "1 while an admin should correct something about certificates; /readyz reports what.",
            registry=self.registry,
        ).set_function(lambda: float(warning() is not None))

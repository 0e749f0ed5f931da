from dataclasses import dataclass

from prometheus_client import generate_latest

from controller.facts.own_status import Standing
from controller.metrics import ControllerMetrics
from shared.api.objects import PODS, Resource


def shown(metrics: ControllerMetrics) -> list[str]:
    lines = generate_latest(metrics.registry).decode().splitlines()
    return [line for line in lines if not line.startswith(("#", "process_"))]


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


def test_a_scrape_shows_the_longest_wait_of_each_namespace() -> None:
    metrics = ControllerMetrics()
    known = [
        ("a", Standing(waits_since=900.0)),
        ("a", Standing(waits_since=400.0)),
        ("a", Standing(unused_since=950.0, deletion_blocked=True)),
        ("b", Standing(waits_since=1_007.0)),  # by a clock that is ahead
    ]
    metrics.show_standings(lambda: known, lambda: 1_000.0)
    found = [line for line in shown(metrics) if "{namespace=" in line]
    assert found == [
        'appwrapper_longest_wait_seconds{namespace="a"} 600.0',
        'appwrapper_longest_wait_seconds{namespace="b"} 0.0',
        'appwrapper_longest_quota_without_pods_seconds{namespace="a"} 50.0',
        'appwrapper_longest_quota_without_pods_seconds{namespace="b"} 0.0',
        'appwrapper_deletions_blocked{namespace="a"} 1.0',
        'appwrapper_deletions_blocked{namespace="b"} 0.0',
    ]
    known.clear()
    assert not [line for line in shown(metrics) if "{namespace=" in line]


@dataclass
class Watch:
    """An informer of which only the last answer matters."""

    resource: Resource
    progressed: float


def test_a_scrape_shows_the_oldest_answer_about_each_resource() -> None:
    metrics = ControllerMetrics()
    jobs = (Resource("batch", version, "jobs", "Job") for version in ("v1", "v2"))
    volcano = Resource("batch.volcano.sh", "v1alpha1", "jobs", "Job")
    known = [Watch(PODS, 990.0), Watch(volcano, 999.0), *map(Watch, jobs, (880.0, 1_000.0))]
    metrics.show_watches(lambda: known, lambda: 1_000.0)
    ages = [line for line in shown(metrics) if line.startswith("appwrapper_watch_age")]
    assert ages == [
        'appwrapper_watch_age_seconds{resource="pods"} 10.0',
        'appwrapper_watch_age_seconds{resource="jobs.batch.volcano.sh"} 1.0',
        'appwrapper_watch_age_seconds{resource="jobs.batch"} 120.0',
    ]
    del known[1:]
    ages = [line for line in shown(metrics) if line.startswith("appwrapper_watch_age")]
    assert ages == ['appwrapper_watch_age_seconds{resource="pods"} 10.0']

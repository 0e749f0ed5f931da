from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from prometheus_client import generate_latest

from controller.facts.appwrapper_outline import Outline
from controller.gauges import AppWrapperGauges, watch_gauge
from controller.memory.deletions import Explanation
from controller.memory.memory import Memory
from controller.metrics import ControllerMetrics
from controller.phases.phase import Phase
from controller.replica_metrics import ReplicaMetrics
from controller.runtime.leadership import LeaseState
from shared.api.objects import PODS, Resource
from tests.support.moments import NOW


def shown(metrics: ControllerMetrics | ReplicaMetrics) -> list[str]:
    lines = generate_latest(metrics.registry).decode().splitlines()
    return [line for line in lines if not line.startswith(("#", "process_"))]


def known(name: str, phase: str = "Running", **fields: Any) -> tuple[tuple[str, str], Outline]:
    """One AppWrapper of namespace a, or of the one before a slash."""
    namespace, _, short = name.rpartition("/")
    outline = Outline(uid=name, phase=phase, is_ours=True, text=b"{}", **fields)
    return (namespace or "a", short), outline


def show(
    metrics: ControllerMetrics, outlines: Any, has_pods: Callable[[Any], bool] = lambda _: True
) -> None:
    metrics.registry.register(AppWrapperGauges(outlines, has_pods, lambda: 1_000.0))


def test_a_scrape_counts_the_appwrappers_of_each_phase() -> None:
    metrics = ControllerMetrics()
    outlines = [known("r1"), known("r2"), known("new", "")]
    show(metrics, lambda: outlines)
    outlines.append(known("r3"))
    counted = {line for line in shown(metrics) if line.startswith("appwrappers{")}
    assert 'appwrappers{phase="Running"} 3.0' in counted
    assert 'appwrappers{phase=""} 1.0' in counted
    assert 'appwrappers{phase="Failed"} 0.0' in counted
    assert len(counted) == 9


def test_a_scrape_shows_the_longest_wait_of_each_namespace() -> None:
    metrics = ControllerMetrics()
    outlines = [
        known("w1", "Suspended", phase_since=900.0),
        known("w2", "", phase_since=400.0),
        known("w3", phase_since=7.0, unused_since=950.0, deletion_blocked=True),
        known("w5", "Suspended", phase_since=7.0, deleting=True),
        known("b/w4", "Suspended", phase_since=1_007.0),  # by a clock that is ahead
    ]
    show(metrics, lambda: outlines)
    found = [line for line in shown(metrics) if "{namespace=" in line and "_held_" not in line]
    assert found == [
        'appwrapper_longest_wait_seconds{namespace="a"} 600.0',
        'appwrapper_longest_wait_seconds{namespace="b"} 0.0',
        'appwrapper_longest_quota_without_pods_seconds{namespace="a"} 50.0',
        'appwrapper_longest_quota_without_pods_seconds{namespace="b"} 0.0',
        'appwrapper_deletions_blocked{namespace="a"} 1.0',
        'appwrapper_deletions_blocked{namespace="b"} 0.0',
    ]
    outlines.clear()
    assert not [line for line in shown(metrics) if "{namespace=" in line]


def test_a_scrape_shows_the_quota_that_is_held_without_any_pod() -> None:
    metrics = ControllerMetrics()
    four = (("nvidia.com/gpu", 4.0),)
    since = 939.0
    outlines = [
        known("long", unused_since=since, requested=four),
        known("longer", unused_since=100.0, requested=four),
        known("pods", unused_since=since, requested=four),
        known("minute", unused_since=940.0, requested=four),
        known("b/ready", requested=four),
        known("c/cpu", unused_since=since),
    ]
    with_pods = {("a", "pods"), ("b", "ready")}
    show(metrics, lambda: outlines, lambda key: key in with_pods)
    assert [line for line in shown(metrics) if "_held_" in line] == [
        'appwrapper_quota_held_without_pods{namespace="a"} 2.0',
        'appwrapper_quota_held_without_pods{namespace="b"} 0.0',
        'appwrapper_quota_held_without_pods{namespace="c"} 1.0',
        'appwrapper_quota_amount_held_without_pods{namespace="a",resource="nvidia.com/gpu"} 8.0',
        'appwrapper_quota_amount_held_without_pods{namespace="b",resource="nvidia.com/gpu"} 0.0',
    ]


def test_a_scrape_shows_the_oldest_appwrapper_of_each_phase() -> None:
    metrics = ControllerMetrics()
    outlines = [
        known("new", "", phase_since=999.0),
        known("r1", phase_since=700.0),
        known("r2", phase_since=100.0),
        known("r3", phase_since=None),
        known("p1", "Resetting", phase_since=1_002.0),  # by a clock that is ahead
        known("other", "Paused"),  # another operator's phase
    ]
    show(metrics, lambda: outlines)
    phases = [line for line in shown(metrics) if line.startswith("appwrapper_oldest_in_phase")]
    assert len(phases) == len(Phase)
    assert [line for line in phases if not line.endswith(" 0.0")] == [
        'appwrapper_oldest_in_phase_seconds{phase=""} 1.0',
        'appwrapper_oldest_in_phase_seconds{phase="Running"} 900.0',
    ]


def test_a_scrape_shows_the_stuck_deletions_by_finalizer_and_kind() -> None:
    metrics, memory = ControllerMetrics(), Memory()
    metrics.show_stuck_deletions(memory.deletions.stuck)
    assert "appwrapper_deletions_stuck{" not in "\n".join(shown(metrics))
    job, pods = ("other", "Job"), ("none", "Pod")
    for uid, stuck in (("u1", ((job, 1),)), ("u2", ((pods, 3), (job, 1))), ("u3", ())):
        memory.deletions.of(uid).explanation = Explanation(NOW, False, (), (), stuck=stuck)
    assert [line for line in shown(metrics) if "deletions_stuck{" in line] == [
        'appwrapper_deletions_stuck{finalizer="none",kind="Pod"} 3.0',
        'appwrapper_deletions_stuck{finalizer="other",kind="Job"} 2.0',
    ]
    memory.deletions.end("u2")
    memory.forget("u1", ("team1", "train"))
    assert "appwrapper_deletions_stuck{" not in "\n".join(shown(metrics))


@dataclass
class Watch:
    """An informer of which only the last answer matters."""

    resource: Resource
    progressed: float


def test_a_scrape_shows_the_oldest_answer_about_each_resource() -> None:
    jobs = (Resource("batch", version, "jobs", "Job") for version in ("v1", "v2"))
    volcano = Resource("batch.volcano.sh", "v1alpha1", "jobs", "Job")
    watches = [Watch(PODS, 990.0), Watch(volcano, 999.0), *map(Watch, jobs, (880.0, 1_000.0))]
    metrics = ReplicaMetrics(
        lambda: True, LeaseState(), watch_gauge(lambda: watches, lambda: 1_000.0)
    )
    ages = [line for line in shown(metrics) if line.startswith("appwrapper_watch_age")]
    assert ages == [
        'appwrapper_watch_age_seconds{resource="pods"} 10.0',
        'appwrapper_watch_age_seconds{resource="jobs.batch.volcano.sh"} 1.0',
        'appwrapper_watch_age_seconds{resource="jobs.batch"} 120.0',
    ]
    del watches[1:]
    ages = [line for line in shown(metrics) if line.startswith("appwrapper_watch_age")]
    assert ages == ['appwrapper_watch_age_seconds{resource="pods"} 10.0']

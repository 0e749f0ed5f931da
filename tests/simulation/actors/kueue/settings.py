"""Kueue's configuration, as far as an AppWrapper's controller can notice it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from shared.api.objects import Resource
from tests.simulation.api.kinds import JOBS


@dataclass(frozen=True, slots=True)
class PodsReady:
    """`waitForPodsReady`, in seconds. `limit`: how often Kueue requeues; None: without limit."""

    timeout: float = 1800.0
    recovery: float | None = 1800.0
    limit: int | None = None
    first_backoff: int = 60
    longest_backoff: int = 3600


@dataclass(frozen=True, slots=True)
class Settings:
    """The defaults are those of Kueue 0.19, with the integration of AppWrappers only.

    `finishes_orphans`: Kueue finishes the Workload as soon as the AppWrapper is being deleted. That
    is the feature gate FinishOrphanedWorkloads, on since 0.18.
    `children`: Kinds that Kueue manages itself, so that it suspends them under an AppWrapper
    without admission. That helps the product: stray Jobs do not run. `priorities`: the values of
    the classes, of workloads and of pods.
    """

    pods_ready: PodsReady | None = field(default_factory=PodsReady)
    finishes_orphans: bool = True
    children: frozenset[Resource] = frozenset()
    priorities: Mapping[str, int] = field(default_factory=dict)


OLDEST: Final = Settings(pods_ready=None, finishes_orphans=False)
"""The defaults of Kueue 0.16, the oldest that the product supports."""

WITH_JOBS: Final = Settings(children=frozenset({JOBS}))
"""The integrations of the local cluster."""

IMPATIENT: Final = Settings(
    pods_ready=PodsReady(timeout=10.0, recovery=45.0, limit=2, first_backoff=5, longest_backoff=20)
)
"""It evicts an AppWrapper whose pods are slow, and deactivates it at the third time in a row."""

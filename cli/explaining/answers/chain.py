"""Try every answer in order. Pure."""

from collections.abc import Callable
from typing import Final

from cli.explaining.answers import (
    deletion,
    deployed,
    ended,
    not_started,
    pods,
    queue,
    quota,
    retry_pause,
)
from cli.explaining.case import Case, SituationAnswer

AnswerRule = Callable[[Case], SituationAnswer | None]

# The last rule of each list always applies.
WAITING: Final[tuple[AnswerRule, ...]] = (
    queue.held_by_its_user,
    queue.suspended_by_its_user,
    queue.about_to_start,
    queue.kueue_is_missing,
    queue.no_workload,
    queue.queue_has_trouble,
    queue.workload_is_stuck,
    queue.namespace_is_refused,
    quota.never_fits,
    quota.no_flavor_matches,
    quota.larger_than_any_node,
    quota.backs_off,
    quota.waits_for_quota,
    quota.cannot_be_seen,
    quota.waits_for_its_turn,
)
DEPLOYED: Final[tuple[AnswerRule, ...]] = (
    deployed.namespace_ends,
    deployed.cannot_create,
    deployed.creating,
    deployed.reset_is_held,
    deployed.pods_run_after_end,
    pods.refused_by_pod_security,
    deployed.unhealthy,
    pods.nodes_are_unreachable,
    pods.pods_wait,
    pods.pods_are_missing,
    deployed.runs,
)
OTHERS: Final[tuple[AnswerRule, ...]] = (
    not_started.managed_by_another,
    not_started.not_seen_yet,
    retry_pause.retry_pause,
    deletion.deleting,
    ended.succeeded,
    ended.failed,
)


def answer(case: Case) -> SituationAnswer:
    """Return the first answer that applies."""
    rules = OTHERS
    if case.appwrapper.is_ours and queue.is_waiting(case):
        rules = WAITING
    elif case.appwrapper.is_ours and deployed.is_deployed(case):
        rules = DEPLOYED
    found = (rule(case) for rule in rules)
    return next(each for each in found if each is not None)

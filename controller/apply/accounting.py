"""Write one log line for each AppWrapper that ends. docs/admins/accounting.md has its format."""

import logging
from collections.abc import Collection
from datetime import datetime
from decimal import Decimal
from typing import Final

from controller.facts.phase_times import phase_began
from controller.phases.actions import MoveTo
from controller.phases.phase import Phase
from shared.api.amounts import added_up
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import is_true, transition_time
from shared.api.names import ANNOTATION_SUBMITTED_BY, CONDITION_QUOTA_RESERVED, LABEL_USER
from shared.api.times import format_time
from shared.process.logs import FIGURES, object_fields
from shared.waits.component_requests import component_requests
from shared.waits.gpus import gpu_hours, gpus_in
from shared.waits.quota_time import quota_time

logger = logging.getLogger("accounting")

_ENDED: Final = frozenset({Phase.SUCCEEDED, Phase.FAILED})


def log_end(
    before: AppWrapper, written: AppWrapper, move: MoveTo, gpus: Collection[str], now: datetime
) -> None:
    """Write the line if the move ends the AppWrapper, or if a user deleted it before its end.

    `before`: the AppWrapper without the status write. `written`: the API server's answer to it,
    with the components. `gpus`: the resources that count as GPUs.
    """
    was_deleted = move.phase is Phase.TERMINATING and before.status.get("phase") not in _ENDED
    if move.phase not in _ENDED and not was_deleted:
        return
    logger.info(
        "ended",
        extra=object_fields(
            written.namespace,
            written.name,
            written.uid,
            phase=move.phase.value,
            reason=move.reason.value,
        )
        | {FIGURES: _figures(before, written, gpus, now)},
    )


def _figures(
    before: AppWrapper, written: AppWrapper, gpus: Collection[str], now: datetime
) -> dict[str, object]:
    held = is_true(before.conditions, CONDITION_QUOTA_RESERVED)
    began = transition_time(before.conditions, CONDITION_QUOTA_RESERVED) if held else None
    asked = added_up(each.total for each in component_requests(written.components))
    amount, time = gpus_in(asked, gpus), quota_time(written, now)
    labels = written.labels
    return {
        "user": written.annotations.get(ANNOTATION_SUBMITTED_BY) or labels.get(LABEL_USER) or "",
        "queue": written.queue_name,
        "created": written.metadata.get("creationTimestamp"),
        "began": format_time(began) if began else None,
        "ended": format_time(phase_began(written) or now),
        "attempts": written.attempt,
        "retries": written.retries,
        "gpus": _number(amount),
        "quotaSeconds": None if time is None else int(time.total_seconds()),
        "gpuHours": None if time is None else _number(gpu_hours(amount, time)),
    }


def _number(value: Decimal) -> int | float:
    return int(value) if value == int(value) else float(value)

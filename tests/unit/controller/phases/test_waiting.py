"""Why it waits in its queue: what QuotaReserved says, when, and how often."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.phases import decide
from controller.phases.actions import (
    Actions,
    ClearTimer,
    SetCondition,
    StartTimer,
    Timer,
    WakeAfter,
)
from controller.phases.phase import Phase
from controller.phases.snapshot import ConditionText, Queueing, Snapshot, Timers
from controller.phases.waiting import (
    MOMENT,
    REASON_INTERVAL,
    TURN,
    UNMANAGED_INTERVAL,
    WORKLOAD_PATIENCE,
)
from controller.reports.quota_reserved import LONGEST_MESSAGE
from controller.reports.reason import Reason
from tests.support.decisions import CONFIG
from tests.support.moments import NOW

QUOTA = "QuotaReserved"
SECOND = timedelta(seconds=1)
SAYS = StartTimer(Timer.QUEUE_REASON)
WRITTEN = Timers(queue_reason=NOW - REASON_INTERVAL)
NO_QUEUE = Queueing(workload=True, trouble="LocalQueue q does not exist", certain=True)
INACTIVE = Queueing(workload=True, trouble="ClusterQueue c is inactive", pending="it is inactive")
SHORT = Queueing(workload=True, pending="insufficient quota for cpu")
PREEMPTED = replace(SHORT, evicted="Preempted: by Job urgent of namespace b")
NOTHING = Queueing(workload=False)
PROVED = Queueing(workload=False, unmanaged="Kueue's configuration lacks it", certain=True)
ABSENT = replace(PROVED, certain=False)
CONSIDERED = Queueing(workload=True, considered=True)
LACKS = "Kueue's configuration lacks it. Until an admin changes that, nothing starts it"
GUESS = (
    "Kueue makes no Workload for it, so nothing starts it. Possible causes: no"
    " PriorityClass has the name that a pod's priorityClassName gives; the namespace lacks a"
    " label that managedJobsNamespaceSelector in Kueue's configuration asks for;"
    " integrations.frameworks there lacks workload.codeflare.dev/appwrapper; or Kueue does not run."
    " Ask an admin, or run: appwrapper explain"
)
WAITS = Snapshot(
    phase=Phase.SUSPENDED,
    suspend=True,
    queued=True,
    waits_since=NOW - MOMENT,
    condition_texts={QUOTA: ConditionText(Reason.SUSPENDED)},
)


def says(reason: Reason, message: str = "") -> SetCondition:
    return SetCondition(QUOTA, False, reason, message)


def with_text(reason: str, message: str, queueing: Queueing | None, **changes: Any) -> Snapshot:
    return replace(
        WAITS, queueing=queueing, condition_texts={QUOTA: ConditionText(reason, message)}, **changes
    )


def absent(since: timedelta, queueing: Queueing = NOTHING, **changes: Any) -> Snapshot:
    return replace(WAITS, queueing=queueing, timers=Timers(no_workload=NOW - since), **changes)


def case(name: str, snapshot: Snapshot, *expected: Any) -> Any:
    return pytest.param(snapshot, expected, id=name)


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        case("nothing is known", WAITS),
        case(
            "no such queue, at once",
            replace(WAITS, queueing=NO_QUEUE, waits_since=NOW),
            says(Reason.QUEUE_UNUSABLE, "LocalQueue q does not exist"),
            SAYS,
        ),
        case("it is said already", with_text(Reason.QUEUE_UNUSABLE, NO_QUEUE.trouble, NO_QUEUE)),
        case(
            "inactive may be over in a moment",
            replace(WAITS, queueing=INACTIVE, waits_since=NOW - SECOND),
            WakeAfter(MOMENT - SECOND),
        ),
        case(
            "inactive",
            replace(WAITS, queueing=INACTIVE),
            says(Reason.QUEUE_UNUSABLE, "ClusterQueue c is inactive"),
            SAYS,
        ),
        case(
            "the queue is there again, Kueue may admit it now",
            with_text(Reason.QUEUE_UNUSABLE, NO_QUEUE.trouble, SHORT),
            says(Reason.SUSPENDED),
            SAYS,
            WakeAfter(REASON_INTERVAL),
        ),
        case(
            "it has just come", replace(WAITS, queueing=SHORT, waits_since=NOW), WakeAfter(MOMENT)
        ),
        case(
            "Kueue's reason",
            replace(WAITS, queueing=SHORT),
            says(Reason.SUSPENDED, "Kueue reports: insufficient quota for cpu"),
            SAYS,
        ),
        case(
            "it is unknown since when it waits",
            replace(WAITS, queueing=SHORT, waits_since=None),
            says(Reason.SUSPENDED, "Kueue reports: insufficient quota for cpu"),
            SAYS,
        ),
        case(
            "the same as before",
            with_text(Reason.SUSPENDED, "Kueue reports: insufficient quota for cpu", SHORT),
        ),
        case(
            "another reason too soon",
            with_text(
                Reason.SUSPENDED,
                "Kueue reports: old",
                SHORT,
                timers=Timers(queue_reason=NOW - SECOND),
            ),
            WakeAfter(REASON_INTERVAL - SECOND),
        ),
        case(
            "another reason in time",
            with_text(Reason.SUSPENDED, "Kueue reports: old", SHORT, timers=WRITTEN),
            says(Reason.SUSPENDED, "Kueue reports: insufficient quota for cpu"),
            SAYS,
        ),
        case(
            "Kueue says nothing yet",
            replace(WAITS, queueing=Queueing(workload=True)),
            WakeAfter(TURN - MOMENT),
        ),
        case(
            "Kueue has said nothing for long",
            replace(WAITS, queueing=Queueing(workload=True), waits_since=NOW - TURN),
            says(
                Reason.SUSPENDED,
                "Kueue has not considered it yet: it waits for its turn in the queue",
            ),
            SAYS,
        ),
        case(
            "Kueue is about to start it",
            replace(WAITS, queueing=CONSIDERED, waits_since=NOW - TURN),
        ),
        case(
            "Kueue says nothing more",
            with_text(Reason.SUSPENDED, "Kueue reports: old", Queueing(workload=True)),
        ),
        case(
            "preempted",
            replace(WAITS, queueing=PREEMPTED),
            says(
                Reason.SUSPENDED,
                "Kueue evicted it (Preempted: by Job urgent of namespace b). Kueue reports:"
                " insufficient quota for cpu",
            ),
            SAYS,
        ),
        case(
            "preempted just now",
            replace(WAITS, queueing=replace(PREEMPTED, pending=PREEMPTED.evicted[11:])),
            says(Reason.SUSPENDED, "Kueue reports: by Job urgent of namespace b"),
            SAYS,
        ),
        case(
            "evicted just now, until some time",
            replace(
                WAITS,
                queueing=replace(
                    PREEMPTED,
                    evicted="PodsReadyTimeout: too slow.",
                    pending="too slow. Kueue queues it again at 12:00",
                ),
            ),
            says(Reason.SUSPENDED, "Kueue reports: too slow. Kueue queues it again at 12:00"),
            SAYS,
        ),
        case(
            "evicted, and not considered since",
            replace(WAITS, queueing=replace(PREEMPTED, pending="")),
            says(Reason.SUSPENDED, "Kueue evicted it (Preempted: by Job urgent of namespace b)."),
            SAYS,
        ),
        case(
            "no Workload yet", replace(WAITS, queueing=NOTHING, waits_since=NOW), WakeAfter(MOMENT)
        ),
        case(
            "no Workload after a moment",
            replace(WAITS, queueing=NOTHING),
            StartTimer(Timer.NO_WORKLOAD),
            WakeAfter(WORKLOAD_PATIENCE),
        ),
        case(
            "no Workload for a while",
            absent(WORKLOAD_PATIENCE - SECOND),
            WakeAfter(SECOND),
        ),
        case(
            "no Workload for too long",
            absent(WORKLOAD_PATIENCE),
            says(Reason.NO_WORKLOAD, GUESS),
            SAYS,
            WakeAfter(UNMANAGED_INTERVAL),
        ),
        case(
            "it is proved why, after a moment",
            replace(WAITS, queueing=PROVED),
            StartTimer(Timer.NO_WORKLOAD),
            says(Reason.NO_WORKLOAD, LACKS),
            SAYS,
            WakeAfter(UNMANAGED_INTERVAL),
        ),
        case(
            "it is proved why, within that moment",
            replace(WAITS, queueing=PROVED, waits_since=NOW),
            WakeAfter(MOMENT),
        ),
        case(
            "Kueue's API is away, which an API server that starts may say",
            absent(WORKLOAD_PATIENCE - SECOND, ABSENT),
            WakeAfter(SECOND),
        ),
        case(
            "no Kueue",
            absent(WORKLOAD_PATIENCE, ABSENT),
            says(Reason.NO_WORKLOAD, LACKS),
            SAYS,
            WakeAfter(UNMANAGED_INTERVAL),
        ),
        case(
            "it is said already, also by a controller that went",
            absent(
                SECOND, PROVED, condition_texts={QUOTA: ConditionText(Reason.NO_WORKLOAD, LACKS)}
            ),
            WakeAfter(UNMANAGED_INTERVAL),
        ),
        case(
            "what was proved is over",
            absent(
                WORKLOAD_PATIENCE,
                replace(NOTHING, unmanaged=""),
                condition_texts={QUOTA: ConditionText(Reason.NO_WORKLOAD, LACKS)},
            ),
            says(Reason.NO_WORKLOAD, GUESS),
            SAYS,
            WakeAfter(UNMANAGED_INTERVAL),
        ),
        case(
            "what was proved is over, and Kueue has a little time",
            absent(
                SECOND,
                replace(NOTHING, unmanaged=""),
                condition_texts={QUOTA: ConditionText(Reason.NO_WORKLOAD, LACKS)},
            ),
            says(Reason.SUSPENDED),
            SAYS,
            WakeAfter(WORKLOAD_PATIENCE - SECOND),
        ),
        case(
            "what was proved cannot be read now",
            absent(
                WORKLOAD_PATIENCE,
                condition_texts={QUOTA: ConditionText(Reason.NO_WORKLOAD, "proved before")},
            ),
            WakeAfter(UNMANAGED_INTERVAL),
        ),
        case(
            "the Workload has come",
            absent(
                WORKLOAD_PATIENCE,
                Queueing(workload=True),
                condition_texts={QUOTA: ConditionText(Reason.NO_WORKLOAD, "nothing")},
            ),
            ClearTimer(Timer.NO_WORKLOAD),
            says(Reason.SUSPENDED),
            SAYS,
            WakeAfter(REASON_INTERVAL),
        ),
    ],
)
def test_quota_reserved_reports_why_it_waits(snapshot: Snapshot, expected: Actions) -> None:
    assert decide(snapshot, NOW, CONFIG) == expected


UNSUSPENDED = replace(WAITS, suspend=False)
NO_INFOS = (
    "it starts when Kueue writes podSetInfos; if Kueue never does, Kueue does not manage this "
    "namespace or AppWrappers"
)


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        case("nothing is known", UNSUSPENDED, says(Reason.SUSPENDED, NO_INFOS)),
        case(
            "nothing is known since a restart",
            replace(UNSUSPENDED, condition_texts={QUOTA: ConditionText(Reason.NO_WORKLOAD, LACKS)}),
        ),
        case(
            "Kueue has a Workload of it, and suspends it soon",
            replace(UNSUSPENDED, queueing=SHORT),
            says(Reason.SUSPENDED, NO_INFOS),
        ),
        case(
            "no Workload yet",
            replace(UNSUSPENDED, queueing=NOTHING, waits_since=NOW),
            says(Reason.SUSPENDED, NO_INFOS),
            WakeAfter(MOMENT),
        ),
        case(
            "its integration is off",
            replace(UNSUSPENDED, queueing=PROVED),
            StartTimer(Timer.NO_WORKLOAD),
            says(Reason.NO_WORKLOAD, LACKS),
            SAYS,
            WakeAfter(UNMANAGED_INTERVAL),
        ),
        case(
            "nobody knows why",
            replace(absent(WORKLOAD_PATIENCE), suspend=False),
            says(Reason.NO_WORKLOAD, GUESS),
            SAYS,
            WakeAfter(UNMANAGED_INTERVAL),
        ),
    ],
)
def test_quota_reserved_of_an_unsuspended_appwrapper_reports_why_it_waits(
    snapshot: Snapshot, expected: Actions
) -> None:
    assert decide(snapshot, NOW, CONFIG) == expected


def test_a_message_is_bounded_in_bytes() -> None:
    long = replace(SHORT, pending="ü" * LONGEST_MESSAGE)
    [condition, _] = decide(replace(WAITS, queueing=long), NOW, CONFIG)
    assert isinstance(condition, SetCondition)
    assert len(condition.message.encode()) <= LONGEST_MESSAGE
    assert condition.message.endswith("üü…")
    written = replace(
        WAITS,
        queueing=long,
        condition_texts={QUOTA: ConditionText(condition.reason, condition.message)},
    )
    assert decide(written, NOW, CONFIG) == ()

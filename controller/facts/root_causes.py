"""Choose the root cause among an attempt's failures, and describe it. Pure."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from controller.facts.devices import TAINTED_DEVICE
from controller.facts.earliest_failure import choose
from controller.facts.error_store import StoreRead
from controller.facts.error_text import both_ends, clean
from controller.facts.pod_reasons import OOM_KILLED, proof_of
from controller.facts.pod_records import is_of_its_run
from controller.facts.pods import Pod
from controller.facts.recorded_times import moment_of
from controller.facts.root_cause_evidence import (
    UNHEALTHY_NODE,
    Attempt,
    Evidence,
    EvidenceKind,
    evidence_of,
    gather_evidence,
)
from controller.phases.root_cause import Confidence, RootCause, Source
from controller.phases.snapshot import FaultTolerance
from shared.api.lines import clipped
from worker.error_texts import is_device_fault, is_peer_loss
from worker.record import SYSTEM, USER, ErrorRecord

_ORIGINS: Final = {USER: "User", SYSTEM: "System"}
# A shell did not find the command, or may not execute it: the image or the command is wrong.
_NO_SUCH_COMMAND: Final = frozenset({126, 127})
# The container runtime's reasons for an image without the command.
_NOT_STARTED: Final = frozenset({"ContainerCannotRun", "StartError"})
_NO_COMMAND: Final = re.compile(r'exec: "[^"]*": ')
_GOING_ON: Final = frozenset({"Pending", "Running"})
_LONGEST_CODE: Final = 128  # bytes
_LONGEST_URI: Final = 1024


def find_root_cause(
    failed: Sequence[Pod],
    config: FaultTolerance,
    *,
    others: Sequence[Pod] = (),
    store: StoreRead | None = None,
    flagged_nodes: Collection[str] = (),
    tainted: Mapping[str, str] | None = None,
    attempt: int = 0,
    now: datetime,
) -> RootCause | None:
    """Return the root cause among the `failed` pods, which may be gone by now.

    None without a failure, and if a deletion ended all pods. `others`: the attempt's other pods,
    whose records are ignored. `store`: the error records of this attempt; None without a store.
    `flagged_nodes`: nodes that Autopilot's labels mark as bad. `tainted`: by UID of a pod, the
    tainted device that it held.

    A record without a pod's name (Flyte's old error.pb) counts if nothing else is recorded. A
    record of an unknown pod counts if no failed pod is known and no other pod remains (all were
    gone after a restart of the controller). If others remain, they replaced the unknown pod.
    """
    records = store.records if store else ()
    if not failed and not records:
        return None  # as on nearly every pass
    basis = Attempt.at(now, attempt, flagged_nodes, tainted or {})
    by_pod, unknown = gather_evidence(failed, others, records, basis)
    # The containers of one pod share one clock.
    found = [first for each in by_pod if (first := choose(each)) is not None]
    recorded = sum(each.record is not None for each in found)
    first = choose(found)
    unbound = [each for each in unknown if _may_count(each, first, others)]
    if unbound and not recorded:
        loose = [evidence_of(each, basis) for each in unbound]
        first, recorded = _with_loose(first, choose(loose)), len(loose)
    if first is None:
        return None
    pods = max(1, len(by_pod))
    return replace(_described(first, config), failed_pods=pods, records=recorded)


def _may_count(unbound: ErrorRecord, first: Evidence | None, others: Sequence[Pod]) -> bool:
    if first is None:
        return not any(pod.phase in _GOING_ON and not pod.deleting for pod in others)
    pod, named = first.pod, unbound.worker or unbound.pod_uid
    return not named and (pod is None or is_of_its_run(unbound, pod))


def _with_loose(first: Evidence | None, loose: Evidence | None) -> Evidence | None:
    """Return the first failure with the text of a record without a known pod.

    Its pod remains. If its cause is the infrastructure, the record is ignored.
    """
    if first is None or loose is None or first.kind is EvidenceKind.INFRASTRUCTURE:
        return first or loose
    return replace(first, record=loose.record, from_store=True)


# The description of the root cause.


def _described(each: Evidence, config: FaultTolerance) -> RootCause:
    """Describe a failure as if no other pod failed."""
    record, end, pod = each.record, each.end, each.pod
    return RootCause(
        pod=each.name,
        pod_uid=pod.uid if pod else "",
        container=end.container if end else "",
        node=pod.node if pod else "",
        rank=record.rank if record else None,
        time=moment_of(each.earliest),
        code=_code(each),
        origin=_ORIGINS.get(record.origin, "Unknown") if record else "Unknown",
        recoverable=_recoverable(record),
        exit_code=each.exit_code,
        signal=each.signal,
        message=_message(each),
        source=_source(each),
        confidence=Confidence.INFERRED if record is None else Confidence.RECORDED,
        uri=clipped(clean(record.uri), _LONGEST_URI) if record else "",
        infrastructure=each.infrastructure,
        clock_suspect=each.clock_suspect,
        exits_terminally=_exits_terminally(each, config),
        points_at_node=_points_at_node(each, config),
    )


def _code(each: Evidence) -> str:
    if each.word == OOM_KILLED or each.record is None:
        return each.word
    return clipped(" ".join(clean(each.record.code).split()), _LONGEST_CODE)


def _recoverable(record: ErrorRecord | None) -> bool | None:
    """Return whether the program recorded that a retry can help; None if it proves neither.

    A terminated worker does not know the reason. Flyte records each unclassified exception as
    non-recoverable, even the loss of a peer or a broken device. This project's recorder separates
    these cases itself; its records have an id.
    """
    if record is None or record.collateral:
        return None
    if record.recoverable or record.record_id:
        return record.recoverable
    text = f"{record.code} {record.message}"
    return None if is_peer_loss(text) or is_device_fault(text) else False


def _message(each: Evidence) -> str:
    if each.record is not None:
        return both_ends(each.record.message)
    return each.end.message if each.end else ""


def _source(each: Evidence) -> Source:
    if each.record is not None:
        return Source.STORE if each.from_store else Source.TERMINATION_MESSAGE
    return Source.LOG if each.end is not None and each.end.message else Source.POD_STATUS


def _exits_terminally(each: Evidence, config: FaultTolerance) -> bool:
    """True if the user's lists forbid a retry; they do not apply to an init container."""
    if each.exit_code is None or (each.end is not None and each.end.init):
        return False
    return bool(config.forbids(each.exit_code))


def _points_at_node(each: Evidence, config: FaultTolerance) -> bool:
    """True if the node may be the cause of a failure.

    False for a tainted device, because the node's other devices are well. Otherwise always True for
    a failed device, and for a node that Autopilot marks as bad. Otherwise False if
    the cause is known to be another one: the loss of a peer, a planned disruption, or the program
    (it recorded an exception, used too much memory, has no such command, or ended with an exit code
    that the user listed as terminal).
    """
    if each.infrastructure.startswith(TAINTED_DEVICE):
        return False
    if each.infrastructure == UNHEALTHY_NODE or is_device_fault(_text(each)):
        return True
    if not all(proof_of(reason).blames_node for reason in (each.word, each.infrastructure)):
        return False
    if each.is_collateral:
        return False
    if each.kind is EvidenceKind.PEER_LOSS or each.exit_code in _NO_SUCH_COMMAND:
        return False
    if each.word in _NOT_STARTED and _NO_COMMAND.search(_text(each)):
        return False
    if _exits_terminally(each, config):
        return False
    return each.record is None or each.record.origin != USER or each.signal is not None


def _text(each: Evidence) -> str:
    if each.record is not None:
        return f"{each.record.code} {each.record.message}"
    return each.end.message if each.end else ""

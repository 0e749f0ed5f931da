"""A tiny environment around the pure part of the controller: real facts, `decide`, a plan of calls.

One AppWrapper of a Secret and a Job of two pods, with one retry. Pods fail, Kueue evicts, another
client deletes a component, a user deletes the AppWrapper, and the controller crashes between any
two calls, without limit. There are no times: whenever the controller has nothing to do, all periods
that have begun may end. A pass reads everything at once and then makes its calls one by one, while
everything else goes on. After a pass nothing wakes the controller but a change that it watches, or
the wait that the decision asked for: there is no resync, so a wake-up that `decide` forgets is a
trap.

Not here, but in the explored worlds: caches that lag behind, requests that arrive late, the proof
of deletion, the cause of each retry, rejected creates, evacuations, kept components and helpers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import orjson

from controller.facts.component_status import deployed_status
from controller.phases.phase import EDGES, Phase
from shared.api.conditions import is_true
from shared.api.names import CONDITION_QUOTA_RESERVED
from shared.api.objects import JsonObject
from tests.simulation.abstract_pass import (
    FRESH,
    JOB,
    KINDS,
    OVER,
    PODS,
    RETRY_LIMIT,
    Create,
    Delete,
    Effect,
    Finish,
    JobState,
    KeepUntilGone,
    LetGo,
    Made,
    Pod,
    PodState,
    RemovePods,
    Seen,
    Wait,
    WriteStatus,
    plan_of,
)
from tests.simulation.graph import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Everything that decides what may happen next.

    `created`: the process's memory of its creates. `waited`: the process first saw it a while ago.
    `done`: the Job of this attempt completed.
    `plan`: the calls of the pass under way. `changed`: the AppWrapper has another version than this
    pass read. `due`: a pass follows at once; `wakes`: it follows after a wait. `failures`,
    `evictions`, `deletions`: how many are still to come at most.
    """

    status: bytes = b"{}"
    suspend: bool = True
    admitted: bool = False  # podSetInfos are complete
    deleting: bool = False
    finalizer: bool = False
    gone: bool = False
    made: tuple[Made, ...] = ()
    pods: tuple[Pod, ...] = ()
    created: frozenset[int] = frozenset()
    waited: bool = False
    done: bool = False
    plan: tuple[Effect, ...] = ()
    changed: bool = False
    due: bool = True
    wakes: bool = False
    failures: int = 2
    evictions: int = 1
    deletions: int = 1


Steps = Iterator[Step[State]]
START: Final = State()


def is_goal(state: State) -> bool:
    """True if nothing more has to happen: it succeeded, failed and released its quota, or is gone.

    Kueue always has room here, so a Suspended AppWrapper must go on.
    """
    if state.gone:
        return True
    status = read(state.status)
    ended = status.get("phase") in (Phase.SUCCEEDED, Phase.FAILED)
    return ended and not holds_quota(status) and not state.plan and not state.deleting


def steps_from(state: State) -> Steps:
    """Yield each step that can come next."""
    for step in _all_steps(state):
        yield replace(step, to=_same(step.to))


def _same(state: State) -> State:
    """Return the state without what no longer matters: equal states are explored once."""
    recorded = read(state.status).get("componentStatus") or []
    if state.created and all(deployed_status(each) == "True" for each in recorded):
        state = replace(state, created=frozenset())  # the status records these components
    if state.waited and read(state.status).get("phase"):
        state = replace(state, waited=False)
    return replace(state, wakes=False) if state.wakes and state.due else state


def _all_steps(state: State) -> Steps:
    if state.gone:
        return
    yield from _controller(state)
    yield from _created_pods(state)
    yield from _webhook(state)
    yield from _kueue(state)
    yield from _users(state)
    if not state.plan:
        # These steps give the calls of a pass no other effect, so they may as well come after it.
        yield from _components(state)
        yield from _pods(state)
        yield from _periods(state)


@lru_cache(maxsize=100_000)
def read(status: bytes) -> JsonObject:
    """Decode a status; never change the result."""
    decoded: JsonObject = orjson.loads(status)
    return decoded


def holds_quota(status: JsonObject) -> bool:
    """True if Kueue must count the AppWrapper's quota."""
    return is_true(status.get("conditions") or [], CONDITION_QUOTA_RESERVED)


# The controller.


def _controller(state: State) -> Steps:
    if state.plan:
        effect, rest = state.plan[0], state.plan[1:]
        after = _carried_out(replace(state, plan=rest), effect)
        yield Step(str(effect), after, wrong=_broken(state, effect))
    elif state.due:
        seen = Seen(
            state.status,
            state.suspend,
            state.admitted,
            state.deleting,
            state.finalizer,
            state.made,
            state.pods,
            state.created,
            state.waited,
        )
        after = replace(state, plan=plan_of(seen), changed=False, due=False, wakes=False)
        yield Step("a pass reads and decides", after)
    elif state.wakes:
        yield Step("the wait is over", replace(state, due=True, wakes=False, waited=True))
    if state.plan or state.created or state.waited or not state.due:
        crashed = replace(state, plan=(), changed=False, due=True, wakes=False)
        forgetful = replace(crashed, created=frozenset(), waited=False)
        yield Step("the controller crashes and starts again", forgetful, fair=False)


def _carried_out(state: State, effect: Effect) -> State:
    """Return the state after one call of the plan; what remains of the plan is in `state`."""
    match effect:
        case WriteStatus() | KeepUntilGone() | LetGo():
            # 409 after a change: the next pass reads again.
            return replace(state, plan=(), due=True) if state.changed else _written(state, effect)
        case Create(attempt, index):
            return _with_created(state, attempt, index)
        case Delete(attempt, index):
            return _with_deleted(state, attempt, index)
        case RemovePods(attempt, True):
            others = tuple(each for each in state.pods if each.attempt != attempt)
            return replace(state, pods=others, due=state.due or others != state.pods)
        case RemovePods(attempt):
            return _with_pods_deleted(state, attempt)
        case Wait(seconds):
            return replace(state, due=state.due or seconds == 0, wakes=seconds != 0)
        case Finish():
            return state


def _written(state: State, effect: WriteStatus | KeepUntilGone | LetGo) -> State:
    match effect:
        case WriteStatus(status):
            if read(status).get("attempt") == read(state.status).get("attempt"):
                return replace(state, status=status)
            return replace(state, status=status, created=frozenset(), done=False)
        case KeepUntilGone():
            return replace(state, finalizer=True)
        case LetGo():
            return replace(state, finalizer=False, gone=state.deleting)


def _with_created(state: State, attempt: int, index: int) -> State:
    state = replace(state, created=state.created | {index})
    if any((each.attempt, each.index) == (attempt, index) for each in state.made):
        return state  # adopted
    return replace(state, made=tuple(sorted((*state.made, Made(attempt, index)))), due=True)


def _broken(state: State, effect: Effect) -> str:
    """Return the promise that a call breaks; empty if it breaks none."""
    match effect:
        case WriteStatus(status) if not state.changed:
            return _broken_by_status(state, read(state.status), read(status))
        case LetGo() if not state.changed and (state.made or state.pods):
            return "the AppWrapper disappears before its components and pods"
        case Create(attempt):
            if not holds_quota(read(state.status)):
                return "a component is created without quota"
            return _two_attempts(state, attempt)
    return ""


def _broken_by_status(state: State, old: JsonObject, new: JsonObject) -> str:
    was, phase = Phase(old.get("phase") or ""), Phase(new.get("phase") or "")
    spent = (new.get("resettingCount") or 0) - (old.get("resettingCount") or 0)
    may_make = any(each.index == JOB and each.state is JobState.ACTIVE for each in state.made)
    broken = {
        "an edge that is not in the table": phase is not was and phase not in EDGES[was],
        "the quota is released over live pods": holds_quota(old)
        and not holds_quota(new)
        and (any(each.state in _ALIVE for each in state.pods) or may_make),
        "a retry beyond the limit": (new.get("resettingCount") or 0) > RETRY_LIMIT,
        "two retries at once": spent not in (0, 1),
        "a success before the Job is complete": phase is Phase.SUCCEEDED is not was
        and not state.done,
    }
    return next((promise for promise, is_broken in broken.items() if is_broken), "")


def _two_attempts(state: State, attempt: int) -> str:
    existing = {*(each.attempt for each in state.made), *(each.attempt for each in state.pods)}
    others = existing - {attempt}
    return "two attempts exist at once" if others else ""


# The Job controller and the garbage collector.


def _components(state: State) -> Steps:
    for each in state.made:
        own = _pods_of(state, each)
        name = f"the {KINDS[each.index]} of attempt {each.attempt}"
        if each.deleting:
            if not own:
                rest = tuple(other for other in state.made if other != each)
                yield Step(f"{name} is gone", replace(state, made=rest, due=True))
            if any(not pod.deleting for pod in own):
                after = _with_pods_deleted(state, each.attempt)
                yield Step(f"the garbage collector deletes the pods of {name}", after)
        elif each.index == JOB and each.state is JobState.ACTIVE:
            yield from _report(state, each, own, name)


def _pods_of(state: State, made: Made) -> list[Pod]:
    own = made.index == JOB
    return [pod for pod in state.pods if own and pod.attempt == made.attempt]


def _created_pods(state: State) -> Steps:
    for job in state.made:
        active = job.index == JOB and job.state is JobState.ACTIVE and not job.deleting
        own = _pods_of(state, job)
        failed = any(pod.state is PodState.FAILED for pod in own)
        if active and not failed and len(own) < PODS:
            pods = tuple(sorted((*state.pods, Pod(job.attempt, PodState.PENDING))))
            name, wrong = f"a pod of attempt {job.attempt}", _two_attempts(state, job.attempt)
            yield Step(f"{name} is created", replace(state, pods=pods, due=True), wrong=wrong)


def _report(state: State, job: Made, own: list[Pod], name: str) -> Steps:
    states = {pod.state for pod in own}
    if PodState.FAILED in states:
        failed = _with_made(state, job, replace(job, state=JobState.FAILED))
        yield Step(
            f"{name} reports its failure", _with_pods_deleted(failed, job.attempt, alive=True)
        )
    elif states == {PodState.SUCCEEDED} and len(own) == PODS:
        complete = _with_made(state, job, replace(job, state=JobState.COMPLETE))
        current = job.attempt == read(state.status).get("attempt")
        yield Step(f"{name} reports its end", replace(complete, done=state.done or current))


def _with_made(state: State, old: Made, new: Made) -> State:
    made = tuple(sorted(new if each == old else each for each in state.made))
    return replace(state, made=made, due=True)


def _with_deleted(state: State, attempt: int, index: int) -> State:
    for each in state.made:
        if (each.attempt, each.index) == (attempt, index) and not each.deleting:
            return _with_made(state, each, replace(each, deleting=True))
    return state


# The kubelets.

_ALIVE: Final = (PodState.PENDING, PodState.RUNNING)
_NEXT: Final = {PodState.PENDING: PodState.RUNNING, PodState.RUNNING: PodState.SUCCEEDED}


def _pods(state: State) -> Steps:
    for pod in dict.fromkeys(state.pods):  # equal pods take equal steps
        name = f"a pod of attempt {pod.attempt}"
        owned = any((each.attempt, each.index) == (pod.attempt, JOB) for each in state.made)
        if pod.deleting:
            yield Step(f"{name} is gone", _with_pod(state, pod, None))
            continue
        if not owned:
            after = _with_pods_deleted(state, pod.attempt)
            yield Step("the garbage collector deletes orphaned pods", after)
        if (later := _NEXT.get(pod.state)) is not None:
            after = _with_pod(state, pod, replace(pod, state=later))
            yield Step(f"{name} is {later.value} now", after)
        if pod.state is PodState.RUNNING and state.failures:
            failed = _with_pod(state, pod, replace(pod, state=PodState.FAILED))
            yield Step(f"{name} fails", replace(failed, failures=state.failures - 1), fair=False)


def _with_pod(state: State, old: Pod, new: Pod | None) -> State:
    pods = list(state.pods)
    pods.remove(old)
    pods += [] if new is None else [new]
    return replace(state, pods=tuple(sorted(pods)), due=True)


def _with_pods_deleted(state: State, attempt: int, *, alive: bool = False) -> State:
    """Delete the pods of an attempt, or only those `alive`. Ended ones are gone at once."""
    pods = [
        replace(each, deleting=True) if each.attempt == attempt and each.state in _ALIVE else each
        for each in state.pods
        if alive or each.attempt != attempt or each.state in _ALIVE
    ]
    return replace(state, pods=tuple(sorted(pods)), due=True)


# The webhook, Kueue, the users, and the time.


def _webhook(state: State) -> Steps:
    """Let the webhook add the finalizer at the creation, before anything else happens."""
    if replace(state, failures=2, evictions=1, deletions=1) == START:
        yield Step("the webhook adds the finalizer", replace(state, finalizer=True))


def _kueue(state: State) -> Steps:
    status = read(state.status)
    phase = status.get("phase")
    if state.suspend and not state.deleting and phase in (None, Phase.SUSPENDED):
        after = replace(state, suspend=False, admitted=True)
        yield Step("Kueue admits it", _changed(after))
    if not state.suspend and state.evictions and holds_quota(status):
        after = replace(state, suspend=True, admitted=False, evictions=state.evictions - 1)
        yield Step("Kueue evicts it", _changed(after), fair=False)


def _periods(state: State) -> Steps:
    """End all waiting periods that have begun. They last longer than passes."""
    status = read(state.status)
    timers = status.get("timers") or {}
    if not state.due and any(each["began"] == FRESH for each in timers.values()):
        over = {name: {**each, "began": OVER} for name, each in timers.items()}
        text = orjson.dumps({**status, "timers": over}, option=orjson.OPT_SORT_KEYS)
        yield Step("the periods that have begun end", replace(state, status=text))


def _users(state: State) -> Steps:
    if not state.deleting:
        after = replace(state, deleting=True, gone=not state.finalizer)
        yield Step("a user deletes the AppWrapper", _changed(after), fair=False)
    for each in state.made:
        if state.deletions and not each.deleting:
            after = _with_deleted(state, each.attempt, each.index)
            name = f"another client deletes the {KINDS[each.index]} of attempt {each.attempt}"
            yield Step(name, replace(after, deletions=state.deletions - 1), fair=False)


def _changed(state: State) -> State:
    return replace(state, changed=bool(state.plan), due=True)

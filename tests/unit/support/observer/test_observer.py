"""The observer of the integration tests: it finds each kind of broken promise, and no other."""

import ast
import itertools
from pathlib import Path
from typing import Any

import pytest

from controller.phases.phase import EDGES as DRAWN
from controller.phases.phase import Phase
from tests.support.observer import edges
from tests.support.observer.change import Change
from tests.support.observer.edges import EDGES, is_drawn
from tests.support.observer.judge import UID_LABEL, Judge

OUR_PACKAGES = frozenset(
    {"webhook", "controller", "shared", "localcluster", "bench", "scripts", "tests", "worker"}
)
HELD = ("QuotaReserved", "ResourcesDeployed")


def seen(
    revision: int,
    phase: str,
    *true: str,
    uid: str = "u1",
    retries: tuple[int, int] | None = None,
    **more: Any,
) -> Change:
    """A state of the AppWrapper `train`. `retries`: their count, and the attempt."""
    conditions = [{"type": each, "status": "True"} for each in true]
    conditions += [{"type": each, "status": "False"} for each in HELD if each not in true]
    item: dict[str, Any] = {
        "metadata": {"uid": uid, "namespace": "team1", "name": "train"},
        "status": {"phase": phase, "conditions": conditions},
    }
    if retries is not None:
        item["status"] |= {"resettingCount": retries[0], "attempt": retries[1]}
    if managed_by := more.pop("managed_by", ""):
        item["spec"] = {"managedBy": managed_by}
    return Change("appwrappers", revision, item, **more)


def pod(revision: int, phase: str, *, owner: str = "u1", **more: Any) -> Change:
    """A state of its pod p1, which a Job made."""
    item = {
        "metadata": {
            "uid": "p1",
            "namespace": "team1",
            "name": "p1",
            "labels": {"workload.codeflare.dev/uid": owner},
            "ownerReferences": [{"uid": "j1", "controller": True}],
        },
        "status": {"phase": phase},
    }
    return Change("pods", revision, item, **more)


def attempts_pod(revision: int, attempt: str, *, phase: str = "Running", **more: Any) -> Change:
    """A state of the pod of one attempt."""
    uid = f"p{attempt}"
    metadata = {
        "uid": uid,
        "name": uid,
        "labels": {"workload.codeflare.dev/uid": "u1", "workload.codeflare.dev/attempt": attempt},
        "ownerReferences": [{"uid": f"j{attempt}", "controller": more.pop("controlled", True)}],
    }
    return Change("pods", revision, {"metadata": metadata, "status": {"phase": phase}}, **more)


def component(revision: int, uid: str, attempt: str = "1", index: str = "0", **more: Any) -> Change:
    """A Job of the AppWrapper's."""
    prefix = "workload.codeflare.dev/"
    labels = {prefix + "uid": "u1", prefix + "attempt": attempt, prefix + "component": index}
    owner = {"uid": more.pop("owner", "u1"), "controller": True}
    metadata = {"uid": uid, "name": f"job-{uid}", "labels": labels, "ownerReferences": [owner]}
    return Change("jobs", revision, {"metadata": metadata}, **more)


def gone(change: Change, revision: int) -> Change:
    return Change(change.resource, revision, change.item, deleted=True)


def judged(*changes: Change) -> list[tuple[int, str]]:
    """Revision and text of every violation."""
    judge = Judge()
    return [(each.revision, each.broken) for change in changes for each in judge.see(change)]


RUNNING = (seen(1, ""), seen(2, "Suspended"), seen(3, "Resuming", *HELD), seen(4, "Running", *HELD))


def test_a_whole_life_breaks_nothing() -> None:
    assert judged(
        *RUNNING,
        pod(5, "Pending"),
        pod(6, "Running"),
        seen(7, "Running", *HELD, "PodsReady"),
        pod(8, "Succeeded"),
        seen(9, "Succeeded", "ResourcesDeployed", "PodsReady"),
        gone(pod(0, "Succeeded"), 10),
        seen(11, "Succeeded"),
        gone(seen(0, "Succeeded"), 12),
    ) == []  # fmt: skip


BROKEN = [
    pytest.param(
        [seen(6, "Running", "QuotaReserved")],
        [(6, "ResourcesDeployed is not True in Running, while pods exist: p1 Running")],
        id="resources said to be gone while a pod runs",
    ),
    pytest.param(
        [pod(6, "Succeeded"), seen(7, "Succeeded")],
        [(7, "ResourcesDeployed is not True in Succeeded, while pods exist: p1 Succeeded")],
        id="resources said to be gone while an ended pod is there",
    ),
    pytest.param(
        [pod(6, "Succeeded"), seen(7, "Succeeded", HELD[1]), seen(8, "Terminating")],
        [(8, "ResourcesDeployed is not True in Terminating, while pods exist: p1 Succeeded")],
        id="deleted after its success, and said to be empty before its pods are gone",
    ),
    pytest.param(
        [seen(6, "Succeeded", "ResourcesDeployed")],
        [(6, "QuotaReserved is not True in Succeeded, while pods run: p1 Running")],
        id="quota given back while a pod runs",
    ),
    pytest.param(
        [seen(6, "Failed", *HELD), pod(7, "Failed"), seen(8, "Failed", "ResourcesDeployed")],
        [(8, "QuotaReserved is not True in Failed, while pods exist: p1 Failed")],
        id="quota of a failed one given back before its pods are gone",
    ),
    pytest.param(
        [seen(6, "Suspending", *HELD), pod(7, "Failed"), seen(8, "Suspending", HELD[1])],
        [(8, "QuotaReserved is not True in Suspending, while pods exist: p1 Failed")],
        id="quota of a suspending one",
    ),
    pytest.param(
        [seen(6, "Terminating", *HELD), pod(7, "Succeeded"), seen(8, "Terminating", HELD[1])],
        [(8, "QuotaReserved is not True in Terminating, while pods exist: p1 Succeeded")],
        id="quota of one that is being deleted",
    ),
    pytest.param(
        [seen(6, "Terminating", *HELD), gone(seen(0, "Terminating", *HELD), 7)],
        [(7, "gone, while pods exist: p1 Running")],
        id="gone before its pods",
    ),
    pytest.param(
        [seen(6, "Suspending", *HELD), seen(7, "Suspended")],
        [
            (7, "ResourcesDeployed is not True in Suspended, while pods exist: p1 Running"),
            (7, "QuotaReserved is not True in Suspended, while pods run: p1 Running"),
        ],
        id="both at once",
    ),
    pytest.param(
        [
            seen(6, "Suspending", *HELD),
            gone(pod(0, "Running"), 7),
            seen(8, "Suspended"),
            pod(9, "Pending"),
            pod(10, "Running"),
        ],
        [
            (9, "ResourcesDeployed is not True in Suspended, while pods exist: p1 Pending"),
            (9, "QuotaReserved is not True in Suspended, while pods run: p1 Pending"),
        ],
        id="a pod that is made after the quota was given back, told once",
    ),
    pytest.param(
        [seen(6, "Suspended")],
        [
            (6, "went from Running to Suspended: no such edge"),
            (6, "ResourcesDeployed is not True in Suspended, while pods exist: p1 Running"),
            (6, "QuotaReserved is not True in Suspended, while pods run: p1 Running"),
        ],
        id="an edge that nobody drew",
    ),
]


@pytest.mark.parametrize(("happened", "violations"), BROKEN)
def test_a_broken_promise_is_found(
    happened: list[Change], violations: list[tuple[int, str]]
) -> None:
    assert judged(*RUNNING, pod(5, "Running"), *happened) == violations


KEPT = [
    pytest.param(
        [seen(6, "Suspending", *HELD), gone(pod(0, "Running"), 7), seen(8, "Suspended")],
        id="the pod goes just before the word",
    ),
    pytest.param(
        [pod(6, "Failed"), seen(7, "Succeeded", "ResourcesDeployed")],
        id="a pod failed, and its Job succeeded all the same",
    ),
    pytest.param(
        [
            seen(6, "Resetting", *HELD),
            pod(7, "Failed"),
            gone(pod(0, "Failed"), 8),
            seen(9, "Resetting", "QuotaReserved"),
            seen(10, "Resuming", *HELD),
        ],
        id="a reset keeps the quota",
    ),
    pytest.param(
        [seen(6, "Suspended", uid="u2"), seen(7, "Resuming", *HELD, uid="u2")],
        id="another AppWrapper of the name",
    ),
    pytest.param(
        [
            seen(6, "Terminating", *HELD),
            gone(pod(0, "Running"), 7),
            seen(8, "Terminating"),
            gone(seen(0, "Terminating"), 9),
        ],
        id="gone after its pods",
    ),
]


@pytest.mark.parametrize("happened", KEPT)
def test_an_allowed_change_is_no_violation(happened: list[Change]) -> None:
    assert judged(*RUNNING, pod(5, "Running"), *happened) == []


def test_pods_of_an_appwrapper_that_was_never_seen_prove_nothing() -> None:
    assert judged(*RUNNING, pod(5, "Running", owner="copied"), seen(6, "Failed")) == []


def test_two_violations_are_reported_twice() -> None:
    early = [seen(6, "Running", "QuotaReserved"), seen(7, "Running", *HELD)]
    again = [seen(8, "Running", "QuotaReserved"), seen(9, "Running", "QuotaReserved", "PodsReady")]
    found = judged(*RUNNING, pod(5, "Running"), *early, *again)
    assert [revision for revision, _ in found] == [6, 8]


def test_an_attempt_makes_each_component_once() -> None:
    once = [component(5, "j1"), component(6, "j1"), component(7, "j2", index="1")]
    again = [gone(component(0, "j1"), 8), component(9, "j3", attempt="2")]
    foreign = [component(10, "child", owner="j1")]  # labelled by its template
    assert judged(*RUNNING, *once, *again, *foreign) == []
    assert judged(*RUNNING, *once, gone(component(0, "j1"), 8), component(9, "j9")) == [
        (9, "attempt 1 made component 0 2 times: ['jobs/job-j1', 'jobs/job-j9']")
    ]


def test_an_attempt_may_make_a_component_again_that_is_forgotten() -> None:
    judge = Judge()
    first = [*RUNNING, component(5, "j1"), gone(component(0, "j1"), 8)]
    assert [broken for each in first for broken in judge.see(each)] == []
    judge.forget(first[-1].labels[UID_LABEL], "j1")
    assert judge.see(component(9, "j9")) == []
    assert len(judge.see(component(10, "j10"))) == 1


AT_ONCE = (
    "pods of attempts 1 and 2 are alive at once: p1 Running, p2 Pending"  # with the second pod
)
ATTEMPTS_AT_ONCE = [
    pytest.param([attempts_pod(6, "2", phase="Pending")], [(6, AT_ONCE)], id="both are alive"),
    pytest.param(
        [attempts_pod(6, "1", phase="Failed"), attempts_pod(7, "2")], [], id="the first has ended"
    ),
    pytest.param([gone(attempts_pod(0, "1"), 6), attempts_pod(7, "2")], [], id="the first is gone"),
    pytest.param(
        [attempts_pod(6, "2", controlled=False)], [], id="a person made the second by hand"
    ),
]


@pytest.mark.parametrize(("happened", "violations"), ATTEMPTS_AT_ONCE)
def test_pods_of_two_attempts_break_a_promise_only_if_both_are_alive(
    happened: list[Change], violations: list[tuple[int, str]]
) -> None:
    assert judged(*RUNNING, attempts_pod(5, "1"), *happened) == violations


RETRIES = [
    pytest.param(
        [seen(5, "Resetting", *HELD, retries=(1, 1)), seen(6, "Resuming", *HELD, retries=(1, 2))],
        [],
        id="one retry, counted at the reset",
    ),
    pytest.param(
        [seen(5, "Resetting", *HELD, retries=(2, 1))],
        ["counts 2 retries after 0"],
        id="two at once",
    ),
    pytest.param(
        [seen(5, "Running", *HELD, retries=(1, 1))],
        ["counts 1 retries after 0 in Running, without a reset"],
        id="without a reset",
    ),
    pytest.param(
        [
            seen(5, "Resetting", *HELD, retries=(1, 1)),
            seen(6, "Resuming", *HELD, retries=(1, 1)),
            seen(7, "Resetting", *HELD, retries=(2, 1)),
        ],
        ["counts a second retry after attempt 1"],
        id="twice for one attempt",
    ),
    pytest.param(
        [seen(5, "Running", *HELD, retries=(1, 1), managed_by="example.com/other")],
        [],
        id="another controller manages the AppWrapper",
    ),
]


@pytest.mark.parametrize(("happened", "broken"), RETRIES)
def test_each_retry_is_counted_once_and_at_its_reset(
    happened: list[Change], broken: list[str]
) -> None:
    assert [text for _, text in judged(*RUNNING, *happened)] == broken


def test_events_of_a_component_may_be_late_and_of_an_appwrapper_may_not() -> None:
    assert judged(*RUNNING, component(2, "j1")) == []
    with pytest.raises(ValueError, match="revision 2 after 4"):
        judged(*RUNNING, seen(2, "Suspended"))


def test_another_appwrapper_that_came_and_went_may_be_late() -> None:
    brief = seen(2, "", uid="u2")
    assert judged(*RUNNING, brief, gone(brief, 3)) == []
    judge = Judge()
    for change in (*RUNNING, brief):
        judge.see(change)
    assert judge.changes_of("team1", "train") == 4  # of the newest of this name


def test_a_report_contains_the_whole_history() -> None:
    judge = Judge()
    changes = [*RUNNING, component(4, "j1"), pod(5, "Pending"), pod(6, "Running")]
    found = [each for change in changes for each in judge.see(change)]
    assert found == []
    [violation] = judge.see(seen(7, "Running", "QuotaReserved"))
    assert str(violation).splitlines() == [
        "AppWrapper team1/train (u1), revision 7:",
        "  ResourcesDeployed is not True in Running, while pods exist: p1 Running",
        "    1 AppWrapper (no phase)",
        "    2 AppWrapper Suspended",
        "    3 AppWrapper Resuming QuotaReserved ResourcesDeployed",
        "    4 AppWrapper Running QuotaReserved ResourcesDeployed",
        "    4   made jobs/job-j1, attempt 1[0]",
        "    5   pod p1 Pending",
        "    6   pod p1 Running",
        "    7 AppWrapper Running QuotaReserved",
    ]
    assert judge.changes_of("team1", "train") == 5
    assert judge.changes_of("team1", "another") == 0


def test_the_edges_are_those_of_the_specification() -> None:
    chain = ["", "Suspended", "Resuming", "Running", "Succeeded"]
    deployed = ("Resuming", "Running")
    assert {(a, b) for a in EDGES for b in EDGES if is_drawn(a, b)} == {
        *itertools.pairwise(chain),
        ("", "Resuming"),  # Kueue may admit it before the first write
        *((each, "Suspending") for each in (*deployed, "Resetting")),
        ("Suspending", "Suspended"),
        *((each, "Resetting") for each in deployed),
        ("Resetting", "Resuming"),
        *((each, "Failed") for each in deployed),
        *((each, "Terminating") for each in EDGES if each != "Terminating"),
    }


def test_the_controller_draws_the_same_edges() -> None:
    """Two tables, so that neither judges itself; one page, so that they must not differ."""
    drawn = {(before.value, after.value) for before in Phase for after in DRAWN[before]}
    assert {(a, b) for a in EDGES for b in EDGES if is_drawn(a, b)} == drawn


def test_it_shares_no_code_with_what_it_observes() -> None:
    folder = Path(edges.__file__).parent
    names = {
        name
        for file in folder.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        for name in imported(node)
    }
    ours = {name for name in names if name.split(".")[0] in OUR_PACKAGES}
    assert ours
    slowness = "localcluster.machine.slowness"  # of this machine, not of the product
    assert {".".join(name.split(".")[:3]) for name in ours} == {"tests.support.observer", slowness}


def imported(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names):
            return [each.name for each in names]
        case ast.ImportFrom(module=str(module)):
            return [module]
    return []

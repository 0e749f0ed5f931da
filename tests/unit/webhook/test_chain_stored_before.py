"""AppWrappers that today's webhook would store in another way, or not at all, when it is asked.

The match conditions spare Kueue's and the controller's updates; here nothing relies on that.
"""

import copy
from dataclasses import replace
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.names import FINALIZER
from tests.support.builders.admission import appwrapper, component, facts, request
from webhook import chain
from webhook.admission_review import User
from webhook.rules.json_patch import is_identical
from webhook.rules.submission import Facts
from webhook.verdicts import Allowed, Denied, Errored, Patched

KUEUE = User("system:serviceaccount:kueue-system:kueue-controller-manager", "1")
CONTROLLER = User("system:serviceaccount:appwrapper-system:appwrapper-controller", "2")
ALICE, BOB = User("alice", "42"), User("bob", "43")
QUEUE = {"kueue.x-k8s.io/queue-name": "q"}
INFOS = [{"labels": {"kueue.x-k8s.io/podset": "job-0"}, "nodeSelector": {"gpu": "a"}}]
TODAY = replace(facts(default_queue_name="q", scheduler_name="today"), is_team_namespace=True)
OTHER = {"key": "old.example.com/health", "value": "BAD", "effect": "NoSchedule"}
YESTERDAY = replace(
    facts(
        default_queue_name="other",
        scheduler_name="yesterday",
        autopilot={"resource_taints": {"cpu": (OTHER,)}},
    ),
    is_team_namespace=True,
)
JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "j", "creationTimestamp": None},
    "spec": {
        "parallelism": 1,
        "activeDeadlineSeconds": None,
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [
                    {"name": "c", "image": "i", "resources": {"requests": {"cpu": 1}}},
                ],
            },
        },
    },
}
# Kueue does not infer its pod sets, so the webhook declares them.
MPI_JOB: dict[str, Any] = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "MPIJob",
    "metadata": {"name": "m"},
    "spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 2, "template": JOB["spec"]["template"]}}},
}
OLD_RAY: dict[str, Any] = {
    "apiVersion": "ray.io/v1alpha1",
    "kind": "RayCluster",
    "metadata": {"name": "r"},
    "spec": {"headGroupSpec": {"template": JOB["spec"]["template"]}},
}


def admitted(body: dict[str, Any], known: Facts, name: str = "job") -> dict[str, Any]:
    """What a CREATE stores, suspended as Kueue does it."""
    created = request(body, name=name)
    verdict = chain.mutate(created, known)
    assert isinstance(verdict, Patched)
    stored: dict[str, Any] = jsonpatch.apply_patch(body, verdict.patch)
    assert isinstance(chain.validate(replace(created, object=stored), known), Allowed)
    stored["spec"]["suspend"] = True
    return stored


def generated() -> dict[str, Any]:
    body = appwrapper(component(JOB), component(MPI_JOB))
    del body["metadata"]["name"]
    body["metadata"]["generateName"] = "job-"
    stored = admitted(body, TODAY, name="")
    return {**stored, "metadata": {**stored["metadata"], "name": "job-x7k2p"}}


def from_the_go_operator() -> dict[str, Any]:
    labels = {
        **QUEUE,
        "workload.codeflare.dev/user": "alice",
        "workload.codeflare.dev/userid": "42",
    }
    return appwrapper(component(JOB), labels=labels, suspend=True)


def with_refused_annotations() -> dict[str, Any]:
    body = appwrapper(component(JOB, annotations={"helper": "no"}), labels=QUEUE, suspend=True)
    prefix = "workload.codeflare.dev.appwrapper/"
    body["spec"]["components"][0]["annotations"] = {f"{prefix}keep": "perhaps"}
    body["metadata"]["annotations"] = {
        f"{prefix}retryLimit": "many",
        f"{prefix}failureGracePeriodDuration": "300h",
    }
    return body


STORED = {
    "a generated name": generated(),
    "another configuration": admitted(appwrapper(component(JOB), component(MPI_JOB)), YESTERDAY),
    "the Go operator": from_the_go_operator(),
    "annotations that are refused": with_refused_annotations(),
    "a Kind that is not allowed": appwrapper(
        component({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}), suspend=True
    ),
    "a version that is not known": appwrapper(
        component(OLD_RAY, podSets=[{"path": "template.spec.headGroupSpec.template"}]), suspend=True
    ),
}


def as_kueue_writes(value: Any) -> Any:
    """Through Go's types and a merge patch: keys sorted, none with null, 1.0 as 1."""
    if isinstance(value, dict):
        return {key: as_kueue_writes(value[key]) for key in sorted(value) if value[key] is not None}
    if isinstance(value, list):
        return [as_kueue_writes(each) for each in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def by_kueue(stored: dict[str, Any], *, suspend: bool) -> dict[str, Any]:
    """Started or stopped, in one patch; suspend is never written as false."""
    new = {**copy.deepcopy(stored), "spec": as_kueue_writes(stored["spec"])}
    new["spec"].pop("suspend", None)
    if suspend:
        new["spec"]["suspend"] = True
    for each in new["spec"]["components"]:
        each.pop("podSetInfos", None)
        if not suspend:
            each["podSetInfos"] = INFOS
    return new


def updated(
    old: dict[str, Any], new: dict[str, Any], user: User, known: Facts = TODAY
) -> dict[str, Any]:
    """What is stored; the update must neither be refused nor warned of."""
    judged = request(copy.deepcopy(new), old=copy.deepcopy(old), user=user)
    verdict = chain.mutate(judged, known)
    assert not isinstance(verdict, Denied | Errored)
    assert verdict.warnings == ()
    patch = verdict.patch if isinstance(verdict, Patched) else []
    after: dict[str, Any] = jsonpatch.apply_patch(new, patch)
    assert chain.validate(replace(judged, object=after), known) == Allowed()
    return after


@pytest.fixture(params=STORED)
def waiting(request: pytest.FixtureRequest) -> dict[str, Any]:
    return copy.deepcopy(STORED[request.param])


def test_kueue_starts_and_stops_it(waiting: dict[str, Any]) -> None:
    started = by_kueue(waiting, suspend=False)
    running = updated(waiting, started, KUEUE)
    assert as_kueue_writes(running) == as_kueue_writes(started)
    stopped = by_kueue(running, suspend=True)
    assert as_kueue_writes(updated(running, stopped, KUEUE)) == as_kueue_writes(stopped)


def test_kueue_stops_what_it_cannot_find(waiting: dict[str, Any]) -> None:
    """Then it leaves the podSetInfos, and writes suspend alone."""
    running = by_kueue(waiting, suspend=False)
    stopped = {**running, "spec": {**running["spec"], "suspend": True}}
    assert updated(running, stopped, KUEUE) == stopped


def test_the_controller_adds_its_finalizer(waiting: dict[str, Any]) -> None:
    running = by_kueue(waiting, suspend=False)
    kept = {**running, "metadata": {**running["metadata"], "finalizers": [FINALIZER]}}
    assert updated(running, kept, CONTROLLER) == kept


def test_users_annotate_and_label_it(waiting: dict[str, Any]) -> None:
    running = by_kueue(waiting, suspend=False)
    noted = copy.deepcopy(running)
    noted["metadata"].setdefault("annotations", {})["note"] = "x"
    noted["metadata"].setdefault("labels", {})["team"] = "a"
    assert updated(running, noted, BOB) == noted


def test_a_deletion_of_a_stored_object_is_admitted(waiting: dict[str, Any]) -> None:
    deleted = by_kueue(waiting, suspend=False)
    deleted["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [FINALIZER]}
    gone = {**deleted, "metadata": {**deleted["metadata"], "finalizers": []}}
    assert not chain.is_checked(request(gone, old=deleted, user=CONTROLLER))


def test_its_file_comes_again_under_todays_configuration() -> None:
    file = appwrapper(component(JOB), component(MPI_JOB))
    stored = STORED["another configuration"]
    assert "yesterday" in str(stored)
    running, stopped = by_kueue(stored, suspend=False), by_kueue(stored, suspend=True)
    assert is_identical(updated(running, file, ALICE), running)
    suspended = {**file, "spec": {**file["spec"], "suspend": True}}
    assert is_identical(updated(stopped, suspended, ALICE), stopped)


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    # What is beyond 64 bits has become a float by the time a review was read.
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(-4, 4, width=16)
    | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=1), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(_VALUES)
def test_kueue_may_update_any_wrapped_object(value: Any) -> None:
    template = {"apiVersion": "example.com/v1", "kind": "Thing", "spec": value}
    stored = appwrapper(component(template), labels=QUEUE, suspend=True)
    for suspend in (False, True):
        written = by_kueue(stored, suspend=suspend)
        after = updated(stored, written, KUEUE)
        assert is_identical(
            after["spec"]["components"][0]["template"], stored["spec"]["components"][0]["template"]
        )
        stored = after

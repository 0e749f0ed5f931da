"""Changes of a stored AppWrapper: while it waits, and while it runs."""

from collections.abc import Iterator
from typing import Any

from shared.api.objects import JsonObject
from tests.support.admission_corpus.case import (
    BY,
    MEMBERS,
    QUEUE,
    USER,
    USERID,
    Case,
    appwrapper,
    invalid,
)
from tests.support.admission_corpus.limits import WAITING
from tests.support.builders.annotations import PREFIX
from tests.support.builders.jobs import scaled
from webhook.admission_review import User

_BOB = User("bob", "", MEMBERS)
_IMMUTABLE = "Forbidden: cannot change"
_INSTEAD = ": delete the AppWrapper and create it again, or run `kubectl replace --force -f FILE`"
_POD_SETS = "/spec/components/0/podSets"
_REPLICAS = "/spec/components/0/template/spec/replicas"


def _service(name: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80}]},
    }


def _runs(name: str = "corpus-runs") -> JsonObject:
    """A Deployment with its pod set declared, and a Service."""
    pod_sets = [{"path": "template.spec.template", "replicas": 1}]
    served = {"template": scaled("Deployment", name, replicas=1), "podSets": pod_sets}
    return appwrapper(served, _service(name), name=name)


def _waits(name: str = "corpus-waits", **spec: Any) -> JsonObject:
    """In a queue that does not exist."""
    made = appwrapper(WAITING, name=name, labels={QUEUE: "nowhere"})
    made["spec"] |= spec
    return made


def _op(op: str, path: str, *value: Any) -> JsonObject:
    return {"op": op, "path": path, **({"value": value[0]} if value else {})}


def _differs(at: str) -> str:
    return f"spec.components[0].template: {_IMMUTABLE} (it differs at {at}){_INSTEAD}"


_REFUSED = {
    "another number in a template": (
        _op("replace", _REPLICAS, 2),
        _differs("template.spec.replicas"),
    ),
    "true instead of 1 in a template": (
        _op("replace", _REPLICAS, True),
        _differs("template.spec.replicas"),
    ),
    "one component less": (
        _op("remove", "/spec/components/1"),
        f"spec.components: {_IMMUTABLE} (components before: 2, now: 1){_INSTEAD}",
    ),
    "one component more": (
        _op("add", "/spec/components/-", {"template": _service("more")}),
        f"spec.components: {_IMMUTABLE} (components before: 2, now: 3){_INSTEAD}",
    ),
    "another path of a pod set": (
        _op("replace", f"{_POD_SETS}/0/path", "template.spec"),
        f"spec.components[0].podSets[0].path: {_IMMUTABLE}{_INSTEAD}",
    ),
    "other replicas of a pod set": (
        _op("replace", f"{_POD_SETS}/0/replicas", 2),
        f"spec.components[0].podSets[0].replicas: {_IMMUTABLE}{_INSTEAD}",
    ),
    "one pod set more": (
        _op("add", f"{_POD_SETS}/-", {"path": "template"}),
        f"spec.components[0].podSets: {_IMMUTABLE}{_INSTEAD}",
    ),
}
_FREE: dict[str, tuple[JsonObject, JsonObject]] = {
    "an annotation of a component": (
        _op("add", "/spec/components/0/annotations/note", "x"),
        {"spec.components[0].annotations.note": "x"},
    ),
    "an annotation of a pod set": (
        _op("add", f"{_POD_SETS}/0/annotations", {"note": "x"}),
        {"spec.components[0].podSets[0].annotations": {"note": "x"}},
    ),
    "a label": (_op("add", "/metadata/labels/team", "a"), {"metadata.labels.team": "a"}),
    "an annotation": (
        _op("add", "/metadata/annotations/note", "x"),
        {"metadata.annotations.note": "x"},
    ),
    "a finalizer": (
        _op("add", "/metadata/finalizers/-", "example.com/mine"),
        {"metadata.finalizers": ["workload.codeflare.dev/finalizer", "example.com/mine"]},
    ),
}
_KEPT = {
    f"metadata.labels[{QUEUE}]": "default-queue",
    f"metadata.labels[{USER}]": "alice",
    f"metadata.labels[{USERID}]": "",
    f"metadata.annotations[{BY}]": "alice",
}


def _while_it_runs() -> Iterator[Case]:
    for name, (operation, error) in _REFUSED.items():
        yield Case(
            name=f"{name}, while it runs -> refused",
            sent=_runs(),
            change=(operation,),
            running=True,
            refused=invalid(error, name="corpus-runs"),
        )
    for name, (operation, stored) in _FREE.items():
        yield Case(
            name=f"{name} of the user's own, while it runs -> stored",
            sent=_runs(),
            change=(operation,),
            running=True,
            stored={**stored, **_KEPT},
        )
    ways: tuple[JsonObject, ...] = ({}, {"replicas": None}, {"replicas": 1.0})
    for written in ways:
        pod_set = {"path": "template.spec.template"}
        yield Case(
            name=f"one replica written as {written} -> stored as before",
            sent=_runs(),
            change=(_op("replace", f"{_POD_SETS}/0", {**pod_set, **written}),),
            running=True,
            stored={"spec.components[0].podSets": [{**pod_set, "replicas": 1}]},
        )


def _required_and_managed() -> Iterator[Case]:
    yield Case(
        name="a pod set without its path, while it runs -> refused",
        sent=_runs(),
        change=(_op("remove", f"{_POD_SETS}/0/path"),),
        running=True,
        refused=invalid("spec.components[0].podSets[0].path: Required value", name="corpus-runs"),
        only_on_a_server="the schema of the CRD requires the path",
    )
    for before, changes in (
        (None, ("example.com/other", "")),
        ("example.com/other", ("example.com/another", "", None)),
    ):
        name = f"corpus-managed-{'by-us' if before is None else 'elsewhere'}"
        spec = {"suspend": True} if before is None else {"suspend": True, "managedBy": before}
        for after in changes:
            value = () if after is None else (after,)
            yield Case(
                name=f"managedBy {before!r} becomes {after!r} -> refused",
                sent=_waits(name, **spec),
                change=(_op("remove" if after is None else "add", "/spec/managedBy", *value),),
                refused=invalid(f"spec.managedBy: {_IMMUTABLE}{_INSTEAD}", name=name),
            )


def _never(place: str, value: str) -> str:
    return (
        f'metadata.{place}: reset to "{value}": who submitted an AppWrapper never changes; remove '
        "it from the file"
    )


def _pointer(key: str) -> str:
    return key.replace("/", "~1")


def _labels() -> Iterator[Case]:
    dropped = tuple(
        _op("remove", f"/metadata/labels/{_pointer(key)}") for key in (QUEUE, USER, USERID)
    )
    yield Case(
        name="the labels of queue and user dropped, while it runs -> restored",
        sent=_runs(),
        change=dropped,
        running=True,
        stored=_KEPT,
    )
    yield Case(
        name="another user's update -> the submitter stays",
        sent=_runs(),
        change=(_op("add", "/metadata/labels/team", "a"),),
        running=True,
        user=_BOB,
        stored={**_KEPT, "metadata.labels.team": "a"},
    )
    for user in (User("alice", "", MEMBERS), _BOB):
        yield Case(
            name=f"{user.name} names another submitter -> the submitter stays",
            sent=_waits(),
            change=(
                _op("replace", f"/metadata/labels/{_pointer(USER)}", "carol"),
                _op("replace", f"/metadata/annotations/{_pointer(BY)}", "carol"),
            ),
            user=user,
            stored={f"metadata.labels[{USER}]": "alice", f"metadata.annotations[{BY}]": "alice"},
            warnings=(_never(f"labels[{USER}]", "alice"), _never(f"annotations[{BY}]", "alice")),
        )
        yield Case(
            name=f"{user.name} drops the submitter -> the submitter stays",
            sent=_waits(),
            change=(_op("remove", f"/metadata/annotations/{_pointer(BY)}"),),
            user=user,
            stored={f"metadata.annotations[{BY}]": "alice"},
        )


def _while_it_waits() -> Iterator[Case]:
    yield Case(
        name="a retry limit that is no number, at an update -> refused",
        sent=_waits(),
        change=(_op("add", f"/metadata/annotations/{_pointer(PREFIX)}retryLimit", "many"),),
        refused=invalid(
            f'metadata.annotations[{PREFIX}retryLimit]: Invalid value: "many": '
            "must be a whole number from 0 to 2147483647, such as 5",
            name="corpus-waits",
        ),
    )
    yield Case(
        name="a period above the limit, at an update -> stored with a warning",
        sent=_waits(),
        change=(
            _op("add", f"/metadata/annotations/{_pointer(PREFIX)}failureGracePeriodDuration", "2d"),
        ),
        warnings=(
            f"{PREFIX}failureGracePeriodDuration: 2d is more than the operator allows, so 24h "
            "applies",
        ),
        stored={f"metadata.annotations[{PREFIX}failureGracePeriodDuration]": "2d"},
    )
    parts = [
        {"template": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"part-{n}"}}}
        for n in range(100)
    ]
    yield Case(
        name="100 components more -> refused",
        sent=_waits(),
        change=tuple(_op("add", "/spec/components/-", part) for part in parts),
        refused=invalid(
            "spec.components: Too many: 101: must have at most 100 items: split it into several "
            "AppWrappers",
            name="corpus-waits",
        ),
    )


CASES = (*_while_it_runs(), *_required_and_managed(), *_labels(), *_while_it_waits())

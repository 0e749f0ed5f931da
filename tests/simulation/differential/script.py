"""Generate a script for the differential test from a seed."""

from collections.abc import Callable
from random import Random
from typing import Final

from shared.api.objects import CONFIGMAPS, PODS, JsonObject, Resource
from shared.kube.requests import PatchType, Propagation
from tests.simulation.api.kinds import PROBES
from tests.simulation.differential.run import LABELS, RESOURCES, minimal
from tests.simulation.differential.steps import (
    AnyStep,
    Create,
    Delete,
    Gone,
    Patch,
    Put,
    Read,
    Search,
    Watch,
    Which,
)

_Maker = Callable[[Random, Resource, str], AnyStep]

LENGTH: Final = 200
_NAMES: Final = ("a", "b", "c")
_FINALIZERS: Final = ("example.com/one", "example.com/two")
_SELECTORS: Final = ("", "team=x", "team!=x", "team in (x, y)", "team notin (y)", "team", "!team")
_PARTS: Final = {CONFIGMAPS: "data", PROBES: "spec"}


def script(seed: int, length: int = LENGTH) -> list[AnyStep]:
    """Return watches, `length` random steps, and the garbage collector's cases."""
    random = Random(seed)
    steps: list[AnyStep] = [watch for resource in RESOURCES for watch in _watches(resource)]
    steps += [_random_step(random) for _ in range(length)]
    middle = len(steps) // 2
    steps[middle:middle] = [Watch(each, from_start=True) for each in RESOURCES]
    return [*steps, *_garbage()]


def _watches(resource: Resource) -> list[AnyStep]:
    return [
        Watch(resource, "differential=yes"),
        Watch(resource, "team=x,differential"),
        Watch(resource, "team in (x,y)", metadata_only=True),
        Watch(resource, "differential", "metadata.name!=a"),
    ]


def _garbage() -> list[AnyStep]:
    """Return an owner with one dependent, deleted in each of the three ways."""
    steps: list[AnyStep] = []
    for propagation in Propagation:
        owner, dependent = (
            f"{each}-{propagation.value.lower()}" for each in ("owner", "dependent")
        )
        body: JsonObject = {"metadata": {"labels": LABELS}}
        steps += [
            Create(CONFIGMAPS, owner, body),
            Create(CONFIGMAPS, dependent, body, owner=(CONFIGMAPS, owner)),
            Delete(CONFIGMAPS, owner, propagation, "current"),
            Gone(CONFIGMAPS, owner),
            *([] if propagation is Propagation.ORPHAN else [Gone(CONFIGMAPS, dependent)]),
            Read(CONFIGMAPS, dependent),
        ]
    return steps


def _random_step(random: Random) -> AnyStep:
    resource = random.choice((PROBES, PROBES, CONFIGMAPS, PODS))
    name = random.choice(_NAMES)
    makers: tuple[tuple[int, _Maker], ...] = (
        (7, _create),
        (2, _read),
        (2, _search),
        (4, _put),
        (2, _put_status),
        (4, _merge),
        (2, _json_patch),
        (2, _apply),
        (4, _delete),
    )
    [(_, maker)] = random.choices(makers, [weight for weight, _ in makers])
    return maker(random, resource, name)


def _create(random: Random, resource: Resource, name: str) -> AnyStep:
    body: JsonObject = {"metadata": _metadata(random), **minimal(resource)}
    if resource == PODS:
        # No kubelet acts for such a node. PodGC does, 40 s after it first heard of the name.
        node = random.choice(("", f"no-such-node-{random.randrange(10**6)}"))
        body = {**body, **minimal(PODS, node)}
        body["spec"]["terminationGracePeriodSeconds"] = random.choice((0, 30, 600))
    else:
        body[_PARTS[resource]] = _values(random)
    if resource != CONFIGMAPS:
        body["status"] = {"phase": "Running"}
    namespace = "no-such-namespace" if random.random() < 0.05 else ""
    if random.random() < 0.1:
        return Create(resource, f"made {random.random():.6f}", body, generated=True)
    return Create(resource, name, body, namespace=namespace)


def _read(random: Random, resource: Resource, name: str) -> AnyStep:
    return Read(resource, name, metadata_only=random.random() < 0.5)


def _search(random: Random, resource: Resource, name: str) -> AnyStep:
    fields = random.choice(("", f"metadata.name={name}", f"metadata.name!={name}"))
    # The cluster puts a ConfigMap of its own into every namespace.
    labels = ",".join(filter(None, ("differential", random.choice(_SELECTORS))))
    return Search(resource, labels, fields, metadata_only=random.random() < 0.3)


def _put(random: Random, resource: Resource, name: str) -> AnyStep:
    version = _which(random, "old", "none")
    return Put(resource, name, _change(random, resource), _uid(random), version)


def _put_status(random: Random, resource: Resource, name: str) -> AnyStep:
    resource = PROBES if resource == CONFIGMAPS else resource
    change = {**_change(random, resource), "status": _status(random, resource)}
    if resource == PODS:
        change.pop("metadata", None)  # a pod's status may change its labels
    return Put(resource, name, change, _uid(random), _which(random, "old"), "status")


def _merge(random: Random, resource: Resource, name: str) -> AnyStep:
    uid, version = _which(random, "none", "wrong"), _which(random, "none", "old")
    if resource != CONFIGMAPS and random.random() < 0.3:
        body: JsonObject = {"status": _status(random, resource)}
        return Patch(resource, name, PatchType.MERGE, body, uid, version, "status")
    return Patch(resource, name, PatchType.MERGE, _change(random, resource), uid, version)


def _json_patch(random: Random, resource: Resource, name: str) -> AnyStep:
    labels = "/metadata/labels"
    operations = random.choice(
        (
            [{"op": "add", "path": f"{labels}/color", "value": random.choice("xyz")}],
            [{"op": "remove", "path": f"{labels}/color"}],
            [
                {"op": "test", "path": f"{labels}/team", "value": "x"},
                {"op": "replace", "path": f"{labels}/team", "value": "y"},
            ],
        )
    )
    return Patch(resource, name, PatchType.JSON, operations)


def _apply(random: Random, resource: Resource, name: str) -> AnyStep:
    """Return an apply as the product sends it: one condition, to the status of a custom Kind.

    The message is new each time: the simulated server keeps no record of who owns equal values.
    """
    del resource
    condition = {**_condition(random, "Evicted"), "message": f"number {random.random()}"}
    body: JsonObject = {"status": {"conditions": [condition]}}
    uid, version = _which(random, "wrong", "none"), _which(random, "old", "none")
    return Patch(PROBES, name, PatchType.APPLY, body, uid, version, "status")


def _delete(random: Random, resource: Resource, name: str) -> AnyStep:
    # The real garbage collector answers to the other two: `_garbage` waits for it.
    grace = random.choice((None, 0, 5, 60)) if resource == PODS else None
    return Delete(resource, name, Propagation.BACKGROUND, _which(random, "none", "wrong"), grace)


def _change(random: Random, resource: Resource) -> JsonObject:
    """Return a merge patch of some parts of an object, or of none."""
    change: JsonObject = {}
    if random.random() < 0.5:
        change["metadata"] = _metadata(random)
    if resource != PODS and random.random() < 0.5:
        change[_PARTS[resource]] = _values(random)
    if resource != CONFIGMAPS and random.random() < 0.2:
        change["status"] = _status(random, resource)
    return change


def _metadata(random: Random) -> JsonObject:
    team = random.choice(("x", "y", "z"))
    meta: JsonObject = {"labels": {"differential": "yes", "team": team}}
    if random.random() < 0.3:
        meta["finalizers"] = list(_FINALIZERS[: random.choice((0, 1, 2))])
    if random.random() < 0.3:
        meta["annotations"] = random.choice(({}, {"example.com/note": team}))
    return meta


def _status(random: Random, resource: Resource) -> JsonObject:
    status: JsonObject = {"phase": random.choice(("Pending", "Running", "Succeeded", "Failed"))}
    if resource == PROBES and random.random() < 0.5:
        kinds = random.choice(((), ("Ready",), ("Ready", "Evicted")))
        status["conditions"] = [_condition(random, kind) for kind in kinds]
    return status


def _condition(random: Random, kind: str) -> JsonObject:
    return {
        "type": kind,
        "status": random.choice(("True", "False")),
        "reason": "Because",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


def _values(random: Random) -> JsonObject:
    return {"key": random.choice(("one", "two"))}


def _uid(random: Random) -> Which:
    return _which(random, "none", "wrong")


def _which(random: Random, *others: Which) -> Which:
    """Return "current" mostly, else one of the others."""
    return "current" if random.random() < 0.75 else random.choice(others)

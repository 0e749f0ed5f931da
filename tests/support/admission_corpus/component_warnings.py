"""Components that are accepted with a warning, and those beside them that cause none."""

from collections.abc import Iterator
from typing import Any

from shared.api.objects import JsonObject
from tests.support.admission_corpus.case import Case, appwrapper, invalid
from tests.support.builders.admission import POD, SERVICE, component
from tests.support.builders.annotations import PREFIX, prefixed

_PODS = {"spec": POD["spec"]}
_HELPER = prefixed(helper="true")


def _second(name: str, other: Any, *says: str) -> Case:
    """Beside a Pod; each warning begins at the second component."""
    warnings = tuple(f"spec.components[1]{each}" for each in says)
    return Case(name=name, sent=appwrapper(component(), other), warnings=warnings)


def _job(metadata: Any, of_pods: Any, **spec: Any) -> JsonObject:
    template = _PODS if of_pods is None else {"metadata": of_pods, **_PODS}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"template": template, **spec},
    }


def _short_jobs() -> Iterator[Case]:
    for seconds in (0, 59):
        yield _second(
            f"a Job that is deleted {seconds} s after its end -> a warning",
            component(_job({"name": "j"}, None, ttlSecondsAfterFinished=seconds)),
            f".template.spec.ttlSecondsAfterFinished: {seconds} is short: a Job that "
            "is gone before the controller saw its end counts as lost, and the AppWrapper fails; "
            "leave it out, or use 60 or more",
        )
    for kept in (60, None, "5", True):
        yield _second(
            f"a Job with ttlSecondsAfterFinished {kept!r} -> no warning",
            component(_job({"name": "j"}, None, ttlSecondsAfterFinished=kept)),
        )


def _claims() -> Iterator[Case]:
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
    for annotations in ({}, {"keep": "false"}, {"helper": "true"}):
        yield _second(
            f"a volume with annotations {annotations} -> a warning that resets delete it",
            component(claim, annotations=prefixed(**annotations)),
            ": every reset and suspension deletes this PersistentVolumeClaim with "
            f'its data: annotate the component {PREFIX}keep: "true", or '
            "create it outside the AppWrapper",
        )
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"}}
    yield _second(
        "a Secret -> a warning without its data",
        component({**secret, "stringData": {"password": "hunter2"}}),
        ": every user who may read AppWrappers can read this Secret: create "
        "it outside the AppWrapper and refer to it by name",
    )
    yield _second("a Service -> no warning", component(SERVICE))


_ENDLESS: dict[str, JsonObject] = {
    "Deployment": {"apiVersion": "apps/v1", "spec": {"template": _PODS}},
    "StatefulSet": {"apiVersion": "apps/v1", "spec": {"template": _PODS}},
    "LeaderWorkerSet": {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "spec": {"leaderWorkerTemplate": {"size": 1, "workerTemplate": _PODS}},
    },
    "RayCluster": {"apiVersion": "ray.io/v1", "spec": {"headGroupSpec": {"template": _PODS}}},
}
_DECLARED = {"LeaderWorkerSet": [{"path": "template.spec.leaderWorkerTemplate.workerTemplate"}]}


def _endless(kind: str, **fields: Any) -> JsonObject:
    template = {"kind": kind, "metadata": {"name": "x"}, **_ENDLESS[kind]}
    pod_sets = {"podSets": _DECLARED[kind]} if kind in _DECLARED else {}
    return component(template, **pod_sets, **fields)


def _never_completes(kind: str) -> str:
    return (
        f": a {kind} never completes, so the AppWrapper will never "
        f'succeed; if it only serves the others, annotate the component {PREFIX}helper: "true"'
    )


def _endless_components() -> Iterator[Case]:
    for kind in _ENDLESS:
        yield _second(f"a {kind} beside a Pod -> a warning", _endless(kind), _never_completes(kind))
        yield _second(
            f"a {kind} as a helper beside a Pod -> no warning", _endless(kind, annotations=_HELPER)
        )
        yield Case(
            name=f"a {kind} beside a Service -> no warning",
            sent=appwrapper(_endless(kind), component(SERVICE)),
        )
        yield Case(
            name=f"a {kind} beside a helper -> no warning",
            sent=appwrapper(_endless(kind), component(POD, annotations=_HELPER)),
        )
    bare = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": {}}
    yield Case(
        name="a Deployment without a pod template -> refused, without a warning",
        sent=appwrapper(component(), component(bare)),
        refused=invalid(
            "spec.components[1].template: Invalid value: the Deployment needs spec.template: "
            "template.spec has no field 'template'"
        ),
    )
    yield Case(
        name="two endless components around a Pod -> a warning for each",
        sent=appwrapper(_endless("RayCluster"), component(), _endless("Deployment")),
        warnings=(
            f"spec.components[0]{_never_completes('RayCluster')}",
            f"spec.components[2]{_never_completes('Deployment')}",
        ),
    )


_HELD = {"name": "x", "finalizers": ["example.com/hold"]}
_FINALIZERS = (
    "metadata.finalizers: resets and suspensions wait, and the quota stays reserved, "
    "until the owners of these finalizers remove them"
)
_FINALIZED: dict[str, tuple[JsonObject, tuple[str, ...]]] = {
    "a Service with a finalizer": ({**SERVICE, "metadata": _HELD}, ("template",)),
    "a Pod with a finalizer": ({**POD, "metadata": _HELD}, ("template",)),
    "a Job whose pods have a finalizer": (_job({}, _HELD), ("template.spec.template",)),
    "a Job with a finalizer whose pods have one": (
        _job(_HELD, _HELD),
        ("template", "template.spec.template"),
    ),
    "a Job without finalizers": (_job({}, {}), ()),
    "a Job with empty finalizers": (_job({"finalizers": []}, {"finalizers": None}), ()),
}


def _finalizers() -> Iterator[Case]:
    for name, (template, places) in _FINALIZED.items():
        yield _second(
            f"{name} -> {len(places)} warnings",
            component(template),
            *(f".{place}.{_FINALIZERS}" for place in places),
        )


_OPERATORS = "the operator's forceful deletion period is 10m"
_OWN = f"{PREFIX}forcefulDeletionGracePeriodDuration is"
# Seconds that the pods ask for, the AppWrapper's own period, seconds that the pods get, and why.
_CUT = (
    (601, None, 600, _OPERATORS),
    (7200, "2h", 600, _OPERATORS),
    (601, "10m", 600, _OPERATORS),
    (301, "5m", 300, f"{_OWN} 5m"),
    (2, "0s", 1, f"{_OWN} 0s"),
)
_UNCUT = ((600, None), (600, "2h"), (300, "5m"), (1, "0s"), (0, None), (None, "0s"), (None, None))


def _grace_periods() -> Iterator[Case]:
    field = "terminationGracePeriodSeconds"

    def asking(seconds: int | None, longest: str | None) -> JsonObject:
        pod = {**POD, "spec": {**POD["spec"], field: seconds}}
        own = {} if longest is None else prefixed(forcefulDeletionGracePeriodDuration=longest)
        return appwrapper(component(pod), annotations=own)

    for asked, longest, gets, because in _CUT:
        yield Case(
            name=f"pods that ask for {asked} s to end, at most {longest} -> a warning of {gets} s",
            sent=asking(asked, longest),
            warnings=(
                f"spec.components[0].template.spec.{field}: pods get {gets} instead of {asked}: "
                f"{because}",
            ),
        )
    for uncut, longest in _UNCUT:
        yield Case(
            name=f"pods that ask for {uncut} s to end, at most {longest} -> no warning",
            sent=asking(uncut, longest),
        )


CASES = (
    *_short_jobs(),
    *_claims(),
    *_endless_components(),
    *_finalizers(),
    *_grace_periods(),
)

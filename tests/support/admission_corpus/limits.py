"""Annotations, names, numbers and warnings."""

import copy
from collections.abc import Iterator
from typing import Any

from shared.api.objects import JsonObject
from tests.support.admission_corpus.case import NAME, TEAM, USER, Case, appwrapper, invalid
from tests.support.builders.admission import POD, SERVICE, component
from tests.support.builders.annotations import PREFIX, prefixed
from tests.support.builders.wrapped_kinds import DEPLOYMENT, kind, template

_FIRST = "spec.components[0]"
_LARGEST = {"limits": {"nvidia.com/gpu": 1000}}
WAITING: JsonObject = {
    **POD,
    "spec": {
        "restartPolicy": "Never",
        "containers": [{"name": "c", "image": "i", "resources": _LARGEST}],
    },
}
_DOTS = "must not contain dots: Kueue names pod sets after the AppWrapper (NAME-0), without dots"
_FOREIGN = {**POD, "metadata": {"name": "p", "namespace": "kube-system"}}


def _values() -> Iterator[Case]:
    yield Case(
        name="a retry limit that is no number -> refused",
        sent=appwrapper(WAITING, annotations=prefixed(retryLimit="many")),
        refused=invalid(
            f'metadata.annotations[{PREFIX}retryLimit]: Invalid value: "many": '
            "must be a whole number from 0 to 2147483647, such as 5"
        ),
    )
    yield Case(
        name="a component with pods that is kept, and an unclear helper -> both refused",
        sent=appwrapper(component(WAITING, annotations=prefixed(keep="true", helper="yes"))),
        refused=invalid(
            f'{_FIRST}.annotations[{PREFIX}helper]: Invalid value: "yes": must be "true" or '
            '"false"',
            f"{_FIRST}.annotations[{PREFIX}keep]: Forbidden: only a component without pods can be "
            "kept: its pods would run without quota",
        ),
    )
    yield Case(
        name="pod set infos that the user writes -> refused",
        sent=appwrapper(component(WAITING, podSetInfos=[{"nodeSelector": {"a": "b"}}])),
        refused=invalid(
            f"{_FIRST}.podSetInfos: Forbidden: Kueue writes them when it admits the "
            "AppWrapper; leave them out"
        ),
    )
    yield Case(
        name="errors in two components -> both in one refusal, each with its field",
        sent=appwrapper(
            component(_FOREIGN), component(SERVICE, podSets=[{"path": "template.spec"}])
        ),
        refused=invalid(
            f"{_FIRST}.template.metadata.namespace: Forbidden: an AppWrapper in namespace "
            f"{TEAM} cannot create resources in another namespace",
            'spec.components[1].podSets[0].path: Invalid value: "template.spec": does not lead to '
            "a pod template: template has no field 'spec'",
        ),
    )


def _names() -> Iterator[Case]:
    yield Case(
        name="a dot in the name -> refused",
        sent=appwrapper(WAITING, name="limits.v2"),
        refused=invalid(f'metadata.name: Invalid value: "limits.v2": {_DOTS}', name="limits.v2"),
    )
    long = "a" * 62
    yield Case(
        name="a name of 62 characters -> refused",
        sent=appwrapper(WAITING, name=long),
        refused=invalid(
            "metadata.name: Too long: may have at most 61 characters, but has 62: Kueue names a "
            "pod set NAME-0, in at most 63",
            name=long,
        ),
    )
    yield Case(name="a name of 61 characters -> accepted", sent=appwrapper(WAITING, name="a" * 61))
    prefix = "a" * 57
    yield Case(
        name="a generated name with a prefix of 57 characters -> refused with the whole name",
        sent=appwrapper(WAITING, generateName=prefix),
        refused=invalid(
            "metadata.generateName: Too long: may have at most 56 characters, but has 57: the API "
            "server appends 5 characters, and Kueue names a pod set NAME-0, in at most 63",
            name=prefix,
        ),
    )
    yield Case(
        name="an error of an AppWrapper whose name is generated -> the whole name is in it",
        sent=appwrapper(SERVICE, generateName="admission-"),
        refused=invalid(
            "spec.components: Required value: at least one component must have pods, but none does "
            "(Service)",
            name="admission-",
        ),
    )


def _config_map(number: int) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"part-{number}"}}


def _numbers() -> Iterator[Case]:
    split = "split it into several AppWrappers"
    # The API server's own checks of 20,000 take half a minute, so the webhook must check first.
    tiny = appwrapper()
    tiny["spec"]["components"] = [{"template": {}}] * 20_000
    parts = [WAITING, *map(_config_map, range(100))]
    for count, sent in ((101, appwrapper(*parts)), (20_000, tiny)):
        yield Case(
            name=f"{count} components -> refused",
            sent=sent,
            refused=invalid(
                f"spec.components: Too many: {count}: must have at most 100 items: {split}"
            ),
        )
    yield Case(name="100 components -> accepted", sent=appwrapper(*parts[:100]))
    many = component(_config_map(0), podSets=[{"path": "template"}] * 101)
    yield Case(
        name="101 pod sets -> refused",
        sent=appwrapper(WAITING, many, _config_map(1)),
        refused=invalid(
            "spec.components[1].podSets: Too many: 101: all components together may have at most "
            f"100: {split}"
        ),
    )


# Warnings

_JOB = kind("batch/v1", "Job", template=template())
_CLAIM = kind(
    "v1",
    "PersistentVolumeClaim",
    accessModes=["ReadWriteOnce"],
    resources={"requests": {"storage": "1Gi"}},
)
_CONFIG_MAP = {key: value for key, value in kind("v1", "ConfigMap").items() if key != "spec"}


def _marked(body: JsonObject, **annotations: str) -> JsonObject:
    return component(body, annotations=prefixed(**annotations))


_HARMLESS: dict[str, list[JsonObject]] = {
    "a volume that is kept": [_JOB, _marked(_CLAIM, keep="true")],
    "an endless helper": [_JOB, _marked(DEPLOYMENT, helper="true")],
    "nothing that ends": [DEPLOYMENT],
    "a Job that stays for a minute": [
        {**_JOB, "spec": {**_JOB["spec"], "ttlSecondsAfterFinished": 60}}
    ],
    "a ConfigMap": [_JOB, _CONFIG_MAP],
    "an object just below 256 KiB": [_JOB, {**_CONFIG_MAP, "data": {"x": "x" * (250 << 10)}}],
}

_BUSY = {"name": "busy", "image": "i", "resources": {"limits": {"cpu": 1}}}
_SIDECAR = {**_BUSY, "name": "side", "restartPolicy": "Always"}
_BUSY_PODS = {
    **WAITING["spec"],
    "initContainers": [_SIDECAR],
    "containers": [*WAITING["spec"]["containers"], _BUSY],
    "terminationGracePeriodSeconds": 3600,
}
# Each causes a warning of its own.
_WARNED: tuple[dict[str, Any], ...] = (
    {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"annotations": prefixed(retryLimit="5")},
        "spec": {"ttlSecondsAfterFinished": 5, "template": {"spec": _BUSY_PODS}},
    },
    {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    },
    {"apiVersion": "v1", "kind": "Secret", "stringData": {"password": "hunter2"}},
    {key: value for key, value in _CLAIM.items() if key != "metadata"},
    {**SERVICE, "metadata": {"finalizers": ["example.com/hold"]}},
)
_WARNINGS = (
    f'metadata.labels[{USER}]: remove it from the file: it is overwritten with "alice"',
    f"{_FIRST}.template.spec.template.spec.initContainers[0].resources: not counted "
    "against the quota: Kueue counts this sidecar as an init container that ends before the "
    "pod's containers start",
    f"metadata.annotations[{PREFIX}delectionOnFailureGracePeriodDuration]: unknown, so it does "
    "nothing; the nearest known one is deletionOnFailureGracePeriodDuration",
    f"{_FIRST}.template.metadata.annotations[{PREFIX}retryLimit]: it does nothing "
    "here; it belongs in metadata.annotations of the AppWrapper",
    "spec.components[3]: every reset and suspension deletes this PersistentVolumeClaim with "
    f'its data: annotate the component {PREFIX}keep: "true", or create it outside the '
    "AppWrapper",
    "spec.components[2]: every user who may read AppWrappers can read this Secret: create "
    "it outside the AppWrapper and refer to it by name",
    "spec.components[4].template.metadata.finalizers: resets and suspensions wait, and the "
    "quota stays reserved, until the owners of these finalizers remove them",
    f"{_FIRST}.template.spec.ttlSecondsAfterFinished: 5 is short: a Job that is gone "
    "before the controller saw its end counts as lost, and the AppWrapper fails; leave it out, "
    "or use 60 or more",
    f"{_FIRST}.template.spec.template.spec.terminationGracePeriodSeconds: pods get "
    "600 instead of 3600: the operator's forceful deletion period is 10m",
    "spec.components[1]: a Deployment never completes, so the AppWrapper will never succeed; "
    f'if it only serves the others, annotate the component {PREFIX}helper: "true"',
    f"{_FIRST}.template.spec.backoffLimit: absent means 6, which lets the Job replace "
    "failed pods first, so terminalExitCodes may never apply: write 0",
)


def _warnings() -> Iterator[Case]:
    templates = [
        {**each, "metadata": {"name": NAME, **each.get("metadata", {})}} for each in _WARNED
    ]
    yield Case(
        name="everything that deserves a warning -> each warning whole, and the user's label",
        sent=appwrapper(
            *templates,
            labels={USER: "somebody-else"},
            annotations=prefixed(
                delectionOnFailureGracePeriodDuration="1h", terminalExitCodes="42"
            ),
        ),
        warnings=_WARNINGS,
        stored={f"metadata.labels[{USER}]": "alice"},
    )
    for name, components in _HARMLESS.items():
        yield Case(name=f"{name} -> no warning", sent=appwrapper(*copy.deepcopy(components)))


CASES = (*_values(), *_names(), *_numbers(), *_warnings())

"""List the checks that `validate` cannot do without a cluster."""

from collections.abc import Iterator, Sequence
from typing import Final

from cli.manifests.manifest import Manifest
from cli.validation.offline import CLUSTER_SCOPED, OfflineJudge, configuration, namespaces_inside
from shared.api import names
from shared.api.names import (
    ANNOTATION_SUBMITTED_BY,
    LABEL_QUEUE_NAME,
    LABEL_USER,
    LABEL_USERID,
)
from shared.api.objects import JsonValue, annotation, label, metadata
from shared.config.configuration import AppWrapperConfig
from shared.kinds.table import BY_GROUP_KIND

_APPWRAPPER: Final = f"{names.GROUP}/{names.KIND}"
_PRIORITY_LABEL: Final = "kueue.x-k8s.io/priority-class"
_PRIORITY_FIELD: Final = "priorityClassName"
_KNOWN: Final = BY_GROUP_KIND.keys() | {_APPWRAPPER} | CLUSTER_SCOPED


def not_checked(manifests: Sequence[Manifest], judge: OfflineJudge) -> tuple[str, ...]:
    """Return the checks of these objects that need a cluster."""
    config = configuration(judge.config)
    return tuple(_not_checked(manifests, judge, config)) if manifests else ()


def _not_checked(
    manifests: Sequence[Manifest], judge: OfflineJudge, config: AppWrapperConfig
) -> Iterator[str]:
    if judge.team_namespace:
        yield (
            "whether the namespace is a team's: assumed, which is stricter (--no-team-namespace"
            " assumes that it is not)"
        )
    else:
        yield "whether the namespace is a team's: assumed that it is not (--no-team-namespace)"
    wrapped = [each for each in manifests if each.group_kind == _APPWRAPPER]
    if wrapped and config.user_rbac_admission_check:
        yield "whether you may create what the AppWrappers wrap"
    for each in wrapped:
        yield from _of_appwrapper(each, judge)
    for what, found in (
        ("LocalQueues exist", _queues(manifests, wrapped, config)),
        ("priority classes exist", set(_priority_classes([each.value for each in manifests]))),
        (
            "Kinds live in a namespace",
            {each.group_kind for each in manifests if each.kind} - _KNOWN,
        ),
    ):
        if found:
            yield f"whether these {what}: {', '.join(sorted(found))}"
    yield "what the API server requires of each Kind: its fields, their values, names"


def _of_appwrapper(manifest: Manifest, judge: OfflineJudge) -> Iterator[str]:
    found = next(namespaces_inside(manifest), None)
    if found and not judge.namespace and not metadata(manifest.value).get("namespace"):
        yield f"whether {manifest} is created in namespace {found}, which its components name"
    target = manifest.value
    labels = (label(target, LABEL_USER), label(target, LABEL_USERID))
    if any(labels) or annotation(target, ANNOTATION_SUBMITTED_BY):
        yield f"whether you are the user that {manifest} names: the webhook writes who creates it"


def _queues(
    manifests: Sequence[Manifest], wrapped: Sequence[Manifest], config: AppWrapperConfig
) -> set[str]:
    """Return the named queues, and the default queue if an AppWrapper names none."""
    named = {label(each.value, LABEL_QUEUE_NAME) or "" for each in manifests}
    if not all(label(each.value, LABEL_QUEUE_NAME) for each in wrapped):
        named.add(config.default_queue_name)
    return named - {""}


def _priority_classes(value: JsonValue) -> Iterator[str]:
    """Yield the priority classes named anywhere in the value."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key in (_PRIORITY_FIELD, _PRIORITY_LABEL) and isinstance(each, str) and each:
                yield each
            yield from _priority_classes(each)
    elif isinstance(value, list):
        for each in value:
            yield from _priority_classes(each)

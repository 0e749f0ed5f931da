"""Make a new AppWrapper from the stored one: its request, without the traces of its life. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from difflib import get_close_matches
from typing import Final

from shared.annotations import TABLE
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import is_true
from shared.api.names import (
    ANNOTATION_HELD_BY,
    ANNOTATION_HOLD,
    ANNOTATION_RESUBMITTED_FROM,
    ANNOTATION_SUBMITTED_BY,
    ANNOTATION_SUBMITTED_DIGEST,
    ANNOTATION_SUBMITTED_SUSPENDED,
    API_VERSION,
    CONDITION_RESOURCES_DEPLOYED,
    KIND,
    LABEL_USER,
    LABEL_USERID,
)
from shared.api.objects import JsonObject, metadata

# Short enough for Kueue, which calls the pod sets NAME-0, …: see webhook/rules/names.py.
_LONGEST: Final = 58
# The webhook writes them again, for the user who resubmits.
_LABELS: Final = frozenset({LABEL_USER, LABEL_USERID})
_ANNOTATIONS: Final = frozenset(
    {
        ANNOTATION_HOLD,
        ANNOTATION_HELD_BY,
        ANNOTATION_SUBMITTED_BY,
        ANNOTATION_SUBMITTED_SUSPENDED,
        "kubectl.kubernetes.io/last-applied-configuration",
    }
)
_BY_NAME: Final = {each.name: each for each in TABLE}


class SettingError(ValueError):
    """Raised for a --set that names no setting. The text is for the user."""


def parsed_settings(given: Iterable[str]) -> dict[str, str]:
    """Read KEY=VALUE by the annotation's key. The webhook checks the values. Raise SettingError."""
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals:
            raise SettingError(f"--set {each}: write KEY=VALUE, as in --set retryLimit=5")
        if name not in _BY_NAME:
            by_folded = {known.lower(): known for known in _BY_NAME}
            near = get_close_matches(name.lower(), by_folded, n=1, cutoff=0.4)
            hint = f"did you mean {by_folded[near[0]]}?" if near else f"use {', '.join(_BY_NAME)}"
            raise SettingError(f"--set {name}: unknown key; {hint}")
        found[_BY_NAME[name].key] = value
    return found


def original_name(appwrapper: AppWrapper) -> str:
    """Return the name of the first AppWrapper of a series of resubmissions."""
    return appwrapper.annotations.get(ANNOTATION_RESUBMITTED_FROM) or appwrapper.name


def next_name(original: str, existing: Iterable[str]) -> str:
    """Return `train-2`, or the number after the highest one that exists."""
    suffixed = re.compile(rf"{re.escape(_stem(original))}-([1-9][0-9]{{0,8}})")
    numbers = [int(found[1]) for each in existing if (found := suffixed.fullmatch(each))]
    suffix = f"-{max([1, *numbers]) + 1}"
    return f"{_stem(original, len(suffix))}{suffix}"


def _stem(original: str, suffix: int = len("-2")) -> str:
    return original[: _LONGEST - suffix].rstrip("-.")


def resubmitted(old: AppWrapper, name: str, settings: Mapping[str, str]) -> JsonObject:
    """Return the new AppWrapper. An empty setting removes the annotation."""
    labels = {key: value for key, value in old.labels.items() if key not in _LABELS}
    annotations = {key: text for key, text in old.annotations.items() if key not in _ANNOTATIONS}
    annotations |= {**settings, ANNOTATION_RESUBMITTED_FROM: original_name(old)}
    spec = {key: deepcopy(each) for key, each in old.spec.items() if key != "suspend"}
    if old.queue_name:
        spec["suspend"] = True  # Kueue starts it
    spec["components"] = [_as_submitted(each) for each in spec.get("components") or ()]
    made: JsonObject = {
        "name": name,
        "namespace": old.namespace,
        "labels": labels,
        "annotations": {key: text for key, text in annotations.items() if text},
    }
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {key: value for key, value in made.items() if value},
        "spec": spec,
    }


def _as_submitted(component: JsonObject) -> JsonObject:
    """Drop Kueue's podSetInfos and the digest of the first submission.

    The webhook adds a digest again, and replaces the old name that pods have as a label. Its other
    additions do not depend on the AppWrapper.
    """
    component.pop("podSetInfos", None)
    annotations = component.get("annotations")
    if isinstance(annotations, dict):
        annotations.pop(ANNOTATION_SUBMITTED_DIGEST, None)
        if not annotations:
            del component["annotations"]
    return component


def names_in_use(old: AppWrapper) -> Sequence[str]:
    """Return the components that still exist and whose names the new AppWrapper needs too."""
    if not is_true(old.conditions, CONDITION_RESOURCES_DEPLOYED):
        return ()
    templates = [each.get("template") or {} for each in old.components]
    named = ((each.get("kind"), metadata(each).get("name")) for each in templates)
    return [f"{kind} {name}" for kind, name in named if name]


def end_of_components(old: AppWrapper) -> dict[str, str]:
    """Return the annotation that ends the time in which an ended AppWrapper keeps components."""
    succeeded = old.status.get("phase") == "Succeeded"
    name = "successTTLDuration" if succeeded else "deletionOnFailureGracePeriodDuration"
    return {_BY_NAME[name].key: "1s" if succeeded else "0s"}

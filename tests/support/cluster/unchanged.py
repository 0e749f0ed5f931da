"""Compares two states of one object, without what the API server notes down."""

import copy
import json

from shared.api.objects import JsonObject


def assert_same(now: JsonObject, before: JsonObject) -> None:
    assert json.dumps(now["spec"], sort_keys=True) == json.dumps(before["spec"], sort_keys=True)
    assert without_bookkeeping(now) == without_bookkeeping(before)


def without_bookkeeping(stored: JsonObject) -> JsonObject:
    """The metadata, generation included, save what the API server and kubectl note down.

    managedFields alone may make a new resourceVersion: whoever sends a field owns it, and its
    entries are in the order of their seconds.
    """
    kept = copy.deepcopy(stored["metadata"])
    for key in ("managedFields", "resourceVersion"):
        del kept[key]
    annotations = kept.pop("annotations", {})
    annotations.pop("kubectl.kubernetes.io/last-applied-configuration", None)
    return {**kept, "annotations": annotations}

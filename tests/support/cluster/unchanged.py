"""Compares two states of one object, without the API server's own records."""

import copy
import json

from shared.api.objects import JsonObject


def assert_same(now: JsonObject, before: JsonObject) -> None:
    assert json.dumps(now["spec"], sort_keys=True) == json.dumps(before["spec"], sort_keys=True)
    assert without_bookkeeping(now) == without_bookkeeping(before)


def without_bookkeeping(stored: JsonObject) -> JsonObject:
    """Returns the metadata, generation included, without the records of API server and kubectl.

    managedFields alone may make a new resourceVersion: a client that sends a field owns it, and the
    entries are in the order of their seconds.
    """
    kept = copy.deepcopy(stored["metadata"])
    for key in ("managedFields", "resourceVersion"):
        del kept[key]
    annotations = kept.pop("annotations", {})
    annotations.pop("kubectl.kubernetes.io/last-applied-configuration", None)
    return {**kept, "annotations": annotations}

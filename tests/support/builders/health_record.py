"""Builds ConfigMap `appwrapper-node-health` for an informer's list and as a patch's answer."""

from typing import Any

from controller.facts.latched_nodes import LATCHES_KEY
from controller.fleet.breaker import ANNOTATION_CONFIRM, RECORD_KEY, RECORD_NAME
from tests.support.fakes.fake_kube import kube_object

NAMESPACE = "appwrapper-system"


def config_map(
    version: int, record: str | None = None, confirmed: str | None = None, latches: str = ""
) -> Any:
    """`confirmed` is the admin's annotation."""
    item = kube_object(RECORD_NAME, version, uid="record", namespace=NAMESPACE)
    if record is not None:
        item["data"] = {RECORD_KEY: record}
    if latches:
        item.setdefault("data", {})[LATCHES_KEY] = latches
    if confirmed is not None:
        item["metadata"]["annotations"] = {ANNOTATION_CONFIRM: confirmed}
    return item

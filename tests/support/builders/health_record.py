"""ConfigMap `appwrapper-node-health` as an informer's list and the answer to a patch."""

from typing import Any

from controller.fleet.health_record import ANNOTATION_CONFIRM, NAME, RECORD_KEY
from tests.support.fakes.fake_kube import kube_object

NAMESPACE = "appwrapper-system"


def config_map(version: int, record: str | None = None, confirmed: str | None = None) -> Any:
    """`confirmed` is the admin's annotation."""
    item = kube_object(NAME, version, uid="record", namespace=NAMESPACE)
    if record is not None:
        item["data"] = {RECORD_KEY: record}
    if confirmed is not None:
        item["metadata"]["annotations"] = {ANNOTATION_CONFIRM: confirmed}
    return item
